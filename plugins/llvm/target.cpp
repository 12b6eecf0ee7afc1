// The targets that are linked in, the host's own description, and whether the host runs what was made for another.
#include "target.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace tilert::llvm_plugin {
namespace {

std::string feature_list(const llvm::StringMap<bool>& features) {
  std::vector<std::string> rows;
  for (const auto& feature : features) rows.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(rows.begin(), rows.end());
  return llvm::join(rows, ",");
}

llvm::Triple host_triple() { return llvm::Triple(llvm::sys::getProcessTriple()); }

int32_t find_target(const char* given, Target* target, std::string* refusal) {
  const bool named = given != nullptr && *given != 0;
  target->triple = named ? llvm::Triple(llvm::Triple::normalize(given)) : host_triple();
  const auto arch = target->triple.getArch();
  if ((arch != llvm::Triple::x86_64 && arch != llvm::Triple::aarch64) || !target->triple.isOSBinFormatELF()) {
    *refusal = "the target '" + target->triple.str() +
               "' is not one of this plugin, which makes ELF objects for x86_64 and aarch64";
    return TILERT_LLVM_UNSUPPORTED;
  }
  target->llvm = llvm::TargetRegistry::lookupTarget(target->triple.str(), *refusal);
  return target->llvm != nullptr ? TILERT_LLVM_OK : TILERT_LLVM_UNSUPPORTED;
}

int32_t check_cpu_and_features(const Target& target, std::string* refusal) {
  const std::unique_ptr<llvm::MCSubtargetInfo> info(
      target.llvm->createMCSubtargetInfo(target.triple.str(), "", ""));
  if (!info->isCPUStringValid(target.cpu)) {
    *refusal = "'" + target.cpu + "' is not a cpu of " + target.triple.str();
    return TILERT_LLVM_UNSUPPORTED;
  }
  llvm::SmallVector<llvm::StringRef, 64> rows;
  llvm::StringRef(target.features).split(rows, ',', -1, false);
  for (const llvm::StringRef row : rows) {
    const llvm::StringRef name = row.drop_front();
    const bool known = (row.front() == '+' || row.front() == '-') &&
                       llvm::any_of(info->getAllProcessorFeatures(), [&](const auto& f) { return name == f.Key; });
    if (known) continue;
    *refusal = ("'" + row + "' is not a feature of " + target.triple.str()).str();
    return TILERT_LLVM_UNSUPPORTED;
  }
  return TILERT_LLVM_OK;
}

// Does the host lack this feature? On x86-64 LLVM reports every instruction set as there or not. On aarch64 it reports
// only what is there, so the sets beyond the baseline are named here; other features are matters of tuning.
bool host_lacks(llvm::StringRef feature, bool x86, const llvm::StringMap<bool>& host) {
  static constexpr const char* kArmSets[] = {"dotprod", "fullfp16", "bf16", "i8mm", "sve", "sve2", "sme", "lse", "rdm",
                                             "sha3", "sm4", "aes", "sha2", "fp16fml"};
  const auto found = host.find(feature);
  if (found != host.end()) return !found->second;
  return !x86 && llvm::is_contained(kArmSets, feature);
}

}  // namespace

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
    install_fatal_handlers();
  });
}

int32_t choose_target(const char* triple, const char* cpu, const char* features, Target* target, std::string* refusal) {
  if (const int32_t code = find_target(triple, target, refusal); code != TILERT_LLVM_OK) return code;
  target->cpu = cpu != nullptr ? cpu : "";
  target->features = features != nullptr ? features : "";
  if (target->cpu == "native") {
    if (target->triple.getArch() != host_triple().getArch()) {
      *refusal = "the cpu 'native' goes with the triple of the running machine only";
      return TILERT_LLVM_INVALID_ARGUMENT;
    }
    target->cpu = llvm::sys::getHostCPUName().str();
    const std::string host = feature_list(llvm::sys::getHostCPUFeatures());
    target->features = target->features.empty() ? host : host + "," + target->features;
  }
  if (target->cpu.empty()) target->cpu = target->triple.getArch() == llvm::Triple::x86_64 ? "x86-64" : "generic";
  return check_cpu_and_features(*target, refusal);
}

int32_t host_target(tilert_llvm_buffer* triple, tilert_llvm_buffer* cpu, tilert_llvm_buffer* features,
                    tilert_llvm_buffer* error) {
  *error = {};
  *triple = make_buffer(host_triple().str());
  *cpu = make_buffer(llvm::sys::getHostCPUName().str());
  *features = make_buffer(feature_list(llvm::sys::getHostCPUFeatures()));
  return TILERT_LLVM_OK;
}

int32_t host_runs(const char* triple, const char* cpu, const char* features, tilert_llvm_buffer* error) {
  *error = {};
  Target target;
  std::string refusal;
  if (const int32_t code = choose_target(triple, cpu, features, &target, &refusal); code != TILERT_LLVM_OK)
    return fail(error, code, refusal);
  const llvm::Triple host = host_triple();
  if (target.triple.getArch() != host.getArch())
    return fail(error, TILERT_LLVM_UNSUPPORTED, "the code is for " + target.triple.str() + ", this machine is " + host.str());
  const std::unique_ptr<llvm::MCSubtargetInfo> info(
      target.llvm->createMCSubtargetInfo(target.triple.str(), target.cpu, target.features));
  const auto present = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> missing;
  for (const auto& feature : info->getAllProcessorFeatures()) {
    if (info->getFeatureBits()[feature.Value] &&
        host_lacks(feature.Key, host.getArch() == llvm::Triple::x86_64, present))
      missing.push_back(feature.Key);
  }
  if (missing.empty()) return TILERT_LLVM_OK;
  return fail(error, TILERT_LLVM_UNSUPPORTED, "this machine lacks " + llvm::join(missing, ", "));
}

}  // namespace tilert::llvm_plugin
