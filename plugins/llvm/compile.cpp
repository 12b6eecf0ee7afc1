// IR text to object bytes. Each job has its own LLVMContext, Module and TargetMachine, so that jobs run side by side.
// The pass list is short: the text is structured already, and a full pipeline would unroll what is blocked by hand.
#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>

#include <csetjmp>
#include <cstring>

#include "target.h"

namespace tilert::llvm_plugin {
namespace {

// What one compilation holds. After a fatal error inside LLVM it is abandoned, not destroyed: its parts may be in any
// state.
struct Job {
  const tilert_llvm_request* request = nullptr;
  Target target;
  std::string errors;
  int32_t code = TILERT_LLVM_OK;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
  llvm::SmallVector<char, 0> output;

  void refuse(int32_t why, const llvm::Twine& text) {
    code = why;
    if (!errors.empty()) errors += '\n';
    errors += text.str();
  }
};

// ---- fatal errors: LLVM reports some faults of a program (an instruction that the target lacks) through a handler
// that must not return. We jump out of the job and abandon it.

thread_local std::jmp_buf* fatal_exit = nullptr;
thread_local char fatal_text[512];

void leave_on_fatal_error(void*, const char* reason, bool) {
  if (fatal_exit == nullptr) return;
  std::strncpy(fatal_text, reason, sizeof fatal_text - 1);
  std::longjmp(*fatal_exit, TILERT_LLVM_COMPILE);
}

void leave_on_bad_alloc(void*, const char* reason, bool) {
  if (fatal_exit == nullptr) return;
  std::strncpy(fatal_text, reason, sizeof fatal_text - 1);
  std::longjmp(*fatal_exit, TILERT_LLVM_OUT_OF_MEMORY);
}

// Runs work(job); the code of a fatal error, or OK. No object with a destructor lives in this frame.
int32_t run_guarded(Job* job, void (*work)(Job*)) {
  std::jmp_buf here;
  const int fault = setjmp(here);
  if (fault != 0) {
    fatal_exit = nullptr;
    return fault;
  }
  fatal_exit = &here;
  work(job);
  fatal_exit = nullptr;
  return TILERT_LLVM_OK;
}

class CollectErrors : public llvm::DiagnosticHandler {
 public:
  explicit CollectErrors(Job* job) : job_(job) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    job_->refuse(TILERT_LLVM_COMPILE, text);
    return true;
  }

 private:
  Job* job_;
};

bool choose_machine(Job* job) {
  const auto& request = *job->request;
  std::string refusal;
  job->code = choose_target(request.triple, request.cpu, request.features, &job->target, &refusal);
  if (job->code != TILERT_LLVM_OK) {
    job->errors = refusal;
    return false;
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // the language contracts by its own pass only
  const Target& chosen = job->target;
  job->machine.reset(chosen.llvm->createTargetMachine(chosen.triple.str(), chosen.cpu, chosen.features, options,
                                                      llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                      llvm::CodeGenOptLevel::Less));
  if (job->machine == nullptr) job->refuse(TILERT_LLVM_INTERNAL, "no target machine for " + chosen.triple.str());
  return job->machine != nullptr;
}

// ---- the module

bool parse(Job* job) {
  const auto& request = *job->request;
  const llvm::StringRef name = request.name != nullptr ? request.name : "kernel";
  // The parser wants a NUL behind the text.
  const auto text = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(request.ir, request.ir_size), name);
  const std::string layout = job->machine->createDataLayout().getStringRepresentation();
  llvm::SMDiagnostic problem;
  job->module = llvm::parseAssembly(*text, problem, job->context, nullptr,
                                    [&](llvm::StringRef, llvm::StringRef) { return std::optional(layout); });
  if (job->module == nullptr) {
    std::string report;
    llvm::raw_string_ostream stream(report);
    problem.print(nullptr, stream, false);
    job->refuse(TILERT_LLVM_COMPILE, llvm::StringRef(report).rtrim());
    return false;
  }
  const std::string& own = job->module->getTargetTriple();
  if (!own.empty() && llvm::Triple(llvm::Triple::normalize(own)).getArch() != job->target.triple.getArch()) {
    job->refuse(TILERT_LLVM_COMPILE, "the module is for " + own + ", the request for " + job->target.triple.str());
    return false;
  }
  job->module->setTargetTriple(job->target.triple.str());
  job->module->setSourceFileName("kernel");  // the object holds this name; the request's is for messages
  return true;
}

bool verify(Job* job) {
  std::string report;
  llvm::raw_string_ostream stream(report);
  if (!llvm::verifyModule(*job->module, &stream)) return true;
  job->refuse(TILERT_LLVM_COMPILE, "the module is not valid LLVM IR: " + llvm::StringRef(report).rtrim());
  return false;
}

bool check_imports(Job* job) {
  std::vector<std::string> refused;
  for (const auto& function : *job->module) {
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty() && !is_helper(function.getName()))
      refused.push_back("@" + function.getName().str());
  }
  for (const auto& variable : job->module->globals()) {
    if (variable.isDeclaration() && !variable.use_empty()) refused.push_back("@" + variable.getName().str());
  }
  if (refused.empty()) return true;
  job->refuse(TILERT_LLVM_UNSUPPORTED, "the module imports " + llvm::join(refused, ", ") +
                                           ", which compiled code may not call; it may call memcpy, memmove, memset, "
                                           "memcmp and the functions of libm that helpers.def lists");
  return false;
}

bool check_entries(Job* job) {
  for (uint32_t i = 0; i < job->request->entry_count; ++i) {
    const char* name = job->request->entries[i];
    const llvm::Function* function = job->module->getFunction(name);
    if (function != nullptr && !function->isDeclaration() && function->hasExternalLinkage()) continue;
    job->refuse(TILERT_LLVM_COMPILE, "the module defines no function @" + std::string(name) + " for callers outside");
    return false;
  }
  return true;
}

void set_attributes(Job* job) {
  for (auto& function : *job->module) {
    if (function.isDeclaration()) continue;
    if (!function.hasFnAttribute("target-cpu")) function.addFnAttr("target-cpu", job->target.cpu);
    if (!function.hasFnAttribute("target-features")) function.addFnAttr("target-features", job->target.features);
    if (job->request->vector_width != 0 && !function.hasFnAttribute("prefer-vector-width"))
      function.addFnAttr("prefer-vector-width", std::to_string(job->request->vector_width));
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.setUWTableKind(llvm::UWTableKind::None);
  }
}

llvm::FunctionPassManager function_passes(bool vectorize_loops) {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LoopRotatePass());
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), true));
  if (vectorize_loops) {
    passes.addPass(llvm::LoopVectorizePass());
    passes.addPass(llvm::InstCombinePass());
  }
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::DCEPass());
  return passes;
}

void optimize(Job* job) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  // No call of a library function is known for what it does: nothing is folded by this machine's libm.
  llvm::TargetLibraryInfoImpl library(job->target.triple);
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  llvm::PassBuilder builder(job->machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass());
  passes.addPass(llvm::GlobalDCEPass());
  const bool vectorize = (job->request->flags & TILERT_LLVM_FLAG_VECTORIZE_LOOPS) != 0;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(function_passes(vectorize)));
  passes.run(*job->module, modules);
}

void emit(Job* job) {
  const bool assembly = (job->request->flags & TILERT_LLVM_FLAG_ASSEMBLY) != 0;
  const auto kind = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  llvm::raw_svector_ostream stream(job->output);
  llvm::legacy::PassManager passes;
  if (job->machine->addPassesToEmitFile(passes, stream, nullptr, kind)) {
    job->refuse(TILERT_LLVM_INTERNAL, "this target cannot write " + std::string(assembly ? "assembly" : "objects"));
    return;
  }
  passes.run(*job->module);
  if (job->code != TILERT_LLVM_OK || assembly) return;
  const std::string imports = unlisted_imports({job->output.data(), job->output.size()});
  if (!imports.empty())
    job->refuse(TILERT_LLVM_UNSUPPORTED, "this target needs library calls that are not offered: " + imports);
}

void run(Job* job) {
  job->context.setDiagnosticHandler(std::make_unique<CollectErrors>(job));
  if (!choose_machine(job) || !parse(job) || !verify(job) || !check_entries(job)) return;
  set_attributes(job);
  optimize(job);
  if (job->code == TILERT_LLVM_OK && check_imports(job)) emit(job);
}

}  // namespace

void install_fatal_handlers() {
  llvm::install_fatal_error_handler(leave_on_fatal_error);
  llvm::install_bad_alloc_error_handler(leave_on_bad_alloc);
}

int32_t compile(const tilert_llvm_request* request, tilert_llvm_buffer* output, tilert_llvm_buffer* error) {
  *error = {};
  *output = {};
  if (request == nullptr || request->struct_size < sizeof(tilert_llvm_request) || request->ir == nullptr ||
      (request->entry_count != 0 && request->entries == nullptr))
    return fail(error, TILERT_LLVM_INVALID_ARGUMENT, "the request is of another version, or without IR text");
  auto job = std::make_unique<Job>();
  job->request = request;
  const int32_t fault = run_guarded(job.get(), run);
  if (fault != TILERT_LLVM_OK) {
    (void)job.release();
    return fail(error, fault, "code generation gave up: " + std::string(fatal_text));
  }
  if (job->code != TILERT_LLVM_OK) return fail(error, job->code, job->errors);
  *output = make_buffer({job->output.data(), job->output.size()});
  if (output->data == nullptr) return fail(error, TILERT_LLVM_OUT_OF_MEMORY, "no memory for the object");
  return TILERT_LLVM_OK;
}

}  // namespace tilert::llvm_plugin
