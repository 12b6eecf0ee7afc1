// Scalar operations as LLVM IR on values of any number of lanes, with the exact meaning of ir/evaluate.h.
// In registers bool is i1, f16 and bf16 are float holding a value of the narrow type; in memory bool is i8, the 16-bit
// floats are i16. Types that are stored and converted only are i8 in both: a code, 4-bit integers with their sign.
// Not here: where values come from (llvm_program.h).
#pragma once

#include <set>
#include <span>
#include <utility>

#include "codegen/llvm_math.h"
#include "codegen/llvm_text.h"
#include "ir/expr.h"

namespace tilert::codegen {

std::string register_type(DType dtype);
std::string memory_type(DType dtype);

class LlvmValues {
 public:
  LlvmValues(LlvmText& text, const CpuIsa& isa) : t_(text), isa_(isa) {}

  std::string constant(DType dtype, uint64_t bits, int lanes);
  // The operation on operands of dtype `from` (of select: the values'), giving `to`. `tame` says that a
  // division's dividend is not negative and its divisor positive, or that the second operand of min (max) is a number
  // other than +0 (-0).
  std::string operation(ir::Op op, DType from, DType to, int lanes, std::span<const std::string> operands, bool tame = false);
  std::string cast(DType from, DType to, int lanes, const std::string& value, bool saturates = true);
  // `lanes` elements from a pointer to memory of `dtype`, aligned as one element.
  std::string load(DType dtype, int lanes, const std::string& pointer);
  void store(DType dtype, int lanes, const std::string& value, const std::string& pointer);
  std::string splat(DType dtype, int lanes, const std::string& value);
  // Between a register and the type of memory.
  std::string to_memory(DType d, int lanes, const std::string& value);
  std::string from_memory(DType d, int lanes, const std::string& value);

  // The elementary functions that were called, with their lanes.
  const std::set<MathUse>& math() const { return math_; }

 private:
  std::string vec(DType dtype, int lanes) const { return vector_type(lanes, register_type(dtype)); }
  std::string integer_constant(DType dtype, int64_t value, int lanes);
  std::string integer_operation(ir::Op op, DType d, int lanes, std::span<const std::string> v, bool tame);
  std::string philox(int word, int lanes, std::span<const std::string> v);  // llvm_random.cpp
  std::string divided(const char* instruction, DType d, int lanes, const std::string& x, const std::string& y);
  std::string division(ir::Op op, DType d, int lanes, const std::string& x, const std::string& y, bool tame);
  std::string shift(ir::Op op, DType d, int lanes, const std::string& x, const std::string& by);
  std::string float_operation(ir::Op op, DType d, int lanes, std::span<const std::string> v, bool tame);
  std::string float_extremum(ir::Op op, DType d, int lanes, const std::string& x, const std::string& y, bool tame);
  std::string compare(ir::Op op, DType d, int lanes, std::span<const std::string> v);
  std::string float_test(ir::Op op, DType d, int lanes, const std::string& x);
  std::string call(const std::string& intrinsic, DType d, int lanes, std::span<const std::string> v);
  std::string rounded(DType d, int lanes, const std::string& value);  // an f32 result to the 16-bit float
  std::string integer_to_float(DType from, DType to, int lanes, const std::string& value);
  std::string to_stored(DType from, DType to, int lanes, const std::string& value, bool saturates);
  std::string from_stored(DType from, DType to, int lanes, const std::string& value, bool saturates);
  std::string low_bits(DType to, int lanes, const std::string& value);  // of an i8, as a type of less than a byte
  std::string odd_rounded(DType from, int lanes, const std::string& value);
  std::string odd_from_double(int lanes, const std::string& value);
  std::string reinterpret(DType from, DType to, int lanes, const std::string& value);
  LlvmText& t_;
  const CpuIsa& isa_;
  std::set<MathUse> math_;
};

}  // namespace tilert::codegen
