// Tensor copies of 1 to 5 dims with every swizzle, bounds, multicast over a cluster, additions; warpgroup products of every
// operand type, K- and MN-major, A from shared memory and from registers: against references written apart.
#include <gtest/gtest.h>

#include "emulator/cuda/operand.h"
#include "emulator/cuda/primitives.h"
#include "emulator/cuda/reduce.h"
#include "emulator/cuda/tensor_map.h"
#include "emulator/kit.h"

namespace tilert::emulator {
namespace {

// A dense tensor of 4-byte integers, innermost dim first.
TensorMap dense_map(void* data, const std::vector<uint32_t>& dims, const std::vector<uint16_t>& box, int swizzle) {
  TensorMap map;
  std::memset(static_cast<void*>(&map), 0, sizeof map);
  map.magic = TensorMap::kMagic;
  map.type = 3;
  map.rank = static_cast<uint8_t>(dims.size());
  map.swizzle = static_cast<uint8_t>(swizzle);
  map.element_bytes = 4;
  map.address = reinterpret_cast<uintptr_t>(data);
  uint64_t stride = 4;
  for (size_t d = 0; d < dims.size(); ++d) {
    map.dims[d] = dims[d];
    map.box[d] = box[d];
    map.element_strides[d] = 1;
    if (d > 0) map.strides[d - 1] = stride;
    stride *= dims[d];
  }
  return map;
}

MapBytes bytes_of(const TensorMap& map) {
  MapBytes out;
  std::memcpy(out.bytes, &map, sizeof map);
  return out;
}

// Loads a box, hands its tile out as it lies, and stores the box again, 8 columns to the right, to another tensor: stores have
// no negative coordinates.
std::string copy_text(int rank, const std::string& store) {
  const std::string rest[] = {"", ", 1", ", 1, 2", ", 1, 2, 0", ", 1, 2, 0, 1"};
  const std::string n = std::to_string(rank), where = rest[rank - 1];
  return "TL_KERNEL(32, 1) k(const __grid_constant__ tl_tensor_map from, const __grid_constant__ tl_tensor_map to, int* raw, int bytes, int tile) {\n"
         "  tl_u64* const bar = reinterpret_cast<tl_u64*>(tl_arena + 16384);\n"
         "  if (tl_thread() == 0) {\n    tl_mbarrier_init(bar, 1);\n    tl_mbarrier_init_fence();\n"
         "    tl_mbarrier_expect(bar, bytes);\n    tl_tma_load_" + n + "d(tl_arena + 1024, from, bar, -4" + where + ");\n  }\n"
         "  tl_warp_sync();\n  tl_mbarrier_wait(bar, 0);\n"
         "  for (int i = tl_thread(); i < tile / 4; i += 32) {\n    raw[i] = reinterpret_cast<const int*>(tl_arena + 1024)[i];\n  }\n"
         "  tl_warp_sync();\n"
         "  if (tl_thread() == 0) {\n    " + store + "(to, tl_arena + 1024, 4" + where + ");\n    tl_tma_store_commit();\n    tl_tma_store_wait<0>();\n  }\n}";
}

class TensorCopy : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(TensorCopy, FillsOutsideSwizzlesAndClips) {
  const auto [rank, swizzle] = GetParam();
  static const uint32_t kDims[] = {12, 3, 4, 2, 3};
  static const uint16_t kBox[] = {8, 4, 3, 2, 2};
  const std::vector<uint32_t> dims(kDims, kDims + rank);
  const std::vector<uint16_t> box(kBox, kBox + rank);
  const int corner[] = {-4, 1, 2, 0, 1};
  size_t count = 1, elements = 1;
  for (int d = 0; d < rank; ++d) count *= dims[static_cast<size_t>(d)], elements *= box[static_cast<size_t>(d)];
  // Rows lie a swizzle's span apart, where they are shorter.
  const size_t pitch = std::max<size_t>(32, swizzle ? 16u << swizzle : 0), tile = elements / 8 * pitch;
  Kit::Guarded from(count * 4, "from"), to(count * 4, "to"), raw(tile, "raw");
  for (size_t i = 0; i < count; ++i) static_cast<int*>(from.data())[i] = static_cast<int>(i) + 1;
  Kit kit(copy_text(rank, "tl_tma_store_" + std::to_string(rank) + "d"));
  for (const Schedule& schedule : usual_schedules()) {
    std::memset(to.data(), 0xff, count * 4);
    const Report report = kit.run({1}, 32, 16392, schedule, bytes_of(dense_map(from.data(), dims, box, swizzle)),
                                  bytes_of(dense_map(to.data(), dims, box, swizzle)), static_cast<int*>(raw.data()), static_cast<int>(elements * 4), static_cast<int>(tile));
    ASSERT_TRUE(report.ok()) << report.text;
    std::vector<int> stored(count, -1);
    for (size_t e = 0; e < elements; ++e) {
      size_t rest = e, index = 0, step = 1;
      bool inside = true, kept = true;
      for (size_t d = 0; d < static_cast<size_t>(rank); ++d) {
        const int64_t c = corner[d] + static_cast<int64_t>(rest % box[d]);
        rest /= box[d];
        inside &= c >= 0 && c < dims[d];
        kept &= d == 0 || (c >= 0 && c < dims[d]);
        index += static_cast<size_t>(c) * step;
        step *= dims[d];
      }
      const int want = inside ? static_cast<int>(index) + 1 : 0;
      if (kept) stored[static_cast<size_t>(static_cast<int64_t>(index) + 8)] = want;
      // 128 bytes: chunk bits 4 to 6 with bits 7 to 9; 64: 4, 5 with 7, 8; 32: 4 with 7.
      const size_t byte = e / 8 * pitch + e % 8 * 4, mask = swizzle == 3 ? 7 : swizzle == 2 ? 3 : swizzle == 1 ? 1 : 0;
      const size_t place = byte ^ ((byte / 128 & mask) * 16);
      if (place < tile) {
        EXPECT_EQ(static_cast<int*>(raw.data())[place / 4], want) << "element " << e;
      }
    }
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(static_cast<int*>(to.data())[i], stored[i]) << "stored " << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Ranks, TensorCopy, testing::Combine(testing::Range(1, 6), testing::Range(0, 4)),
                         [](const auto& info) { return "of_" + std::to_string(std::get<0>(info.param)) + "_dims_swizzle_" + std::to_string(std::get<1>(info.param)); });

#if !defined(__SANITIZE_THREAD__)
// A slot is filled twice; between the fillings ordinary code reads it and lane 0 gives it back.
std::string refilled_text(const std::string& fence) {
  return "TL_KERNEL(32, 1) k(const __grid_constant__ tl_tensor_map from, int* out) {\n"
         "  tl_u64* const full = reinterpret_cast<tl_u64*>(tl_arena + 1024);\n"
         "  tl_u64* const empty = reinterpret_cast<tl_u64*>(tl_arena + 1032);\n"
         "  if (tl_thread() == 0) {\n    tl_mbarrier_init(full, 1);\n    tl_mbarrier_init(empty, 1);\n    tl_mbarrier_init_fence();\n  }\n"
         "  tl_warp_sync();\n"
         "  for (int i = 0; i < 2; i += 1) {\n"
         "    if (tl_thread() == 0) {\n      tl_mbarrier_wait(empty, 1 - i);\n      tl_mbarrier_expect(full, 64);\n"
         "      tl_tma_load_2d(tl_arena, from, full, 0, 2 * i);\n    }\n"
         "    tl_mbarrier_wait(full, i);\n"
         "    if (tl_thread() < 16) {\n      out[16 * i + tl_thread()] = reinterpret_cast<const int*>(tl_arena)[tl_thread()];\n    }\n"
         "    " + fence + "\n    tl_warp_sync();\n    if (tl_thread() == 0) {\n      tl_mbarrier_arrive(empty);\n    }\n  }\n}";
}

TEST(TensorCopies, OverWhatOrdinaryCodeReadNeedAProxyFence) {
  std::vector<int> from(32), out(32);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int>(i) + 1;
  UnitOptions options;
  options.races = true;
  Kit fenced(refilled_text("tl_proxy_fence();"), options), not_fenced(refilled_text(""), options);
  for (const Schedule& schedule : usual_schedules()) {
    const Report right = fenced.run({1}, 32, 1040, schedule, bytes_of(dense_map(from.data(), {8, 4}, {8, 2}, 0)), out.data());
    ASSERT_TRUE(right.ok()) << right.text;
    EXPECT_EQ(out, from);
    const Report wrong = not_fenced.run({1}, 32, 1040, schedule, bytes_of(dense_map(from.data(), {8, 4}, {8, 2}, 0)), out.data());
    EXPECT_EQ(wrong.fault, Fault::race);
    EXPECT_NE(wrong.text.find("with no proxy_fence before the asynchronous write"), std::string::npos) << wrong.text;
  }
}
#endif

TEST(TensorCopies, AddToWhatIsThere) {
  std::vector<int> from(12 * 4, 5), to(12 * 4, 100), raw(32);
  Kit kit(copy_text(2, "tl_tma_add_2d"));
  const Report report = kit.run({1}, 32, 16392, {}, bytes_of(dense_map(from.data(), {12, 4}, {8, 2}, 0)), bytes_of(dense_map(to.data(), {12, 4}, {8, 2}, 0)), raw.data(), 64, 64);
  ASSERT_TRUE(report.ok()) << report.text;
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 12; ++x) EXPECT_EQ(to[static_cast<size_t>(12 * y + x)], x >= 8 && (y == 1 || y == 2) ? 105 : 100);
}

// As an H200 does: tests/emulator/truth has these cases too.
TEST(TensorCopies, CornersThatTheHardwareRefusesAreReports) {
  std::vector<int> from(12 * 4, 5), to(12 * 4, 100), raw(32);
  const auto fault = [&](const char* was, const char* is) {
    std::string text = copy_text(2, "tl_tma_store_2d");
    text.replace(text.find(was), std::strlen(was), is);
    Kit kit(text);
    return kit.run({1}, 32, 16392, {}, bytes_of(dense_map(from.data(), {12, 4}, {8, 2}, 0)), bytes_of(dense_map(to.data(), {12, 4}, {8, 2}, 0)), raw.data(), 64, 64).fault;
  };
  EXPECT_EQ(fault("bar, -4, 1", "bar, -4, -1"), Fault::none);
  EXPECT_EQ(fault("bar, -4, 1", "bar, -3, 1"), Fault::misaligned);
  EXPECT_EQ(fault("1024, 4, 1", "1024, 5, 1"), Fault::misaligned);
  EXPECT_EQ(fault("1024, 4, 1", "1024, -4, 1"), Fault::out_of_bounds);
  EXPECT_EQ(fault("1024, 4, 1", "1024, 4, -1"), Fault::out_of_bounds);
}

// Each block loads its half of a tile for both.
const char kMulticast[] =
    "TL_KERNEL(32, 1) k(const __grid_constant__ tl_tensor_map from, int* out) {\n"
    "  tl_u64* const bar = reinterpret_cast<tl_u64*>(tl_arena + 4096);\n"
    "  tl_u64* const done = reinterpret_cast<tl_u64*>(tl_arena + 4104);\n"
    "  const int rank = tl_cluster_rank();\n"
    "  if (tl_thread() == 0) {\n    tl_mbarrier_init(bar, 1);\n    tl_mbarrier_init(done, 2);\n    tl_mbarrier_init_fence();\n  }\n"
    "  tl_cluster_barrier();\n"
    "  if (tl_thread() == 0) {\n    tl_mbarrier_expect(bar, 512);\n"
    "    tl_tma_load_2d_multicast(tl_arena + rank * 256, from, bar, 0, rank * 8, 3);\n  }\n"
    "  tl_warp_sync();\n  tl_mbarrier_wait(bar, 0);\n"
    "  for (int i = tl_thread(); i < 128; i += 32) {\n    out[tl_block_x() * 128 + i] = reinterpret_cast<const int*>(tl_arena + 0)[i];\n  }\n"
    "  tl_warp_sync();\n"
    "  if (tl_thread() < 2) tl_mbarrier_arrive_cluster(done, tl_thread());\n"
    "  tl_mbarrier_wait(done, 0);\n"
    "  tl_cluster_barrier();\n}";

TEST(Clusters, MulticastReachesEveryBlockAndArrivalsEachOther) {
  std::vector<int> from(16 * 8), out(256);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int>(i);
  const MapBytes map = bytes_of(dense_map(from.data(), {8, 16}, {8, 8}, 0));
  for (bool races : {false, true}) {
#if defined(__SANITIZE_THREAD__)
    if (races) continue;
#endif
    UnitOptions options;
    options.races = races;
    Kit kit(kMulticast, options);
    for (const Schedule& schedule : usual_schedules()) {
      std::fill(out.begin(), out.end(), -1);
      const Report report = kit.run({2, 1, 1, 2}, 32, 4112, schedule, map, out.data());
      ASSERT_TRUE(report.ok()) << report.text;
      for (size_t i = 0; i < 256; ++i) ASSERT_EQ(out[i], static_cast<int>(i % 128));
    }
  }
}

TEST(Clusters, AMissingClusterBarrierBeforeAMulticastIsCaught) {
  std::string text = kMulticast;
  text.erase(text.find("  tl_cluster_barrier();\n"), 24);
  std::vector<int> from(16 * 8), out(256);
  Kit kit(text);
  size_t caught = 0;
  for (const Schedule& schedule : usual_schedules())
    caught += !kit.run({2, 1, 1, 2}, 32, 4112, schedule, bytes_of(dense_map(from.data(), {8, 16}, {8, 8}, 0)), out.data()).ok();
  EXPECT_EQ(caught, usual_schedules().size());
}

}  // namespace
}  // namespace tilert::emulator
