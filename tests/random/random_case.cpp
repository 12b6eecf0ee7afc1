// Cases: text and data.
#include "random/random_case.h"

#include <limits>
#include <sstream>

#include "ir/evaluate.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/visit.h"
#include "random/dice.h"

namespace tilert::random {
namespace {

constexpr uint8_t kPoison[] = {0xff, 0xa5, 0xa5};  // floats (a NaN), integers, bool (none)

uint64_t seed_of(const Case& c, const std::string& name) {
  uint64_t hash = c.seed;
  for (char letter : name) hash = scramble(hash ^ static_cast<unsigned char>(letter));
  return hash;
}

// Of the parameter whose memory a buffer has: what the name says of an alias.
std::string name_of_memory(const Case& c, const ir::Buffer& b) {
  const std::string& name = c.program.parameters[static_cast<size_t>(b.parameter)].name;
  return alias_of(name).value_or(name);
}

uint64_t element(DType dtype, Data data, Dice& dice) {
  if (dtype == DType::boolean) return static_cast<uint64_t>(dice.below(2));
  if (data == Data::special && dtype_is_float(dtype) && dtype_computes(dtype) && dice.chance(12)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return ir::double_to_bits(dtype, dice.of({infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), -0.0}));
  }
  if (data == Data::wide && dtype_is_integer(dtype)) return dice.bits();
  if (dtype == DType::e8m0) return ir::double_to_bits(dtype, dice.of({1.0, 1.0, 2.0}));
  const int64_t bound = data == Data::unit || dtype == DType::nf4 ? 1 : kDataBound;
  const int64_t value = dtype_is_integer(dtype) && !dtype_is_signed(dtype) ? dice.from(0, bound) : dice.from(-bound, bound);
  return dtype_is_float(dtype) ? ir::double_to_bits(dtype, static_cast<double>(value)) : static_cast<uint64_t>(value);
}

// Complements of it are for types whose values have every pattern.
uint8_t poison_of(DType dtype) { return kPoison[dtype_is_float(dtype) ? 0 : dtype == DType::boolean ? 2 : 1]; }

}  // namespace

Data data_of(const std::string& name) {
  switch (name[0]) {
    case 'B': return Data::unit;
    case 'N': return Data::special;
    case 'W': return Data::wide;
    default: return Data::small;
  }
}

bool is_approximate(const std::string& name) { return name[0] == 'E'; }

std::optional<std::string> alias_of(const std::string& name) {
  const size_t at = name.find('_');
  if (name[0] != 'S' || at == std::string::npos) return std::nullopt;
  return name.substr(at + 1);
}

std::vector<int> shared_memory(const Case& c) {
  const std::vector<ir::Parameter>& all = c.program.parameters;
  std::vector<int> out(all.size(), -1);
  for (size_t i = 0; i < all.size(); ++i) {
    const auto of = alias_of(all[i].name);
    for (size_t j = 0; of && j < i; ++j)
      if (all[j].name == *of) out[i] = static_cast<int>(j);
  }
  return out;
}

Case copy_of(const Case& original) {
  return {ir::clone(original.program), original.dims, original.bound, original.seed};
}

std::string to_text(const Case& c) {
  std::string head = "// case seed " + std::to_string(c.seed);
  for (size_t i = 0; i < c.dims.size(); ++i)
    head += (i ? " " : " dims ") + std::to_string(c.dims[i]) + (c.bound[i] ? "!" : "");
  const std::string text = ir::print(c.program);
  const size_t line = text.find('\n') + 1;  // the format's own line stays first
  return text.substr(0, line) + head + "\n" + text.substr(line);
}

Result<Case> from_text(const std::string& text) {
  Case c;
  TILERT_ASSIGN(c.program, ir::parse(text, "case"));
  c.dims.assign(c.program.dims.size(), 1);
  c.bound.assign(c.program.dims.size(), false);
  const size_t at = text.find("// case seed ");
  if (at == std::string::npos) return c;
  std::istringstream words(text.substr(at + 13, text.find('\n', at) - at - 13));
  std::string word;
  words >> c.seed >> word;
  for (size_t i = 0; i < c.dims.size() && words >> word; ++i) {
    c.bound[i] = word.back() == '!';
    c.dims[i] = std::stoll(word);
  }
  return c;
}

int64_t value_of(const Case& c, ir::Expr expr) {
  if (expr->is_constant()) return expr->as_int();
  if (expr->is_variable()) {
    for (size_t i = 0; i < c.dims.size(); ++i)
      if (c.program.dims[i].var == expr->var()) return c.dims[i];
    return 0;
  }
  uint64_t operands[3] = {};
  for (int i = 0; i < expr->arity; ++i) operands[i] = static_cast<uint64_t>(value_of(c, expr->operand[i]));
  return static_cast<int64_t>(ir::evaluate(*expr, std::span<const uint64_t>(operands, expr->arity)).value_or(0));
}

Entries entries_of(const Case& c, const ir::Buffer& table) {
  Entries out;
  ir::Buffer one = table;
  one.entries = ir::Entries::none;
  one.shape.erase(one.shape.begin()), one.strides.erase(one.strides.begin());
  out.elements = elements_of(c, one);
  out.room = (out.elements + 63) / 64 * 64;
  const uint64_t seed = seed_of(c, name_of_memory(c, table));
  for (int64_t i = 0; i < value_of(c, table.shape[0]); ++i)
    out.there.push_back(out.elements > 0 && scramble(seed + static_cast<uint64_t>(i)) % 6 != 0);
  return out;
}

int64_t elements_of(const Case& c, const ir::Buffer& tensor) {
  if (ir::is_table(tensor)) {
    const Entries entries = entries_of(c, tensor);
    return entries.room * static_cast<int64_t>(entries.there.size());
  }
  int64_t last = 0;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    const int64_t size = value_of(c, tensor.shape[d]);
    if (size == 0) return 0;
    last += (size - 1) * value_of(c, tensor.strides[d]);
  }
  return last + 1;
}

size_t bytes_for(DType dtype, int64_t elements) {
  const auto count = static_cast<size_t>(elements);
  return dtype_is_packed(dtype) ? (count * static_cast<size_t>(dtype_bits(dtype)) + 7) / 8
                                : count * static_cast<size_t>(dtype_bytes(dtype));
}

int64_t elements_in(DType dtype, const Bytes& bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  return dtype_is_packed(dtype) ? size * 8 / dtype_bits(dtype) : size / dtype_bytes(dtype);
}

uint64_t element_at(DType dtype, const Bytes& bytes, int64_t i) {
  return dtype_is_packed(dtype) ? ir::load_packed(dtype, bytes.data(), i)
                                : ir::load_element(dtype, bytes.data() + i * dtype_bytes(dtype));
}

void put_element(DType dtype, Bytes& bytes, int64_t i, uint64_t bits) {
  if (dtype_is_packed(dtype)) ir::store_packed(dtype, bytes.data(), i, bits);
  else ir::store_element(dtype, bytes.data() + i * dtype_bytes(dtype), bits);
}

std::vector<std::vector<uint8_t>> make_data(const Case& c, bool other_poison) {
  const FloatEnvironment environment;
  std::vector<std::vector<uint8_t>> out;
  const std::vector<int> memory = shared_memory(c);
  for (const ir::Parameter& parameter : c.program.parameters) {
    if (const int of = memory[out.size()]; of >= 0) {
      out.push_back(out[static_cast<size_t>(of)]);
      continue;
    }
    const Data data = data_of(parameter.name);
    Dice dice(seed_of(c, parameter.name));
    if (parameter.kind == ir::Parameter::Kind::scalar) {
      out.emplace_back(8, uint8_t{0});
      ir::store_element(DType::int64, out.back().data(), element(c.program.vars[parameter.var].dtype, data, dice));
      continue;
    }
    const ir::Buffer& b = c.program.buffer(parameter.buffer);
    const int64_t count = elements_of(c, b);
    const auto poison = static_cast<uint8_t>(other_poison ? ~poison_of(b.dtype) : poison_of(b.dtype));
    out.emplace_back(bytes_for(b.dtype, count), poison);
    if (b.direction == ir::Direction::out) continue;
    for (int64_t i = 0; i < count; ++i) put_element(b.dtype, out.back(), i, element(b.dtype, data, dice));
  }
  return out;
}

}  // namespace tilert::random
