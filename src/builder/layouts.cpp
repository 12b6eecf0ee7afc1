// Where a shared tile's elements are asked to lie. A hint: no value depends on it; whether it is taken is the passes'
// matter.
#include "builder/builder.h"
#include "ir/semantics.h"

namespace tilert::builder {

Result<ir::BufferId> Builder::shared_tile(tilert_buffer tile) const {
  TILERT_ASSIGN(const uint32_t at, find(tile, buffers_.size(), "the tile"));
  const ir::Buffer& b = program_->buffers[buffers_[at]];
  if (b.view_of != ir::kNoBuffer)
    return make_error(Code::kInvalidProgram, "{} is a view: the layout is that of {}, whose bytes it shows", b.name,
                      text_of(b.view_of));
  if (b.scope != ir::Scope::shared)
    return make_error(Code::kInvalidProgram, "{} is no shared tile: only those have a layout in memory", b.name);
  return buffers_[at];
}

// An index for each dim, of which the place of an element is made.
Code Builder::layout_indices(tilert_buffer tile, tilert_expr* indices) {
  return run("layout indices", [&]() -> Status {
    if (!indices) return make_error(Code::kInvalidArgument, "there is no room for the indices");
    TILERT_ASSIGN(const ir::BufferId id, shared_tile(tile));
    auto& vars = layout_vars_[id];
    vars.clear();
    const std::vector<ir::Expr> shape = program_->buffers[id].shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      vars.emplace_back();
      TILERT_ASSIGN(indices[d], add_variable(ir::VarKind::loop, DType::index, fmt::format("d{}", d),
                                             Range{0, shape[d]->as_int() - 1}, &vars.back()));
    }
    return {};
  });
}

Status Builder::do_annotate_layout(tilert_buffer tile, tilert_layout layout, tilert_expr place, uint32_t flags) {
  TILERT_ASSIGN(const ir::BufferId id, shared_tile(tile));
  ir::Buffer& buffer = program_->buffers[id];
  if (layout < TILERT_LAYOUT_AUTO || layout > TILERT_LAYOUT_CUSTOM)
    return make_error(Code::kInvalidArgument, "{}: {} is not a layout", buffer.name, layout);
  if (flags & ~uint32_t{TILERT_LAYOUT_MUST}) return make_error(Code::kInvalidArgument, "unknown flags {:#x}", flags);
  if ((layout == TILERT_LAYOUT_CUSTOM) == is_none(place))
    return make_error(Code::kInvalidArgument,
                      "{}: a custom layout has an expression for the place of an element, the others have none",
                      buffer.name);
  ir::LayoutHint hint;
  hint.kind = static_cast<ir::TileLayout>(layout);
  hint.must = (flags & TILERT_LAYOUT_MUST) != 0;
  if (layout == TILERT_LAYOUT_CUSTOM) {
    hint.vars = layout_vars_[id];
    if (hint.vars.empty())
      return make_error(Code::kInvalidProgram,
                        "{}: ask for the indices of its elements first, and make the place of them", buffer.name);
    TILERT_ASSIGN(hint.place, index_value(place, "the place"));
  }
  std::swap(buffer.layout, hint);
  if (layout != TILERT_LAYOUT_CUSTOM) return {};
  const Result<std::vector<int64_t>> places = ir::layout_places(*program_, buffer);
  if (!places) return make_error(Code::kInvalidProgram, "{}: {}", buffer.name, places.error().message);
  return {};
}

Code Builder::annotate_layout(tilert_buffer tile, tilert_layout layout, tilert_expr place, uint32_t flags) {
  return run("annotate layout", [&] { return do_annotate_layout(tile, layout, place, flags); });
}

}  // namespace tilert::builder
