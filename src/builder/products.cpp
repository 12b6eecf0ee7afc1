// Products: gemm, dense and sparse; block-scaled ones as the products and loops that they mean.
#include <numeric>

#include "arith/build.h"
#include "builder/builder.h"
#include "ir/semantics.h"

namespace tilert::builder {
namespace {

// Rows and columns of a matrix operand: its last two dims, all before of extent 1.
Result<std::pair<int64_t, int64_t>> matrix(const ir::Region& region, std::string_view what, std::string_view name) {
  const size_t rank = region.extents.size();
  bool leading_units = rank >= 2;
  for (size_t i = 0; i + 2 < rank; ++i) leading_units = leading_units && region.extents[i] == 1;
  if (!leading_units)
    return make_error(Code::kInvalidProgram, "{} {} has shape {}: a matrix has two dims", what, name,
                      shape_text(region.extents));
  return std::pair{region.extents[rank - 2], region.extents[rank - 1]};
}

constexpr int64_t kMostScaledBlocks = 64;

// The scales of one side of a product: a matrix of blocks along M (or N) and K.
struct Scales {
  const char* what;
  const tilert_region* given;
  bool k_last;     // its columns are the blocks of K
  int64_t extent;  // M or N
  ir::Region region{};
  int64_t blocks = 1, k_blocks = 1;

  // Of row (or column) `at` and a block of K.
  std::vector<ir::Expr> at(ir::Arena& arena, ir::Expr at, int64_t k_block) const {
    std::vector<ir::Expr> indices = region.offsets;
    const size_t last = indices.size() - 1;
    ir::Expr& along = indices[k_last ? last - 1 : last];
    along = arith::add(arena, along, blocks == extent ? at : arith::floordiv(arena, at, extent / blocks));
    ir::Expr& step = indices[k_last ? last : last - 1];
    step = arith::add(arena, step, k_block);
    return indices;
  }
};

// The s-th of `steps` parts of a matrix along K.
void cut(ir::Arena& arena, ir::Region& region, bool k_last, int64_t s, int64_t steps) {
  const size_t dim = region.extents.size() - (k_last ? 1 : 2);
  region.extents[dim] /= steps;
  region.offsets[dim] = arith::add(arena, region.offsets[dim], s * region.extents[dim]);
}

// An element of the last two dims.
std::vector<ir::Expr> at_point(ir::Arena& arena, std::vector<ir::Expr> offsets, const std::vector<ir::Expr>& point) {
  for (size_t d = 0; d < 2; ++d) {
    ir::Expr& at = offsets[offsets.size() - 2 + d];
    at = arith::add(arena, at, point[d]);
  }
  return offsets;
}

}  // namespace

Status Builder::gemm_dtypes(const ir::Gemm& gemm) const {
  const DType a = program_->buffers[gemm.a.buffer].dtype, b = program_->buffers[gemm.b.buffer].dtype,
              c = program_->buffers[gemm.c.buffer].dtype;
  const bool no_bool = a != DType::boolean && b != DType::boolean;
  if (gemm.tf32 && (a != DType::f32 || b != DType::f32))
    return make_error(Code::kInvalidProgram, "{} ({}) times {} ({}) in tf32: it is a mode of f32 products, leave the flag out",
                      text_of(gemm.a.buffer), dtype_text(a), text_of(gemm.b.buffer), dtype_text(b));
  const bool half_sum = c == DType::f16 || c == DType::bf16;
  if (no_bool && !half_sum && ir::gemm_takes(ir::gemm_operand_dtype(a, b), c)) return {};
  return make_error(Code::kInvalidProgram,
                    "{} ({}) times {} ({}) into {} ({}): f64 accumulates in f64, other floats in f32, integers in int32 or int64",
                    text_of(gemm.a.buffer), dtype_text(a), text_of(gemm.b.buffer), dtype_text(b),
                    text_of(gemm.c.buffer), dtype_text(c));
}

// A of `rows` rows and `kept` columns has two of each four elements along K; the metadata says which.
Status Builder::gemm_metadata(ir::Gemm& gemm, const tilert_region& metadata, int64_t rows, int64_t kept) {
  TILERT_ASSIGN(gemm.metadata, whole_region(&metadata, "the metadata"));
  const std::string name = text_of(gemm.metadata.buffer);
  const ir::Buffer& buffer = program_->buffers[gemm.metadata.buffer];
  if (buffer.scope != ir::Scope::shared && buffer.scope != ir::Scope::fragment)
    return make_error(Code::kInvalidProgram, "the metadata ({}) is neither shared nor a fragment", name);
  if (!ir::gemm_metadata_takes(buffer.dtype))
    return make_error(Code::kInvalidProgram, "the metadata ({}) is {}: it is uint8, uint16 or uint32, four bits for each four elements along K", name,
                      dtype_text(buffer.dtype));
  if (gemm.trans_a)
    return make_error(Code::kInvalidProgram, "sparse operand {} is transposed: keep its rows along K, and leave trans_a out", text_of(gemm.a.buffer));
  if (kept % 2 != 0)
    return make_error(Code::kInvalidProgram, "sparse operand {} keeps {} elements of a row: two of each four, so an even number", text_of(gemm.a.buffer), kept);
  TILERT_ASSIGN(const auto size, matrix(gemm.metadata, "the metadata", name));
  const int64_t columns = ir::gemm_metadata_columns(buffer.dtype, 2 * kept);
  if (size.first != rows || size.second != columns)
    return make_error(Code::kInvalidProgram, "the metadata ({}) is {} x {}: of a sparse {} x {} operand it is {} x {} in {}", name, size.first, size.second,
                      rows, 2 * kept, rows, columns, dtype_text(buffer.dtype));
  if (same_memory(gemm.c.buffer, gemm.metadata.buffer)) return make_error(Code::kInvalidProgram, "{} is result and metadata at once", name);
  return {};
}

Status Builder::do_gemm(const tilert_region* a, const tilert_region* b, const tilert_region* c,
                        const tilert_gemm_options& options) {
  TILERT_TRY(need_tile_level());
  if (options.flags & ~uint32_t{TILERT_GEMM_TRANS_A | TILERT_GEMM_TRANS_B | TILERT_GEMM_OVERWRITE | TILERT_GEMM_TF32 | TILERT_GEMM_ISSUE |
                                  TILERT_GEMM_TRANS_A_SCALE | TILERT_GEMM_TRANS_B_SCALE})
    return make_error(Code::kInvalidArgument, "unknown flags {:#x}", options.flags);
  if (options.warp_split < TILERT_SPLIT_AUTO || options.warp_split > TILERT_SPLIT_SQUARE)
    return make_error(Code::kInvalidArgument, "warp_split {} is none of auto, rows, columns, square",
                      options.warp_split);
  ir::Gemm gemm;
  TILERT_ASSIGN(gemm.a, matrix_region(a, "A"));
  TILERT_ASSIGN(gemm.b, matrix_region(b, "B"));
  TILERT_ASSIGN(gemm.c, whole_region(c, "C"));
  for (const ir::Region* operand : {&gemm.a, &gemm.b}) {
    const ir::Scope scope = program_->buffers[operand->buffer].scope;
    if (scope != ir::Scope::shared && scope != ir::Scope::fragment)
      return make_error(Code::kInvalidProgram, "operand {} is neither shared nor a fragment", text_of(operand->buffer));
  }
  if (program_->buffers[gemm.c.buffer].scope != ir::Scope::fragment)
    return make_error(Code::kInvalidProgram, "C ({}) is not a fragment: accumulate in one and copy it afterwards",
                      text_of(gemm.c.buffer));
  TILERT_ASSIGN(auto am, matrix(gemm.a, "A", text_of(gemm.a.buffer)));
  TILERT_ASSIGN(auto bm, matrix(gemm.b, "B", text_of(gemm.b.buffer)));
  TILERT_ASSIGN(const auto cm, matrix(gemm.c, "C", text_of(gemm.c.buffer)));
  gemm.trans_a = (options.flags & TILERT_GEMM_TRANS_A) != 0;
  gemm.trans_b = (options.flags & TILERT_GEMM_TRANS_B) != 0;
  gemm.tf32 = (options.flags & TILERT_GEMM_TF32) != 0;
  gemm.issued = (options.flags & TILERT_GEMM_ISSUE) != 0;
  if (gemm.issued && (options.metadata || options.a_scale || options.b_scale))
    return make_error(Code::kInvalidProgram, "sparse and scaled products are waited for where they stand: leave the flag issue out");
  if (gemm.trans_a) std::swap(am.first, am.second);
  if (gemm.trans_b) std::swap(bm.first, bm.second);
  if (options.metadata) {
    TILERT_TRY(gemm_metadata(gemm, *options.metadata, am.first, am.second));
    am.second *= 2;
  }
  if (am.second != bm.first || cm.first != am.first || cm.second != bm.second)
    return make_error(
        Code::kInvalidProgram,
        "{} is {} x {}{}, {} is {} x {}{}, {} is {} x {}: M x K times K x N gives M x N; are trans_a, trans_b right?",
        text_of(gemm.a.buffer), am.first, am.second, gemm.trans_a ? " (transposed)" : gemm.sparse() ? " (sparse)" : "", text_of(gemm.b.buffer),
        bm.first, bm.second, gemm.trans_b ? " (transposed)" : "", text_of(gemm.c.buffer), cm.first, cm.second);
  if (same_memory(gemm.c.buffer, gemm.a.buffer) || same_memory(gemm.c.buffer, gemm.b.buffer))
    return make_error(Code::kInvalidProgram, "{} is result and operand at once", text_of(gemm.c.buffer));
  TILERT_TRY(gemm_dtypes(gemm));
  gemm.split = static_cast<ir::WarpSplit>(options.warp_split);
  gemm.accumulate = program_->arena->boolean((options.flags & TILERT_GEMM_OVERWRITE) == 0);
  if (!is_none(options.accumulate)) {
    if (options.flags & TILERT_GEMM_OVERWRITE)
      return make_error(Code::kInvalidArgument, "overwrite and accumulate are both given: give one");
    TILERT_ASSIGN(gemm.accumulate, typed(options.accumulate, DType::boolean, "accumulate"));
  }
  TILERT_TRY(use(gemm.a.buffer, Use::read, "A"));
  TILERT_TRY(use(gemm.b.buffer, Use::read, "B"));
  if (gemm.sparse()) TILERT_TRY(use(gemm.metadata.buffer, Use::read, "the metadata"));
  const bool surely_reads = gemm.accumulate->is_constant() && gemm.accumulate->bits == 1;
  TILERT_TRY(use(gemm.c.buffer, surely_reads ? Use::update : Use::write, "C"));
  if (options.a_scale || options.b_scale) return scaled_gemm(gemm, options, bm.first);
  append(std::move(gemm));
  return {};
}

// Each block of K has sums of its own, of which C gets so much as the scales of rows and columns say.
Status Builder::scaled_gemm(const ir::Gemm& gemm, const tilert_gemm_options& options, int64_t k) {
  ir::Arena& arena = *program_->arena;
  const std::string result = text_of(gemm.c.buffer);
  const size_t rank = gemm.c.extents.size();
  const int64_t m = gemm.c.extents[rank - 2], n = gemm.c.extents[rank - 1];
  if (program_->buffers[gemm.c.buffer].dtype != DType::f32)
    return make_error(Code::kInvalidProgram, "C ({}) is {}: sums of scaled blocks are f32", result, dtype_text(program_->buffers[gemm.c.buffer].dtype));
  Scales sides[2] = {{"the scales of A", options.a_scale, (options.flags & TILERT_GEMM_TRANS_A_SCALE) == 0, m},
                     {"the scales of B", options.b_scale, (options.flags & TILERT_GEMM_TRANS_B_SCALE) != 0, n}};
  int64_t steps = 1;
  for (Scales& side : sides) {
    if (!side.given) continue;
    TILERT_ASSIGN(const Place found, place(side.given, side.what));
    const std::string name = text_of(found.buffer);
    if (found.extents.size() != found.offsets.size()) return make_error(Code::kInvalidProgram, "{}: the region of {} needs extents", side.what, name);
    TILERT_ASSIGN(side.region, region(found, side.what));
    const DType dtype = program_->buffers[found.buffer].dtype;
    if (!dtype_is_float(dtype) || dtype_bits(dtype) > 32)
      return make_error(Code::kInvalidProgram, "{} ({}) are {}: they are floats of at most 32 bits", side.what, name, dtype_text(dtype));
    TILERT_ASSIGN(const auto size, matrix(side.region, side.what, name));
    side.blocks = side.k_last ? size.first : size.second;
    side.k_blocks = side.k_last ? size.second : size.first;
    if (side.extent % side.blocks != 0 || k % side.k_blocks != 0)
      return make_error(Code::kInvalidProgram, "{} ({}) are of {} blocks by {} along K, which do not share {} by {} evenly; is trans_a_scale or trans_b_scale missing?",
                        side.what, name, side.blocks, side.k_blocks, side.extent, k);
    if (same_memory(gemm.c.buffer, found.buffer)) return make_error(Code::kInvalidProgram, "{} is result and scales at once", result);
    TILERT_TRY(use(found.buffer, Use::read, side.what));
    steps = std::lcm(steps, side.k_blocks);
  }
  const int64_t depth = k / steps, per = gemm.sparse() ? dtype_bits(program_->buffers[gemm.metadata.buffer].dtype) : 1;
  if (steps > kMostScaledBlocks || k % steps != 0)
    return make_error(Code::kInvalidProgram, "scales of {} blocks of K: at most {}, which share its {} evenly; multiply a part of K at a time", steps, kMostScaledBlocks, k);
  if (steps > 1 && depth % per != 0)
    return make_error(Code::kInvalidProgram, "blocks of {} elements of K, of which an element of the metadata ({}) speaks of {}: take a narrower type", depth,
                      text_of(gemm.metadata.buffer), per);
  const ir::BufferId part = program_->add_buffer({"block", DType::f32, ir::Scope::fragment, {arena.index(m), arena.index(n)}, {}});
  storage_.resize(program_->buffers.size());
  storage_[part].life = here();
  append(ir::Alloc{part});
  for (int64_t s = 0; s < steps; ++s) {
    ir::Gemm block = gemm;
    block.c = {part, {arena.index(0), arena.index(0)}, {m, n}};
    block.accumulate = arena.boolean(false);
    cut(arena, block.a, !gemm.trans_a, s, steps), cut(arena, block.b, gemm.trans_b, s, steps);
    if (gemm.sparse()) cut(arena, block.metadata, true, s, steps);
    append(std::move(block));
    PointLoop points = point_loop({m, n});
    const ir::Expr x = read_point(points.loop.body, part, points.points);
    ir::Expr scale = nullptr;
    for (int side = 0; side < 2; ++side) {
      if (!sides[side].given) continue;
      const auto at = sides[side].at(arena, points.points[static_cast<size_t>(side)], s * sides[side].k_blocks / steps);
      const ir::Expr own = arena.cast(read_point(points.loop.body, sides[side].region.buffer, at), DType::f32);
      scale = scale ? arena.make(ir::Op::mul, {scale, own}) : own;
    }
    const ir::Access to{gemm.c.buffer, at_point(arena, gemm.c.offsets, points.points)};
    const auto start = [&](ir::Block& body) { put(body, ir::Store{to, arena.make(ir::Op::mul, {x, scale})}); };
    const auto go_on = [&](ir::Block& body) { put(body, ir::Store{to, arena.make(ir::Op::fma, {x, scale, read_point(body, to.buffer, to.indices)})}); };
    const ir::Expr again = s == 0 ? gemm.accumulate : arena.boolean(true);
    if (again->is_constant()) {
      again->bits ? go_on(points.loop.body) : start(points.loop.body);
    } else {
      ir::If choice{again, {}, {}};
      go_on(choice.then_body), start(choice.else_body);
      put(points.loop.body, std::move(choice));
    }
    append_loop(std::move(points));
  }
  return {};
}

Code Builder::gemm(const tilert_region* a, const tilert_region* b, const tilert_region* c,
                   const tilert_gemm_options& options) {
  return run("gemm", [&] { return do_gemm(a, b, c, options); });
}

}  // namespace tilert::builder
