// Declarations: dims, parameters, tiles.
#include "builder/builder.h"

#include <bit>
#include <cstring>

#include "support/small_float.h"

namespace tilert::builder {
namespace {

constexpr uint32_t kMaxRank = 8;
constexpr uint32_t kMaxParameters = 256;
constexpr uint32_t kMaxDims = 256;
constexpr uint32_t kMaxBuckets = 64;
constexpr size_t kMaxName = 128;
constexpr int64_t kMaxTileElements = int64_t{1} << 24;

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name[0])) return false;
  for (char c : name)
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  return true;
}

Result<std::vector<ir::Bucket>> buckets_of(const tilert_dim_options& options) {
  std::vector<ir::Bucket> out;
  if (options.bucket_count > kMaxBuckets || (options.bucket_count != 0 && !options.buckets))
    return make_error(Code::kInvalidArgument, "bucket_count is {}: give 0 to {} buckets, and their array",
                      options.bucket_count, kMaxBuckets);
  for (uint32_t i = 0; i < options.bucket_count; ++i) {
    const tilert_bucket& bucket = options.buckets[i];
    if (bucket.kind == TILERT_BUCKET_RANGE && bucket.a >= 0 && bucket.a <= bucket.b) {
      out.push_back({ir::Bucket::Kind::range, bucket.a, bucket.b, 1});
    } else if (bucket.kind == TILERT_BUCKET_DIVISOR && bucket.a >= 1 && bucket.b == 0) {
      out.push_back({ir::Bucket::Kind::divisor, 0, 0, bucket.a});
    } else {
      return make_error(Code::kInvalidArgument,
                        "bucket {} (kind {}, a {}, b {}) is neither a range 0 <= a <= b nor a divisor a >= 1 with b 0",
                        i, bucket.kind, bucket.a, bucket.b);
    }
  }
  return out;
}

}  // namespace

Result<std::string> Builder::new_name(const char* name, std::string_view what) {
  if (!name) return make_error(Code::kInvalidArgument, "{} is NULL", what);
  const std::string_view text(name, strnlen(name, kMaxName + 1));
  if (text.size() > kMaxName || !is_identifier(text))
    return make_error(Code::kInvalidArgument, "{} '{}' is not an identifier of at most {} letters, digits and _", what,
                      text.substr(0, kMaxName), kMaxName);
  if (!names_.emplace(text).second)
    return make_error(Code::kInvalidProgram, "the name '{}' is taken: dims and parameters have names of their own",
                      text);
  return std::string(text);
}

Result<DType> Builder::storage_dtype(tilert_dtype dtype, std::string_view what) const {
  const auto type = static_cast<DType>(dtype);
  if (dtype <= 0 || dtype > 255 || !dtype_is_known(type))
    return make_error(Code::kInvalidArgument, "{}: {} is not a dtype", what, dtype);
  if (type == DType::index)
    return make_error(Code::kInvalidArgument, "{}: index is not a storage type; use int64", what);
  if (type != DType::tf32) return type;
  return refuse(Refusal::dtype_, fmt::format("{}: {}", what, dtype_text(type)));
}

tilert_dim Builder::dim(const char* name, const tilert_dim_options& options) {
  return make<tilert_dim>("dim", [&]() -> Result<tilert_dim> {
    if (scopes_.size() > 1) return make_error(Code::kInvalidProgram, "dims are declared before any kernel is open");
    if (program_->dims.size() >= kMaxDims)
      return make_error(Code::kInvalidProgram, "a program has at most {} dims", kMaxDims);
    TILERT_ASSIGN(std::string text, new_name(name, "the name"));
    if (options.divisible < 0)
      return make_error(Code::kInvalidArgument, "dim {}: divisible is {}: give a positive number", text,
                        options.divisible);
    ir::Dim dim;
    TILERT_ASSIGN(dim.buckets, buckets_of(options));
    dim.divisible = options.divisible == 0 ? 1 : options.divisible;
    dim.var = program_->add_var(ir::VarKind::dim, DType::index, std::move(text));
    ranges_[dim.var] = Range{};
    program_->dims.push_back(std::move(dim));
    return make_id<tilert_dim>(serial_, static_cast<uint32_t>(program_->dims.size() - 1));
  });
}

// Whether the expression is made of constants, dims and, where allowed, integer scalars.
Status Builder::size_expr(ir::Expr expr, bool scalars, std::string_view what) const {
  if (expr->op == ir::Op::variable) {
    const ir::Var& var = program_->vars[expr->var()];
    if (var.kind == ir::VarKind::dim || (scalars && var.kind == ir::VarKind::scalar)) return {};
    return make_error(Code::kInvalidProgram, "{} uses '{}': only constants{} dims may stand there", what, var.name,
                      scalars ? ", scalars and" : " and");
  }
  for (int i = 0; i < expr->arity; ++i) TILERT_TRY(size_expr(expr->operand[i], scalars, what));
  return {};
}

// Rows start on a byte, and their elements lie side by side. Strides of dims are checked at launch.
Status Builder::packed_strides(const ir::Buffer& buffer, std::string_view what) const {
  const int group = dtype_group(buffer.dtype);
  for (size_t i = 0; i < buffer.strides.size(); ++i) {
    const ir::Expr stride = buffer.strides[i];
    const bool last = i + 1 == buffer.strides.size();
    if (i == 0 && ir::is_table(buffer)) continue;
    const bool fits = last ? stride->is_constant() && stride->as_int() == 1
                           : !stride->is_constant() || stride->as_int() % group == 0;
    if (!fits)
      return make_error(Code::kInvalidProgram,
                        "{}: stride {} of {}: elements of a row lie side by side (stride 1), and rows start on a byte "
                        "(multiples of {})", what, i, dtype_text(buffer.dtype), group);
  }
  return {};
}

// Given ones, or those of row-major contiguous tensors.
Status Builder::set_strides(const tilert_tensor_options& options, ir::Buffer& buffer, std::string_view what) {
  const auto rank = static_cast<uint32_t>(buffer.shape.size());
  const bool table = ir::is_table(buffer);
  if (table && options.strides) buffer.strides.push_back(program_->arena->index(0));
  for (uint32_t i = 0; i < options.stride_count; ++i) {
    TILERT_ASSIGN(const ir::Expr stride, index_value(options.strides[i], fmt::format("{}: stride {}", what, i)));
    TILERT_TRY(size_expr(stride, false, fmt::format("{}: stride {}", what, i)));
    if (stride->is_constant() && stride->as_int() < 0)
      return make_error(Code::kInvalidProgram, "{}: stride {} is {}: strides are 0 or positive", what, i,
                        stride->as_int());
    buffer.strides.push_back(stride);
  }
  buffer.contiguous = options.strides == nullptr;
  if (buffer.contiguous && dtype_is_packed(buffer.dtype)) {
    buffer.strides.clear();  // add_buffer gives them
  } else if (buffer.contiguous) {
    buffer.strides.resize(rank);
    ir::Expr stride = program_->arena->index(1);
    for (uint32_t i = rank; i-- > 0;) {
      buffer.strides[i] = stride;
      const bool one = stride->is_constant() && stride->as_int() == 1;
      if (i > 0) stride = one ? buffer.shape[i] : program_->arena->make(ir::Op::mul, {stride, buffer.shape[i]});
    }
    if (table) buffer.strides[0] = program_->arena->index(0);
  } else if (dtype_is_packed(buffer.dtype)) {
    TILERT_TRY(packed_strides(buffer, what));
  }
  return {};
}

Result<tilert_tensor> Builder::do_tensor(const char* name, tilert_access access, tilert_dtype dtype,
                                         const tilert_expr* shape, uint32_t rank,
                                         const tilert_tensor_options& options) {
  if (scopes_.size() > 1) return make_error(Code::kInvalidProgram, "parameters are declared before any kernel is open");
  if (program_->parameters.size() >= kMaxParameters)
    return make_error(Code::kInvalidProgram, "a program has at most {} parameters", kMaxParameters);
  TILERT_ASSIGN(std::string text, new_name(name, "the name"));
  const std::string what = fmt::format("tensor {}", text);
  if (access < TILERT_IN || access > TILERT_INOUT)
    return make_error(Code::kInvalidArgument, "{}: access {} is none of in, out, inout", what, access);
  if (rank > kMaxRank || (rank != 0 && !shape))
    return make_error(Code::kInvalidArgument, "{}: rank is {}: give 0 to {} dims, and their array", what, rank,
                      kMaxRank);
  if (options.flags & ~uint32_t{TILERT_TENSOR_MAY_ALIAS | TILERT_TENSOR_POINTER_TABLE})
    return make_error(Code::kInvalidArgument, "{}: unknown flags {:#x}", what, options.flags);
  const bool table = (options.flags & TILERT_TENSOR_POINTER_TABLE) != 0;
  if (table && rank == 0)
    return make_error(Code::kInvalidArgument, "{}: a table of pointers needs a dim that counts them: give {{count, sizes of each tensor}}", what);
  if (options.stride_count != (options.strides ? rank - table : 0))
    return make_error(Code::kInvalidArgument, "{}: {} strides for {}{}", what, options.stride_count,
                      table ? "tensors of rank " : "rank ", rank - table);
  ir::Buffer buffer{std::move(text), DType::none, ir::Scope::global, {}, {}};
  buffer.entries = table ? ir::Entries::counted : ir::Entries::none;
  TILERT_ASSIGN(buffer.dtype, storage_dtype(dtype, what));
  for (uint32_t i = 0; i < rank; ++i) {
    TILERT_ASSIGN(const ir::Expr size, index_value(shape[i], fmt::format("{}: size {}", what, i)));
    if (size->is_constant() ? size->as_int() < 0 : !size->is_variable())
      return size->is_constant() ? make_error(Code::kInvalidProgram, "{}: size {} is {}", what, i, size->as_int())
                                 : refuse(Refusal::shape_expression_, what);
    TILERT_TRY(size_expr(size, false, fmt::format("{}: size {}", what, i)));
    buffer.shape.push_back(size);
  }
  TILERT_TRY(set_strides(options, buffer, what));
  buffer.alignment = options.alignment == 0 ? 16 : options.alignment;
  if (!std::has_single_bit(options.alignment == 0 ? 16u : options.alignment) || buffer.alignment > 4096 ||
      buffer.alignment < dtype_bytes(buffer.dtype))
    return make_error(Code::kInvalidArgument,
                      "{}: alignment {} is not a power of two from the element's {} to 4096 bytes", what,
                      options.alignment, dtype_bytes(buffer.dtype));
  buffer.direction = access == TILERT_IN    ? ir::Direction::in
                     : access == TILERT_OUT ? ir::Direction::out
                                            : ir::Direction::inout;
  buffer.parameter = static_cast<int32_t>(program_->parameters.size());
  buffer.may_alias = (options.flags & TILERT_TENSOR_MAY_ALIAS) != 0;
  buffer.location = location();
  std::string parameter_name = buffer.name;
  const ir::BufferId id = program_->add_buffer(std::move(buffer));
  program_->parameters.push_back({ir::Parameter::Kind::tensor, std::move(parameter_name), id, ir::kNoVar});
  storage_.resize(program_->buffers.size());
  storage_[id].written = true;
  tensors_.push_back(id);
  return make_id<tilert_tensor>(serial_, static_cast<uint32_t>(tensors_.size() - 1));
}

tilert_tensor Builder::tensor(const char* name, tilert_access access, tilert_dtype dtype, const tilert_expr* shape,
                              uint32_t rank, const tilert_tensor_options& options) {
  return make<tilert_tensor>("tensor", [&] { return do_tensor(name, access, dtype, shape, rank, options); });
}

tilert_scalar Builder::scalar(const char* name, tilert_dtype dtype) {
  return make<tilert_scalar>("scalar", [&]() -> Result<tilert_scalar> {
    if (scopes_.size() > 1)
      return make_error(Code::kInvalidProgram, "parameters are declared before any kernel is open");
    if (program_->parameters.size() >= kMaxParameters)
      return make_error(Code::kInvalidProgram, "a program has at most {} parameters", kMaxParameters);
    TILERT_ASSIGN(std::string text, new_name(name, "the name"));
    TILERT_ASSIGN(const DType type, storage_dtype(dtype, fmt::format("scalar {}", text)));
    if (dtype_is_packed(type))
      return make_error(Code::kInvalidProgram, "scalar {}: {} is less than a byte: pass {} and cast it", text,
                        dtype_text(type), dtype_is_float(type) ? "f32" : "int8");
    const ir::VarId var = program_->add_var(ir::VarKind::scalar, type, text);
    program_->parameters.push_back({ir::Parameter::Kind::scalar, std::move(text), ir::kNoBuffer, var});
    scalars_.push_back(var);
    return make_id<tilert_scalar>(serial_, static_cast<uint32_t>(scalars_.size() - 1));
  });
}

Result<tilert_buffer> Builder::do_buffer(tilert_scope scope, tilert_dtype dtype, const tilert_expr* shape,
                                         uint32_t rank, const tilert_buffer_options& options) {
  TILERT_TRY(need_statements());
  static constexpr const char* kNames[] = {"", "shared", "fragment", "var", "local"};
  static constexpr ir::Scope kScopes[] = {ir::Scope::global, ir::Scope::shared, ir::Scope::fragment, ir::Scope::scalar,
                                          ir::Scope::local};
  if (scope < TILERT_SHARED || scope > TILERT_LOCAL)
    return make_error(Code::kInvalidArgument, "scope {} is none of shared, fragment, var, local", scope);
  std::string text = fmt::format("{}{}", kNames[scope], buffers_.size());
  if (options.name) {
    const std::string_view given(options.name, strnlen(options.name, kMaxName + 1));
    if (given.size() > kMaxName || !is_identifier(given))
      return make_error(Code::kInvalidArgument,
                        "the name '{}' is not an identifier of at most {} letters, digits and _",
                        given.substr(0, kMaxName), kMaxName);
    text = given;
  }
  const std::string what = fmt::format("{} {}", kNames[scope], text);
  if (rank > kMaxRank || (rank != 0 && !shape) || (scope == TILERT_VAR) != (rank == 0))
    return make_error(Code::kInvalidArgument, "{}: rank is {}: a var has rank 0, a tile 1 to {}", what, rank, kMaxRank);
  if (const OpenScope* loop = enclosing(ScopeKind::parallel); loop && scope <= TILERT_FRAGMENT)
    return make_error(Code::kInvalidProgram, "{}: tiles are declared outside {}; inside, use var or local", what, scope_name(*loop));
  if (options.layout < TILERT_LAYOUT_AUTO || options.layout > TILERT_LAYOUT_SWIZZLE_128)
    return make_error(Code::kInvalidArgument, "{}: {} is not a layout", what, options.layout);
  if (options.layout != TILERT_LAYOUT_AUTO && scope != TILERT_SHARED)
    return make_error(Code::kInvalidProgram, "{}: only shared tiles have a layout in memory", what);
  ir::Buffer buffer{std::move(text), DType::none, kScopes[scope], {}, {}};
  buffer.layout.kind = static_cast<ir::TileLayout>(options.layout);
  TILERT_ASSIGN(buffer.dtype, storage_dtype(dtype, what));
  int64_t elements = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    TILERT_ASSIGN(const int64_t size, constant_index(shape[i], fmt::format("{}: size {}", what, i)));
    if (size < 1 || size > kMaxTileElements || (elements *= size) > kMaxTileElements)
      return make_error(Code::kInvalidProgram,
                        "{}: size {} is {}: sizes are positive, and a tile has at most {} elements", what, i, size,
                        kMaxTileElements);
    buffer.shape.push_back(program_->arena->index(size));
  }
  return allocate(std::move(buffer));
}

tilert_buffer Builder::allocate(ir::Buffer buffer) {
  buffer.location = location();
  const ir::BufferId id = program_->add_buffer(std::move(buffer));
  append(ir::Alloc{id});
  storage_.resize(program_->buffers.size());
  storage_[id].life = here();
  buffers_.push_back(id);
  return make_id<tilert_buffer>(serial_, static_cast<uint32_t>(buffers_.size() - 1));
}

tilert_buffer Builder::buffer(tilert_scope scope, tilert_dtype dtype, const tilert_expr* shape, uint32_t rank,
                              const tilert_buffer_options& options) {
  return make<tilert_buffer>("buffer", [&] { return do_buffer(scope, dtype, shape, rank, options); });
}

}  // namespace tilert::builder
