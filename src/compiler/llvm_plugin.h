// The LLVM plugin as the core sees it: found and loaded on demand, then asked for objects and for running code.
// Not here: what LLVM does with the text (plugins/llvm), which text to compile (src/codegen).
#pragma once

#include "support/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct tilert_llvm_plugin;
struct tilert_llvm_module;

namespace tilert {

struct Target;

// One compilation of LLVM IR text. Empty triple: the running machine's. Empty cpu: the triple's baseline; "native": the
// running machine's cpu and features.
struct LlvmRequest {
  std::string_view ir;
  std::string name = "kernel";  // of the module, in messages
  std::string triple, cpu, features;
  uint32_t vector_width = 0;    // preferred width in bits; 0: the cpu's own preference
  bool vectorize_loops = false;
  std::vector<std::string> entries;  // functions that it must define for callers outside
  bool assembly = false;        // assembly text instead of object bytes
};

// A machine as LLVM spells it. Its text, in requests and artifacts, is "triple:cpu:features", trailing colons dropped:
// "x86_64-unknown-linux-gnu:x86-64-v3", "aarch64-unknown-linux-gnu", "x86_64-unknown-linux-gnu::+avx2,+fma".
struct LlvmTarget {
  std::string triple, cpu, features;
  bool operator==(const LlvmTarget&) const = default;
};
// A CPU target of target.h, "cpu:x86-64-v3+avxvnni", is read as well.
// The file that LlvmPlugin::get would open first without a path of its own; empty where there is none.
std::string llvm_plugin_place();

std::string llvm_target_text(const LlvmTarget& target);
Result<LlvmTarget> parse_llvm_target(std::string_view text);
LlvmTarget llvm_target(const Target& target);  // of a CPU target

// Object bytes that have become code of this process. Owns the code: entries are valid as long as it lives, and no
// thread may be inside when it goes. Movable; entry() may be called from any thread.
class LoadedObject {
 public:
  LoadedObject() = default;
  LoadedObject(LoadedObject&& other) noexcept;
  LoadedObject& operator=(LoadedObject&& other) noexcept;
  ~LoadedObject();

  void* entry(const char* name) const;  // null where the object exports no function of that name
  // As F (a function type); INTERNAL names what is missing.
  template <class F>
  Result<F*> function(const char* name) const {
    if (void* address = entry(name)) return reinterpret_cast<F*>(address);
    return make_error(Code::kInternal, "the compiled object has no function '{}'", name);
  }

 private:
  friend class LlvmPlugin;
  LoadedObject(const tilert_llvm_plugin* table, tilert_llvm_module* module) : table_(table), module_(module) {}

  const tilert_llvm_plugin* table_ = nullptr;
  tilert_llvm_module* module_ = nullptr;
};

// The loaded plugin. One per file and process, never unloaded; every member may be called from any thread.
class LlvmPlugin {
 public:
  // Tries, in order: `path` alone where it is given; $TILERT_LLVM_PLUGIN (ignored with raised privileges);
  // libtilert_llvm.so beside this library, then in tilert-0 (the SONAME's number) below it, in ../lib, and, for a
  // program in bin with the library inside, in tilert-0 below the folder of libraries. UNAVAILABLE lists what was tried,
  // or says that the plugin has another ABI. Loads from disk the first time; cheap afterwards.
  static Result<const LlvmPlugin*> get(const std::string& path = {});

  const std::string& build_id() const { return build_id_; }  // provenance of what it compiles
  const std::string& path() const { return path_; }

  Result<LlvmTarget> host_target() const;
  // Can this machine run code made for `target`? UNSUPPORTED names the instruction sets that it lacks.
  Status host_runs(const LlvmTarget& target) const;
  // Object bytes. COMPILE carries LLVM's message as log and the text as source; UNSUPPORTED a target or import refused.
  Result<std::string> compile(const LlvmRequest& request) const;
  // CORRUPT: not an object of this machine. UNAVAILABLE: the system gives no executable memory.
  Result<LoadedObject> load_object(std::string_view bytes) const;

 private:
  LlvmPlugin(const tilert_llvm_plugin* table, std::string path);
  static Result<const LlvmPlugin*> open(const std::string& path);

  const tilert_llvm_plugin* table_;
  std::string path_;
  std::string build_id_;
};

}  // namespace tilert
