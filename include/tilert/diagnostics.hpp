// What print and assert left, read after a launch or after interpretation. Use through tilert.hpp.
#ifndef TILERT_DIAGNOSTICS_HPP_
#define TILERT_DIAGNOSTICS_HPP_

#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include "tilert/host.hpp"

namespace tl {

// One entry, as tilert_diagnostic.
struct Diagnostic {
  uint32_t ordinal = 0;  // 0: entries were lost, how many is values[0]
  std::array<uint32_t, 3> block{};
  std::vector<uint64_t> values;
  std::string message, file;
  uint32_t line = 0;
  bool failed = false;  // of an assertion
};

namespace detail {
inline void take_diagnostic(void* user, const tilert_diagnostic* entry) {
  Diagnostic d;
  d.ordinal = entry->ordinal;
  d.block = {entry->block[0], entry->block[1], entry->block[2]};
  d.values.assign(entry->values, entry->values + entry->value_count);
  d.message = entry->message;
  d.file = entry->file;
  d.line = entry->line;
  d.failed = entry->failed != 0;
  static_cast<std::vector<Diagnostic>*>(user)->push_back(std::move(d));
}
}  // namespace detail

// From a host copy of the workspace's zero_bytes, made after the launches have ended.
inline Result<std::vector<Diagnostic>> try_diagnostics(const Loaded& loaded, const void* workspace, uint64_t bytes) {
  std::vector<Diagnostic> out;
  tilert_error* error = nullptr;
  const tilert_status status = tilert_diagnostics_read(loaded.get(), workspace, bytes, detail::take_diagnostic, &out, &error);
  if (status != TILERT_OK) return Error(status, error);
  return out;
}

// As try_interpret; `out` receives what was reported, also before an error.
inline Status try_interpret(const Program& program, std::initializer_list<Argument> arguments,
                            std::initializer_list<DimValue> dims, std::vector<Diagnostic>& out) {
  detail::Packed packed;
  if (!packed.pack(arguments, dims, tilert_program_dim_count(program.get()), detail::dtypes_of(program)))
    return Error(TILERT_INVALID_ARGUMENT, std::string("too many arguments, or a dim that is not there"));
  tilert_error* error = nullptr;
  const tilert_status status = tilert_program_interpret_diagnosed(program.get(), packed.arguments, packed.count, packed.dims,
                                                                  packed.dim_count, detail::take_diagnostic, &out, &error);
  return detail::status(status, error);
}

#if TL_EXCEPTIONS
inline std::vector<Diagnostic> diagnostics(const Loaded& loaded, const void* workspace, uint64_t bytes) {
  return try_diagnostics(loaded, workspace, bytes).value();
}
inline void interpret(const Program& program, std::initializer_list<Argument> arguments, std::initializer_list<DimValue> dims,
                      std::vector<Diagnostic>& out) {
  try_interpret(program, arguments, dims, out).value();
}
#endif

}  // namespace tl

#endif  // TILERT_DIAGNOSTICS_HPP_
