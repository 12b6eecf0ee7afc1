"""tile programs from .tir text, on PyTorch tensors or raw memory, through libtilert by ctypes.

Here: the objects a user sees. The C declarations are in _abi.py.
"""

import ctypes as _c
import struct as _struct

from . import _abi
from ._abi import DTYPES, Error

__all__ = ["Argument", "Bound", "Buffer", "Context", "Device", "Error", "Kernel", "Loaded", "Program", "Variant",
           "recommend_product", "version"]


def version():
    """(major, minor, patch) of the library that is loaded."""
    number = _abi.lib().tilert_version()
    return number >> 16, (number >> 8) & 255, number & 255


def recommend_product(m, n, k, a="bf16", b="bf16", c="bf16", accumulator=None, trans_a=False, trans_b=False, tf32=False, lda=0, ldb=0,
                      ldc=0, epilogue_bytes=0, target="sm_90a", device_class=None, most=1):
    """The best ways to compute C[m, n] = A[m, k] B[k, n] on a GPU, as the cost model predicts, the fastest first: dicts with the
    fields of tilert_product_choice; path and bound by name, swapped and persistent as bools, predicted in ns. device_class: as in
    Device.info["device_class"]. Nothing is compiled or measured."""
    for name, dtype in (("a", a), ("b", b), ("c", c)):
        if dtype not in DTYPES:
            raise ValueError(f"{name}: {dtype!r} is not a dtype; known: {', '.join(DTYPES)}")
    given = None
    if device_class is not None:
        given = _c.pointer(_abi.DeviceClass(_c.sizeof(_abi.DeviceClass), *device_class))
    product = _abi.Product(_c.sizeof(_abi.Product), bool(trans_a) | bool(trans_b) << 1 | bool(tf32) << 2, m, n, k, DTYPES[a], DTYPES[b],
                           DTYPES[c], DTYPES[accumulator] if accumulator else 0, lda, ldb, ldc, epilogue_bytes, target.encode(), given)
    count = _c.c_uint32()
    _abi.call("tilert_recommend_product", _c.byref(product), None, _c.byref(count))
    count.value = min(count.value, most)
    choices = (_abi.ProductChoice * count.value)()
    for choice in choices:
        choice.struct_size = _c.sizeof(_abi.ProductChoice)
    if count.value:
        _abi.call("tilert_recommend_product", _c.byref(product), choices, _c.byref(count))
    return [_choice(choice) for choice in choices]


def _choice(raw):
    out = {name: getattr(raw, name) for name, _ in raw._fields_ if name not in ("struct_size", "flags")}
    out["path"], out["bound"] = _abi.PRODUCT_PATHS[raw.path], _abi.BOUNDS[raw.bound]
    out["swapped"], out["persistent"] = bool(raw.flags & 1), bool(raw.flags & 2)
    return out


class _Handle:
    """One reference to a C handle."""

    _release = None

    def __init__(self, raw):
        self._raw = raw

    def __del__(self):
        raw, self._raw = getattr(self, "_raw", None), None
        if raw:
            getattr(_abi.lib(), self._release)(raw)


class Buffer:
    """Memory described by hand: an address, a dtype name ("f32"), a shape, optionally strides in elements."""

    def __init__(self, address, dtype, shape, strides=None, device=None):
        if dtype not in DTYPES:
            raise ValueError(f"{dtype!r} is not a dtype; known: {', '.join(DTYPES)}")
        self.address, self.dtype, self.shape, self.strides, self.device = address, dtype, tuple(shape), strides, device


def _described(value):
    """(address, dtype number, shape, strides, device type, device id) of a tensor, or None for what is none."""
    if isinstance(value, Buffer):
        kind, number = value.device or (None, 0)
        memory = {None: 0, "cpu": 1, "cuda": 2}[kind]
        return value.address, DTYPES[value.dtype], value.shape, value.strides, memory, number
    if not hasattr(value, "data_ptr"):
        return None
    name = str(value.dtype).rpartition(".")[2]
    if name not in _abi.TORCH_DTYPES:
        raise TypeError(f"tensors of {value.dtype} are not known here")
    device = value.device
    memory = {"cpu": 1, "cuda": 2}.get(device.type, 0)
    number = device.index if device.index is not None else 0
    return value.data_ptr(), DTYPES[_abi.TORCH_DTYPES[name]], tuple(value.shape), tuple(value.stride()), memory, number


def _scalar_bits(dtype, value):
    """The bit pattern of a Python number in a dtype."""
    text = _abi.DTYPE_NAMES.get(dtype, "?")
    forms = {"f32": "<f", "f16": "<e", "i64": "<q", "i32": "<i", "i8": "<b", "bool": "<?"}
    if text == "bf16":
        wide = _struct.unpack("<I", _struct.pack("<f", value))[0]
        return (wide + 0x7FFF + ((wide >> 16) & 1)) >> 16 if value == value else 0x7FC0
    if text not in forms:
        raise TypeError(f"scalars of {text} are not known here")
    packed = _struct.pack(forms[text], value)
    return int.from_bytes(packed, "little")


class Program(_Handle):
    """A frozen tile program."""

    _release = "tilert_program_release"

    @classmethod
    def parse(cls, text, name="program", allow_source=False):
        data = text.encode() if isinstance(text, str) else text
        raw = _c.c_void_p()
        _abi.call("tilert_program_parse", data, len(data), name.encode(), 1 if allow_source else 0, _c.byref(raw))
        return cls(raw)

    @property
    def text(self):
        text, size = _c.c_char_p(), _c.c_size_t()
        _abi.call("tilert_program_text", self._raw, _c.byref(text), _c.byref(size))
        return text.value.decode()

    @property
    def hash(self):
        text = _c.c_char_p()
        _abi.call("tilert_program_hash", self._raw, _c.byref(text))
        return text.value.decode()

    @property
    def dims(self):
        """Names of the dims, in the order of declaration."""
        lib = _abi.lib()
        return [lib.tilert_program_dim_name(self._raw, i).decode() for i in range(lib.tilert_program_dim_count(self._raw))]

    @property
    def parameters(self):
        """One dict per parameter: name, dtype, tensor, access, rank, alignment."""
        lib = _abi.lib()
        out = []
        for i in range(lib.tilert_program_parameter_count(self._raw)):
            info = _abi.ParameterInfo(struct_size=_c.sizeof(_abi.ParameterInfo))
            _abi.check(lib.tilert_program_parameter(self._raw, i, _c.byref(info)), None)
            out.append({"name": info.name.decode(), "dtype": _abi.DTYPE_NAMES[info.dtype], "tensor": bool(info.is_tensor),
                        "access": {1: "in", 2: "out", 3: "inout"}.get(info.access), "rank": info.rank,
                        "alignment": info.alignment})
        return out

    def interpret(self, arguments, dims=None):
        """Runs it on host memory with the reference interpreter."""
        packed = Argument.pack(self, arguments, dims)
        _abi.call("tilert_program_interpret", self._raw, packed.arguments, packed.count, packed.dims, packed.dim_count)


class Argument:
    """Launch arguments and dims in their C form, with the arrays that they point into."""

    def __init__(self, count, dim_count):
        self.count, self.dim_count = count, dim_count
        self.arguments = (_abi.Argument * max(count, 1))()
        self.dims = (_c.c_int64 * max(dim_count, 1))(*([-1] * max(dim_count, 1)))
        self.kept = []

    @classmethod
    def pack(cls, program, values, dims=None):
        parameters, names = program.parameters, program.dims
        out = cls(len(values), len(names))
        for name, size in (dims or {}).items():
            if name not in names:
                raise ValueError(f"the program has no dim {name!r}; it has: {', '.join(names)}")
            out.dims[names.index(name)] = size
        for i, value in enumerate(values):
            described = _described(value)
            if described:
                out._tensor(i, value, described)
            elif i < len(parameters) and not parameters[i]["tensor"]:
                out._scalar(i, DTYPES[parameters[i]["dtype"]], value)
            else:
                raise TypeError(f"argument {i} ({type(value).__name__}) is neither a tensor nor a Buffer")
        return out

    def _tensor(self, i, value, described):
        address, dtype, shape, strides, memory, device = described
        raw = self.arguments[i]
        raw.kind, raw.dtype, raw.data, raw.ndim = 1, dtype, address or None, len(shape)
        sizes = (_c.c_int64 * max(len(shape), 1))(*shape)
        raw.shape = _c.cast(sizes, _c.POINTER(_c.c_int64))
        self.kept += [value, sizes]
        if strides is not None:
            steps = (_c.c_int64 * max(len(strides), 1))(*strides)
            raw.strides = _c.cast(steps, _c.POINTER(_c.c_int64))
            self.kept.append(steps)
        raw.device_type, raw.device_id = memory, device

    def _scalar(self, i, dtype, value):
        raw = self.arguments[i]
        raw.kind, raw.dtype, raw.bits = 2, dtype, _scalar_bits(dtype, value)


class Device(_Handle):
    _release = "tilert_device_release"

    @property
    def info(self):
        info = _abi.DeviceInfo(struct_size=_c.sizeof(_abi.DeviceInfo))
        _abi.check(_abi.lib().tilert_device_get_info(self._raw, _c.byref(info)), None)
        return {"kind": {1: "cpu", 2: "cuda"}[info.kind], "name": info.name.decode(), "target": info.target.decode(),
                "driver_version": info.driver_version, "ordinal": info.ordinal,
                "multiprocessors": info.device_class.multiprocessors,
                "device_class": tuple(getattr(info.device_class, name) for name in _abi.DEVICE_CLASS)}


class Context(_Handle):
    """Cache and compilers. cache: "default", "memory" or "off"."""

    _release = "tilert_context_release"

    def __init__(self, cache="default", cache_path=None, plugin_path=None, nvrtc_path=None, allow_source=False, hiprtc_path=None):
        options = _abi.ContextOptions(struct_size=_c.sizeof(_abi.ContextOptions))
        options.flags = 1 if allow_source else 0
        options.cache_mode = {"default": 0, "memory": 1, "off": 2}[cache]
        for name, value in (("cache_path", cache_path), ("plugin_path", plugin_path), ("nvrtc_path", nvrtc_path),
                            ("hiprtc_path", hiprtc_path)):
            setattr(options, name, str(value).encode() if value else None)
        raw = _c.c_void_p()
        _abi.call("tilert_context_create", _c.byref(options), _c.byref(raw))
        super().__init__(raw)

    def _open(self, kind, binding=0, ordinal=0, native=None, threads=0):
        options = _abi.DeviceOptions(struct_size=_c.sizeof(_abi.DeviceOptions), kind=kind, binding=binding, ordinal=ordinal,
                                     native=native, threads=threads)
        raw = _c.c_void_p()
        _abi.call("tilert_device_open", self._raw, _c.byref(options), _c.byref(raw))
        return Device(raw)

    def cpu(self, threads=0):
        return self._open(1, threads=threads)

    def hip(self, ordinal=0):
        return self._open(3, ordinal=ordinal)

    def cuda(self, ordinal=0):
        """The primary context of a device, which is PyTorch's too."""
        return self._open(2, 0, ordinal)

    def current(self):
        """The calling thread's current CUDA context."""
        return self._open(2, 1)

    def kernel(self, program, target=None, dims=None, device_class=None):
        """The program for a target ("sm_90a", "cpu"; None: of the device prepared for), with values for some dims.

        device_class: (multiprocessors, bytes of shared memory of a block, of L2 cache) to compile for, as Device.info has
        them; None: the target's own.
        """
        dims = dims or {}
        bindings = (_abi.DimBinding * max(len(dims), 1))()
        for binding, (name, value) in zip(bindings, dims.items()):
            binding.name, binding.value = name.encode(), value
        options = _abi.KernelOptions(struct_size=_c.sizeof(_abi.KernelOptions), dim_count=len(dims), dims=bindings,
                                     target=target.encode() if target else None)
        if device_class:
            sizes = _abi.DeviceClass(_c.sizeof(_abi.DeviceClass), *device_class)
            options.device_class = _c.cast(_c.pointer(sizes), _c.c_void_p)
        raw = _c.c_void_p()
        _abi.call("tilert_kernel_create", self._raw, program._raw, _c.byref(options), _c.byref(raw))
        return Kernel(raw, program)

    @property
    def stats(self):
        stats = _abi.Stats(struct_size=_c.sizeof(_abi.Stats))
        _abi.check(_abi.lib().tilert_context_stats(self._raw, _c.byref(stats)), None)
        return {name: getattr(stats, name) for name, _ in _abi.Stats._fields_[2:]}


class Kernel(_Handle):
    _release = "tilert_kernel_release"

    def __init__(self, raw, program):
        super().__init__(raw)
        self.program = program

    def compile(self):
        _abi.call("tilert_kernel_compile", self._raw)

    def prepare(self, device):
        raw = _c.c_void_p()
        _abi.call("tilert_prepare", self._raw, device._raw, None, _c.byref(raw))
        return Loaded(raw, self.program)

    @property
    def variants(self):
        out = []
        for i in range(_abi.lib().tilert_kernel_variant_count(self._raw)):
            raw = _c.c_void_p()
            _abi.check(_abi.lib().tilert_kernel_variant(self._raw, i, _c.byref(raw)), None)
            out.append(Variant(raw))
        return out


class Variant(_Handle):
    _release = "tilert_variant_release"

    @property
    def info(self):
        info = _abi.VariantInfo(struct_size=_c.sizeof(_abi.VariantInfo))
        _abi.check(_abi.lib().tilert_variant_get_info(self._raw, _c.byref(info)), None)
        values = {name: getattr(info, name) for name, _ in _abi.VariantInfo._fields_[1:]}
        return {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}

    def text(self, stage=None):
        text, size = _c.c_char_p(), _c.c_size_t()
        _abi.call("tilert_variant_text", self._raw, stage.encode() if stage else None, _c.byref(text), _c.byref(size))
        return text.value.decode()

    def explain(self, json=False):
        """How the variant was made, for people, or as JSON for tools."""
        text, size = _c.c_char_p(), _c.c_size_t()
        _abi.call("tilert_variant_explain", self._raw, int(json), _c.byref(text), _c.byref(size))
        return text.value.decode()


class Loaded(_Handle):
    _release = "tilert_loaded_release"

    def __init__(self, raw, program):
        super().__init__(raw)
        self.program = program

    def bind(self, arguments, dims=None, workspace=None):
        """A callable that launches with these arguments: bound(stream). workspace: a tensor, or (address, bytes)."""
        return Bound(self, Argument.pack(self.program, arguments, dims), workspace)

    def launch(self, arguments, dims=None, stream=None, workspace=None):
        self.bind(arguments, dims, workspace)(stream)


class Bound:
    def __init__(self, loaded, packed, workspace):
        self._kept = (loaded, packed, workspace)
        self._failure = _abi.LaunchFailure(struct_size=_c.sizeof(_abi.LaunchFailure))
        info = self._info = _abi.LaunchInfo(struct_size=_c.sizeof(_abi.LaunchInfo))
        info.loaded = loaded._raw
        info.arguments, info.argument_count = packed.arguments, packed.count
        info.dims, info.dim_count = packed.dims, packed.dim_count
        if workspace is not None:
            described = workspace if isinstance(workspace, tuple) else (workspace.data_ptr(), workspace.nbytes)
            info.workspace, info.workspace_bytes = described
        info.failure = _c.pointer(self._failure)
        self._launch, self._at = _abi.lib().tilert_launch, _c.byref(info)

    def __call__(self, stream=None):
        """Launches on a stream: None (the legacy one), a number, or an object with cuda_stream."""
        self._info.stream = getattr(stream, "cuda_stream", stream)
        status = self._launch(self._at)
        if status:
            raise Error(status, self._failure.message.decode(errors="replace"))
