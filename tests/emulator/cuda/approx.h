// What approximate instructions give: the exact result moved within the instruction's bound, by its own bits, so that who
// counts on more than the bound is found out. Their bounds are in twins_fast.cuh.
#pragma once

#include <algorithm>
#include <cmath>

#include "emulator/cuda/numbers.h"

namespace tilert::emulator {

// As .ftz has arguments and results.
inline float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

// Zeros, infinities and NaN, for which the results are defined.
inline bool is_end(float x) { return x == 0 || !std::isfinite(x); }

// From -1 to 1.
inline double straying(float x) {
  uint32_t bits = bits_of_float(x) * 2654435761u;
  bits = (bits ^ bits >> 15) * 2246822519u;
  return static_cast<double>(bits ^ bits >> 13) * 0x1p-31 - 1;
}

// At most `absolute` and `ulps`, of which the rounding may take one, from `exact`.
inline float approximation(double exact, double ulps, double absolute) {
  const auto nearest = static_cast<float>(exact);
  if (!std::isfinite(nearest)) return nearest;
  if (std::fabs(exact) + absolute < 0x1p-126) return std::copysign(0.0f, nearest);
  const double ulp = std::ldexp(1.0, std::max(exact == 0 ? -126 : std::ilogb(exact), -126) - 23);
  return flushed(static_cast<float>(exact + straying(nearest) * (std::max(ulps - 1, 0.0) * ulp + absolute)));
}

// Of a sine or cosine: `within` up to pi, larger beyond; no magnitude is above 1 by more than `within`.
inline float sine(double exact, float argument, double within) {
  const double loose = std::max(1.0, std::fabs(static_cast<double>(argument)) / 3.15) * within;
  return std::clamp(approximation(exact, 1, std::min(loose, 1.0)), static_cast<float>(-1 - within), static_cast<float>(1 + within));
}

}  // namespace tilert::emulator
