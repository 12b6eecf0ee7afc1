// Floats of 8 bits and less: their formats (OCP 8-bit Floating Point Specification 1.0; OCP Microscaling Formats 1.0; the
// fnuz ones as in "8-bit Numerical Formats for Deep Neural Networks", arXiv 2206.02915; nf4 as in QLoRA, arXiv 2305.14314)
// and exact conversions. What a cast does with what does not fit is here too. Not here: their spelling on any back end.
#pragma once

#include <cstdint>

#include "support/dtype.h"

namespace tilert {

// A sign bit, then an exponent and a mantissa with subnormals. `most` is the code of the greatest finite value, without
// sign; `infinity` and `nan` are the codes that conversions give, -1 where there is none.
struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  int most, infinity, nan;
  bool negative_zero;  // else the code of -0 is the NaN, and what rounds to it is +0
  int code_mask() const { return (1 << (exponent_bits + mantissa_bits)) - 1; }
};

// e4m3, e5m2, their fnuz forms, e2m3, e3m2 and e2m1; null for other types, e8m0 and nf4 too, which have no such fields.
const SmallFloat* small_float(DType type);
// One of those, or e8m0 or nf4.
bool dtype_is_small_float(DType type);
// Whether a cast without saturation is defined: the type has an infinity or a NaN to give.
bool has_overflow_value(DType type);

// The value of a code (bits beyond the width are ignored).
double small_to_f64(DType type, uint64_t code);

// The code nearest to the value, of two equally near ones the even one. Beyond the greatest finite value, and for
// infinities: that value where it `saturates`, else infinity, or NaN where the type has none. NaN gives NaN, or the
// greatest value where there is none (e2m1, e2m3, e3m2: PTX's cvt does so; nf4). The NaN has no sign.
// e8m0 has no sign and no zero: a value below 0 gives NaN, zero the least power, 2^-127.
// nf4: the least of the sixteen values above whose boundary the value does not lie; boundaries are the middles, as f32
// values whose last bit is zero.
uint64_t f64_to_small(DType type, double value, bool saturates);

// The value of each nf4 code, and the boundary above it (15 of them).
extern const float kNf4Values[16];
extern const float kNf4Bounds[15];

}  // namespace tilert
