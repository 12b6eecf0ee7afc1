// Every atom's lane map against the formulas of the PTX ISA, written here a second time from groupID = lane >> 2 and
// threadID_in_group = lane % 4.
#include "layout/atoms.h"

#include <gtest/gtest.h>

#include "layout/random_maps.h"

namespace tilert {
namespace {

using namespace test;

struct Pair {
  int64_t row, column;
};

// PTX ISA 9.7.14.5, by operand: element i of a lane. A is (row, k), B is (k, column), C is (row, column).
using Formula = Pair (*)(int64_t lane, int64_t i);

Pair a_16x16_16bit(int64_t lane, int64_t i) {
  const int64_t group = lane >> 2, in_group = lane % 4;
  const int64_t row = (i < 2 || (i >= 4 && i < 6)) ? group : group + 8;
  return {row, in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
}
Pair b_16x8_16bit(int64_t lane, int64_t i) { return {lane % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0), lane >> 2}; }
Pair a_16x8_16bit(int64_t lane, int64_t i) { return {i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)}; }
Pair b_8x8_16bit(int64_t lane, int64_t i) { return {lane % 4 * 2 + i, lane >> 2}; }
Pair a_16x8_tf32(int64_t lane, int64_t i) {
  return {(i == 0 || i == 2) ? lane >> 2 : (lane >> 2) + 8, i < 2 ? lane % 4 : lane % 4 + 4};
}
Pair b_8x8_tf32(int64_t lane, int64_t i) { return {i == 0 ? lane % 4 : lane % 4 + 4, lane >> 2}; }
Pair a_16x32_8bit(int64_t lane, int64_t i) {
  const int64_t row = (i < 4 || (i >= 8 && i < 12)) ? lane >> 2 : (lane >> 2) + 8;
  return {row, lane % 4 * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}
Pair b_32x8_8bit(int64_t lane, int64_t i) { return {lane % 4 * 4 + (i & 3) + (i < 4 ? 0 : 16), lane >> 2}; }
Pair a_16x16_8bit(int64_t lane, int64_t i) { return {i < 4 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 4 + (i & 3)}; }
Pair b_16x8_8bit(int64_t lane, int64_t i) { return {lane % 4 * 4 + i, lane >> 2}; }
Pair a_8x16_8bit(int64_t lane, int64_t i) { return {lane >> 2, lane % 4 * 4 + i}; }
Pair a_8x4_64bit(int64_t lane, int64_t) { return {lane >> 2, lane % 4}; }
Pair b_4x8_64bit(int64_t lane, int64_t) { return {lane % 4, lane >> 2}; }
// 'Matrix fragments for sparse mma': A as the dense one of half the depth, B as two of them along K.
Pair b_32x8_16bit(int64_t lane, int64_t i) { return {lane % 4 * 2 + (i & 1) + i / 2 * 8, lane >> 2}; }
Pair b_16x8_tf32(int64_t lane, int64_t i) { return {lane % 4 + i * 4, lane >> 2}; }
Pair b_64x8_8bit(int64_t lane, int64_t i) { return {lane % 4 * 4 + (i & 3) + i / 4 * 16, lane >> 2}; }
Pair c_16x8(int64_t lane, int64_t i) { return {i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)}; }
Pair c_8x8(int64_t lane, int64_t i) { return {lane >> 2, lane % 4 * 2 + i}; }

struct Expected {
  const char* name;
  Formula a, b, c;
  int64_t a_count, b_count, c_count;
};

const Expected kExpected[] = {
    {"mma_m16n8k16_f16", a_16x16_16bit, b_16x8_16bit, c_16x8, 8, 4, 4},
    {"mma_m16n8k16_f16_by_8", a_16x16_16bit, b_16x8_16bit, c_16x8, 8, 4, 4},
    {"mma_m16n8k16_bf16", a_16x16_16bit, b_16x8_16bit, c_16x8, 8, 4, 4},
    {"mma_m16n8k8_f16", a_16x8_16bit, b_8x8_16bit, c_16x8, 4, 2, 4},
    {"mma_m16n8k8_tf32", a_16x8_tf32, b_8x8_tf32, c_16x8, 4, 2, 4},
    {"mma_m16n8k32_s8", a_16x32_8bit, b_32x8_8bit, c_16x8, 16, 8, 4},
    {"mma_m16n8k32_s8_by_16", a_16x32_8bit, b_32x8_8bit, c_16x8, 16, 8, 4},
    {"mma_m16n8k16_s8", a_16x16_8bit, b_16x8_8bit, c_16x8, 8, 4, 4},
    {"mma_m8n8k4_f64", a_8x4_64bit, b_4x8_64bit, c_8x8, 1, 1, 2},
    {"mma_sp_m16n8k32_f16", a_16x16_16bit, b_32x8_16bit, c_16x8, 8, 8, 4},
    {"mma_sp_m16n8k32_bf16", a_16x16_16bit, b_32x8_16bit, c_16x8, 8, 8, 4},
    {"mma_sp_m16n8k16_tf32", a_16x8_tf32, b_16x8_tf32, c_16x8, 4, 4, 4},
    {"mma_sp_m16n8k64_s8", a_16x32_8bit, b_64x8_8bit, c_16x8, 16, 16, 4},
    {"mma_m8n8k16_s8", a_8x16_8bit, b_16x8_8bit, c_8x8, 4, 4, 2},
};

void expect_formula(const FragmentMap& map, Formula formula, int64_t count) {
  ASSERT_TRUE(map.is_valid()) << map.text();
  ASSERT_EQ(map.registers(), count);
  ASSERT_EQ(map.threads(), 32);
  ASSERT_EQ(map.padded_shape(), map.shape());
  for (int64_t lane = 0; lane < 32; lane++) {
    for (int64_t i = 0; i < count; i++) {
      const Pair expected = formula(lane, i);
      ASSERT_EQ(map.evaluate(i, lane), (std::vector<int64_t>{expected.row, expected.column})) << map.text();
    }
  }
}

TEST(Atoms, WarpProductsHaveTheLaneMapsOfThePtxIsa) {
  for (const Expected& expected : kExpected) {
    const Atom* atom = find_atom(expected.name);
    ASSERT_NE(atom, nullptr) << expected.name;
    expect_formula(FragmentMap({atom->m, atom->a_k()}, atom->a_digits), expected.a, expected.a_count);
    expect_formula(FragmentMap({atom->k, atom->n}, atom->b_digits), expected.b, expected.b_count);
    expect_formula(FragmentMap({atom->m, atom->n}, atom->c_digits()), expected.c, expected.c_count);
    EXPECT_EQ(atom->a_registers(), expected.a_count);
    EXPECT_EQ(atom->b_registers(), expected.b_count);
    EXPECT_EQ(atom->c_registers(), expected.c_count);
  }
}

TEST(Atoms, EveryRowIsCheckedHere) {
  for (const Atom& atom : atoms()) {
    if (atom.is_wgmma() || atom.name.starts_with("mfma_") || atom.name.starts_with("wmma")) continue;  // amd_atoms_test.cpp
    const bool listed = std::ranges::any_of(kExpected, [&](const Expected& e) { return atom.name == e.name; });
    EXPECT_TRUE(listed) << atom.name;
  }
}

TEST(Atoms, WgmmaAccumulatorHasItsRowsAndColumnsForEveryLegalWidth) {
  for (const Atom& atom : atoms()) {
    if (!atom.is_wgmma()) continue;
    for (int64_t n = 8; n <= 256; n += 8) {
      if (!wgmma_n_is_legal(atom, n)) continue;
      FragmentMap map({64, n}, atom.c_digits(n));
      ASSERT_TRUE(map.is_valid()) << map.text();
      ASSERT_EQ(map.registers(), n / 2);
      ASSERT_EQ(map.threads(), 128);
      for (int64_t thread = 0; thread < 128; thread++) {
        const int64_t warp = thread / 32, l = thread % 32;
        for (int64_t r = 0; r < n / 2; r++) {
          const int64_t column = 8 * (r / 4) + 2 * (l % 4) + r % 2, row = 16 * warp + l / 4 + 8 * ((r / 2) % 2);
          ASSERT_EQ(map.evaluate(r, thread), (std::vector<int64_t>{row, column}));
        }
      }
    }
  }
}

TEST(Atoms, WgmmaOperandFromRegistersIsTheWarpOperandOfEachWarpsRows) {
  for (const Atom& atom : atoms()) {
    if (!atom.is_wgmma() || atom.sparse) continue;  // of a sparse A from shared memory alone
    const Formula formula = atom.k == 16 ? a_16x16_16bit : atom.k == 8 ? a_16x8_tf32 : a_16x32_8bit;
    FragmentMap map({64, atom.k}, atom.a_digits);
    ASSERT_TRUE(map.is_valid());
    for (int64_t thread = 0; thread < 128; thread++) {
      for (int64_t i = 0; i < map.registers(); i++) {
        const Pair expected = formula(thread % 32, i);
        ASSERT_EQ(map.evaluate(i, thread), (std::vector<int64_t>{expected.row + 16 * (thread / 32), expected.column}));
      }
    }
    EXPECT_FALSE(atom.b_in_registers());
  }
}

TEST(Atoms, WgmmaWidthsAreTheLegalOnes) {
  const Atom& half = *find_atom("wgmma_m64k16_f16");
  const Atom &int8 = *find_atom("wgmma_m64k32_s8"), &bytes = *find_atom("wgmma_m64k32_u8_s8"), &fp8 = *find_atom("wgmma_m64k32_e4m3");
  for (int64_t n = 0; n <= 300; n++) {
    EXPECT_EQ(wgmma_n_is_legal(half, n), n % 8 == 0 && n >= 8 && n <= 256);
    EXPECT_EQ(wgmma_n_is_legal(int8, n), n == 8 || n == 24 || (n % 16 == 0 && n >= 16 && n <= 256));
    EXPECT_EQ(wgmma_n_is_legal(bytes, n), wgmma_n_is_legal(int8, n));
    EXPECT_EQ(wgmma_n_is_legal(fp8, n), wgmma_n_is_legal(half, n));
  }
  EXPECT_EQ(wgmma_n(half, 256), 256);
  EXPECT_EQ(wgmma_n(half, 512), 256);
  EXPECT_EQ(wgmma_n(half, 264), 88);
  EXPECT_EQ(wgmma_n(int8, 40), 8);
  EXPECT_EQ(wgmma_n(half, 12), 0);
}

TEST(Atoms, EachTargetGetsItsOwnBestFirst) {
  auto best = [](const char* text, DType a, DType c) {
    auto found = atoms_for(*parse_target(text), a, a, c);
    return found.empty() ? std::string_view("none") : found[0]->name;
  };
  EXPECT_EQ(best("sm_75", DType::f16, DType::f32), "mma_m16n8k16_f16_by_8");
  EXPECT_EQ(best("sm_75", DType::int8, DType::int32), "mma_m16n8k32_s8_by_16");
  EXPECT_EQ(best("sm_75", DType::bf16, DType::f32), "none");
  EXPECT_EQ(best("sm_80", DType::f16, DType::f32), "mma_m16n8k16_f16");
  EXPECT_EQ(best("sm_86", DType::bf16, DType::f32), "mma_m16n8k16_bf16");
  EXPECT_EQ(best("sm_89", DType::int8, DType::int32), "mma_m16n8k32_s8");
  EXPECT_EQ(best("sm_90a", DType::bf16, DType::f32), "wgmma_m64k16_bf16");
  EXPECT_EQ(best("sm_100a", DType::bf16, DType::f32), "mma_m16n8k16_bf16");
  EXPECT_EQ(best("cpu:x86-64-v3", DType::f16, DType::f32), "none");
  const auto sparse = [](const char* text, DType a, DType c) { return atoms_for(*parse_target(text), a, a, c, true); };
  EXPECT_TRUE(sparse("sm_75", DType::f16, DType::f32).empty());
  ASSERT_FALSE(sparse("sm_80", DType::f16, DType::f32).empty());
  EXPECT_EQ(sparse("sm_80", DType::f16, DType::f32)[0]->name, "mma_sp_m16n8k32_f16");
}

}  // namespace
}  // namespace tilert
