// Result<T> and Error: how every room reports failure. No exception crosses a room's border.
// An Error carries one of the three voices: the user's mistake, the environment, our own fault.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tilert {

// Values are those of tilert_status in tilert.h; never reuse one.
enum class Code : int32_t {
  kOk = 0,
  kInvalidArgument = 1,   // a null handle, a wrong count, a value out of its range
  kInvalidProgram = 2,    // the tile program is wrong; the message names operation, label and line
  kUnsupported = 3,       // valid, but this version or target refuses it; the message names the alternative
  kUnavailable = 4,       // a device, driver, compiler or plugin is not there; the message names what was tried
  kNotReady = 5,          // no loaded variant takes these dims: call tilert_prepare
  kAlignment = 6,         // a pointer is not aligned as the variant needs; the message names the parameter
  kShape = 7,             // dims, strides, rank or dtype of an argument do not fit
  kOutOfMemory = 8,
  kDriver = 9,            // the device driver failed; the message holds its code and name
  kCompile = 10,          // the compiler below refused generated or user source; the log is attached
  kForked = 11,           // a handle made before fork was used in the child
  kSealed = 12,           // a compile was needed after sealing
  kTimeout = 13,
  kCancelled = 14,
  kSourceRefused = 15,    // the program holds source text and ALLOW_SOURCE was not given
  kCorrupt = 16,          // an artifact or bundle failed its checks (a cache row never surfaces so: it is a miss)
  kInternal = 17,         // our own fault; the message asks for the dump
};

const char* code_name(Code code);

// What failed. Cheap to move; owned by one holder.
struct Error {
  Code code = Code::kInternal;
  std::string message;  // one or more lines, complete in itself
  std::string source;   // generated source, where a compiler refused it
  std::string log;      // that compiler's log
};

template <class... Args>
Error make_error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::format(format, std::forward<Args>(args)...), {}, {}};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::make_unique<Error>(std::move(error))) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  Error& error() & { return *std::get<1>(state_); }
  const Error& error() const& { return *std::get<1>(state_); }
  Error&& error() && { return std::move(*std::get<1>(state_)); }

 private:
  std::variant<T, std::unique_ptr<Error>> state_;
};

// Success or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::make_unique<Error>(std::move(error))) {}
  explicit operator bool() const { return error_ == nullptr; }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::unique_ptr<Error> error_;
};

// TILERT_TRY(expression): returns its error from the enclosing function.
// TILERT_ASSIGN(auto x, expression): binds the value or returns the error.
#define TILERT_TRY(expression)                                       \
  do {                                                               \
    auto tilert_status_ = (expression);                              \
    if (!tilert_status_) return std::move(tilert_status_).error();   \
  } while (0)
#define TILERT_CONCAT_(a, b) a##b
#define TILERT_CONCAT(a, b) TILERT_CONCAT_(a, b)
#define TILERT_ASSIGN_(temporary, declaration, expression)           \
  auto temporary = (expression);                                     \
  if (!temporary) return std::move(temporary).error();               \
  declaration = *std::move(temporary)
#define TILERT_ASSIGN(declaration, expression) \
  TILERT_ASSIGN_(TILERT_CONCAT(tilert_result_, __LINE__), declaration, expression)

}  // namespace tilert
