// Affine normal form of integer expressions: constant + sum of coefficient * term, modulo the width of the dtype.
// Terms are variables, products of variables, or opaque nodes (floor divisions, remainders, minima, casts, ...).
// Not here: what may be concluded from facts (simplify.h).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/expr.h"

namespace tilert::arith {

struct Term {
  ir::Expr term;
  int64_t coefficient;  // not 0
  bool operator==(const Term&) const = default;
};

struct Affine {
  DType dtype = DType::index;
  int64_t constant = 0;
  std::vector<Term> terms;  // by serial, each once

  bool is_constant() const { return terms.empty(); }
  int64_t coefficient(ir::Expr term) const;  // 0 where absent
  bool operator==(const Affine&) const = default;
};

// The value of e in that form; equal values by ring identities alone have equal forms. Valid for every integer dtype
// and index, with wrapping. e's dtype is an integer or index.
Affine affine(ir::Arena& arena, ir::Expr e);

Affine operator+(const Affine& a, const Affine& b);
Affine operator-(const Affine& a, const Affine& b);
Affine operator*(const Affine& a, int64_t factor);
Affine operator+(const Affine& a, int64_t constant);

// The canonical expression of the form: affine(to_expr(a)) == a.
ir::Expr to_expr(ir::Arena& arena, const Affine& a);

// a = quotient * divisor + remainder, term by term: each constant and coefficient split by floor division.
// quotient and remainder are exact integers of the same form; divisor > 0.
struct Split {
  Affine quotient, remainder;
};
Split split(const Affine& a, int64_t divisor);

// e = base + var * stride, where neither depends on var; nothing where e is not of that shape.
struct Linear {
  ir::Expr base, stride;
};
std::optional<Linear> linear_in(ir::Arena& arena, ir::Expr e, ir::VarId var);

// a - b where it is a constant.
std::optional<int64_t> constant_difference(ir::Arena& arena, ir::Expr a, ir::Expr b);

}  // namespace tilert::arith
