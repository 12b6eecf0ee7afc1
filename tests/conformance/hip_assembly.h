// HIP sources as clang 19 compiles them: what is wrong, and what a loop of products issues.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilert::conformance {

inline constexpr const char* kSpills = "spills, or takes scratch memory";

// The first of clang 19 and llvm-objdump that this machine lacks; empty: none.
std::string missing_hip_tool();

// Empty, or what is wrong with the source as clang compiles it; the assembly, where asked for.
std::string hip_fault(const std::string& source, const std::string& target, std::string* assembly = nullptr);

// The sum of the numbers behind a word of the assembly.
int64_t assembly_total(const std::string& text, const char* word);

// One trip of the loop that has the products, as one wave of a SIMD issues it.
struct ProductLoop {
  int64_t products = 0, matrix_cycles = 0, other_cycles = 0;
  std::vector<std::string> text;  // its instructions in order
  double share() const { return static_cast<double>(matrix_cycles) / static_cast<double>(matrix_cycles + other_cycles); }
};
ProductLoop product_loop(const std::string& assembly, const std::string& target);

}  // namespace tilert::conformance
