// Back ends by target; source kernels pass through as they are.
#include "jit/generate.h"

#include "codegen/cuda.h"
#include "codegen/llvm_program.h"
#include "ir/printer.h"
#include "passes/order.h"
#include "support/float_environment.h"
#include "support/refusal.h"

namespace tilert::jit {
namespace {

using codegen::GeneratedProgram;

// A kernel in the user's own text: its parameters are the program's, then all dims.
Result<GeneratedProgram> from_source(passes::Module module, const Target& target) {
  GeneratedProgram out;
  if (module.program.kernels.size() != 1)
    return refusal(fmt::format("program '{}': a source kernel stands alone in its program", module.program.name), "build two programs");
  const ir::SourceKernel& source = *module.program.kernels[0].source;
  const bool is_llvm = source.language == "llvm";
  if (is_llvm != target.is_cpu())
    return refusal(fmt::format("source kernel '{}' is {} text: it cannot be compiled for {}", source.entry, source.language, target.text),
                   is_llvm ? "give CUDA C++ for GPUs" : "give LLVM IR for CPUs");
  out.language = is_llvm ? codegen::Language::llvm_ir : codegen::Language::cuda;
  out.target = target.text;
  out.source = source.text;
  codegen::GeneratedKernel kernel;
  kernel.entry = source.entry;
  kernel.grid = module.program.kernels[0].grid;
  kernel.grid.resize(3, module.program.arena->index(1));
  kernel.block = source.block;
  kernel.cluster_exprs = source.cluster;
  kernel.shared_expr = source.shared_bytes;
  for (const ir::Parameter& p : module.program.parameters) {
    using Kind = codegen::KernelParameter::Kind;
    if (p.kind == ir::Parameter::Kind::tensor) kernel.parameters.push_back({Kind::pointer, p.buffer, nullptr, {}});
    else kernel.parameters.push_back({Kind::value, ir::kNoBuffer, module.program.var(p.var), {}});
  }
  for (const ir::Dim& d : module.program.dims)
    kernel.parameters.push_back({codegen::KernelParameter::Kind::value, ir::kNoBuffer,
                                 d.value ? module.program.arena->index(*d.value) : module.program.var(d.var), {}});
  out.kernels.push_back(std::move(kernel));
  out.headers = source.headers;
  out.options = source.options;
  out.program = std::move(module.program);
  return out;
}

}  // namespace

Result<GeneratedProgram> generate(const ir::Program& program, const std::vector<passes::DimChoice>& dims,
                                  const Target& target, const DeviceClass& device) {
  const FloatEnvironment environment;  // constants are folded, compared and spelled as numbers
  TILERT_ASSIGN(passes::Module module, passes::specialize(program, dims));
  for (const ir::Kernel& k : module.program.kernels)
    if (k.source) return from_source(std::move(module), target);
  const passes::PassContext context{target, device};
  if (target.is_cpu()) return codegen::generate_llvm(std::move(module), context);
  TILERT_ASSIGN(passes::Module lowered, passes::run_gpu_passes(std::move(module), context));
  return codegen::generate_cuda(lowered, context);
}

Result<std::string> text_after(const ir::Program& program, const std::vector<passes::DimChoice>& dims, const Target& target,
                               const DeviceClass& device, std::string_view stage) {
  const FloatEnvironment environment;
  if (stage == "source") {
    TILERT_ASSIGN(GeneratedProgram generated, generate(program, dims, target, device));
    return generated.source;
  }
  TILERT_ASSIGN(passes::Module module, passes::specialize(program, dims));
  if (stage == "specialized") return ir::print(module.program);
  std::string known = "specialized, source";
  bool found = false;
  for (const passes::Pass& pass : passes::gpu_passes()) {
    found |= stage == pass.name;
    known += std::string(", ") + pass.name;
  }
  if (!found || target.is_cpu())
    return make_error(Code::kInvalidArgument, "no stage '{}' for {}; there are: {}", stage, target.text,
                      target.is_cpu() ? "specialized, source" : known);
  TILERT_ASSIGN(passes::Module lowered, passes::run_gpu_passes(std::move(module), {target, device, true}, stage));
  return ir::print(lowered.program);
}

}  // namespace tilert::jit
