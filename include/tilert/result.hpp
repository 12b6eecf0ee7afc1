// Errors, results and reference-counted handles of the C++ interface. Use through tilert.hpp.
#ifndef TILERT_RESULT_HPP_
#define TILERT_RESULT_HPP_

#include <string>
#include <utility>

#include "tilert.h"

#if defined(__cpp_exceptions) && !defined(TL_NO_EXCEPTIONS)
#define TL_EXCEPTIONS 1
#include <stdexcept>
#else
#define TL_EXCEPTIONS 0
#endif

namespace tl {

// What failed, with the text of tilert_error.
class Error {
 public:
  Error() = default;
  Error(tilert_status status, std::string message) : status_(status), message_(std::move(message)) {}
  // Takes the reference over.
  Error(tilert_status status, tilert_error* error) : status_(status) {
    message_ = error ? tilert_error_message(error) : tilert_status_name(status);
    source_ = tilert_error_source(error);
    log_ = tilert_error_log(error);
    tilert_error_release(error);
  }
  tilert_status status() const { return status_; }
  const std::string& message() const { return message_; }
  const std::string& source() const { return source_; }
  const std::string& log() const { return log_; }
  std::string text() const {
    return std::string(tilert_status_name(status_)) + ": " + message_ + (log_.empty() ? "" : "\n" + log_);
  }

 private:
  tilert_status status_ = TILERT_OK;
  std::string message_, source_, log_;
};

#if TL_EXCEPTIONS
class Exception : public std::runtime_error {
 public:
  explicit Exception(Error e) : std::runtime_error(e.text()), error(std::move(e)) {}
  Error error;
};
#endif

// A T or an Error. T is default constructible.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}
  explicit operator bool() const { return error_.status() == TILERT_OK; }
  T& operator*() { return value_; }
  T* operator->() { return &value_; }
  const T& operator*() const { return value_; }
  const T* operator->() const { return &value_; }
  const Error& error() const { return error_; }
#if TL_EXCEPTIONS
  T value() {
    if (!*this) throw Exception(error_);
    return std::move(value_);
  }
#endif

 private:
  T value_{};
  Error error_;
};
struct Done {};
using Status = Result<Done>;

// One reference to a C handle.
template <class T, void (*Retain)(T*) TILERT_NOEXCEPT, void (*Release)(T*) TILERT_NOEXCEPT>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T* owned) : raw_(owned) {}  // takes the reference over
  Handle(const Handle& other) : raw_(other.raw_) { Retain(raw_); }
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Handle() { Release(raw_); }
  T* get() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }

 private:
  T* raw_ = nullptr;
};

// `owned` and `error` are references: the call that yields `status` is an argument too, and fills them in.
namespace detail {
template <class H, class T>
Result<H> result(tilert_status status, T*& owned, tilert_error*& error) {
  if (status != TILERT_OK) return Error(status, error);
  return H(owned);
}
inline Status status(tilert_status status, tilert_error*& error) {
  if (status != TILERT_OK) return Error(status, error);
  return Done{};
}
}  // namespace detail

}  // namespace tl

#endif  // TILERT_RESULT_HPP_
