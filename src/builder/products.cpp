// Products: gemm, dense and sparse.
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
  if (options.flags & ~uint32_t{TILERT_GEMM_TRANS_A | TILERT_GEMM_TRANS_B | TILERT_GEMM_OVERWRITE | TILERT_GEMM_TF32 | TILERT_GEMM_ISSUE})
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
  append(std::move(gemm));
  return {};
}

Code Builder::gemm(const tilert_region* a, const tilert_region* b, const tilert_region* c,
                   const tilert_gemm_options& options) {
  return run("gemm", [&] { return do_gemm(a, b, c, options); });
}

}  // namespace tilert::builder
