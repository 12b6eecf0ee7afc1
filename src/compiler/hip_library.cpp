// Finding hipRTC and comgr: the order of the search, the check of what was found.
#include "compiler/hip_library.h"

#include "support/files.h"

#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace tilert {
namespace {

// libhiprtc before the HIP runtime of the same version, in which it lay at first: it starts no driver.
constexpr const char* kHiprtcNames[] = {"libhiprtc.so.7",   "libamdhip64.so.7", "libhiprtc.so.6",
                                        "libamdhip64.so.6", "libhiprtc.so.5",   "libamdhip64.so.5"};
constexpr const char* kComgrNames[] = {"libamd_comgr.so.3", "libamd_comgr.so.2"};
constexpr std::string_view kIsaPrefix = "amdgcn-amd-amdhsa--";

constexpr ComgrNumbers kComgrNumbers[] = {
#define TILERT_HIPRTC_FUNCTION(...)
#define TILERT_COMGR_FUNCTION(...)
#define TILERT_COMGR_VERSION(major, hip, compile, generate, link) {major, hip, compile, generate, link},
#define TILERT_HIPRTC_RESULT(...)
#include "compiler/hip.def"
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::vector<std::string> rocm_folders() {
  std::vector<std::string> found;
  glob_t result{};
  if (glob("/opt/rocm*/lib", 0, nullptr, &result) == 0)
    for (size_t i = 0; i < result.gl_pathc; ++i) found.emplace_back(result.gl_pathv[i]);
  globfree(&result);
  std::sort(found.rbegin(), found.rend());
  return found;
}

// The folder that the search is confined to: of the file or folder that was named.
std::string named_place(const HipOptions& options) {
  return options.library.empty() ? environment("TILERT_HIPRTC_PATH").value_or("") : options.library;
}

// "5.2" of libamdhip64.so.5.2.21153, to which the name that was opened is a link.
std::string version_of(const std::string& path) {
  std::string resolved = path;
  if (char* real = realpath(path.c_str(), nullptr)) {
    resolved = real;
    std::free(real);
  }
  size_t at = resolved.rfind(".so.");
  if (at == std::string::npos) return "of unknown version";
  std::string digits = resolved.substr(at + 4);
  const size_t first = digits.find('.');
  return first == std::string::npos ? digits : digits.substr(0, digits.find('.', first + 1));
}

template <class Find>
Status resolve_comgr(Comgr& comgr, Find find) {
#define TILERT_HIPRTC_FUNCTION(...)
#define TILERT_COMGR_FUNCTION(name, ...)                                            \
  comgr.call.name = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(find(#name)); \
  if (!comgr.call.name)                                                             \
    return make_error(Code::kUnavailable, "it has no function " #name ", so it is no comgr of 2.0 or newer");
#define TILERT_COMGR_VERSION(...)
#define TILERT_HIPRTC_RESULT(...)
#include "compiler/hip.def"
  comgr.call.amd_comgr_get_version(&comgr.major, &comgr.minor);
  for (const ComgrNumbers& row : kComgrNumbers)
    if (static_cast<size_t>(row.major) == comgr.major) comgr.numbers = row;
  size_t count = 0;
  if (comgr.call.amd_comgr_get_isa_count(&count) != 0 || count == 0 || count > 10000)
    return make_error(Code::kUnavailable, "it does not tell which targets it knows");
  for (size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    if (comgr.call.amd_comgr_get_isa_name(i, &name) != 0 || !name) continue;
    const std::string_view text = name;
    if (text.substr(0, kIsaPrefix.size()) == kIsaPrefix) comgr.targets.emplace_back(text.substr(kIsaPrefix.size()));
  }
  return {};
}

Result<Comgr> load_comgr(const std::string& path) {
  Comgr comgr;
  TILERT_ASSIGN(comgr.library, DynamicLibrary::open("comgr", {path}));
  TILERT_TRY(resolve_comgr(comgr, [&](const char* name) { return comgr.library.find(name); }));
  comgr.location = comgr.library.path();
  return comgr;
}

std::vector<std::string> comgr_candidates(const std::string& beside) {
  std::vector<std::string> paths;
  if (!beside.empty())
    for (const char* name : kComgrNames)
      if (file_exists(beside + "/" + name)) paths.push_back(beside + "/" + name);
  paths.insert(paths.end(), std::begin(kComgrNames), std::end(kComgrNames));
  return paths;
}

Result<Comgr> find_comgr(const std::string& beside) {
  std::string tried;
  for (const std::string& path : comgr_candidates(beside)) {
    Result<Comgr> comgr = load_comgr(path);
    if (comgr) return comgr;
    tried += tried_path(path, comgr.error());
  }
  return make_error(Code::kUnavailable, "comgr (libamd_comgr), which tells the targets, was not found; tried:{}",
                    tried);
}

// A hipRTC that is linked with comgr brings its own along: exactly that one must be asked.
Result<HipLibrary> load_one_hiprtc(const std::string& path) {
  HipLibrary hip;
  TILERT_ASSIGN(hip.hiprtc, DynamicLibrary::open("hipRTC", {path}));
#define TILERT_HIPRTC_FUNCTION(name, ...)                                                    \
  hip.call.name = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(hip.hiprtc.find(#name)); \
  if (!hip.call.name)                                                                        \
    return make_error(Code::kUnavailable, "it has no function " #name ", so it is no hipRTC of 5.2 or newer");
#define TILERT_COMGR_FUNCTION(...)
#define TILERT_COMGR_VERSION(...)
#define TILERT_HIPRTC_RESULT(...)
#include "compiler/hip.def"
  hip.version = version_of(hip.hiprtc.path());
  if (hip.hiprtc.find("amd_comgr_get_isa_count")) {
    TILERT_TRY(resolve_comgr(hip.comgr, [&](const char* name) { return hip.hiprtc.find(name); }));
    hip.comgr.location = hip.hiprtc.path();
  } else {
    TILERT_ASSIGN(hip.comgr, find_comgr(folder_of(hip.hiprtc.path())));
  }
  return hip;
}

}  // namespace

std::vector<std::string> hiprtc_candidates(const HipOptions& options) {
  const std::string only = named_place(options);
  if (!only.empty() && !is_directory(only)) return {only};
  std::vector<std::string> paths;
  const auto add = [&](const std::string& folder) {
    for (const char* name : kHiprtcNames) paths.push_back(folder.empty() ? name : folder + "/" + name);
  };
  add(only);
  if (only.empty())
    for (const std::string& folder : rocm_folders()) add(folder);
  return paths;
}

Result<HipLibrary> load_hip(const HipOptions& options) {
  std::string tried;
  for (const std::string& path : hiprtc_candidates(options)) {
    Result<HipLibrary> hip = load_one_hiprtc(path);
    if (hip) return hip;
    tried += tried_path(path, hip.error());
  }
  const std::string place = named_place(options);
  if (place.empty() || is_directory(place)) {
    for (const std::string& path : comgr_candidates(place)) {
      if (!place.empty() && path.front() != '/') continue;
      Result<Comgr> comgr = load_comgr(path);
      if (comgr && comgr->numbers) {
        HipLibrary alone;
        alone.comgr = *std::move(comgr);
        return alone;
      }
      tried += comgr ? fmt::format("\n  {}: its version {}.{} is not known", path, comgr->major, comgr->minor)
                     : tried_path(path, comgr.error());
    }
  }
  return make_error(
      Code::kUnavailable,
      "hipRTC was not found, so HIP source cannot be compiled. Install it (ROCm, or Debian's libamdhip64-5) "
      "or name it by TILERT_HIPRTC_PATH or the context's options; tried:{}",
      tried);
}

std::string isa_name(const std::string& target) { return std::string(kIsaPrefix) + target; }

std::string hiprtc_environment() {
  return first_set_variable({"HIPRTC_COMPILE_OPTIONS_APPEND", "HIPRTC_LINK_OPTIONS_APPEND", "AMD_COMGR_REDIRECT_LOGS"});
}

}  // namespace tilert
