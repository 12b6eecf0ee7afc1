// Conversions by instruction where the target has them, by integer arithmetic where it has not.
#include "codegen/llvm_convert.h"
#include "codegen/llvm_words.h"

namespace tilert::codegen {
namespace {

// The 15 bits below the sign, moved to where an f32 has them, have an exponent that is 112 too small; a product by
// 2^112 mends it exactly, subnormals included.
std::string widen_f16_by_integers(LlvmText& t, int lanes, const std::string& value) {
  Words w(t, lanes);
  const std::string wide = w.from_half_word(value);
  const std::string magnitude = w.op("and", wide, 0x7fffu);
  const std::string sign = w.op("shl", w.op("and", wide, 0x8000u), 16u);
  const std::string small = w.to_float(w.op("shl", magnitude, 13u));
  const std::string scaled =
      t.let("fmul {} {}, {}", w.floats(), small, splat_constant(lanes, "float", f32_constant(0x1p112f)));
  const std::string special = w.op("or", w.op("shl", magnitude, 13u), 0x7f800000u);
  const std::string quiet = w.select(w.compare("ugt", magnitude, 0x7c00u), w.op("or", special, 0x400000u), special);
  const std::string bits = w.select(w.compare("uge", magnitude, 0x7c00u), quiet, w.from_float(scaled));
  return w.to_float(w.op("or", bits, sign));
}

// Three cases by magnitude: at least 2^16, infinity or NaN; below 2^-14, rounded by adding 0.5, whose last bit is
// 2^-24; else rounded by adding just under half of the bits that go.
std::string narrow_f16_by_integers(LlvmText& t, int lanes, const std::string& value) {
  Words w(t, lanes);
  const std::string bits = w.from_float(value);
  const std::string magnitude = w.op("and", bits, 0x7fffffffu);
  const std::string sign = w.op("and", w.op("lshr", bits, 16u), 0x8000u);
  const std::string payload = w.op("and", w.op("lshr", magnitude, 13u), 0x3ffu);
  const std::string nan = w.op("or", payload, 0x7e00u);
  const std::string huge = w.select(w.compare("ugt", magnitude, 0x7f800000u), nan, w.constant(0x7c00u));
  const std::string shifted = t.let("fadd {} {}, {}", w.floats(), w.to_float(magnitude),
                                    splat_constant(lanes, "float", f32_constant(0.5f)));
  const std::string tiny = w.op("sub", w.from_float(shifted), 0x3f000000u);
  const std::string odd = w.op("and", w.op("lshr", magnitude, 13u), 1u);
  const std::string rounded = w.op("add", w.op("add", magnitude, odd), 0xfffu - (112u << 23));
  const std::string normal = w.op("lshr", rounded, 13u);
  const std::string finite = w.select(w.compare("ult", magnitude, 0x38800000u), tiny, normal);
  const std::string result = w.select(w.compare("uge", magnitude, 0x47800000u), huge, finite);
  return w.to_half_word(w.op("or", result, sign));
}

}  // namespace

std::string widen_f16(LlvmText& t, const CpuIsa& isa, int lanes, const std::string& value) {
  if (!isa.f16c) return widen_f16_by_integers(t, lanes, value);
  const std::string half = t.let("bitcast {} {} to {}", vector_type(lanes, "i16"), value, vector_type(lanes, "half"));
  return t.let("fpext {} {} to {}", vector_type(lanes, "half"), half, vector_type(lanes, "float"));
}

std::string narrow_f16(LlvmText& t, const CpuIsa& isa, int lanes, const std::string& value) {
  if (!isa.f16c) return narrow_f16_by_integers(t, lanes, value);
  const std::string half = t.let("fptrunc {} {} to {}", vector_type(lanes, "float"), value, vector_type(lanes, "half"));
  return t.let("bitcast {} {} to {}", vector_type(lanes, "half"), half, vector_type(lanes, "i16"));
}

std::string widen_bf16(LlvmText& t, int lanes, const std::string& value) {
  Words w(t, lanes);
  return w.to_float(w.op("shl", w.from_half_word(value), 16u));
}

std::string narrow_tf32(LlvmText& t, int lanes, const std::string& value) {
  Words w(t, lanes);
  const std::string bits = w.from_float(value);
  const std::string odd = w.op("and", w.op("lshr", bits, 13u), 1u);
  const std::string rounded = w.op("and", w.op("add", w.op("add", bits, 0xfffu), odd), 0xffffe000u);
  const std::string special = w.compare("uge", w.op("and", bits, 0x7fffffffu), 0x7f800000u);
  return w.to_float(w.select(special, bits, rounded));
}

std::string narrow_bf16(LlvmText& t, int lanes, const std::string& value) {
  Words w(t, lanes);
  const std::string bits = w.from_float(value);
  const std::string odd = w.op("and", w.op("lshr", bits, 16u), 1u);
  const std::string rounded = w.op("add", w.op("add", bits, 0x7fffu), odd);
  const std::string quiet = w.op("or", bits, 0x400000u);
  const std::string nan = t.let("fcmp uno {0} {1}, {1}", w.floats(), value);
  return w.to_half_word(w.op("lshr", w.select(nan, quiet, rounded), 16u));
}

}  // namespace tilert::codegen
