// Learning from conditions, and the range of expressions.
#include "arith/facts.h"

#include <algorithm>
#include <bit>

namespace tilert::arith {
namespace {

using ir::Expr;
using ir::Op;

// No tensor has a dim of more elements; keeps products of three dims and an element size inside 64 bits by proof only
// where callers ask for it.
constexpr int64_t kLargestDim = int64_t{1} << 40;

bool is_integer_like(DType dtype) { return dtype_is_integer(dtype) && dtype != DType::uint64; }

// The range of a one-operand or bitwise result where both sides are not negative.
int64_t bits_above(int64_t high) {
  return high >= kPlusInfinity / 2 ? kPlusInfinity : (int64_t{1} << std::bit_width(static_cast<uint64_t>(high))) - 1;
}

}  // namespace

Facts::Facts(ir::Arena& arena) : arena_(arena) { frames_.emplace_back(); }

Facts::Facts(const ir::Program& program) : Facts(*program.arena) {
  for (const ir::Dim& dim : program.dims) {
    const Expr var = program.var(dim.var);
    bound(var, 0, kLargestDim - 1);
    if (dim.value) bound(var, *dim.value, *dim.value);
    if (dim.divisible > 1) congruent(var, dim.divisible);
  }
}

void Facts::changed() {
  ++version_;
  frames_.back().memo.clear();
}

void Facts::push() { frames_.emplace_back(); }

void Facts::pop() {
  frames_.pop_back();
  ++version_;
}

void Facts::learn(Expr e, const Range& range) {
  if (e->is_constant()) return;
  const Range now = both(this->range(e), range);
  if (now.empty()) return;  // a contradiction: this place is never reached, and any range will do
  frames_.back().learned[e] = now;
  changed();
}

void Facts::define(Expr var, const Range& range) {
  const Range now = both(this->range(var), range);
  if (now.empty()) return;
  frames_.front().learned[var] = now;
  changed();
}

void Facts::bound(Expr var, int64_t low, int64_t high) { learn(var, Range::between(low, high)); }

void Facts::set_range(ir::VarId var, int64_t low, int64_t high) { bound(arena_.variable(var, DType::index), low, high); }

void Facts::set_multiple(ir::VarId var, int64_t modulus, int64_t remainder) {
  congruent(arena_.variable(var, DType::index), modulus, remainder);
}

void Facts::bound_loop(Expr var, Expr begin, Expr end, int64_t step) {
  learn_order(step > 0 ? begin : var, step > 0 ? var : begin, 0);
  learn_order(step > 0 ? var : end, step > 0 ? end : var, 1);
}

void Facts::congruent(Expr value, int64_t modulus, int64_t remainder) {
  if (modulus < 1) return;
  Range range;
  range.modulus = modulus;
  range.remainder = floor_mod(remainder, modulus);
  learn(value, range);
}

void Facts::assume(Expr condition) {
  frames_.back().conditions[condition] = true;
  changed();
  switch (condition->op) {
    case Op::logical_and:
      assume(condition->operand[0]);
      assume(condition->operand[1]);
      break;
    case Op::logical_not: assume_not(condition->operand[0]); break;
    case Op::lt: learn_order(condition->operand[0], condition->operand[1], 1); break;
    case Op::le: learn_order(condition->operand[0], condition->operand[1], 0); break;
    case Op::eq: learn_equal(condition->operand[0], condition->operand[1]); break;
    default: break;
  }
}

void Facts::assume_not(Expr condition) {
  frames_.back().conditions[condition] = false;
  changed();
  if (condition->op == Op::logical_or) {
    assume_not(condition->operand[0]);
    assume_not(condition->operand[1]);
  } else if (condition->op == Op::logical_not) {
    assume(condition->operand[0]);
  } else if (condition->op == Op::ne) {
    learn_equal(condition->operand[0], condition->operand[1]);
  } else if (condition->op == Op::lt && is_integer_like(condition->operand[0]->dtype)) {
    learn_order(condition->operand[1], condition->operand[0], 0);
  } else if (condition->op == Op::le && is_integer_like(condition->operand[0]->dtype)) {
    learn_order(condition->operand[1], condition->operand[0], 1);
  }
}

void Facts::learn_equal(Expr a, Expr b) {
  if (!is_integer_like(a->dtype)) return;
  learn_order(a, b, 0);
  learn_order(b, a, 0);
  if (a->op == Op::mod && a->operand[1]->is_constant() && b->is_constant() && a->operand[1]->as_int() > 0) {
    congruent(a->operand[0], a->operand[1]->as_int(), b->as_int());
  }
}

// Orders against a minimum or maximum hold against each of its operands.
void Facts::learn_order(Expr a, Expr b, int64_t distance) {
  if (!is_integer_like(a->dtype)) return;
  if (b->op == Op::min) {
    learn_order(a, b->operand[0], distance);
    learn_order(a, b->operand[1], distance);
  }
  if (a->op == Op::max) {
    learn_order(a->operand[0], b, distance);
    learn_order(a->operand[1], b, distance);
  }
  learn_order_leaf(a, b, distance);
}

void Facts::learn_order_leaf(Expr a, Expr b, int64_t distance) {
  const auto fa = exact(a), fb = exact(b);
  if (!fa || !fb) return;
  const Affine d = *fb - *fa + -distance;
  for (const Term& t : d.terms) {
    // t.coefficient * t + rest >= 0, so t is at least (or at most) the worst of -rest / coefficient.
    Affine rest = d;
    std::erase_if(rest.terms, [&](const Term& other) { return other.term == t.term; });
    const Range r = range(rest);
    if (r.high == kPlusInfinity || t.coefficient == kMinusInfinity) continue;
    if (t.coefficient > 0) {
      learn(t.term, Range{-floor_div(r.high, t.coefficient), kPlusInfinity, 1, 0});
    } else {
      learn(t.term, Range{kMinusInfinity, floor_div(r.high, -t.coefficient), 1, 0});
    }
  }
  if (d.terms.size() > 1) frames_.back().inequalities.push_back(d);
  changed();
}

int Facts::known(Expr condition) const {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    const auto found = frame->conditions.find(condition);
    if (found != frame->conditions.end()) return found->second ? 1 : -1;
  }
  return 0;
}

Range Facts::range(const Affine& form) const {
  Range out = Range::constant(form.constant);
  for (const Term& t : form.terms) out = out + range(t.term) * Range::constant(t.coefficient);
  return out;
}

bool Facts::at_least_zero(const Affine& form) const {
  if (range(form).low >= 0) return true;
  for (const Frame& frame : frames_)
    for (const Affine& known : frame.inequalities)
      if (range(form - known).low >= 0) return true;
  return false;
}

std::optional<Affine> Facts::exact(Expr e) const {
  Affine form = affine(arena_, e);
  if (!fits(range(form), form.dtype)) return std::nullopt;
  form.dtype = DType::index;
  return form;
}

Range Facts::range(Expr e) const {
  if (e->is_constant()) {
    const bool huge = e->dtype == DType::uint64 && e->as_int() < 0;
    return dtype_is_float(e->dtype) || huge ? Range{} : Range::constant(e->as_int());
  }
  auto& memo = frames_.back().memo;
  const auto found = memo.find(e);
  if (found != memo.end()) return found->second;
  Range out = analyze(e);
  for (const Frame& frame : frames_) {
    const auto learned = frame.learned.find(e);
    if (learned == frame.learned.end()) continue;
    const Range tighter = both(out, learned->second);
    if (!tighter.empty()) out = tighter;
  }
  frames_.back().memo.emplace(e, out);
  return out;
}

Range Facts::analyze(Expr e) const {
  const Range all = Range::of_dtype(e->dtype);
  if (dtype_is_float(e->dtype)) return {};
  if (e->dtype == DType::uint64) return {};
  switch (e->op) {
    case Op::select: return either(range(e->operand[1]), range(e->operand[2]));
    case Op::cast: {
      const Expr from = e->operand[0];
      if (dtype_is_float(from->dtype) || from->dtype == DType::uint64 || e->dtype == DType::boolean) return all;
      return wrapped(range(from), e->dtype);
    }
    default: break;
  }
  if (e->dtype == DType::boolean) return all;
  return analyze_integer(e);
}

Range Facts::analyze_integer(Expr e) const {
  if (e->is_variable() || e->op == Op::reinterpret || e->op == Op::cast_nonsat) return Range::of_dtype(e->dtype);
  const Range a = range(e->operand[0]);
  const Range b = e->arity > 1 ? range(e->operand[1]) : Range{};
  switch (e->op) {
    case Op::add: return wrapped(a + b, e->dtype);
    case Op::sub: return wrapped(a - b, e->dtype);
    case Op::mul: return wrapped(a * b, e->dtype);
    case Op::neg: return wrapped(-a, e->dtype);
    case Op::div: return wrapped(divide(a, b), e->dtype);
    case Op::mod: {
      const Range r = remainder(a, b);
      return both(r, Range::of_dtype(e->dtype));
    }
    case Op::min: return minimum(a, b);
    case Op::max: return maximum(a, b);
    case Op::abs: return wrapped(maximum(a, -a).low < 0 ? Range{0, maximum(a, -a).high, 1, 0} : maximum(a, -a), e->dtype);
    case Op::div_trunc: return a.low >= 0 && b.low > 0 ? divide(a, b) : Range::of_dtype(e->dtype);
    case Op::mod_trunc: return a.low >= 0 && b.low > 0 ? remainder(a, b) : Range::of_dtype(e->dtype);
    default: return analyze_bits(e);
  }
}

Range Facts::analyze_bits(Expr e) const {
  const Range all = Range::of_dtype(e->dtype);
  const Range a = range(e->operand[0]);
  const Range b = e->arity > 1 ? range(e->operand[1]) : Range{};
  switch (e->op) {
    case Op::bit_and:
      if (a.low >= 0 || b.low >= 0) {
        const int64_t high = a.low < 0 ? b.high : b.low < 0 ? a.high : std::min(a.high, b.high);
        return both(all, Range{0, high, 1, 0});
      }
      return all;
    case Op::bit_or:
    case Op::bit_xor:
      if (a.low >= 0 && b.low >= 0) return both(all, Range{0, bits_above(std::max(a.high, b.high)), 1, 0});
      return all;
    case Op::bit_not: return both(all, Range::constant(-1) - a).empty() ? all : both(all, Range::constant(-1) - a);
    case Op::shr:
      if (b.is_constant() && b.low >= 0 && b.low < std::min(dtype_bits(e->dtype), 62)) {
        return divide(a, Range::constant(int64_t{1} << b.low));
      }
      return a.low >= 0 ? both(all, Range{0, a.high, 1, 0}) : all;
    case Op::shl:
      if (b.is_constant() && b.low >= 0 && b.low < std::min(dtype_bits(e->dtype), 62)) {
        return wrapped(a * Range::constant(int64_t{1} << b.low), e->dtype);
      }
      return all;
    default: return all;
  }
}

}  // namespace tilert::arith
