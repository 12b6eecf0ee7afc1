// Programs: declarations, copies (canonical ones are what keys are made of), names of statements in messages.
#include "ir/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ir/parts.h"

namespace tilert::ir {
namespace {

bool is_one(Expr e) { return e && e->is_constant() && e->bits == 1; }
int64_t product(Expr a, Expr b) { return static_cast<int64_t>(a->bits * b->bits); }

// Which buffers a program's statements use otherwise than by declaring them.
struct UsedBuffers : PartVisitor {
  const std::vector<Buffer>& buffers;
  std::vector<char> used;
  explicit UsedBuffers(const std::vector<Buffer>& buffers_) : buffers(buffers_) {}
  void mark(BufferId b) {
    if (b >= used.size() || used[b]) return;
    used[b] = 1;
    if (buffers[b].view_of != kNoBuffer) mark(buffers[b].view_of);
  }
  void region(const Region& r, Use) { mark(r.buffer); }
  void access(const Access& a, Use) { mark(a.buffer); }
  void block(const Block& b) {
    for (const StmtPtr& stmt : b) each_part(*stmt, *this);
  }
};

// Copies into `to`. Canonical: ids are given out when a thing is first met, so that what nothing meets is dropped.
class Cloner {
 public:
  Cloner(const Program& from, Program& to, bool canonical) : from_(from), to_(to), canonical_(canonical), used_(from.buffers) {
    var_ids_.resize(from.vars.size(), kNoVar);
    buffer_ids_.resize(from.buffers.size(), kNoBuffer);
    exprs_.resize(from.arena->size(), nullptr);
  }

  void run() {
    if (!canonical_) {
      to_.name = from_.name;
      to_.locations = from_.locations;
      for (VarId v = 0; v < from_.vars.size(); ++v) var(v);
      for (BufferId b = 0; b < from_.buffers.size(); ++b) buffer(b);
      to_.dims = from_.dims;
      to_.functions = from_.functions;
    } else {
      find_used();
    }
    for (const Parameter& p : from_.parameters) {
      Parameter copy = p;
      if (p.kind == Parameter::Kind::tensor)
        copy.buffer = buffer(p.buffer);
      else
        copy.var = var(p.var);
      if (canonical_) copy.name.clear();
      to_.parameters.push_back(std::move(copy));
    }
    for (const Kernel& k : from_.kernels) kernel(k);
  }

  // ---- the visitor of parts: rewrites ids in a copied statement ----
  void expr(Expr& e) { e = copy(e); }
  void each(std::vector<Expr>& list) {
    for (Expr& e : list)
      if (e) e = copy(e);
  }
  void region(Region& r, Use) {
    r.buffer = buffer(r.buffer);
    each(r.offsets);
  }
  void access(Access& a, Use) {
    a.buffer = buffer(a.buffer);
    each(a.indices);
  }
  void define(VarId& v) { v = var(v); }
  void alloc(BufferId& b) { b = buffer(b); }
  void block(Block& b) {
    Block out;
    out.reserve(b.size());
    for (const StmtPtr& stmt : b) {
      const auto* alloc = std::get_if<Alloc>(&stmt->node);
      if (canonical_ && alloc && !used_.used[alloc->buffer]) continue;
      Stmt copied = *stmt;
      if (canonical_) {
        copied.location = 0;
        copied.ordinal = alloc ? 0 : ordinal(stmt->ordinal);
      }
      each_part(copied, *this);
      if (auto* report = std::get_if<Report>(&copied.node); canonical_ && report) report->message.clear();
      if (auto* call = std::get_if<CallDevice>(&copied.node); canonical_ && call) call->function = function(call->function);
      out.push_back(std::make_shared<const Stmt>(std::move(copied)));
    }
    b = std::move(out);
  }

 private:
  // The dims that parameters, grids, bodies and used buffers name, in the order of declaration, come first.
  void find_used() {
    used_.used.assign(from_.buffers.size(), 0);
    for (const Kernel& k : from_.kernels) {
      used_.block(k.body);
      used_.mark(k.tile_count);
    }
    for (const Parameter& p : from_.parameters)
      if (p.kind == Parameter::Kind::tensor) used_.mark(p.buffer);
    std::vector<char> seen_var(from_.vars.size(), 0), seen_node(from_.arena->size(), 0);
    const auto look = [&](Expr root) {
      std::vector<Expr> stack{root};
      while (!stack.empty()) {
        const Expr e = stack.back();
        stack.pop_back();
        if (!e || seen_node[e->serial]) continue;
        seen_node[e->serial] = 1;
        if (e->is_variable()) seen_var[e->var()] = 1;
        for (int i = 0; i < e->arity; ++i) stack.push_back(e->operand[i]);
      }
    };
    struct Look : PartVisitor {
      decltype(look)& f;
      explicit Look(decltype(look)& f_) : f(f_) {}
      void expr(const Expr& e) { f(e); }
      void region(const Region& r, Use) {
        for (Expr e : r.offsets) f(e);
      }
      void access(const Access& a, Use) {
        for (Expr e : a.indices) f(e);
      }
      void block(const Block& b) {
        for (const StmtPtr& s : b) each_part(*s, *this);
      }
    } visitor(look);
    for (const Kernel& k : from_.kernels) {
      for (Expr e : k.grid) look(e);
      look(k.cost), look(k.locality);
      if (k.source) {
        for (Expr e : k.source->block) look(e);
        for (Expr e : k.source->cluster) look(e);
        look(k.source->shared_bytes);
      }
      visitor.block(k.body);
    }
    for (BufferId b = 0; b < from_.buffers.size(); ++b) {
      if (!used_.used[b]) continue;
      for (Expr e : from_.buffers[b].shape) look(e);
      for (Expr e : from_.buffers[b].strides) look(e);
    }
    for (const Dim& d : from_.dims) {
      if (!seen_var[d.var]) continue;
      to_.dims.push_back(d);
      to_.dims.back().var = var(d.var);
    }
  }

  void kernel(const Kernel& k) {
    Kernel copied = k;
    for (VarId& v : copied.block_vars) v = var(v);
    each(copied.grid);
    copied.tile_count = buffer(k.tile_count);
    copied.blocks = var(k.blocks);
    copied.rank = var(k.rank);
    for (Expr* e : {&copied.cost, &copied.locality})
      if (*e) *e = copy(*e);
    if (k.source) {
      auto source = std::make_shared<SourceKernel>(*k.source);
      each(source->block);
      each(source->cluster);
      if (source->shared_bytes) source->shared_bytes = copy(source->shared_bytes);
      copied.source = std::move(source);
    }
    block(copied.body);
    to_.kernels.push_back(std::move(copied));
  }

  VarId var(VarId id) {
    if (id == kNoVar) return id;
    if (var_ids_[id] != kNoVar) return var_ids_[id];
    const Var& v = from_.vars[id];
    return var_ids_[id] = to_.add_var(v.kind, v.dtype, canonical_ ? std::string() : v.name);
  }

  BufferId buffer(BufferId id) {
    if (id == kNoBuffer) return id;
    if (buffer_ids_[id] != kNoBuffer) return buffer_ids_[id];
    Buffer b = from_.buffers[id];
    b.view_of = buffer(b.view_of);
    for (VarId& v : b.layout.vars) v = var(v);
    if (b.layout.place) b.layout.place = copy(b.layout.place);
    each(b.shape);
    each(b.strides);
    if (canonical_) {
      b.name.clear();
      b.location = 0;
    }
    to_.buffers.push_back(std::move(b));
    return buffer_ids_[id] = static_cast<BufferId>(to_.buffers.size() - 1);
  }

  uint32_t function(uint32_t id) {
    const auto [at, added] = functions_.emplace(id, static_cast<uint32_t>(to_.functions.size()));
    if (added) to_.functions.push_back(from_.functions[id]);
    return at->second;
  }

  uint32_t ordinal(uint32_t old) {
    const auto [at, added] = ordinals_.emplace(old, last_ordinal_ + 1);
    last_ordinal_ += added;
    return at->second;
  }

  // Operands first, with a stack of its own: depth is no limit.
  Expr copy(Expr root) {
    if (exprs_[root->serial]) return exprs_[root->serial];
    stack_.assign(1, root);
    while (!stack_.empty()) {
      const Expr e = stack_.back();
      bool ready = true;
      for (int i = e->arity; i-- > 0;) {
        if (exprs_[e->operand[i]->serial]) continue;
        stack_.push_back(e->operand[i]);
        ready = false;
      }
      if (!ready) continue;
      stack_.pop_back();
      exprs_[e->serial] = remade(e);
    }
    return exprs_[root->serial];
  }

  Expr remade(Expr e) {
    if (e->is_constant()) return to_.arena->constant(e->dtype, e->bits);
    if (e->is_variable()) return to_.arena->variable(var(e->var()), e->dtype);
    Expr operands[3] = {};
    for (int i = 0; i < e->arity; ++i) operands[i] = exprs_[e->operand[i]->serial];
    if (Expr made = to_.arena->conversion(e->op, operands[0], e->dtype)) return made;
    return to_.arena->make(e->op, std::span<const Expr>(operands, e->arity));
  }

  const Program& from_;
  Program& to_;
  const bool canonical_;
  UsedBuffers used_;
  std::vector<VarId> var_ids_;
  std::vector<BufferId> buffer_ids_;
  std::vector<Expr> exprs_, stack_;
  std::unordered_map<uint32_t, uint32_t> ordinals_, functions_;
  uint32_t last_ordinal_ = 0;
};

}  // namespace

namespace {

// The stride of rows of `extent` elements, each starting on a byte.
Expr row_stride(Arena& arena, DType dtype, Expr extent) {
  const int group = dtype_group(dtype);
  if (group == 1) return extent;
  if (extent->is_constant()) return arena.index(dtype_round_up(dtype, extent->as_int()));
  const Expr more = arena.make(Op::add, {extent, arena.index(group - 1)});
  return arena.make(Op::mul, {arena.make(Op::div, {more, arena.index(group)}), arena.index(group)});
}

bool is_row_stride(DType dtype, Expr stride, Expr extent) {
  const int group = dtype_group(dtype);
  if (group == 1) return stride == extent;
  if (extent->is_constant()) return stride->is_constant() && stride->as_int() == dtype_round_up(dtype, extent->as_int());
  const auto is = [](Expr e, int64_t value) { return e->is_constant() && e->as_int() == value; };
  if (stride->op != Op::mul || !is(stride->operand[1], group) || stride->operand[0]->op != Op::div) return false;
  const Expr quotient = stride->operand[0], more = quotient->operand[0];
  return is(quotient->operand[1], group) && more->op == Op::add && more->operand[0] == extent && is(more->operand[1], group - 1);
}

}  // namespace

VarId Program::add_var(VarKind kind, DType dtype, std::string name_) {
  vars.push_back(Var{kind, dtype, std::move(name_)});
  return static_cast<VarId>(vars.size() - 1);
}

BufferId Program::add_buffer(Buffer buffer) {
  if (buffer.scope == Scope::global && buffer.strides.empty() && !buffer.shape.empty()) {
    buffer.strides.assign(buffer.shape.size(), arena->index(1));
    for (size_t i = buffer.shape.size() - 1; i-- > 0;) {
      const Expr inner = buffer.strides[i + 1], extent = buffer.shape[i + 1];
      if (is_one(inner) && i + 2 == buffer.shape.size())
        buffer.strides[i] = row_stride(*arena, buffer.dtype, extent);
      else if (is_one(inner))
        buffer.strides[i] = extent;
      else if (inner->is_constant() && extent->is_constant())
        buffer.strides[i] = arena->index(product(inner, extent));
      else
        buffer.strides[i] = arena->make(Op::mul, {extent, inner});
    }
    if (is_table(buffer)) buffer.strides[0] = arena->index(0);
    buffer.contiguous = true;
  }
  buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(buffers.size() - 1);
}

BufferId Program::add_workspace(std::string name_, DType dtype, std::vector<Expr> shape, bool zeroed) {
  Buffer region;
  region.name = std::move(name_);
  region.dtype = dtype;
  region.scope = Scope::global;
  region.shape = std::move(shape);
  region.direction = Direction::inout;
  region.zeroed = zeroed;
  return add_buffer(std::move(region));
}

std::vector<BufferId> views_of(const Program& program, BufferId tile) {
  std::vector<BufferId> views;
  for (BufferId b = 0; b < program.buffers.size(); ++b)
    if (program.buffers[b].view_of == tile) views.push_back(b);
  return views;
}

bool is_packed(const Program& program, BufferId id) {
  const Buffer& buffer = program.buffers[id];
  if (!dtype_is_packed(buffer.dtype)) return false;
  if (buffer.scope != Scope::shared) return buffer.scope == Scope::global;
  const BufferId tile = storage_of(program, id);
  if (tile >= program.buffers.size()) return false;
  const DType dtype = program.buffers[tile].dtype;
  return std::any_of(program.buffers.begin(), program.buffers.end(), [&](const Buffer& b) { return b.view_of == tile && b.dtype != dtype; });
}

int64_t tile_bytes(const Program& program, BufferId id) {
  const Buffer& buffer = program.buffers[id];
  int64_t elements = 1;
  for (Expr e : buffer.shape) elements *= e->as_int();
  return is_packed(program, id) ? (elements * dtype_bits(buffer.dtype) + 7) / 8 : elements * dtype_bytes(buffer.dtype);
}

bool has_default_strides(const Buffer& b) {
  if (b.scope != Scope::global) return b.strides.empty();
  if (b.strides.size() != b.shape.size() || !b.contiguous) return false;
  for (size_t i = b.shape.size(); i-- > 0;) {
    const Expr stride = b.strides[i];
    if (!stride || !b.shape[i]) return false;
    if (i == 0 && is_table(b)) return stride->is_constant() && stride->as_int() == 0;
    if (i + 1 == b.shape.size()) {
      if (!is_one(stride)) return false;
      continue;
    }
    const Expr inner = b.strides[i + 1], extent = b.shape[i + 1];
    bool fits;
    if (i + 2 == b.shape.size())
      fits = is_one(inner) && is_row_stride(b.dtype, stride, extent);
    else if (is_one(inner))
      fits = stride == extent;
    else if (inner->is_constant() && extent->is_constant())
      fits = stride->is_constant() && stride->as_int() == product(inner, extent);
    else
      fits = stride->op == Op::mul && stride->operand[0] == extent && stride->operand[1] == inner;
    if (!fits) return false;
  }
  return true;
}

Program clone(const Program& program, bool canonical) {
  Program copy;
  Cloner(program, copy, canonical).run();
  return copy;
}

std::string describe(const Program& program, const Stmt& stmt) {
  if (stmt.location != 0 && stmt.location < program.locations.size()) {
    const Location& at = program.locations[stmt.location];
    const std::string label = at.label.empty() ? "" : fmt::format("'{}'", at.label);
    if (!at.file.empty()) return fmt::format("{}:{}{}{}", at.file, at.line, label.empty() ? "" : " ", label);
    if (!label.empty()) return label;
  }
  return fmt::format("operation {}", stmt.ordinal);
}

}  // namespace tilert::ir
