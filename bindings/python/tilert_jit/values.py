"""Values, elements and regions of a program that is being built: what operators work on, and the functions of values.

A number is a literal: it adopts the dtype of what it meets. Among themselves numbers are folded by the library's own rules.
"""

import ctypes as c
import numbers
import struct
import typing

from . import _structs as s
from ._abi import check, lib
from .dtypes import DType, named, number_of, of_number

_OPS = {name: i + 1 for i, name in enumerate(
    ("add sub mul div mod trunc_div trunc_mod min max min_nan max_nan pow and or xor shl shr eq ne lt le gt ge neg not abs exp exp2 log log2 "
     "sqrt rsqrt sin cos tanh erf sigmoid floor ceil round trunc isnan isinf isfinite select fma ceildiv").split())}


class Constant:
    """A number with a dtype, of no builder: what tj.cast(tj.f32, 1) gives."""

    __slots__ = ("dtype", "bits")

    def __init__(self, dtype: DType, bits: int):
        self.dtype, self.bits = dtype, bits

    def __repr__(self):
        return f"{self.dtype}({number_of(self.dtype, self.bits)})"


def _number(value) -> s.Number:
    """A Python number in the form of tilert_number."""
    if isinstance(value, Constant):
        return s.Number(value.dtype.number, 1, value.bits)
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return s.Number(1, 0, int(value))
    if isinstance(value, numbers.Integral):
        value = int(value)
        if not -(1 << 63) <= value < 1 << 64:
            raise OverflowError(f"{value} does not fit into 64 bits")
        return s.Number(6 if value < 1 << 63 else 11, 0, value & (1 << 64) - 1)
    if isinstance(value, numbers.Real):
        return s.Number(15, 0, int.from_bytes(struct.pack("<d", float(value)), "little"))
    raise TypeError(f"{value!r} is neither a number nor a value of a program")


def _folded(raw: s.Number):
    dtype = of_number(raw.dtype)
    return Constant(dtype, raw.bits) if raw.typed else number_of(dtype, raw.bits)


def id_in(builder, value) -> s.Value:
    """The id of a value or number in that builder. A region is read here."""
    if isinstance(value, Value):
        return value._expr()
    raw = _number(value)
    make = lib().tilert_builder_constant if raw.typed else lib().tilert_builder_literal
    return make(builder._raw, raw.dtype, raw.bits)


def ids_in(builder, values):
    """A C array of ids, and their number; None for none."""
    values = list(values)
    return ((s.Value * len(values))(*[id_in(builder, v) for v in values]) if values else None), len(values)


def operation(name: str, *operands):
    """An operation on values and numbers."""
    builder = next((v._builder for v in operands if isinstance(v, Value)), None)
    if builder is None:
        out = s.Number()
        check(lib().tilert_number_op(_OPS[name], (s.Number * len(operands))(*map(_number, operands)), len(operands), c.byref(out)))
        return _folded(out)
    ids, count = ids_in(builder, operands)
    return Expr(builder, lib().tilert_builder_op(builder._raw, _OPS[name], ids, count))


def _binary(name, swapped=False):
    def method(self, other):
        if not isinstance(other, (Value, Constant, numbers.Real)) and type(other).__name__ not in ("bool_", "bool"):
            return NotImplemented
        return operation(name, other, self) if swapped else operation(name, self, other)
    return method


class Value:
    """What has a value while a program is built: an Expr, or a Region that is read where it is used."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy's scalars leave operators to us
    __hash__ = object.__hash__
    _builder: typing.Any

    def _expr(self) -> s.Value:
        raise NotImplementedError

    @property
    def dtype(self) -> typing.Optional[DType]:
        """None of a literal."""
        number = lib().tilert_builder_dtype_of(self._builder._raw, self._expr())
        return of_number(number) if number else None

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("sub"), _binary("sub", True)
    __mul__, __rmul__ = _binary("mul"), _binary("mul", True)
    __mod__, __rmod__ = _binary("mod"), _binary("mod", True)
    __pow__, __rpow__ = _binary("pow"), _binary("pow", True)
    __and__, __rand__ = _binary("and"), _binary("and", True)
    __or__, __ror__ = _binary("or"), _binary("or", True)
    __xor__, __rxor__ = _binary("xor"), _binary("xor", True)
    __lshift__, __rlshift__ = _binary("shl"), _binary("shl", True)
    __rshift__, __rrshift__ = _binary("shr"), _binary("shr", True)
    __eq__, __ne__ = _binary("eq"), _binary("ne")  # type: ignore[assignment]
    __lt__, __le__, __gt__, __ge__ = _binary("lt"), _binary("le"), _binary("gt"), _binary("ge")

    def __truediv__(self, other):
        return _truediv(self, other)

    def __rtruediv__(self, other):
        return _truediv(other, self)

    def __floordiv__(self, other):
        return _floordiv(self, other)

    def __rfloordiv__(self, other):
        return _floordiv(other, self)

    def __neg__(self):
        return operation("neg", self)

    def __invert__(self):
        return operation("not", self)

    def __abs__(self):
        return operation("abs", self)

    def __bool__(self):
        raise TypeError("a value of a program is not known while it is built: use b.if_(...) or tilert_jit.select(...), and & or | "
                        "in place of `and`, `or` and chained comparisons")

    def __iter__(self):
        raise TypeError("a value of a program cannot be unpacked or looped over: use b.serial(...) or b.parallel(...)")


def _truediv(x, y):
    made = operation("div", x, y)
    if made.dtype is not None and not made.dtype.is_float:
        raise TypeError(f"/ of {made.dtype}: integers are divided by // here (floor) or by tilert_jit.trunc_div")
    return made


def _floordiv(x, y):
    made = operation("div", x, y)
    dtype = made.dtype
    return operation("floor", made) if dtype is not None and dtype.is_float else made


class Expr(Value):
    """A scalar value."""

    __slots__ = ("_builder", "_id")

    def __init__(self, builder, raw: s.Value):
        self._builder, self._id = builder, raw

    def _expr(self):
        return self._id


class Dim(Expr):
    """A named size; also its value."""

    __slots__ = ("name",)

    def __init__(self, builder, raw, name: str):
        super().__init__(builder, raw)
        self.name = name


class Region(Value):
    """A part of a tile or parameter, where it starts. With one index for each dim it is also one element: used in an
    expression it is read, at that moment; `value` reads it by name."""

    __slots__ = ("_builder", "_buffer", "_tensor", "_offsets", "_extents")

    def __init__(self, builder, buffer=None, tensor=None, offsets=(), extents=()):
        self._builder, self._buffer, self._tensor = builder, buffer, tensor
        self._offsets, self._extents = tuple(offsets), tuple(extents)

    def size(self, *extents) -> "Region":
        """The same place with extents of its own, one for each dim."""
        return Region(self._builder, self._buffer, self._tensor, self._offsets, extents)

    @property
    def value(self) -> Expr:
        """The element, read here and once."""
        return Expr(self._builder, self._expr())

    @value.setter
    def value(self, new) -> None:
        read = id_in(self._builder, new)  # what it is made of is read before the place's own indices are worked out
        self._builder._statement("store", self._region(), read)

    @property
    def is_place(self) -> bool:
        return bool(self._offsets) and not self._extents

    def _expr(self):
        return self._builder._statement("load", self._region())

    def _region(self):
        """The C form, with the arrays that it points into."""
        raw = s.Region(rank=len(self._offsets) or len(self._extents))
        if self._buffer is not None:
            raw.buffer = self._buffer
        if self._tensor is not None:
            raw.tensor = self._tensor
        offsets, count = ids_in(self._builder, self._offsets)
        extents, extent_count = ids_in(self._builder, self._extents)
        if count:
            raw.offsets = c.addressof(offsets)
        if extent_count:
            raw.extents, raw.extent_count = c.addressof(extents), extent_count
        return _Kept(raw, offsets, extents)


class _Kept:
    """A struct that is passed by its address, and what it points to."""

    __slots__ = ("raw", "kept", "_as_parameter_")

    def __init__(self, raw, *kept):
        self.raw, self.kept, self._as_parameter_ = raw, kept, c.c_void_p(c.addressof(raw))


class Tile(Region):
    """A tile or tensor parameter: itself its whole region. t[i, j] is an element or a place, t[4:8] a part with constant bounds;
    t[i, j] = v stores."""

    __slots__ = ("name",)

    def __init__(self, builder, buffer=None, tensor=None, name=None):
        super().__init__(builder, buffer, tensor)
        self.name = name

    def __getitem__(self, indices) -> Region:
        indices = indices if isinstance(indices, tuple) else (indices,)
        indices = tuple(i.value if isinstance(i, Region) else i for i in indices)  # an element as an index is read now
        if not any(isinstance(i, slice) for i in indices):
            return Region(self._builder, self._buffer, self._tensor, indices)
        offsets, extents = zip(*[_bounds(i) for i in indices])
        return Region(self._builder, self._buffer, self._tensor, offsets, extents)

    def __setitem__(self, indices, new) -> None:
        region = self[indices]
        if region._extents:
            raise TypeError("one element is stored at a time: use b.copy or b.fill for a region")
        # t[i] += 1 ends here with the sum.
        region.value = new


def _bounds(index):
    """(offset, extent) of an index or a slice of numbers."""
    if not isinstance(index, slice):
        return index, 1
    if index.step not in (None, 1) or not isinstance(index.stop, int) or not isinstance(index.start, (int, type(None))):
        raise TypeError("a slice has numbers for bounds, and no step: write t[start, ...].size(extent, ...) where the start is a value")
    return index.start or 0, index.stop - (index.start or 0)


class Var(Region):
    """A variable of one element: `v.value = x` stores, in expressions it is read."""

    __slots__ = ()


def _unary(name):
    def function(x):
        return operation(name, x)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} of a value."
    return function


exp, exp2, log, log2, sqrt, rsqrt, sin, cos, tanh, erf, sigmoid = map(_unary, (
    "exp exp2 log log2 sqrt rsqrt sin cos tanh erf sigmoid").split())
floor, ceil, trunc, isnan, isinf, isfinite = map(_unary, "floor ceil trunc isnan isinf isfinite".split())
round_half_even = _unary("round")


def maximum(x, y):
    """The greater; the number wins over NaN."""
    return operation("max", x, y)


def minimum(x, y):
    """The less; the number wins over NaN."""
    return operation("min", x, y)


def max_nan(x, y):
    """The greater; NaN propagates."""
    return operation("max_nan", x, y)


def min_nan(x, y):
    """The less; NaN propagates."""
    return operation("min_nan", x, y)


def power(x, y):
    return operation("pow", x, y)


def trunc_div(x, y):
    """Integer division towards 0."""
    return operation("trunc_div", x, y)


def trunc_mod(x, y):
    """Its remainder, with the sign of x."""
    return operation("trunc_mod", x, y)


def ceildiv(x, y):
    """(x + y - 1) / y of indices or numbers."""
    if isinstance(x, int) and isinstance(y, int):
        return -(-x // y)
    return operation("ceildiv", x, y)


def select(condition, x, y):
    """x where the condition holds, else y."""
    return operation("select", condition, x, y)


def fma(x, y, z):
    """x * y + z, rounded once."""
    return operation("fma", x, y, z)


def cast(dtype, x, nonsat: bool = False):
    """x converted. nonsat: to fp8, what is beyond the range becomes infinity or NaN in place of the greatest value."""
    dtype = named(dtype)
    if isinstance(x, Value):
        return Expr(x._builder, lib().tilert_builder_cast(x._builder._raw, dtype.number, x._expr(), int(nonsat)))
    out = s.Number()
    check(lib().tilert_number_cast(dtype.number, c.byref(_number(x)), c.byref(out)))
    return _folded(out)


def cast_stochastic(dtype, x: Value, random: Value, nonsat: bool = False) -> Expr:
    """x rounded to one of its two neighbours, up with the probability of its place between them. random: a uint32."""
    b = x._builder
    value, bits = x._expr(), id_in(b, random)
    return Expr(b, lib().tilert_builder_cast_stochastic(b._raw, named(dtype).number, value, bits, int(nonsat)))


def reinterpret(dtype, x):
    """The bits of x read as dtype, of the same width."""
    dtype = named(dtype)
    if isinstance(x, Value):
        return Expr(x._builder, lib().tilert_builder_reinterpret(x._builder._raw, dtype.number, x._expr()))
    out = s.Number()
    check(lib().tilert_number_reinterpret(dtype.number, c.byref(_number(x)), c.byref(out)))
    return _folded(out)


def fast(x):
    """x by the target's fast forms of its operations: include/tilert.h has the bounds."""
    return Expr(x._builder, lib().tilert_builder_fast(x._builder._raw, x._expr())) if isinstance(x, Value) else x
