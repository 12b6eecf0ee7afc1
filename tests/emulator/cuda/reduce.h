// Reductions of tensor copies into global memory, element by element.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emulator/cuda/numbers.h"

namespace tilert::emulator {

enum class ReduceOp : int { add, min, max, bit_and, bit_or, bit_xor };

template <class T>
T reduce_values(ReduceOp op, T a, T b) {
  switch (op) {
    case ReduceOp::add:
      if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
      else return static_cast<T>(a + b);
    case ReduceOp::min: return std::min(a, b);
    case ReduceOp::max: return std::max(a, b);
    default: return a;
  }
}

template <class T>
void reduce_integers(ReduceOp op, uint8_t* to, const uint8_t* from) {
  T a, b;
  std::memcpy(&a, to, sizeof a);
  std::memcpy(&b, from, sizeof b);
  a = op == ReduceOp::bit_and ? a & b : op == ReduceOp::bit_or ? a | b : op == ReduceOp::bit_xor ? a ^ b : reduce_values(op, a, b);
  std::memcpy(to, &a, sizeof a);
}

// `type`: the driver's number of a tensor map's element type.
inline void reduce_element(ReduceOp op, int type, uint8_t* to, const uint8_t* from) {
  const auto half = [&](auto decode, auto encode) {
    uint16_t a, b;
    std::memcpy(&a, to, 2);
    std::memcpy(&b, from, 2);
    a = encode(reduce_values(op, decode(a), decode(b)));
    std::memcpy(to, &a, 2);
  };
  float a, b;
  switch (type) {
    case 2: return reduce_integers<uint32_t>(op, to, from);
    case 3: return reduce_integers<int32_t>(op, to, from);
    case 4: return reduce_integers<uint64_t>(op, to, from);
    case 5: return reduce_integers<int64_t>(op, to, from);
    case 6: return half(f16_to_float, float_to_f16);
    case 9: return half(bf16_to_float, float_to_bf16);
    case 7:
      std::memcpy(&a, to, 4);
      std::memcpy(&b, from, 4);
      a = reduce_values(op, a, b);
      return static_cast<void>(std::memcpy(to, &a, 4));
    default: return static_cast<void>(std::memcpy(to, from, 1));
  }
}

}  // namespace tilert::emulator
