// What statements operate on: expressions, regions and elements, and who may read and write a buffer.
#include "ir/verifier_impl.h"
#include "ir/visit.h"
#include "ir/words.h"

namespace tilert::ir {

// ---- expressions ----

// Each node's operands fit its operation and its dtype is one that this version computes with.
bool Verifier::typed(Expr root) {
  if (root->serial < typed_.size() && typed_[root->serial]) return true;
  bool good = true;
  for_each_node(root, [&](Expr e) {
    if (!good || (e->serial < typed_.size() && typed_[e->serial])) return;
    if (e->is_variable()) {
      good = e->var() < p_.vars.size() && p_.vars[e->var()].dtype == e->dtype;
      if (!good) fail("an expression names a variable that is not declared, or not of its type");
    } else if (e->arity > 0) {
      good = well_typed(e->op, std::span<const Expr>(e->operand, e->arity));
      if (good && e->op == Op::reinterpret) good = dtype_bits(e->dtype) == dtype_bits(e->operand[0]->dtype);
      if (!good) fail(fmt::format("{} does not take operands of these types", op_row(e->op).text));
    }
    good = good && supported(e->dtype, "an expression");
    if (good && e->serial < typed_.size()) typed_[e->serial] = 1;
  });
  return good;
}

bool Verifier::visible(Expr root) {
  bool good = true;
  for_each_node(root, [&](Expr e) {
    if (!good || !e->is_variable() || defined_[e->var()]) return;
    const VarKind kind = p_.vars[e->var()].kind;
    const char* const fix = kind == VarKind::let ? "a let is known after it is made, inside the block where it was made"
                            : kind == VarKind::loop ? "a loop's variable is known in the loop's body"
                                                    : "it belongs to another kernel or stage";
    good = fail(fmt::format("{} is used where it has no value; {}", name_of_var(e->var()), fix));
  });
  return good;
}

bool Verifier::expr(Expr e, DType dtype, const char* what) {
  if (!e) return fail(fmt::format("{} is missing", what));
  if (!typed(e) || !visible(e)) return false;
  if (e->dtype == dtype) return true;
  return fail(fmt::format("{} is {}, {} is needed; write a cast", what, dtype_text(e->dtype), dtype_text(dtype)));
}

bool Verifier::define(VarId v, VarKind kind, Dependence dependence) {
  if (v >= p_.vars.size() || p_.vars[v].kind != kind)
    return fail(fmt::format("{} is not a {} variable", name_of_var(v), word(kind)));
  if (ever_defined_[v]) {
    // A loop that was unrolled or split by a pass may define its copies' variables again.
    if (!lowered() || defined_[v]) return fail(fmt::format("{} is defined twice", name_of_var(v)));
  }
  ever_defined_[v] = 1;
  defined_[v] = 1;
  depends_[v] = dependence;
  return true;
}

Verifier::Dependence Verifier::dependence(Expr e) const {
  if (parallel_ && parallel_->threads) return dependence_in_threads(e);
  Dependence all = 0;
  for_each_node(e, [&](Expr n) {
    if (n->is_variable() && n->var() < depends_.size()) all |= depends_[n->var()];
  });
  return all;
}

Verifier::Dependence Verifier::dependence(const std::vector<Expr>& list) const {
  Dependence all = 0;
  for (Expr e : list) all |= dependence(e);
  return all;
}

// ---- places ----

bool Verifier::names_buffer(BufferId b, const char* what) {
  if (b >= p_.buffers.size()) return fail(fmt::format("{} names no buffer", what));
  const bool tile = p_.buffers[b].scope != Scope::global;
  if (tile && !lowered() && !allocated_[storage_of(p_, b)])
    return fail(fmt::format("{} is used outside of the block that declares it; declare it further out", name(b)));
  return true;
}

bool Verifier::region(const Region& r, const char* what) {
  if (!names_buffer(r.buffer, what) || !no_barrier(r.buffer, what)) return false;
  const Buffer& b = p_.buffers[r.buffer];
  if (r.offsets.size() != b.shape.size() || r.extents.size() != b.shape.size())
    return fail(fmt::format("{}: a region of {} needs {} offsets and extents, one a dim; {} and {} are given", what,
                            name(r.buffer), b.shape.size(), r.offsets.size(), r.extents.size()));
  int64_t elements = 1;
  for (size_t d = 0; d < b.shape.size(); ++d) {
    const int64_t extent = r.extents[d];
    if (!expr(r.offsets[d], DType::index, "an offset")) return false;
    if (extent < 1) return fail(fmt::format("{}: the region of {} has an extent of {}", what, name(r.buffer), extent));
    if (extent > kMaxElements / elements)
      return fail(fmt::format("{}: the region of {} has more than {} elements", what, name(r.buffer), kMaxElements));
    elements *= extent;
    if (d == 0 && is_table(b) && extent != 1)
      return fail(fmt::format("{}: the region takes {} tensors of the table {}; a region lies in one of them", what, extent, name(r.buffer)));
    if (b.scope == Scope::global) continue;
    const int64_t size = b.shape[d]->as_int();
    const int64_t offset = r.offsets[d]->is_constant() ? r.offsets[d]->as_int() : 0;
    if (offset < 0 || offset > size || extent > size - offset)
      return fail(fmt::format("{}: the region leaves {} along dim {}: {} elements from {} on, of {}", what,
                              name(r.buffer), d, extent, offset, size));
  }
  return true;
}

bool Verifier::access(const Access& a, const char* what) {
  if (!names_buffer(a.buffer, what) || !no_barrier(a.buffer, what)) return false;
  const Buffer& b = p_.buffers[a.buffer];
  const size_t rank = b.shape.size();
  const bool flat = lowered() && a.indices.size() == (is_addressed(b) ? 2 : 1);
  const bool staged = lowered() && b.stages > 1 && a.indices.size() == rank + 1;
  if (a.indices.size() != rank && !flat && !staged)
    return fail(fmt::format("{}: {} has {} dims, {} indices are given", what, name(a.buffer), rank, a.indices.size()));
  for (Expr e : a.indices)
    if (!expr(e, DType::index, "an index")) return false;
  if (b.scope == Scope::global || lowered()) return true;
  for (size_t d = 0; d < rank; ++d) {
    if (!a.indices[d]->is_constant()) continue;
    const int64_t index = a.indices[d]->as_int(), size = b.shape[d]->as_int();
    if (index < 0 || index >= size)
      return fail(
          fmt::format("{}: index {} leaves {} along dim {}, which has {}", what, index, name(a.buffer), d, size));
  }
  return true;
}

bool Verifier::reads(BufferId b) {
  const Buffer& buffer = p_.buffers[b];
  if (buffer.scope == Scope::global) {
    if (buffer.direction != Direction::out) return true;
    return fail(fmt::format("{} is declared out and is read; declare it inout", name(b)));
  }
  if (lowered() || written_[storage_of(p_, b)]) return true;
  return fail(
      fmt::format("{} is read, but nothing was written to it before; fill, clear or copy into it first", name(b)));
}

bool Verifier::writes(BufferId b) {
  const Buffer& buffer = p_.buffers[b];
  if (buffer.scope == Scope::global && buffer.direction == Direction::in)
    return fail(fmt::format("{} is declared in and is written; declare it out or inout", name(b)));
  const bool by_bytes = std::holds_alternative<Copy>(current_->node) || std::holds_alternative<Fill>(current_->node);
  if (stage_ == Stage::tile && !by_bytes && is_packed(p_, b))
    return fail(fmt::format("an operation that stores elements of {}, which share bytes; only copies and fills write it: store to a "
                            "fragment or another tile and copy that", name(b)));
  written_[storage_of(p_, b)] = 1;
  return true;
}

bool Verifier::scope_is(BufferId b, std::initializer_list<Scope> allowed, const char* what) {
  std::string list;
  for (Scope s : allowed) {
    if (p_.buffers[b].scope == s) return true;
    list += fmt::format("{}{}", list.empty() ? "" : " or ", word(s));
  }
  return fail(fmt::format("{} is {}, a {} buffer; it must be {}", what, name(b), word(p_.buffers[b].scope), list));
}

}  // namespace tilert::ir
