// LLVM IR text to object bytes, as one of the compilers: the row for Language::llvm_ir.
// Not here: finding the plugin and loading its objects (llvm_plugin.h).
#pragma once

#include "compiler/compiler.h"

#include <memory>
#include <string>

namespace tilert {

// Loads the plugin (LlvmPlugin::get with the same `plugin_path`); UNAVAILABLE names the paths tried.
// Its requests: output `object`; target as llvm_target_text writes it, the cpu "native" allowed; no headers, no name
// expressions; options --vectorize-loops and --prefer-vector-width=BITS; every entry name must be a function of the
// object. LLVM cannot be interrupted: cancellation and deadline are looked at before and after.
Result<std::shared_ptr<Compiler>> open_llvm(const std::string& plugin_path = {});

}  // namespace tilert
