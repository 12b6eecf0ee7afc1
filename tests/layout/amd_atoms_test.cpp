// Claims about the rows of mfma and wmma: who holds which element, by formulas of their own.
#include <gtest/gtest.h>

#include "layout/atoms.h"

namespace tilert {
namespace {

enum class Unit { cdna, cdna_f64, rdna3, rdna4 };

struct Spot {
  int64_t row, column;
  friend bool operator==(const Spot&, const Spot&) = default;
};

bool is_amd(const Atom& atom) { return atom.name.starts_with("mfma_") || atom.name.starts_with("wmma"); }

Unit unit_of(const Atom& atom) {
  if (atom.name.starts_with("wmma12_")) return Unit::rdna4;
  if (atom.name.starts_with("wmma_")) return Unit::rdna3;
  return atom.a == DType::f64 ? Unit::cdna_f64 : Unit::cdna;
}
int64_t lanes_of(Unit unit) { return unit == Unit::cdna || unit == Unit::cdna_f64 ? 64 : 32; }

// Row of A (or column of B) and place along K.
Spot operand(Unit unit, const Atom& atom, int64_t lane, int64_t e) {
  const int64_t each = unit == Unit::rdna3 ? atom.k : atom.k * atom.m / lanes_of(unit);
  return {lane % atom.m, unit == Unit::rdna3 ? e : lane / atom.m * each + e};
}
Spot sum(Unit unit, const Atom& atom, int64_t lane, int64_t v) {
  switch (unit) {
    case Unit::cdna: return {atom.m == 32 ? 8 * (v / 4) + 4 * (lane / 32) + v % 4 : 4 * (lane / 16) + v, lane % atom.n};
    case Unit::cdna_f64: return {4 * v + lane / 16, lane % 16};
    case Unit::rdna3: return {2 * v + lane / 16, lane % 16};
    case Unit::rdna4: return {8 * (lane / 16) + v, lane % 16};
  }
  return {};
}

TEST(AmdAtoms, HaveTheLaneMapsOfTheirUnits) {
  int rows = 0;
  for (const Atom& atom : atoms()) {
    if (!is_amd(atom)) continue;
    ++rows;
    const Unit unit = unit_of(atom);
    const FragmentMap a({atom.m, atom.k}, atom.a_digits), b({atom.k, atom.n}, atom.b_digits), c({atom.m, atom.n}, atom.c_digits());
    for (const FragmentMap* map : {&a, &b, &c}) {
      ASSERT_TRUE(map->is_valid()) << atom.name << " " << map->text();
      ASSERT_EQ(map->threads(), lanes_of(unit)) << atom.name;
      ASSERT_EQ(map->padded_shape(), map->shape()) << atom.name;
    }
    for (int64_t lane = 0; lane < lanes_of(unit); ++lane) {
      for (int64_t e = 0; e < atom.a_registers(); ++e) {
        const Spot at = operand(unit, atom, lane, e);
        ASSERT_EQ(a.evaluate(e, lane), (std::vector<int64_t>{at.row, at.column})) << atom.name;
        ASSERT_EQ(b.evaluate(e, lane), (std::vector<int64_t>{at.column, at.row})) << atom.name;
      }
      for (int64_t v = 0; v < atom.c_registers(); ++v) {
        const Spot at = sum(unit, atom, lane, v);
        ASSERT_EQ(c.evaluate(v, lane), (std::vector<int64_t>{at.row, at.column})) << atom.name;
      }
    }
    EXPECT_EQ(atom.a_registers() * dtype_bits(atom.a) % 128, 0) << atom.name << ": a lane has pieces of 16 bytes";
  }
  EXPECT_EQ(rows, 47);
}

TEST(AmdAtoms, EachTargetHasThoseOfItsUnit) {
  const auto names = [](const char* target, DType a, DType c) {
    std::string all;
    for (const Atom* atom : atoms_for(*parse_target(target), a, a, c)) all += std::string(atom->name) + " ";
    return all;
  };
  EXPECT_EQ(names("gfx90a", DType::bf16, DType::f32), "mfma_16x16x32_bf16 mfma_32x32x16_bf16 ");
  EXPECT_EQ(names("gfx90a", DType::e4m3fnuz, DType::f32), "");
  EXPECT_EQ(names("gfx942", DType::e4m3fnuz, DType::f32), "mfma_16x16x64_e4m3fnuz mfma_32x32x32_e4m3fnuz ");
  EXPECT_EQ(names("gfx942", DType::e4m3, DType::f32), "");  // its unit has no such format
  EXPECT_EQ(names("gfx950", DType::e4m3, DType::f32), "mfma_16x16x128_e4m3 mfma_16x16x64_e4m3 mfma_32x32x64_e4m3 mfma_32x32x32_e4m3 ");
  EXPECT_EQ(names("gfx1100", DType::f16, DType::f32), "wmma_16x16x16_f16 ");
  EXPECT_EQ(names("gfx1100", DType::e4m3, DType::f32), "");
  EXPECT_EQ(names("gfx1201", DType::e4m3, DType::f32), "wmma12_16x16x32_e4m3 ");
  EXPECT_EQ(names("sm_90a", DType::f32, DType::f32), "");
}

}  // namespace
}  // namespace tilert
