// Random draws: the rounds of ir/philox.h on 64-bit lanes that hold 32-bit words.
#include <algorithm>

#include "codegen/llvm_values.h"
#include "ir/philox.h"

namespace tilert::codegen {

std::string LlvmValues::philox(int word, int lanes, std::span<const std::string> v) {
  const std::string type = vec(DType::int64, lanes);
  const auto number = [&](uint64_t n) { return integer_constant(DType::int64, static_cast<int64_t>(n), lanes); };
  const auto low = [&](const std::string& x) { return t_.let("and {} {}, {}", type, x, number(0xffffffff)); };
  const auto high = [&](const std::string& x) { return t_.let("lshr {} {}, {}", type, x, number(32)); };
  const auto mixed = [&](const std::string& a, const std::string& b, const std::string& c) {
    return t_.let("xor {} {}, {}", type, t_.let("xor {} {}, {}", type, a, b), c);
  };
  std::string c[4] = {low(v[1]), high(v[1]), low(v[2]), high(v[2])}, key[2] = {low(v[0]), high(v[0])};
  for (int round = 0; round < ir::kPhiloxRounds; ++round) {
    const std::string a = t_.let("mul {} {}, {}", type, c[0], number(ir::kPhiloxMultiply[0]));
    const std::string b = t_.let("mul {} {}, {}", type, c[2], number(ir::kPhiloxMultiply[1]));
    const std::string next[] = {mixed(high(b), c[1], key[0]), low(b), mixed(high(a), c[3], key[1]), low(a)};
    std::copy(next, next + 4, c);
    for (int i = 0; i < 2 && round + 1 < ir::kPhiloxRounds; ++i)
      key[i] = low(t_.let("add {} {}, {}", type, key[i], number(ir::kPhiloxKey[i])));
  }
  return c[word];
}

}  // namespace tilert::codegen
