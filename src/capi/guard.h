// What stands at every C function: no exception leaves, structs are taken by their own size, failures become errors.
#pragma once

#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "capi/handles.h"

namespace tilert::capi {

// Hands `error` over where the caller wants it; its status.
tilert_status give(tilert_error** out, Error&& error) noexcept;

// Runs f, which returns a Status.
template <class F>
tilert_status guard(tilert_error** error, F&& f) noexcept {
  if (error) *error = nullptr;
  try {
    Status status = f();
    if (status) return TILERT_OK;
    return give(error, std::move(status).error());
  } catch (const std::bad_alloc&) {
    return give(error, Error{Code::kOutOfMemory, "no memory", {}, {}});
  } catch (const std::exception& e) {
    return give(error, Error{Code::kInternal, std::string("an exception: ") + e.what(), {}, {}});
  } catch (...) {
    return give(error, Error{Code::kInternal, "an unknown exception", {}, {}});
  }
}

template <class T>
Status check(const T* handle, std::string_view what) {
  if (!handle) return make_error(Code::kInvalidArgument, "{} is NULL", what);
  if (handle->forked())
    return make_error(Code::kForked, "{} was made before fork(): make a new one in the child", what);
  return {};
}

// How many bytes of a struct the caller has; nothing where the size cannot be one.
inline constexpr uint32_t kMaxStruct = 4096;
Status check_size(uint32_t size, size_t known, size_t alignment, const void* bytes, std::string_view name);

// The caller's struct in the form that the library knows: absent fields are zero, unknown ones must be.
template <class T>
Status take(const T* in, T& out, std::string_view name) {
  out = T{};
  if (!in) return {};
  const uint32_t size = in->struct_size;
  TILERT_TRY(check_size(size, sizeof(T), alignof(T), in, name));
  std::memcpy(&out, in, size < sizeof(T) ? size : sizeof(T));
  return {};
}

// Fills the caller's struct as far as it goes.
template <class T>
Status put(T* out, T value, std::string_view name) {
  if (!out) return make_error(Code::kInvalidArgument, "{} is NULL", name);
  const uint32_t size = out->struct_size;
  if (size < sizeof(uint32_t) || size > kMaxStruct)
    return make_error(Code::kInvalidArgument, "{}.struct_size is {}: set it to sizeof({})", name, size, name);
  value.struct_size = size;
  std::memcpy(out, &value, size < sizeof(T) ? size : sizeof(T));
  return {};
}

// A string that may be NULL.
inline std::string text_or_empty(const char* text) { return text ? std::string(text) : std::string(); }

}  // namespace tilert::capi
