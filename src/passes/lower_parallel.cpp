// Element-wise loops: one loop over a thread's registers, in vectors where memory is contiguous. Copies and fills are
// element-wise loops too.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "arith/affine.h"
#include "ir/visit.h"
#include "layout/fragment_builders.h"
#include "layout/same_owner.h"
#include "passes/element_wise.h"

namespace tilert::passes {

using namespace ir;

ElementWise::ElementWise(Lower& lower, const Parallel& loop, const FragmentMap& map, std::string comment, ElementBounds bounds)
    : low_(lower), loop_(loop), map_(map), comment_(std::move(comment)), bounds_(std::move(bounds)) {
  find_early();
}

Status ElementWise::run() {
  once_ = low_.is_first_replica(map_) != nullptr && (updates_memory() || acts_once());
  if (once_) TILERT_TRY(check_locals());
  match_fragments();
  stage_mismatched();
  plan_vectors();
  const bool ordered = is_ordered(loop_.body);
  if (ordered) low_.block_barrier();
  low_.group(comment_, [&] {
    loop_over_registers();
    if (loop_.threads) wait_for_copies();
  });
  if (ordered) low_.block_barrier();
  reload_written();
  return {};
}

// Where each fragment access finds its register, or that it must go through shared memory.
void ElementWise::match_fragments() {
  for_each_stmt(loop_.body, [&](const Stmt& s) {
    const auto* let = std::get_if<Let>(&s.node);
    const auto* store = std::get_if<Store>(&s.node);
    if (store) match(store->to, true);
    else if (let && !let->value) match(let->read, false);
  });
}

void ElementWise::match(const Access& access, bool write) {
  if (low_.program().buffer(access.buffer).scope != Scope::fragment) return;
  const FragmentMap& fragment = low_.fragment_map(access.buffer);
  std::vector<AccessDim> dims;
  bool plain = true;
  for (Expr e : access.indices) {
    const auto at = e->is_variable() ? std::find(loop_.vars.begin(), loop_.vars.end(), e->var()) : loop_.vars.end();
    if (at != loop_.vars.end()) dims.push_back({static_cast<int>(at - loop_.vars.begin()), 0});
    else if (e->is_constant()) dims.push_back({-1, e->as_int()});
    else plain = false;
  }
  OwnerMatch m;
  if (plain) {
    const bool parts = low_.plan().partial.count(access.buffer) != 0;
    m = same_owner(map_, fragment, dims,
                   write ? (parts ? AccessMode::write_parts : AccessMode::write) : (parts ? AccessMode::read_parts : AccessMode::read));
  } else {
    m.reason = "its place is computed";
  }
  if (write && once_) {
    m.matches = false;
    m.reason = "its loop updates memory, so that one thread alone runs each of its points";
  }
  if (m.matches) {
    matches_.emplace(MatchKey{access.buffer, access.indices}, std::move(m));
  } else {
    if (staged_.insert({access.buffer, kNoBuffer}).second) low_.note_conversion(access.buffer, write, m.reason);
    if (write) written_.insert(access.buffer);
  }
}

// A fragment whose elements other threads need is written to shared memory, row-major.
void ElementWise::stage_mismatched() {
  for (auto& [fragment, box] : staged_) {
    const Buffer& b = low_.program().buffer(fragment);
    int64_t elements = 1;
    for (Expr e : b.shape) elements *= e->as_int();
    box = low_.scratch(b.dtype, elements, "staged");
    std::erase_if(matches_, [&](const auto& m) { return m.first.buffer == fragment; });
    low_.spill(fragment, box);
  }
}

void ElementWise::reload_written() {
  for (BufferId fragment : written_) low_.reload(fragment, staged_.at(fragment));
}

// The widest vectors that memory accesses at the top of the body allow.
void ElementWise::plan_vectors() {
  const auto digits = map_.register_digits();
  const int last = map_.rank() - 1;
  if (digits.empty() || last < 0 || digits[0].digit.dim != last || digits[0].digit.stride != 1) return;
  int64_t limit = digits[0].digit.extent & -digits[0].digit.extent;
  limit = std::min<int64_t>(limit, 16);
  while (limit > 1 && loop_.extents[static_cast<size_t>(last)] % limit != 0) limit /= 2;
  std::vector<int64_t> widths;
  if (is_ordered(loop_.body)) return;
  for (size_t i = 0; i < loop_.body.size(); ++i) widths.push_back(access_width(i, limit));
  for (int64_t width : widths) vector_ = std::max(vector_, width);
  for (size_t i = 0; i < widths.size() && vector_ > 1; ++i)
    if (widths[i] == vector_) vectors_.push_back({loop_.body[i].get(), kNoBuffer});
}

// The element that a statement moves between memory and registers: read, stored, or added to.
const Access* ElementWise::moved(const Stmt& s) const {
  if (const auto* let = std::get_if<Let>(&s.node)) return let->value ? nullptr : &let->read;
  if (const auto* store = std::get_if<Store>(&s.node)) return &store->to;
  const auto* atomic = std::get_if<Atomic>(&s.node);
  return atomic && most_added(*atomic) > 1 ? &atomic->to : nullptr;
}

int64_t ElementWise::widest() {
  int64_t width = 0;
  for (const StmtPtr& s : loop_.body) {
    const Access* const at = moved(*s);
    if (!at) continue;
    const Access& access = *at;
    const Buffer& b = low_.program().buffer(access.buffer);
    if ((b.scope != Scope::global && b.scope != Scope::shared) || access.indices.empty()) continue;
    if (!uses_var(access.indices.back(), loop_.vars.back())) continue;
    int64_t own = 16 / dtype_bytes(b.dtype);
    while (own > 1 && (loop_.extents.back() % own != 0 || !moves_whole(access, own, b.scope))) own /= 2;
    width = width == 0 ? own : std::min(width, own);
  }
  return std::max<int64_t>(width, 1);
}

ElementWise::Vector* ElementWise::vector_of(const Stmt* s) {
  for (Vector& v : vectors_)
    if (v.stmt == s) return &v;
  return nullptr;
}

// Elements that the memory access of statement `position` moves at once; 1 where it is none or may not be widened.
int64_t ElementWise::access_width(size_t position, int64_t limit) {
  const Stmt& s = *loop_.body[position];
  const Access* const at = moved(s);
  if (!at) return 1;
  const Access& access = *at;
  const bool writes = !std::holds_alternative<Let>(s.node);
  const Scope scope = low_.program().buffer(access.buffer).scope;
  if ((scope != Scope::global && scope != Scope::shared) || access.indices.empty()) return 1;
  // A read is moved before the body, a write behind it: nothing else may touch the buffer.
  for (size_t i = 0; i < loop_.body.size(); ++i) {
    if (i == position) continue;
    for (const BufferUse& use : buffer_uses_deep(*loop_.body[i]))
      if (low_.same_memory(use.buffer, access.buffer) && (use.write || writes)) return 1;
  }
  for (int64_t width = limit; width > 1; width /= 2)
    if (moves_whole(access, width, scope)) return width;
  return 1;
}

bool ElementWise::moves_whole(const Access& access, int64_t width, Scope scope) {
  Arena& arena = low_.arena();
  const Buffer& b = low_.program().buffer(access.buffer);
  const VarId last_var = loop_.vars.back();
  const int64_t chunk = std::min<int64_t>(width, 16 / dtype_bytes(b.dtype));
  if (is_late(access.indices)) return false;
  const bool packed = is_packed(low_.program(), access.buffer);
  if (packed && chunk % dtype_group(b.dtype) != 0) return false;
  // What one access takes; packed elements of 6 bits as words of the size that their bytes are a multiple of.
  const int64_t bytes = packed ? chunk * dtype_bits(b.dtype) / 8 : chunk * dtype_bytes(b.dtype);
  for (size_t d = 0; d + 1 < access.indices.size(); ++d)
    if (uses_var(access.indices[d], last_var)) return false;
  const auto linear = arith::linear_in(arena, access.indices.back(), last_var);
  if (!linear || !linear->stride->is_constant() || linear->stride->as_int() != 1) return false;
  const auto multiple = [&](Expr e, int64_t n) { return low_.facts().range(low_.simplify(e)).multiple_of(n); };
  if (scope == Scope::shared) {
    if (!multiple(linear->base, chunk)) return false;
    const auto map = low_.plan().shared.find(access.buffer);
    if (width > chunk && map != low_.plan().shared.end() && (map->second.span_bytes() || map->second.is_custom())) return false;  // chunks change places
    return low_.shared_vector_width(access.buffer) >= chunk;
  }
  if (!b.strides.back()->is_constant() || b.strides.back()->as_int() != 1) return false;
  if (b.alignment % (packed ? bytes & -bytes : bytes) != 0 || !multiple(linear->base, width)) return false;
  if (!multiple(b.shape.back(), width)) return false;
  if (!bounds_.valid.empty() && bounds_.valid.back() && !multiple(bounds_.valid.back(), width)) return false;
  for (size_t d = 0; d + 1 < access.indices.size(); ++d)
    if (!multiple(b.strides[d], chunk)) return false;
  return true;
}

void ElementWise::loop_over_registers() {
  const int64_t steps = map_.registers() / vector_;
  const bool in_registers = !matches_.empty();
  const Expr first_copy = once_ ? low_.is_first_replica(map_) : nullptr;
  const auto body = [&](Expr outer) {
    const Expr first = arith::mul(low_.arena(), outer, vector_);
    set_coordinates(first);
    load_vectors();
    // Within a vector only the last coordinate moves, by one.
    low_.unrolled(vector_, [&](Expr inner) {
      set_coordinates(arith::add(low_.arena(), first, inner));
      inner_ = inner;
      low_.when(arith::logical_and(low_.arena(), first_copy, inside_extents()), [&] { block(loop_.body); });
    });
    set_coordinates(first);
    store_vectors();
  };
  // Register indices must be constants; elsewhere a long straight line only costs registers and time to compile.
  if (in_registers || steps <= 8) low_.unrolled(steps, body);
  else low_.serial(steps, body);
}

void ElementWise::set_coordinates(Expr reg) {
  register_ = reg;
  if (loop_.threads) {
    env_[loop_.vars[0]] = low_.thread();
    return;
  }
  for (size_t d = 0; d < loop_.vars.size(); ++d) env_[loop_.vars[d]] = low_.coordinate(map_, static_cast<int>(d), reg);
}

// Null where the map holds no excess.
Expr ElementWise::inside_extents() {
  Expr condition = nullptr;
  const auto padded = map_.padded_shape();
  for (size_t d = 0; d < loop_.extents.size(); ++d)
    if (padded[d] > loop_.extents[d])
      condition = arith::logical_and(low_.arena(), condition, arith::lt(low_.arena(), env_[loop_.vars[d]], loop_.extents[d]));
  return condition;
}

Expr ElementWise::value(Expr e) { return low_.simplify(substitute(low_.arena(), e, env_)); }

std::vector<Expr> ElementWise::values(const std::vector<Expr>& exprs) {
  std::vector<Expr> out;
  for (Expr e : exprs) out.push_back(e ? value(e) : nullptr);
  return out;
}

Expr ElementWise::bounds_condition(const Access& access, const std::vector<Expr>& indices) {
  if (low_.program().buffer(access.buffer).scope != Scope::global) return nullptr;
  const auto& valid = access.buffer == bounds_.buffer ? values(bounds_.valid) : std::vector<Expr>{};
  if (!low_.plan().roles.on) return low_.inside(access.buffer, indices, valid);
  return low_.inside(access.buffer, indices, valid, [&](Expr index, Expr end) { return below(index, end); });
}

Expr ElementWise::safe_value(const Access& access) {
  const DType dtype = low_.program().buffer(access.buffer).dtype;
  return access.buffer == bounds_.buffer && bounds_.safe ? bounds_.safe : low_.arena().number(dtype, 0);
}

void ElementWise::store_vectors() {
  for (const auto& [stmt, box] : vectors_) {
    if (std::holds_alternative<Let>(stmt->node)) continue;
    const Access& to = *moved(*stmt);
    const auto indices = values(to.indices);
    Expr condition = arith::logical_and(low_.arena(), inside_extents(), bounds_condition(to, indices));
    condition = arith::logical_and(low_.arena(), low_.is_first_replica(map_), condition);
    low_.when(condition, [&] {
      const Access at = low_.memory_access(to.buffer, indices);
      if (const auto* added = std::get_if<Atomic>(&stmt->node)) add_vector(*added, at, box);
      else move_vector(at, {box, {low_.index(0)}});
    });
  }
}

void ElementWise::block(const Block& body) {
  for (const StmtPtr& s : body) statement(s);
}

void ElementWise::statement(const StmtPtr& s) {
  std::visit(Overload{
                 [&](const Alloc& a) { low_.emit(Alloc{a.buffer}); },
                 [&](const Let& l) { let(s.get(), l); },
                 [&](const Store& st) { store(s.get(), st); },
                 [&](const Atomic& a) { atomic(s.get(), a); },
                 [&](const Report& r) { report(r); },
                 [&](const ThreadOp& n) { thread_op(n); },
                 [&](const CallDevice& n) { call_device(n); },
                 [&](const While& w) {
                   While inner;
                   inner.head = low_.collect([&] { block(w.head); });
                   inner.condition = value(w.condition);
                   inner.body = low_.collect([&] { block(w.body); });
                   low_.emit(std::move(inner));
                 },
                 [&](const If& i) {
                   Block then_body = low_.collect([&] { block(i.then_body); });
                   Block else_body = low_.collect([&] { block(i.else_body); });
                   low_.emit(If{value(i.condition), std::move(then_body), std::move(else_body)});
                 },
                 [&](const For& f) {
                   For inner = f;
                   inner.begin = value(f.begin);
                   inner.end = value(f.end);
                   const arith::FactsScope scope(low_.facts());
                   low_.bound_loop(inner);
                   inner.body = low_.collect([&] { block(f.body); });
                   low_.emit(std::move(inner));
                 },
                 [&](const auto&) { low_.emit(s); },
             },
             s->node);
}

// Neighbouring steps that move the register index as one longer step.
static std::vector<RegisterStep> merged(const std::vector<RegisterStep>& steps) {
  std::vector<RegisterStep> out;
  for (const RegisterStep& step : steps) {
    if (step.extent == 1) continue;
    if (!out.empty() && out.back().position * out.back().extent == step.position && out.back().step * out.back().extent == step.step)
      out.back().extent *= step.extent;
    else
      out.push_back(step);
  }
  std::erase_if(out, [](const RegisterStep& s) { return s.step == 0; });
  return out;
}

// The place of a fragment access in this iteration's registers.
Access ElementWise::fragment_access(const Access& access) {
  const auto found = matches_.find(MatchKey{access.buffer, access.indices});
  if (found == matches_.end()) return low_.flat_access(staged_.at(access.buffer), access.buffer, values(access.indices));
  Arena& arena = low_.arena();
  Expr reg = low_.index(found->second.base);
  for (const RegisterStep& step : merged(found->second.steps)) {
    Expr digit = arith::floordiv(arena, register_, step.position);
    if (step.position * step.extent < map_.registers()) digit = arith::mod(arena, digit, step.extent);
    reg = arith::add(arena, reg, arith::mul(arena, digit, step.step));
  }
  return {low_.fragment_registers(access.buffer), {low_.simplify(reg)}};
}

void ElementWise::let(const Stmt* s, const Let& l) {
  if (env_.count(l.var)) return;  // had early
  if (l.value) {
    const Expr v = value(l.value);
    low_.define(l.var, v);
    low_.emit(Let{l.var, v, {}});
    return;
  }
  if (const Vector* vector = vector_of(s)) {
    low_.emit(Let{l.var, nullptr, {vector->box, {inner_}}});
    return;
  }
  const Scope scope = low_.program().buffer(l.read.buffer).scope;
  if (scope == Scope::fragment) {
    low_.emit(Let{l.var, nullptr, fragment_access(l.read)});
    return;
  }
  const auto indices = values(l.read.indices);
  Expr condition = bounds_condition(l.read, indices);
  const Access at = low_.memory_access(l.read.buffer, indices);
  if (!condition) {
    low_.emit(Let{l.var, nullptr, at});
    return;
  }
  const DType dtype = low_.program().buffer(l.read.buffer).dtype;
  if (loads_inside(l.read, safe_value(l.read))) {
    const BufferId box = low_.registers(dtype, 1, "x");
    low_.call(Primitive::load_inside, {registers_arg(box, low_.index(0), 1), address_arg(at), value_arg(low_.simplify(condition))});
    return low_.emit(Let{l.var, nullptr, {box, {low_.index(0)}}});
  }
  const BufferId box = low_.scalar(dtype, "x");
  low_.store({box, {}}, safe_value(l.read));
  low_.when(condition, [&] { low_.store({box, {}}, low_.read(at, "x")); });
  low_.emit(Let{l.var, nullptr, {box, {}}});
}

void ElementWise::store(const Stmt* s, const Store& st) {
  const Expr v = value(st.value);
  if (const Vector* vector = vector_of(s)) return low_.store({vector->box, {inner_}}, v);
  const Scope scope = low_.program().buffer(st.to.buffer).scope;
  if (scope == Scope::fragment && !staged_.count(st.to.buffer)) return low_.store(fragment_access(st.to), v);
  if (scope == Scope::scalar || scope == Scope::local) return low_.store(low_.memory_access(st.to.buffer, values(st.to.indices)), v);
  // Memory: once, by the first of the threads that hold copies of this iteration.
  const auto indices = values(st.to.indices);
  Expr condition = arith::logical_and(low_.arena(), owner(), bounds_condition(st.to, indices));
  const Access at = scope == Scope::fragment ? fragment_access(st.to) : low_.memory_access(st.to.buffer, indices);
  low_.when(condition, [&] { low_.store(at, v); });
}

}  // namespace tilert::passes
