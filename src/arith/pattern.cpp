// Parsing, matching and instantiating patterns.
#include "arith/pattern.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "ir/evaluate.h"
#include "support/immortal.h"

namespace tilert::arith {
namespace {

using ir::Expr;
using ir::Op;

constexpr std::string_view kLetters = "xyzwcd";

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Pattern pattern() {
    skip();
    Pattern out;
    if (text_[at_] == '(') {
      ++at_;
      out.kind = Pattern::Kind::node;
      out.op = ir::op_from_text(word())->op;
      for (skip(); text_[at_] != ')'; skip()) out.operands.push_back(pattern());
      ++at_;
      return out;
    }
    const std::string_view token = word();
    const size_t letter = token.size() == 1 ? kLetters.find(token[0]) : std::string_view::npos;
    if (letter != std::string_view::npos) {
      out.kind = letter < 4 ? Pattern::Kind::any : Pattern::Kind::constant;
      out.slot = static_cast<int>(letter);
    } else if (token == "true" || token == "false") {
      out.kind = Pattern::Kind::boolean;
      out.integer = token == "true";
    } else if (token.find('.') != std::string_view::npos) {
      out.kind = Pattern::Kind::real;
      std::from_chars(token.data(), token.data() + token.size(), out.real);
    } else {
      out.kind = Pattern::Kind::integer;
      std::from_chars(token.data(), token.data() + token.size(), out.integer);
    }
    return out;
  }

  std::vector<Guard> guards() {
    std::vector<Guard> out;
    for (skip(); at_ < text_.size(); skip()) {
      const std::string_view token = word();
      const size_t digits = token.find_first_of("-0123456789");
      int64_t limit = 0;
      std::from_chars(token.data() + digits, token.data() + token.size(), limit);
      const std::string_view sign = token.substr(1, digits - 1);
      Range range;
      if (sign == ">=") range.low = limit;
      if (sign == ">") range.low = limit + 1;
      if (sign == "<=") range.high = limit;
      if (sign == "<") range.high = limit - 1;
      out.push_back({static_cast<int>(kLetters.find(token[0])), range});
    }
    return out;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string_view word() {
    skip();
    const size_t from = at_;
    while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != ')' && text_[at_] != '(') ++at_;
    return text_.substr(from, at_ - from);
  }

  std::string_view text_;
  size_t at_ = 0;
};

using Table = std::array<std::vector<Rule>, 256>;

Table make_table() {
  struct Row { char operand_class; std::string_view pattern, replacement, guard; };
  constexpr Row kRows[] = {
#define TILERT_RULE(operand_class, pattern, replacement, guard) {#operand_class[0], pattern, replacement, guard},
#include "arith/rules.def"
#undef TILERT_RULE
  };
  Table table;
  for (const Row& row : kRows) {
    Rule rule{row.operand_class, Parser(row.pattern).pattern(), Parser(row.replacement).pattern(),
              Parser(row.guard).guards()};
    table[static_cast<size_t>(rule.pattern.op)].push_back(std::move(rule));
  }
  return table;
}

bool class_matches(char wanted, DType dtype) {
  switch (wanted) {
    case 'i': return dtype_is_integer(dtype);
    case 'f': return dtype_is_float(dtype);
    case 'b': return dtype == DType::boolean;
    default: return true;
  }
}

bool match(const Pattern& p, Expr e, Bindings& bindings) {
  switch (p.kind) {
    case Pattern::Kind::constant:
      if (!e->is_constant()) return false;
      [[fallthrough]];
    case Pattern::Kind::any:
      if (bindings.value[p.slot]) return bindings.value[p.slot] == e;
      bindings.value[p.slot] = e;
      return true;
    case Pattern::Kind::integer:
      if (p.integer < 0 && !dtype_is_signed(e->dtype)) return false;
      return e->is_constant() && dtype_is_integer(e->dtype) && e->as_int() == p.integer;
    case Pattern::Kind::boolean: return e->is_constant() && e->dtype == DType::boolean && e->as_int() == p.integer;
    case Pattern::Kind::real: {
      if (!e->is_constant() || !dtype_is_float(e->dtype) || !ir::can_evaluate(e->dtype)) return false;
      const double value = ir::bits_to_double(e->dtype, e->bits);
      return value == p.real && std::signbit(value) == std::signbit(p.real);
    }
    case Pattern::Kind::node: break;
  }
  if (e->op != p.op || e->arity != p.operands.size()) return false;
  const Bindings before = bindings;
  bool all = true;
  for (size_t i = 0; all && i < p.operands.size(); ++i) all = match(p.operands[i], e->operand[i], bindings);
  if (all || !is_commutative(p.op)) return all;
  bindings = before;
  return match(p.operands[0], e->operand[1], bindings) && match(p.operands[1], e->operand[0], bindings);
}

}  // namespace

std::span<const Rule> rules_of(Op op) {
  static const Table& table = immortal(make_table());
  return table[static_cast<size_t>(op)];
}

bool is_commutative(Op op) {
  switch (op) {
    case Op::add: case Op::mul: case Op::min: case Op::max: case Op::min_nan: case Op::max_nan: case Op::bit_and:
    case Op::bit_or: case Op::bit_xor: case Op::eq: case Op::ne: case Op::logical_and: case Op::logical_or: return true;
    default: return false;
  }
}

bool matches(const Rule& rule, Expr e, const Facts& facts, Bindings& bindings) {
  const DType operand = e->op == Op::select ? e->operand[1]->dtype : e->operand[0]->dtype;
  if (!class_matches(rule.operand_class, operand)) return false;
  bindings = {};
  if (!match(rule.pattern, e, bindings)) return false;
  for (const Guard& guard : rule.guards) {
    const Range range = facts.range(bindings.value[guard.slot]);
    if (!range.within(guard.range.low, guard.range.high)) return false;
  }
  return true;
}

Expr instantiate(ir::Arena& arena, const Pattern& p, const Bindings& bindings, DType dtype) {
  switch (p.kind) {
    case Pattern::Kind::any:
    case Pattern::Kind::constant: return bindings.value[p.slot];
    case Pattern::Kind::integer: return arena.constant(dtype, static_cast<uint64_t>(p.integer));
    case Pattern::Kind::boolean: return arena.boolean(p.integer != 0);
    case Pattern::Kind::real: return arena.number(dtype, p.real);
    case Pattern::Kind::node: break;
  }
  Expr operands[3] = {};
  for (size_t i = 0; i < p.operands.size(); ++i) operands[i] = instantiate(arena, p.operands[i], bindings, dtype);
  return arena.make(p.op, std::span<const Expr>(operands, p.operands.size()));
}

}  // namespace tilert::arith
