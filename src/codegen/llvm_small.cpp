// Conversions between f32 and floats of 8 bits and less, by integer arithmetic from their formats (support/small_float.h).
#include "codegen/llvm_convert.h"
#include "codegen/llvm_words.h"
#include "support/small_float.h"

namespace tilert::codegen {
namespace {

constexpr uint32_t kInfinity = 0x7f800000u, kNan = 0x7fc00000u, kSize = 0x7fffffffu;

// The fields of a code moved to those of an f32 have an exponent that is too small by a constant; a product mends it exactly,
// subnormals included.
std::string widen_format(LlvmText& t, const SmallFloat& f, int lanes, const std::string& value) {
  Words w(t, lanes);
  const auto mask = static_cast<uint32_t>(f.code_mask()), most = static_cast<uint32_t>(f.most);
  const std::string code = w.from_byte(value);
  const std::string size = w.op("and", code, mask);
  const std::string sign = w.op("mul", w.op("and", code, mask + 1), 0x80000000u / (mask + 1));
  const std::string small = w.to_float(w.op("shl", size, static_cast<uint32_t>(23 - f.mantissa_bits)));
  const float scale = __builtin_ldexpf(1.0f, 127 - f.bias);
  std::string bits = w.op("or", w.from_float(w.real_op("fmul", small, w.real(scale))), sign);
  if (!f.negative_zero) return w.to_float(w.select(w.compare("eq", code, mask + 1), w.constant(kNan), bits));
  if (f.nan < 0) return w.to_float(bits);
  std::string special = w.constant(kNan);
  if (f.infinity >= 0)
    special = w.select(w.compare("eq", size, static_cast<uint32_t>(f.infinity)), w.op("or", sign, kInfinity), special);
  return w.to_float(w.select(w.compare("ugt", size, most), special, bits));
}

// Rounded by adding just under half of the bits that go; below the least normal value by adding a float whose last bit is the
// type's least step.
std::string narrow_format(LlvmText& t, const SmallFloat& f, int lanes, const std::string& value, bool saturates) {
  Words w(t, lanes);
  const auto mask = static_cast<uint32_t>(f.code_mask()), most = static_cast<uint32_t>(f.most);
  const auto cut = static_cast<uint32_t>(23 - f.mantissa_bits);
  const std::string bits = w.from_float(value), size = w.op("and", bits, kSize);
  const std::string sign = w.op("and", w.op("lshr", bits, static_cast<uint32_t>(31 - f.exponent_bits - f.mantissa_bits)), mask + 1);
  const std::string odd = w.op("and", w.op("lshr", size, cut), 1u);
  const std::string rounded = w.op("add", w.op("add", size, odd), (1u << (cut - 1)) - 1);
  const std::string normal = w.op("sub", w.op("lshr", rounded, cut), static_cast<uint32_t>(127 - f.bias) << f.mantissa_bits);
  const auto step = static_cast<uint32_t>(151 - f.bias - f.mantissa_bits) << 23;
  const std::string sum = w.real_op("fadd", w.to_float(size), w.to_float(w.constant(step)));
  const std::string tiny = w.op("sub", w.from_float(sum), step);
  std::string code = w.select(w.compare("ult", size, static_cast<uint32_t>(128 - f.bias) << 23), tiny, normal);
  const bool to_nan = !saturates && f.infinity < 0 && f.nan >= 0;
  const uint32_t beyond = !saturates && f.infinity >= 0 ? static_cast<uint32_t>(f.infinity) : most;
  const std::string over = w.compare("ugt", code, most);
  std::string signed_code = w.op("or", w.select(over, w.constant(beyond), code), sign);
  if (!f.negative_zero) signed_code = w.select(w.compare("eq", code, 0u), w.constant(0), signed_code);
  const uint32_t nan = static_cast<uint32_t>(f.nan >= 0 ? f.nan : f.most);
  if (to_nan) signed_code = w.select(over, w.constant(nan), signed_code);
  return w.to_byte(w.select(w.compare("ugt", size, kInfinity), w.constant(nan), signed_code));
}

std::string widen_e8m0(LlvmText& t, int lanes, const std::string& value) {
  Words w(t, lanes);
  const std::string code = w.from_byte(value);
  const std::string finite = w.select(w.compare("eq", code, 0u), w.constant(0x00400000u), w.op("shl", code, 23u));
  return w.to_float(w.select(w.compare("eq", code, 255u), w.constant(kNan), finite));
}

std::string narrow_e8m0(LlvmText& t, int lanes, const std::string& value, bool saturates) {
  Words w(t, lanes);
  const std::string size = w.op("and", w.from_float(value), kSize);
  const std::string odd = w.op("and", w.op("lshr", size, 23u), 1u);
  const std::string normal = w.op("lshr", w.op("add", w.op("add", size, odd), 0x003fffffu), 23u);
  const std::string tiny = w.select(w.compare("ugt", size, 0x00600000u), w.constant(1), w.constant(0));
  std::string code = w.select(w.compare("ult", size, 0x00800000u), tiny, normal);
  if (saturates) code = w.select(w.compare("ugt", code, 254u), w.constant(254), code);
  const std::string wrong = w.real_compare("ult", value, w.real(0));  // or NaN
  return w.to_byte(w.select(wrong, w.constant(255), code));
}

std::string widen_nf4(LlvmText& t, int lanes, const std::string& value) {
  Words w(t, lanes);
  const std::string code = w.from_byte(value);
  std::string out = w.real(kNf4Values[0]);
  for (uint32_t i = 1; i < 16; ++i) out = w.real_select(w.compare("eq", code, i), w.real(kNf4Values[i]), out);
  return out;
}

std::string narrow_nf4(LlvmText& t, int lanes, const std::string& value) {
  Words w(t, lanes);
  std::string code = w.constant(0);
  for (uint32_t i = 0; i < 15; ++i) {
    const std::string above = w.real_compare("ugt", value, w.real(kNf4Bounds[i]));  // NaN is above all
    code = w.select(above, w.constant(i + 1), code);
  }
  return w.to_byte(code);
}

}  // namespace

std::string widen_small(LlvmText& t, DType type, int lanes, const std::string& value) {
  if (type == DType::e8m0) return widen_e8m0(t, lanes, value);
  if (type == DType::nf4) return widen_nf4(t, lanes, value);
  return widen_format(t, *small_float(type), lanes, value);
}

std::string narrow_small(LlvmText& t, DType type, int lanes, const std::string& value, bool saturates) {
  if (type == DType::e8m0) return narrow_e8m0(t, lanes, value, saturates);
  if (type == DType::nf4) return narrow_nf4(t, lanes, value);
  return narrow_format(t, *small_float(type), lanes, value, saturates);
}

}  // namespace tilert::codegen
