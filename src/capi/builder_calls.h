// How a C function of the builder runs: on a live handle, with exceptions and wrong struct sizes as the sticky error.
#pragma once

#include <string_view>

#include "capi/guard.h"

namespace tilert::capi {

// Runs f(builder) on a live builder; anything else, exceptions included, becomes the sticky error.
template <class Out, class F>
Out on(tilert_builder* handle, Out otherwise, F&& f) noexcept {
  if (!handle || handle->forked()) return otherwise;
  try {
    return f(handle->builder);
  } catch (const std::bad_alloc&) {
    try {
      handle->builder.fail("builder", Error{Code::kOutOfMemory, "no memory", {}, {}});
    } catch (...) {
    }
  } catch (...) {
    try {
      handle->builder.fail("builder", Error{Code::kInternal, "an exception", {}, {}});
    } catch (...) {
    }
  }
  return otherwise;
}

inline tilert_status status_of(const tilert_builder* handle) {
  if (!handle) return TILERT_INVALID_ARGUMENT;
  return handle->forked() ? TILERT_FORKED : static_cast<tilert_status>(handle->builder.status());
}

template <class F>
tilert_status statement(tilert_builder* handle, F&& f) noexcept {
  on(handle, 0, [&](builder::Builder& b) { return f(b), 0; });
  return status_of(handle);
}

// A normalized copy of the caller's options, or the sticky error.
template <class T>
bool options(builder::Builder& b, const T* in, T& out, std::string_view name) {
  Status taken = take(in, out, name);
  if (!taken) b.fail("builder", std::move(taken).error());
  return static_cast<bool>(taken);
}

}  // namespace tilert::capi
