// The module: kernels, then what they call.
#include "codegen/llvm_program.h"

#include <nlohmann/json.hpp>

#include "codegen/configuration.h"
#include "codegen/llvm_kernel.h"
#include "passes/cpu_lower.h"

namespace tilert::codegen {

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
  for (const auto& [function, lanes] : callees.math) out.source += emit_math(isa, function, lanes);
  for (const auto& [dtype, pack] : callees.packs) out.source += emit_pack(isa, dtype, pack);
  for (GemmKind kind : callees.products) out.source += emit_gemm(isa, kind);
  if (callees.rows) out.source += emit_rows_gemm(isa);
  out.configuration = configuration(lowered, isa.lanes).dump();
  out.program = std::move(lowered.module.program);
  return out;
}

}  // namespace tilert::codegen
