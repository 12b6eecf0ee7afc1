"""tile programs, built, compiled and launched at run time through libtilert by ctypes.

    import tilert_jit as tj

    @tj.program
    def scale(b, dtype):
        N, = b.dims("N")
        x, y = b.input("x", dtype, [N]), b.output("y", dtype, [N])
        with b.grid(tj.ceildiv(N, 256)) as block:
            t = b.fragment(dtype, [256])
            b.copy(x[block * 256], t)
            with b.parallel(256) as i:
                t[i] = t[i] * 2
            b.copy(t, y[block * 256])

    context = tj.Context()
    loaded = context.kernel(scale(tj.f32)).prepare(context.cpu())
    loaded.launch([x, y])

What each call means is in include/tilert.h; docs/language.md explains the language.
"""

import ctypes as _c

from . import _abi
from . import _structs as _s
from ._abi import DTYPES, Error, Status
from .builder import Builder, Hint, Multiple, Range, hint, program
from .dtypes import (DType, bf16, boolean, e2m1, e2m3, e3m2, e4m3, e4m3fnuz, e5m2, e5m2fnuz, e8m0, f16, f32, f64, i4, i8, i16, i32, i64,
                     index, named, nf4, u4, u8, u16, u32, u64)
from .dtypes import bits_of as _bits_of
from .elements import DeviceFunction, Pointer, pointer_read, pointer_update, pointer_write
from .host import Context, Device, Diagnostic, Kernel, Loaded, Program, Variant, Workspace
from .launch import Argument, Bound
from .tensors import Buffer, PointerTable, Tensor, tensor, zeros
from .values import (Constant, Dim, Expr, Region, Tile, Value, Var, cast, cast_stochastic, ceil, ceildiv, cos, erf, exp, exp2, fast, floor,
                     fma, isfinite, isinf, isnan, log, log2, max_nan, maximum, min_nan, minimum, power, reinterpret, round_half_even, rsqrt,
                     select, sigmoid, sin, sqrt, tanh, trunc, trunc_div, trunc_mod)

__version__ = "0.1.0"
inf = float("inf")

__all__ = ["Argument", "Bound", "Buffer", "Builder", "Constant", "Context", "DTYPES", "DType", "Device", "DeviceFunction", "Diagnostic", "Dim",
           "Error", "Expr", "Hint", "Kernel", "Loaded", "Multiple", "Pointer", "PointerTable", "Program", "Range", "Region", "Status", "Tensor",
           "Tile", "Value", "Var", "Variant", "Workspace", "bf16", "boolean", "cast", "cast_stochastic", "ceil", "ceildiv", "cos", "e2m1",
           "e2m3", "e3m2", "e4m3", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0", "erf", "exp", "exp2", "f16", "f32", "f64", "fast", "feature", "floor",
           "fma", "hint", "i16", "i32", "i4", "i64", "i8", "index", "inf", "isfinite", "isinf", "isnan", "log", "log2", "max_nan", "maximum",
           "min_nan", "minimum", "named", "nf4", "pointer_read", "pointer_update", "pointer_write", "power", "program", "recommend_product",
           "reinterpret", "round_half_even", "rsqrt", "select", "sigmoid", "sin", "sqrt", "tanh", "tensor", "trunc", "trunc_div", "trunc_mod",
           "u16", "u32", "u4", "u64", "u8", "version", "zeros"]


def version():
    """(major, minor, patch) of the library that is loaded."""
    number = _abi.lib().tilert_version()
    return number >> 16, (number >> 8) & 255, number & 255


def feature(name):
    """Whether this version does the language feature of that name; raises for a name that is no feature."""
    try:
        _abi.call("tilert_feature", name.encode())
    except Error as error:
        if error.status == Status.UNSUPPORTED:
            return False
        raise
    return True


def _scalar_bits(dtype, value):
    """The bit pattern of a Python number in a dtype, given by its number."""
    return _bits_of(named(_abi.DTYPE_NAMES[dtype]), value)


_PATHS = {1: "warpgroup", 2: "warp", 3: "vector"}
_BOUNDS = {1: "tensor", 2: "shared", 3: "feed", 4: "l2", 5: "memory", 6: "latency"}


def recommend_product(m, n, k, a="bf16", b="bf16", c="bf16", accumulator=None, trans_a=False, trans_b=False, tf32=False, lda=0, ldb=0,
                      ldc=0, epilogue_bytes=0, target="sm_90a", device_class=None, most=1, fixed_order=False):
    """The best ways to compute C[m, n] = A[m, k] B[k, n] on a GPU, as the cost model predicts, the fastest first: dicts with the
    fields of tilert_product_choice; path and bound by name, swapped and persistent as bools, predicted in ns. device_class: as in
    Device.info["device_class"]. Nothing is compiled or measured."""
    numbers = [named(each).number for each in (a, b, c)]
    flags = bool(trans_a) | bool(trans_b) << 1 | bool(tf32) << 2 | bool(fixed_order) << 3
    product = _s.sized(_s.Product, flags=flags, m=m, n=n, k=k, a=numbers[0], b=numbers[1], c=numbers[2],
                       accumulator=named(accumulator).number if accumulator else 0, lda=lda, ldb=ldb, ldc=ldc,
                       epilogue_bytes=epilogue_bytes, target=target.encode())
    if device_class is not None:
        given = _s.DeviceClass(_c.sizeof(_s.DeviceClass), *device_class)
        product.device_class = _c.addressof(given)
    count = _c.c_uint32()
    _abi.call("tilert_recommend_product", _c.byref(product), None, _c.byref(count))
    count.value = min(count.value, most)
    choices = (_s.ProductChoice * count.value)(*[_s.sized(_s.ProductChoice) for _ in range(count.value)])
    if count.value:
        _abi.call("tilert_recommend_product", _c.byref(product), choices, _c.byref(count))
    return [_choice(choice) for choice in choices]


def _choice(raw):
    out = {name: getattr(raw, name) for name, _ in raw._fields_ if name not in ("struct_size", "flags")}
    out["path"], out["bound"] = _PATHS[raw.path], _BOUNDS[raw.bound]
    out["swapped"], out["persistent"] = bool(raw.flags & 1), bool(raw.flags & 2)
    return out
