// A warp-specialized product over Hopper's primitives: right in every schedule, and each fault put into its text is caught.
#include <gtest/gtest.h>

#include "emulator/cuda/numbers.h"
#include "emulator/cuda/tensor_map.h"
#include "emulator/kit.h"

namespace tilert::emulator {
namespace {

// C[M, N] = A[M, K] * B[N, K]^T, bf16: tiles of 64 x 64 x 64, a ring of three stages, one producer thread, one consumer
// warpgroup, tensor stores.
const char kGemm[] = R"(TL_KERNEL(256, 1) gemm(const __grid_constant__ tl_tensor_map ma, const __grid_constant__ tl_tensor_map mb, const __grid_constant__ tl_tensor_map mc, const tl_i64 depth) {
  const int t = tl_thread();
  tl_bf16* const a = reinterpret_cast<tl_bf16*>(tl_arena + 0);
  tl_bf16* const b = reinterpret_cast<tl_bf16*>(tl_arena + 24576);
  tl_bf16* const c = reinterpret_cast<tl_bf16*>(tl_arena + 49152);
  tl_u64* const full = reinterpret_cast<tl_u64*>(tl_arena + 57344);
  tl_u64* const empty = reinterpret_cast<tl_u64*>(tl_arena + 57376);
  // barriers of the ring
  if (t == 0) {
    for (int i = 0; i < 3; i += 1) {
      tl_mbarrier_init(full + i, 1);
      tl_mbarrier_init(empty + i, 1);
    }
    tl_mbarrier_init_fence();
  }
  tl_barrier();
  if (t >= 128) {
    tl_setmaxnreg_dec<40>();
    // 1: copies
    if (t == 128) {
      int stage = 0;
      int parity = 1;
      for (tl_i64 k = 0; k < depth; k += 1) {
        tl_mbarrier_wait(empty + stage, parity);
        tl_mbarrier_expect(full + stage, 16384);
        tl_tma_load_2d(a + stage * 4096, ma, full + stage, k * 64, tl_block_y() * 64);
        tl_tma_load_2d(b + stage * 4096, mb, full + stage, k * 64, tl_block_x() * 64);
        parity = stage == 2 ? 1 - parity : parity;
        stage = stage == 2 ? 0 : stage + 1;
      }
    }
  } else {
    float acc[32];
    for (int i = 0; i < 32; i += 1) {
      acc[i] = 0.0f;
    }
    int stage = 0;
    int phase = 0;
    int previous = -1;
    for (tl_i64 k = 0; k < depth; k += 1) {
      tl_mbarrier_wait(full + stage, phase);
      // 2: product
      tl_u64 da[1];
      tl_u64 db[1];
      tl_wgmma_descriptor(da, a + stage * 4096);
      tl_wgmma_descriptor(db, b + stage * 4096);
      tl_wgmma_hold(acc);
      tl_wgmma_fence();
      for (int kk = 0; kk < 4; kk += 1) {
        tl_wgmma_ss<64, tl_bf16>(acc, da[0] + 2 * kk, db[0] + 2 * kk, 1);
      }
      tl_wgmma_commit();
      tl_wgmma_hold(acc);
      tl_wgmma_wait<1>();
      if (t == 0 && previous >= 0) tl_mbarrier_arrive(empty + previous);
      previous = stage;
      phase = stage == 2 ? 1 - phase : phase;
      stage = stage == 2 ? 0 : stage + 1;
    }
    tl_wgmma_wait<0>();
    tl_wgmma_hold(acc);
    // 3: copy out
    const int row = (t >> 5) * 16 + (t & 15);
    for (int j = 0; j < 4; j += 1) {
      tl_u32 r[4];
      tl_cast_pack<tl_bf16>(r, tl_slice<8>(acc + j * 8));
      tl_stmatrix_x4(c + (((row * 128 + (j * 2 + ((t & 31) >> 4)) * 16) ^ ((row & 7) * 16)) >> 1), r);
    }
    tl_proxy_fence();
    tl_named_barrier(1, 128);
    if (t == 0) {
      tl_tma_store_2d(mc, c, tl_block_x() * 64, tl_block_y() * 64);
      tl_tma_store_commit();
      tl_tma_store_wait_read<0>();
    }
  }
}
)";

constexpr int kM = 100, kN = 120, kSteps = 5, kK = 64 * kSteps - 8;
constexpr uint32_t kShared = 57408;

// A row-major [rows, columns] tensor of 2-byte elements in boxes of 64 x 64, 128-byte swizzle.
MapBytes map_of(void* data, uint32_t rows, uint32_t columns) {
  TensorMap map;
  std::memset(static_cast<void*>(&map), 0, sizeof map);
  map.magic = TensorMap::kMagic;
  map.type = 9;
  map.rank = 2;
  map.swizzle = 3;
  map.element_bytes = 2;
  map.element_strides[0] = map.element_strides[1] = 1;
  map.box[0] = map.box[1] = 64;
  map.dims[0] = columns;
  map.dims[1] = rows;
  map.address = reinterpret_cast<uintptr_t>(data);
  map.strides[0] = columns * 2;
  MapBytes out;
  std::memcpy(out.bytes, &map, sizeof map);
  return out;
}

struct Problem {
  Kit::Guarded a{kM * kK * 2, "A"}, b{kN * kK * 2, "B"}, c{kM * kN * 2, "C"};
  std::vector<float> want = std::vector<float>(kM * kN);

  Problem() {
    std::vector<float> x(kM * kK), y(kN * kK);
    uint32_t seed = 1;
    const auto next = [&] { return static_cast<float>(static_cast<int>((seed = seed * 1664525 + 1013904223) >> 29) - 3); };
    for (size_t i = 0; i < x.size(); ++i) static_cast<uint16_t*>(a.data())[i] = float_to_bf16(x[i] = next());
    for (size_t i = 0; i < y.size(); ++i) static_cast<uint16_t*>(b.data())[i] = float_to_bf16(y[i] = next());
    for (size_t i = 0; i < kM; ++i)
      for (size_t j = 0; j < kN; ++j) {
        float sum = 0;
        for (size_t k = 0; k < kK; ++k) sum += x[i * kK + k] * y[j * kK + k];
        want[i * kN + j] = bf16_to_float(float_to_bf16(sum));
      }
  }

  // Empty, or what was wrong.
  std::string run(Kit& kit, const Schedule& schedule) {
    std::memset(c.data(), 0xff, kM * kN * 2);
    const Report report = kit.run({2, 2}, 256, kShared, schedule, map_of(a.data(), kM, kK), map_of(b.data(), kN, kK), map_of(c.data(), kM, kN),
                                  static_cast<long long>(kSteps));
    if (!report.ok()) return report.text;
    for (size_t i = 0; i < want.size(); ++i) {
      const float got = bf16_to_float(static_cast<uint16_t*>(c.data())[i]);
      if (got != want[i]) return "element " + std::to_string(i) + " is " + std::to_string(got) + ", not " + std::to_string(want[i]);
    }
    return {};
  }
};

UnitOptions options(bool races) {
  UnitOptions out;
  out.races = races;
  return out;
}

TEST(Hopper, TheProductIsRightInEverySchedule) {
  Problem problem;
  Kit kit(kGemm);
  for (const Schedule& schedule : all_schedules()) ASSERT_EQ(problem.run(kit, schedule), "") << schedule.text();
}

TEST(Hopper, TheProductHasNoRaces) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the hooks are the thread sanitizer's own in this build";
#endif
  Problem problem;
  Kit kit(kGemm, options(true));
  for (const Schedule& schedule : usual_schedules()) ASSERT_EQ(problem.run(kit, schedule), "") << schedule.text();
}

struct InjectedFault {
  const char *name, *from, *to;
  bool only_races;  // seen by who marks accesses alone: its outcome is that of the right text on the host
};

constexpr InjectedFault kFaults[] = {
    {"no_full_wait", "tl_mbarrier_wait(full + stage, phase);", "", false},
    {"no_empty_wait", "tl_mbarrier_wait(empty + stage, parity);", "", false},
    {"constant_phase_of_full", "tl_mbarrier_wait(full + stage, phase);", "tl_mbarrier_wait(full + stage, 0);", false},
    {"constant_phase_of_empty", "tl_mbarrier_wait(empty + stage, parity);", "tl_mbarrier_wait(empty + stage, 1);", false},
    {"too_many_bytes", "16384", "16512", false},
    {"too_few_bytes", "16384", "8192", false},
    {"released_too_early", "if (t == 0 && previous >= 0) tl_mbarrier_arrive(empty + previous);", "if (t == 0) tl_mbarrier_arrive(empty + stage);", false},
    {"never_released", "if (t == 0 && previous >= 0) tl_mbarrier_arrive(empty + previous);", "", false},
    {"released_by_all", "if (t == 0 && previous >= 0)", "if (previous >= 0)", false},
    {"no_product_wait", "tl_wgmma_wait<0>();", "", false},
    {"no_commit", "tl_wgmma_commit();", "", false},
    {"no_product_fence", "tl_wgmma_fence();", "", false},
    {"no_initialization_fence", "tl_mbarrier_init_fence();", "", false},
    {"no_barrier_after_initialization", "  tl_barrier();\n", "", false},
    {"no_proxy_fence", "tl_proxy_fence();", "", true},
    {"no_barrier_before_the_store", "tl_named_barrier(1, 128);", "", false},
    {"barrier_of_too_few", "tl_named_barrier(1, 128);", "tl_named_barrier(1, 96);", false},
    {"no_store_commit", "tl_tma_store_commit();", "", false},
    {"no_store_wait", "tl_tma_store_wait_read<0>();", "", false},
    {"wrong_k_offset", "db[0] + 2 * kk", "db[0] + 4 * kk", false},
    {"wrong_swizzle", "(row & 7) * 16", "(row & 3) * 16", false},
    {"wrong_coordinate", "k * 64, tl_block_y() * 64", "k * 64, tl_block_y() * 63", false},
    {"wrong_stage", "tl_wgmma_descriptor(db, b + stage * 4096);", "tl_wgmma_descriptor(db, b);", false},
    {"overrun", "a + stage * 4096, ma", "a + stage * 14336, ma", false},
    {"misaligned_tile", "b + stage * 4096, mb", "b + stage * 4096 + 8, mb", false},
    {"early_end", "if (t == 0) {\n      tl_tma_store_2d", "if (t == 200) {\n      tl_tma_store_2d", false},
};

void PrintTo(const InjectedFault& fault, std::ostream* out) { *out << fault.name; }

class HopperFault : public testing::TestWithParam<InjectedFault> {};

TEST_P(HopperFault, IsCaught) {
  const InjectedFault& fault = GetParam();
  std::string text = kGemm;
  const size_t at = text.find(fault.from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::strlen(fault.from), fault.to);
  Problem problem;
  size_t caught = 0;
  std::string said;
  if (fault.only_races) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the hooks are the thread sanitizer's own in this build";
#endif
    Kit kit(text, options(true));
    for (const Schedule& schedule : usual_schedules()) {
      const std::string wrong = problem.run(kit, schedule);
      caught += wrong.find("race: ") == 0;
      said += wrong + "\n";
    }
    EXPECT_EQ(caught, usual_schedules().size()) << said;
    return;
  }
  Kit kit(text);
  for (const Schedule& schedule : usual_schedules()) caught += !problem.run(kit, schedule).empty();
  EXPECT_GE(caught, 1u);
}

INSTANTIATE_TEST_SUITE_P(Injected, HopperFault, testing::ValuesIn(kFaults), [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilert::emulator
