// One variant's way from request to artifact: memory, disk, or the compiler.
#include <fmt/format.h>

#include <chrono>
#include "generator_digest.h"
#include "jit/artifact_builder.h"
#include "jit/explain.h"
#include "jit/generate.h"
#include "jit/jit.h"
#include "jit/version.h"

namespace tilert::jit {
namespace {

std::string hex(const Digest& digest) { return to_hex(digest); }

CompileRequest request_of(const codegen::GeneratedProgram& generated, const Target& target, uint64_t deadline_ms,
                          bool foreign) {
  CompileRequest request;
  request.foreign = foreign;
  switch (generated.language) {
    case codegen::Language::cuda: request.language = Language::cuda, request.output = BinaryKind::cubin; break;
    case codegen::Language::hip: request.language = Language::hip, request.output = BinaryKind::code_object; break;
    case codegen::Language::llvm_ir: request.language = Language::llvm_ir, request.output = BinaryKind::object; break;
  }
  request.target = target.text;
  request.source = generated.source;
  for (const auto& [name, text] : generated.headers) request.headers.push_back({name, text});
  request.options = generated.options;
  for (const auto& k : generated.kernels) {
    const bool is_name = k.entry.find_first_of("<:(") == std::string::npos;
    (is_name ? request.entry_names : request.name_expressions).push_back(k.entry);
  }
  request.deadline_ms = deadline_ms;
  return request;
}

BinaryKey key_of(const CompileRequest& request) {
  BinaryFields fields;
  fields.source = request.source;
  fields.target = request.target;
  fields.options = {compile_key_text(request)};
  return binary_key(fields);
}

// The artifact without code, as the index keeps it: a byte stands in for the code, which lies under the binary key.
Result<std::string> pack_recipe(runtime::Artifact artifact) {
  artifact.code.assign(1, 0);
  TILERT_ASSIGN(const std::vector<uint8_t> bytes, runtime::serialize(artifact));
  return std::string(bytes.begin(), bytes.end());
}

Result<runtime::ArtifactPtr> unpack(const std::string& recipe, const CacheEntry& entry) {
  TILERT_ASSIGN(const runtime::ArtifactPtr plain,
                runtime::deserialize({reinterpret_cast<const uint8_t*>(recipe.data()), recipe.size()}));
  auto artifact = std::make_shared<runtime::Artifact>(*plain);
  artifact->code.assign(entry.bytes.begin(), entry.bytes.end());
  return runtime::ArtifactPtr(std::move(artifact));
}

std::string generator_text() { return fmt::format("{}.{}", kGeneratorVersion, kGeneratorDigest); }

}  // namespace

runtime::ArtifactPtr Variant::artifact() const {
  std::lock_guard lock(mutex_);
  return artifact_;
}

Result<runtime::ArtifactPtr> Variant::compile() {
  std::lock_guard lock(mutex_);
  if (artifact_) return artifact_;
  if (context_->options().cache_mode != CacheMode::off) {
    Result<runtime::ArtifactPtr> found = fetch();
    if (found) {
      artifact_ = *found;
      context_->remember(key_, artifact_, binary_key_);
      return artifact_;
    }
  }
  TILERT_ASSIGN(artifact_, make());
  if (context_->options().cache_mode != CacheMode::off) context_->remember(key_, artifact_, binary_key_);
  return artifact_;
}

// From the cache; any fault there is a miss.
Result<runtime::ArtifactPtr> Variant::fetch() {
  if (runtime::ArtifactPtr known = context_->recall(key_)) {
    ++context_->counters().memory_hits;
    binary_key_ = *context_->recall_binary(key_);
    return known;
  }
  Cache& cache = context_->cache();
  auto index = cache.find_in_memory(key_, generator_text());
  CacheEntryPtr entry = index ? cache.find_in_memory(index->binary) : nullptr;
  const bool from_memory = entry != nullptr;
  if (!from_memory) {
    index = cache.find(key_, generator_text());
    if (index) entry = cache.find(index->binary);
  }
  if (!entry) return make_error(Code::kNotReady, "not in the cache");
  TILERT_ASSIGN(runtime::ArtifactPtr artifact, unpack(index->configuration, *entry));
  binary_key_ = index->binary;
  ++(from_memory ? context_->counters().memory_hits : context_->counters().disk_hits);
  return artifact;
}

Result<runtime::ArtifactPtr> Variant::make() {
  ++context_->counters().misses;
  if (context_->sealed()) {
    ++context_->counters().sealed_misses;
    context_->report({EventKind::sealed_miss, Code::kSealed, program_->name, target_.text, hex(key_.digest), "a compile was needed after sealing", 0});
    return make_error(Code::kSealed, "program '{}' for {} ({}) would have to be compiled, and the context is sealed; prepare it before sealing",
                      program_->name, target_.text, conditions_);
  }
  TILERT_ASSIGN(const codegen::GeneratedProgram generated, generate(*program_, choices_, target_, device_));
  TILERT_ASSIGN(runtime::Artifact artifact, build_artifact(*program_, generated, choices_));
  const CompileRequest request = request_of(generated, target_, context_->options().deadline_ms, ir::holds_source(*program_));
  binary_key_ = key_of(request);
  std::optional<Binary> binary;
  const auto compile = [&]() -> Result<CacheEntry> {
    ++context_->counters().compiles;
    context_->report({EventKind::compile_begin, Code::kOk, program_->name, target_.text, hex(key_.digest), {}, 0});
    Result<Binary> made = context_->compilers().compile(request);
    const auto nanoseconds = made ? static_cast<uint64_t>(made->total_ms * 1e6) : 0;
    context_->report({EventKind::compile_end, made ? Code::kOk : made.error().code, program_->name, target_.text, hex(key_.digest),
                      made ? std::string() : made.error().message, nanoseconds});
    if (!made) {
      ++context_->counters().compile_failures;
      return std::move(made).error();
    }
    context_->counters().compile_nanoseconds += nanoseconds;
    compile_nanoseconds_ = nanoseconds;
    log_ = made->log;
    resources_ = made->resources;
    binary = *std::move(made);
    return CacheEntry{binary->bytes, fmt::format("{}; {}", kLibraryBuild, binary->compiler)};
  };
  if (context_->options().cache_mode == CacheMode::off || !request.name_expressions.empty()) {
    TILERT_ASSIGN(const CacheEntry entry, compile());
    attach_code(artifact, *binary);
  } else {
    TILERT_ASSIGN(const Cache::Made made, context_->cache().get_or_make(binary_key_, compile));
    if (binary) {
      attach_code(artifact, *binary);
      ++context_->counters().puts;
      context_->counters().put_bytes += binary->bytes.size();
    } else {
      artifact.code.assign(made.entry->bytes.begin(), made.entry->bytes.end());
    }
    TILERT_ASSIGN(const std::string recipe, pack_recipe(artifact));
    context_->cache().put(key_, generator_text(), {binary_key_, recipe});
  }
  TILERT_TRY(runtime::verify(artifact));
  return runtime::ArtifactPtr(std::make_shared<runtime::Artifact>(std::move(artifact)));
}

const Variant::Info& Variant::info() const {
  std::lock_guard lock(mutex_);
  std::unique_ptr<const Info>& kept = infos_[artifact_ != nullptr];
  if (kept) return *kept;
  auto made = std::make_unique<Info>();
  Info& info = *made;
  info.compiled = artifact_ != nullptr;
  info.target = target_.text;
  info.request_key = hex(key_.digest);
  info.conditions = conditions_;
  info.log = log_;
  info.compile_nanoseconds = compile_nanoseconds_;
  for (const KernelResources& r : resources_) {
    info.registers = std::max(info.registers, r.registers);
    info.spill_bytes = std::max(info.spill_bytes, r.spill_stores);
  }
  if (!artifact_) return (kept = std::move(made)), *kept;
  info.binary_key = hex(binary_key_.digest);
  info.configuration = artifact_->configuration;
  info.binary_bytes = artifact_->code.size();
  for (const runtime::Kernel& k : artifact_->kernels) {
    info.threads = std::max(info.threads, k.threads[0] * k.threads[1] * k.threads[2]);
    info.shared_bytes = std::max(info.shared_bytes, k.shared_bytes);
  }
  kept = std::move(made);
  return *kept;
}

Result<std::string> Variant::text(std::string_view stage) const {
  return text_after(*program_, choices_, target_, device_, stage.empty() ? "source" : stage);
}

Result<std::string> Variant::explain(bool as_json) const {
  std::vector<KernelResources> resources;
  {
    std::lock_guard lock(mutex_);
    resources = resources_;
  }
  TILERT_ASSIGN(Json made, jit::explain(*program_, choices_, target_, device_, resources));
  made["conditions"] = conditions_;
  // Labels and file names are the caller's bytes: what is no UTF-8 there must not make the rest unreadable.
  return as_json ? made.dump(2) : explanation_text(made);
}

}  // namespace tilert::jit
