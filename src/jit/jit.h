// jit: the order of things, and nothing else: a program and a target become variants; a variant becomes a request, a
// source, a binary, an artifact; artifacts become a Loaded. What each step does lives in its own room.
// Everything here may be used from any number of threads.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache/cache.h"
#include "compiler/compiler.h"
#include "ir/program.h"
#include "passes/specialize.h"
#include "runtime/device.h"
#include "runtime/loaded.h"
#include "target/target.h"

namespace tilert::jit {

enum class CacheMode : uint8_t { on, memory_only, off };

enum class EventKind : uint8_t { compile_begin, compile_end, cache, sealed_miss };

struct Event {
  EventKind kind;
  Code code = Code::kOk;
  std::string program, target, key, message;
  uint64_t nanoseconds = 0;
};

struct ContextOptions {
  CacheMode cache_mode = CacheMode::on;
  std::string cache_path;        // directory; empty: the user's
  std::string cache_namespace;
  std::string plugin_path;       // of the LLVM plugin; empty: beside the library
  std::string nvrtc_path, hiprtc_path;  // empty: searched
  Isolation isolation = Isolation::never;
  std::string helper_path;  // empty: beside the library
  bool seal = false;
  bool allow_source = false;
  uint64_t deadline_ms = 0;      // of one compile; 0: none
  std::function<void(const Event&)> on_event;  // from any thread, no lock held
};

struct Stats {
  uint64_t memory_hits = 0, disk_hits = 0, misses = 0, compiles = 0, compile_failures = 0, compile_nanoseconds = 0;
  uint64_t puts = 0, put_bytes = 0, cache_faults = 0, sealed_misses = 0, loads = 0;
};

class Context {
 public:
  static Result<std::shared_ptr<Context>> create(ContextOptions options);

  void seal() { sealed_.store(true); }
  bool sealed() const { return sealed_.load(); }
  Stats stats() const;
  const ContextOptions& options() const { return options_; }
  Cache& cache() { return *cache_; }
  Compilers& compilers() { return compilers_; }
  // Artifacts of this process, ready to load: a hit here is one look-up. Null on a miss.
  runtime::ArtifactPtr recall(const RequestKey& key) const;
  void remember(const RequestKey& key, runtime::ArtifactPtr artifact, const BinaryKey& binary);
  std::optional<BinaryKey> recall_binary(const RequestKey& key) const;
  void report(const Event& event) const { if (options_.on_event) options_.on_event(event); }

  struct Counters {
    std::atomic<uint64_t> memory_hits{0}, disk_hits{0}, misses{0}, compiles{0}, compile_failures{0}, compile_nanoseconds{0};
    std::atomic<uint64_t> puts{0}, put_bytes{0}, sealed_misses{0}, loads{0};
  };
  Counters& counters() { return counters_; }

 private:
  Context() = default;
  ContextOptions options_;
  std::shared_ptr<Cache> cache_;
  Compilers compilers_;
  std::atomic<bool> sealed_{false};
  Counters counters_;
  struct Remembered {
    runtime::ArtifactPtr artifact;
    BinaryKey binary;
  };
  mutable std::shared_mutex mutex_;  // of what follows
  std::unordered_map<RequestKey, Remembered> artifacts_;
};

// A dim's value, or its buckets, given when a kernel is made; dims not named stay as the program declared them.
struct DimBinding {
  uint32_t dim = 0;
  std::optional<int64_t> value;
  std::vector<ir::Bucket> buckets;
};

struct KernelOptions {
  std::string target;                       // "sm_90a", "cpu", ...
  std::optional<DeviceClass> device_class;  // none: the target's default
  std::vector<DimBinding> dims;
};

// One specialization. Compiled at most once; immutable afterwards.
class Variant {
 public:
  struct Info {
    bool compiled = false;
    std::string target, request_key, binary_key, conditions, configuration, log;
    uint64_t compile_nanoseconds = 0, binary_bytes = 0;
    uint32_t registers = 0, spill_bytes = 0, threads = 0, shared_bytes = 0;
  };

  // The present state; it changes once, when the variant is compiled. What was returned stays valid as long as the variant.
  const Info& info() const;
  // Text at a stage: "specialized", "source", or the name of a pass of passes/order.h ("lower", ...). Compiles nothing.
  Result<std::string> text(std::string_view stage) const;
  // How it was made (jit/explain.h), as text or JSON. Compiles nothing.
  Result<std::string> explain(bool as_json) const;
  runtime::ArtifactPtr artifact() const;   // null: not compiled
  Result<runtime::ArtifactPtr> compile();  // or fetch

 private:
  friend class Kernel;
  Result<runtime::ArtifactPtr> fetch();
  Result<runtime::ArtifactPtr> make();

  std::shared_ptr<Context> context_;
  std::shared_ptr<const ir::Program> program_;
  Target target_;
  DeviceClass device_;
  std::vector<passes::DimChoice> choices_;
  RequestKey key_;
  std::string conditions_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const Info> infos_[2];  // before and after it was compiled
  runtime::ArtifactPtr artifact_;
  BinaryKey binary_key_;
  std::string log_;
  uint64_t compile_nanoseconds_ = 0;
  std::vector<KernelResources> resources_;
};

// A program for a target, with its table of variants.
class Kernel {
 public:
  // Keys the program; compiles nothing. SOURCE_REFUSED where the program holds source text and the context forbids it.
  static Result<std::shared_ptr<Kernel>> create(std::shared_ptr<Context> context, std::shared_ptr<const ir::Program> program,
                                                const KernelOptions& options);

  Status compile();  // all variants; needs no device
  size_t variant_count() const { return variants_.size(); }
  std::shared_ptr<Variant> variant(size_t index) const { return index < variants_.size() ? variants_[index] : nullptr; }
  // Compiles or fetches, and loads, the variants that take `dims` (by index, -1: any; empty: all variants). Again for the
  // same device gives the same Loaded.
  Result<runtime::LoadedPtr> prepare(const std::shared_ptr<runtime::Device>& device, std::span<const int64_t> dims);

 private:
  std::shared_ptr<Context> context_;
  std::vector<std::shared_ptr<Variant>> variants_;
  std::mutex mutex_;
  std::vector<std::pair<std::weak_ptr<runtime::Device>, runtime::LoadedPtr>> loaded_;
};

}  // namespace tilert::jit
