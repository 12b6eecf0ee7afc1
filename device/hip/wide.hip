// Elementary functions of f64, of fused multiply-adds; bounds in ulp are in the project's table of functions. Polynomials are Taylor's, cut
// where what is left lies below 2^-57 of the result, but for erf's, which tools/minimax.py makes. There is no library behind them.

//@ tl_f64_fma
TL_DEV double tl_f64_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

//@ tl_f64_sqrt
TL_DEV double tl_f64_sqrt(double x) { return __builtin_sqrt(x); }

//@ tl_f64_rsqrt
TL_DEV double tl_f64_rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }

//@ tl_f64_floor
TL_DEV double tl_f64_floor(double x) { return __builtin_floor(x); }

//@ tl_f64_ceil
TL_DEV double tl_f64_ceil(double x) { return __builtin_ceil(x); }

//@ tl_f64_round
TL_DEV double tl_f64_round(double x) { return __builtin_rint(x); }

//@ tl_f64_trunc
TL_DEV double tl_f64_trunc(double x) { return __builtin_trunc(x); }

//@ tl_f64_power_of_two
// value * 2^n for n in [-2044, 2046], by two exact steps: only the last product rounds.
TL_DEV double tl_f64_power_of_two(double value, int n) {
  const int first = n >> 1, second = n - first;
  return value * tl_bits<double>(static_cast<tl_u64>(first + 1023) << 52) * tl_bits<double>(static_cast<tl_u64>(second + 1023) << 52);
}

//@ tl_f64_within
TL_DEV double tl_f64_within(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

//@ tl_f64_expm1_parts
// e^(x + rest) = 2^n (1 + q): |x| < 2000, rest far below x.
struct tl_f64_expm1_parts {
  double q;
  int n;
};
TL_DEV tl_f64_expm1_parts tl_f64_expm1_cut(double x, double rest) {
  const double n = __builtin_rint(x * 0x1.71547652b82fep+0);
  const double whole = __builtin_fma(n, -0x1.62e42fefa38p-1, x), low = __builtin_fma(n, -0x1.ef35793c7673p-45, rest);
  const double r = whole + low, lost = (whole - r) + low;
  double p = 0x1.6124613a86d09p-33;
  p = __builtin_fma(p, r, 0x1.1eed8eff8d898p-29);
  p = __builtin_fma(p, r, 0x1.ae64567f544e4p-26);
  p = __builtin_fma(p, r, 0x1.27e4fb7789f5cp-22);
  p = __builtin_fma(p, r, 0x1.71de3a556c734p-19);
  p = __builtin_fma(p, r, 0x1.a01a01a01a01ap-16);
  p = __builtin_fma(p, r, 0x1.a01a01a01a01ap-13);
  p = __builtin_fma(p, r, 0x1.6c16c16c16c17p-10);
  p = __builtin_fma(p, r, 0x1.1111111111111p-7);
  p = __builtin_fma(p, r, 0x1.5555555555555p-5);
  p = __builtin_fma(p, r, 0x1.5555555555555p-3);
  p = __builtin_fma(p, r, 0x1p-1);
  return tl_f64_expm1_parts{__builtin_fma(r * r, p, lost) + r, static_cast<int>(n)};
}

//@ tl_f64_exp
TL_DEV double tl_f64_exp(double x) {
  if (x != x) return x;
  const tl_f64_expm1_parts c = tl_f64_expm1_cut(tl_f64_within(x, -746.0, 710.0), 0.0);
  return tl_f64_power_of_two(1.0 + c.q, c.n);
}

//@ tl_f64_exp2
// 2^x = 2^n e^(r ln 2), r exact; ln 2 has two parts.
TL_DEV double tl_f64_exp2(double x) {
  if (x != x) return x;
  const double inside = tl_f64_within(x, -1076.0, 1025.0), n = __builtin_rint(inside), part = inside - n;
  const double r = part * 0x1.62e42fefa39efp-1, lost = __builtin_fma(part, 0x1.62e42fefa39efp-1, -r) + part * 0x1.abc9e3b39803fp-56;
  double p = 0x1.6124613a86d09p-33;
  p = __builtin_fma(p, r, 0x1.1eed8eff8d898p-29);
  p = __builtin_fma(p, r, 0x1.ae64567f544e4p-26);
  p = __builtin_fma(p, r, 0x1.27e4fb7789f5cp-22);
  p = __builtin_fma(p, r, 0x1.71de3a556c734p-19);
  p = __builtin_fma(p, r, 0x1.a01a01a01a01ap-16);
  p = __builtin_fma(p, r, 0x1.a01a01a01a01ap-13);
  p = __builtin_fma(p, r, 0x1.6c16c16c16c17p-10);
  p = __builtin_fma(p, r, 0x1.1111111111111p-7);
  p = __builtin_fma(p, r, 0x1.5555555555555p-5);
  p = __builtin_fma(p, r, 0x1.5555555555555p-3);
  p = __builtin_fma(p, r, 0x1p-1);
  return tl_f64_power_of_two(1.0 + (__builtin_fma(r * r, p, lost) + r), static_cast<int>(n));
}

//@ tl_f64_log_parts
// x = 2^e m, m in [sqrt(1/2), sqrt(2)).
struct tl_f64_log_parts {
  double e, m;
};
TL_DEV tl_f64_log_parts tl_f64_log_cut(double x) {
  const bool tiny = x < 0x1p-1022;
  const tl_i64 lowered = tl_bits<tl_i64>(tiny ? x * 0x1p54 : x) - 0x3fe6a09e667f3bcd;
  const double e = static_cast<double>(static_cast<int>(lowered >> 52)) - (tiny ? 54.0 : 0.0);
  return tl_f64_log_parts{e, tl_bits<double>((lowered & 0xfffffffffffff) + 0x3fe6a09e667f3bcd)};
}
// What any logarithm is outside the finite positive numbers.
TL_DEV double tl_f64_log_ends(double x, double inside) {
  if (x != x) return x;
  if (x < 0.0) return tl_bits<double>(0x7ff8000000000000ull);
  return x == 0.0 ? -tl_f64_inf() : x == tl_f64_inf() ? x : inside;
}
// log(1 + f) = f - f^2 / 2 + rest, by s = f / (2 + f): it is 2 s + s^3 p(s^2), and 2 s = f - f^2 / 2 + s f^2 / 2.
TL_DEV double tl_f64_log_rest(double f, double half) {
  const double s = f / (2.0 + f), z = s * s;
  double p = 0x1.8618618618618p-4;
  p = __builtin_fma(p, z, 0x1.af286bca1af28p-4);
  p = __builtin_fma(p, z, 0x1.e1e1e1e1e1e1ep-4);
  p = __builtin_fma(p, z, 0x1.1111111111111p-3);
  p = __builtin_fma(p, z, 0x1.3b13b13b13b14p-3);
  p = __builtin_fma(p, z, 0x1.745d1745d1746p-3);
  p = __builtin_fma(p, z, 0x1.c71c71c71c71cp-3);
  p = __builtin_fma(p, z, 0x1.2492492492492p-2);
  p = __builtin_fma(p, z, 0x1.999999999999ap-2);
  p = __builtin_fma(p, z, 0x1.5555555555555p-1);
  return s * __builtin_fma(z, p, half);
}

//@ tl_f64_log
TL_DEV double tl_f64_log(double x) {
  const tl_f64_log_parts c = tl_f64_log_cut(x);
  const double f = c.m - 1.0, half = 0.5 * f * f, rest = tl_f64_log_rest(f, half);
  const double inside = __builtin_fma(c.e, 0x1.62e42fefa38p-1, f - (half - __builtin_fma(c.e, 0x1.ef35793c7673p-45, rest)));
  return tl_f64_log_ends(x, inside);
}

//@ tl_f64_log2
// The leading part by log2(e) in two numbers, so that little is lost.
TL_DEV double tl_f64_log2(double x) {
  const tl_f64_log_parts c = tl_f64_log_cut(x);
  const double f = c.m - 1.0, half = 0.5 * f * f, high = f - half, low = ((f - high) - half) + (tl_f64_log_rest(f, half) - __builtin_fma(0.5 * f, f, -half));
  const double p = high * 0x1.71547652b82fep+0, sum = c.e + p;
  const double lost = __builtin_fma(high, 0x1.71547652b82fep+0, -p) + __builtin_fma(high, 0x1.777d0ffda0d24p-56, low * 0x1.71547652b82fep+0);
  return tl_f64_log_ends(x, sum + (((c.e - sum) + p) + lost));
}

//@ tl_f64_turns_word
// 2 / pi in words of 32 bits, behind two of zeros.
TL_DEV tl_u32 tl_f64_turns_word(int i) {
  static const tl_u32 words[37] = {
      0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u,
      0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u,
      0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du,
      0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u};
  return i < 2 ? 0u : words[i - 2];
}

//@ tl_f64_quadrant
// x less q pi/2: r and what r lost, |r| <= pi/4 or a little more.
struct tl_f64_quadrant {
  double r, lost;
  int q;
};
TL_DEV tl_f64_quadrant tl_f64_quarter_turns(double high, double low, int q) {
  const double r = high * 0x1.921fb54442d18p+0;
  const double lost = __builtin_fma(high, 0x1.921fb54442d18p+0, -r) + __builtin_fma(high, 0x1.1a62633145c07p-54, low * 0x1.921fb54442d18p+0);
  return tl_f64_quadrant{r, lost, q};
}
// Far away (Payne and Hanek) by the 192 bits of 2 / pi that matter: those before make whole turns.
TL_DEV tl_f64_quadrant tl_f64_far_quadrant(double x) {
  const tl_u64 bits = tl_bits<tl_u64>(x), m = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
  const int at = static_cast<int>(bits >> 52 & 0x7ff) - 1075 + 62, word = at >> 5, shift = at & 31;
  tl_u32 part[6];  // of the product, the lowest first
#pragma unroll
  for (int i = 0; i < 6; ++i) {
    const tl_u64 two = static_cast<tl_u64>(tl_f64_turns_word(word + 5 - i)) << 32 | tl_f64_turns_word(word + 6 - i);
    part[i] = static_cast<tl_u32>(two << shift >> 32);
  }
  tl_u64 carry = 0, upper = 0;
#pragma unroll
  for (int i = 0; i < 6; ++i) {
    const tl_u64 low = (m & 0xffffffffu) * part[i], high = (m >> 32) * part[i];
    const tl_u64 sum = carry + upper + (low & 0xffffffffu);
    part[i] = static_cast<tl_u32>(sum);
    carry = (sum >> 32) + (low >> 32);
    upper = high & 0xffffffffu;
    carry += (high >> 32) << 32;
  }
  tl_u64 top = static_cast<tl_u64>(part[5]) << 32 | part[4], below = static_cast<tl_u64>(part[3]) << 32 | part[2];
  int q = static_cast<int>(top >> 62);
  top = top << 2 | below >> 62;
  below = below << 2 | part[1] >> 30;
  const bool up = top >> 63;
  if (up) q += 1, top = ~top, below = ~below;
  const int zeros = top ? __builtin_clzll(top) : 64;
  const tl_u64 first = zeros == 0 ? top : zeros == 64 ? below : top << zeros | below >> (64 - zeros), second = zeros == 64 ? 0 : below << zeros;
  const double scale = tl_bits<double>(static_cast<tl_u64>(1023 - 53 - zeros) << 52);
  const double high = static_cast<double>(first >> 11) * scale, low = static_cast<double>((first & 0x7ff) << 42 | second >> 22) * (scale * 0x1p-53);
  const bool negative = (bits >> 63 != 0) != up;
  return tl_f64_quarter_turns(negative ? -high : high, negative ? -low : low, bits >> 63 ? -q : q);
}
TL_DEV tl_f64_quadrant tl_f64_quadrant_of(double x) {
  const double size = tl_f64_abs(x);
  if (size >= tl_f64_inf() || x != x) return tl_f64_quadrant{tl_bits<double>(0x7ff8000000000000ull), 0.0, 0};
  if (size >= 0x1p30) return tl_f64_far_quadrant(x);
  const double n = __builtin_rint(x * 0x1.45f306dc9c883p-1), first = __builtin_fma(n, -0x1.921fb54442d18p+0, x);
  const double second = n * 0x1.1a62633145c07p-54, r = first - second;
  const double lost = ((first - r) - second) - __builtin_fma(n, 0x1.1a62633145c07p-54, -second);
  return tl_f64_quadrant{r, __builtin_fma(n, 0x1.f1976b7ed8fbcp-110, lost), static_cast<int>(n)};
}

//@ tl_f64_sin_quadrant
// The sine of r + lost + q pi/2.
TL_DEV double tl_f64_sin_quadrant(double r, double lost, int q) {
  const double square = r * r, half = 0.5 * square;
  double s = -0x1.2f49b46814157p-57;
  s = __builtin_fma(s, square, 0x1.952c77030ad4ap-49);
  s = __builtin_fma(s, square, -0x1.ae7f3e733b81fp-41);
  s = __builtin_fma(s, square, 0x1.6124613a86d09p-33);
  s = __builtin_fma(s, square, -0x1.ae64567f544e4p-26);
  s = __builtin_fma(s, square, 0x1.71de3a556c734p-19);
  s = __builtin_fma(s, square, -0x1.a01a01a01a01ap-13);
  s = __builtin_fma(s, square, 0x1.1111111111111p-7);
  s = __builtin_fma(s, square, -0x1.5555555555555p-3);
  double c = 0x1.e542ba4020225p-62;
  c = __builtin_fma(c, square, -0x1.6827863b97d97p-53);
  c = __builtin_fma(c, square, 0x1.ae7f3e733b81fp-45);
  c = __builtin_fma(c, square, -0x1.93974a8c07c9dp-37);
  c = __builtin_fma(c, square, 0x1.1eed8eff8d898p-29);
  c = __builtin_fma(c, square, -0x1.27e4fb7789f5cp-22);
  c = __builtin_fma(c, square, 0x1.a01a01a01a01ap-16);
  c = __builtin_fma(c, square, -0x1.6c16c16c16c17p-10);
  c = __builtin_fma(c, square, 0x1.5555555555555p-5);
  const double sine = r + __builtin_fma(s * square, r, lost * (1.0 - half));
  // What the subtraction from 1 loses comes back through the tail.
  const double top = 1.0 - half, tail = (1.0 - top) - half;
  const double value = q & 1 ? top + __builtin_fma(c, square * square, tail - r * lost) : sine;
  return q & 2 ? -value : value;
}

//@ tl_f64_sin
TL_DEV double tl_f64_sin(double x) {
  const tl_f64_quadrant c = tl_f64_quadrant_of(x);
  return x == 0.0 ? x : tl_f64_sin_quadrant(c.r, c.lost, c.q);
}

//@ tl_f64_cos
TL_DEV double tl_f64_cos(double x) {
  const tl_f64_quadrant c = tl_f64_quadrant_of(x);
  return tl_f64_sin_quadrant(c.r, c.lost, c.q + 1);
}

//@ tl_f64_with_sign
TL_DEV double tl_f64_with_sign(double size, double sign) { return tl_bits<double>(tl_bits<tl_u64>(size) | (tl_bits<tl_u64>(sign) & 0x8000000000000000ull)); }

//@ tl_f64_tanh
// t / (t + 2) with t = e^2|x| - 1.
TL_DEV double tl_f64_tanh(double x) {
  const double a = tl_f64_within(tl_f64_abs(x), 0.0, 22.0);
  const tl_f64_expm1_parts c = tl_f64_expm1_cut(2.0 * a, 0.0);
  const double power = tl_bits<double>(static_cast<tl_u64>(c.n + 1023) << 52), t = __builtin_fma(power, c.q, power - 1.0);
  return x != x ? x : tl_f64_with_sign(t / (t + 2.0), x);
}

//@ tl_f64_erf
TL_DEV double tl_f64_erf(double x) {
  const double a = tl_f64_abs(x);
  double size;
  if (a < 0.9375) {
    const double square = a * a;
    double p = 0x1.14641b94511ecp-34;
    p = __builtin_fma(p, square, -0x1.3d79ff06c3772p-30);
    p = __builtin_fma(p, square, 0x1.f92482b8cc9dp-27);
    p = __builtin_fma(p, square, -0x1.5f3dfc15a0437p-23);
    p = __builtin_fma(p, square, 0x1.b9e27c6b470b9p-20);
    p = __builtin_fma(p, square, -0x1.f4d21ff064b1ep-17);
    p = __builtin_fma(p, square, 0x1.f9a324b56a8efp-14);
    p = __builtin_fma(p, square, -0x1.c02db3f199af3p-11);
    p = __builtin_fma(p, square, 0x1.565bcd0e2d676p-8);
    p = __builtin_fma(p, square, -0x1.b82ce3128786ep-6);
    p = __builtin_fma(p, square, 0x1.ce2f21a042bb1p-4);
    p = __builtin_fma(p, square, -0x1.812746b0379e7p-2);
    p = __builtin_fma(p, square, 0x1.06eba8214db69p-3);
    size = __builtin_fma(a, p, a);
  } else if (a < 2.5625) {
    const double t = a - 1.75;
    double p = 0x1.56e1e57453ba2p-33;
    p = __builtin_fma(p, t, -0x1.659279c95b03dp-32);
    p = __builtin_fma(p, t, 0x1.331dc1a344f57p-33);
    p = __builtin_fma(p, t, 0x1.83898b96ca107p-29);
    p = __builtin_fma(p, t, -0x1.8af2dc544ae8dp-26);
    p = __builtin_fma(p, t, 0x1.e5f3c7eea7305p-24);
    p = __builtin_fma(p, t, -0x1.af9bee170564bp-22);
    p = __builtin_fma(p, t, 0x1.de449f750b13p-21);
    p = __builtin_fma(p, t, 0x1.bc469c0062eefp-21);
    p = __builtin_fma(p, t, -0x1.8e50ca8f9d823p-16);
    p = __builtin_fma(p, t, 0x1.6e005b369f586p-13);
    p = __builtin_fma(p, t, -0x1.f977215b0d518p-11);
    p = __builtin_fma(p, t, 0x1.2f19753d37f9cp-8);
    p = __builtin_fma(p, t, -0x1.508223ef28051p-6);
    p = __builtin_fma(p, t, -0x1.d1e3ad70d72efp-1);
    p = __builtin_fma(p, t, -0x1.fad487adf079ep+1);
    p = __builtin_fma(p, t, -0x1.1457e04194ecdp+2);
    size = 1.0 - tl_f64_exp(p);
  } else {
    const double t = (a < 5.9375 ? a : 5.9375) - 4.25;
    double p = -0x1.91754fa69428ep-33;
    p = __builtin_fma(p, t, -0x1.51cc4a01f3aabp-29);
    p = __builtin_fma(p, t, -0x1.f42cf526c7492p-29);
    p = __builtin_fma(p, t, -0x1.a17c07e6c570bp-25);
    p = __builtin_fma(p, t, 0x1.bca453b86f961p-23);
    p = __builtin_fma(p, t, -0x1.b4449ed181fe3p-20);
    p = __builtin_fma(p, t, 0x1.6cd53004b7c7dp-17);
    p = __builtin_fma(p, t, -0x1.2f92ba5d18514p-14);
    p = __builtin_fma(p, t, 0x1.f7dfe49b58e33p-12);
    p = __builtin_fma(p, t, -0x1.abc909802314cp-9);
    p = __builtin_fma(p, t, -0x1.f3c15b89b4726p-1);
    p = __builtin_fma(p, t, -0x1.17292bb07b814p+3);
    p = __builtin_fma(p, t, -0x1.41b96ceea52cdp+4);
    size = 1.0 - tl_f64_exp(p);
  }
  return x != x ? x : tl_f64_with_sign(size, x);
}

//@ tl_f64_sigmoid
// e is at most 1: no overflow hides small results.
TL_DEV double tl_f64_sigmoid(double x) {
  const double e = tl_f64_exp(-tl_f64_abs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

//@ tl_f64_two
// A number and what it lost.
struct tl_f64_two {
  double high, low;
};
TL_DEV tl_f64_two tl_f64_two_product(tl_f64_two a, tl_f64_two b) {
  const double high = a.high * b.high;
  return tl_f64_two{high, __builtin_fma(a.high, b.high, -high) + __builtin_fma(a.high, b.low, a.low * b.high)};
}
// |a| is the larger.
TL_DEV tl_f64_two tl_f64_two_sum(double a, tl_f64_two b) {
  const double high = a + b.high;
  return tl_f64_two{high, ((a - high) + b.high) + b.low};
}

//@ tl_f64_log_two
// The logarithm of a positive number with 2^-66 of it lost: 2 s + s^3 (2/3 + ...), s = (m - 1) / (m + 1).
TL_DEV tl_f64_two tl_f64_log_two(double x) {
  const tl_f64_log_parts c = tl_f64_log_cut(x);
  const double f = c.m - 1.0, below = c.m + 1.0, below_low = c.m - (below - 1.0), ratio = f / below;
  const tl_f64_two s{ratio, (__builtin_fma(-ratio, below, f) - ratio * below_low) / below}, z = tl_f64_two_product(s, s);
  double q = 0x1.2f684bda12f68p-4;
  q = __builtin_fma(q, z.high, 0x1.47ae147ae147bp-4);
  q = __builtin_fma(q, z.high, 0x1.642c8590b2164p-4);
  q = __builtin_fma(q, z.high, 0x1.8618618618618p-4);
  q = __builtin_fma(q, z.high, 0x1.af286bca1af28p-4);
  q = __builtin_fma(q, z.high, 0x1.e1e1e1e1e1e1ep-4);
  q = __builtin_fma(q, z.high, 0x1.1111111111111p-3);
  q = __builtin_fma(q, z.high, 0x1.3b13b13b13b14p-3);
  q = __builtin_fma(q, z.high, 0x1.745d1745d1746p-3);
  q = __builtin_fma(q, z.high, 0x1.c71c71c71c71cp-3);
  q = __builtin_fma(q, z.high, 0x1.2492492492492p-2);
  q = __builtin_fma(q, z.high, 0x1.999999999999ap-2);
  const tl_f64_two third = tl_f64_two_sum(0x1.5555555555555p-1, tl_f64_two{q * z.high, 0x1.5555555555555p-55});
  const tl_f64_two m = tl_f64_two_product(s, tl_f64_two_sum(2.0, tl_f64_two_product(z, third)));
  const tl_f64_two sum = tl_f64_two_sum(c.e * 0x1.62e42fefa38p-1, m);
  return tl_f64_two_sum(c.e == 0.0 ? m.high : sum.high, tl_f64_two{c.e == 0.0 ? m.low : __builtin_fma(c.e, 0x1.ef35793c7673p-45, sum.low), 0.0});
}

//@ tl_f64_pow
TL_DEV double tl_f64_pow_size(double size, double y) {
  const tl_f64_two t = tl_f64_log_two(size);
  const double p = y * t.high;
  if (p > 710.0 || p < -746.0) return p > 0.0 ? tl_f64_inf() : 0.0;
  const tl_f64_expm1_parts c = tl_f64_expm1_cut(p, __builtin_fma(y, t.high, -p) + y * t.low);
  return tl_f64_power_of_two(1.0 + c.q, c.n);
}
TL_DEV double tl_f64_pow(double x, double y) {
  const double size = tl_f64_abs(x), many = tl_f64_abs(y), half = y * 0.5;
  const bool whole = __builtin_trunc(y) == y, odd = whole && many < 0x1p53 && __builtin_trunc(half) != half;
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x != x || y != y) return x + y;
  if (many == tl_f64_inf()) return size == 1.0 ? 1.0 : (size > 1.0) == (y > 0.0) ? tl_f64_inf() : 0.0;
  if (x < 0.0 && !whole && size != tl_f64_inf()) return tl_bits<double>(0x7ff8000000000000ull);
  const double end = (size == 0.0) == (y < 0.0) ? tl_f64_inf() : 0.0;
  const double value = size == 0.0 || size == tl_f64_inf() ? end : tl_f64_pow_size(size, y);
  return odd ? tl_f64_with_sign(value, x) : value;
}
