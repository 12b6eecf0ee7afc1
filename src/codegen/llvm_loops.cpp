// Loops over elements, reads and writes, reductions of rows.
#include <algorithm>
#include <bit>

#include "arith/affine.h"
#include "arith/build.h"
#include "codegen/llvm_kernel.h"
#include "ir/evaluate.h"
#include "ir/inline_text.h"
#include "ir/semantics.h"
#include "ir/visit.h"
#include "passes/cpu_lowering.h"

namespace tilert::codegen {

using namespace ir;
using namespace passes;

void LlvmKernel::loops(const CpuLoops& n, size_t depth) {
  if (depth == n.vars.size()) return element_block(n.body, 1, n.checked);
  const std::string begin = scalar(n.begins[depth]), end = scalar(n.ends[depth]);
  if (depth + 1 < n.vars.size()) {
    emit_loop(text_, begin, end, 1, [&](const std::string& at) {
      Scope scope(*this);
      bind(n.vars[depth], at);
      facts_.bound_loop(program_.var(n.vars[depth]), n.begins[depth], n.ends[depth]);
      loops(n, depth + 1);
    });
    return;
  }
  if (n.lanes == 1) return scalar_loop(n, begin, end);
  const Expr count = prover_.simplify(arith::sub(arena_, n.ends[depth], n.begins[depth]));
  if (count->is_constant() && count->as_int() % n.lanes == 0) return vector_loop(n, begin, end);
  const std::string rest = text_.let("sub nsw i64 {}, {}", end, begin);
  const std::string whole = text_.let("and i64 {}, {}", rest, -n.lanes);
  const std::string middle = text_.let("add nsw i64 {}, {}", begin, whole);
  // An empty range leaves middle before begin or on it: neither loop runs.
  vector_loop(n, begin, middle);
  const std::string from = text_.let("call i64 @llvm.smax.i64(i64 {}, i64 {})", begin, middle);
  scalar_loop(n, from, end);
}

void LlvmKernel::scalar_loop(const CpuLoops& n, const std::string& begin, const std::string& end) {
  emit_loop(text_, begin, end, 1, [&](const std::string& at) {
    Scope scope(*this);
    bind(n.vars.back(), at);
    facts_.bound_loop(program_.var(n.vars.back()), n.begins.back(), n.ends.back());
    element_block(n.body, 1, n.checked);
  });
}

// Where a range is open, both ends of the vector are asked; if either is outside, the lanes go one by one.
void LlvmKernel::vector_loop(const CpuLoops& n, const std::string& begin, const std::string& end) {
  const VarId lane = n.vars.back();
  const Expr var = program_.var(lane);
  emit_loop(text_, begin, end, n.lanes, [&](const std::string& at) {
    Scope scope(*this);
    bind(lane, at);
    facts_.bound_loop(var, n.begins.back(), n.ends.back());
    const auto vectors = [&] {
      Scope inner(*this);
      lane_ = lane;
      varying_ = {lane};
      element_block(n.body, n.lanes, false);
      lane_ = kNoVar;
      varying_.clear();
    };
    std::string inside;
    if (n.checked) {
      const std::unordered_map<VarId, Expr> last{{lane, arith::add(arena_, var, n.lanes - 1)}};
      for (Expr condition : open_conditions(n.body, lane)) {
        for (Expr end_condition : {condition, substitute(arena_, condition, last)}) {
          const std::string holds = scalar(end_condition);
          inside = inside.empty() ? holds : text_.let("and i1 {}, {}", inside, holds);
          if (!uses_var(condition, lane)) break;
        }
      }
    }
    if (inside.empty()) return vectors();
    emit_if_else(text_, inside, vectors, [&] {
      const std::string stop = text_.let("add nsw i64 {}, {}", at, n.lanes);
      scalar_loop(n, at, stop);
    });
  });
}

std::vector<Expr> LlvmKernel::open_conditions(const Block& body, VarId lane) {
  std::vector<Expr> all;
  const auto add = [&](const Access& access) {
    for (Expr condition : open_range_conditions(program_, prover_, access))
      if (std::find(all.begin(), all.end(), condition) == all.end()) all.push_back(condition);
  };
  for (const StmtPtr& s : body) {
    if (const auto* n = std::get_if<Let>(&s->node); n && !n->value) add(n->read);
    if (const auto* n = std::get_if<Store>(&s->node)) add(n->to);
    std::vector<Expr> nested;
    if (const auto* n = std::get_if<If>(&s->node)) {
      for (const Block* side : {&n->then_body, &n->else_body})
        for (Expr e : open_conditions(*side, lane)) nested.push_back(e);
    }
    if (const auto* n = std::get_if<For>(&s->node)) {
      arith::FactsScope scope(facts_);
      facts_.bound_loop(program_.var(n->var), n->begin, n->end, n->step);
      nested = open_conditions(n->body, lane);
    }
    for (Expr e : nested)
      if (std::find(all.begin(), all.end(), e) == all.end()) all.push_back(e);
  }
  return all;
}

void LlvmKernel::element_block(const Block& body, int lanes, bool checked) {
  for (const StmtPtr& s : body) element_statement(*s, lanes, checked);
}

void LlvmKernel::element_statement(const Stmt& stmt, int lanes, bool checked) {
  if (const auto* n = std::get_if<Let>(&stmt.node)) return let(*n, lanes, checked);
  if (const auto* n = std::get_if<Store>(&stmt.node)) return store(*n, lanes, checked);
  if (const auto* n = std::get_if<For>(&stmt.node)) {
    return counted_loop(*n, [&] { element_block(n->body, lanes, checked); });
  }
  if (const auto* n = std::get_if<While>(&stmt.node)) {
    return repeat(n->condition, [&] { element_block(n->head, lanes, checked); }, [&] { element_block(n->body, lanes, checked); });
  }
  if (std::holds_alternative<Jump>(stmt.node)) return text_.leave_loop();
  if (const auto* n = std::get_if<Atomic>(&stmt.node)) return atomic(*n);
  if (const auto* n = std::get_if<Report>(&stmt.node)) return report(*n);
  if (const auto* n = std::get_if<Inline>(&stmt.node)) return inline_source(*n);
  if (const auto* n = std::get_if<CallDevice>(&stmt.node)) return call_device(*n);
  const auto* n = std::get_if<If>(&stmt.node);
  if (!n) return;
  const Expr condition = prover_.simplify(n->condition);
  const auto side = [&](const Block& body, bool holds) {
    Scope scope(*this);
    if (lanes == 1 && holds) facts_.assume(condition);
    if (lanes == 1 && !holds) facts_.assume_not(condition);
    element_block(body, lanes, checked);
  };
  if (condition->is_constant()) return side(condition->as_int() ? n->then_body : n->else_body, condition->as_int() != 0);
  emit_if_else(text_, scalar(condition), [&] { side(n->then_body, true); }, [&] { side(n->else_body, false); });
}

// Operands are worked out before the text, one value each: a place's address, a value.
void LlvmKernel::inline_source(const Inline& n) {
  std::vector<std::string> operands;
  for (const auto& operand : n.operands) {
    const auto* e = std::get_if<Expr>(&operand);
    if (e) {
      operands.push_back(scalar(*e));
      continue;
    }
    const Access& at = std::get<Access>(operand);
    operands.push_back(is_local(at.buffer) ? local_pointer(at) : lane_pointers(at, 1)[0]);
  }
  text_.put("{}", splice(n.text, [&](size_t i) { return operands[i]; }));
}

// ---- reads and writes

std::string LlvmKernel::conditions(const Access& access, bool checked) {
  std::string all;
  if (!checked) return all;
  for (Expr condition : open_range_conditions(program_, prover_, access)) {
    const std::string holds = scalar(condition);
    all = all.empty() ? holds : text_.let("and i1 {}, {}", all, holds);
  }
  return all;
}

void LlvmKernel::let(const Let& n, int lanes, bool checked) {
  const DType dtype = program_.vars[n.var].dtype;
  const auto define = [&](const std::string& made, bool differs) {
    varying_.erase(n.var);
    if (differs) {
      vectors_[n.var] = made;
      varying_.insert(n.var);
    } else {
      bind(n.var, made);
    }
  };
  if (n.value) {
    const bool differs = lanes > 1 && varies(n.value);
    return define(differs ? vector(n.value, lanes) : scalar(n.value), differs);
  }
  // A variable of the block has one value for all lanes.
  bool differs = lanes > 1 && is_local(n.read.buffer) && kernel_.locals.at(n.read.buffer) > 1;
  for (Expr e : n.read.indices) differs = differs || (lanes > 1 && varies(e));
  const int width = differs ? lanes : 1;
  const std::string inside = conditions(n.read, checked);
  if (inside.empty()) return define(read(n.read, dtype, width), differs);
  const std::string yes = text_.fresh_label("in"), after = text_.fresh_label("read"), before = text_.block();
  text_.put("br i1 {}, label %{}, label %{}", inside, yes, after);
  text_.label(yes);
  std::string made;
  {
    Scope scope(*this);
    made = read(n.read, dtype, width);
  }
  const std::string end = text_.block();
  text_.put("br label %{}", after);
  text_.label(after);
  define(text_.let("phi {} [ {}, %{} ], [ {}, %{} ]", vector_type(width, register_type(dtype)), made, end,
                   values_.constant(dtype, double_to_bits(dtype, 0), width), before), differs);
}

void LlvmKernel::store(const Store& n, int lanes, bool checked) {
  const std::string stored = value(n.value, lanes);
  const std::string inside = conditions(n.to, checked);
  if (inside.empty()) return write(n.to, n.value->dtype, lanes, stored);
  emit_if(text_, inside, [&] {
    Scope scope(*this);
    write(n.to, n.value->dtype, lanes, stored);
  });
}

// Private values stay as they are in registers, bools as bytes.
DType LlvmKernel::local_dtype(DType d) const {
  if (d == DType::boolean) return DType::uint8;
  return d == DType::f16 || d == DType::bf16 ? DType::f32 : d;
}

std::string LlvmKernel::local_pointer(const Access& access) {
  const Buffer& b = program_.buffer(access.buffer);
  const int lanes = kernel_.locals.at(access.buffer);
  const std::string at = scalar(prover_.simplify(flat_offset(program_, access)));
  return text_.let("getelementptr inbounds {}, ptr {}, i64 {}", vector_type(lanes, register_type(local_dtype(b.dtype))),
                   local_name(access.buffer), at);
}

std::string LlvmKernel::base(BufferId id) const {
  const Buffer& b = program_.buffer(id);
  if (is_workspace(b)) return fmt::format("%region{}", std::distance(regions_.begin(), regions_.find(id)));
  return b.scope == ir::Scope::global ? fmt::format("%tensor{}", b.parameter) : tile_name(id);
}

// The first element of a buffer; of a tensor of a table by its address, an expression.
std::string LlvmKernel::start(BufferId id, Expr address) {
  return is_addressed(program_.buffer(id)) ? text_.let("inttoptr i64 {} to ptr", scalar(prover_.simplify(address))) : base(id);
}

std::string LlvmKernel::pointer(BufferId id, const std::string& element, const std::string& first) {
  return text_.let("getelementptr inbounds {}, ptr {}, i64 {}", memory_type(program_.buffer(id).dtype), first, element);
}

// The first elements of what each lane's access is in.
std::vector<std::string> LlvmKernel::lane_starts(const Access& access, int lanes) {
  const Expr address = access.indices.empty() ? nullptr : access.indices[0];
  const bool differ = lanes > 1 && is_addressed(program_.buffer(access.buffer)) && varies(address);
  if (!differ) return std::vector<std::string>(static_cast<size_t>(lanes), start(access.buffer, address));
  const std::string all = vector(prover_.simplify(address), lanes);
  std::vector<std::string> out;
  for (int i = 0; i < lanes; ++i)
    out.push_back(text_.let("inttoptr i64 {} to ptr", text_.let("extractelement <{} x i64> {}, i64 {}", lanes, all, i)));
  return out;
}

// Where each lane's element lies; a single pointer where they lie side by side.
std::vector<std::string> LlvmKernel::lane_pointers(const Access& access, int lanes) {
  const Expr offset = prover_.simplify(flat_offset(program_, access));
  const std::vector<std::string> starts = lane_starts(access, lanes);
  const bool one = std::all_of(starts.begin(), starts.end(), [&](const std::string& s) { return s == starts[0]; });
  if (lanes == 1) return {pointer(access.buffer, scalar(offset), starts[0])};
  const auto linear = arith::linear_in(arena_, offset, lane_);
  std::vector<std::string> out;
  if (linear && !varies(linear->stride) && !varies(linear->base)) {
    const std::string first = scalar(offset);
    if (one && linear->stride->is_constant() && linear->stride->as_int() == 1) return {pointer(access.buffer, first, starts[0])};
    const std::string stride = scalar(prover_.simplify(linear->stride));
    std::string at = first;
    for (size_t i = 0; i < starts.size(); ++i) {
      if (i > 0) at = text_.let("add nsw i64 {}, {}", at, stride);
      out.push_back(pointer(access.buffer, at, starts[i]));
    }
    return out;
  }
  const std::string all = vector(offset, lanes);
  for (size_t i = 0; i < starts.size(); ++i)
    out.push_back(pointer(access.buffer, text_.let("extractelement <{} x i64> {}, i64 {}", lanes, all, i), starts[i]));
  return out;
}

std::string LlvmKernel::read(const Access& access, DType dtype, int lanes) {
  if (is_local(access.buffer)) {
    // Lanes that go one by one use the first lane's place.
    const std::string raw = text_.let("load {}, ptr {}", vector_type(lanes, register_type(local_dtype(dtype))), local_pointer(access));
    return dtype == DType::boolean ? text_.let("trunc {} {} to {}", vector_type(lanes, "i8"), raw, vector_type(lanes, "i1")) : raw;
  }
  if (is_packed(access.buffer)) return read_packed(access, dtype, lanes);
  const std::vector<std::string> pointers = lane_pointers(access, lanes);
  if (pointers.size() == 1) return values_.load(dtype, lanes, pointers[0]);
  std::string out = "poison";
  for (int i = 0; i < lanes; ++i) {
    const std::string one = values_.load(dtype, 1, pointers[static_cast<size_t>(i)]);
    out = text_.let("insertelement <{} x {}> {}, {} {}, i64 {}", lanes, register_type(dtype), out, register_type(dtype), one, i);
  }
  return out;
}

void LlvmKernel::write(const Access& access, DType dtype, int lanes, const std::string& stored) {
  if (is_local(access.buffer)) {
    const std::string type = vector_type(lanes, register_type(local_dtype(dtype)));
    const std::string raw = dtype == DType::boolean ? text_.let("zext {} {} to {}", vector_type(lanes, "i1"), stored, type) : stored;
    text_.put("store {} {}, ptr {}", type, raw, local_pointer(access));
    return;
  }
  if (is_packed(access.buffer)) return write_packed(access, dtype, lanes, stored);
  const std::vector<std::string> pointers = lane_pointers(access, lanes);
  if (pointers.size() == 1) return values_.store(dtype, lanes, stored, pointers[0]);
  for (int i = 0; i < lanes; ++i) {
    const std::string one = text_.let("extractelement <{} x {}> {}, i64 {}", lanes, register_type(dtype), stored, i);
    values_.store(dtype, 1, one, pointers[static_cast<size_t>(i)]);
  }
}

// ---- reductions

void LlvmKernel::row_reduce(const CpuRowReduce& n, size_t depth) {
  if (depth == n.vars.size()) return reduce_row(n);
  emit_loop(text_, "0", scalar(n.extents[depth]), 1, [&](const std::string& at) {
    Scope scope(*this);
    bind(n.vars[depth], at);
    facts_.bound_loop(program_.var(n.vars[depth]), arena_.index(0), n.extents[depth]);
    row_reduce(n, depth + 1);
  });
}

// Two vectors of partial results, folded by halves; what is left over goes one by one.
void LlvmKernel::reduce_row(const CpuRowReduce& n) {
  const DType from = program_.buffer(n.src.buffer).dtype, to = program_.buffer(n.dst.buffer).dtype;
  const DType sum = reduce_accumulator(to);
  const int lanes = static_cast<int>(std::bit_floor(static_cast<uint64_t>(std::min<int64_t>(isa_.lanes, n.extent))));
  const auto combine = [&](int width, const std::string& a, const std::string& b) {
    const std::string operands[] = {a, b};
    return values_.operation(reduce_combine(n.op), sum, sum, width, operands);
  };
  const auto element = [&](const std::string& at, int width) {
    Scope scope(*this);
    bind(n.var, at);
    facts_.set_range(n.var, 0, n.extent - 1);
    const std::string first = lane_pointers(n.src, 1)[0];
    const std::string value = values_.cast(from, sum, width, values_.load(from, width, first));
    return reduce_takes_absolute(n.op) ? values_.operation(Op::abs, sum, sum, width, std::span(&value, 1)) : value;
  };
  const std::string identity = values_.constant(sum, reduce_identity(n.op, sum), lanes);
  const std::string type = vector_type(lanes, register_type(sum));
  std::vector<Carried> partial{{type, identity}, {type, identity}};
  const int64_t pairs = n.extent / (2 * lanes) * (2 * lanes);
  emit_loop(text_, "0", std::to_string(pairs), 2 * lanes, partial, [&](const std::string& at, std::vector<Carried>& c) {
    c[0].value = combine(lanes, c[0].value, element(at, lanes));
    c[1].value = combine(lanes, c[1].value, element(text_.let("add nsw i64 {}, {}", at, lanes), lanes));
  });
  std::string all = combine(lanes, partial[0].value, partial[1].value);
  int64_t done = pairs;
  if (done + lanes <= n.extent) {
    all = combine(lanes, all, element(std::to_string(done), lanes));
    done += lanes;
  }
  for (int width = lanes; width > 1; width /= 2) {
    std::vector<int> low, high;
    for (int i = 0; i < width / 2; ++i) low.push_back(i), high.push_back(i + width / 2);
    const std::string vec = vector_type(width, register_type(sum));
    std::string a, b;
    if (width == 2) {
      a = text_.let("extractelement {} {}, i64 0", vec, all);
      b = text_.let("extractelement {} {}, i64 1", vec, all);
    } else {
      a = text_.let("shufflevector {0} {1}, {0} poison, {2}", vec, all, shuffle_mask(low));
      b = text_.let("shufflevector {0} {1}, {0} poison, {2}", vec, all, shuffle_mask(high));
    }
    all = combine(width / 2, a, b);
  }
  std::vector<Carried> rest{{register_type(sum), all}};
  if (done < n.extent) {
    emit_loop(text_, std::to_string(done), std::to_string(n.extent), 1, rest, [&](const std::string& at, std::vector<Carried>& c) {
      c[0].value = combine(1, c[0].value, element(at, 1));
    });
  }
  std::string result = rest[0].value;
  if (n.accumulate) result = combine(1, values_.cast(to, sum, 1, read(n.dst, to, 1)), result);
  write(n.dst, to, 1, values_.cast(sum, to, 1, result));
}

}  // namespace tilert::codegen
