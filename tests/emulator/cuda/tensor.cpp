// Tensor copies (TMA): boxes of 1 to 5 dims between global memory and swizzled shared tiles, out-of-bounds fill and
// clipping, multicast, reductions, and the proxies' fences.
#include <algorithm>
#include <cstring>

#include "emulator/cuda/gpu.h"
#include "emulator/cuda/numbers.h"
#include "emulator/cuda/primitives.h"
#include "emulator/cuda/reduce.h"

namespace tilert::emulator {

namespace {

// Bytes of a box's row, and how far apart rows lie in shared memory: a swizzle's span at least.
uint32_t row_bytes(const TensorMap& map) { return uint32_t{map.box[0]} * map.element_bytes; }
uint32_t pitch(const TensorMap& map) { return map.swizzle ? std::max(row_bytes(map), 16u << map.swizzle) : row_bytes(map); }

// Walks a box: for each run along the innermost dim, where it is in global memory (null: outside) and in the tile.
template <class F>
void for_each_run(const TensorMap& map, const int* at, F&& f) {
  uint32_t index[5] = {};
  uint32_t linear = 0;
  for (;;) {
    bool inside = true;
    uint64_t address = map.address;
    for (int d = 1; d < map.rank; ++d) {
      const int64_t c = int64_t{at[d]} + int64_t{index[d]} * map.element_strides[d];
      inside &= c >= 0 && c < map.dims[d];
      address += static_cast<uint64_t>(c) * map.strides[d - 1];
    }
    f(inside ? reinterpret_cast<uint8_t*>(address) : nullptr, linear);
    linear += pitch(map);
    int d = 1;
    while (d < map.rank && ++index[d] == map.box[d]) index[d++] = 0;
    if (d >= map.rank) return;
  }
}

uint32_t box_bytes(const TensorMap& map) {
  uint32_t bytes = map.element_bytes;
  for (int d = 0; d < map.rank; ++d) bytes *= map.box[d];
  return bytes;
}

// Of shared memory, from the tile's start.
uint32_t tile_bytes(const TensorMap& map) { return box_bytes(map) / row_bytes(map) * pitch(map); }

// The value of an element outside the tensor: zero, or the NaN that an H200 puts there, 7ff7 in every 16 bits.
void fill_outside(const TensorMap& map, uint8_t* element) {
  for (int i = 0; i < map.element_bytes; ++i) element[i] = map.fill == 0 ? 0 : i % 2 ? 0x7f : 0xf7;
}

// Moves bytes of a load. A map of tf32 rounds f32 half to even on the way (Triton's test of round_f32_to_tf32 on sm_120: ties,
// carries into the exponent; infinities and NaN stay).
void bring(const TensorMap& map, uint8_t* to, const uint8_t* from, size_t bytes) {
  constexpr int kTf32 = 11;  // CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
  std::memcpy(to, from, bytes);
  for (size_t i = 0; map.type == kTf32 && i + 4 <= bytes; i += 4) {
    uint32_t bits;
    std::memcpy(&bits, to + i, 4);
    if ((bits & 0x7f800000) != 0x7f800000) bits = (bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t{0x1fff};
    std::memcpy(to + i, &bits, 4);
  }
}

// Part of a run of the box: its elements that lie inside, as a range. A store goes on to the end of the last 16 bytes that it
// began inside: an H200 writes beyond a tensor whose rows end between.
struct Range {
  int64_t first, last;  // elements of the run
};
Range inside_of(const TensorMap& map, int x, bool stores) {
  const int64_t step = map.element_strides[0], count = map.box[0], per = 16 / map.element_bytes;
  const int64_t columns = stores ? (int64_t{map.dims[0]} + per - 1) / per * per : int64_t{map.dims[0]};
  int64_t first = 0, last = count;
  while (first < count && x + first * step < 0) ++first;
  while (last > first && x + (last - 1) * step >= columns) --last;
  return {first, last};
}

// Shared address of byte `linear` of a tile that starts at `offset`.
uint32_t shared_place(const TensorMap& map, uint32_t offset, uint32_t linear) { return swizzled(offset + linear, map.swizzle); }

// The 16-byte chunks of a box in shared memory.
template <class F>
void for_each_chunk(const TensorMap& map, uint32_t offset, F&& f) {
  for (uint32_t row = 0; row < tile_bytes(map); row += pitch(map))
    for (uint32_t i = 0; i < row_bytes(map); i += 16) f(shared_place(map, offset, row + i), 16u);
}

// What the hardware calls an illegal instruction.
void check_corner(Gpu& gpu, const TensorMap& map, const int* at, bool stores) {
  if (int64_t{at[0]} * map.element_bytes % 16)
    gpu.fail(Fault::misaligned, "a tensor copy from innermost coordinate " + std::to_string(at[0]) + ", which is no multiple of 16 bytes");
  for (int d = 0; d < map.rank && stores; ++d)
    if (at[d] < 0) gpu.fail(Fault::out_of_bounds, "a tensor copy to global memory with a negative coordinate, " + std::to_string(at[d]));
}

// The bits of int64 are not combined, an H200 says; those of uint64 are.
void check_reduction(Gpu& gpu, const TensorMap& map, int reduce) {
  constexpr int kInt64 = 5;  // CU_TENSOR_MAP_DATA_TYPE_INT64
  if (reduce >= static_cast<int>(ReduceOp::bit_and) && map.type == kInt64)
    gpu.fail(Fault::protocol, "a copy that combines bits by a tensor map of int64 is an illegal instruction: make the map one of uint64");
}

TensorMap read_map(Gpu& gpu, const void* bytes, int rank) {
  TensorMap map;
  std::memcpy(&map, bytes, sizeof map);
  if (map.magic != TensorMap::kMagic) gpu.fail(Fault::protocol, "a tensor copy through something that is no tensor map");
  if (reinterpret_cast<uintptr_t>(bytes) % 64) gpu.fail(Fault::misaligned, "a tensor map must be aligned to 64 bytes");
  if (map.rank != rank) gpu.fail(Fault::protocol, "a tensor copy of " + std::to_string(rank) + " dims through a map of " + std::to_string(map.rank));
  for (int d = 1; d < map.rank; ++d)
    if (map.strides[d - 1] % 16) gpu.fail(Fault::protocol, "a tensor map of a stride of " + std::to_string(map.strides[d - 1]) + " bytes: the hardware takes multiples of 16");
  return map;
}

// The engine reads the source until the wait for its group.
void note_store(Gpu& gpu, const TensorStore& store) {
  Races& races = *gpu.races();
  ThreadStores& of = gpu.stores[gpu.self().number];
  if (!of.component) of.component = races.add_component();
  const Clock clock = races.clock(gpu.self());
  std::string wrong;
  const uint32_t base = static_cast<uint32_t>(gpu.arena_offset(store.from));
  for_each_chunk(store.map, base, [&](uint32_t offset, uint32_t count) {
    if (wrong.empty())
      wrong = races.engine_access(clock, gpu.block().arena + offset, count, false, Proxy::async, of.component, of.committed + 1, store.line);
  });
  if (!wrong.empty()) gpu.fail(Fault::race, "the tensor copy " + wrong);
}

}  // namespace

void Gpu::land_load(const TensorLoad& load) {
  const TensorMap& map = load.map;
  const uint32_t bytes = box_bytes(map), size = map.element_bytes;
  const Range range = inside_of(map, load.at[0], false);
  const int64_t step = static_cast<int64_t>(map.element_strides[0]) * size;
  for (Block& to : cluster_of(*load.block)) {
    if (!load.reaches(to)) continue;
    require_running(to, "a tensor copy of " + Machine::place(load.line) + " writes");
    if (failed()) return;
    for_each_run(map, load.at, [&](const uint8_t* from, uint32_t linear) {
      for (int64_t e = 0; e < map.box[0];) {
        // A whole 16-byte chunk at a time where it lies inside and is dense.
        uint8_t* const element = to.arena + shared_place(map, load.to, linear + static_cast<uint32_t>(e) * size);
        const int64_t per = 16 / size, chunk_end = (e / per + 1) * per;
        if (from && e >= range.first && std::min<int64_t>(chunk_end, map.box[0]) <= range.last && step == size) {
          const int64_t end = std::min<int64_t>(chunk_end, map.box[0]);
          bring(map, element, from + (load.at[0] + e) * step, static_cast<size_t>(end - e) * size);
          e = end;
          continue;
        }
        if (from && e >= range.first && e < range.last) bring(map, element, from + int64_t{load.at[0]} * size + e * step, size);
        else fill_outside(map, element);
        ++e;
      }
    });
    const auto found = mbarriers.find(static_cast<uint64_t>(to.rank) << 32 | load.bar);
    if (found == mbarriers.end())
      return record(Fault::protocol, nullptr, "a tensor copy of " + Machine::place(load.line) + " completes on an mbarrier that " + describe(to) +
                                                  " never initialized");
    Mbarrier& bar = found->second;
    if (races()) {
      ++bar.copies;
      for_each_chunk(map, load.to, [&](uint32_t offset, uint32_t count) {
        races()->landed(to.arena + offset, count, bar.component, bar.copies, load.line, Proxy::async);
      });
      Races::tell(bar.arrived, bar.component, bar.copies);
    }
    arrive(bar, 0, -static_cast<int64_t>(bytes));
  }
}

void Gpu::read_stores(ThreadStores& of, size_t keep) {
  for (size_t g = 0; g + keep < of.groups.size(); ++g)
    for (TensorStore& store : of.groups[g]) {
      if (store.read) continue;
      store.read = true;
      store.bytes.resize(tile_bytes(store.map));
      const auto base = static_cast<uint32_t>(arena_offset(store.from));
      uint8_t* const arena = const_cast<uint8_t*>(store.from) - base;
      for (uint32_t row = 0; row < store.bytes.size(); row += pitch(store.map))
        for (uint32_t i = row; i < row + row_bytes(store.map); i += store.map.element_bytes)
          std::memcpy(&store.bytes[i], arena + shared_place(store.map, base, i), store.map.element_bytes);
    }
}

void Gpu::write_stores(ThreadStores& of, size_t keep) {
  read_stores(of, keep);
  while (of.groups.size() > keep) {
    for (const TensorStore& store : of.groups.front()) {
      const TensorMap& map = store.map;
      const Range range = inside_of(map, store.at[0], true);
      for_each_run(map, store.at, [&](uint8_t* to, uint32_t linear) {
        if (!to) return;
        for (int64_t e = range.first; e < range.last; ++e) {
          uint8_t* const element = to + (store.at[0] + e * map.element_strides[0]) * map.element_bytes;
          const uint8_t* const value = &store.bytes[linear + static_cast<uint32_t>(e) * map.element_bytes];
          if (store.reduce < 0) std::memcpy(element, value, map.element_bytes);
          else reduce_element(static_cast<ReduceOp>(store.reduce), map.type, element, value);
        }
      });
    }
    of.groups.pop_front();
  }
}

}  // namespace tilert::emulator

using namespace tilert::emulator;

void tlemu_tma_load(void* to, const void* map, void* bar, int rank, const int* where, uint32_t blocks, int line) {
  Gpu& gpu = at(line);
  TensorLoad load;
  load.map = read_map(gpu, map, rank);
  load.block = &gpu.block();
  load.blocks = blocks ? blocks : 1u << gpu.block().cluster_rank;
  load.to = gpu.shared(to, tile_bytes(load.map), 128, "the destination of a tensor copy");
  load.bar = gpu.shared(bar, 8, 8, "an mbarrier");
  load.line = line;
  load.thread = gpu.self().number;
  std::copy_n(where, rank, load.at);
  check_corner(gpu, load.map, where, false);
  gpu.self().touched = true;
  if (uint64_t{load.blocks} >> gpu.cluster_of(gpu.block()).size()) gpu.fail(Fault::protocol, "a multicast to blocks that the cluster does not have");
  for (Block& block : gpu.cluster_of(gpu.block()))
    if (load.reaches(block)) {
      gpu.require_running(block, "a tensor copy writes");
      Mbarrier& at = gpu.mbarrier(block, load.bar, "a tensor copy");
      if (!at.fenced)
        gpu.fail(Fault::protocol, "a tensor copy completes on an mbarrier whose initialization was not fenced (mbarrier_init_fence)");
    }
  if (Races* races = gpu.races()) {
    load.clock = races->clock(gpu.self());
    for (Block& block : gpu.cluster_of(gpu.block())) {
      if (!load.reaches(block)) continue;
      const Mbarrier& on = gpu.mbarriers.find(static_cast<uint64_t>(block.rank) << 32 | load.bar)->second;
      std::string wrong;
      for_each_chunk(load.map, load.to, [&](uint32_t offset, uint32_t count) {
        if (!wrong.empty()) return;
        wrong = races->engine_access(load.clock, block.arena + offset, count, true, Proxy::async, on.component, 1, line);
        races->expect(block.arena + offset, count, on.component, line);
      });
      if (!wrong.empty()) gpu.fail(Fault::race, "the tensor copy " + wrong);
    }
  } else if (gpu.schedule().tensor_copies == Timing::early) {
    return gpu.land_load(load);
  }
  gpu.loads.push_back(load);
}

void tlemu_tma_store(const void* map, const void* from, int rank, const int* where, int reduce, int line) {
  Gpu& gpu = at(line);
  TensorStore store;
  store.map = read_map(gpu, map, rank);
  gpu.shared(from, tile_bytes(store.map), 128, "the source of a tensor copy");
  store.from = static_cast<const uint8_t*>(from);
  store.reduce = reduce;
  std::copy_n(where, rank, store.at);
  check_corner(gpu, store.map, where, true);
  check_reduction(gpu, store.map, reduce);
  store.line = line;
  gpu.self().touched = true;
  if (gpu.races()) note_store(gpu, store);
  gpu.stores[gpu.self().number].open.push_back(std::move(store));
}

void tlemu_tma_store_commit(int line) {
  Gpu& gpu = at(line);
  ThreadStores& stores = gpu.stores[gpu.self().number];
  stores.groups.push_back(std::move(stores.open));
  stores.open.clear();
  ++stores.committed;
  if (gpu.schedule().tensor_copies == Timing::early) gpu.read_stores(stores, 0);
}

void tlemu_tma_store_wait(int pending, int only_read, int line) {
  Gpu& gpu = at(line);
  ThreadStores& stores = gpu.stores[gpu.self().number];
  for (size_t g = 0; g + static_cast<size_t>(pending) < stores.groups.size(); ++g)
    for (TensorStore& store : stores.groups[g]) store.waited = true;
  if (only_read) gpu.read_stores(stores, static_cast<size_t>(pending));
  else gpu.write_stores(stores, static_cast<size_t>(pending));
  if (gpu.races() && stores.component && stores.committed > static_cast<uint32_t>(pending))
    gpu.races()->tell(gpu.self(), stores.component, stores.committed - static_cast<uint32_t>(pending));
}

void tlemu_proxy_fence(int line) {
  Gpu& gpu = at(line);
  if (gpu.races()) gpu.races()->proxy_fence(gpu.self());
}
