// Host CPU detection: __builtin_cpu_supports where it knows the feature and the operating system's consent matters,
// cpuid or the auxiliary vector for the rest.
#include "target/host_cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace tilert {

#if defined(__x86_64__)
namespace {

struct CpuidWords {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidWords cpuid(unsigned leaf, unsigned sub_leaf) {
  CpuidWords words;
  if (__get_cpuid_count(leaf, sub_leaf, &words.eax, &words.ebx, &words.ecx, &words.edx) == 0) return {};
  return words;
}

bool has_v2() {
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("popcnt");
}

bool has_v3() {
  constexpr unsigned kF16c = 1u << 29, kMovbe = 1u << 22, kLzcnt = 1u << 5;
  const CpuidWords basic = cpuid(1, 0), extended = cpuid(0x80000001u, 0);
  return has_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && (basic.ecx & kF16c) && (basic.ecx & kMovbe) && (extended.ecx & kLzcnt);
}

bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace

std::string_view host_cpu_row() {
  __builtin_cpu_init();
  return has_v4() ? "x86-64-v4" : has_v3() ? "x86-64-v3" : has_v2() ? "x86-64-v2" : "x86-64";
}

bool host_cpu_has_extension(std::string_view extension) {
  __builtin_cpu_init();
  constexpr unsigned kAvxVnni = 1u << 4, kAvx512Bf16 = 1u << 5;
  if (extension == "avxvnni") return has_v3() && (cpuid(7, 1).eax & kAvxVnni);
  if (extension == "avx512vnni") return has_v4() && __builtin_cpu_supports("avx512vnni");
  if (extension == "avx512bf16") return has_v4() && (cpuid(7, 1).eax & kAvx512Bf16);
  return false;
}

#elif defined(__aarch64__)

std::string_view host_cpu_row() { return "armv8-a"; }

bool host_cpu_has_extension(std::string_view extension) {
  constexpr unsigned long kAsimdDotProduct = 1ul << 20, kBf16 = 1ul << 14;
  if (extension == "dotprod") return getauxval(AT_HWCAP) & kAsimdDotProduct;
  if (extension == "bf16") return getauxval(AT_HWCAP2) & kBf16;
  return false;
}

#else
#error "tilert knows x86-64 and aarch64 hosts"
#endif

}  // namespace tilert
