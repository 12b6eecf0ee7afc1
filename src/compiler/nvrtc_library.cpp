// Finding NVRTC: the order of the search, the check of what was found.
#include "compiler/nvrtc_library.h"

#include "support/files.h"

#include <dlfcn.h>
#include <glob.h>

#include <algorithm>

namespace tilert {
namespace {

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> found;
  glob_t result{};
  if (glob(pattern.c_str(), 0, nullptr, &result) == 0)
    for (size_t i = 0; i < result.gl_pathc; ++i) found.emplace_back(result.gl_pathv[i]);
  globfree(&result);
  // Newest version first, "cuda-13.0" before "cuda-12.8", "cuda" itself (the installation's choice) before both.
  std::stable_sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) {
    bool plain_a = a.find("/cuda/") != std::string::npos, plain_b = b.find("/cuda/") != std::string::npos;
    return plain_a != plain_b ? plain_a : a > b;
  });
  return found;
}

void append_names(std::vector<std::string>& paths, const std::string& folder) {
  for (const char* name : kNames) paths.push_back(folder + "/" + name);
}

// NVRTC looks for its builtins by bare name; loaded from here by full path first, that name is already taken care of.
std::string load_builtins(const NvrtcLibrary& nvrtc) {
  size_t slash = nvrtc.location().rfind('/');
  if (slash == std::string::npos) return {};
  std::string path =
      fmt::format("{}/libnvrtc-builtins.so.{}.{}", nvrtc.location().substr(0, slash), nvrtc.major, nvrtc.minor);
  if (!file_exists(path) || !dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return {};
  return path;
}

Status resolve(NvrtcLibrary& nvrtc) {
#define TILERT_NVRTC_FUNCTION(name, required, ...)                                                \
  nvrtc.call.name = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(nvrtc.library.find(#name)); \
  if (required && !nvrtc.call.name)                                                               \
    return make_error(Code::kUnavailable, "it has no function " #name ", so it is not an NVRTC of 12.0 or newer");
#define TILERT_NVRTC_RESULT(...)
#define TILERT_NVRTC_OPTION(...)
#include "compiler/nvrtc.def"
  return {};
}

Status identify(NvrtcLibrary& nvrtc) {
  if (nvrtc.call.nvrtcVersion(&nvrtc.major, &nvrtc.minor) != 0)
    return make_error(Code::kUnavailable, "it does not tell its version");
  if (nvrtc.major < kOldestNvrtcMajor)
    return make_error(Code::kUnavailable, "it is NVRTC {}.{}; {}.0 or newer is needed", nvrtc.major, nvrtc.minor,
                      kOldestNvrtcMajor);
  int count = 0;
  if (nvrtc.call.nvrtcGetNumSupportedArchs(&count) != 0 || count <= 0 || count > 1000)
    return make_error(Code::kUnavailable, "it does not tell which targets it knows");
  nvrtc.archs.resize(static_cast<size_t>(count));
  if (nvrtc.call.nvrtcGetSupportedArchs(nvrtc.archs.data()) != 0)
    return make_error(Code::kUnavailable, "it does not tell which targets it knows");
  return {};
}

Result<NvrtcLibrary> load_one(const std::string& path) {
  NvrtcLibrary nvrtc;
  TILERT_ASSIGN(nvrtc.library, DynamicLibrary::open("NVRTC", {path}));
  TILERT_TRY(resolve(nvrtc));
  TILERT_TRY(identify(nvrtc));
  nvrtc.builtins = load_builtins(nvrtc);
  return nvrtc;
}

}  // namespace

std::vector<std::string> nvrtc_candidates(const NvrtcOptions& options) {
  std::string only = options.library;
  if (only.empty()) only = environment("TILERT_NVRTC_PATH").value_or("");
  std::vector<std::string> paths;
  if (!only.empty()) {
    if (is_directory(only))
      append_names(paths, only);
    else
      paths.push_back(only);
    return paths;
  }
  paths.assign(std::begin(kNames), std::end(kNames));
  for (const char* pattern : {"/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*-linux/lib"})
    for (const std::string& folder : matches(pattern)) append_names(paths, folder);
  for (const std::string& folder : options.site_packages)
    for (const char* inside : {"/nvidia/cu13/lib", "/nvidia/cuda_nvrtc/lib"}) append_names(paths, folder + inside);
  return paths;
}

Result<NvrtcLibrary> load_nvrtc(const NvrtcOptions& options) {
  std::string tried;
  for (const std::string& path : nvrtc_candidates(options)) {
    Result<NvrtcLibrary> nvrtc = load_one(path);
    if (nvrtc) return nvrtc;
    tried += tried_path(path, nvrtc.error());
  }
  return make_error(Code::kUnavailable,
                    "NVRTC was not found, so CUDA source cannot be compiled. Install it (CUDA 12 or 13, or PyPI's "
                    "nvidia-cuda-nvrtc) or name it by TILERT_NVRTC_PATH or the context's options; tried:{}",
                    tried);
}

std::string nvrtc_environment() {
  return first_set_variable({"NVRTC_APPEND_FLAGS", "NVRTC_PREPEND_FLAGS"});
}

}  // namespace tilert
