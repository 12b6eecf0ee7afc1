// Views: other shapes and element types of what is declared already. None of them moves anything: a view of a tile
// names its bytes, a view of a parameter its memory with other strides.
#include <algorithm>

#include "builder/builder.h"
#include "ir/semantics.h"

namespace tilert::builder {
namespace {

constexpr uint32_t kMaxRank = 8;

// A product as its constant factor and the other factors, in order.
struct Factors {
  int64_t constant = 1;
  std::vector<ir::Expr> others;

  void take(ir::Expr e) {
    if (e->is_constant()) {
      constant *= e->as_int();
    } else if (e->op == ir::Op::mul) {
      take(e->operand[0]);
      take(e->operand[1]);
    } else {
      others.push_back(e);
    }
  }
  static Factors of(const std::vector<ir::Expr>& shape) {
    Factors f;
    for (ir::Expr e : shape) f.take(e);
    std::sort(f.others.begin(), f.others.end(), [](ir::Expr a, ir::Expr b) { return a->serial < b->serial; });
    return f;
  }
  bool operator==(const Factors&) const = default;
};

}  // namespace

bool Builder::same_memory(ir::BufferId a, ir::BufferId b) const {
  const ir::Buffer &x = program_->buffers[a], &y = program_->buffers[b];
  return ir::storage_of(*program_, a) == ir::storage_of(*program_, b) ||
         (x.parameter >= 0 && x.parameter == y.parameter);
}

// ---- tiles

Result<tilert_buffer> Builder::do_view(tilert_buffer tile, tilert_dtype dtype, const tilert_expr* shape,
                                       uint32_t rank) {
  TILERT_ASSIGN(const uint32_t at, find(tile, buffers_.size(), "the tile"));
  const ir::BufferId shown = buffers_[at], id = ir::storage_of(*program_, shown);
  const ir::Buffer of = program_->buffers[id], before = program_->buffers[shown];
  TILERT_TRY(check_alive(storage_[id].life, before.name, "the scope that declared it"));
  if (of.scope != ir::Scope::shared && of.scope != ir::Scope::fragment)
    return make_error(Code::kInvalidProgram,
                      "{} is a {}: views are of shared tiles and fragments; declare it with the shape wanted", of.name,
                      of.scope == ir::Scope::scalar ? "var" : "local array");
  ir::Buffer view{fmt::format("{}_view{}", of.name, buffers_.size()), before.dtype, of.scope, {}, {}};
  if (dtype != 0) {
    TILERT_ASSIGN(view.dtype, storage_dtype(dtype, fmt::format("view of {}", of.name)));
  }
  if (!ir::may_view(of, view.dtype))
    return make_error(
        Code::kInvalidProgram,
        "{} ({}) as {}: bytes are not bools, and elements of less than a byte share bytes in shared tiles only: copy it, which "
        "casts, or use a shared tile",
        of.name, dtype_text(of.dtype), dtype_text(view.dtype));
  TILERT_ASSIGN(view.shape, view_shape(before, view.dtype, shape, rank));
  const int64_t bits = ir::element_bits(of), shown_bits = ir::element_bits(view);
  if (shown_bits != bits)
    return make_error(Code::kInvalidProgram, "{} has {} bytes, {} of {} has {}: a view shows all of them", of.name,
                      bits / 8, extents_text(view.shape), dtype_text(view.dtype), shown_bits / 8);
  if (view.dtype != of.dtype)
    for (const ir::Buffer* one : {&of, static_cast<const ir::Buffer*>(&view)})
      if (!ir::has_whole_rows(*one))
        return make_error(Code::kInvalidProgram,
                          "{} ({}) as {}: rows of {} {} fill no whole bytes: give rows of a multiple of {} elements", of.name,
                          dtype_text(of.dtype), dtype_text(view.dtype), one->shape.back()->as_int(), dtype_text(one->dtype),
                          dtype_group(one->dtype));
  view.view_of = id;
  view.location = location();
  const ir::BufferId made = program_->add_buffer(std::move(view));
  storage_.resize(program_->buffers.size());
  storage_[made].life = storage_[id].life;
  buffers_.push_back(made);
  return make_id<tilert_buffer>(serial_, static_cast<uint32_t>(buffers_.size() - 1));
}

std::string Builder::extents_text(const std::vector<ir::Expr>& shape) const {
  std::vector<int64_t> extents;
  for (ir::Expr e : shape) extents.push_back(e->as_int());
  return shape_text(extents);
}

// As given; or the shape of what is shown, with as many elements in its last dim as have its bytes.
Result<std::vector<ir::Expr>> Builder::view_shape(const ir::Buffer& shown, DType dtype, const tilert_expr* shape,
                                                  uint32_t rank) const {
  std::vector<ir::Expr> out;
  if (rank == 0 && !shape) {
    out = shown.shape;
    const int64_t bits = out.back()->as_int() * dtype_bits(shown.dtype);
    if (bits % dtype_bits(dtype) != 0)
      return make_error(Code::kInvalidProgram,
                        "rows of {} have {} bytes, which are no whole elements of {}: give a shape", shown.name, (bits + 7) / 8,
                        dtype_text(dtype));
    out.back() = program_->arena->index(bits / dtype_bits(dtype));
    return out;
  }
  if (rank == 0 || rank > kMaxRank || !shape)
    return make_error(Code::kInvalidArgument, "view of {}: rank is {}: give 1 to {} sizes, and their array", shown.name,
                      rank, kMaxRank);
  for (uint32_t i = 0; i < rank; ++i) {
    TILERT_ASSIGN(const int64_t size, constant_index(shape[i], fmt::format("view of {}: size {}", shown.name, i)));
    if (size < 1 || size > ir::element_bits(shown) / dtype_bits(dtype))
      return make_error(Code::kInvalidProgram, "view of {}: size {} is {}: sizes are positive and within the tile",
                        shown.name, i, size);
    out.push_back(program_->arena->index(size));
  }
  return out;
}

tilert_buffer Builder::view(tilert_buffer tile, tilert_dtype dtype, const tilert_expr* shape, uint32_t rank) {
  return make<tilert_buffer>("view", [&] { return do_view(tile, dtype, shape, rank); });
}

// ---- parameters

tilert_tensor Builder::add_tensor_view(ir::Buffer view) {
  view.location = location();
  const ir::BufferId id = program_->add_buffer(std::move(view));
  storage_.resize(program_->buffers.size());
  storage_[id].written = true;
  tensors_.push_back(id);
  return make_id<tilert_tensor>(serial_, static_cast<uint32_t>(tensors_.size() - 1));
}

Result<tilert_tensor> Builder::do_tensor_reshape(tilert_tensor tensor, const tilert_expr* shape, uint32_t rank) {
  TILERT_ASSIGN(const uint32_t at, find(tensor, tensors_.size(), "the tensor"));
  ir::Buffer view = program_->buffers[tensors_[at]];
  const std::string name = view.name;
  if (ir::is_table(view))
    return make_error(Code::kInvalidProgram,
                      "{} is a table of pointers, whose tensors lie apart: declare it with the shape wanted of each, or copy to a "
                      "shared tile and view that",
                      name);
  if (!view.contiguous)
    return make_error(Code::kInvalidProgram,
                      "{} has strides of its own, or its dims have changed places: a reshape takes a contiguous "
                      "tensor; declare it without strides, and reshape before the dims change places",
                      name);
  if (rank > kMaxRank || (rank != 0 && !shape))
    return make_error(Code::kInvalidArgument, "reshape of {}: rank is {}: give 0 to {} sizes, and their array", name,
                      rank, kMaxRank);
  const std::vector<ir::Expr> before = std::move(view.shape);
  view.shape.clear();
  view.strides.clear();
  for (uint32_t i = 0; i < rank; ++i) {
    const std::string what = fmt::format("reshape of {}: size {}", name, i);
    TILERT_ASSIGN(const ir::Expr size, index_value(shape[i], what));
    if (size->is_constant() && size->as_int() < 0)
      return make_error(Code::kInvalidProgram, "{} is {}", what, size->as_int());
    TILERT_TRY(size_expr(size, false, what));
    view.shape.push_back(size);
  }
  if (Factors::of(before) != Factors::of(view.shape))
    return make_error(
        Code::kInvalidProgram,
        "reshape of {}: both shapes must be products of the same dims and number, so that they hold as many "
        "elements whatever the dims are",
        name);
  const int group = dtype_group(view.dtype);
  if (group > 1 && (before.empty() || view.shape.empty() ||
                    (before.back() != view.shape.back() &&
                     (!ir::certain_multiple(before.back(), group) || !ir::certain_multiple(view.shape.back(), group)))))
    return make_error(Code::kInvalidProgram,
                      "reshape of {}: rows of {} start on a byte: keep the last dim, or let both be multiples of {}",
                      name, dtype_text(view.dtype), group);
  return add_tensor_view(std::move(view));
}

tilert_tensor Builder::tensor_reshape(tilert_tensor tensor, const tilert_expr* shape, uint32_t rank) {
  return make<tilert_tensor>("reshape", [&] { return do_tensor_reshape(tensor, shape, rank); });
}

Result<tilert_tensor> Builder::do_tensor_transpose(tilert_tensor tensor, const uint32_t* order, uint32_t count) {
  TILERT_ASSIGN(const uint32_t at, find(tensor, tensors_.size(), "the tensor"));
  ir::Buffer view = program_->buffers[tensors_[at]];
  const size_t rank = view.shape.size();
  if (rank < 2) return make_error(Code::kInvalidProgram, "{} has rank {}: nothing can change places", view.name, rank);
  std::vector<uint32_t> of(rank);
  for (size_t d = 0; d < rank; ++d) of[d] = static_cast<uint32_t>(d);
  if (!order)
    std::swap(of[rank - 2], of[rank - 1]);
  else if (count == rank)
    of.assign(order, order + count);
  std::vector<uint32_t> sorted = of;
  std::sort(sorted.begin(), sorted.end());
  for (size_t d = 0; d < rank; ++d)
    if (sorted[d] != d || (order && count != rank))
      return make_error(Code::kInvalidArgument, "transpose of {}: the order does not name each of {} dims once",
                        view.name, rank);
  if (ir::is_table(view) && of[0] != 0)
    return make_error(Code::kInvalidProgram,
                      "transpose of {}: the first dim counts the pointers of a table and stays first: let the others change places",
                      view.name);
  if (dtype_is_packed(view.dtype) && of.back() != rank - 1)
    return make_error(Code::kInvalidProgram,
                      "transpose of {}: elements of {} in a row share bytes: keep the last dim, or copy to a tile and "
                      "transpose that",
                      view.name, dtype_text(view.dtype));
  const ir::Buffer before = view;
  bool moved = false;
  for (size_t d = 0; d < rank; ++d) {
    view.shape[d] = before.shape[of[d]];
    view.strides[d] = before.strides[of[d]];
    moved = moved || of[d] != d;
  }
  view.contiguous = view.contiguous && !moved;
  return add_tensor_view(std::move(view));
}

tilert_tensor Builder::tensor_transpose(tilert_tensor tensor, const uint32_t* order, uint32_t count) {
  return make<tilert_tensor>("transpose", [&] { return do_tensor_transpose(tensor, order, count); });
}

}  // namespace tilert::builder
