// Opens the HIP runtime and fills its table.
#include "runtime/hip_driver.h"

#include <cstring>
#include <memory>

#include "runtime/open_drivers.h"

namespace tilert::runtime {
namespace {

// Of hipDeviceProp_t, which grew in ROCm 6; the runtime has a function for each.
struct PropertyLayout {
  size_t shared_bytes, multiprocessors, l2_bytes, arch;
};
constexpr PropertyLayout kLayout5{264, 336, 340, 396}, kLayout6{296, 388, 616, 1160};
constexpr size_t kNameBytes = 256, kArchBytes = 256, kPropertyBytes = 8192;  // with room for what later versions add

std::vector<std::string> hip_candidates(const std::string& path) {
  if (!path.empty()) return {path};
  std::vector<std::string> paths;
  for (const char* folder : {"", "/opt/rocm/lib/"})
    for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"})
      paths.push_back(std::string(folder) + name);
  return paths;
}

Status fill_hip_table(HipDriver& driver) {
  std::string missing;
  constexpr bool r = true, o = false;
  const auto need = [&](bool there, const char* name, bool required) {
    if (!there && required) missing += missing.empty() ? name : std::string(", ") + name;
  };
#define TILERT_HIP_ENTRY(name, required, parameters)                                   \
  driver.name = reinterpret_cast<HipResult(*) parameters>(driver.library.find(#name)); \
  need(driver.name != nullptr, #name, required);
#include "runtime/hip_driver.def"
#undef TILERT_HIP_ENTRY
  driver.hipGetErrorName = reinterpret_cast<const char* (*)(HipResult)>(driver.library.find("hipGetErrorName"));
  driver.hipGetErrorString = reinterpret_cast<const char* (*)(HipResult)>(driver.library.find("hipGetErrorString"));
  need(driver.hipGetDevicePropertiesR0600 || driver.hipGetDeviceProperties, "hipGetDeviceProperties", true);
  if (missing.empty()) return {};
  return make_error(Code::kUnavailable, "the HIP runtime {} lacks {}: it is older than ROCm 5.2, which launching needs",
                    driver.library.path(), missing);
}

Result<std::unique_ptr<HipDriver>> open_hip_driver(const std::string& path) {
  if (!TILERT_WITH_HIP && path.empty())
    return make_error(Code::kUnavailable,
                      "this build looks for no HIP runtime (TILERT_HIP is off); name one to use it");
  auto driver = std::make_unique<HipDriver>();
  TILERT_ASSIGN(driver->library, DynamicLibrary::open("the HIP runtime", hip_candidates(path)));
  TILERT_TRY(fill_hip_table(*driver));
  if (const HipResult code = driver->hipInit(0); code != kHipSuccess)
    return make_error(Code::kUnavailable, "the HIP runtime {} does not start: {}", driver->library.path(),
                      driver->describe(code));
  TILERT_TRY(driver->check(driver->hipDriverGetVersion(&driver->version), "tell its version"));
  return driver;
}

}  // namespace

std::string HipDriver::describe(HipResult code) const {
  const char* const name = hipGetErrorName != nullptr ? hipGetErrorName(code) : nullptr;
  const char* const text = hipGetErrorString != nullptr ? hipGetErrorString(code) : nullptr;
  return fmt::format("{} ({}){}{}", name ? name : "unknown code", code, text && *text ? ": " : "", text ? text : "");
}

Error HipDriver::error(HipResult code, std::string_view what) const {
  return make_error(code == kHipOutOfMemory ? Code::kOutOfMemory : Code::kDriver, "the HIP runtime failed to {}: {}",
                    what, describe(code));
}

Status HipDriver::check(HipResult code, std::string_view what) const {
  if (code == kHipSuccess) return {};
  return error(code, what);
}

Result<HipProperties> HipDriver::properties(int ordinal) const {
  std::vector<char> bytes(kPropertyBytes, '\0');
  const bool newer = hipGetDevicePropertiesR0600 != nullptr;
  const PropertyLayout& layout = newer ? kLayout6 : kLayout5;
  TILERT_TRY(check((newer ? hipGetDevicePropertiesR0600 : hipGetDeviceProperties)(bytes.data(), ordinal),
                   "describe the device"));
  HipProperties found;
  found.name.assign(bytes.data(), strnlen(bytes.data(), kNameBytes));
  found.arch.assign(bytes.data() + layout.arch, strnlen(bytes.data() + layout.arch, kArchBytes));
  std::memcpy(&found.shared_bytes, bytes.data() + layout.shared_bytes, sizeof found.shared_bytes);
  std::memcpy(&found.multiprocessors, bytes.data() + layout.multiprocessors, sizeof found.multiprocessors);
  std::memcpy(&found.l2_bytes, bytes.data() + layout.l2_bytes, sizeof found.l2_bytes);
  return found;
}

Result<const HipDriver*> hip_driver(const std::string& path) {
  static OpenDrivers<HipDriver>& drivers = *new OpenDrivers<HipDriver>;
  return drivers.find(path, open_hip_driver);
}

CurrentDevice::CurrentDevice(const HipDriver& driver, int ordinal) : driver_(driver) {
  int current = -1;
  result_ = driver_.hipGetDevice(&current);
  if (result_ != kHipSuccess || current == ordinal) return;
  result_ = driver_.hipSetDevice(ordinal);
  if (result_ == kHipSuccess) before_ = current;
}

CurrentDevice::~CurrentDevice() {
  if (before_ >= 0) driver_.hipSetDevice(before_);
}

RelaxedHipCapture::RelaxedHipCapture(const HipDriver& driver) : driver_(driver) {
  exchanged_ = driver_.hipThreadExchangeStreamCaptureMode != nullptr &&
               driver_.hipThreadExchangeStreamCaptureMode(&mode_) == kHipSuccess;
}

RelaxedHipCapture::~RelaxedHipCapture() {
  if (exchanged_) driver_.hipThreadExchangeStreamCaptureMode(&mode_);
}

}  // namespace tilert::runtime
