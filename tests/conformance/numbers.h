// Numbers of a conformance case: exact values of every element type as long double, bytes in and out, and generators
// that are the same on every machine. Rounding here is the tests' own, written apart from the library's.
// Not here: what a case expects (scenario.h).
#pragma once

#include <cstdint>
#include <vector>

#include "tilert.hpp"

namespace tilert::conformance {

using Real = long double;  // holds every int64 and every float exactly
using Reals = std::vector<Real>;
using Bytes = std::vector<uint8_t>;

int bits_of(tl::DType dtype);
size_t bytes_of(tl::DType dtype);                    // of an element by itself
size_t bytes_for(tl::DType dtype, size_t count);     // of so many side by side
bool is_float(tl::DType dtype);
bool is_small(tl::DType dtype);  // a float of 8 bits or less
bool is_unsigned(tl::DType dtype);
const char* name_of(tl::DType dtype);

// 2^-23 for f32: the distance of 1 and the next value.
Real epsilon(tl::DType dtype);
// The distance of neighbouring values at `at`, subnormals included.
Real ulp(tl::DType dtype, Real at);

uint64_t encode(tl::DType dtype, Real value, bool saturates = true);  // half to even, small floats saturate; integers wrap
Real decode(tl::DType dtype, uint64_t bits);
Real rounded(tl::DType dtype, Real value);
void put(Bytes& to, size_t index, tl::DType dtype, Real value);
void put_bits(Bytes& to, size_t index, tl::DType dtype, uint64_t bits);
uint64_t bits_at(const Bytes& from, size_t index, tl::DType dtype);

// Float to integer as the language says: truncates, saturates, NaN gives 0.
Real saturated(tl::DType dtype, Real value);
// Wrapped to the width of an integer type.
Real wrapped(tl::DType dtype, Real value);

// Uniform in [-1, 1), rounded to dtype.
Reals uniform(tl::DType dtype, size_t count, uint64_t seed);
// Integers low .. high.
Reals whole(size_t count, int64_t low, int64_t high, uint64_t seed);
// `first`, first + 1, ...
Reals counting(size_t count, int64_t first = 0);
// Distinct neighbours in every dtype: index mod 101, less 50 (bool: mod 3 == 0).
Reals pattern(tl::DType dtype, size_t count, uint64_t seed = 0);

// a [m, k] times b [k, n], both row-major.
Reals product(const Reals& a, const Reals& b, int64_t m, int64_t n, int64_t k);

}  // namespace tilert::conformance
