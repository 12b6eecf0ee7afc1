// Hints: what a program asks of the compiler for a kernel, beside its meaning. Whether one was taken is in passes/hints.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilert::ir {

enum class HintKind : uint8_t {
#define TILERT_HINT(name, number, low, high, multiple) name = number,
#include "ir/hints.def"
#undef TILERT_HINT
};

struct HintRow {
  HintKind kind;
  std::string_view name;
  int64_t low, high, multiple;
  bool takes(int64_t value) const { return value >= low && value <= high && value % multiple == 0; }
};
std::span<const HintRow> hint_rows();
const HintRow* hint_row(HintKind kind);  // null: no such hint
const HintRow* hint_row(std::string_view name);

struct Hint {
  HintKind kind;
  int64_t value = 0;
  bool must = false;   // not taken is an error
  std::string target;  // for this target only ("sm_90a"; "cpu": any CPU); empty: for all
};

// In the order in which the program gave them; at most one of a kind for a target.
struct Hints {
  std::vector<Hint> all;

  const Hint* find(HintKind kind, std::string_view target = {}) const;
  int64_t value(HintKind kind) const;  // of the one for all targets; 0: none
  void set(HintKind kind, int64_t value) { all.push_back({kind, value, false, {}}); }
};

}  // namespace tilert::ir
