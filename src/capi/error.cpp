// Errors, names, versions, features.
#include "builder/refusals.h"
#include "capi/guard.h"
#include "support/dtype.h"

namespace tilert::capi {

static_assert(TILERT_INVALID_ARGUMENT == static_cast<int>(Code::kInvalidArgument) &&
              TILERT_INTERNAL == static_cast<int>(Code::kInternal) && TILERT_SEALED == static_cast<int>(Code::kSealed));
#define TILERT_DTYPE(name, number, bits, kind, text) static_assert(number >= TILERT_BOOL && number <= TILERT_INDEX);
#include "support/dtype.def"
#undef TILERT_DTYPE
static_assert(TILERT_F32 == static_cast<int>(DType::f32) && TILERT_INDEX == static_cast<int>(DType::index));

tilert_status give(tilert_error** out, Error&& error) noexcept {
  const auto status = static_cast<tilert_status>(error.code);
  if (!out) return status;
  *out = new (std::nothrow) tilert_error;  // without memory the status says it alone
  if (*out) (*out)->error = std::move(error);
  return status;
}

// The size of a struct is a multiple of its alignment: no pointer in it is cut in two.
Status check_size(uint32_t size, size_t known, size_t alignment, const void* bytes, std::string_view name) {
  if (size < sizeof(uint32_t) || size > kMaxStruct || size % alignment != 0)
    return make_error(Code::kInvalidArgument, "{}.struct_size is {}: set it to sizeof({})", name, size, name);
  const auto* byte = static_cast<const unsigned char*>(bytes);
  for (size_t i = known; i < size; ++i) {
    if (byte[i] == 0) continue;
    return make_error(Code::kInvalidArgument,
                      "{} has {} bytes, of which this library knows {}, and byte {} is not zero: a newer "
                      "field is set that this version does not know",
                      name, size, known, i);
  }
  return {};
}

}  // namespace tilert::capi

using namespace tilert;

const char* tilert_status_name(tilert_status status) noexcept { return code_name(static_cast<Code>(status)); }

tilert_status tilert_error_status(const tilert_error* error) noexcept {
  return error ? static_cast<tilert_status>(error->error.code) : TILERT_OK;
}
const char* tilert_error_message(const tilert_error* error) noexcept {
  return error ? error->error.message.c_str() : "";
}
const char* tilert_error_source(const tilert_error* error) noexcept { return error ? error->error.source.c_str() : ""; }
const char* tilert_error_log(const tilert_error* error) noexcept { return error ? error->error.log.c_str() : ""; }
void tilert_error_retain(tilert_error* error) noexcept {
  if (error) error->references.fetch_add(1, std::memory_order_relaxed);
}
void tilert_error_release(tilert_error* error) noexcept {
  if (error && error->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete error;
}

uint32_t tilert_version(void) noexcept {
  return (TILERT_VERSION_MAJOR << 16) | (TILERT_VERSION_MINOR << 8) | TILERT_VERSION_PATCH;
}

tilert_status tilert_feature(const char* name, tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    if (!name) return make_error(Code::kInvalidArgument, "name is NULL");
    return builder::feature_status(name);
  });
}

namespace {
DType dtype_of(tilert_dtype dtype) { return dtype > 0 && dtype < 256 ? static_cast<DType>(dtype) : DType::none; }
}  // namespace

uint32_t tilert_dtype_bits(tilert_dtype dtype) noexcept { return static_cast<uint32_t>(dtype_bits(dtype_of(dtype))); }
const char* tilert_dtype_name(tilert_dtype dtype) noexcept { return dtype_text(dtype_of(dtype)).data(); }
