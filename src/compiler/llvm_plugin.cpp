// Finding the plugin, checking its ABI, and its table as functions that return Result.
#include "compiler/llvm_plugin.h"

#include "plugins/llvm/plugin_abi.h"
#include "support/dynamic_library.h"
#include "support/files.h"
#include "target/target.h"
#include "support/immortal.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace tilert {
namespace {

constexpr const char* kPluginFile = "libtilert_llvm.so";
constexpr const char* kPluginVariable = "TILERT_LLVM_PLUGIN";

Result<std::vector<std::string>> candidates(const std::string& path) {
  if (!path.empty()) return std::vector<std::string>{path};
  std::vector<std::string> paths;
  if (auto named = environment(kPluginVariable)) {
    if (named->front() != '/')
      return make_error(Code::kUnavailable, "{} must be an absolute path, not '{}'", kPluginVariable, *named);
    return std::vector<std::string>{*named};
  }
  TILERT_ASSIGN(const std::string here, own_directory());
  for (const char* place : {"/", "/" TILERT_PRIVATE_DIRECTORY "/", "/../lib/",
                            "/../" TILERT_LIBRARY_DIRECTORY "/" TILERT_PRIVATE_DIRECTORY "/"}) paths.push_back(here + place + kPluginFile);
  return paths;
}

// A buffer of the plugin, handed back with the scope.
class PluginBuffer {
 public:
  explicit PluginBuffer(const tilert_llvm_plugin* table) : table_(table) {}
  PluginBuffer(const PluginBuffer&) = delete;
  PluginBuffer& operator=(const PluginBuffer&) = delete;
  ~PluginBuffer() { table_->release_buffer(&buffer_); }
  tilert_llvm_buffer* out() { return &buffer_; }
  std::string text() const { return std::string(reinterpret_cast<const char*>(buffer_.data), buffer_.size); }

 private:
  const tilert_llvm_plugin* table_;
  tilert_llvm_buffer buffer_{};
};

Code code_of(int32_t status) {
  switch (status) {
    case TILERT_LLVM_UNSUPPORTED: return Code::kUnsupported;
    case TILERT_LLVM_UNAVAILABLE: return Code::kUnavailable;
    case TILERT_LLVM_OUT_OF_MEMORY: return Code::kOutOfMemory;
    case TILERT_LLVM_COMPILE: return Code::kCompile;
    case TILERT_LLVM_CORRUPT: return Code::kCorrupt;
    case TILERT_LLVM_INVALID_ARGUMENT: return Code::kInvalidArgument;
    default: return Code::kInternal;
  }
}

}  // namespace

std::string llvm_plugin_place() {
  const Result<std::vector<std::string>> paths = candidates({});
  if (paths)
    for (const std::string& path : *paths)
      if (file_exists(path)) return path;
  return {};
}

std::string llvm_target_text(const LlvmTarget& target) {
  std::string text = target.triple;
  if (!target.cpu.empty() || !target.features.empty()) text += ":" + target.cpu;
  if (!target.features.empty()) text += ":" + target.features;
  return text;
}

LlvmTarget llvm_target(const Target& target) {
  const char* const triple =
      target.arch == CpuArch::aarch64 ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu";
  return {triple, target.llvm_cpu, target.llvm_features};
}

Result<LlvmTarget> parse_llvm_target(std::string_view text) {
  if (text == "cpu" || text.substr(0, 4) == "cpu:") {
    TILERT_ASSIGN(const Target target, parse_target(text));
    return llvm_target(target);
  }
  const size_t first = std::min(text.find(':'), text.size());
  const size_t second = std::min(text.find(':', first + 1), text.size());
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_.+,:").find(c) != std::string_view::npos;
  };
  if (first == 0 || !std::all_of(text.begin(), text.end(), plain) ||
      (second < text.size() && text.find(':', second + 1) != std::string_view::npos))
    return make_error(Code::kInvalidArgument, "'{}' is not a CPU target: the form is triple:cpu:features, for example "
                      "x86_64-unknown-linux-gnu:x86-64-v3:+avx512f", text);
  LlvmTarget target{std::string(text.substr(0, first)), {}, {}};
  if (first < text.size()) target.cpu = text.substr(first + 1, second - first - 1);
  if (second < text.size()) target.features = text.substr(second + 1);
  return target;
}

LoadedObject::LoadedObject(LoadedObject&& other) noexcept { *this = std::move(other); }

LoadedObject& LoadedObject::operator=(LoadedObject&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(module_, other.module_);
  return *this;
}

LoadedObject::~LoadedObject() {
  if (module_ != nullptr) table_->release_module(module_);
}

void* LoadedObject::entry(const char* name) const {
  return module_ == nullptr ? nullptr : table_->entry(module_, name);
}

LlvmPlugin::LlvmPlugin(const tilert_llvm_plugin* table, std::string path)
    : table_(table), path_(std::move(path)), build_id_(table->build_id) {}

Result<const LlvmPlugin*> LlvmPlugin::open(const std::string& path) {
  TILERT_ASSIGN(auto paths, candidates(path));
  TILERT_ASSIGN(auto library, DynamicLibrary::open("the LLVM plugin", paths));
  TILERT_ASSIGN(auto query, library.function<const tilert_llvm_plugin*(uint32_t)>(TILERT_LLVM_PLUGIN_QUERY));
  const tilert_llvm_plugin* table = query(TILERT_LLVM_PLUGIN_ABI);
  if (table == nullptr || table->size < offsetof(tilert_llvm_plugin, host_target))
    return make_error(Code::kUnavailable, "'{}' is not a plugin of this library", library.path());
  if (table->abi != TILERT_LLVM_PLUGIN_ABI || table->size < sizeof(tilert_llvm_plugin))
    return make_error(Code::kUnavailable, "the LLVM plugin '{}' ({}) has ABI {}, this library needs {}: install both "
                      "from one release", library.path(), table->build_id, table->abi, TILERT_LLVM_PLUGIN_ABI);
  return new LlvmPlugin(table, library.path());
}

Result<const LlvmPlugin*> LlvmPlugin::get(const std::string& path) {
  static std::mutex mutex;
  static auto& loaded = immortal(std::map<std::string, const LlvmPlugin*>());
  std::lock_guard lock(mutex);
  if (auto found = loaded.find(path); found != loaded.end()) return found->second;
  TILERT_ASSIGN(const LlvmPlugin* plugin, open(path));
  loaded.emplace(path, plugin);
  return plugin;
}

Result<LlvmTarget> LlvmPlugin::host_target() const {
  PluginBuffer triple(table_), cpu(table_), features(table_), error(table_);
  const int32_t status = table_->host_target(triple.out(), cpu.out(), features.out(), error.out());
  if (status != TILERT_LLVM_OK) return make_error(code_of(status), "LLVM does not know this machine: {}", error.text());
  return LlvmTarget{triple.text(), cpu.text(), features.text()};
}

Status LlvmPlugin::host_runs(const LlvmTarget& target) const {
  PluginBuffer problem(table_);
  const int32_t status =
      table_->host_runs(target.triple.c_str(), target.cpu.c_str(), target.features.c_str(), problem.out());
  if (status == TILERT_LLVM_OK) return {};
  return make_error(code_of(status), "code for '{}' cannot run here: {}", llvm_target_text(target), problem.text());
}

Result<std::string> LlvmPlugin::compile(const LlvmRequest& request) const {
  tilert_llvm_request raw{};
  raw.struct_size = sizeof raw;
  if (request.vectorize_loops) raw.flags |= TILERT_LLVM_FLAG_VECTORIZE_LOOPS;
  if (request.assembly) raw.flags |= TILERT_LLVM_FLAG_ASSEMBLY;
  raw.ir = request.ir.data() != nullptr ? request.ir.data() : "";
  raw.ir_size = request.ir.size();
  raw.name = request.name.c_str();
  raw.triple = request.triple.c_str();
  raw.cpu = request.cpu.c_str();
  raw.features = request.features.c_str();
  raw.vector_width = request.vector_width;
  std::vector<const char*> entries;
  for (const std::string& entry : request.entries) entries.push_back(entry.c_str());
  raw.entry_count = static_cast<uint32_t>(entries.size());
  raw.entries = entries.data();
  PluginBuffer output(table_), problem(table_);
  const int32_t status = table_->compile(&raw, output.out(), problem.out());
  if (status == TILERT_LLVM_OK) return output.text();
  Error error = make_error(code_of(status), "LLVM refused '{}': {}", request.name, problem.text());
  error.source = std::string(request.ir);
  error.log = problem.text();
  return error;
}

Result<LoadedObject> LlvmPlugin::load_object(std::string_view bytes) const {
  tilert_llvm_module* module = nullptr;
  PluginBuffer problem(table_);
  const int32_t status =
      table_->load(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &module, problem.out());
  if (status != TILERT_LLVM_OK) return make_error(code_of(status), "{}", problem.text());
  return LoadedObject(table_, module);
}

}  // namespace tilert
