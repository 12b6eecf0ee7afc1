// What an argument holds after a launch against what the case says.
#include <cmath>
#include <cstdio>

#include "conformance/runner.h"

namespace tilert::conformance {

static std::string text_of(Real value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.9Lg", value);
  return text;
}

static bool is_other(const Want& want, Real got) {
  return std::isnan(want.other) ? std::isnan(got) : want.other == got || std::fabs(got - want.other) <= want.tolerance;
}

void compare(const Argument& argument, size_t index, const Bytes& before, const Bytes& after, Outcome& out) {
  size_t wrong = 0;
  std::string first;
  if (argument.leading) return before == after ? void() : out.fail("argument " + std::to_string(index) + " was written");
  for (size_t e = 0; e < argument.data.size(); ++e) {
    const Want want = argument.want.empty() ? Want{0, 0, true} : argument.want[e];
    const uint64_t bits = bits_at(after, e, argument.dtype);
    const Real got = decode(argument.dtype, bits);
    const bool as_before = bits_at(before, e, argument.dtype) == bits;
    const bool poison = argument.poisoned && as_before;
    bool right;
    if (want.untouched) {
      right = as_before;
    } else if (poison || (argument.dtype == tl::boolean && bits > 1)) {
      right = false;  // never written, or written with what is no bool
    } else if (want.either && is_other(want, got)) {
      right = true;
    } else if (std::isnan(want.value)) {
      right = std::isnan(got);
    } else if (want.value == got) {
      right = !want.sign || std::signbit(want.value) == std::signbit(got);
    } else {
      const Real error = std::fabs(got - want.value);
      right = error <= want.tolerance;
      if (!std::isnan(error)) out.worst = std::max(out.worst, static_cast<double>(error));
      if (want.tolerance > 0 && !std::isnan(error))
        out.worst_share = std::max(out.worst_share, static_cast<double>(error / want.tolerance));
    }
    if (right) continue;
    if (wrong++ == 0)
      first = want.untouched ? "was written (" + text_of(got) + ")"
              : poison ? std::string("still holds the poison")
                             : "is " + text_of(got) + ", not " + text_of(want.value) + " (tolerance " + text_of(want.tolerance) + ")";
    if (wrong == 1) first = "element " + std::to_string(e) + " " + first;
  }
  if (wrong)
    out.fail("argument " + std::to_string(index) + ": " + std::to_string(wrong) + " of " +
             std::to_string(argument.data.size()) + " wrong; " + first);
}

}  // namespace tilert::conformance
