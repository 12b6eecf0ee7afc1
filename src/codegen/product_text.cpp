// Specializations of the warpgroup products, by the widths and types that a text names.
#include "codegen/product_text.h"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace tilert::codegen {
namespace {

// The product of one width and dtype: an explicit specialization of tl_wgmma_ss.
std::string wgmma_form(int n, const std::string& type) {
  std::string registers, operands;
  for (int i = 0; i < n / 2; ++i) {
    registers += fmt::format("{}%{}", i ? ", " : "", i);
    operands += fmt::format("{}\"+f\"(d[{}])", i ? ", " : "", i);
  }
  const char* dtype = type == "tl_bf16" ? "bf16" : "f16";
  return fmt::format(
      "template <>\nTL_DEV void tl_wgmma_ss<{0}, {1}>(float (&d)[{2}], tl_u64 a, tl_u64 b, int accumulate) {{\n"
      "  asm volatile(\"{{\\n.reg .pred tl_again;\\nsetp.ne.b32 tl_again, %{5}, 0;\\n\"\n"
      "      \"wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{6}.{6} {{{7}}}, %{3}, %{4}, tl_again, 1, 1, 0, 0;\\n}}\"\n"
      "      : {8}\n      : \"l\"(a), \"l\"(b), \"r\"(accumulate));\n}}\n",
      n, type, n / 2, n / 2, n / 2 + 1, n / 2 + 2, dtype, registers, operands);
}

}  // namespace

std::string product_forms(std::string_view body) {
  constexpr std::string_view kCall = "tl_wgmma_ss<";
  std::set<std::pair<int, std::string>> forms;
  for (size_t at = body.find(kCall); at != std::string_view::npos; at = body.find(kCall, at + 1)) {
    const size_t comma = body.find(", ", at), end = body.find('>', at);
    forms.insert({std::stoi(std::string(body.substr(at + kCall.size(), comma - at - kCall.size()))), std::string(body.substr(comma + 2, end - comma - 2))});
  }
  std::string text;
  for (const auto& [n, type] : forms) text += wgmma_form(n, type);
  return text;
}

}  // namespace tilert::codegen
