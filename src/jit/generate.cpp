// Back ends by target; source kernels pass through as they are.
#include "jit/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/c_program.h"
#include "codegen/llvm_program.h"
#include "compiler/source_guard.h"
#include "ir/printer.h"
#include "ir/visit.h"
#include "passes/order.h"
#include "support/float_environment.h"
#include "support/refusal.h"

namespace tilert::jit {
namespace {

using codegen::GeneratedProgram;

// A kernel in the user's own text: its parameters are the program's, then all dims.
codegen::GeneratedKernel source_kernel(const ir::Program& program, const ir::Kernel& from) {
  const ir::SourceKernel& source = *from.source;
  codegen::GeneratedKernel kernel;
  kernel.entry = source.entry;
  kernel.grid = from.grid;
  kernel.grid.resize(3, program.arena->index(1));
  kernel.block = source.block;
  kernel.cluster_exprs = source.cluster;
  kernel.shared_expr = source.shared_bytes;
  using Kind = codegen::KernelParameter::Kind;
  for (const ir::Parameter& p : program.parameters) {
    if (p.kind == ir::Parameter::Kind::tensor) kernel.parameters.push_back({Kind::pointer, p.buffer, nullptr, {}});
    else kernel.parameters.push_back({Kind::value, ir::kNoBuffer, program.var(p.var), {}});
  }
  for (const ir::Dim& d : program.dims)
    kernel.parameters.push_back({Kind::value, ir::kNoBuffer, d.value ? program.arena->index(*d.value) : program.var(d.var), {}});
  return kernel;
}

// What its text brings along. Beside other kernels it is compiled with them, as one text.
Status add_source(GeneratedProgram& out, const ir::SourceKernel& source, bool alone) {
  if (!alone && !source.options.empty())
    return refusal(fmt::format("source kernel '{}' has compiler options, which would be those of the program's other kernels too", source.entry),
                   "leave them out, or build two programs");
  for (const auto& [name, text] : source.headers) {
    const auto known = std::find_if(out.headers.begin(), out.headers.end(), [&](const auto& h) { return h.first == name; });
    if (known == out.headers.end()) out.headers.emplace_back(name, text);
    else if (known->second != text)
      return make_error(Code::kInvalidProgram, "source kernel '{}': an earlier kernel has another header '{}'", source.entry, name);
  }
  for (const codegen::GeneratedKernel& k : out.kernels)
    if (k.entry == source.entry)
      return make_error(Code::kInvalidProgram, "two kernels of the program have the entry '{}'", source.entry);
  out.options = source.options;
  out.source += (out.source.empty() ? "" : "\n") + source.text;
  return {};
}

// Each device function that is called has a text for the target, which makes the compiler read no files.
Status check_functions(const ir::Program& program, const Target& target) {
  const char* const language = target.language();
  Status status;
  std::set<uint32_t> known;
  for (const ir::Kernel& k : program.kernels)
    ir::for_each_stmt(k.body, [&](const ir::Stmt& s) {
      const auto* call = std::get_if<ir::CallDevice>(&s.node);
      if (!call || !status || !known.insert(call->function).second) return;
      const ir::DeviceFunction& f = program.functions[call->function];
      const std::string* const text = ir::text_in(f, language);
      if (!text) {
        status = refusal(fmt::format("{}: the device function '{}' has no text in \"{}\": it cannot be compiled for {}",
                                     ir::describe(program, s), f.name, language, target.text),
                         fmt::format("declare it with a text in \"{}\" too", language));
        return;
      }
      CompileRequest request;
      request.language = target.is_cpu() ? Language::llvm_ir : target.is_hip() ? Language::hip : Language::cuda;
      request.source = *text;
      if (const Status guarded = guard_source(request); !guarded)
        status = make_error(guarded.error().code, "the device function '{}', its text in \"{}\": {}", f.name, language, guarded.error().message);
    });
  return status;
}

// Kernels in the user's own text, among those that are generated or without any.
Result<GeneratedProgram> with_sources(passes::Module module, const passes::PassContext& context) {
  const Target& target = context.target;
  const std::vector<ir::Kernel> all = std::move(module.program.kernels);
  module.program.kernels.clear();
  for (const ir::Kernel& k : all) {
    if (!k.source) {
      module.program.kernels.push_back(k);
    } else if (k.source->language != target.language()) {
      return refusal(fmt::format("source kernel '{}' is {} text: it cannot be compiled for {}", k.source->entry, k.source->language, target.text),
                     target.is_cpu() ? "give LLVM IR for CPUs" : target.is_hip() ? "give HIP C++ for AMD GPUs" : "give CUDA C++ for NVIDIA GPUs");
    }
  }
  if (target.is_cpu() && all.size() > 1)
    return refusal(fmt::format("program '{}': on a CPU a source kernel stands alone in its program", module.program.name), "build two programs");
  GeneratedProgram out;
  if (module.program.kernels.empty()) {
    out.language = target.is_cpu() ? codegen::Language::llvm_ir : target.is_hip() ? codegen::Language::hip : codegen::Language::cuda;
    out.target = target.text;
    out.program = std::move(module.program);
  } else {
    TILERT_ASSIGN(passes::Module lowered, passes::run_gpu_passes(std::move(module), context));
    TILERT_ASSIGN(out, codegen::generate_c_program(lowered, context));
  }
  for (size_t k = 0; k < all.size(); ++k) {
    if (!all[k].source) continue;
    TILERT_TRY(add_source(out, *all[k].source, all.size() == 1));
    out.kernels.insert(out.kernels.begin() + static_cast<std::ptrdiff_t>(k), source_kernel(out.program, all[k]));
  }
  return out;
}

}  // namespace

Result<GeneratedProgram> generate(const ir::Program& program, const std::vector<passes::DimChoice>& dims,
                                  const Target& target, const DeviceClass& device) {
  const FloatEnvironment environment;  // constants are folded, compared and spelled as numbers
  TILERT_TRY(check_functions(program, target));
  TILERT_ASSIGN(passes::Module module, passes::specialize(program, dims));
  const passes::PassContext context{target, device};
  for (const ir::Kernel& k : module.program.kernels)
    if (k.source) return with_sources(std::move(module), context);
  if (target.is_cpu()) return codegen::generate_llvm(std::move(module), context);
  TILERT_ASSIGN(passes::Module lowered, passes::run_gpu_passes(std::move(module), context));
  return codegen::generate_c_program(lowered, context);
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
