// Random expressions and values for the property tests of this room.
#pragma once

#include <random>
#include <unordered_map>
#include <vector>

#include "ir/evaluate.h"
#include "ir/expr.h"

namespace tilert::arith::test {

using ir::Arena;
using ir::Expr;
using ir::Op;

struct Generator {
  Arena& arena;
  std::mt19937 random;
  std::vector<Expr> variables;

  Generator(Arena& a, unsigned seed) : arena(a), random(seed) {
    const DType kinds[] = {DType::index, DType::int32, DType::int8, DType::boolean, DType::f32, DType::f16, DType::int64};
    ir::VarId id = 0;
    for (DType d : kinds)
      for (int i = 0; i < 3; ++i) variables.push_back(arena.variable(id++, d));
  }

  int pick(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

  Expr leaf(DType d) {
    if (pick(3) != 0) {
      std::vector<Expr> fit;
      for (Expr v : variables)
        if (v->dtype == d) fit.push_back(v);
      if (!fit.empty()) return fit[static_cast<size_t>(pick(static_cast<int>(fit.size())))];
    }
    return arena.constant(d, value(d));
  }

  // Small numbers mostly, then the awkward ones.
  uint64_t value(DType d) {
    if (d == DType::boolean) return static_cast<uint64_t>(pick(2));
    if (dtype_is_float(d)) {
      const double some[] = {0.0, -0.0, 1.0, -1.0, 0.5, 3.25, 1e30, -1e-8, INFINITY, -INFINITY, NAN};
      return ir::double_to_bits(d, some[pick(11)]);
    }
    const int64_t small[] = {0, 1, 2, 3, 4, 7, 8, 16, -1, -2, -5, 100};
    if (pick(8) != 0) return arena.constant(d, static_cast<uint64_t>(small[pick(12)]))->bits;
    if (d == DType::index) return static_cast<uint64_t>(int64_t{pick(1 << 30)} - (1 << 29));
    const uint64_t wild[] = {0x7fffffffffffffffull, 0x8000000000000000ull, 0x7fffffff, 0x80000000, 0x7f, 0x80, random()};
    return arena.constant(d, wild[pick(7)])->bits;
  }

  Expr expr(DType d, int depth) {
    if (depth <= 0 || pick(6) == 0) return leaf(d);
    if (pick(8) == 0) return arena.make(Op::select, {expr(DType::boolean, depth - 1), expr(d, depth - 1), expr(d, depth - 1)});
    if (d == DType::boolean) return condition(depth);
    if (pick(7) == 0) {
      const DType from[] = {DType::index, DType::int32, DType::int8, DType::boolean, DType::f32, DType::f16};
      return arena.cast(expr(from[pick(6)], depth - 1), d);
    }
    if (dtype_is_float(d)) {
      const Op two[] = {Op::add, Op::sub, Op::mul, Op::div, Op::min, Op::max, Op::min_nan, Op::max_nan};
      const Op one[] = {Op::neg, Op::abs, Op::floor, Op::ceil, Op::round, Op::trunc};
      if (pick(3) == 0) return arena.make(one[pick(6)], {expr(d, depth - 1)});
      return arena.make(two[pick(8)], {expr(d, depth - 1), expr(d, depth - 1)});
    }
    const Op two[] = {Op::add, Op::sub, Op::mul, Op::add, Op::mul, Op::div, Op::mod, Op::div_trunc, Op::mod_trunc,
                      Op::min, Op::max, Op::bit_and, Op::bit_or, Op::bit_xor, Op::shl, Op::shr, Op::div, Op::mod};
    const Op one[] = {Op::neg, Op::abs, Op::bit_not};
    if (pick(8) == 0) return arena.make(one[pick(3)], {expr(d, depth - 1)});
    const Op op = two[pick(18)];
    return arena.make(op, {expr(d, depth - 1), expr(d, depth - 1)});
  }

  Expr condition(int depth) {
    if (pick(3) == 0) return arena.make(Op::logical_not, {expr(DType::boolean, depth - 1)});
    if (pick(3) == 0) {
      const Op ops[] = {Op::logical_and, Op::logical_or, Op::eq};
      return arena.make(ops[pick(3)], {expr(DType::boolean, depth - 1), expr(DType::boolean, depth - 1)});
    }
    const DType kinds[] = {DType::index, DType::int32, DType::int8, DType::f32, DType::int64};
    const DType d = kinds[pick(5)];
    const Op ops[] = {Op::lt, Op::le, Op::eq, Op::ne};
    return arena.make(ops[pick(4)], {expr(d, depth - 1), expr(d, depth - 1)});
  }
};

using Values = std::unordered_map<ir::VarId, uint64_t>;

// The value of e; `exact` turns false where an index operation leaves 64 bits, which the language excludes.
inline uint64_t evaluate(Expr e, const Values& values, bool& exact) {
  if (e->is_constant()) return e->bits;
  if (e->is_variable()) return values.at(e->var());
  uint64_t operands[3] = {};
  for (int i = 0; i < e->arity; ++i) operands[i] = evaluate(e->operand[i], values, exact);
  if (e->dtype == DType::index) {
    const __int128 a = static_cast<int64_t>(operands[0]), b = static_cast<int64_t>(operands[1]);
    const __int128 limit = int64_t{1} << 60;
    __int128 r = 0;
    if (e->op == Op::add) r = a + b;
    if (e->op == Op::sub) r = a - b;
    if (e->op == Op::mul) r = a * b;
    if (e->op == Op::shl) r = b >= 0 && b < 64 ? a * (static_cast<__int128>(1) << b) : 0;
    if (r > limit || r < -limit) exact = false;
  }
  return *ir::evaluate(*e, std::span<const uint64_t>(operands, e->arity));
}

inline bool same_value(DType d, uint64_t a, uint64_t b) {
  if (a == b) return true;
  if (!dtype_is_float(d)) return false;
  return std::isnan(ir::bits_to_double(d, a)) && std::isnan(ir::bits_to_double(d, b));
}

inline void print(Expr e, std::string& out) {
  if (e->is_constant()) {
    out += dtype_is_float(e->dtype) ? std::to_string(ir::bits_to_double(e->dtype, e->bits)) : std::to_string(e->as_int());
    return;
  }
  if (e->is_variable()) {
    out += "v" + std::to_string(e->var());
    return;
  }
  out += "(";
  out += ir::op_row(e->op).text;
  if (e->op == Op::cast) out += ":" + std::string(dtype_text(e->dtype));
  for (int i = 0; i < e->arity; ++i) {
    out += " ";
    print(e->operand[i], out);
  }
  out += ")";
}
inline std::string print(Expr e) {
  std::string out;
  print(e, out);
  return out;
}

}  // namespace tilert::arith::test
