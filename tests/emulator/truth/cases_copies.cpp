// Tensor copies: boxes of 1 to 5 dims in every swizzle, loads into shared memory that is read back as it lies, stores and
// additions from there, multicast. Shared memory and outputs hold other words before, so that what stays is seen too.
#include <algorithm>

#include "emulator/truth/case.h"
#include "emulator/truth/numbers.h"

namespace tilert::truth {
namespace {

enum class Kind { load, store, add, reduce };
constexpr const char* kKinds[] = {"load", "store", "add", "reduce"};

struct Row {
  Kind kind;
  const char* name;
  int type, bytes, swizzle;
  bool fill_nan;
  int offset;
  std::vector<int64_t> dims, box, corner, steps;
  int op = 0;  // of reduce: add, min, max, and, or, xor
};

#define TRUTH_LIST(...) {__VA_ARGS__}
const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
#define TRUTH_COPY(kind, name, type, bytes, swizzle, fill, offset, dims, box, corner, steps) \
  {Kind::kind, #name, type, bytes, swizzle, fill, offset, TRUTH_LIST dims, TRUTH_LIST box, TRUTH_LIST corner, TRUTH_LIST steps},
#include "emulator/truth/copies.def"
  };
  return kRows;
}
#undef TRUTH_LIST

constexpr int64_t kTile = 8192;  // bytes of shared memory that are shown
// Arguments: the corner, then the bytes of the box and its place in shared memory.
const char kLoad[] =
    "  tl_u32* const s = reinterpret_cast<tl_u32*>(tl_arena + 0);\n"
    "  tl_u64* const bar = reinterpret_cast<tl_u64*>(tl_arena + 8192);\n"
    "  for (int i = tl_thread(); i < 2048; i += 32) {\n    s[i] = 0x5a000000 + i;\n  }\n"
    "  if (tl_thread() == 0) {\n    tl_mbarrier_init(bar, 1);\n    tl_mbarrier_init_fence();\n  }\n"
    "  tl_proxy_fence();\n  tl_warp_sync();\n"
    "  if (tl_thread() == 0) {\n    tl_mbarrier_expect(bar, arg[5]);\n    tl_tma_load_$d(tl_arena + arg[6], map, bar, @);\n  }\n"
    "  tl_warp_sync();\n  tl_mbarrier_wait(bar, 0);\n"
    "  for (int i = tl_thread(); i < 2048; i += 32) {\n    out[i] = s[i];\n  }\n";
const char kStore[] =
    "  tl_u32* const s = reinterpret_cast<tl_u32*>(tl_arena + 0);\n"
    "  for (int i = tl_thread(); i < 2048; i += 32) {\n    s[i] = in[i];\n  }\n"
    "  tl_proxy_fence();\n  tl_warp_sync();\n"
    "  if (tl_thread() == 0) {\n    tl_tma_%_$d^(map, tl_arena + arg[6], @);\n    tl_tma_store_commit();\n    tl_tma_store_wait_read<0>();\n    tl_tma_store_wait<0>();\n  }\n";

std::string copy_text(Kind kind, size_t rank, int op) {
  std::string at, out = kind == Kind::load ? kLoad : kStore;
  for (size_t d = 0; d < rank; ++d) at += (d ? ", arg[" : "arg[") + std::to_string(d) + "]";
  const std::pair<const char*, std::string> parts[] = {{"$", std::to_string(rank)}, {"@", at}, {"%", kKinds[static_cast<int>(kind)]},
                                                       {"^", kind == Kind::reduce ? "<" + std::to_string(op) + ">" : ""}};
  for (const auto& [mark, text] : parts)
    if (const size_t place = out.find(mark); place != out.npos) out.replace(place, 1, text);
  return kernel(32, out);
}

// What additions add: bits that are numbers. Floats: whole, or any normal number.
void fill_numbers(const Row& row, Bytes& bytes, Random& random) {
  const bool small = std::string_view(row.name).find("small") != std::string_view::npos;
  if (row.type < 6) return random.fill(bytes.data(), bytes.size());
  const Number type = row.type == 6 ? Number::f16 : row.type == 9 ? Number::bf16 : Number::tf32;
  for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(row.bytes)) {
    uint32_t raw = encode(type, random.within(-50, 50));
    if (!small && type == Number::f16) raw = random.bits() & 0xdfff;
    else if (!small) raw = ((random.bits() & 0x807fffff) | static_cast<uint32_t>(random.within(110, 140)) << 23) >> (type == Number::bf16 ? 16 : 0);
    std::memcpy(&bytes[at], &raw, static_cast<size_t>(row.bytes));
  }
}

Case copy_case(const Row& row) {
  Case out;
  const size_t rank = row.dims.size();
  out.name = std::string("copy/") + kKinds[static_cast<int>(row.kind)] + "_" + row.name;
  out.shared_bytes = kTile + 16;
  out.text = copy_text(row.kind, rank, row.op);
  out.refused = std::string_view(row.name).find("refused") == 0;
  out.map.rank = static_cast<int>(rank);
  out.map.type = row.type;
  out.map.swizzle = row.swizzle;
  out.map.fill_nan = row.fill_nan;
  out.map.of_output = row.kind != Kind::load;
  int64_t bytes = row.bytes, box = row.bytes;
  for (size_t d = 0; d < rank; ++d) {
    out.map.dims[d] = static_cast<uint64_t>(row.dims[d]);
    out.map.box[d] = static_cast<uint32_t>(row.box[d]);
    out.map.steps[d] = static_cast<uint32_t>(row.steps[d]);
    bytes *= row.dims[d];
    // Rows lie further apart than they are long.
    if (d == 0) bytes = (bytes + 15) / 16 * 16 + 16;
    if (d + 1 < rank) out.map.strides[d] = static_cast<uint64_t>(bytes);
    box *= (row.box[d] + row.steps[d] - 1) / row.steps[d];
  }
  out.arguments = row.corner;
  out.arguments.resize(5);
  out.arguments.push_back(box);
  out.arguments.push_back(row.offset);
  Random random(out.name);
  Bytes tensor(static_cast<size_t>(bytes)), tile(kTile);
  for (Bytes* all : {&tensor, &tile}) {
    if (row.kind >= Kind::add) fill_numbers(row, *all, random);
    else random.fill(all->data(), all->size());
    if (std::string_view(row.name).find("subnormals") != std::string_view::npos)
      for (size_t at = 2; at + 2 <= all->size(); at += 4) (*all)[at] &= 0x7f, (*all)[at + 1] &= 0x80;
  }
  out.input = row.kind == Kind::load ? tensor : tile;
  out.output = row.kind == Kind::load ? tile : tensor;
  return out;
}

// Every rank in every swizzle, boxes that end behind the tensor along some dims; loads begin before it along others.
void add_ranks(Kind kind, std::vector<Case>& out) {
  static const int64_t kDims[] = {20, 7, 4, 3, 3}, kLoads[] = {-4, 3, 2, -1, 1}, kStores[] = {12, 3, 0, 2, 2}, kBoxes[] = {8, 5, 3, 2, 2};
  const int64_t* const corner = kind == Kind::load ? kLoads : kStores;
  for (size_t rank = 1; rank <= 5; ++rank)
    for (int swizzle = 0; swizzle < 4; ++swizzle) {
      const std::string name = std::to_string(rank) + "d_swizzle_" + std::to_string(swizzle ? 16 << swizzle : 0);
      const auto list = [&](const int64_t* from) { return std::vector<int64_t>(from, from + rank); };
      Row row{kind, name.c_str(), 2, 4, swizzle, false, 0, list(kDims), list(kBoxes), list(corner), std::vector<int64_t>(rank, 1)};
      row.box[0] = swizzle ? (16 << swizzle) / 4 : 12;
      row.dims[0] = row.box[0] * 2 + 4;
      out.push_back(copy_case(row));
    }
}

// Every operation on every type, by 2d copies; then additions of every rank.
void add_reductions(std::vector<Case>& out) {
  struct Type {
    const char* name;
    int type, bytes;
    bool is_float;
  };
  static const Type kTypes[] = {{"u32", 2, 4, false}, {"i32", 3, 4, false}, {"u64", 4, 8, false}, {"i64", 5, 8, false}, {"f16", 6, 2, true}, {"bf16", 9, 2, true}, {"f32", 7, 4, true}};
  static const char* const kOps[] = {"add", "min", "max", "and", "or", "xor"};
  for (int op = 0; op < 6; ++op)
    for (const Type& type : kTypes) {
      if (type.is_float && (op > 2 || (op > 0 && type.bytes == 4))) continue;
      if (op == 0 && type.type == 5) continue;
      const std::string name = std::string(kOps[op]) + "_" + type.name;
      const int64_t width = 128 / type.bytes;
      out.push_back(copy_case({Kind::reduce, name.c_str(), type.type, type.bytes, 3, false, 0, {width + 5, 20}, {width, 16}, {16, 9}, {1, 1}, op}));
      out.back().refused = op > 2 && type.type == 5;
    }
  static const int64_t kDims[] = {68, 7, 4, 3, 3}, kCorner[] = {40, 3, 0, 2, 2}, kBoxes[] = {32, 5, 3, 2, 2};
  for (size_t rank = 1; rank <= 5; ++rank) {
    const auto list = [&](const int64_t* from) { return std::vector<int64_t>(from, from + rank); };
    const std::string name = std::to_string(rank) + "d";
    out.push_back(copy_case({Kind::reduce, name.c_str(), 2, 4, 3, false, 0, list(kDims), list(kBoxes), list(kCorner), std::vector<int64_t>(rank, 1), 0}));
  }
}

// Each block of a cluster loads its part of a tile for those blocks whose bits are set.
const char kMulticast[] =
    "  tl_u32* const s = reinterpret_cast<tl_u32*>(tl_arena + 0);\n"
    "  tl_u64* const bar = reinterpret_cast<tl_u64*>(tl_arena + 8192);\n"
    "  const int rank = tl_cluster_rank();\n"
    "  for (int i = tl_thread(); i < 2048; i += 32) {\n    s[i] = 0x5a000000 + i;\n  }\n"
    "  if (tl_thread() == 0) {\n    tl_mbarrier_init(bar, 1);\n    tl_mbarrier_init_fence();\n  }\n"
    "  tl_proxy_fence();\n  tl_cluster_barrier();\n"
    "  if (tl_thread() == 0) {\n    tl_mbarrier_expect(bar, arg[rank]);\n"
    "    tl_tma_load_$d_multicast(tl_arena + rank * 1024, map, bar, tl_block_x() * 4 - 8@, arg[4 + rank]);\n  }\n"
    "  tl_warp_sync();\n  tl_mbarrier_wait(bar, 0);\n"
    "  for (int i = tl_thread(); i < 2048; i += 32) {\n    out[tl_block_x() * 2048 + i] = s[i];\n  }\n"
    "  tl_cluster_barrier();\n";

Case multicast_case(const std::string& name, size_t rank, uint32_t blocks, uint32_t cluster, const std::vector<int64_t>& receivers) {
  static const int64_t kDims[] = {64, 30, 3, 2, 2}, kBoxes[5][5] = {{32}, {32, 8}, {32, 4, 2}, {32, 2, 2, 2}, {32, 2, 2, 1, 2}};
  const auto list = [&](const int64_t* from) { return std::vector<int64_t>(from, from + rank); };
  Case out = copy_case({Kind::load, "", 2, 4, 3, false, 0, list(kDims), list(kBoxes[rank - 1]), {}, std::vector<int64_t>(rank, 1), 0});
  std::string text = kMulticast;
  const char* const rest[] = {"", ", rank * 8", ", rank * 8, 1", ", rank * 8, 1, 0", ", rank * 8, 1, 0, -1"};
  text.replace(text.find("$"), 1, std::to_string(rank)).replace(text.find("@"), 1, rest[rank - 1]);
  out.name = "copy/multicast_" + name;
  out.text = kernel(32, text);
  out.grid[0] = blocks;
  out.cluster = cluster;
  out.output = Bytes(blocks * kTile, 0xff);
  // Bytes that come to each block, then whom it sends to.
  const int64_t bytes = out.arguments[5];
  out.arguments.assign(8, 0);
  for (size_t from = 0; from < receivers.size(); ++from) {
    out.arguments[4 + from] = receivers[from];
    for (size_t to = 0; to < 4; ++to) out.arguments[to] += (receivers[from] >> to & 1) * bytes;
  }
  return out;
}

}  // namespace

void add_copy_cases(std::vector<Case>& out) {
  add_ranks(Kind::load, out);
  add_ranks(Kind::store, out);
  for (const Row& row : rows()) out.push_back(copy_case(row));
  add_reductions(out);
  for (size_t rank : {1, 3, 4, 5}) out.push_back(multicast_case(std::to_string(rank) + "d", rank, 4, 2, {3, 2}));
  out.push_back(multicast_case("2_to_all", 2, 4, 2, {3, 3}));
  out.push_back(multicast_case("4_to_all", 2, 4, 4, {15, 15, 15, 15}));
  out.push_back(multicast_case("4_to_some", 2, 8, 4, {5, 8, 6, 11}));
}

}  // namespace tilert::truth
