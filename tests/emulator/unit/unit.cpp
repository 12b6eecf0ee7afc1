// The compiler's command, the folder of this process, the precompiled prelude.
#include "emulator/unit/unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

extern char** environ;

namespace tilert::emulator {
namespace {

namespace fs = std::filesystem;

// A folder that goes when the process does.
class Folder {
 public:
  Folder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "tilert_emulator.XXXXXX").string();
    if (mkdtemp(name.data())) path_ = name;
    owner_ = getpid();
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty() && owner_ == getpid()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  pid_t owner_ = 0;
};

const std::string& folder() {
  static const Folder own;
  return own.path();
}

std::string own_library() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&own_library), &info);
  std::error_code error;
  const fs::path path = fs::canonical(info.dli_fname ? info.dli_fname : "", error);
  return error ? std::string() : path.string();
}

// Where the headers of units are: in the source tree, or in tests/ beside the library.
std::string headers() {
  std::error_code error;
  if (fs::exists(TILERT_SOURCE_DIR "/tests/emulator/cuda/host.h", error)) return TILERT_SOURCE_DIR "/tests";
  return fs::path(own_library()).parent_path() / "tests";
}

std::string compiler() {
  std::error_code error;
  return fs::exists(TILERT_EMULATOR_CXX, error) ? TILERT_EMULATOR_CXX : "c++";
}

// Compiling takes most of the time, running little: no optimization. Except for races: a replica's read whose value
// nobody uses is no access, on the device neither.
std::vector<std::string> flags(const UnitOptions& options) {
  std::vector<std::string> out = {"-std=c++20", options.races ? "-O1" : "-O0", "-fPIC", "-w", "-ftrivial-auto-var-init=pattern", "-fno-strict-aliasing",
      "-ffp-contract=off", "-fno-stack-protector", "-fvisibility=hidden", "-I" + headers()};
  if (options.races) out.push_back("-fsanitize=thread");
  return out;
}

// Empty, or what the command said.
std::string run(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return "cannot start " + words[0] + ", which the emulator compiles kernels with";
  int status = 0;
  waitpid(child, &status, 0);
  if (status == 0) return {};
  std::ifstream in(log);
  std::stringstream said;
  said << in.rdbuf();
  return said.str().empty() ? words[0] + " failed" : said.str();
}

// The folder with prelude.h and its compiled form for these options; made once a process.
std::string prelude(const UnitOptions& options, bool hip, std::string& why) {
  static std::mutex mutex;
  static std::string ready[4], failed[4];
  const std::lock_guard lock(mutex);
  const int which = options.races + 2 * hip;
  std::string &path = ready[which], &fault = failed[which];
  if (path.empty() && fault.empty()) {
    const std::string at = folder() + (options.races ? "/races" : "/plain") + (hip ? "_hip" : "");
    std::error_code error;
    fs::create_directory(at, error);
    std::ofstream(at + "/prelude.h") << prelude_text(hip);
    std::vector<std::string> words = {compiler()};
    for (std::string& flag : flags(options)) words.push_back(std::move(flag));
    for (const char* word : {"-x", "c++-header", "-o"}) words.push_back(word);
    words.push_back(at + "/prelude.h.gch");
    words.push_back(at + "/prelude.h");
    fault = folder().empty() ? "no temporary folder" : run(words, at + "/log");
    if (fault.empty()) path = at;
  }
  why = fault;
  return path;
}

}  // namespace

Unit::~Unit() = default;

std::shared_ptr<Unit> Unit::compile(std::vector<KernelText> texts, const UnitOptions& options, std::string& why) {
  static std::atomic<int> serial{0};
  const std::string include = prelude(options, !texts.empty() && texts[0].hip, why);
  if (include.empty()) return nullptr;
  const std::string base = folder() + "/unit" + std::to_string(serial++);
  std::ofstream(base + ".cpp") << unit_text(texts);
  std::vector<std::string> words = {compiler()};
  for (std::string& flag : flags(options)) words.push_back(std::move(flag));
  for (const std::string& word : {std::string("-I" + include), std::string("-shared"), std::string("-nostartfiles"), std::string("-o"),
                                  base + ".so", base + ".cpp", own_library()})
    words.push_back(word);
  if (options.races)  // the hooks are the emulator's own: no sanitizer library
    for (const char* word : {"-nodefaultlibs", "-lm", "-lc", "-lgcc"}) words.push_back(word);
  why = run(words, base + ".log");
  if (!why.empty()) return nullptr;
  std::shared_ptr<Unit> out(new Unit);
  out->library_ = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!out->library_) {
    why = dlerror();
    return nullptr;
  }
  std::error_code ignored;
  fs::remove(base + ".so", ignored);
  fs::remove(base + ".cpp", ignored);
  out->texts_ = std::move(texts);
  return out;
}

std::vector<Unit::Placed> Unit::compile_many(const std::vector<KernelText>& texts, size_t per_unit, const UnitOptions& options) {
  std::vector<Placed> out(texts.size());
  std::vector<std::vector<size_t>> groups;  // of one language each
  for (const bool hip : {false, true})
    for (size_t i = 0, room = 0; i < texts.size(); ++i) {
      if (texts[i].hip != hip) continue;
      if (room == 0) groups.emplace_back(), room = per_unit;
      groups.back().push_back(i);
      --room;
    }
  const size_t units = groups.size();
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t u = next++; u < units; u = next++) {
      std::vector<KernelText> together;
      for (size_t i : groups[u]) together.push_back(texts[i]);
      std::string why;
      const auto unit = compile(std::move(together), options, why);
      for (size_t at = 0; at < groups[u].size(); ++at) {
        const size_t i = groups[u][at];
        out[i] = {unit, at, why};
        // One text that does not compile takes nobody with it.
        if (!unit && groups[u].size() > 1) out[i] = {compile({texts[i]}, options, out[i].why), 0, out[i].why};
      }
    }
  };
  std::vector<std::thread> workers;
  for (size_t i = 1; i < std::min<size_t>(units, std::max(1u, std::thread::hardware_concurrency())); ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  return out;
}

LoadedKernel Unit::kernel(size_t text, const std::string& name) const {
  LoadedKernel out;
  const std::string tail = std::to_string(text) + "_" + name;
  out.entry = reinterpret_cast<void (*)(const uint8_t*)>(dlsym(library_, ("tlemu_entry_" + tail).c_str()));
  const auto sizes = reinterpret_cast<int (*)(unsigned*, int)>(dlsym(library_, ("tlemu_sizes_" + tail).c_str()));
  if (!sizes) return out;
  unsigned all[256];
  const int count = sizes(all, 256);
  for (int i = 0; i < count; ++i) {
    const uint32_t alignment = std::min<uint32_t>(all[i], 64);
    out.offsets.push_back((out.bytes + alignment - 1) / alignment * alignment);
    out.sizes.push_back(all[i]);
    out.bytes = out.offsets.back() + all[i];
  }
  return out;
}

}  // namespace tilert::emulator
