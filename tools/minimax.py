#!/usr/bin/env python3
"""The polynomials behind src/codegen/llvm_math.cpp: prints src/codegen/llvm_math.def. Needs mpmath. With the argument f64: those of erf in
device/hip/wide.hip, whose coefficients are rounded at once.

Each is the polynomial that minimizes the greatest weighted error max |w(x) (f(x) - sum c_k x^k)| on an interval, found by
Remez's exchange in 60 digits. Coefficients are then rounded to f32 one by one, the lowest first, and the others are fitted
again around those already rounded, so that the rounding of a low coefficient is mended by the higher ones.
"""
import sys

import mpmath as mp

mp.mp.dps = 60


def fit(f, w, a, b, powers):
    """Coefficients of the given powers and the greatest weighted error."""
    n = len(powers)
    points = [(a + b) / 2 + (b - a) / 2 * mp.cos(mp.pi * i / n) for i in range(n + 1)][::-1]
    grid = [a + (b - a) * mp.mpf(i) / 1200 for i in range(1201)]
    values = [(x, f(x), w(x)) for x in grid]
    for _ in range(12):
        rows = mp.matrix(n + 1, n + 1)
        right = mp.matrix(n + 1, 1)
        for i, x in enumerate(points):
            for j, p in enumerate(powers):
                rows[i, j] = x ** p
            rows[i, n] = (-1) ** i / w(x)
            right[i] = f(x)
        solution = mp.lu_solve(rows, right)
        c = [solution[j] for j in range(n)]
        errors = [wx * (fx - sum(q * x ** p for q, p in zip(c, powers))) for x, fx, wx in values]
        extrema, i = [], 0
        while i < len(grid):
            j = i
            while j < len(grid) and (errors[j] >= 0) == (errors[i] >= 0):
                j += 1
            extrema.append(max(range(i, j), key=lambda t: abs(errors[t])))
            i = j
        if len(extrema) != n + 1:
            break
        points = [grid[e] for e in extrema]
    return c, max(abs(e) for e in errors)


def to_f32(x):
    """Nearest f32, by the exact value."""
    if x == 0:
        return mp.mpf(0)
    m, e = mp.frexp(x)
    return mp.ldexp(mp.nint(mp.ldexp(m, 24)), e - 24)


def fit_f32(f, w, a, b, powers, fixed=0):
    """As fit, with every coefficient an f32. `fixed`: how many of the lowest are rounded one by one."""
    rounded, left = [], list(powers)
    rest = f
    while left:
        c, error = fit(rest, w, a, b, left)
        take = 1 if len(rounded) < fixed else len(left)
        for q, p in zip(c[:take], left[:take]):
            rounded.append(to_f32(q))
        left = left[take:]
        done = list(zip(rounded, powers))
        rest = lambda x, done=done: f(x) - sum(q * x ** p for q, p in done)
    grid = [a + (b - a) * mp.mpf(i) / 2000 for i in range(2001)]
    return rounded, max(abs(w(x) * (f(x) - sum(q * x ** p for q, p in zip(rounded, powers)))) for x in grid)


def near_zero(f, series):
    """f away from 0, its limit by `series` where f would cancel."""
    return lambda x: series(x) if abs(x) < mp.mpf(10) ** -12 else f(x)


def row(name, comment, f, w, a, b, degree, fixed=2):
    c, error = fit_f32(f, w, mp.mpf(a), mp.mpf(b), list(range(degree + 1)), fixed)
    print(f"// {comment}; greatest weighted error {mp.nstr(error, 3)} = 2^{mp.nstr(mp.log(error, 2), 4)}")
    print(f"TILERT_POLYNOMIAL({name}, {', '.join(float_text(q) for q in c)})")


def float_text(q):
    digits, exponent = float(q).hex().split("p")
    return f"{digits.rstrip('0').rstrip('.')}p{exponent}f"


def split(name, comment, value, bits):
    """`value` as a sum of f32 of the given numbers of leading bits; the last is the nearest f32 of what is left."""
    parts, left = [], value
    for b in bits:
        m, e = mp.frexp(left)
        part = mp.ldexp(mp.floor(mp.ldexp(m, b)), e - b) if b < 24 else to_f32(left)
        parts.append(part)
        left -= part
    print(f"// {comment}")
    print(f"TILERT_POLYNOMIAL({name}, {', '.join(float_text(q) for q in parts)})")


def main():
    print("// Made by tools/minimax.py; do not edit. TILERT_POLYNOMIAL(name, lowest coefficient first ...)")
    ln2 = mp.log(2)
    one = lambda x: mp.mpf(1)
    row("exp2", "2^x on [-1/2, 1/2], relative", lambda x: 2 ** x, lambda x: 2 ** -x, -0.5, 0.5, 6)
    half = ln2 / 2 * (1 + mp.mpf(2) ** -12)
    row("exp", "(e^x - 1 - x) / x^2 on [-ln2/2, ln2/2], weight x^2 / e^x",
        near_zero(lambda x: (mp.expm1(x) - x) / x ** 2, lambda x: mp.mpf(1) / 2 + x / 6), lambda x: x ** 2 / mp.exp(x) + mp.mpf(2) ** -20,
        -half, half, 4, 1)
    low, high = mp.sqrt(0.5) - 1, mp.sqrt(2) - 1
    row("log", "(log(1 + x) - x + x^2 / 2) / x^3 on [sqrt(1/2) - 1, sqrt(2) - 1], weight x^3 / log(1 + x)",
        near_zero(lambda x: (mp.log1p(x) - x + x ** 2 / 2) / x ** 3, lambda x: mp.mpf(1) / 3 - x / 4),
        near_zero(lambda x: abs(x ** 3 / mp.log1p(x)) + mp.mpf(2) ** -20, lambda x: mp.mpf(2) ** -20), low, high, 8, 1)
    quarter = (mp.pi / 4) ** 2 * (1 + mp.mpf(2) ** -10)
    row("sin", "(sin(r) - r) / r^3 in x = r^2 up to (pi/4)^2, weight r^2",
        near_zero(lambda x: (mp.sin(mp.sqrt(x)) - mp.sqrt(x)) / mp.sqrt(x) ** 3, lambda x: -mp.mpf(1) / 6 + x / 120),
        lambda x: x + mp.mpf(2) ** -20, 0, quarter, 3, 1)
    row("cos", "(cos(r) - 1 + r^2 / 2) / r^4 in x = r^2 up to (pi/4)^2, weight r^4",
        near_zero(lambda x: (mp.cos(mp.sqrt(x)) - 1 + x / 2) / x ** 2, lambda x: mp.mpf(1) / 24 - x / 720),
        lambda x: x ** 2 + mp.mpf(2) ** -20, 0, quarter, 3, 1)
    edge = mp.mpf("0.625") ** 2
    row("tanh", "(tanh(r) - r) / r^3 in x = r^2 up to 0.625^2, weight r^2",
        near_zero(lambda x: (mp.tanh(mp.sqrt(x)) - mp.sqrt(x)) / mp.sqrt(x) ** 3, lambda x: -mp.mpf(1) / 3 + 2 * x / 15),
        lambda x: x + mp.mpf(2) ** -20, 0, edge, 5, 1)
    row("erf_small", "erf(r) / r - 1 in x = r^2 up to 0.9375^2, relative to erf(r) / r",
        near_zero(lambda x: mp.erf(mp.sqrt(x)) / mp.sqrt(x) - 1, lambda x: 2 / mp.sqrt(mp.pi) * (1 - x / 3) - 1),
        near_zero(lambda x: mp.sqrt(x) / mp.erf(mp.sqrt(x)), lambda x: mp.sqrt(mp.pi) / 2), 0, mp.mpf("0.9375") ** 2, 7, 1)
    row("erf_large", "log(erfc(2.4375 + x)) for 0.9375 up to 3.9375, weight erfc / erf",
        lambda x: mp.log(mp.erfc(x + mp.mpf("2.4375"))),
        lambda x: mp.erfc(x + mp.mpf("2.4375")) / mp.erf(x + mp.mpf("2.4375")), -1.5, 1.5, 9, 0)
    split("ln2_parts", "ln 2: fifteen bits, whose product by an exponent is exact, and the rest", ln2, [15, 24])
    split("log2e_parts", "log2 e: five bits and the rest", 1 / ln2, [5, 24])
    split("half_pi_fma", "pi / 2 for a reduction by fused multiply-adds", mp.pi / 2, [24, 24, 24])
    split("half_pi_plain", "pi / 2 in parts whose products by up to 2^13 are exact", mp.pi / 2, [11, 11, 11, 24])
    print("#undef TILERT_POLYNOMIAL")


def wide(name, f, w, a, b, degree):
    c, error = fit(f, w, mp.mpf(a), mp.mpf(b), list(range(degree + 1)))
    print(f"// {name}; greatest weighted error 2^{mp.nstr(mp.log(error, 2), 4)}, lowest coefficient first")
    print(", ".join(float(q).hex() for q in c))


def wide_erf():
    edge = mp.mpf(10) ** -25
    wide("erf(r) / r - 1 in x = r^2 up to 0.9375^2, relative to erf(r) / r",
         lambda x: mp.erf(mp.sqrt(x)) / mp.sqrt(x) - 1 if x > edge else 2 / mp.sqrt(mp.pi) * (1 - x / 3) - 1,
         lambda x: mp.sqrt(x) / mp.erf(mp.sqrt(x)) if x > edge else mp.sqrt(mp.pi) / 2, 0, mp.mpf("0.9375") ** 2, 12)
    for middle, half, degree in (("1.75", "0.8125", 16), ("4.25", "1.6875", 12)):
        m = mp.mpf(middle)
        wide(f"log(erfc({middle} + x)) up to {half} from there, weight erfc / erf", lambda x, m=m: mp.log(mp.erfc(x + m)),
             lambda x, m=m: mp.erfc(x + m) / mp.erf(x + m), -mp.mpf(half), half, degree)


wide_erf() if sys.argv[1:] == ["f64"] else main()
