// The verifier: declarations and kernels. Statements are in verify_stmt.cpp, what they operate on in
// verify_operand.cpp.
#include "ir/verifier.h"

#include "ir/evaluate.h"
#include "ir/semantics.h"
#include "ir/verifier_impl.h"
#include "ir/visit.h"
#include "ir/words.h"

namespace tilert::ir {
namespace {

constexpr int64_t kMaxTileBytes = int64_t{1} << 30;

struct ScopeRow {
  Scope scope;
  bool legal[4];
};
constexpr ScopeRow kScopes[] = {
#define TILERT_STATEMENT(kind, name, parallel, tile, specialized, lowered, synchronized)
#define TILERT_SCOPE(scope, tile, specialized, lowered, synchronized) \
  {Scope::scope, {tile, specialized, lowered, synchronized}},
#include "ir/stages.def"
#undef TILERT_STATEMENT
#undef TILERT_SCOPE
};

}  // namespace

Status Verifier::run() {
  if (declarations()) {
    for (const Kernel& k : p_.kernels)
      if (!kernel(k)) break;
  }
  if (error_) return std::move(*error_);
  return {};
}

bool Verifier::fail_with(Code code, std::string message) {
  if (error_) return false;
  std::string where;
  if (current_)
    where = describe(p_, *current_) + ": ";
  else if (!kernel_.empty())
    where = fmt::format("kernel '{}': ", kernel_);
  if (lowered()) code = Code::kInternal;
  error_ = make_error(code, "{}{}", where, message);
  return false;
}

bool Verifier::supported(DType dtype, const std::string& what) {
  if (lowered()) return dtype_is_known(dtype) || fail(fmt::format("{} has no element type", what));
  if (dtype_is_known(dtype) && dtype != DType::tf32) return true;
  return unsupported(fmt::format("{} is {}, which is a mode of gemm and no element type", what, dtype_text(dtype)), "use f32");
}

bool Verifier::declarations() {
  typed_.assign(p_.arena->size(), 0);
  if (p_.kernels.empty()) return fail("the program has no kernel");
  for (const Var& v : p_.vars)
    if (!variable(v)) return false;
  for (const Dim& d : p_.dims)
    if (!dim(d)) return false;
  for (BufferId b = 0; b < p_.buffers.size(); ++b)
    if (!buffer(b)) return false;
  for (size_t i = 0; i < p_.parameters.size(); ++i)
    if (!parameter(p_.parameters[i], i)) return false;
  return functions();
}

bool Verifier::variable(const Var& v) {
  const bool counts = v.kind != VarKind::scalar && v.kind != VarKind::let;
  if (counts && v.dtype != DType::index)
    return fail(fmt::format("the {} variable '{}' is {}, not index", word(v.kind), v.name, dtype_text(v.dtype)));
  return supported(v.dtype, fmt::format("'{}'", v.name));
}

bool Verifier::dim(const Dim& d) {
  if (d.var >= p_.vars.size() || p_.vars[d.var].kind != VarKind::dim)
    return fail("a dim names no variable of its kind");
  const std::string& name = p_.vars[d.var].name;
  if (d.divisible < 1)
    return fail(fmt::format("dim '{}' is declared divisible by {}; a divisor is at least 1", name, d.divisible));
  if (d.value && (*d.value < 0 || *d.value % d.divisible != 0))
    return fail(fmt::format("dim '{}' is {}; it must be at least 0 and divisible by {}", name, *d.value, d.divisible));
  for (const Bucket& b : d.buckets) {
    const bool range = b.kind == Bucket::Kind::range;
    if (range ? b.low < 0 || b.high < b.low : b.divisor < 1)
      return fail(
          fmt::format("dim '{}' has a bucket that holds nothing: ranges go from a least to a greatest size, divisors "
                      "are at least 1",
                      name));
  }
  return true;
}

bool Verifier::over_dims(Expr e, bool scalars, const std::string& what) {
  if (!e || e->dtype != DType::index) return fail(fmt::format("{} is not an index expression", what));
  if (!typed(e)) return false;
  bool fits = true;
  for_each_node(e, [&](Expr n) {
    if (!n->is_variable() || n->var() >= p_.vars.size()) return;
    const VarKind kind = p_.vars[n->var()].kind;
    fits &= kind == VarKind::dim || (scalars && kind == VarKind::scalar);
  });
  return fits || fail(fmt::format("{} depends on more than dims{}", what, scalars ? " and scalar parameters" : ""));
}

bool Verifier::scope_has_place(BufferId id) {
  const Scope scope = p_.buffers[id].scope;
  for (const ScopeRow& row : kScopes)
    if (row.scope == scope && !row.legal[static_cast<size_t>(stage_)])
      return fail(fmt::format("{} is of scope {}, which has no place at this stage", name(id), word(scope)));
  return true;
}

bool Verifier::buffer(BufferId id) {
  const Buffer& b = p_.buffers[id];
  // What a pass has replaced stays declared; that nothing allocates it is for alloc to say.
  if (stage_ < Stage::lowered && !scope_has_place(id)) return false;
  if (!supported(b.dtype, name(id))) return false;
  if (b.shape.size() > kMaxRank)
    return fail(fmt::format("{} has {} dims; {} is the limit", name(id), b.shape.size(), kMaxRank));
  return b.scope == Scope::global ? global_buffer(b) : tile_buffer(b);
}

bool Verifier::global_buffer(const Buffer& b) {
  const std::string what = fmt::format("'{}'", b.name);
  for (Expr e : b.shape) {
    if (!over_dims(e, false, "the shape of " + what)) return false;
    if (e->is_constant() && e->as_int() < 0) return fail(fmt::format("{} has a size of {}", what, e->as_int()));
  }
  if (b.strides.size() != b.shape.size())
    return fail(fmt::format("{} has {} strides for {} dims", what, b.strides.size(), b.shape.size()));
  for (Expr e : b.strides) {
    if (!over_dims(e, true, "a stride of " + what)) return false;
    if (e->is_constant() && e->as_int() < 0)
      return fail(fmt::format("{} has a stride of {}; strides are never negative", what, e->as_int()));
  }
  if (is_table(b) && !table(b, what)) return false;
  if (is_workspace(b)) return workspace(b);
  if (b.direction == Direction::none) return fail(fmt::format("{} is neither in, out nor inout", what));
  if (static_cast<size_t>(b.parameter) >= p_.parameters.size() ||
      p_.parameters[static_cast<size_t>(b.parameter)].kind != Parameter::Kind::tensor)
    return fail(fmt::format("{} belongs to no tensor parameter", what));
  if (b.alignment < 1 || (b.alignment & (b.alignment - 1)) != 0)
    return fail(fmt::format("{} is declared aligned to {} bytes, which is no power of two", what, b.alignment));
  return true;
}

bool Verifier::table(const Buffer& b, const std::string& what) {
  if (b.shape.empty() || is_workspace(b)) return fail(fmt::format("{} is a table of pointers: a parameter whose first dim counts them", what));
  if (is_addressed(b) && stage_ < Stage::specialized) return fail(fmt::format("{} is addressed, which only passes make of a table", what));
  const Expr stride = b.strides[0];
  return (stride->is_constant() && stride->as_int() == 0) ||
         fail(fmt::format("{} is a table of pointers, and its first dim has a stride; its tensors lie apart: give 0 there", what));
}

bool Verifier::workspace(const Buffer& b) {
  if (stage_ < Stage::specialized) return fail(fmt::format("'{}' belongs to no tensor parameter", b.name));
  if (b.direction != Direction::inout || dtype_is_packed(b.dtype))
    return fail(fmt::format("'{}' is a region of the workspace: inout, of whole bytes", b.name));
  for (Expr e : b.shape)
    if (b.zeroed && !e->is_constant()) return fail(fmt::format("'{}' is zeroed once, and its size is not constant", b.name));
  return true;
}

bool Verifier::tile_buffer(const Buffer& b) {
  const std::string what = fmt::format("'{}'", b.name);
  if (b.scope == Scope::scalar && !b.shape.empty())
    return fail(fmt::format("{} is a var and has a shape; use local for an array", what));
  if (b.stages < 1 || b.stages > 64) return fail(fmt::format("{} has {} stages", what, b.stages));
  if (!barrier_buffer(b, what)) return false;
  int64_t bytes = (dtype_bits(b.dtype) + 7) / 8 * b.stages;
  for (Expr e : b.shape) {
    if (!e || !e->is_constant() || e->dtype != DType::index)
      return fail(
          fmt::format("the shape of {} is not constant; tile shapes are numbers when the program is built", what));
    if (e->as_int() < 1) return fail(fmt::format("{} has an extent of {}; extents are at least 1", what, e->as_int()));
    if (e->as_int() > kMaxTileBytes / bytes)
      return fail(fmt::format("{} is larger than {} bytes", what, kMaxTileBytes));
    bytes *= e->as_int();
  }
  if (b.view_of != kNoBuffer && !view(b, what)) return false;
  if (b.layout.kind != TileLayout::automatic && !layout(b, what)) return false;
  return b.parameter < 0 || fail(fmt::format("{} is a tile, and names a parameter", what));
}

// Another shape or element type of a tile's bytes.
bool Verifier::view(const Buffer& b, const std::string& what) {
  if (b.view_of >= static_cast<size_t>(&b - p_.buffers.data())) return fail(fmt::format("{} is a view of no tile before it", what));
  const Buffer& tile = p_.buffers[b.view_of];
  if (tile.view_of != kNoBuffer) return fail(fmt::format("{} is a view of a view", what));
  if (b.scope != tile.scope || (b.scope != Scope::shared && b.scope != Scope::fragment))
    return fail(fmt::format("{} is {}, {} is {}: views are of shared tiles and fragments", what, word(b.scope), name(b.view_of), word(tile.scope)));
  if (lowered()) return true;
  if (!may_view(tile, b.dtype))
    return fail(fmt::format("{} is {}, {} is {}: bytes are not bools, and elements of less than a byte have no bytes of their own in a fragment",
                            what, dtype_text(b.dtype), name(b.view_of), dtype_text(tile.dtype)));
  if (element_bits(b) != element_bits(tile) || b.stages != tile.stages)
    return fail(fmt::format("{} has {} bits, {} has {}: a view shows all of them", what, element_bits(b), name(b.view_of), element_bits(tile)));
  if (b.dtype != tile.dtype && !(has_whole_rows(b) && has_whole_rows(tile)))
    return fail(fmt::format("{} and {} show the same bytes under two types, and the rows of one are no whole bytes", what, name(b.view_of)));
  return true;
}

bool Verifier::layout(const Buffer& b, const std::string& what) {
  if (b.scope != Scope::shared || b.view_of != kNoBuffer) return fail(fmt::format("{} has a layout; shared tiles have, their views follow", what));
  if (b.layout.kind != TileLayout::custom) return true;
  if (!b.layout.place || b.layout.place->dtype != DType::index || !typed(b.layout.place))
    return fail(fmt::format("the layout of {} is no index expression", what));
  for (VarId v : b.layout.vars)
    if (v >= p_.vars.size() || p_.vars[v].kind != VarKind::loop) return fail(fmt::format("the layout of {} names no variables of its own", what));
  if (stage_ != Stage::tile) return true;
  const Result<std::vector<int64_t>> places = layout_places(p_, b);
  return places || fail(fmt::format("the layout of {}: {}", what, places.error().message));
}

bool Verifier::parameter(const Parameter& parameter, size_t number) {
  if (parameter.kind == Parameter::Kind::tensor) {
    const bool fits = parameter.buffer < p_.buffers.size() && p_.buffers[parameter.buffer].scope == Scope::global &&
                      p_.buffers[parameter.buffer].parameter == static_cast<int32_t>(number);
    return fits || fail(fmt::format("parameter {} '{}' and its buffer do not name each other", number, parameter.name));
  }
  const bool fits = parameter.var < p_.vars.size() && p_.vars[parameter.var].kind == VarKind::scalar;
  return fits || fail(fmt::format("parameter {} '{}' names no scalar variable", number, parameter.name));
}

bool Verifier::launch_exprs(const std::vector<Expr>& list, const char* what) {
  for (Expr e : list)
    if (!over_dims(e, true, what)) return false;
  return true;
}

bool Verifier::hints(const Hints& hints) {
  for (const Hint& h : hints.all) {
    const HintRow* row = hint_row(h.kind);
    if (!row) return fail(fmt::format("{} is not a hint", static_cast<int>(h.kind)));
    if (!row->takes(h.value))
      return fail(fmt::format("hint {} is {}: give {} to {}, a multiple of {}", row->name, h.value, row->low, row->high, row->multiple));
    if (hints.find(h.kind, h.target) != &h) return fail(fmt::format("hint {} is given twice", row->name));
  }
  return true;
}

bool Verifier::kernel(const Kernel& k) {
  kernel_ = k.name;
  in_kernel_ = &k;
  barriers_.clear();
  current_ = nullptr;
  if (k.grid.empty() || k.grid.size() > 3)
    return fail(fmt::format("a grid has 1 to 3 extents, this one {}", k.grid.size()));
  if (!launch_exprs(k.grid, "a grid extent")) return false;
  if (!hints(k.hints)) return false;
  if (k.threads < 0 || k.threads > 1024) return fail(fmt::format("a block has 1 to 1024 threads, not {}", k.threads));
  if (k.source) return source_kernel(k);
  if (k.block_vars.size() != k.grid.size())
    return fail(fmt::format("the grid has {} extents and {} block indices", k.grid.size(), k.block_vars.size()));
  defined_.assign(p_.vars.size(), 0);
  ever_defined_.assign(p_.vars.size(), 0);
  depends_.assign(p_.vars.size(), 0);
  allocated_.assign(p_.buffers.size(), 0);
  written_.assign(p_.buffers.size(), 0);
  private_.assign(p_.buffers.size(), 0);
  for (VarId v = 0; v < p_.vars.size(); ++v) {
    const VarKind kind = p_.vars[v].kind;
    defined_[v] = kind == VarKind::dim || kind == VarKind::scalar || (kind == VarKind::thread && lowered()) ||
                  (kind == VarKind::blocks && v == k.blocks);
  }
  for (VarId v : k.block_vars)
    if (!define(v, VarKind::block_index, 0)) return false;
  if (k.rank != kNoVar && !define(k.rank, VarKind::block_index, 0)) return false;
  return block(k.body) && grid_syncs(k) && persistent(k) && dependent(k) && asynchronous(k);
}

bool Verifier::source_kernel(const Kernel& k) {
  const SourceKernel& s = *k.source;
  if (!k.body.empty() || !k.block_vars.empty()) return fail("a source kernel has no body");
  if (!is_source_language(s.language)) return unsupported(fmt::format("source in '{}'", s.language), "use cuda, hip or llvm");
  if (s.entry.empty()) return fail("a source kernel names its entry point");
  if ((!s.block.empty() && s.block.size() != 3) || (!s.cluster.empty() && s.cluster.size() != 3))
    return fail("block and cluster have 3 extents each, or none");
  return launch_exprs(s.block, "a block extent") && launch_exprs(s.cluster, "a cluster extent") &&
         (!s.shared_bytes || over_dims(s.shared_bytes, true, "the size of shared memory"));
}

std::string Verifier::name(BufferId b) const {
  if (b >= p_.buffers.size()) return fmt::format("buffer {}", b);
  return p_.buffers[b].name.empty() ? fmt::format("buffer {}", b) : fmt::format("'{}'", p_.buffers[b].name);
}

std::string Verifier::name_of_var(VarId v) const {
  if (v >= p_.vars.size()) return fmt::format("variable {}", v);
  return p_.vars[v].name.empty() ? fmt::format("variable {}", v) : fmt::format("'{}'", p_.vars[v].name);
}

std::string Verifier::shape_text(const std::vector<int64_t>& extents) {
  std::string text = "[";
  for (size_t i = 0; i < extents.size(); ++i) text += fmt::format("{}{}", i ? ", " : "", extents[i]);
  return text + "]";
}

Status verify(const Program& program, Stage stage) { return Verifier(program, stage).run(); }

}  // namespace tilert::ir
