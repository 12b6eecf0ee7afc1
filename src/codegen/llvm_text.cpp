// The small pieces of LLVM IR text that every writer needs.
#include "codegen/llvm_text.h"

#include "target/target.h"

#include <bit>

namespace tilert::codegen {

CpuIsa cpu_isa(const Target& target) {
  CpuIsa isa;
  isa.family = target.arch == CpuArch::x86_64    ? CpuIsa::Family::x86
               : target.arch == CpuArch::aarch64 ? CpuIsa::Family::arm
                                                 : CpuIsa::Family::other;
  isa.lanes = target.vector_bits >= 128 ? target.vector_bits / 32 : 4;
  isa.registers = target.vector_registers > 0 ? target.vector_registers : 16;
  isa.fma = target.has(Feature::fma);
  isa.f16c = target.has(Feature::f16c);
  isa.masked = target.has(Feature::masked_vectors);
  return isa;
}

std::string splat(LlvmText& t, int lanes, std::string_view element, const std::string& value) {
  if (lanes == 1) return value;
  const std::string one = t.let("insertelement <{} x {}> poison, {} {}, i64 0", lanes, element, element, value);
  return t.let("shufflevector <{0} x {1}> {2}, <{0} x {1}> poison, <{0} x i32> zeroinitializer", lanes, element, one);
}

std::string splat_constant(int lanes, std::string_view element, std::string_view value) {
  if (lanes == 1) return std::string(value);
  return fmt::format("splat ({} {})", element, value);
}

std::string f32_constant(float value) { return fmt::format("0x{:016X}", std::bit_cast<uint64_t>(double{value})); }

std::string lanes_below(LlvmText& t, int lanes, int base, const std::string& count) {
  std::string numbers;
  for (int lane = 0; lane < lanes; ++lane) numbers += fmt::format("{}i32 {}", lane > 0 ? ", " : "", base + lane);
  const std::string limit = splat(t, lanes, "i32", count);
  return t.let("icmp slt <{} x i32> <{}>, {}", lanes, numbers, limit);
}

std::string shuffle_mask(const std::vector<int>& lanes) {
  std::string numbers;
  for (size_t i = 0; i < lanes.size(); ++i) numbers += fmt::format("{}i32 {}", i > 0 ? ", " : "", lanes[i]);
  return fmt::format("<{} x i32> <{}>", lanes.size(), numbers);
}

}  // namespace tilert::codegen
