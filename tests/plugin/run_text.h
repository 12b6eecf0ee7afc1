// Compiles LLVM IR text for each kind of CPU and loads it where this machine can run it.
#pragma once

#include "codegen/llvm_text.h"
#include "compiler/llvm_plugin.h"

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace tilert::test {

// A kind of CPU: how the text is written and what LLVM is told.
struct Machine {
  const char* name;
  codegen::CpuIsa isa;
  LlvmTarget target;
};

inline void PrintTo(const Machine& machine, std::ostream* out) { *out << machine.name; }

inline std::vector<Machine> machines() {
  using codegen::CpuIsa;
  const auto x86 = CpuIsa::Family::x86, arm = CpuIsa::Family::arm;
  const char* const linux_x86 = "x86_64-unknown-linux-gnu";
  return {{"sse2", {x86, 4, 16, false, false, false}, {linux_x86, "x86-64", ""}},
          {"avx2", {x86, 8, 16, true, true, false}, {linux_x86, "x86-64-v3", ""}},
          {"avx512", {x86, 16, 32, true, true, true}, {linux_x86, "x86-64-v4", ""}},
          {"avx512vnni", {x86, 16, 32, true, true, true}, {linux_x86, "x86-64-v4", "+avx512vnni"}},
          {"neon", {arm, 4, 32, true, true, false}, {"aarch64-unknown-linux-gnu", "generic", ""}}};
}

inline std::string machine_name(const ::testing::TestParamInfo<Machine>& info) { return info.param.name; }

// `text` with the internal function `name` made visible.
inline std::string expose(std::string text, const std::string& name) {
  const size_t at = text.find(" @" + name + "(");
  const size_t word = text.rfind("define internal", at);
  EXPECT_NE(word, std::string::npos) << name;
  return text.replace(word, 15, "define");
}

inline Result<LoadedObject> build(const Machine& machine, const std::string& text) {
  TILERT_ASSIGN(const LlvmPlugin* plugin, LlvmPlugin::get());
  LlvmRequest request;
  request.ir = text;
  request.triple = machine.target.triple;
  request.cpu = machine.target.cpu;
  request.features = machine.target.features;
  TILERT_ASSIGN(const std::string object, plugin->compile(request));
  TILERT_TRY(plugin->host_runs(machine.target));
  return plugin->load_object(object);
}

// The loaded text, or nothing where this machine cannot run it; a text that does not compile is a failure.
inline std::shared_ptr<LoadedObject> build_or_skip(const Machine& machine, const std::string& text) {
  auto built = build(machine, text);
  if (built) return std::make_shared<LoadedObject>(*std::move(built));
  if (built.error().message.find("cannot run here") == std::string::npos) ADD_FAILURE() << built.error().message;
  return nullptr;
}

template <class F>
F* function(const LoadedObject& object, const std::string& name) {
  auto found = object.function<F>(name.c_str());
  EXPECT_TRUE(found) << name;
  return found ? *found : nullptr;
}

}  // namespace tilert::test
