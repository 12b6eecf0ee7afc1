"""Tensors of whatever origin, described for a launch: PyTorch's, NumPy's, anything with DLPack, an array interface or the buffer
protocol, memory by its address; and streams of whatever origin. Host tensors of our own, for hosts without NumPy."""

import ctypes as c
import math
import typing

from . import _structs as s
from .dtypes import DType, bits_of, form, named, number_of, u8

# What the C interface calls memory, as DLPack does.
_MEMORY = {None: 0, "cpu": 1, "cuda": 2, "cuda_host": 3, "hip": 10, "rocm": 10, "rocm_host": 11, "cuda_managed": 13}


class Buffer:
    """Memory described by hand: an address, a dtype ("f32"), a shape, optionally strides in elements, and a device ("cuda", 0)."""

    __slots__ = ("address", "dtype", "shape", "strides", "device", "owner")

    def __init__(self, address: int, dtype, shape: typing.Sequence[int], strides: typing.Optional[typing.Sequence[int]] = None,
                 device: typing.Optional[typing.Tuple[str, int]] = None, owner: object = None):
        self.address, self.dtype, self.shape = address, named(dtype), tuple(shape)
        self.strides, self.device, self.owner = strides, device, owner


class Tensor:
    """A contiguous tensor in host memory of its own, aligned to 256 bytes, zeros at first. Elements by tolist() and fill()."""

    __slots__ = ("dtype", "shape", "nbytes", "address", "_memory")

    def __init__(self, shape: typing.Union[int, typing.Sequence[int]], dtype):
        self.dtype = named(dtype)
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        packed = {4: 2, 6: 4}.get(self.dtype.bits)
        rows = math.prod(self.shape[:-1])
        row = self.shape[-1] if self.shape else 1
        row = -(-row // packed) * packed if packed else row  # rows of less than bytes start on one
        self.nbytes = rows * row * self.dtype.bits // 8
        self._memory = (c.c_char * (self.nbytes + 256))()
        self.address = -(-c.addressof(self._memory) // 256) * 256

    def data_ptr(self) -> int:
        return self.address

    @property
    def bytes(self) -> bytes:
        return c.string_at(self.address, self.nbytes)

    @bytes.setter
    def bytes(self, data) -> None:
        if len(data) != self.nbytes:
            raise ValueError(f"{len(data)} bytes for a tensor of {self.nbytes}")
        c.memmove(self.address, bytes(data), self.nbytes)

    def fill(self, values: typing.Iterable) -> "Tensor":
        """Elements in order, as many as there are."""
        width = self.dtype.bits // 8
        form(self.dtype)
        self.bytes = b"".join(bits_of(self.dtype, v).to_bytes(width, "little") for v in values)
        return self

    def tolist(self) -> list:
        """Nested lists, as NumPy's."""
        form(self.dtype)
        width, data = self.dtype.bits // 8, self.bytes
        flat = [number_of(self.dtype, int.from_bytes(data[i:i + width], "little")) for i in range(0, len(data), width)]
        for size in reversed(self.shape[1:]):
            flat = [flat[i:i + size] for i in range(0, len(flat), size)] if size else [[] for _ in range(self.shape[0])]
        return flat if self.shape else flat[0]

    @property
    def __array_interface__(self) -> dict:
        kind = "b" if self.dtype == "bool" else "f" if self.dtype in ("f16", "f32", "f64") else str(self.dtype)[0]
        if self.dtype.bits < 8 or (self.dtype.is_float and kind != "f"):
            raise AttributeError(f"NumPy has no {self.dtype}")
        return {"version": 3, "typestr": f"<{kind}{self.dtype.bits // 8}", "shape": self.shape, "data": (self.address, False)}


def zeros(shape, dtype) -> Tensor:
    """A host tensor of zeros."""
    return Tensor(shape, dtype)


def tensor(values: typing.Sequence, dtype) -> Tensor:
    """A host tensor of these numbers, lists of lists for more dims."""
    shape, flat = [], list(values)
    shape.append(len(flat))
    while flat and isinstance(flat[0], (list, tuple)):
        shape.append(len(flat[0]))
        flat = [each for row in flat for each in row]
    return Tensor(shape, dtype).fill(flat)


class Described(typing.NamedTuple):
    address: int
    dtype: int  # 0: the parameter's
    shape: typing.Sequence[int]
    strides: typing.Optional[typing.Sequence[int]]  # in elements
    memory: int
    device: int
    owner: object  # kept while the description is used


class _DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32), ("code", c.c_uint8),
                ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)),
                ("byte_offset", c.c_uint64)]


class _DLVersioned(c.Structure):
    _fields_ = [("major", c.c_uint32), ("minor", c.c_uint32), ("manager", c.c_void_p), ("deleter", c.c_void_p), ("flags", c.c_uint64),
                ("tensor", _DLTensor)]


_DL_CODES = {(0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64", (1, 8): "u8", (1, 16): "u16", (1, 32): "u32", (1, 64): "u64",
             (0, 4): "i4", (1, 4): "u4", (2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (4, 16): "bf16", (6, 8): "bool", (10, 8): "e4m3",
             (11, 8): "e4m3fnuz", (12, 8): "e5m2", (13, 8): "e5m2fnuz", (14, 8): "e8m0", (15, 6): "e2m3", (16, 6): "e3m2",
             (17, 4): "e2m1"}
_pointer = c.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
_is_valid = c.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = c.c_int, [c.py_object, c.c_char_p]


def _of_dlpack(value) -> Described:
    """The capsule is looked at and not consumed: it frees what it holds when it goes. Streams are ordered by the caller."""
    kind = value.__dlpack_device__()[0]
    wanted = {} if kind == 1 else {"stream": -1}
    try:
        capsule = value.__dlpack__(**wanted)
    except BufferError:  # what cannot be told to the older form: memory that is read only
        capsule = value.__dlpack__(max_version=(1, 0), **wanted)
    if _is_valid(capsule, b"dltensor"):
        t = _DLTensor.from_address(_pointer(capsule, b"dltensor"))
    else:
        t = _DLVersioned.from_address(_pointer(capsule, b"dltensor_versioned")).tensor
    name = _DL_CODES.get((t.code, t.bits))
    if name is None or t.lanes != 1:
        raise TypeError(f"DLPack's type (code {t.code}, {t.bits} bits, {t.lanes} lanes) is none of ours")
    shape = t.shape[:t.ndim] if t.ndim else []
    strides = t.strides[:t.ndim] if t.ndim and t.strides else None
    return Described((t.data or 0) + t.byte_offset, named(name).number, shape, strides, t.device_type, t.device_id, (value, capsule))


_typestrs: typing.Dict[str, DType] = {}  # those that say all


def _of_typestr(value, text) -> DType:
    kind, width = text[1], int(text[2:])
    if text[0] == ">" and width > 1:
        raise TypeError(f"{text}: elements with their high bytes first")
    if kind in "iufb":
        made = _typestrs[text] = named("bool") if kind == "b" else named(f"{kind}{8 * width}")
        return made
    return named(getattr(value, "dtype", text))  # extension types have a name of their own


def _of_interface(value, found, memory) -> Described:
    text, strides = found["typestr"], found.get("strides")
    dtype = _typestrs.get(text) or _of_typestr(value, text)
    if strides is not None:
        size = dtype.bits // 8
        if any(step % size for step in strides):
            raise TypeError(f"strides of {tuple(strides)} bytes are no whole elements of {dtype}")
        strides = tuple([step // size for step in strides])
    data = found.get("data")
    if data is None:
        raise TypeError("an array interface without an address")
    return Described(data[0], dtype.number, found["shape"], strides, memory, 0, (value, found))


def _of_buffer(value) -> Described:
    view = memoryview(value)
    letters = view.format.lstrip("@=<")
    if letters not in ("b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "e", "f", "d", "?", "c"):
        raise TypeError(f"a buffer of {view.format!r} is no tensor")
    kind = {"e": "f", "f": "f", "d": "f"}.get(letters, "i" if letters.islower() else "u")
    dtype = named("bool") if letters == "?" else u8 if letters == "c" else named(f"{kind}{8 * view.itemsize}")
    if not view.contiguous and any(step % view.itemsize for step in view.strides):
        raise TypeError("a buffer whose strides are no whole elements")
    address = 0
    if view.nbytes:
        if view.readonly:
            raise TypeError("a buffer that is read only has no address to give")
        if view.c_contiguous:
            address = c.addressof(c.c_char.from_buffer(view.cast("B") if view.ndim == 1 else view))
        else:
            raise TypeError("a buffer that is not contiguous: use tilert_jit.Buffer")
    return Described(address, dtype.number, view.shape, None, 1, 0, (value, view))


def _of_own(value) -> Described:
    return Described(value.address, value.dtype.number, value.shape, None, 1, 0, value)


def _of_described(value) -> Described:
    kind, number = value.device or (None, 0)
    return Described(value.address, value.dtype.number, value.shape, value.strides, _MEMORY[kind], number, value)


_numbers: typing.Dict[object, int] = {}  # of dtypes of PyTorch


def _of_torch(value) -> Described:
    number = _numbers.get(value.dtype)
    if number is None:
        try:
            number = _numbers[value.dtype] = named(value.dtype).number
        except ValueError:
            raise TypeError(f"tensors of {value.dtype} are not known here") from None
    device = value.device
    return Described(value.data_ptr(), number, tuple(value.shape), value.stride(), _MEMORY.get(device.type, 0), device.index or 0, value)


def _of_cuda_interface(value) -> Described:
    return _of_interface(value, value.__cuda_array_interface__, 2)


def _of_array_interface(value) -> Described:
    return _of_interface(value, value.__array_interface__, 1)


def _nothing(value) -> None:
    return None


def _way(value) -> typing.Callable:
    """How values of this one's type are looked at."""
    if isinstance(value, Buffer):
        return _of_described
    if isinstance(value, Tensor):
        return _of_own
    if hasattr(value, "data_ptr") and hasattr(value, "stride"):
        return _of_torch
    if hasattr(value, "__cuda_array_interface__"):
        return _of_cuda_interface
    if hasattr(value, "__array_interface__"):
        return _nothing if not hasattr(value, "__setitem__") else _of_array_interface  # NumPy's scalars have it, too
    if hasattr(value, "__dlpack__"):
        return _of_dlpack
    try:
        memoryview(value).release()
    except TypeError:
        return _nothing
    return _of_buffer


_ways: typing.Dict[type, typing.Callable] = {}


def describe(value) -> typing.Optional[Described]:
    """What a launch needs to know of a tensor; None for what is none."""
    way = _ways.get(type(value))
    if way is None:
        way = _ways[type(value)] = _way(value)
    return way(value)


def stream_handle(stream) -> typing.Optional[int]:
    """The number of a stream: None (the legacy one), a number, or an object with cuda_stream (PyTorch), __cuda_stream__() or ptr."""
    if stream is None or isinstance(stream, int):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return (protocol() if callable(protocol) else protocol)[1]
    for name in ("cuda_stream", "ptr"):
        number = getattr(stream, name, None)
        if number is not None:
            return number
    raise TypeError(f"{stream!r} is no stream: give a number or an object with cuda_stream, __cuda_stream__ or ptr")


def pack_tensor(raw: s.Argument, described: Described, dtype: int, is_table: bool = False) -> tuple:
    """Fills an argument; gives what must live as long as it."""
    address, own, shape, strides, memory, device, owner = described
    count = len(shape)
    sizes = (c.c_int64 * (count or 1))(*shape)
    raw.kind, raw.dtype, raw.data, raw.ndim = 3 if is_table else 1, dtype if is_table else own or dtype, address or None, count
    raw.shape, raw.device_type, raw.device_id = c.addressof(sizes), 0 if is_table else memory, device
    if strides is None:
        raw.strides = None
        return owner, sizes
    steps = (c.c_int64 * (count or 1))(*strides)
    raw.strides = c.addressof(steps)
    return owner, sizes, steps


class PointerTable:
    """A table of pointers as an argument: tensors of one shape, whose addresses the table holds in host memory (for a CPU); or, with
    `address`, the table itself where the device sees it."""

    __slots__ = ("tensors", "shape", "strides", "address", "_table")

    def __init__(self, tensors: typing.Sequence = (), address: typing.Optional[int] = None, shape: typing.Sequence[int] = (),
                 strides: typing.Optional[typing.Sequence[int]] = None):
        described = [None if t is None else describe(t) for t in tensors]
        self.tensors, self.strides = list(tensors), strides
        if address is None:
            self._table = (c.c_void_p * max(len(described), 1))(*[d.address if d else None for d in described])
            address = c.addressof(self._table)
            first = next((d for d in described if d), None)
            shape = shape or (first.shape if first else ())
            shape = (len(described), *shape)
        self.address, self.shape = address, tuple(shape)

    def described(self) -> Described:
        strides = None if self.strides is None else (0, *self.strides)
        return Described(self.address, 0, self.shape, strides, 0, 0, self)
