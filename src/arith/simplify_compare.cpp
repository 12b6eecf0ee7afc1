// Comparisons of integers by the affine difference of their sides, and casts.
#include <numeric>

#include "arith/simplify.h"

namespace tilert::arith {
namespace {

using ir::Expr;
using ir::Op;

// Whether every value of `from` is a value of `to`.
bool widens(DType from, DType to) {
  if (from == to) return true;
  if (from == DType::f16 || from == DType::bf16) return to == DType::f32 || to == DType::f64;
  return from == DType::f32 && to == DType::f64;
}

// d = right - left without its common factor. For a strict order the constant is rounded so that d >= 1 says the same.
void divide_common_factor(Affine& d, Op op) {
  int64_t g = 0;
  for (const Term& t : d.terms) g = std::gcd(g, t.coefficient);
  if (g <= 1) return;
  if (op == Op::eq || op == Op::ne) {
    if (d.constant % g != 0) return;
    d.constant /= g;
  } else {
    d.constant = op == Op::lt ? floor_div(d.constant - 1, g) + 1 : floor_div(d.constant, g);
  }
  for (Term& t : d.terms) t.coefficient /= g;
}

}  // namespace

Expr Simplifier::step_compare(Expr e) {
  const DType dtype = e->operand[0]->dtype;
  if (!dtype_is_integer(dtype)) return e;
  const auto a = facts_.exact(e->operand[0]), b = facts_.exact(e->operand[1]);
  if (!a || !b) return e;
  Affine d = *b - *a;
  const bool is_order = e->op == Op::lt || e->op == Op::le;
  if (is_order) {
    const int64_t least = e->op == Op::lt ? 1 : 0;
    if (facts_.at_least_zero(d + -least)) return arena_.boolean(true);
    if (facts_.at_least_zero(d * -1 + (least - 1))) return arena_.boolean(false);
  } else {
    const bool differ = !facts_.range(d).contains(0) || facts_.at_least_zero(d + -1) || facts_.at_least_zero(d * -1 + -1);
    if (differ) return arena_.boolean(e->op == Op::ne);
    if (d.is_constant()) return arena_.boolean(e->op == Op::eq);
  }
  divide_common_factor(d, e->op);
  Affine left{DType::index, 0, {}}, right = left;
  for (const Term& t : d.terms) {
    if (t.coefficient > 0) {
      right.terms.push_back(t);
    } else {
      left.terms.push_back({t.term, -t.coefficient});
    }
  }
  const bool constant_right = right.terms.empty() || (!left.terms.empty() && d.constant > 0);
  (constant_right ? right : left).constant = constant_right ? d.constant : -d.constant;
  if (!fits(facts_.range(left), dtype) || !fits(facts_.range(right), dtype)) return e;
  Expr x = rebuilt(left, dtype), y = rebuilt(right, dtype);
  const bool swap = !is_order && (x->is_constant() || (!y->is_constant() && y->serial < x->serial));
  if (swap) std::swap(x, y);
  return arena_.make(e->op, {x, y});
}

Expr Simplifier::step_not(Expr e) {
  const Expr inner = e->operand[0];
  // Only where there is no NaN is the opposite of an order an order.
  if ((inner->op == Op::lt || inner->op == Op::le) && dtype_is_integer(inner->operand[0]->dtype)) {
    return arena_.make(inner->op == Op::lt ? Op::le : Op::lt, {inner->operand[1], inner->operand[0]});
  }
  return e;
}

Expr Simplifier::step_cast(Expr e) {
  const Expr from = e->operand[0];
  const auto integral = [](DType t) { return dtype_is_integer(t) || t == DType::boolean; };
  if (from->op == Op::cast) {
    const Expr inner = from->operand[0];
    const bool kept = dtype_is_float(inner->dtype)
                          ? widens(inner->dtype, from->dtype)
                          : integral(inner->dtype) && dtype_is_integer(from->dtype) && inner->dtype != DType::uint64 &&
                                from->dtype != DType::uint64 &&
                                (from->dtype == DType::index || fits(facts_.range(inner), from->dtype));
    const bool narrows = dtype_is_integer(inner->dtype) && dtype_is_integer(from->dtype) &&
                         dtype_is_integer(e->dtype) && dtype_bits(e->dtype) <= dtype_bits(from->dtype);
    if (kept || narrows) return arena_.cast(inner, e->dtype);
  }
  const bool to_wide = e->dtype == DType::index || e->dtype == DType::int64;
  if (!to_wide || !dtype_is_integer(from->dtype) || from->dtype == DType::uint64) return e;
  if (from->op != Op::add && from->op != Op::sub && from->op != Op::mul && from->op != Op::neg) return e;
  // The cast of a sum that does not wrap is the sum of the casts.
  const auto exact = facts_.exact(from);
  if (!exact || (exact->terms.size() == 1 && exact->terms[0].term == from)) return e;
  Affine sum{e->dtype, exact->constant, {}};
  for (const Term& t : exact->terms) sum = sum + affine(arena_, arena_.cast(t.term, e->dtype)) * t.coefficient;
  return to_expr(arena_, sum);
}

}  // namespace tilert::arith
