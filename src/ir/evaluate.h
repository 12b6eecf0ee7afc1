// The meaning of every scalar operation on bit patterns: what the simplifier folds and the interpreter runs. Rewriting
// expressions lives in src/arith.
// Bit patterns are those of Node::bits: unsigned, bool and float zero-extended, signed and index sign-extended to 64.
// A NaN that an arithmetic operation makes is the type's positive quiet one, so that results are the same on every
// host. Casts: integer to integer wraps, float to integer truncates, saturates and takes NaN to 0, to float rounds
// once, half to even; to bool is "not zero" (NaN is not zero).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/expr.h"
#include "support/float_environment.h"

namespace tilert::ir {

// The value of the node over its operands' bit patterns; nothing for a variable, and where a dtype or operation has no
// evaluation (tf32, fp8 and smaller are converted only). Independent of the thread's rounding mode, flush-to-zero and locale.
std::optional<uint64_t> evaluate(const Node& node, std::span<const uint64_t> operands);

// One operation as a function of up to three bit patterns; null where there is no evaluation. `operand` is the dtype of
// the last operand, `result` the node's own. The caller holds a FloatEnvironment around its calls.
using ScalarFunction = uint64_t (*)(uint64_t, uint64_t, uint64_t);
ScalarFunction scalar_function(Op op, DType operand, DType result);

// Whether values of the dtype can be computed with, or at least converted.
bool can_evaluate(DType dtype);

// The bits of a value of `dtype` as a double (floats of at most 64 bits exactly, integers rounded).
double bits_to_double(DType dtype, uint64_t bits);
// The value in `dtype` as `cast` from f64 rounds it. The caller holds a FloatEnvironment.
uint64_t double_to_bits(DType dtype, double value);

// Elements in memory, little-endian, each in bytes of its own: bit patterns as above.
uint64_t load_element(DType dtype, const void* address);
void store_element(DType dtype, void* address, uint64_t bits);
// Element `index` of packed ones, low bits first; the other bits of its bytes stay.
uint64_t load_packed(DType dtype, const void* base, int64_t index);
void store_packed(DType dtype, void* base, int64_t index, uint64_t bits);

}  // namespace tilert::ir
