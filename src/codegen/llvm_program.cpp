// The module: kernels, then what they call.
#include "codegen/llvm_program.h"

#include "codegen/configuration.h"
#include "codegen/llvm_kernel.h"
#include "codegen/workspace.h"
#include "passes/cpu_lower.h"

namespace tilert::codegen {
namespace {

std::set<std::string> declared_in(const std::string& source) {
  std::set<std::string> names;
  for (size_t at = source.find("declare "); at != std::string::npos; at = source.find("declare ", at + 1)) {
    if (at != 0 && source[at - 1] != '\n') continue;
    const size_t name = source.find('@', at), end = source.find('(', name);
    if (end != std::string::npos) names.insert(source.substr(name + 1, end - name - 1));
  }
  return names;
}

}  // namespace

Result<GeneratedProgram> generate_llvm(passes::Module module, const passes::PassContext& context) {
  const CpuIsa isa = cpu_isa(context.target);
  TILERT_ASSIGN(passes::CpuProgram lowered, passes::cpu_lower(std::move(module), context, isa.lanes));
  GeneratedProgram out;
  out.language = Language::llvm_ir;
  out.target = context.target.text;
  LlvmCallees callees;
  for (size_t k = 0; k < lowered.kernels.size(); ++k) {
    GeneratedKernel kernel;
    out.source += LlvmKernel(lowered, k, isa, callees).run(kernel);
    out.kernels.push_back(std::move(kernel));
  }
  std::vector<MathFunction> of_f64;
  for (const MathUse& use : callees.math) {
    out.source += use.f64 ? emit_math64(use.function, use.lanes) : emit_math(isa, use.function, use.lanes);
    if (use.f64 && (of_f64.empty() || of_f64.back() != use.function)) of_f64.push_back(use.function);
  }
  out.source += math64_declarations(of_f64);
  for (const auto& [dtype, pack] : callees.packs) out.source += emit_pack(isa, dtype, pack);
  for (GemmKind kind : callees.products) out.source += emit_gemm(isa, kind);
  if (callees.rows) out.source += emit_rows_gemm(isa);
  if (callees.reports) out.source += emit_report();
  std::set<std::string> declared = declared_in(out.source);
  for (uint32_t f : callees.functions) {
    TILERT_ASSIGN(const std::string text, llvm_function_text(lowered.module.program.functions[f], declared));
    out.source += text;
  }
  out.workspace = lay_out_workspace(lowered.module.program, out.kernels);
  out.configuration = configuration(lowered, isa.lanes).dump();
  out.program = std::move(lowered.module.program);
  return out;
}

}  // namespace tilert::codegen
