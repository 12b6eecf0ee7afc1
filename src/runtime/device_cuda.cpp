// Binding a CUDA context and asking for the facts of its device.
#include <charconv>
#include <cstring>

#include "runtime/device.h"

namespace tilert::runtime {
namespace {

Result<CuDevice> device_by_uuid(const CudaDriver& driver, int count, const std::array<uint8_t, 16>& uuid) {
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CuDevice device = 0;
    CuUuid found{};
    TILERT_TRY(driver.check(driver.cuDeviceGet(&device, ordinal), "open a device"));
    TILERT_TRY(driver.check(driver.cuDeviceGetUuid(&found, device), "tell the UUID of a device"));
    if (std::memcmp(found.bytes, uuid.data(), uuid.size()) == 0) return device;
  }
  return make_error(Code::kUnavailable, "none of the {} CUDA devices that this process sees has the UUID asked for",
                    count);
}

Result<CuDevice> primary_device(const CudaDriver& driver, const DeviceOptions& options) {
  int count = 0;
  TILERT_TRY(driver.check(driver.cuDeviceGetCount(&count), "count the devices"));
  if (options.uuid) return device_by_uuid(driver, count, *options.uuid);
  if (options.ordinal < 0 || options.ordinal >= count) {
    return make_error(Code::kUnavailable,
                      "CUDA device {} was asked for; this process sees {} (CUDA_VISIBLE_DEVICES may hide some)",
                      options.ordinal, count);
  }
  CuDevice device = 0;
  TILERT_TRY(driver.check(driver.cuDeviceGet(&device, options.ordinal), "open the device"));
  return device;
}

// A green context, or one of a MIG instance, has fewer multiprocessors than its device.
uint32_t context_multiprocessors(const CudaDriver& driver, CuContext context, int of_device) {
  CuDevResource resource{};
  if (driver.cuCtxGetDevResource == nullptr) return static_cast<uint32_t>(of_device);
  const bool known = driver.cuCtxGetDevResource(context, &resource, kCuResourceSm) == kCuSuccess &&
                     resource.type == kCuResourceSm && resource.sm_count > 0;
  return known ? resource.sm_count : static_cast<uint32_t>(of_device);
}

}  // namespace

Status Device::open_cuda(const DeviceOptions& options) {
  TILERT_ASSIGN(driver_, cuda_driver(options.driver_path));
  TILERT_TRY(bind(options));
  return ask_facts();
}

Status Device::bind(const DeviceOptions& options) {
  switch (options.binding) {
    case Binding::primary: {
      TILERT_ASSIGN(device_, primary_device(*driver_, options));
      TILERT_TRY(driver_->check(driver_->cuDevicePrimaryCtxRetain(&context_, device_), "retain the primary context"));
      retained_ = true;
      return {};
    }
    case Binding::current:
      TILERT_TRY(driver_->check(driver_->cuCtxGetCurrent(&context_), "tell the current context"));
      if (context_ != nullptr) break;
      return make_error(Code::kInvalidArgument,
                        "no CUDA context is current on this thread: make one current first, or bind a primary context");
    case Binding::given:
      context_ = static_cast<CuContext>(options.native);
      if (context_ != nullptr) break;
      return make_error(Code::kInvalidArgument, "the CUDA context to bind is NULL");
    default:
      return make_error(Code::kInvalidArgument, "binding {}: it is 0 (primary), 1 (current) or 2 (given)",
                        static_cast<int>(options.binding));
  }
  const CurrentContext current(*driver_, context_);
  TILERT_TRY(driver_->check(current.result(), "make the given context current"));
  return driver_->check(driver_->cuCtxGetDevice(&device_), "tell the context's device");
}

Status Device::ask_facts() {
  char name[256] = {};
  TILERT_TRY(driver_->check(driver_->cuDeviceGetName(name, sizeof name - 1, device_), "tell the device's name"));
  facts_.name = name;
  facts_.driver_version = driver_->version;
  int multiprocessors = 0, shared = 0, l2 = 0;
  const struct {
    int32_t attribute;
    int* value;
  } questions[] = {{kCuDeviceMajor, &facts_.major},
                   {kCuDeviceMinor, &facts_.minor},
                   {kCuDeviceMultiprocessors, &multiprocessors},
                   {kCuDeviceSharedPerBlockOptin, &shared},
                   {kCuDeviceL2Bytes, &l2}};
  for (const auto& [attribute, value] : questions) {
    TILERT_TRY(driver_->check(driver_->cuDeviceGetAttribute(value, attribute, device_), "tell a device attribute"));
  }
  facts_.multiprocessors = context_multiprocessors(*driver_, context_, multiprocessors);
  facts_.shared_bytes = static_cast<uint64_t>(shared);
  facts_.l2_bytes = static_cast<uint64_t>(l2);
  facts_.ordinal = -1;
  int count = 0;
  TILERT_TRY(driver_->check(driver_->cuDeviceGetCount(&count), "count the devices"));
  for (int ordinal = 0; ordinal < count && facts_.ordinal < 0; ++ordinal) {
    CuDevice device = 0;
    if (driver_->cuDeviceGet(&device, ordinal) == kCuSuccess && device == device_) facts_.ordinal = ordinal;
  }
  // From compute capability 9.0 on, the instructions worth having are in the architecture's own ('a') target.
  facts_.target = fmt::format("sm_{}{}{}", facts_.major, facts_.minor, facts_.major >= 9 ? "a" : "");
  return {};
}

std::string why_target_does_not_fit(CodeKind kind, const std::string& target, int major, int minor) {
  int number = 0;
  const char* const end = target.data() + target.size();
  if (target.rfind("sm_", 0) != 0) return "it is no CUDA target";
  const auto [rest, error] = std::from_chars(target.data() + 3, end, number);
  const std::string_view suffix(rest, static_cast<size_t>(end - rest));
  if (error != std::errc() || number < 10 || !(suffix.empty() || suffix == "a" || suffix == "f")) {
    return "it is no CUDA target";
  }
  const int want_major = number / 10, want_minor = number % 10;
  const bool same = want_major == major && want_minor == minor;
  const bool family = want_major == major && want_minor <= minor;
  const bool newer = want_major < major || family;
  if (suffix == "a" ? same : (suffix == "f" || kind == CodeKind::cubin) ? family : newer) return {};
  return fmt::format("the device has compute capability {}.{}", major, minor);
}

}  // namespace tilert::runtime
