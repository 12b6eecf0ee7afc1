// Warpgroup products through their primitives: every width of every type, mixed types, every accumulator, and what the
// instruction does not take. Layouts of operands are in product_test.cpp.
#include <gtest/gtest.h>

#include "emulator/cuda/numbers.h"
#include "emulator/kit.h"

namespace tilert::emulator {
namespace {

struct FormRow {
  const char *name, *sums, *a, *b;
  uint32_t bytes;                       // of an element
  uint32_t (*encode)(int);              // of 0 to 3
  bool integers = false;
};

uint32_t as_half(int x) { return float_to_f16(static_cast<float>(x)); }
uint32_t as_bf16(int x) { return float_to_bf16(static_cast<float>(x)); }
uint32_t as_tf32(int x) { return bits_of_float(static_cast<float>(x)); }
uint32_t as_byte(int x) { return static_cast<uint32_t>(x); }
// 0, 1, 2, 3 in both 8-bit formats: 2^k * (1 + m).
uint32_t as_e4m3(int x) { return static_cast<uint32_t>(x == 0 ? 0 : x == 1 ? 7 << 3 : 8 << 3 | (x == 3 ? 4 : 0)); }
uint32_t as_e5m2(int x) { return static_cast<uint32_t>(x == 0 ? 0 : x == 1 ? 15 << 2 : 16 << 2 | (x == 3 ? 2 : 0)); }

struct Operands {
  FormRow row;
  uint32_t (*encode_b)(int);
};
const Operands kForms[] = {
    {{"f16", "float", "tl_f16", "tl_f16", 2, as_half}, as_half},
    {{"f16_in_f16", "tl_f16", "tl_f16", "tl_f16", 2, as_half}, as_half},
    {{"bf16", "float", "tl_bf16", "tl_bf16", 2, as_bf16}, as_bf16},
    {{"tf32", "float", "tl_tf32", "tl_tf32", 4, as_tf32}, as_tf32},
    {{"e4m3", "float", "tl_e4m3", "tl_e4m3", 1, as_e4m3}, as_e4m3},
    {{"e4m3_e5m2", "float", "tl_e4m3", "tl_e5m2", 1, as_e4m3}, as_e5m2},
    {{"e5m2_in_f16", "tl_f16", "tl_e5m2", "tl_e5m2", 1, as_e5m2}, as_e5m2},
    {{"s8", "int", "tl_i8", "tl_i8", 1, as_byte, true}, as_byte},
    {{"u8_s8", "int", "tl_u8", "tl_i8", 1, as_byte, true}, as_byte},
};
void PrintTo(const Operands& form, std::ostream* out) { *out << form.row.name; }

bool has_width(const Operands& form, int n) { return !form.row.integers || n <= 32 || n % 16 == 0; }

// Two products into one accumulator, the first overwriting, A from shared memory or from registers; K-major tiles with the
// 32-byte swizzle, A at 1024, B at 8192, filled by `image`.
std::string form_text(const Operands& form) {
  const std::string of = std::string(", ") + form.row.sums + ", " + form.row.a + ", " + form.row.b;
  const bool packed = form.row.sums == std::string("tl_f16");
  std::string text = "TL_KERNEL(128, 1) k(const tl_u32* image, const tl_u32* registers, tl_u32* out, int n, int from_registers) {\n"
      "  for (int i = tl_thread(); i < 4096; i += 128) {\n    reinterpret_cast<tl_u32*>(tl_arena + 0)[i] = image[i];\n  }\n"
      "  tl_proxy_fence();\n  tl_barrier();\n  tl_u64 a[1];\n  tl_u64 b[1];\n  tl_u32 r[4];\n"
      "  for (int i = 0; i < 4; i += 1) {\n    r[i] = registers[tl_thread() * 4 + i];\n  }\n"
      "  tl_wgmma_describe<32>(a, tl_arena + 1024, 16, 256);\n  tl_wgmma_describe<32>(b, tl_arena + 8192, 16, 256);\n  tl_wgmma_fence();\n";
  for (int n = 8; n <= 256; n += 8) {
    if (!has_width(form, n)) continue;
    const std::string words = std::to_string(packed ? n / 4 : n / 2), width = std::to_string(n);
    text += "  if (n == " + width + ") {\n    " + (packed ? "tl_u32" : form.row.sums) + " d[" + words + "];\n    if (from_registers) {\n"
            "      tl_wgmma_rs<" + width + of + ", 0>(d, r, b[0], 0);\n      tl_wgmma_fence();\n      tl_wgmma_rs<" + width + of + ", 0>(d, r, b[0], 1);\n    } else {\n"
            "      tl_wgmma<" + width + of + ", 0, 0>(d, a[0], b[0], 0);\n      tl_wgmma<" + width + of + ", 0, 0>(d, a[0], b[0], 1);\n    }\n"
            "    tl_wgmma_commit();\n    tl_wgmma_wait<0>();\n"
            "    for (int i = 0; i < " + words + "; i += 1) {\n      out[tl_thread() * " + words + " + i] = tl_bits<tl_u32>(d[i]);\n    }\n  }\n";
  }
  return text + "}";
}

class WarpgroupForm : public testing::TestWithParam<Operands> {};

TEST_P(WarpgroupForm, IsRightInEveryWidth) {
  const Operands& form = GetParam();
  const uint32_t size = form.row.bytes, depth = 32 / size;
  const auto x = [](uint32_t i, uint32_t k) { return static_cast<int>((i * 5 + k * 3) % 7 % 4); };
  const auto y = [](uint32_t j, uint32_t k) { return static_cast<int>((j * 3 + k) % 5 % 4); };
  std::vector<uint8_t> image(16384, 0xff);
  const auto put = [&](uint32_t tile, uint32_t row, uint32_t k, uint32_t raw) {
    const uint32_t at = tile + row * 32 + k * size;
    std::memcpy(&image[at ^ (at >> 3 & 0x10)], &raw, size);
  };
  std::vector<uint32_t> registers(512), out(128 * 128);
  for (uint32_t k = 0; k < depth; ++k) {
    for (uint32_t i = 0; i < 64; ++i) put(1024, i, k, form.row.encode(x(i, k)));
    for (uint32_t j = 0; j < 256; ++j) put(8192, j, k, form.encode_b(y(j, k)));
  }
  for (uint32_t t = 0; t < 128; ++t)
    for (uint32_t r = 0; r < 4; ++r)
      for (uint32_t e = 0; e < 4 / size; ++e)
        registers[4 * t + r] |= form.row.encode(x(16 * (t / 32) + t % 32 / 4 + 8 * (r & 1), t % 4 * (4 / size) + e + (r >> 1) * depth / 2)) << (8 * size * e % 32);
  Kit kit(form_text(form));
  const bool packed = form.row.sums == std::string("tl_f16");
  for (int n = 8; n <= 256; n += 8)
    for (int from_registers : {0, 1}) {
      if (!has_width(form, n)) continue;
      const Schedule schedule{Order::greedy, n % 16 != 0, 1, Timing::late, Timing::late, n % 24 ? Timing::late : Timing::early};
      const Report report = kit.run({1}, 128, 16384, schedule, reinterpret_cast<const uint32_t*>(image.data()),
                                    static_cast<const uint32_t*>(registers.data()), out.data(), n, from_registers);
      ASSERT_TRUE(report.ok()) << report.text;
      for (uint32_t t = 0; t < 128; ++t)
        for (uint32_t v = 0; v < static_cast<uint32_t>(n) / 2; ++v) {
          const uint32_t i = 16 * (t / 32) + t % 32 / 4 + 8 * (v / 2 % 2), j = 8 * (v / 4) + 2 * (t % 4) + v % 2;
          int want = 0;
          for (uint32_t k = 0; k < depth; ++k) want += 2 * x(i, k) * y(j, k);
          const uint32_t word = out[t * static_cast<uint32_t>(packed ? n / 4 : n / 2) + (packed ? v / 2 : v)];
          const float got = packed ? f16_to_float(static_cast<uint16_t>(word >> (16 * (v % 2)))) : form.row.integers ? static_cast<float>(static_cast<int32_t>(word)) : float_of_bits(word);
          ASSERT_EQ(got, static_cast<float>(want)) << "width " << n << " row " << i << " column " << j;
        }
    }
}
INSTANTIATE_TEST_SUITE_P(Types, WarpgroupForm, testing::ValuesIn(kForms), [](const auto& info) { return std::string(info.param.row.name); });

TEST(ProductForms, ThatTheInstructionDoesNotTakeAreRefused) {
  static const struct {
    const char *call, *why;
  } kRefused[] = {
      {"tl_wgmma<40, int, tl_i8, tl_i8, 0, 0>(tl_slice<20>(i + 0), 64, 64, 0);", "that there is not, of width 40"},
      {"tl_wgmma<12, float, tl_f16, tl_f16, 0, 0>(tl_slice<6>(d + 0), 64, 64, 0);", "that there is not, of width 12"},
      {"tl_wgmma<16, float, tl_tf32, tl_tf32, 0, 1>(tl_slice<8>(d + 0), 64, 64, 0);", "MN-major"},
      {"tl_wgmma<16, float, tl_f16, tl_bf16, 0, 0>(tl_slice<8>(d + 0), 64, 64, 0);", "do not go together"},
      {"tl_wgmma<16, tl_f16, tl_bf16, tl_bf16, 0, 0>(tl_slice<4>(h + 0), 64, 64, 0);", "summed in f16"},
      {"tl_wgmma<16, float, tl_i8, tl_i8, 0, 0>(tl_slice<8>(d + 0), 64, 64, 0);", "summed in s32"},
  };
  std::string text = "TL_KERNEL(128, 1) k(int which) {\n  float d[64];\n  int i[64];\n  tl_u32 h[64];\n  tl_wgmma_fence();\n";
  for (size_t i = 0; i < std::size(kRefused); ++i) text += "  if (which == " + std::to_string(i) + ") {\n    " + kRefused[i].call + "\n  }\n";
  Kit kit(text + "  tl_wgmma_commit();\n  tl_wgmma_wait<0>();\n}");
  for (size_t i = 0; i < std::size(kRefused); ++i) {
    const Report report = kit.run({1}, 128, 65536, {}, static_cast<int>(i));
    EXPECT_EQ(report.fault, Fault::protocol);
    EXPECT_NE(report.text.find(kRefused[i].why), std::string::npos) << report.text;
  }
}

// P in registers is read until the wait: what is written there before shows.
TEST(ProductForms, RegistersOfAMustRestUntilTheWait) {
  const auto run = [](const std::string& early, const std::string& late, bool& wrong) {
    Kit kit("TL_KERNEL(128, 1) k(float* out) {\n  tl_u32* const s = reinterpret_cast<tl_u32*>(tl_arena + 0);\n"
            "  for (int i = tl_thread(); i < 64; i += 128) {\n    s[i] = 0x3f803f80;\n  }\n  tl_proxy_fence();\n  tl_barrier();\n"
            "  float d[4];\n  tl_u32 a[4];\n  tl_u64 b[1];\n  for (int i = 0; i < 4; i += 1) {\n    a[i] = 0x3f803f80;\n  }\n"
            "  tl_wgmma_describe<0>(b, tl_arena + 0, 128, 128);\n  tl_wgmma_fence();\n  tl_wgmma_rs<8, float, tl_bf16, tl_bf16, 0>(d, a, b[0], 0);\n  tl_wgmma_commit();\n" +
            early + "  tl_wgmma_wait<0>();\n" + late + "  for (int i = 0; i < 4; i += 1) {\n    out[tl_thread() * 4 + i] = d[i] + a[0] * 0.0f;\n  }\n}");
    std::vector<float> out(512);
    const Report report = kit.run({1}, 128, 1024, {}, out.data());
    EXPECT_TRUE(report.ok()) << report.text;
    wrong = std::any_of(out.begin(), out.end(), [](float x) { return x != 16.0f; });
  };
  bool wrong = true;
  run("", "  a[1] = 0;\n", wrong);
  EXPECT_FALSE(wrong);
  run("  a[1] = 0;\n", "", wrong);
  EXPECT_TRUE(wrong);
}

}  // namespace
}  // namespace tilert::emulator
