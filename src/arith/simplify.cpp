// The driver of the simplifier, and normalization of sums, divisions, extrema and shifts.
// Comparisons and casts: simplify_compare.cpp.
#include "arith/simplify.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "arith/pattern.h"
#include "ir/evaluate.h"

namespace tilert::arith {
namespace {

using ir::Expr;
using ir::Op;

// Every rewrite makes progress towards a normal form; the bound only guards against a rule that would not.
constexpr int kMostRewrites = 100;

bool in_canonical_order(Expr a, Expr b) {
  if (a->is_constant() != b->is_constant()) return b->is_constant();
  return a->serial <= b->serial;
}

// k * (c * (y / c) + y % c) is k * y.
Affine recombine(ir::Arena& arena, Affine form) {
  for (size_t i = 0; i < form.terms.size(); ++i) {
    const Term quotient = form.terms[i];
    if (quotient.term->op != Op::div || !quotient.term->operand[1]->is_constant()) continue;
    const int64_t c = quotient.term->operand[1]->as_int();
    if (c <= 0 || quotient.coefficient % c != 0) continue;
    for (const Term& rest : form.terms) {
      if (rest.term->op != Op::mod || rest.term->operand[0] != quotient.term->operand[0] ||
          rest.term->operand[1] != quotient.term->operand[1] || rest.coefficient != quotient.coefficient / c) {
        continue;
      }
      const Term remainder = rest;
      std::erase_if(form.terms, [&](const Term& t) { return t == quotient || t == remainder; });
      return recombine(arena, form + affine(arena, quotient.term->operand[0]) * remainder.coefficient);
    }
  }
  return form;
}

}  // namespace

Expr Simplifier::simplify(Expr e) {
  if (version_ != facts_.version()) {
    memo_.clear();
    version_ = facts_.version();
  }
  return visit(e);
}

Expr Simplifier::visit(Expr e) {
  if (e->is_constant()) return e;
  if (const auto found = memo_.find(e); found != memo_.end()) return found->second;
  Expr node = e;
  if (e->arity > 0) {
    Expr operands[3] = {};
    bool same = true;
    for (int i = 0; i < e->arity; ++i) {
      operands[i] = visit(e->operand[i]);
      same = same && operands[i] == e->operand[i];
    }
    if (!same) {
      node = arena_.conversion(e->op, operands[0], e->dtype);
      if (!node) node = arena_.make(e->op, std::span<const Expr>(operands, e->arity));
    }
  }
  Expr out = step(node);
  if (out != node && depth_ < kMostRewrites) {
    ++depth_;
    out = visit(out);
    --depth_;
  }
  memo_[e] = out;
  return out;
}

Expr Simplifier::step(Expr e) {
  if (e->is_constant()) return e;
  if (e->arity > 0) {
    if (Expr folded = fold(e)) return folded;
    // Sums and products of integers get their order from the affine form.
    const bool affine_order = (e->op == Op::add || e->op == Op::mul) && dtype_is_integer(e->dtype);
    if (!affine_order && is_commutative(e->op) && !in_canonical_order(e->operand[0], e->operand[1])) {
      return arena_.make(e->op, {e->operand[1], e->operand[0]});
    }
    if (Expr replaced = apply_rules(e); replaced != e) return replaced;
  }
  if (e->dtype == DType::boolean) {
    if (const int known = facts_.known(e); known != 0) return arena_.boolean(known > 0);
    switch (e->op) {
      case Op::eq: case Op::ne: case Op::lt: case Op::le: return step_compare(e);
      case Op::logical_not: return step_not(e);
      default: return e;
    }
  }
  if (e->op == Op::cast) {
    if (Expr out = step_cast(e); out != e) return out;
  }
  return dtype_is_integer(e->dtype) ? step_integer(e) : e;
}

Expr Simplifier::fold(Expr e) {
  uint64_t bits[3] = {};
  for (int i = 0; i < e->arity; ++i) {
    if (!e->operand[i]->is_constant()) return nullptr;
    bits[i] = e->operand[i]->bits;
  }
  const auto value = ir::evaluate(*e, std::span<const uint64_t>(bits, e->arity));
  return value ? arena_.constant(e->dtype, *value) : nullptr;
}

Expr Simplifier::apply_rules(Expr e) {
  Bindings bindings;
  for (const Rule& rule : rules_of(e->op)) {
    if (!matches(rule, e, facts_, bindings)) continue;
    Expr out = instantiate(arena_, rule.replacement, bindings, e->dtype);
    if (out != e) return out;
  }
  return e;
}

Expr Simplifier::rebuilt(Affine form, DType dtype) {
  form.dtype = dtype;
  // Adding zero wraps constants and coefficients to the dtype.
  return to_expr(arena_, Affine{dtype, 0, {}} + form);
}

Expr Simplifier::step_integer(Expr e) {
  if (const Range range = facts_.range(e); range.is_constant() && e->dtype != DType::uint64) {
    return arena_.constant(e->dtype, static_cast<uint64_t>(range.low));
  }
  switch (e->op) {
    case Op::add: case Op::sub: case Op::neg: case Op::mul: return step_sum(e);
    case Op::div: case Op::mod: return step_division(e);
    case Op::min: case Op::max: return step_extremum(e);
    case Op::shl: case Op::shr: case Op::bit_and: return step_shift(e);
    default: return e;
  }
}

Expr Simplifier::step_sum(Expr e) { return to_expr(arena_, recombine(arena_, affine(arena_, e))); }

Expr Simplifier::step_division(Expr e) {
  const Expr x = e->operand[0], divisor = e->operand[1];
  if (!divisor->is_constant() || divisor->as_int() <= 0) return e;
  const int64_t c = divisor->as_int();
  const bool is_div = e->op == Op::div;
  if (is_div && x->op == Op::div && x->operand[1]->is_constant() && x->operand[1]->as_int() > 0) {
    const Range product = Range::constant(c) * Range::constant(x->operand[1]->as_int());
    if (product.is_finite() && fits(product, e->dtype)) {
      return arena_.make(Op::div, {x->operand[0], arena_.constant(e->dtype, static_cast<uint64_t>(product.low))});
    }
  }
  if (!is_div && x->op == Op::mod && x->operand[1]->is_constant() && x->operand[1]->as_int() > 0 &&
      x->operand[1]->as_int() % c == 0) {
    return arena_.make(Op::mod, {x->operand[0], divisor});
  }
  const auto exact = facts_.exact(x);
  if (!exact) return e;
  const auto [quotient, rest] = split(*exact, c);
  const Range range = facts_.range(rest);
  if (range.is_finite() && floor_div(range.low, c) == floor_div(range.high, c)) {
    const int64_t k = floor_div(range.low, c);
    return is_div ? rebuilt(quotient + k, e->dtype) : rebuilt(rest + -(k * c), e->dtype);
  }
  int64_t g = c;
  for (const Term& t : rest.terms) g = std::gcd(g, t.coefficient);
  Affine inner = rest;
  if (g > 1) {
    for (Term& t : inner.terms) t.coefficient /= g;
    inner.constant = floor_div(rest.constant, g);
  }
  if (inner == *exact || !fits(facts_.range(inner), e->dtype)) return e;
  const Expr smaller = arena_.make(e->op, {rebuilt(inner, e->dtype), arena_.constant(e->dtype, static_cast<uint64_t>(c / g))});
  const Affine one{DType::index, 0, {{smaller, 1}}};
  return is_div ? rebuilt(quotient + one, e->dtype) : rebuilt(one * g + floor_mod(rest.constant, g), e->dtype);
}

Expr Simplifier::step_extremum(Expr e) {
  const auto a = facts_.exact(e->operand[0]), b = facts_.exact(e->operand[1]);
  if (!a || !b) return e;
  const bool is_min = e->op == Op::min;
  if (facts_.at_least_zero(*b - *a)) return e->operand[is_min ? 0 : 1];
  if (facts_.at_least_zero(*a - *b)) return e->operand[is_min ? 1 : 0];
  return e;
}

// Shifts and masks by constants are products, divisions and remainders.
Expr Simplifier::step_shift(Expr e) {
  const Expr by = e->operand[1];
  if (!by->is_constant()) return e;
  const int64_t value = by->as_int();
  const int usable = dtype_bits(e->dtype) - (dtype_is_signed(e->dtype) ? 1 : 0);
  if (e->op == Op::bit_and) {
    if (value <= 0 || value == kPlusInfinity || !std::has_single_bit(static_cast<uint64_t>(value) + 1)) return e;
    if (static_cast<int>(std::bit_width(static_cast<uint64_t>(value))) >= usable) return e;
    return arena_.make(Op::mod, {e->operand[0], arena_.constant(e->dtype, static_cast<uint64_t>(value) + 1)});
  }
  if (value < 0 || value >= std::min(usable, 62)) return e;
  return arena_.make(e->op == Op::shl ? Op::mul : Op::div,
                     {e->operand[0], arena_.constant(e->dtype, uint64_t{1} << value)});
}

}  // namespace tilert::arith
