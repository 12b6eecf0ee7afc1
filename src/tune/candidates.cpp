// Which candidates there are: what passes/roles.cpp takes, what capabilities.def says, what fits.
#include <algorithm>

#include "layout/atoms.h"
#include "tune/machine.h"
#include "tune/product.h"

namespace tilert::tune {
namespace {

constexpr int kMostStages = 12;
constexpr int kMostMeeting = 5;             // parts that meet in a cluster (passes/split_k.h)
constexpr int64_t kSmallTiles = 4096;       // that have bytes of their own beside larger ones (passes/shared_plan.cpp)
constexpr int64_t kReserve = 2048;          // shared memory of barriers and alignment (passes/roles.cpp)
// Registers of a thread. passes/roles.cpp takes 200; compiled for sm_90a by NVRTC 13.0 with a bias and a residual, one warpgroup
// spills from 192 on (64x256 needs 243 registers for 128 of them), two do not at 192.
// Three start with too few for more than 96.
constexpr int kMostAccumulators[] = {0, 144, 192, 96};
constexpr int kUsualRaster = 1;             // where L2 holds both operands: blocks that start together share B's tile (the weights)

constexpr int kInstructionRows[] = {64, 128, 192, 256};
constexpr int kInstructionColumns[] = {8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256};
// On an H200 groups of 16 columns and more were never faster, and 1.2 times slower for 1024x7168x8192.
constexpr int kRasters[] = {1, 2, 4, 8};
constexpr int kWarpTiles[][2] = {{16, 64}, {16, 128}, {32, 32}, {32, 64}, {32, 128}, {64, 32}, {64, 64}, {64, 128},
                                 {128, 32}, {128, 64}, {128, 128}, {128, 256}, {256, 128}};
constexpr int kMostVectorRows = 4;

// Registers of a thread that reads rows of B by vectors, as NVRTC 13.0 compiles it for sm_90a within 6: 116 with 64 elements of a
// row at once for one row of A, 144 for two, 206 for four; with 32 elements 68, 80, 118.
int64_t vector_registers(const Choice& c) {
  const double elements = double(c.tile_n) * c.tile_k / c.threads;
  return static_cast<int64_t>(20 + elements * (1.05 + 0.47 * c.tile_m));
}

// A tile in a slot of a kernel without roles: rows of f64 are further apart where they would meet in banks (passes/layouts.cpp).
int64_t tile_bytes(DType dtype, int64_t rows, int64_t columns) {
  const int64_t row = columns * dtype_bytes(dtype);
  return rows * (dtype == DType::f64 && row % 64 == 0 ? row + 32 : row);
}

// Tiles of the type that is multiplied in, through which products without roles take elements of less than a byte.
int64_t unpacked_bytes(const Product& product, const Choice& choice) {
  const DType type = operand_type(product);
  const int64_t m = choice.tile_m, n = choice.tile_n, k = choice.tile_k;
  int64_t bytes = 0;
  if (dtype_is_packed(product.a)) bytes += product.trans_a ? tile_bytes(type, k, m) : tile_bytes(type, m, k);
  if (dtype_is_packed(product.b)) bytes += product.trans_b ? tile_bytes(type, n, k) : tile_bytes(type, k, n);
  return bytes;
}

// What a result of elements of less than a byte takes on its way to whole bytes of a thread.
int64_t packing_bytes(const Product& product, const Choice& choice) {
  return dtype_is_packed(product.c) ? int64_t{choice.tile_m} * choice.tile_n * (dtype_bytes(sum_type(product)) + 1) + kSmallTiles : 0;
}

// Candidates of one path, collected.
struct Lister {
  const Product& product;
  const Target& target;
  const DeviceClass& device;
  std::vector<Choice> out;

  int64_t rows_of_b() const { return product.n; }

  // The warpgroup product of these operands; null where there is none or the compiler builds none.
  const Atom* group_atom() const {
    if (!target.has(Feature::wgmma) || !target.has(Feature::tma)) return nullptr;
    const int bits = dtype_bits(product.a);
    if (bits == 8 && !capability::group_8_bit) return nullptr;
    if (product.tf32 && !capability::group_tf32) return nullptr;
    if ((!a_k_major(product) || !b_k_major(product)) && !(bits == 16 && capability::group_mn_major)) return nullptr;
    if (!aligned() && !capability::group_unaligned) return nullptr;
    const DType a = product.tf32 ? DType::tf32 : product.a, b = product.tf32 ? DType::tf32 : product.b;
    for (const Atom* atom : atoms_for(target, a, b, sum_type(product)))
      if (atom->is_wgmma()) return atom;
    return nullptr;
  }

  // One order of sums is that of one instruction: what few rows take is what many rows take.
  bool aligned() const {
    const bool follows_m = product.trans_a && product.lda == 0;
    return rows_on_16_bytes(product) && !(keeps_order(product) && follows_m);
  }

  void list_warpgroup(const Atom* atom) {
    const int span = 128 * 8 / dtype_bits(product.a);  // of K in a row of a sub-tile
    for (const bool swapped : {false, true})
      for (const int rows : kInstructionRows)
        for (const int columns : kInstructionColumns)
          for (const int depth : {span, 2 * span})
            if (wgmma_n(*atom, columns) == columns && columns_lie(swapped, columns))
              for (const int consumers : {1, 2, 3})
                if (shares_rows(rows, columns, consumers)) add_warpgroup(swapped, rows, columns, depth, consumers);
  }

  // The tile of the instruction's columns is made of rows of 32 bytes or more, along K or along the columns.
  bool columns_lie(bool swapped, int columns) const {
    return (swapped ? a_k_major(product) : b_k_major(product)) || columns * dtype_bits(product.a) % 256 == 0;
  }

  // Whether so many warpgroups share the rows evenly, and hold what they sum.
  bool shares_rows(int rows, int columns, int consumers) const {
    if (rows % (64 * consumers) != 0 || rows > 128 * consumers) return false;
    if (consumers == 3 && !capability::three_consumers) return false;
    if (keeps_order(product) && consumers != usual_warpgroups(rows, columns)) return false;  // the compiler follows no other number
    // Where threads copy, larger tiles are slower than the general path's: 2048x4096x4097, 192x176 tiles, 713 us of 498.
    if (!aligned() && (consumers == 3 || rows * columns > 64 * 128)) return false;
    const int most = kMostAccumulators[consumers];
    return rows * columns <= 128 * consumers * most;
  }

  void add_warpgroup(bool swapped, int rows, int columns, int depth, int consumers) {
    Choice c;
    c.path = Path::warpgroup;
    c.swapped = swapped;
    c.tile_m = swapped ? columns : rows;
    c.tile_n = swapped ? rows : columns;
    c.tile_k = depth;
    c.consumers = consumers;
    c.threads = 128 * consumers;
    c.persistent = true;
    if (depth * dtype_bits(product.a) / 8 > 128 && rows * columns > 128 * 128) return;  // one span is enough for these
    if (columns > 32 && columns - 8 >= extent_of(swapped)) return;                       // mostly padding
    // Both operands K-major need nothing of the other's place; weights on the M side serve few tokens. One row of them
    // fills no side, and a transposed result of less than a byte to an element would share bytes.
    if (swapped && (product.m > 256 || product.n == 1 || dtype_is_packed(product.c))) return;
    const int64_t beside = staging_bytes(product, c) + packing_bytes(product, c) + kReserve;
    const int64_t room = device.shared_bytes - beside;
    c.stages = static_cast<int>(std::min<int64_t>(room / slot_bytes(product, c), kMostStages));
    if (c.stages < 2) return;
    add_rasters(c, room);
    // A shallower ring lets two blocks share a multiprocessor.
    Choice pair = c;
    const int64_t half = target.shared_bytes_per_sm / 2 - 1024 - beside;
    pair.stages = static_cast<int>(std::min<int64_t>(half / slot_bytes(product, c), kMostStages));
    if (pair.stages >= 2 && pair.stages < c.stages && blocks_per_multiprocessor(product, target, pair) > 1) add_rasters(pair, half);
  }

  int64_t extent_of(bool swapped) const { return swapped ? ceildiv(product.m, 8) * 8 : ceildiv(product.n, 8) * 8; }

  // Orders of tiles, and what several blocks may share. `room`: bytes of shared memory for the ring, and parts that meet beside it.
  void add_rasters(Choice c, int64_t room) {
    const int stages = c.stages;
    const int64_t columns = ceildiv(product.n, c.tile_n), rows = ceildiv(product.m, c.tile_m);
    const bool held = operands_held(product, device);
    for (const int raster : kRasters) {
      if (held ? raster != kUsualRaster : raster > 1 && (raster >= 2 * columns || rows == 1)) continue;
      c.raster = raster;
      for (const int cluster : {1, 2})
        for (const int split : {1, 2, 3, 4, 5, 6, 8, 16}) {
          if (cluster > 1 && (!capability::cluster || rows < cluster || !shares_b(c, cluster))) continue;
          if (split > 1 && (keeps_order(product) || !capability::split_k || ceildiv(product.k, c.tile_k) < 4 * split)) continue;
          c.cluster = cluster;
          c.split_k = split;
          c.stages = stages;
          if (meets_in_cluster(c)) c.stages = static_cast<int>(std::min<int64_t>((room - meeting_bytes(c)) / slot_bytes(product, c), stages));
          else if (split == 5) continue;
          if (c.path == Path::warpgroup && c.stages < 2) continue;
          if (split > 1 && shared_bytes(product, c) > device.shared_bytes) continue;
          out.push_back(c);
        }
    }
  }

  // Whether B's tile has a part for each block (passes/role_operands.cpp): rows in repeats of the swizzle, or rows of it.
  bool shares_b(const Choice& c, int cluster) const {
    if (b_row_start(product) < 16) return false;  // threads copy for their own block
    if (c.path != Path::warpgroup) return false;
    if (!b_k_major(product)) return c.tile_k % (8 * cluster) == 0;
    return c.tile_n % (8 * cluster) == 0 || c.tile_k * dtype_bits(product.b) % (1024 * cluster) == 0;
  }

  void list_warp() {
    for (const auto& tile : kWarpTiles)
      for (const int depth : {32, 64}) {
        Choice c;
        c.path = Path::warp;
        c.tile_m = tile[0], c.tile_n = tile[1], c.tile_k = depth;
        c.threads = 128;
        while (c.threads < 512 && accumulators(c) > 128) c.threads *= 2;
        if (accumulators(c) > 128) continue;
        c.persistent = true;
        for (const int stages : {1, 2, 3, 4}) {
          if ((stages > 1) != runs_ahead()) continue;
          c.stages = stages;
          if (shared_bytes(product, c) <= device.shared_bytes) add_rasters(c, device.shared_bytes);
        }
      }
  }

  bool runs_ahead() const { return target.has(Feature::cp_async) || target.is_hip(); }

  // Rows of B along K, of floats or bytes that a thread casts to f32; few rows of A.
  void list_vector() {
    if (product.m < 1 || product.m > kMostVectorRows || !a_k_major(product) || !b_k_major(product) || product.tf32) return;
    if (sum_type(product) != DType::f32 || dtype_bits(operand_type(product)) < 8) return;
    for (const int rows : {2, 4, 8, 16})
      for (const int depth : {512, 1024, 2048, 4096})
        for (const int threads : {128, 256}) {
          Choice c;
          c.path = Path::vector;
          c.tile_m = product.m == 3 ? 4 : static_cast<int>(product.m);
          c.tile_n = rows;
          c.tile_k = depth;
          c.threads = threads;
          c.stages = 1;
          if (depth >= 2 * product.k && depth > 512) continue;
          if (rows * depth < 16 * threads || vector_registers(c) > 168) continue;
          out.push_back(c);
        }
  }
};

}  // namespace

std::vector<Choice> candidates(const Product& product, const Target& target, const DeviceClass& device) {
  Lister lister{product, target, device, {}};
  const Atom* const atom = lister.group_atom();
  if (atom) lister.list_warpgroup(atom);
  const bool one_order = keeps_order(product);
  if (!atom || !one_order) lister.list_warp();
  if (!one_order) lister.list_vector();
  return std::move(lister.out);
}

// ---- facts of a choice ----

bool result_staged(const Product& product, const Choice& choice) {
  if (choice.path != Path::warpgroup || choice.swapped) return false;
  const int bits = dtype_bits(product.c);
  if (bits > 16 && !(bits == 32 && capability::staged_wide)) return false;
  if (choice.tile_n * bits / 8 % (capability::staged_narrow ? 32 : 128) != 0) return false;
  return choice.tile_m / std::max(choice.consumers, 1) % 64 == 0;
}

bool engine_stores(const Product& product, const Choice& choice) {
  const int64_t ldc = product.ldc ? product.ldc : product.n;
  return result_staged(product, choice) && ldc * dtype_bits(product.c) % 128 == 0 && product.n * dtype_bits(product.c) % 128 == 0;
}

bool operands_held(const Product& p, const DeviceClass& device) {
  const double bits = double(p.m) * p.k * dtype_bits(p.a) + double(p.n) * p.k * dtype_bits(p.b);
  return bits / 8 <= device.l2_bytes * calibration::l2_kept;
}

int64_t staging_bytes(const Product& product, const Choice& choice) {
  if (!result_staged(product, choice)) return 0;
  return int64_t{choice.tile_m} * choice.tile_n * dtype_bytes(product.c);
}

bool meets_in_cluster(const Choice& choice) {
  return capability::split_in_cluster && choice.path == Path::warpgroup && choice.cluster == 1 && choice.split_k > 1 && choice.split_k <= kMostMeeting;
}

int64_t meeting_bytes(const Choice& choice) {
  return meets_in_cluster(choice) ? int64_t{4} * (choice.split_k - 1) * choice.tile_m * choice.tile_n : 0;
}

int64_t slot_bytes(const Product& product, const Choice& choice) {
  const int64_t m = choice.tile_m, n = choice.tile_n, k = choice.tile_k;
  if (choice.path == Path::warpgroup) return k * (m * dtype_bytes(product.a) + n * dtype_bytes(product.b));
  return (product.trans_a ? tile_bytes(product.a, k, m) : tile_bytes(product.a, m, k)) +
         (product.trans_b ? tile_bytes(product.b, n, k) : tile_bytes(product.b, k, n));
}

int64_t shared_bytes(const Product& product, const Choice& choice) {
  if (choice.path == Path::vector) return 0;
  const int64_t ring = choice.stages * slot_bytes(product, choice), packing = packing_bytes(product, choice);
  if (choice.path == Path::warpgroup) return ring + staging_bytes(product, choice) + meeting_bytes(choice) + packing + kReserve;
  // A split product's threads learn from one word whether their block's part was the last. Results take the ring's place.
  const int64_t tiles = ring + unpacked_bytes(product, choice);
  return (packing > 0 ? std::max(tiles + kSmallTiles, packing) : tiles) + (choice.split_k > 1 ? 4 : 0);
}

int64_t accumulators(const Choice& choice) {
  return int64_t{choice.tile_m} * choice.tile_n / std::max(choice.threads, 1);
}

int64_t blocks_per_multiprocessor(const Product& product, const Target& target, const Choice& choice) {
  const bool roles = choice.path == Path::warpgroup;
  const int64_t threads = choice.threads + (roles ? 128 : 0);
  // Roles with two consumers or more are compiled for all registers; others need theirs and what a loop takes.
  const int64_t own = choice.path == Path::vector ? vector_registers(choice) : accumulators(choice) + 48;
  const int64_t needed = roles && choice.consumers > 1 ? target.registers_per_sm / threads : (own + 7) / 8 * 8;
  const int64_t registers = std::min(needed, target.max_registers_per_thread);
  const int64_t shared = shared_bytes(product, choice);
  int64_t blocks = std::min(target.registers_per_sm / (threads * registers), target.max_threads_per_sm / threads);
  if (shared > 0) blocks = std::min(blocks, target.shared_bytes_per_sm / (shared + 1024));
  return std::clamp<int64_t>(blocks, 1, roles ? 2 : choice.path == Path::vector ? 16 : 8);
}

}  // namespace tilert::tune
