// What the C handles hold, their reference counts, and whether they survived a fork. The functions are in the files
// beside.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "builder/builder.h"
#include "ir/program.h"
#include "jit/jit.h"
#include "runtime/device.h"
#include "runtime/fork_guard.h"
#include "runtime/loaded.h"
#include "support/result.h"
#include "tilert.h"

namespace tilert::capi {

// Base of every handle. A handle of the parent process is dead in a forked child: it answers FORKED, and the last
// release there leaks it, since threads and driver contexts that it holds are gone.
struct HandleBase {
  std::atomic<uint32_t> references{1};
  const uint32_t generation = runtime::watch_forks();

  bool forked() const { return generation != runtime::fork_generation(); }
};

template <class T>
void retain(T* handle) {
  if (handle) handle->references.fetch_add(1, std::memory_order_relaxed);
}
template <class T>
void release(T* handle) {
  if (handle && handle->references.fetch_sub(1, std::memory_order_acq_rel) == 1 && !handle->forked()) delete handle;
}

}  // namespace tilert::capi

struct tilert_error {
  std::atomic<uint32_t> references{1};
  tilert::Error error;
};

struct tilert_builder : tilert::capi::HandleBase {
  explicit tilert_builder(const char* name) : builder(name) {}
  tilert::builder::Builder builder;
};

struct tilert_program : tilert::capi::HandleBase {
  explicit tilert_program(std::shared_ptr<const tilert::ir::Program> p);
  std::shared_ptr<const tilert::ir::Program> program;
  bool has_source = false;
  std::mutex mutex;  // of both; not call_once, through whose C frames an exception ends the process where libgcc is linked statically
  std::optional<std::string> text, hash;
};

struct tilert_context : tilert::capi::HandleBase {
  std::shared_ptr<tilert::jit::Context> context;
};

struct tilert_device : tilert::capi::HandleBase {
  std::shared_ptr<tilert::jit::Context> context;
  std::shared_ptr<tilert::runtime::Device> device;
  std::string target;  // that kernels for it are made for
};

// A jit kernel per target: one where the target was given, else one for each target prepared for.
struct tilert_kernel : tilert::capi::HandleBase {
  std::shared_ptr<tilert::jit::Context> context;
  std::shared_ptr<const tilert::ir::Program> program;
  tilert::jit::KernelOptions options;
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<tilert::jit::Kernel>> kernels;
};

struct tilert_variant : tilert::capi::HandleBase {
  std::shared_ptr<tilert::jit::Kernel> kernel;
  std::shared_ptr<tilert::jit::Variant> variant;
  std::mutex mutex;
  // What text() handed out: kept, since callers hold pointers into it.
  std::map<std::string, std::string> texts;
  std::string explanations[2];  // by tilert_explain_format
  tilert::runtime::ArtifactPtr artifact;
};

struct tilert_loaded : tilert::capi::HandleBase {
  std::shared_ptr<tilert::jit::Kernel> kernel;
  std::shared_ptr<const tilert::ir::Program> program;
  tilert::runtime::LoadedPtr loaded;
};

struct tilert_job : tilert::capi::HandleBase {};
