// Conversions between f32 and narrower floats as LLVM IR text, for any number of lanes. The 16-bit values travel as i16,
// smaller ones as i8. Results are those of support/dtype.h and small_float.h bit for bit: half to even, subnormals kept,
// NaNs quiet, of 16-bit floats with their payload.
// Not here: integer and saturating casts (the CPU lowering).
#pragma once

#include "codegen/llvm_text.h"
#include "support/dtype.h"

namespace tilert::codegen {

// Each takes and returns a value: <lanes x i16> to <lanes x float> or back; one lane: i16 and float.
std::string widen_f16(LlvmText& t, const CpuIsa& isa, int lanes, const std::string& value);
std::string widen_bf16(LlvmText& t, int lanes, const std::string& value);
std::string narrow_f16(LlvmText& t, const CpuIsa& isa, int lanes, const std::string& value);
std::string narrow_bf16(LlvmText& t, int lanes, const std::string& value);
// To an f32 of ten bits of mantissa.
std::string narrow_tf32(LlvmText& t, int lanes, const std::string& value);
// fp8 and smaller: llvm_small.cpp. The i8 holds the code in its low bits, the others zero.
std::string widen_small(LlvmText& t, DType type, int lanes, const std::string& value);
std::string narrow_small(LlvmText& t, DType type, int lanes, const std::string& value, bool saturates);

}  // namespace tilert::codegen
