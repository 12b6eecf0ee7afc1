// Affine forms, ranges and enumeration of small index spaces.
#include "builder/ranges.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilert::builder {
namespace {

using ir::Expr;
using ir::Op;
using ir::VarId;

struct Affine {
  int64_t constant = 0;
  std::map<VarId, int64_t> terms;
};

bool accumulate(Affine& into, const Affine& other, int64_t factor) {
  int64_t scaled;
  if (__builtin_mul_overflow(other.constant, factor, &scaled)) return false;
  if (__builtin_add_overflow(into.constant, scaled, &into.constant)) return false;
  for (const auto& [var, coefficient] : other.terms) {
    int64_t& place = into.terms[var];
    if (__builtin_mul_overflow(coefficient, factor, &scaled)) return false;
    if (__builtin_add_overflow(place, scaled, &place)) return false;
  }
  return true;
}

std::optional<Affine> affine(Expr e) {
  if (e->dtype != DType::index && e->op != Op::constant) return std::nullopt;
  if (e->op == Op::constant) return Affine{e->as_int(), {}};
  if (e->op == Op::variable) return Affine{0, {{e->var(), 1}}};
  if (e->op == Op::neg) {
    const auto x = affine(e->operand[0]);
    Affine out;
    return x && accumulate(out, *x, -1) ? std::optional(out) : std::nullopt;
  }
  if (e->op != Op::add && e->op != Op::sub && e->op != Op::mul) return std::nullopt;
  auto x = affine(e->operand[0]), y = affine(e->operand[1]);
  if (!x || !y) return std::nullopt;
  if (e->op != Op::mul) {
    if (!accumulate(*x, *y, e->op == Op::add ? 1 : -1)) return std::nullopt;
    return x;
  }
  if (!x->terms.empty()) std::swap(x, y);
  if (!x->terms.empty()) return std::nullopt;
  Affine out;
  return accumulate(out, *y, x->constant) ? std::optional(out) : std::nullopt;
}

using Values = std::unordered_map<VarId, int64_t>;

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// Value of an expression over variables with given values; nothing for what is not plain integer arithmetic.
std::optional<int64_t> evaluate(Expr e, const Values& values) {
  if (e->op == Op::constant) return e->as_int();
  if (e->op == Op::variable) {
    const auto found = values.find(e->var());
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
  if (e->dtype != DType::index || e->arity == 0 || e->arity > 2) return std::nullopt;
  const auto x = evaluate(e->operand[0], values);
  if (!x) return std::nullopt;
  if (e->op == Op::neg) return static_cast<int64_t>(0 - static_cast<uint64_t>(*x));
  if (e->arity != 2) return std::nullopt;
  const auto y = evaluate(e->operand[1], values);
  if (!y) return std::nullopt;
  const auto ux = static_cast<uint64_t>(*x), uy = static_cast<uint64_t>(*y);
  switch (e->op) {
    case Op::add: return static_cast<int64_t>(ux + uy);
    case Op::sub: return static_cast<int64_t>(ux - uy);
    case Op::mul: return static_cast<int64_t>(ux * uy);
    case Op::div: return floor_div(*x, *y);
    case Op::mod: return static_cast<int64_t>(ux - static_cast<uint64_t>(floor_div(*x, *y)) * uy);
    case Op::min: return std::min(*x, *y);
    case Op::max: return std::max(*x, *y);
    case Op::bit_and: return *x & *y;
    case Op::bit_or: return *x | *y;
    case Op::bit_xor: return *x ^ *y;
    default: return std::nullopt;
  }
}

bool mentions(Expr e, const std::set<VarId>& vars) {
  if (e->op == Op::variable) return vars.count(e->var()) != 0;
  for (int i = 0; i < e->arity; ++i)
    if (mentions(e->operand[i], vars)) return true;
  return false;
}

// Splits a sum: appends the summands (with their sign) that mention `vars`; the others are the same in each iteration.
void varying_summands(Expr e, int sign, const std::set<VarId>& vars, std::vector<std::pair<int, Expr>>& out) {
  if (e->op == Op::add || e->op == Op::sub) {
    varying_summands(e->operand[0], sign, vars, out);
    varying_summands(e->operand[1], e->op == Op::add ? sign : -sign, vars, out);
  } else if (mentions(e, vars)) {
    out.emplace_back(sign, e);
  }
}

// Each loop variable is alone in some index, beside what does not vary.
bool plainly_injective(const std::vector<std::vector<std::pair<int, Expr>>>& parts, std::span<const VarId> vars) {
  std::set<VarId> alone;
  for (const auto& part : parts)
    if (part.size() == 1 && part[0].second->op == Op::variable) alone.insert(part[0].second->var());
  return std::all_of(vars.begin(), vars.end(), [&](VarId v) { return alone.count(v) != 0; });
}

bool enumerate_repeats(const std::vector<std::vector<std::pair<int, Expr>>>& parts, std::span<const VarId> vars,
                       std::span<const int64_t> extents) {
  constexpr int64_t kPoints = 1024;
  std::vector<int64_t> box(extents.begin(), extents.end());
  const auto total = [&] {
    int64_t product = 1;
    for (int64_t n : box) product = std::min<int64_t>(product * std::min<int64_t>(n, kPoints), kPoints + 1);
    return product;
  };
  while (total() > kPoints) {
    auto widest = std::max_element(box.begin(), box.end());
    *widest = *widest > 2 * kPoints ? kPoints : (*widest + 1) / 2;
  }
  std::set<std::vector<int64_t>> seen;
  std::vector<int64_t> point(vars.size(), 0);
  while (true) {
    Values values;
    for (size_t i = 0; i < vars.size(); ++i) values[vars[i]] = point[i];
    std::vector<int64_t> element;
    for (const auto& part : parts) {
      uint64_t sum = 0;
      for (const auto& [sign, expr] : part) {
        const auto value = evaluate(expr, values);
        if (!value) return false;
        sum += static_cast<uint64_t>(*value) * static_cast<uint64_t>(static_cast<int64_t>(sign));
      }
      element.push_back(static_cast<int64_t>(sum));
    }
    if (!seen.insert(element).second) return true;
    size_t i = vars.size();
    while (i > 0 && ++point[i - 1] == box[i - 1]) point[--i] = 0;
    if (i == 0) return false;
  }
}

}  // namespace

Range range_of(Expr expr, const Ranges& ranges) {
  const auto form = affine(expr);
  if (!form) return {};
  Range out{form->constant, form->constant};
  const auto add = [](std::optional<int64_t>& bound, int64_t coefficient, std::optional<int64_t> value) {
    int64_t product;
    if (!bound || !value || __builtin_mul_overflow(coefficient, *value, &product) ||
        __builtin_add_overflow(*bound, product, &*bound))
      bound.reset();
  };
  for (const auto& [var, coefficient] : form->terms) {
    if (coefficient == 0) continue;
    const auto found = ranges.find(var);
    const Range range = found == ranges.end() ? Range{} : found->second;
    add(out.low, coefficient, coefficient > 0 ? range.low : range.high);
    add(out.high, coefficient, coefficient > 0 ? range.high : range.low);
  }
  return out;
}

bool provably_repeats(std::span<const Expr> indices, std::span<const VarId> vars, std::span<const int64_t> extents,
                      const std::vector<VarId>& varying) {
  std::vector<VarId> wide;
  std::vector<int64_t> wide_extents;
  for (size_t i = 0; i < vars.size(); ++i) {
    if (extents[i] < 2) continue;
    wide.push_back(vars[i]);
    wide_extents.push_back(extents[i]);
  }
  if (wide.empty()) return false;
  std::set<VarId> changing(wide.begin(), wide.end());
  changing.insert(varying.begin(), varying.end());
  std::vector<std::vector<std::pair<int, Expr>>> parts(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) varying_summands(indices[i], 1, changing, parts[i]);
  if (plainly_injective(parts, wide)) return false;
  for (size_t i = 0; i < vars.size(); ++i) {  // a variable of extent 1 is 0, but products may name it
    if (extents[i] < 2) {
      wide.push_back(vars[i]);
      wide_extents.push_back(1);
    }
  }
  return enumerate_repeats(parts, wide, wide_extents);
}

std::optional<int64_t> constant_value(Expr expr) { return evaluate(expr, {}); }

}  // namespace tilert::builder
