// Range: what is known of one integer value: an interval and a residue class; arithmetic on both. A pure value.
// Not here: where ranges come from (facts.h).
#pragma once

#include <cstdint>
#include <limits>

#include "support/dtype.h"

namespace tilert::arith {

inline constexpr int64_t kMinusInfinity = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kPlusInfinity = std::numeric_limits<int64_t>::max();

// low <= value <= high, and value = remainder (mod modulus). Modulus 1: nothing known; 0: the value is `remainder`.
struct Range {
  int64_t low = kMinusInfinity, high = kPlusInfinity;
  int64_t modulus = 1, remainder = 0;

  // The extreme int64 values stand for infinities: one of them as a constant is a half-open interval.
  static Range constant(int64_t value) {
    if (value == kPlusInfinity) return {kPlusInfinity - 1, kPlusInfinity, 1, 0};
    if (value == kMinusInfinity) return {kMinusInfinity, kMinusInfinity + 1, 1, 0};
    return {value, value, 0, value};
  }
  static Range between(int64_t low, int64_t high) { return Range{low, high, 1, 0}.tightened(); }
  static Range of_dtype(DType dtype);  // every value of the dtype

  bool is_constant() const { return low == high; }
  bool is_finite() const { return low != kMinusInfinity && high != kPlusInfinity; }
  bool contains(int64_t value) const;
  bool within(int64_t least, int64_t most) const { return low >= least && high <= most; }
  bool multiple_of(int64_t n) const;   // every value is
  bool empty() const { return low > high; }
  Range tightened() const;             // interval ends moved to members of the residue class
  bool operator==(const Range&) const = default;
};

int64_t floor_div(int64_t a, int64_t b);  // b is not 0; wraps at the least integer over -1
int64_t floor_mod(int64_t a, int64_t b);

// Exact arithmetic on all pairs of values; an end beyond int64 is infinite.
Range operator+(const Range& a, const Range& b);
Range operator-(const Range& a, const Range& b);
Range operator-(const Range& a);
Range operator*(const Range& a, const Range& b);
Range divide(const Range& a, const Range& b);     // floor, x / 0 = 0
Range remainder(const Range& a, const Range& b);  // floor remainder, x % 0 = x
Range minimum(const Range& a, const Range& b);
Range maximum(const Range& a, const Range& b);
Range either(const Range& a, const Range& b);     // the values of both
Range both(const Range& a, const Range& b);       // the values common to both

// The range after wrapping to the dtype: itself where it fits (index never wraps).
Range wrapped(const Range& exact, DType dtype);
bool fits(const Range& exact, DType dtype);

}  // namespace tilert::arith
