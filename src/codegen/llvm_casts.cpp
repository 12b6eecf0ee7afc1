// Casts: saturating to integers, rounded once to floats, wrapping between integers.
#include "codegen/llvm_convert.h"
#include "codegen/llvm_values.h"

namespace tilert::codegen {

std::string LlvmValues::cast(DType from, DType to, int lanes, const std::string& value, bool saturates) {
  if (from == to) return value;
  if (to == DType::tf32) return narrow_tf32(t_, lanes, value);
  if (!dtype_computes(from)) return from_stored(from, to, lanes, value, saturates);
  if (!dtype_computes(to)) return to_stored(from, to, lanes, value, saturates);
  const std::string source = vec(from, lanes), target = vec(to, lanes);
  if (to == DType::boolean) {
    if (dtype_is_float(from)) return t_.let("fcmp une {} {}, {}", source, value, constant(from, 0, lanes));
    return t_.let("icmp ne {} {}, {}", source, value, constant(from, 0, lanes));
  }
  if (dtype_is_float(from) && dtype_is_float(to)) {
    if (from == DType::f64 && to == DType::f32) return t_.let("fptrunc {} {} to {}", source, value, target);
    if (from == DType::f64) return rounded(to, lanes, odd_from_double(lanes, value));
    if (to == DType::f64) return t_.let("fpext {} {} to {}", source, value, target);
    // Within registers the wider types hold what the narrower ones do.
    return to == DType::f32 ? value : rounded(to, lanes, value);
  }
  if (dtype_is_float(to)) return integer_to_float(from, to, lanes, value);
  if (dtype_is_float(from)) {
    const std::string name = fmt::format("llvm.fpto{}i.sat", dtype_is_signed(to) ? "s" : "u");
    const auto suffix = [&](const std::string& element) { return lanes == 1 ? element : fmt::format("v{}{}", lanes, element); };
    return t_.let("call {} @{}.{}.{}({} {})", target, name, suffix(register_type(to)), suffix(from == DType::f64 ? "f64" : "f32"),
                  source, value);
  }
  const int wide = from == DType::boolean ? 1 : dtype_bits(from), width = dtype_bits(to);
  if (wide == width) return value;
  const char* how = width < wide ? "trunc" : dtype_is_signed(from) ? "sext" : "zext";
  return t_.let("{} {} {} to {}", how, source, value, target);
}

std::string LlvmValues::from_stored(DType from, DType to, int lanes, const std::string& value, bool saturates) {
  if (dtype_is_float(from)) return cast(DType::f32, to, lanes, widen_small(t_, from, lanes, value), saturates);
  return cast(DType::int8, to, lanes, value, saturates);
}

// To a small float from the f32 that is nearest or, where that is not the value, rounded to odd.
std::string LlvmValues::to_stored(DType from, DType to, int lanes, const std::string& value, bool saturates) {
  if (dtype_is_float(to)) {
    const bool wide_integer = !dtype_is_float(from) && from != DType::boolean && dtype_bits(from) > 16;
    const std::string single = from == DType::f64 ? odd_from_double(lanes, value)
                               : wide_integer     ? odd_rounded(from, lanes, value)
                                                  : cast(from, DType::f32, lanes, value);
    return narrow_small(t_, to, lanes, single, saturates);
  }
  if (!dtype_is_float(from)) return low_bits(to, lanes, cast(from, DType::int8, lanes, value));
  const bool is_signed = dtype_is_signed(to);
  const std::string word = cast(from, DType::int8, lanes, value), type = vector_type(lanes, "i8");
  const std::string suffix = lanes == 1 ? "i8" : fmt::format("v{}i8", lanes);
  const std::string low = splat_constant(lanes, "i8", is_signed ? "-8" : "0"), high = splat_constant(lanes, "i8", is_signed ? "7" : "15");
  const std::string above = t_.let("call {0} @llvm.smax.{1}({0} {2}, {0} {3})", type, suffix, word, low);
  return t_.let("call {0} @llvm.smin.{1}({0} {2}, {0} {3})", type, suffix, above, high);
}

std::string LlvmValues::low_bits(DType to, int lanes, const std::string& value) {
  const std::string byte = vector_type(lanes, "i8"), part = vector_type(lanes, fmt::format("i{}", dtype_bits(to)));
  const std::string cut = t_.let("trunc {} {} to {}", byte, value, part);
  return t_.let("{} {} {} to {}", dtype_is_signed(to) ? "sext" : "zext", part, cut, byte);
}

std::string LlvmValues::integer_to_float(DType from, DType to, int lanes, const std::string& value) {
  const std::string source = vec(from, lanes), target = vec(to, lanes);
  const char* how = dtype_is_signed(from) ? "sitofp" : "uitofp";
  const bool narrow = to == DType::f16 || to == DType::bf16;
  if (narrow && from != DType::boolean && dtype_bits(from) > 16) return rounded(to, lanes, odd_rounded(from, lanes, value));
  const std::string exact = t_.let("{} {} {} to {}", how, source, value, target);
  return narrow ? rounded(to, lanes, exact) : exact;
}

// The integer as f32 rounded to odd: its leading 24 bits, the last one set where anything was lost. A second rounding to
// a narrower float then gives what one rounding would have given.
std::string LlvmValues::odd_rounded(DType from, int lanes, const std::string& value) {
  const std::string type = vec(from, lanes), flag = vector_type(lanes, "i1"), target = vector_type(lanes, "float");
  const std::string zero = constant(from, 0, lanes);
  const std::string intrinsic = fmt::format("{}i{}", lanes == 1 ? "" : fmt::format("v{}", lanes), dtype_bits(from));
  const bool is_signed = dtype_is_signed(from);
  std::string size = value;
  if (is_signed) size = t_.let("call {} @llvm.abs.{}({} {}, i1 false)", type, intrinsic, type, value);
  const std::string leading = t_.let("call {} @llvm.ctlz.{}({} {}, i1 false)", type, intrinsic, type, size);
  const std::string extra = t_.let("sub {} {}, {}", type, constant(from, static_cast<uint64_t>(dtype_bits(from) - 24), lanes), leading);
  const std::string shift = t_.let("call {0} @llvm.smax.{1}({0} {2}, {0} {3})", type, intrinsic, extra, zero);
  const std::string top = t_.let("lshr {} {}, {}", type, size, shift);
  const std::string back = t_.let("shl {} {}, {}", type, top, shift);
  const std::string lost = t_.let("icmp ne {} {}, {}", type, back, size);
  const std::string sticky = t_.let("zext {} {} to {}", flag, lost, type);
  const std::string odd = t_.let("shl {} {}, {}", type, t_.let("or {} {}, {}", type, top, sticky), shift);
  const std::string positive = t_.let("uitofp {} {} to {}", type, odd, target);
  if (!is_signed) return positive;
  const std::string negative = t_.let("fneg {} {}", target, positive);
  const std::string below = t_.let("icmp slt {} {}, {}", type, value, zero);
  return t_.let("select {} {}, {} {}, {} {}", flag, below, target, negative, target, positive);
}

// The double as f32 rounded to odd, as above: the nearest f32, one step toward zero where that is larger, its last bit set
// where anything was lost.
std::string LlvmValues::odd_from_double(int lanes, const std::string& value) {
  const std::string wide = vector_type(lanes, "double"), near_type = vector_type(lanes, "float"),
                    word = vector_type(lanes, "i32"), flag = vector_type(lanes, "i1");
  const std::string near = t_.let("fptrunc {} {} to {}", wide, value, near_type);
  const std::string back = t_.let("fpext {} {} to {}", near_type, near, wide);
  const std::string lost = t_.let("fcmp one {} {}, {}", wide, back, value);
  const std::string size = call("fabs", DType::f64, lanes, std::span(&value, 1));
  const std::string back_size = call("fabs", DType::f64, lanes, std::span(&back, 1));
  const std::string above = t_.let("zext {} {} to {}", flag, t_.let("fcmp ogt {} {}, {}", wide, back_size, size), word);
  const std::string bits = t_.let("bitcast {} {} to {}", near_type, near, word);
  const std::string toward_zero = t_.let("sub {} {}, {}", word, bits, above);
  const std::string odd = t_.let("or {} {}, {}", word, toward_zero, splat_constant(lanes, "i32", "1"));
  const std::string chosen = t_.let("select {0} {1}, {2} {3}, {2} {4}", flag, lost, word, odd, bits);
  return t_.let("bitcast {} {} to {}", word, chosen, near_type);
}

std::string LlvmValues::reinterpret(DType from, DType to, int lanes, const std::string& value) {
  if (dtype_bits(to) < 8) return low_bits(to, lanes, value);
  const std::string source = vector_type(lanes, memory_type(from)), target = vector_type(lanes, memory_type(to));
  const std::string raw = to_memory(from, lanes, value);
  return from_memory(to, lanes, source == target ? raw : t_.let("bitcast {} {} to {}", source, raw, target));
}

}  // namespace tilert::codegen
