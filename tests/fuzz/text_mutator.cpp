// How libFuzzer changes program text: whole lines move, come twice or go, names and numbers are exchanged for others of the
// same text, words for words of the language. Bytes change as well, half of the time. Linked by fuzz_tir alone.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t room);

namespace tilert::fuzz {
namespace {

const char* const kWords[] = {
#define TILERT_OP(name, arity, rule, text, c) text,
#include "ir/ops.def"
#undef TILERT_OP
    "bool",       "i8",       "u8",       "i16",     "i32",     "u32",      "i64",       "f16",    "bf16",     "f32",
    "f64",        "index",    "global",   "shared",  "fragment", "var",     "local",     "registers", "in",    "out",
    "inout",      "may_alias", "table", "addressed", "strides", "strided", "argument", "align",   "divisible", "range",  "divisor",  "threads",
    "hint", "must", "min_blocks", "max_registers", "consumers", "raster", "roles", "safe", "valid",   "prefer",
    "tma",        "async",    "sync",     "must",    "evict",   "first",    "last",      "trans_a", "trans_b", "accumulate",
    "split",      "rows",     "columns",  "square",  "reduce",  "max_nan",  "absmax",    "bit_and", "exact",   "serial",
    "unrolled",   "pipelined", "stages",  "step",    "group",   "call",     "move",      "alloc",  "load",     "store",
    "cast",       "bits",     "true",     "false",   "stage",   "offset",   "inline",    "source", "_",        "->"};
const char* const kNumbers[] = {"0", "1", "-1", "2", "16", "64", "256", "4096", "2147483647", "2147483648", "-2147483648",
                                "4294967296", "9223372036854775807", "-9223372036854775808", "1152921504606846976"};

class Chance {
 public:
  explicit Chance(unsigned seed) : state_(seed * 2654435761u + 1) {}
  size_t below(size_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return n ? static_cast<size_t>(state_ >> 33) % n : 0;
  }

 private:
  uint64_t state_;
};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    out.emplace_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return out;
}

struct Token {
  size_t at, size;
};

// Words and names with their sigil, and numbers.
std::vector<Token> tokens_of(std::string_view text) {
  const auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  std::vector<Token> out;
  for (size_t at = 0; at < text.size();) {
    const bool starts = inside(text[at]) || text[at] == '%' || text[at] == '@' || text[at] == '-';
    size_t end = at + 1;
    while (starts && end < text.size() && inside(text[end])) ++end;
    if (starts) out.push_back({at, end - at});
    at = end;
  }
  return out;
}

// What a token is exchanged with: a name, a number or a word, as it is.
char kind_of(std::string_view token) {
  if (token[0] == '%' || token[0] == '@') return token[0];
  return std::isdigit(static_cast<unsigned char>(token.back())) && !std::isalpha(static_cast<unsigned char>(token[0])) ? '0' : 'w';
}

std::string exchanged(const std::string& text, Chance& chance) {
  const std::vector<Token> all = tokens_of(text);
  if (all.empty()) return text;
  const Token token = all[chance.below(all.size())];
  const std::string_view old = std::string_view(text).substr(token.at, token.size);
  std::string by;
  std::vector<std::string_view> alike;
  for (const Token& t : all)
    if (const auto other = std::string_view(text).substr(t.at, t.size); kind_of(other) == kind_of(old)) alike.push_back(other);
  if (kind_of(old) == '0' && chance.below(2))
    by = kNumbers[chance.below(std::size(kNumbers))];
  else if (kind_of(old) == 'w' && chance.below(2))
    by = kWords[chance.below(std::size(kWords))];
  else
    by = alike[chance.below(alike.size())];
  return text.substr(0, token.at) + by + text.substr(token.at + token.size);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

std::string moved(const std::string& text, Chance& chance) {
  std::vector<std::string> lines = lines_of(text);
  if (lines.size() < 2) return text;
  const size_t from = chance.below(lines.size()), to = chance.below(lines.size());
  const size_t count = 1 + chance.below(std::min<size_t>(4, lines.size() - from));
  const std::vector<std::string> some(lines.begin() + static_cast<std::ptrdiff_t>(from),
                                      lines.begin() + static_cast<std::ptrdiff_t>(from + count));
  switch (chance.below(3)) {
    case 0:
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(from), lines.begin() + static_cast<std::ptrdiff_t>(from + count));
      break;
    case 1: lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(to), some.begin(), some.end()); break;
    default: std::swap(lines[from], lines[to]);
  }
  return joined(lines);
}

size_t put(const std::string& text, uint8_t* data, size_t room) {
  const size_t size = std::min(text.size(), room);
  if (size) std::memcpy(data, text.data(), size);
  return size;
}

}  // namespace
}  // namespace tilert::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t room, unsigned seed) {
  using namespace tilert::fuzz;
  Chance chance(seed);
  if (size == 0 || chance.below(2)) return LLVMFuzzerMutate(data, size, room);
  std::string text(reinterpret_cast<const char*>(data), size);
  for (size_t edits = 1 + chance.below(3); edits > 0; --edits)
    text = chance.below(3) ? exchanged(text, chance) : moved(text, chance);
  return put(text, data, room);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* one, size_t one_size, const uint8_t* two, size_t two_size,
                                            uint8_t* out, size_t room, unsigned seed) {
  using namespace tilert::fuzz;
  Chance chance(seed);
  const std::vector<std::string> a = lines_of({reinterpret_cast<const char*>(one), one_size});
  const std::vector<std::string> b = lines_of({reinterpret_cast<const char*>(two), two_size});
  std::vector<std::string> lines = a;
  if (!b.empty()) {
    const auto from = static_cast<std::ptrdiff_t>(chance.below(b.size()));
    const auto count = static_cast<std::ptrdiff_t>(1 + chance.below(std::min<size_t>(12, b.size() - static_cast<size_t>(from))));
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(chance.below(lines.size() + 1)), b.begin() + from,
                 b.begin() + from + count);
  }
  return put(joined(lines), out, room);
}
