// Expressions, constants, references and words of .tir.
#include <charconv>
#include <cmath>

#include "ir/evaluate.h"
#include "ir/parser_impl.h"
#include "support/small_float.h"

namespace tilert::ir {

// ---- words and numbers ----

int64_t Parser::integer(std::string_view what) {
  int64_t value = 0;
  const std::string_view text = s_.text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (s_.kind() != Token::number || error != std::errc() || end != text.data() + text.size()) {
    s_.fail(what);
    return 0;
  }
  s_.advance();
  return value;
}

int Parser::narrow(std::string_view what) {
  const size_t place = s_.place();
  const int64_t value = integer(what);
  if (value >= INT32_MIN && value <= INT32_MAX) return static_cast<int>(value);
  s_.fail_at(place, fmt::format("{} is too large for {}", value, what));
  return 0;
}

std::string Parser::string(std::string_view what) {
  if (s_.kind() != Token::string) {
    s_.fail(what);
    return {};
  }
  std::string text = s_.unquoted();
  s_.advance();
  return text;
}

DType Parser::dtype() {
  const auto type = s_.kind() == Token::word ? dtype_from_text(s_.text()) : std::nullopt;
  if (!type) {
    s_.fail("an element type (bool, i8, i32, f16, f32, index, ...)");
    return DType::index;
  }
  s_.advance();
  return *type;
}

uint32_t Parser::location_number() {
  const size_t place = s_.place();
  const int64_t number = integer("a location's number");
  if (number >= 0 && number < static_cast<int64_t>(p_.locations.size())) return static_cast<uint32_t>(number);
  s_.fail_at(place, fmt::format("location {} is not declared", number));
  return 0;
}

// ---- references ----

Parser::Reference Parser::split(std::string_view text) {
  Reference r;
  const size_t dot = text.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? text : text.substr(dot + 1);
  uint64_t id = 0;
  const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), id);
  const bool number = !last.empty() && error == std::errc() && end == last.data() + last.size();
  if (number) r.id = id;
  if (dot == std::string_view::npos)
    r.name = number ? std::string_view() : text;
  else
    r.name = text.substr(0, dot);
  r.valid = (number || dot == std::string_view::npos) && r.name.find('.') == std::string_view::npos;
  return r;
}

void Parser::declare(Names& names, const std::string& name, uint32_t id) {
  if (name.empty()) return;
  const auto [at, added] = names.emplace(name, id);
  if (!added) at->second = kAmbiguous;
}

uint32_t Parser::resolve(const Names& names, size_t count, std::string_view what) {
  const Reference r = split(s_.text());
  uint32_t id = 0;
  if (r.id) {
    if (!r.valid || *r.id >= count) {
      s_.fail_at(s_.place(), fmt::format("{} '{}' is not declared", what, s_.text()));
      return 0;
    }
    id = static_cast<uint32_t>(*r.id);
  } else {
    const auto found = names.find(std::string(r.name));
    if (found == names.end() || found->second == kAmbiguous) {
      s_.fail_at(s_.place(),
                 fmt::format("{} '{}' is {}", what, s_.text(),
                             found == names.end() ? "not declared" : "declared more than once: say its number"));
      return 0;
    }
    id = found->second;
  }
  s_.advance();
  return id;
}

VarId Parser::var() {
  if (s_.kind() == Token::variable) return resolve(var_names_, p_.vars.size(), "variable");
  s_.fail("a variable, %name or %number");
  return 0;
}

BufferId Parser::buffer_reference() {
  if (s_.kind() == Token::buffer) return resolve(buffer_names_, p_.buffers.size(), "buffer");
  s_.fail("a buffer, @name or @number");
  return 0;
}

// ---- expressions ----

void Parser::define() {
  if (s_.kind() != Token::defined) return s_.fail("a definition's number, $n");
  const Reference r = split(s_.text());
  if (!r.id || *r.id != definitions_.size())
    return s_.fail_at(s_.place(), fmt::format("definitions are numbered in order: expected ${}", definitions_.size()));
  s_.advance();
  s_.expect("=");
  definitions_.push_back(expr());
}

std::vector<Expr> Parser::exprs(bool may_be_null) {
  std::vector<Expr> list;
  s_.expect("[");
  while (!s_.failed() && !s_.is("]")) {
    list.push_back(may_be_null ? optional_expr() : expr());
    if (!s_.accept(",")) break;
  }
  s_.expect("]");
  return list;
}

Expr Parser::optional_expr() { return s_.accept("_") ? nullptr : expr(); }

Expr Parser::expr(int depth) {
  if (depth > limits_.expression_depth) {
    s_.fail_at(s_.place(), fmt::format("expressions nest more than {} deep here", limits_.expression_depth));
    return nothing();
  }
  if (s_.kind() == Token::number) return p_.arena->index(integer("an index"));
  if (s_.kind() == Token::variable) {
    const VarId id = var();
    return s_.failed() ? nothing() : p_.var(id);
  }
  if (s_.kind() == Token::defined) {
    const Reference r = split(s_.text());
    if (!r.id || *r.id >= definitions_.size()) {
      s_.fail("a definition made before");
      return nothing();
    }
    s_.advance();
    return definitions_[*r.id];
  }
  if (s_.kind() != Token::word) {
    s_.fail("an expression");
    return nothing();
  }
  const std::string_view name = s_.text();
  const size_t place = s_.place();
  s_.advance();
  if (name == "true" || name == "false") return p_.arena->boolean(name == "true");
  if (const OpRow* row = op_from_text(name); row && row->rule == TypeRule::convert) return converted(row->op, depth);
  if (const auto type = dtype_from_text(name)) return constant(*type);
  if (op_from_text(name)) return operation(name, depth);
  s_.fail_at(place, fmt::format("'{}' is no operation", name));
  return nothing();
}

// Definitions make deep expressions of shallow lines.
Expr Parser::shallow(Expr e, size_t place) {
  if (e->depth <= kMaxExpressionDepth) return e;
  s_.fail_at(place, fmt::format("the expression is more than {} operations deep with what its names stand for", kMaxExpressionDepth));
  return nothing();
}

Expr Parser::converted(Op op, int depth) {
  s_.expect("<");
  const DType to = dtype();
  s_.expect(">");
  s_.expect("(");
  const size_t place = s_.place();
  const Expr value = expr(depth + 1);
  s_.expect(")");
  if (!s_.failed() && op == Op::reinterpret && dtype_bits(value->dtype) != dtype_bits(to))
    s_.fail_at(place, fmt::format("bits<{}> needs a value of {} bits, this one has {}", dtype_text(to), dtype_bits(to),
                                  dtype_bits(value->dtype)));
  if (s_.failed()) return nothing();
  if (op == Op::cast_nonsat && !has_overflow_value(to))
    s_.fail_at(place, fmt::format("cast_nonsat<{}>: the type has neither infinity nor NaN", dtype_text(to)));
  if (s_.failed()) return nothing();
  return shallow(p_.arena->conversion(op, value, to), place);
}

Expr Parser::operation(std::string_view name, int depth) {
  const OpRow& row = *op_from_text(name);
  const size_t place = s_.place();
  Expr operands[3] = {};
  s_.expect("(");
  for (int i = 0; i < row.arity && !s_.failed(); ++i) {
    if (i) s_.expect(",");
    operands[i] = expr(depth + 1);
  }
  s_.expect(")");
  if (s_.failed()) return nothing();
  const std::span<const Expr> used(operands, static_cast<size_t>(row.arity));
  if (!well_typed(row.op, used)) {
    std::string types;
    for (Expr e : used) types += fmt::format("{}{}", types.empty() ? "" : ", ", dtype_text(e->dtype));
    s_.fail_at(place, fmt::format("{} does not take ({})", row.text, types));
    return nothing();
  }
  return shallow(p_.arena->make(row.op, used), place);
}

Expr Parser::constant(DType type) {
  s_.expect("(");
  const size_t place = s_.place();
  const std::string_view text = s_.text();
  if (s_.kind() != Token::number && s_.kind() != Token::word) {
    s_.fail("a number");
    return nothing();
  }
  s_.advance();
  s_.expect(")");
  if (s_.failed()) return nothing();
  uint64_t bits = 0;
  const bool hex = text.substr(0, 2) == "0x";
  const char* const first = text.data() + (hex ? 2 : 0);
  const char* const last = text.data() + text.size();
  std::from_chars_result read;
  if (hex || !dtype_is_signed(type))
    read = std::from_chars(first, last, bits, hex ? 16 : 10);
  else {
    int64_t value = 0;
    read = std::from_chars(first, last, value);
    bits = static_cast<uint64_t>(value);
  }
  if (dtype_is_float(type) && !hex) {
    const Expr value = float_constant(type, text);
    if (value) return value;
  } else if (read.ec == std::errc() && read.ptr == last && !text.empty()) {
    const Expr value = p_.arena->constant(type, bits);
    const uint64_t zero_extended =
        dtype_bits(type) == 64 ? value->bits : value->bits & ((uint64_t{1} << dtype_bits(type)) - 1);
    if (value->bits == bits || (hex && zero_extended == bits)) return value;
  }
  s_.fail_at(place, fmt::format("'{}' is no value of {}", text, dtype_text(type)));
  return nothing();
}

// A decimal in the float type, rounded once from the nearest double (f32 and f64: from the decimal itself).
Expr Parser::float_constant(DType type, std::string_view text) {
  if (!can_evaluate(type)) return nullptr;
  const FloatEnvironment environment;
  double value = 0;
  std::from_chars_result read;
  if (type == DType::f32) {
    float single = 0;
    read = std::from_chars(text.data(), text.data() + text.size(), single);
    value = single;
  } else {
    read = std::from_chars(text.data(), text.data() + text.size(), value);
  }
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return nullptr;
  return p_.arena->constant(type, double_to_bits(type, value));
}

}  // namespace tilert::ir
