// Interval and residue arithmetic.
#include "arith/range.h"

#include <algorithm>
#include <numeric>

namespace tilert::arith {
namespace {

using Wide = __int128;

bool is_infinite(int64_t v) { return v == kMinusInfinity || v == kPlusInfinity; }

int64_t clamp(Wide v) {
  return v <= kMinusInfinity ? kMinusInfinity : v >= kPlusInfinity ? kPlusInfinity : static_cast<int64_t>(v);
}

// Sums of two lower (or two upper) ends: an infinite part wins.
int64_t add_ends(int64_t a, int64_t b) {
  if (is_infinite(a)) return a;
  if (is_infinite(b)) return b;
  return clamp(Wide{a} + b);
}

int64_t negate(int64_t a) {
  return a == kMinusInfinity ? kPlusInfinity : a == kPlusInfinity ? kMinusInfinity : -a;
}

int64_t multiply_ends(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (is_infinite(a) || is_infinite(b)) return (a < 0) == (b < 0) ? kPlusInfinity : kMinusInfinity;
  return clamp(Wide{a} * b);
}

// The floor of a / b with b finite or infinite, not 0.
int64_t divide_ends(int64_t a, int64_t b) {
  if (is_infinite(b)) return a == 0 || (a < 0) == (b < 0) ? 0 : -1;
  if (is_infinite(a)) return (a < 0) == (b < 0) ? kPlusInfinity : kMinusInfinity;
  return floor_div(a, b);
}

uint64_t magnitude(int64_t v) { return v < 0 ? ~static_cast<uint64_t>(v) + 1 : static_cast<uint64_t>(v); }

// A residue class from a modulus that may be too large to keep.
void set_residue(Range& range, Wide modulus, Wide value) {
  if (modulus < 0) modulus = -modulus;
  if (modulus > kPlusInfinity || (modulus == 0 && (value <= kMinusInfinity || value >= kPlusInfinity))) {
    range.modulus = 1;
    range.remainder = 0;
    return;
  }
  range.modulus = static_cast<int64_t>(modulus);
  if (modulus == 0) {
    range.remainder = static_cast<int64_t>(value);
  } else {
    Wide r = value % modulus;
    range.remainder = static_cast<int64_t>(r < 0 ? r + modulus : r);
  }
}

Wide gcd(Wide a, Wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    const Wide t = a % b;
    a = b;
    b = t;
  }
  return a;
}

}  // namespace

int64_t floor_div(int64_t a, int64_t b) {
  if (b == -1) return static_cast<int64_t>(~static_cast<uint64_t>(a) + 1);
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

Range Range::of_dtype(DType dtype) {
  const int bits = dtype_bits(dtype);
  switch (dtype_class(dtype)) {
    case DTypeClass::boolean: return between(0, 1);
    case DTypeClass::signed_integer:
      return bits >= 64 ? Range{} : Range{-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1, 1, 0};
    case DTypeClass::unsigned_integer: return bits >= 64 ? Range{} : Range{0, (int64_t{1} << bits) - 1, 1, 0};
    default: return {};
  }
}

bool Range::contains(int64_t value) const {
  if (value < low || value > high) return false;
  return modulus == 0 ? value == remainder : floor_mod(value, modulus) == remainder;
}

bool Range::multiple_of(int64_t n) const {
  if (n == 0) return is_constant() && low == 0;
  if (is_constant()) return low % n == 0;
  return modulus % n == 0 && remainder % n == 0;
}

Range Range::tightened() const {
  Range out = *this;
  if (out.modulus == 0) {
    out.low = std::max(out.low, out.remainder);
    out.high = std::min(out.high, out.remainder);
  } else if (out.modulus > 1) {
    const auto residue = [&](Wide v) { return static_cast<int64_t>((v % out.modulus + out.modulus) % out.modulus); };
    if (out.low != kMinusInfinity) out.low = add_ends(out.low, residue(Wide{out.remainder} - out.low));
    if (out.high != kPlusInfinity) out.high = add_ends(out.high, -residue(Wide{out.high} - out.remainder));
  }
  // A value beyond int64 still has a finite lower (or upper) bound.
  if (out.low == kPlusInfinity) out.low = kPlusInfinity - 1;
  if (out.high == kMinusInfinity) out.high = kMinusInfinity + 1;
  return out.low == out.high ? constant(out.low) : out;
}

Range operator+(const Range& a, const Range& b) {
  Range out{add_ends(a.low, b.low), add_ends(a.high, b.high), 1, 0};
  set_residue(out, std::gcd(a.modulus, b.modulus), Wide{a.remainder} + b.remainder);
  return out.tightened();
}

Range operator-(const Range& a) {
  Range out{negate(a.high), negate(a.low), 1, 0};
  set_residue(out, a.modulus, -Wide{a.remainder});
  return out.tightened();
}

Range operator-(const Range& a, const Range& b) { return a + -b; }

Range operator*(const Range& a, const Range& b) {
  const auto [low, high] = std::minmax({multiply_ends(a.low, b.low), multiply_ends(a.low, b.high),
                                        multiply_ends(a.high, b.low), multiply_ends(a.high, b.high)});
  Range out{low, high, 1, 0};
  const Wide m = gcd(gcd(Wide{a.modulus} * b.modulus, Wide{a.modulus} * b.remainder), Wide{b.modulus} * a.remainder);
  set_residue(out, m, Wide{a.remainder} * b.remainder);
  return out.tightened();
}

Range either(const Range& a, const Range& b) {
  Range out{std::min(a.low, b.low), std::max(a.high, b.high), 1, 0};
  set_residue(out, gcd(gcd(a.modulus, b.modulus), Wide{a.remainder} - b.remainder), a.remainder);
  return out.tightened();
}

Range both(const Range& a, const Range& b) {
  Range out{std::max(a.low, b.low), std::min(a.high, b.high), a.modulus, a.remainder};
  const bool finer = a.modulus != 0 && (b.modulus == 0 || b.modulus > a.modulus);
  if (finer) {
    out.modulus = b.modulus;
    out.remainder = b.remainder;
  }
  return out.tightened();
}

Range divide(const Range& a, const Range& b) {
  if (b.is_constant()) {
    const int64_t d = b.low;
    if (d == 0) return Range::constant(0);
    const auto [low, high] = std::minmax({divide_ends(a.low, d), divide_ends(a.high, d)});
    Range out{low, high, 1, 0};
    if (a.modulus != 0 && a.modulus % d == 0) set_residue(out, a.modulus / d, floor_div(a.remainder, d));
    return out.tightened();
  }
  if (b.low > 0 || b.high < 0) {
    const auto [low, high] = std::minmax({divide_ends(a.low, b.low), divide_ends(a.low, b.high),
                                          divide_ends(a.high, b.low), divide_ends(a.high, b.high)});
    return Range::between(low, high);
  }
  // The divisor's magnitude is at least 1 or the result is 0.
  const int64_t most = std::max(magnitude(a.low), magnitude(a.high)) >= magnitude(kMinusInfinity)
                           ? kPlusInfinity
                           : static_cast<int64_t>(std::max(magnitude(a.low), magnitude(a.high)));
  return Range::between(negate(most), most);
}

Range remainder(const Range& a, const Range& b) {
  if (b.is_constant() && b.low == 0) return a;
  if (b.is_constant() && b.low > 0) {
    const int64_t d = b.low;
    if (a.is_finite() && floor_div(a.low, d) == floor_div(a.high, d)) {
      Range out{floor_mod(a.low, d), floor_mod(a.high, d), 1, 0};
      set_residue(out, std::gcd(a.modulus, d), a.remainder);
      return out.tightened();
    }
    Range out{0, d - 1, 1, 0};
    set_residue(out, std::gcd(a.modulus, d), a.remainder);
    return out.tightened();
  }
  if (b.low > 0) {
    int64_t high = b.high == kPlusInfinity ? kPlusInfinity : b.high - 1;
    if (a.low >= 0) high = std::min(high, a.high);
    return Range::between(0, high);
  }
  if (b.low >= 0 && a.low >= 0) return Range::between(0, a.high);
  return {};
}

Range minimum(const Range& a, const Range& b) {
  Range out = either(a, b);
  out.low = std::min(a.low, b.low);
  out.high = std::min(a.high, b.high);
  return out.tightened();
}

Range maximum(const Range& a, const Range& b) {
  Range out = either(a, b);
  out.low = std::max(a.low, b.low);
  out.high = std::max(a.high, b.high);
  return out.tightened();
}

bool fits(const Range& exact, DType dtype) {
  if (dtype == DType::index) return true;
  if (dtype_bits(dtype) >= 64) return exact.is_finite() && dtype_is_signed(dtype);
  const Range all = Range::of_dtype(dtype);
  return exact.within(all.low, all.high);
}

Range wrapped(const Range& exact, DType dtype) {
  if (fits(exact, dtype)) return exact;
  Range out = Range::of_dtype(dtype);
  const int bits = std::min(dtype_bits(dtype), 62);
  // Wrapping adds a multiple of 2^bits, which the residue survives as far as the modulus is a power of two.
  set_residue(out, std::gcd(exact.modulus, int64_t{1} << bits), exact.remainder);
  return out.tightened();
}

}  // namespace tilert::arith
