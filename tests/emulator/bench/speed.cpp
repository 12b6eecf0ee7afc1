// emulator_speed: what a 64x64x64 block of products costs on the host, per matrix unit: hand-written kernels over the
// primitives, their loop long enough that launching does not count. Median of several runs under a greedy schedule,
// in time of the processor.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "emulator/kit.h"

namespace tilert::emulator {
namespace {

constexpr int kBlocks = 64;  // 64x64x64 products a launch

// Four warps of 32x32: per 16 of K two ldmatrix of A, two of B, eight products; tiles in shared memory, 128-byte swizzle.
const char kMma[] = R"(TL_KERNEL(128, 1) k(float* out, int blocks) {
  tl_bf16* const a = reinterpret_cast<tl_bf16*>(tl_arena + 0);
  tl_bf16* const b = reinterpret_cast<tl_bf16*>(tl_arena + 8192);
  for (int i = tl_thread(); i < 8192; i += 128) {
    a[i] = tl_from_float<tl_bf16>(1.0f);
  }
  tl_barrier();
  float acc[32];
  for (int i = 0; i < 32; i += 1) {
    acc[i] = 0.0f;
  }
  const int lane = tl_thread() & 31;
  const int row = (tl_thread() >> 6) * 32 + (lane & 15);
  const int column = ((tl_thread() >> 5) & 1) * 32 + (lane & 7) + (lane >> 4) * 8;
  for (int n = 0; n < blocks; n += 1) {
    for (int k = 0; k < 4; k += 1) {
      tl_u32 ra[8];
      tl_u32 rb[8];
      for (int i = 0; i < 2; i += 1) {
        tl_ldmatrix_x4(tl_slice<4>(ra + 4 * i), a + (row + 16 * i) * 64 + (((k * 2 + (lane >> 4)) ^ (row & 7)) * 8));
        tl_ldmatrix_x4(tl_slice<4>(rb + 4 * i), b + (column + 16 * i) * 64 + (((k * 2 + ((lane >> 3) & 1)) ^ (column & 7)) * 8));
      }
      for (int i = 0; i < 2; i += 1) {
        for (int j = 0; j < 4; j += 1) {
          tl_mma_m16n8k16_bf16(tl_slice<4>(acc + 16 * i + 4 * j), tl_slice<4>(ra + 4 * i), tl_slice<2>(rb + 2 * j));
        }
      }
    }
    tl_barrier();
  }
  for (int i = 0; i < 32; i += 1) {
    out[tl_thread() * 32 + i] = acc[i];
  }
})";

const char kWgmma[] = R"(TL_KERNEL(128, 1) k(float* out, int blocks) {
  tl_bf16* const a = reinterpret_cast<tl_bf16*>(tl_arena + 0);
  for (int i = tl_thread(); i < 8192; i += 128) {
    a[i] = tl_from_float<tl_bf16>(1.0f);
  }
  tl_proxy_fence();
  tl_barrier();
  float acc[32];
  for (int i = 0; i < 32; i += 1) {
    acc[i] = 0.0f;
  }
  tl_u64 da[1];
  tl_u64 db[1];
  tl_wgmma_descriptor(da, a);
  tl_wgmma_descriptor(db, a + 4096);
  for (int n = 0; n < blocks; n += 1) {
    tl_wgmma_fence();
    for (int k = 0; k < 4; k += 1) {
      tl_wgmma_ss<64, tl_bf16>(acc, da[0] + 2 * k, db[0] + 2 * k, 1);
    }
    tl_wgmma_commit();
    tl_wgmma_wait<0>();
  }
  for (int i = 0; i < 32; i += 1) {
    out[tl_thread() * 32 + i] = acc[i];
  }
})";

void measure(const char* name, const char* text, double asked) {
  Kit kit(text);
  std::vector<float> out(128 * 32);
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    const std::clock_t start = std::clock();
    const Report report = kit.run({1}, 128, 16384, Schedule(), out.data(), kBlocks);
    times.push_back(1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / kBlocks);
    if (!report.ok() || out[0] != 64.0f * kBlocks) return static_cast<void>(std::printf("%s: wrong: %s\n", name, report.text.c_str()));
  }
  std::sort(times.begin(), times.end());
  std::printf("%-9s %.3f ms per 64x64x64 block (least %.3f; at most %.2f is asked)\n", name, times[4], times[0], asked);
}

}  // namespace
}  // namespace tilert::emulator

int main() {
  tilert::emulator::measure("mma.sync", tilert::emulator::kMma, 0.5);
  tilert::emulator::measure("wgmma", tilert::emulator::kWgmma, 0.2);
}
