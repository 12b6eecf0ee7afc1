// The loaded hipRTC and comgr: which files, which versions, which functions, which targets.
// Not here: compiling (hip.cpp, comgr.cpp).
#pragma once

#include "compiler/hip.h"
#include "support/dynamic_library.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilert {

struct ComgrHandle {
  uint64_t value = 0;
};

struct HiprtcFunctions {
#define TILERT_HIPRTC_FUNCTION(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
#define TILERT_COMGR_FUNCTION(...)
#define TILERT_COMGR_VERSION(...)
#define TILERT_HIPRTC_RESULT(...)
#include "compiler/hip.def"
};

struct ComgrFunctions {
#define TILERT_HIPRTC_FUNCTION(...)
#define TILERT_COMGR_FUNCTION(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
#define TILERT_COMGR_VERSION(...)
#define TILERT_HIPRTC_RESULT(...)
#include "compiler/hip.def"
};

// The numbers of one major version's enumerations.
struct ComgrNumbers {
  int major, language_hip, compile, generate, link;
};

struct Comgr {
  DynamicLibrary library;  // not open where hipRTC's own dependency is used
  ComgrFunctions call;
  size_t major = 0, minor = 0;
  std::optional<ComgrNumbers> numbers;  // none: a version that only hipRTC can drive
  std::vector<std::string> targets;     // "gfx90a"
  std::string location;
};

struct HipLibrary {
  Comgr comgr;
  DynamicLibrary hiprtc;  // not open: there is comgr alone
  HiprtcFunctions call;
  std::string version;  // of hipRTC, by its file's name: "5.2"
  std::string location() const { return hiprtc.is_open() ? hiprtc.path() : comgr.location; }
};

Result<HipLibrary> load_hip(const HipOptions& options);

// "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-" of "gfx942:sramecc+:xnack-".
std::string isa_name(const std::string& target);

// The variable by which the environment would make hipRTC add options of its own, as "NAME=value"; empty when none is
// set.
std::string hiprtc_environment();

}  // namespace tilert
