// The frame of an entry, control flow and expressions.
#include "codegen/llvm_kernel.h"

#include <algorithm>
#include <cmath>

#include "arith/build.h"
#include "ir/evaluate.h"
#include "ir/visit.h"

namespace tilert::codegen {

using namespace ir;
using namespace passes;

std::string LlvmKernel::run(GeneratedKernel& out) {
  out.entry = entry_name(index_);
  for (size_t d = 0; d < 3; ++d) out.grid.push_back(d < source_.grid.size() ? source_.grid[d] : arena_.index(1));
  measure_products(kernel_.body);
  out.shared_bytes = (kernel_.meets ? 0 : kernel_.tile_bytes) + panel_bytes_ + row_bytes_;
  out.cooperative = kernel_.meets;
  cache_.emplace_back();
  text_.begin(fmt::format("define void @{}(ptr noalias %parameters, i64 %first, i64 %last, ptr noalias %grid, ptr noalias %scratch)",
                          out.entry));
  parameters(out);
  regions(out);
  memory();
  blocks();
  text_.put("ret void");
  text_.end();
  callees_.math.insert(values_.math().begin(), values_.math().end());
  return text_.take();
}

void LlvmKernel::parameters(GeneratedKernel& out) {
  const auto slot = [&] {
    return text_.let("getelementptr inbounds i64, ptr %parameters, i64 {}", out.parameters.size());
  };
  for (size_t i = 0; i < program_.parameters.size(); ++i) {
    const Parameter& p = program_.parameters[i];
    if (p.kind == Parameter::Kind::tensor) {
      text_.put("%tensor{} = load ptr, ptr {}, align 8", i, slot());
      out.parameters.push_back({KernelParameter::Kind::pointer, p.buffer, nullptr, {}});
    } else {
      bind(p.var, values_.load(program_.vars[p.var].dtype, 1, slot()));
      out.parameters.push_back({KernelParameter::Kind::value, kNoBuffer, program_.var(p.var), {}});
    }
  }
  for (const Dim& d : program_.dims) {
    if (d.value) {
      bind(d.var, std::to_string(*d.value));
      continue;
    }
    bind(d.var, values_.load(DType::index, 1, slot()));
    out.parameters.push_back({KernelParameter::Kind::value, kNoBuffer, program_.var(d.var), {}});
  }
}

// A parameter for each region of the workspace that the kernel uses, behind all others.
void LlvmKernel::regions(GeneratedKernel& out) {
  const auto note = [&](const Stmt& s) {
    for (const BufferUse& use : buffer_uses(s))
      if (is_workspace(program_.buffer(use.buffer))) regions_.insert(use.buffer);
  };
  for_each_stmt(source_.body, note);
  std::vector<BufferId> order(regions_.begin(), regions_.end());
  if (kernel_.meets) {
    regions_.insert(kernel_.state);
    order.push_back(kernel_.state);  // the launch finds it as the last one
  }
  for (BufferId id : order) {
    const std::string at = text_.let("getelementptr inbounds i64, ptr %parameters, i64 {}", out.parameters.size());
    text_.put("{} = load ptr, ptr {}, align 8", base(id), at);
    out.parameters.push_back({KernelParameter::Kind::workspace, id, nullptr, {}});
  }
}

// Tiles and packing areas in scratch, private variables on the stack. Blocks that meet have tiles of their own.
void LlvmKernel::memory() {
  const int64_t first = kernel_.meets ? 0 : kernel_.tile_bytes;
  if (!kernel_.meets) tiles("%scratch");
  text_.put("%panels = getelementptr inbounds i8, ptr %scratch, i64 {}", first);
  text_.put("%rows = getelementptr inbounds i8, ptr %scratch, i64 {}", first + panel_bytes_);
  for (const auto& [id, lanes] : kernel_.locals) {
    if (kernel_.scratch.count(id)) continue;
    const Buffer& b = program_.buffer(id);
    int64_t elements = 1;
    for (Expr e : b.shape) elements *= e->as_int();
    text_.put("{} = alloca [{} x {}], align 64", local_name(id), elements, vector_type(lanes, register_type(local_dtype(b.dtype))));
  }
}

void LlvmKernel::tiles(const std::string& area) {
  for (const auto& [id, offset] : kernel_.scratch)
    text_.put("{} = getelementptr inbounds i8, ptr {}, i64 {}", is_local(id) ? local_name(id) : tile_name(id), area, offset);
}

void LlvmKernel::blocks() {
  std::vector<std::string> extents;
  for (size_t d = 0; d < 3; ++d) {
    const std::string at = text_.let("getelementptr inbounds i64, ptr %grid, i64 {}", d);
    extents.push_back(text_.let("load i64, ptr {}, align 8", at));
  }
  emit_loop(text_, "%first", "%last", 1, [&](const std::string& b) {
    Scope scope(*this);
    std::string rest = b;
    for (size_t d = 0; d < source_.block_vars.size(); ++d) {
      const bool last = d + 1 == source_.block_vars.size();
      bind(source_.block_vars[d], last ? rest : text_.let("urem i64 {}, {}", rest, extents[d]));
      if (!last) rest = text_.let("udiv i64 {}, {}", rest, extents[d]);
    }
    if (kernel_.meets) block_that_meets(b, extents);
    else block(kernel_.body);
  });
}

void LlvmKernel::block(const CpuBlock& body) {
  for (const CpuStmt& s : body) statement(s);
}

void LlvmKernel::statement(const CpuStmt& stmt) {
  std::visit(Overload{
                 [&](const CpuLoops& n) {
                   text_.raw("  ; operation {}: loops over elements, {} at a time", stmt.ordinal, n.lanes);
                   Scope scope(*this);
                   loops(n, 0);
                 },
                 [&](const CpuRowReduce& n) {
                   text_.raw("  ; operation {}: reduction of rows", stmt.ordinal);
                   Scope scope(*this);
                   row_reduce(n, 0);
                 },
                 [&](const CpuGemm& n) {
                   text_.raw("  ; operation {}: product", stmt.ordinal);
                   Scope scope(*this);
                   product(n);
                 },
                 [&](const CpuFor& n) { meets(stmt) ? loop_that_meets(n) : loop(n); },
                 [&](const CpuWhile& n) {
                   if (meets(stmt)) forget();
                   while_loop(n);
                   if (meets(stmt)) forget();
                 },
                 [&](const CpuIf& n) { branch(n); },
                 [&](const StmtPtr& n) {
                   if (std::holds_alternative<GridSync>(n->node)) return meet();
                   element_statement(*n, 1, true);
                   if (const auto* let = std::get_if<Let>(&n->node)) hold(let->var);
                   if (const auto* atomic = std::get_if<Atomic>(&n->node)) hold(atomic->old);
                   if (const auto* call = std::get_if<CallDevice>(&n->node)) hold(call->var);
                 },
             },
             stmt.node);
}

// Whether the way from begin to end, rounded up to whole steps, fits 64 bits whatever the values are.
bool LlvmKernel::counts_rounds(const For& loop) {
  const arith::Range begin = facts_.range(loop.begin), end = facts_.range(loop.end);
  const __int128 least = static_cast<__int128>(end.low) - begin.high, most = static_cast<__int128>(end.high) - begin.low;
  return least + std::min<int64_t>(loop.step, 0) >= INT64_MIN && most + std::max<int64_t>(loop.step - 1, 0) <= INT64_MAX;
}

// Whether the step from the last trip to beyond the end fits 64 bits.
bool LlvmKernel::ends_in_64_bits(const For& loop) {
  const arith::Range end = facts_.range(loop.end);
  return loop.step > 0 ? end.high <= INT64_MAX - loop.step + 1 : end.low >= INT64_MIN - loop.step - 1;
}

// Whether the end lies beyond the next step: of a trip, from which the way to the end is known to be positive, below 2^64.
std::string LlvmKernel::has_next(const For& loop, const std::string& now, const std::string& end) {
  const bool up = loop.step > 0;
  const std::string left = text_.let("sub i64 {}, {}", up ? end : now, up ? now : end);
  const uint64_t step = up ? static_cast<uint64_t>(loop.step) : -static_cast<uint64_t>(loop.step);
  return text_.let("icmp ugt i64 {}, {}", left, static_cast<int64_t>(step));
}

// A loop whose rounds 64 bits may not count: each trip asks whether there is another.
void LlvmKernel::stepped_loop(const For& loop, const std::function<void()>& body) {
  const std::string begin = scalar(prover_.simplify(loop.begin)), end = scalar(prover_.simplify(loop.end));
  const std::string head = text_.fresh_label("loop"), latch = text_.fresh_label("latch"), done = text_.fresh_label("done");
  const std::string enter = text_.let("icmp {} i64 {}, {}", loop.step > 0 ? "slt" : "sgt", begin, end), before = text_.block();
  text_.put("br i1 {}, label %{}, label %{}", enter, head, done);
  text_.label(head);
  const std::string now = "%" + text_.fresh_label("i"), next = "%" + text_.fresh_label("n");
  text_.put("{} = phi i64 [ {}, %{} ], [ {}, %{} ]", now, begin, before, next, latch);
  text_.enter_loop(done);
  {
    Scope scope(*this);
    facts_.bound_loop(program_.var(loop.var), loop.begin, loop.end, loop.step);
    bind(loop.var, now);
    body();
  }
  text_.exit_loop();
  text_.put("br label %{}", latch);
  text_.label(latch);
  const std::string more = has_next(loop, now, end);
  text_.put("{} = add i64 {}, {}", next, now, loop.step);
  text_.put("br i1 {}, label %{}, label %{}", more, head, done);
  text_.label(done);
}

// Any step: the loop counts its rounds.
void LlvmKernel::counted_loop(const For& loop, const std::function<void()>& body) {
  if (!counts_rounds(loop)) return stepped_loop(loop, body);
  const Expr span = loop.step > 0 ? arith::sub(arena_, loop.end, loop.begin) : arith::sub(arena_, loop.begin, loop.end);
  const int64_t step = loop.step > 0 ? loop.step : -loop.step;
  const Expr rounds = prover_.simplify(arith::ceildiv(arena_, arith::max(arena_, span, 0), step));
  const std::string begin = scalar(prover_.simplify(loop.begin)), count = scalar(rounds);
  emit_loop(text_, "0", count, 1, [&](const std::string& round) {
    Scope scope(*this);
    facts_.bound_loop(program_.var(loop.var), loop.begin, loop.end, loop.step);
    const std::string moved = loop.step == 1 ? round : text_.let("mul nsw i64 {}, {}", round, loop.step);
    bind(loop.var, text_.let("add nsw i64 {}, {}", begin, moved));
    body();
  });
}

void LlvmKernel::loop(const CpuFor& n) {
  counted_loop(n.loop, [&] { block(n.body); });
}

// What head computes the condition and the body may use.
void LlvmKernel::repeat(Expr condition, const std::function<void()>& head, const std::function<void()>& body) {
  const std::string again = text_.fresh_label("again"), trip = text_.fresh_label("trip"), done = text_.fresh_label("done");
  text_.put("br label %{}", again);
  text_.label(again);
  text_.enter_loop(done);
  {
    Scope scope(*this);
    head();
    text_.put("br i1 {}, label %{}, label %{}", scalar(condition), trip, done);
    text_.label(trip);
    body();
  }
  text_.exit_loop();
  text_.put("br label %{}", again);
  text_.label(done);
}

void LlvmKernel::while_loop(const CpuWhile& n) {
  repeat(n.condition, [&] { block(n.head); }, [&] { block(n.body); });
}

void LlvmKernel::branch(const CpuIf& n) {
  const auto side = [&](const CpuBlock& body, bool holds) {
    Scope scope(*this);
    if (holds) facts_.assume(n.condition);
    else facts_.assume_not(n.condition);
    block(body);
  };
  if (n.condition->is_constant()) {
    block(n.condition->as_int() ? n.then_body : n.else_body);
    return;
  }
  const std::string condition = scalar(n.condition);
  if (n.else_body.empty()) {
    emit_if(text_, condition, [&] { side(n.then_body, true); });
  } else {
    emit_if_else(text_, condition, [&] { side(n.then_body, true); }, [&] { side(n.else_body, false); });
  }
}

bool LlvmKernel::varies(Expr e) const {
  if (varying_.empty()) return false;
  bool found = false;
  for_each_node(e, [&](Expr n) { found = found || (n->is_variable() && varying_.count(n->var())); });
  return found;
}

// What makes a division or an extremum simple; see LlvmValues::operation.
bool LlvmKernel::is_tame(Expr e) {
  if ((e->op == Op::min || e->op == Op::max) && dtype_is_float(e->dtype) && e->operand[1]->is_constant()) {
    const double limit = bits_to_double(e->dtype, e->operand[1]->bits);
    return !std::isnan(limit) && (limit != 0 || std::signbit(limit) == (e->op == Op::min));
  }
  if (e->op != Op::div && e->op != Op::mod && e->op != Op::div_trunc && e->op != Op::mod_trunc) return false;
  if (!dtype_is_integer(e->dtype)) return false;
  return facts_.range(e->operand[0]).low >= 0 && facts_.range(e->operand[1]).low > 0;
}

std::string LlvmKernel::scalar(Expr e) {
  if (e->is_constant()) return values_.constant(e->dtype, e->bits, 1);
  if (e->is_variable()) return kernel_.held.count(e->var()) ? load_held(e->var()) : scalars_[e->var()];
  return compute(e, 1);
}

std::string LlvmKernel::vector(Expr e, int lanes) {
  if (e->is_constant()) return values_.constant(e->dtype, e->bits, lanes);
  for (auto scope = cache_.rbegin(); scope != cache_.rend(); ++scope)
    if (const auto found = scope->find({e, lanes}); found != scope->end()) return found->second;
  std::string out;
  if (e->is_variable() && e->var() == lane_) {
    std::string numbers;
    for (int i = 0; i < lanes; ++i) numbers += fmt::format("{}i64 {}", i ? ", " : "", i);
    out = text_.let("add nsw <{} x i64> {}, <{}>", lanes, values_.splat(DType::index, lanes, scalar(e)), numbers);
  } else if (e->is_variable() && varying_.count(e->var())) {
    return vectors_[e->var()];
  } else if (!varies(e)) {
    out = values_.splat(e->dtype, lanes, scalar(e));
  } else {
    return compute(e, lanes);
  }
  cache_.back()[{e, lanes}] = out;
  return out;
}

std::string LlvmKernel::compute(Expr e, int lanes) {
  for (auto scope = cache_.rbegin(); scope != cache_.rend(); ++scope)
    if (const auto found = scope->find({e, lanes}); found != scope->end()) return found->second;
  std::string operands[3];
  for (int i = 0; i < e->arity; ++i) operands[i] = value(e->operand[i], lanes);
  const DType from = e->op == Op::select ? e->dtype : e->operand[0]->dtype;
  std::string out = values_.operation(e->op, from, e->dtype, lanes, std::span<const std::string>(operands, e->arity), is_tame(e));
  cache_.back()[{e, lanes}] = out;
  return out;
}

}  // namespace tilert::codegen
