// The table of hints.
#include "ir/hint.h"

#include <algorithm>

namespace tilert::ir {
namespace {

constexpr HintRow kHintRows[] = {
#define TILERT_HINT(name, number, low, high, multiple) {HintKind::name, #name, low, high, multiple},
#include "ir/hints.def"
#undef TILERT_HINT
};

const HintRow* find_row(auto&& matches) {
  const auto* found = std::find_if(std::begin(kHintRows), std::end(kHintRows), matches);
  return found == std::end(kHintRows) ? nullptr : found;
}

}  // namespace

std::span<const HintRow> hint_rows() { return kHintRows; }
const HintRow* hint_row(HintKind kind) {
  return find_row([&](const HintRow& row) { return row.kind == kind; });
}
const HintRow* hint_row(std::string_view name) {
  return find_row([&](const HintRow& row) { return row.name == name; });
}

const Hint* Hints::find(HintKind kind, std::string_view target) const {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Hint& h) { return h.kind == kind && h.target == target; });
  return found == all.end() ? nullptr : &*found;
}

int64_t Hints::value(HintKind kind) const {
  const Hint* hint = find(kind);
  return hint ? hint->value : 0;
}

}  // namespace tilert::ir
