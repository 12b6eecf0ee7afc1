// Building, combining and printing affine forms.
#include "arith/affine.h"

#include <algorithm>

#include "arith/range.h"
#include "ir/visit.h"

namespace tilert::arith {
namespace {

using ir::Arena;
using ir::Expr;
using ir::Op;

// The constant as the dtype represents it: wrapped, sign- or zero-extended.
int64_t canonical(DType dtype, uint64_t value) {
  const int bits = dtype_bits(dtype);
  if (bits >= 64) return static_cast<int64_t>(value);
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  // Coefficients of unsigned dtypes are kept signed too: -1 * x reads better than 255 * x, and means the same.
  value &= mask;
  if ((value >> (bits - 1)) & 1) value |= ~mask;
  return static_cast<int64_t>(value);
}

int64_t add_wrapped(DType dtype, int64_t a, int64_t b) {
  return canonical(dtype, static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t mul_wrapped(DType dtype, int64_t a, int64_t b) {
  return canonical(dtype, static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Merges two sorted term lists, the second scaled.
Affine combine(const Affine& a, const Affine& b, int64_t factor) {
  Affine out{a.dtype, add_wrapped(a.dtype, a.constant, mul_wrapped(a.dtype, b.constant, factor)), {}};
  out.terms.reserve(a.terms.size() + b.terms.size());
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    Term next;
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].term->serial < b.terms[j].term->serial)) {
      next = a.terms[i++];
    } else if (i == a.terms.size() || b.terms[j].term->serial < a.terms[i].term->serial) {
      next = {b.terms[j].term, mul_wrapped(a.dtype, b.terms[j].coefficient, factor)};
      ++j;
    } else {
      next = {a.terms[i].term,
              add_wrapped(a.dtype, a.terms[i].coefficient, mul_wrapped(a.dtype, b.terms[j].coefficient, factor))};
      ++i, ++j;
    }
    if (next.coefficient != 0) out.terms.push_back(next);
  }
  return out;
}

bool is_sum(Expr e) { return e->op == Op::add || e->op == Op::sub || e->op == Op::neg || e->is_constant(); }

// A product that was too large to expand (it has a sum as factor) counts as one factor.
void collect_factors(Expr e, std::vector<Expr>& factors) {
  if (e->op == Op::mul && !is_sum(e->operand[0]) && !is_sum(e->operand[1])) {
    collect_factors(e->operand[0], factors);
    collect_factors(e->operand[1], factors);
  } else {
    factors.push_back(e);
  }
}

// The product of two terms, factors in canonical order.
Expr product(Arena& arena, Expr a, Expr b) {
  std::vector<Expr> factors;
  collect_factors(a, factors);
  collect_factors(b, factors);
  std::sort(factors.begin(), factors.end(), [](Expr x, Expr y) { return x->serial < y->serial; });
  Expr out = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) out = arena.make(Op::mul, {out, factors[i]});
  return out;
}

class Builder {
 public:
  explicit Builder(Arena& arena) : arena_(arena) {}

  Affine build(Expr e) {
    if (e->is_constant()) return {e->dtype, canonical(e->dtype, e->bits), {}};
    // A graph of sums that doubles at every level would take exponential time: beyond a budget nodes stay opaque.
    if (--budget_ < 0) return opaque(e);
    switch (e->op) {
      case Op::add: return combine(build(e->operand[0]), build(e->operand[1]), 1);
      case Op::sub: return combine(build(e->operand[0]), build(e->operand[1]), -1);
      case Op::neg: return build(e->operand[0]) * -1;
      case Op::mul: return multiply(e);
      default: return opaque(e);
    }
  }

 private:
  static Affine opaque(Expr e) { return {e->dtype, 0, {{e, 1}}}; }

  Affine multiply(Expr e) {
    Affine a = build(e->operand[0]), b = build(e->operand[1]);
    if (a.is_constant()) return b * a.constant;
    if (b.is_constant()) return a * b.constant;
    const size_t a_parts = a.terms.size() + (a.constant != 0), b_parts = b.terms.size() + (b.constant != 0);
    if (a_parts * b_parts > kMostExpanded) {
      Expr x = to_expr(arena_, a), y = to_expr(arena_, b);
      if (y->serial < x->serial) std::swap(x, y);
      return opaque(arena_.make(Op::mul, {x, y}));
    }
    Affine out = combine(a * b.constant, b, a.constant);
    out.constant = mul_wrapped(e->dtype, a.constant, b.constant);
    for (const Term& s : a.terms)
      for (const Term& t : b.terms) {
        const int64_t c = mul_wrapped(e->dtype, s.coefficient, t.coefficient);
        if (c != 0) out = combine(out, opaque(product(arena_, s.term, t.term)), c);
      }
    return out;
  }

  static constexpr size_t kMostExpanded = 16;  // terms of an expanded product
  Arena& arena_;
  int budget_ = 4096;
};

Expr scaled(Arena& arena, Expr term, int64_t coefficient) {
  if (coefficient == 1) return term;
  return arena.make(Op::mul, {term, arena.constant(term->dtype, static_cast<uint64_t>(coefficient))});
}

}  // namespace

int64_t Affine::coefficient(Expr term) const {
  for (const Term& t : terms)
    if (t.term == term) return t.coefficient;
  return 0;
}

Affine affine(Arena& arena, Expr e) { return Builder(arena).build(e); }

Affine operator+(const Affine& a, const Affine& b) { return combine(a, b, 1); }
Affine operator-(const Affine& a, const Affine& b) { return combine(a, b, -1); }
Affine operator*(const Affine& a, int64_t factor) { return combine(Affine{a.dtype, 0, {}}, a, factor); }
Affine operator+(const Affine& a, int64_t constant) {
  Affine out = a;
  out.constant = add_wrapped(a.dtype, a.constant, constant);
  return out;
}

Expr to_expr(Arena& arena, const Affine& a) {
  // Terms to add first, then terms to subtract: the form reads as a person would write it.
  Expr out = nullptr;
  const auto negates = [](int64_t c) { return c < 0 && c != kMinusInfinity; };
  for (const Term& t : a.terms) {
    if (negates(t.coefficient)) continue;
    Expr e = scaled(arena, t.term, t.coefficient);
    out = out ? arena.make(Op::add, {out, e}) : e;
  }
  const Expr constant = arena.constant(a.dtype, static_cast<uint64_t>(a.constant));
  bool constant_left = a.constant != 0;
  if (!out && constant_left) {
    out = constant;
    constant_left = false;
  }
  for (const Term& t : a.terms) {
    if (!negates(t.coefficient)) continue;
    if (out) {
      out = arena.make(Op::sub, {out, scaled(arena, t.term, -t.coefficient)});
    } else {
      out = scaled(arena, t.term, t.coefficient);
    }
  }
  if (!out) return constant;
  if (!constant_left) return out;
  if (negates(a.constant)) {
    return arena.make(Op::sub, {out, arena.constant(a.dtype, static_cast<uint64_t>(-a.constant))});
  }
  return arena.make(Op::add, {out, constant});
}

Split split(const Affine& a, int64_t divisor) {
  Split out{{a.dtype, floor_div(a.constant, divisor), {}}, {a.dtype, floor_mod(a.constant, divisor), {}}};
  for (const Term& t : a.terms) {
    const int64_t q = floor_div(t.coefficient, divisor), r = floor_mod(t.coefficient, divisor);
    // Only whole multiples move: splitting 20 * x into 16 * x + 4 * x would compute x twice.
    if (r == 0) {
      out.quotient.terms.push_back({t.term, q});
    } else {
      out.remainder.terms.push_back(t);
    }
  }
  return out;
}

std::optional<Linear> linear_in(Arena& arena, Expr e, ir::VarId var) {
  const Affine form = affine(arena, e);
  Affine base{form.dtype, form.constant, {}}, stride{form.dtype, 0, {}};
  for (const Term& t : form.terms) {
    if (!ir::uses_var(t.term, var)) {
      base.terms.push_back(t);
      continue;
    }
    std::vector<Expr> factors;
    collect_factors(t.term, factors);
    Expr rest = nullptr;
    int found = 0;
    for (Expr f : factors) {
      if (f->is_variable() && f->var() == var) {
        ++found;
      } else if (ir::uses_var(f, var)) {
        return std::nullopt;
      } else {
        rest = rest ? product(arena, rest, f) : f;
      }
    }
    if (found != 1) return std::nullopt;
    stride = rest ? combine(stride, Affine{form.dtype, 0, {{rest, 1}}}, t.coefficient) : stride + t.coefficient;
  }
  return Linear{to_expr(arena, base), to_expr(arena, stride)};
}

std::optional<int64_t> constant_difference(Arena& arena, Expr a, Expr b) {
  const Affine d = affine(arena, a) - affine(arena, b);
  if (!d.is_constant()) return std::nullopt;
  return d.constant;
}

}  // namespace tilert::arith
