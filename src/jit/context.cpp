// A context: one cache, the compilers, counters.
#include "compiler/helper.h"
#include "compiler/hip.h"
#include "compiler/llvm_compiler.h"
#include "compiler/nvrtc.h"
#include "jit/jit.h"

namespace tilert::jit {
namespace {

bool is_fault(size_t event) {
  switch (event) {
#define TILERT_CACHE_EVENT(name, number, serious, text) \
  case number: return serious;
#include "cache/events.def"
#undef TILERT_CACHE_EVENT
    default: return false;
  }
}

}  // namespace

Result<std::shared_ptr<Context>> Context::create(ContextOptions options) {
  std::shared_ptr<Context> context(new Context());
  context->options_ = std::move(options);
  const ContextOptions& o = context->options_;
  context->sealed_ = o.seal;
  CacheOptions cache;
  cache.disk = o.cache_mode == CacheMode::on;
  cache.directory = o.cache_path;
  cache.name_space = o.cache_namespace;
  if (o.on_event) {
    cache.on_event = [report = o.on_event](const CacheEvent& e) {
      report({EventKind::cache, Code::kOk, {}, {}, {}, std::string(cache_event_text(e.kind)) + ": " + e.path + " " + e.detail, 0});
    };
  }
  context->cache_ = Cache::open(std::move(cache));
  context->compilers_.add(Language::cuda, [path = o.nvrtc_path] { return open_nvrtc({path, {}}); });
  context->compilers_.add(Language::hip, [path = o.hiprtc_path] { return open_hip({path}); });
  context->compilers_.add(Language::llvm_ir, [path = o.plugin_path] { return open_llvm(path); });
  if (o.isolation != Isolation::never) {
    TILERT_ASSIGN(std::string helper, find_helper(o.helper_path));
    context->compilers_.isolate(o.isolation, [helper = std::move(helper), places = CompilerPlaces{o.nvrtc_path, o.hiprtc_path, o.plugin_path}](
                                                 const CompileRequest& request, const CompileControl& control) {
      return compile_in_helper(helper, places, request, control);
    });
  }
  return context;
}

runtime::ArtifactPtr Context::recall(const RequestKey& key) const {
  std::shared_lock lock(mutex_);
  const auto found = artifacts_.find(key);
  return found == artifacts_.end() ? nullptr : found->second.artifact;
}

std::optional<BinaryKey> Context::recall_binary(const RequestKey& key) const {
  std::shared_lock lock(mutex_);
  const auto found = artifacts_.find(key);
  return found == artifacts_.end() ? std::nullopt : std::optional(found->second.binary);
}

void Context::remember(const RequestKey& key, runtime::ArtifactPtr artifact, const BinaryKey& binary) {
  std::unique_lock lock(mutex_);
  artifacts_.try_emplace(key, Remembered{std::move(artifact), binary});
}

Stats Context::stats() const {
  Stats s;
  s.memory_hits = counters_.memory_hits;
  s.disk_hits = counters_.disk_hits;
  s.misses = counters_.misses;
  s.compiles = counters_.compiles;
  s.compile_failures = counters_.compile_failures;
  s.compile_nanoseconds = counters_.compile_nanoseconds;
  s.puts = counters_.puts;
  s.put_bytes = counters_.put_bytes;
  s.sealed_misses = counters_.sealed_misses;
  s.loads = counters_.loads;
  const CacheStats cache = cache_->stats();
  for (size_t i = 0; i < cache.count.size(); ++i)
    if (is_fault(i)) s.cache_faults += cache.count[i];
  return s;
}

}  // namespace tilert::jit
