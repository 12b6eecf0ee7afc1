// Opens the driver library and fills its table.
#include "runtime/cuda_driver.h"

#include <memory>

#include "runtime/open_drivers.h"

namespace tilert::runtime {
namespace {

using GetProcAddress = CuResult (*)(const char*, void**, int, uint64_t, int32_t*);

struct Lookup {
  const DynamicLibrary& library;
  GetProcAddress get_proc_address;

  void* find(const char* name, const char* symbol, int version) const {
    if (get_proc_address == nullptr) return library.find(symbol);
    void* address = nullptr;
    int32_t status = 0;
    if (get_proc_address(name, &address, version, 0, &status) != kCuSuccess) return nullptr;
    return address;
  }
};

Status fill_table(CudaDriver& driver) {
  const Lookup lookup{driver.library, reinterpret_cast<GetProcAddress>(driver.library.find("cuGetProcAddress_v2"))};
  std::string missing;
  const auto need = [&](const void* address, const char* name, bool required) {
    if (address != nullptr || !required) return;
    missing += missing.empty() ? name : std::string(", ") + name;
  };
  constexpr bool r = true, o = false;
#define TILERT_CUDA_ENTRY(name, symbol, version, required, parameters)                          \
  driver.name = reinterpret_cast<CuResult(*) parameters>(lookup.find(#name, #symbol, version)); \
  need(reinterpret_cast<const void*>(driver.name), #name, required);
#include "runtime/cuda_driver.def"
#undef TILERT_CUDA_ENTRY
  if (missing.empty()) return {};
  return make_error(Code::kUnavailable,
                    "the CUDA driver {} lacks {}: it is older than CUDA 12.0 (driver 525), which launching needs",
                    driver.library.path(), missing);
}

Result<std::unique_ptr<CudaDriver>> open_driver(const std::string& path) {
  if (!TILERT_WITH_CUDA && path.empty())
    return make_error(Code::kUnavailable, "this build looks for no CUDA driver (TILERT_CUDA is off); name one to use it");
  auto driver = std::make_unique<CudaDriver>();
  TILERT_ASSIGN(driver->library, DynamicLibrary::open("the CUDA driver", {path.empty() ? "libcuda.so.1" : path}));
  TILERT_TRY(fill_table(*driver));
  if (const CuResult code = driver->cuInit(0); code != kCuSuccess) {
    return make_error(Code::kUnavailable, "the CUDA driver {} does not start: {}", driver->library.path(),
                      driver->describe(code));
  }
  TILERT_TRY(driver->check(driver->cuDriverGetVersion(&driver->version), "tell its version"));
  if (driver->version < kOldestDriver) {
    return make_error(Code::kUnavailable, "the CUDA driver {} is of CUDA {}.{}; launching needs CUDA 12.0 (driver 525)",
                      driver->library.path(), driver->version / 1000, driver->version % 1000 / 10);
  }
  return driver;
}

}  // namespace

std::string CudaDriver::describe(CuResult code) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName == nullptr || cuGetErrorName(code, &name) != kCuSuccess || name == nullptr) name = "unknown code";
  if (cuGetErrorString == nullptr || cuGetErrorString(code, &text) != kCuSuccess || text == nullptr) text = "";
  return fmt::format("{} ({}){}{}", name, code, *text != '\0' ? ": " : "", text);
}

Error CudaDriver::error(CuResult code, std::string_view what) const {
  return make_error(code == kCuOutOfMemory ? Code::kOutOfMemory : Code::kDriver, "the CUDA driver failed to {}: {}",
                    what, describe(code));
}

Status CudaDriver::check(CuResult code, std::string_view what) const {
  if (code == kCuSuccess) return {};
  return error(code, what);
}

Result<const CudaDriver*> cuda_driver(const std::string& path) {
  static OpenDrivers<CudaDriver>& drivers = *new OpenDrivers<CudaDriver>;
  return drivers.find(path, open_driver);
}

CurrentContext::CurrentContext(const CudaDriver& driver, CuContext context) : driver_(driver) {
  CuContext current = nullptr;
  result_ = driver_.cuCtxGetCurrent(&current);
  if (result_ != kCuSuccess || current == context) return;
  result_ = driver_.cuCtxPushCurrent(context);
  pushed_ = result_ == kCuSuccess;
}

CurrentContext::~CurrentContext() {
  CuContext popped = nullptr;
  if (pushed_) driver_.cuCtxPopCurrent(&popped);
}

RelaxedCapture::RelaxedCapture(const CudaDriver& driver) : driver_(driver) {
  exchanged_ = driver_.cuThreadExchangeStreamCaptureMode(&mode_) == kCuSuccess;
}

RelaxedCapture::~RelaxedCapture() {
  if (exchanged_) driver_.cuThreadExchangeStreamCaptureMode(&mode_);
}

}  // namespace tilert::runtime
