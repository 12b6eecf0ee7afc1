// Warpgroup products of every operand type: K-major in each swizzle, MN-major, A from registers, against products on the host.
#include <gtest/gtest.h>

#include "emulator/cuda/numbers.h"
#include "emulator/cuda/operand.h"
#include "emulator/kit.h"

namespace tilert::emulator {
namespace {

constexpr int kWidth = 16;
constexpr uint32_t kTileB = 32768;  // offset of B's tile; A's is at 0

const char kProductText[] =
    "TL_KERNEL(128, 1) k(const tl_u32* image, const tl_u32* registers, tl_u32* out, tl_u64 a, tl_u64 b, int type, int sums, int form) {\n"
    "  for (int i = tl_thread(); i < 16384; i += 128) {\n    reinterpret_cast<tl_u32*>(tl_arena + 0)[i] = image[i];\n  }\n"
    "  tl_proxy_fence();\n  tl_barrier();\n"
    "  tl_u32 acc[8];\n  tl_u32 r[4];\n"
    "  for (int i = 0; i < 4; i += 1) {\n    r[i] = registers[tl_thread() * 4 + i];\n  }\n"
    "  const tl_u64 start = tl_address(tl_arena + 0) >> 4;\n"
    "  tl_wgmma_fence();\n"
    "  tlemu_wgmma(acc, 16, sums, type, type, a + start, (form & 4) ? r : 0, b + start, 0, form & 1, (form >> 1) & 1, 1);\n"
    "  tl_wgmma_commit();\n  tl_wgmma_wait<0>();\n"
    "  for (int i = 0; i < 8; i += 1) {\n    out[tl_thread() * 8 + i] = acc[i];\n  }\n}";

// Bits of a small whole number.
uint32_t encode(Number type, int value) {
  for (uint32_t raw = 0; type == Number::e4m3 || type == Number::e5m2; ++raw)
    if (number_value(type, raw) == static_cast<float>(value)) return raw;
  if (type == Number::f16) return float_to_f16(static_cast<float>(value));
  if (type == Number::bf16) return float_to_bf16(static_cast<float>(value));
  if (type == Number::tf32) return bits_of_float(static_cast<float>(value));
  return static_cast<uint8_t>(value);
}

// A tile's layout as the tables of canonical layouts have it: strides in bytes, then the swizzle of 16-byte chunks.
struct Layout {
  int swizzle = 0;  // 0: none; bytes: 32, 64, 128
  bool mn_major = false;
  uint32_t leading = 0, stride = 0;

  uint32_t place(uint32_t mn, uint32_t k, uint32_t size) const {
    const uint32_t span = swizzle ? static_cast<uint32_t>(swizzle) : 16;
    const uint32_t row = mn_major ? k : mn, byte = (mn_major ? mn : k) * size;
    uint32_t at = row % 8 * span + byte % span;
    if (mn_major) at += swizzle ? byte / span * leading + row / 8 * stride : byte / 16 * stride + row / 8 * leading;
    else at += row / 8 * stride + byte / span * leading;
    const uint32_t mask = swizzle ? span / 16 - 1 : 0;
    return at ^ ((at / 128 & mask) * 16);
  }
  uint64_t descriptor(uint32_t offset) const {
    const uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    return offset >> 4 | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 | mode << 62;
  }
};

void check(Kit& kit, Number type, const Layout& a, const Layout& b, bool from_registers) {
  const auto size = static_cast<uint32_t>(number_bits(type) / 8), depth = 32 / size;
  std::vector<uint8_t> image(65536, 0xff);
  std::vector<uint32_t> registers(512, 0), out(1024, 0);
  std::vector<int> x(64 * depth), y(kWidth * depth);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i * 7 % 5) - 2;
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int>(i * 11 % 7) - 3;
  if (type == Number::u8)
    for (auto* list : {&x, &y})
      for (int& v : *list) v = std::abs(v);
  const auto put = [&](uint32_t at, int value) {
    const uint32_t raw = encode(type, value);
    std::memcpy(&image[at], &raw, size);
  };
  for (uint32_t k = 0; k < depth; ++k) {
    for (uint32_t i = 0; i < 64; ++i) put(a.place(i, k, size), x[i * depth + k]);
    for (uint32_t j = 0; j < kWidth; ++j) put(kTileB + b.place(j, k, size), y[j * depth + k]);
  }
  // Thread t, register r, byte e * size: row 16 (t / 32) + t % 32 / 4 + 8 (r % 2), K as m16n8kK's A.
  for (uint32_t t = 0; t < 128; ++t)
    for (uint32_t r = 0; r < 4; ++r)
      for (uint32_t e = 0; e < 4 / size; ++e) {
        const uint32_t row = 16 * (t / 32) + t % 32 / 4 + 8 * (r & 1), k = t % 4 * (4 / size) + e + (r >> 1) * depth / 2;
        registers[4 * t + r] |= encode(type, x[row * depth + k]) << (8 * size * e);
      }
  const int form = (a.mn_major ? 1 : 0) | (b.mn_major ? 2 : 0) | (from_registers ? 4 : 0);
  const bool integer = type == Number::s8 || type == Number::u8;
  for (const Schedule& schedule : usual_schedules()) {
    const Report report = kit.run({1}, 128, 65536, schedule, reinterpret_cast<const uint32_t*>(image.data()), registers.data(), out.data(),
                                  static_cast<unsigned long long>(a.descriptor(0)), static_cast<unsigned long long>(b.descriptor(kTileB)),
                                  static_cast<int>(type), integer ? 1 : 0, form);
    ASSERT_TRUE(report.ok()) << report.text;
    for (uint32_t t = 0; t < 128; ++t)
      for (uint32_t v = 0; v < 8; ++v) {
        const uint32_t i = 16 * (t / 32) + t % 32 / 4 + 8 * (v / 2 % 2), j = 8 * (v / 4) + 2 * (t % 4) + v % 2;
        int want = 0;
        for (uint32_t k = 0; k < depth; ++k) want += x[i * depth + k] * y[j * depth + k];
        const float got = integer ? static_cast<float>(static_cast<int32_t>(out[8 * t + v])) : float_of_bits(out[8 * t + v]);
        ASSERT_EQ(got, static_cast<float>(want)) << "row " << i << " column " << j;
      }
  }
}

TEST(Products, OfEveryTypeAndSwizzleKMajor) {
  Kit kit(kProductText);
  for (Number type : {Number::f16, Number::bf16, Number::tf32, Number::e4m3, Number::e5m2, Number::s8, Number::u8})
    for (int swizzle : {0, 32, 64, 128}) {
      const uint32_t span = swizzle ? static_cast<uint32_t>(swizzle) : 16;
      const Layout layout{swizzle, false, swizzle ? 16u : 1024u, 8 * span};
      for (bool from_registers : {false, true}) {
        SCOPED_TRACE("type " + std::to_string(static_cast<int>(type)) + " swizzle " + std::to_string(swizzle) + (from_registers ? " registers" : ""));
        check(kit, type, layout, layout, from_registers);
      }
    }
}

TEST(Products, OfSixteenBitsMnMajor) {
  Kit kit(kProductText);
  for (int swizzle : {0, 32, 64, 128}) {
    SCOPED_TRACE("swizzle " + std::to_string(swizzle));
    const uint32_t span = swizzle ? static_cast<uint32_t>(swizzle) : 16;
    // Spans along MN, then groups of 8 along K; without a swizzle the strides change places.
    const Layout spread{swizzle, true, swizzle ? 16 * span : 4096, swizzle ? 8 * span : 128};
    const Layout k_major{128, false, 16, 1024};
    check(kit, Number::bf16, spread, spread, false);
    check(kit, Number::f16, k_major, spread, false);
    check(kit, Number::f16, k_major, spread, true);
  }
}

}  // namespace
}  // namespace tilert::emulator
