"""Element types by name, and numbers as their bit patterns."""

import struct as _struct

from ._abi import DTYPE_NAMES, DTYPES


class DType(str):
    """An element type: the string of its name ("bf16"), with its number and its width in bits."""

    __slots__ = ("number", "bits")

    def __new__(cls, name: str) -> "DType":
        self = super().__new__(cls, name)
        self.number = DTYPES[name]
        self.bits = _BITS[name]
        return self

    def __repr__(self) -> str:
        return "tilert_jit." + ("boolean" if self == "bool" else str.__str__(self))

    @property
    def is_float(self) -> bool:
        return self[0] not in "iub"  # int, uint, index, bool

    def __reduce__(self):
        return DType, (str.__str__(self),)


_BITS = {"bool": 8, "i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "u4": 4, "u8": 8, "u16": 16, "u32": 32, "u64": 64, "f16": 16,
         "bf16": 16, "f32": 32, "f64": 64, "tf32": 32, "e4m3": 8, "e5m2": 8, "e4m3fnuz": 8, "e5m2fnuz": 8, "e8m0": 8, "e2m3": 6,
         "e3m2": 6, "e2m1": 4, "nf4": 4, "index": 64}
_ALL = {name: DType(name) for name in DTYPES}

boolean, index = _ALL["bool"], _ALL["index"]
i4, i8, i16, i32, i64 = (_ALL[f"i{n}"] for n in (4, 8, 16, 32, 64))
u4, u8, u16, u32, u64 = (_ALL[f"u{n}"] for n in (4, 8, 16, 32, 64))
f16, bf16, f32, f64 = (_ALL[name] for name in ("f16", "bf16", "f32", "f64"))
e4m3, e5m2, e4m3fnuz, e5m2fnuz, e8m0 = (_ALL[name] for name in ("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0"))
e2m3, e3m2, e2m1, nf4 = (_ALL[name] for name in ("e2m3", "e3m2", "e2m1", "nf4"))

# What NumPy, ml_dtypes and PyTorch call them.
_FOREIGN = {"bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
            "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "float8_e4m3fn": "e4m3",
            "float8_e5m2": "e5m2", "float8_e4m3fnuz": "e4m3fnuz", "float8_e5m2fnuz": "e5m2fnuz", "float8_e8m0fnu": "e8m0"}


def named(given) -> DType:
    """The DType that a name or another library's dtype stands for."""
    found = _ALL.get(given) if isinstance(given, str) else None
    if found is None:
        foreign = given if isinstance(given, str) else getattr(given, "name", None) or str(given)
        found = _ALL.get(_FOREIGN.get(foreign.rpartition(".")[2], ""))
    if found is None:
        raise ValueError(f"{given!r} is not a dtype; known: {', '.join(DTYPES)}")
    return found


def of_number(number: int) -> DType:
    return _ALL[DTYPE_NAMES[number]]


_FORMS = {"f64": "<d", "f32": "<f", "f16": "<e", "i64": "<q", "i32": "<i", "i16": "<h", "i8": "<b", "u64": "<Q", "u32": "<I", "u16": "<H",
          "u8": "<B", "bool": "<?", "e4m3": "<B", "e5m2": "<B", "e4m3fnuz": "<B", "e5m2fnuz": "<B", "e8m0": "<B"}


def form(dtype: DType) -> str:
    """How struct packs an element of 8 bits or more; fp8 as its byte, bf16 as 16 bits."""
    found = "<H" if dtype == "bf16" else _FORMS.get(dtype)
    if found is None:
        raise TypeError(f"elements of {dtype} have no form of their own here: pass their bytes")
    return found


def bits_of(dtype: DType, value) -> int:
    """The bit pattern of a Python number in a dtype; of fp8 the number is the pattern."""
    if dtype == "bf16":
        wide = _struct.unpack("<I", _struct.pack("<f", value))[0]
        return (wide + 0x7FFF + ((wide >> 16) & 1)) >> 16 if value == value else 0x7FC0
    if dtype == "index":
        dtype = i64
    packed = _struct.pack(form(dtype), value)
    return int.from_bytes(packed, "little")


def number_of(dtype: DType, bits: int):
    """The Python number that a bit pattern is; signed integers, floats and bools as such, other types as their pattern."""
    if dtype == "bf16":
        return _struct.unpack("<f", _struct.pack("<I", (bits & 0xFFFF) << 16))[0]
    letters = _FORMS.get(i64 if dtype == "index" else dtype)
    if letters is None:
        return bits
    size = _struct.calcsize(letters)
    return _struct.unpack(letters, (bits & (1 << 8 * size) - 1).to_bytes(size, "little"))[0]
