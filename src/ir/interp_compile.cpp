// Programs to operations: expressions become tapes, buffers pointers. A shape that no verifier would let pass is an
// error here, for an index into a vector depends on it.
#include "ir/interpreter_impl.h"

namespace tilert::ir::interp {

const Tape* Machine::tape(Expr root) {
  if (!root) {
    fail("an expression is missing", Code::kInternal);
    return nullptr;
  }
  const auto known = tapes_.find(root);
  if (known != tapes_.end()) return known->second;
  Tape t;
  std::unordered_map<Expr, uint32_t> steps;
  std::vector<std::pair<Expr, int>> stack{{root, 0}};
  while (!stack.empty()) {
    auto& [e, next] = stack.back();
    if (next < e->arity) {
      const Expr operand = e->operand[next++];
      if (!steps.count(operand)) stack.emplace_back(operand, 0);
      continue;
    }
    const Expr node = e;
    stack.pop_back();
    if (steps.count(node)) continue;
    Tape::Step step{Tape::Kind::operation, node->bits, nullptr, 0, 0, 0};
    if (node->is_constant()) {
      step.kind = Tape::Kind::constant;
    } else if (node->is_variable()) {
      step.kind = Tape::Kind::variable;
      step.a = node->var();
      if (step.a >= p_.vars.size()) fail("a variable has no declaration", Code::kInternal);
    } else {
      step.function = scalar_function(node->op, node->operand[node->arity - 1]->dtype, node->dtype);
      if (!step.function)
        refuse(fmt::format("{} on {} is not defined", op_row(node->op).text, dtype_text(node->operand[node->arity - 1]->dtype)),
               "cast to f32 or int32 first");
      step.a = steps[node->operand[0]];
      if (node->arity > 1) step.b = steps[node->operand[1]];
      if (node->arity > 2) step.c = steps[node->operand[2]];
    }
    steps.emplace(node, static_cast<uint32_t>(t.steps.size()));
    t.steps.push_back(step);
  }
  if (error_) return nullptr;
  scratch_.resize(std::max(scratch_.size(), t.steps.size()));
  tape_store_.push_back(std::move(t));
  return tapes_[root] = &tape_store_.back();
}

bool Machine::place(const Region& r, Place& out) {
  if (r.buffer >= memory_.size()) return fail("a region names no buffer", Code::kInternal);
  out.memory = &memory_[r.buffer];
  if (r.offsets.size() != out.memory->shape.size() || r.extents.size() != r.offsets.size())
    return fail(fmt::format("a region of {} has {} dims, the buffer has {}", buffer_name(*out.memory), r.offsets.size(),
                            out.memory->shape.size()));
  for (Expr e : r.offsets) out.at.push_back(tape(e));
  for (int64_t extent : r.extents) {
    const bool fits =
        extent >= 0 && !__builtin_mul_overflow(out.size, extent, &out.size) && out.size <= options_.max_tile_bytes;
    if (!fits)
      return fail(fmt::format("a region of {} has too many elements", buffer_name(*out.memory)), Code::kOutOfMemory);
  }
  out.extents = r.extents;
  return !error_;
}

bool Machine::place(const Access& a, Place& out) {
  if (a.buffer >= memory_.size()) return fail("an element names no buffer", Code::kInternal);
  out.memory = &memory_[a.buffer];
  const size_t rank = out.memory->shape.size();
  const size_t flat = out.memory->entries == Entries::addressed ? 2 : 1;
  out.flat = a.indices.size() == flat && (flat_ || rank != flat);
  if (!out.flat && a.indices.size() != rank && !(out.memory->staged && a.indices.size() == rank + 1))
    return fail(fmt::format("an element of {} has {} indices, the buffer has {} dims", buffer_name(*out.memory),
                            a.indices.size(), rank));
  for (Expr e : a.indices) out.at.push_back(tape(e));
  return !error_;
}

bool Machine::compile(const Kernel& kernel, Operations& out) {
  flat_ = kernel.flat;
  return compile(kernel.body, out);
}

bool Machine::compile(const Block& block, Operations& out) {
  out.reserve(block.size());
  for (const StmtPtr& stmt : block) {
    out.emplace_back();
    current_ = stmt.get();
    if (!compile(*stmt, out.back())) return false;
  }
  return true;
}

bool Machine::compile_call(const ir::Call& n, Operation& op) {
  for (const CallArg& arg : n.args) {
    CompiledArgument c{arg.kind, {}, nullptr, arg.count};
    if (arg.kind == CallArg::Kind::value) c.value = tape(arg.value);
    if ((arg.kind == CallArg::Kind::address || arg.kind == CallArg::Kind::registers) &&
        !place(arg.at, c.place))
      return false;
    op.arguments.push_back(std::move(c));
  }
  return !error_;
}

bool Machine::compile_values(const std::vector<Expr>& values, Operation& op) {
  for (Expr e : values) op.bounds.push_back(tape(e));
  return !error_;
}

// Whether `to` has the source's elements, with `kept` of them along dim.
bool Machine::along(const Region& src, int dim, const Place& from, const Place& to, int64_t kept) {
  const bool fits = dim >= 0 && static_cast<size_t>(dim) < src.extents.size();
  const int64_t extent = fits ? src.extents[static_cast<size_t>(dim)] : 0;
  const bool of_nothing = extent == 0 && kept == 1 && from.size == 0;
  if (!fits || (!of_nothing && (extent < 1 || kept < 1 || kept > extent || from.size / extent * kept != to.size)))
    return fail(fmt::format("along dim {} the destination does not fit its source", dim));
  return true;
}

// Regions become arguments, sources first; the combined values' tapes are `bounds`.
bool Machine::compile_tuple(const std::vector<Region>& src, const std::vector<Region>& dst, const Combine& combine, int dim,
                            bool folds, Operation& op) {
  const size_t count = src.size();
  if (count == 0 || dst.size() != count || combine.left.size() != count || combine.right.size() != count ||
      combine.result.size() != count || combine.identity.size() != count)
    return fail("a tuple's parts differ in number", Code::kInternal);
  for (const std::vector<Region>* side : {&src, &dst})
    for (const Region& r : *side) {
      CompiledArgument c{CallArg::Kind::address, {}, nullptr, 0};
      if (!place(r, c.place)) return false;
      op.arguments.push_back(std::move(c));
    }
  for (size_t i = 0; i < count; ++i) {
    const Place &from = op.arguments[i].place, &to = op.arguments[count + i].place;
    const bool fits = dim >= 0 && static_cast<size_t>(dim) < src[i].extents.size();
    if (!along(src[i], dim, from, to, folds ? 1 : fits ? src[i].extents[static_cast<size_t>(dim)] : 0)) return false;
    if (from.size != op.arguments[0].place.size) return fail("the sources of a tuple differ in size");
    op.bounds.push_back(tape(combine.result[i]));
  }
  return !error_;
}

bool Machine::compile_order(const Region& src, const Region& dst, const Region& index, int dim, int64_t kept, Operation& op) {
  if (!place(src, op.p[0]) || !place(dst, op.p[1]) || !along(src, dim, op.p[0], op.p[1], kept)) return false;
  return index.buffer == kNoBuffer || (place(index, op.p[2]) && along(src, dim, op.p[0], op.p[2], kept));
}

bool Machine::compile_wait(const AsyncOp& n, Operation& op) {
  if (n.kind != AsyncOpKind::wait) return true;
  op.e[0] = tape(n.value);
  return !error_ && place(n.barrier, op.p[0]);
}

bool Machine::compile(const Stmt& stmt, Operation& op) {
  op.stmt = &stmt;
  return std::visit(Overload{
                        [&](const Alloc& n) {
                          if (n.buffer >= memory_.size()) return fail("alloc names no buffer", Code::kInternal);
                          op.p[0].memory = &memory_[n.buffer];
                          return true;
                        },
                        [&](const Copy& n) {
                          if (!place(n.src, op.p[0]) || !place(n.dst, op.p[1])) return false;
                          if (op.p[0].size != op.p[1].size) return fail("the two sides of a copy differ in size");
                          op.e[0] = n.safe ? tape(n.safe) : nullptr;
                          for (Expr e : n.valid) op.bounds.push_back(e ? tape(e) : nullptr);
                          return !error_;
                        },
                        [&](const Fill& n) {
                          op.e[0] = tape(n.value);
                          return place(n.dst, op.p[0]);
                        },
                        [&](const Gemm& n) {
                          op.e[0] = tape(n.accumulate);
                          return place(n.a, op.p[0]) && place(n.b, op.p[1]) && place(n.c, op.p[2]) && (!n.sparse() || place(n.metadata, op.p[3]));
                        },
                        [&](const Reduce& n) { return compile_order(n.src, n.dst, {}, n.dim, 1, op); },
                        [&](const Fold& n) { return compile_tuple(n.src, n.dst, n.combine, n.dim, true, op); },
                        [&](const Scan& n) { return compile_tuple(n.src, n.dst, n.combine, n.dim, false, op); },
                        [&](const Pick& n) { return compile_order(n.src, n.dst, {}, n.dim, 1, op); },
                        [&](const Sort& n) {
                          const auto d = static_cast<size_t>(n.dim);
                          return compile_order(n.src, n.dst, n.index, n.dim, n.dim >= 0 && d < n.dst.extents.size() ? n.dst.extents[d] : 0, op);
                        },
                        [&](const Reinterpret& n) { return place(n.src, op.p[0]) && place(n.dst, op.p[1]); },
                        [&](const Parallel& n) { return compile(n.body, op.first); },
                        [&](const For& n) {
                          op.e[0] = tape(n.begin);
                          op.e[1] = tape(n.end);
                          if (n.step == 0) return fail("a loop's step is 0");
                          return !error_ && compile(n.body, op.first);
                        },
                        [&](const If& n) {
                          op.e[0] = tape(n.condition);
                          return !error_ && compile(n.then_body, op.first) && compile(n.else_body, op.second);
                        },
                        [&](const Let& n) {
                          if (n.value) op.e[0] = tape(n.value);
                          return n.value ? !error_ : place(n.read, op.p[0]);
                        },
                        [&](const Store& n) {
                          op.e[0] = tape(n.value);
                          return place(n.to, op.p[0]);
                        },
                        [&](const While& n) {
                          if (!compile(n.head, op.first)) return false;
                          op.e[0] = tape(n.condition);
                          return !error_ && compile(n.body, op.second);
                        },
                        [&](const Jump&) { return true; }, [&](const GridSync&) { return true; }, [&](const ThreadOp&) { return true; }, [&](const AsyncOp& n) { return compile_wait(n, op); }, [&](const Roles&) { return fail("roles that were not parted", Code::kInternal); },
                        [&](const Atomic& n) {
                          if (n.value) op.e[0] = tape(n.value);
                          if (n.expected) op.e[1] = tape(n.expected);
                          return !error_ && place(n.to, op.p[0]);
                        },
                        [&](const Report& n) { return compile_values(n.values, op) && compile_values(n.block, op); },
                        [&](const Inline&) { return true; }, [&](const CallDevice&) { return true; },
                        [&](const Move& n) { return place(n.dst, op.p[0]) && place(n.src, op.p[1]); },
                        [&](const Call& n) { return compile_call(n, op); },
                        [&](const Group& n) { return compile(n.body, op.first); },
                    },
                    stmt.node);
}

}  // namespace tilert::ir::interp
