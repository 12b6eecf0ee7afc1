// Which machine a request means: a triple, a cpu and a feature list, checked against LLVM's tables.
#pragma once

#include <llvm/TargetParser/Triple.h>

#include "internal.h"

namespace llvm {
class Target;
}

namespace tilert::llvm_plugin {

struct Target {
  const llvm::Target* llvm = nullptr;
  llvm::Triple triple;
  std::string cpu, features;
};

// Fills defaults ("native", the host's triple) and refuses what LLVM does not know: it would only print a warning.
int32_t choose_target(const char* triple, const char* cpu, const char* features, Target* target, std::string* refusal);

void install_fatal_handlers();  // compile.cpp

}  // namespace tilert::llvm_plugin
