"""The host side: programs, contexts, devices, kernels, variants, launches. Handles are closed by close(), by `with`, or when nothing
refers to them. Building is in builder.py, tensors in tensors.py."""

import ctypes as c
import threading
import typing
import weakref

from . import _abi
from . import _structs as s
from ._abi import DEVICE_CLASS, DTYPE_NAMES, Error, call, check, lib
from .dtypes import bits_of, number_of, of_number
from .launch import Argument, Bound, pack, pack_workspace

_ACCESS = {1: "in", 2: "out", 3: "inout"}
_DEVICES = {1: "cpu", 2: "cuda", 3: "hip"}
_EVENTS = {1: "compile_begin", 2: "compile_end", 3: "cache_hit", 4: "cache_miss", 5: "cache_fault", 6: "note"}


class Handle:
    """One reference to a C handle. Any thread may use it; what it came from is kept by the library."""

    _release = ""
    __slots__ = ("_raw", "_finalizer", "__weakref__")

    def __init__(self, raw: c.c_void_p):
        self._raw = raw
        self._finalizer = weakref.finalize(self, getattr(lib(), self._release), raw)

    def close(self) -> None:
        """Releases it now; again is no error. The handle is not to be used afterwards."""
        self._finalizer()
        self._raw = c.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _text_of(name, *arguments) -> str:
    text, size = c.c_char_p(), c.c_size_t()
    call(name, *arguments, c.byref(text), c.byref(size))
    return c.string_at(text, size.value).decode()


class Diagnostic(typing.NamedTuple):
    """What a print or an assert of a program left."""

    ordinal: int  # 0: entries were lost, how many is values[0]
    block: typing.Tuple[int, int, int]
    values: tuple
    message: str
    file: str
    line: int
    failed: bool


def _collector(entries: typing.List[Diagnostic]):
    def take(_, entry):
        d = entry.contents
        kinds = (c.c_int32 * d.value_count).from_address(d.dtypes) if d.value_count else ()
        bits = (c.c_uint64 * d.value_count).from_address(d.values) if d.value_count else ()
        values = tuple(number_of(of_number(kind), pattern) for kind, pattern in zip(kinds, bits))
        entries.append(Diagnostic(d.ordinal, tuple(d.block), values, d.message.decode(errors="replace"),
                                  d.file.decode(errors="replace"), d.line, bool(d.failed)))
    return s.ON_DIAGNOSTIC(take)


class Program(Handle):
    """A frozen tile program."""

    _release = "tilert_program_release"
    __slots__ = ("_signature",)

    def __init__(self, raw):
        super().__init__(raw)
        self._signature = None

    @classmethod
    def parse(cls, text: typing.Union[str, bytes], name: str = "program", allow_source: bool = False) -> "Program":
        """Reads program text (.tir). name stands for the file in messages."""
        data = text.encode() if isinstance(text, str) else text
        raw = c.c_void_p()
        call("tilert_program_parse", data, len(data), name.encode(), 1 if allow_source else 0, c.byref(raw))
        return cls(raw)

    @property
    def text(self) -> str:
        return _text_of("tilert_program_text", self._raw)

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical text: equal for equal programs."""
        text = c.c_char_p()
        call("tilert_program_hash", self._raw, c.byref(text))
        return text.value.decode()

    @property
    def has_source(self) -> bool:
        return bool(lib().tilert_program_has_source(self._raw))

    @property
    def dims(self) -> typing.List[str]:
        """Names of the dims, in the order of declaration."""
        return list(self.signature()[1])

    @property
    def parameters(self) -> typing.List[dict]:
        """A dict for each: name, dtype, tensor, access, rank, alignment, pointer_table."""
        return [dict(p) for p in self.signature()[0]]

    def signature(self) -> tuple:
        """(parameters, dims, which are tensors, dtype numbers), asked for once."""
        if self._signature is None:
            parameters = [self._parameter(i) for i in range(lib().tilert_program_parameter_count(self._raw))]
            dims = [lib().tilert_program_dim_name(self._raw, i).decode() for i in range(lib().tilert_program_dim_count(self._raw))]
            self._signature = parameters, dims, [p["tensor"] for p in parameters], [_abi.DTYPES[p["dtype"]] for p in parameters]
        return self._signature

    def _parameter(self, i):
        info = s.sized(s.ParameterInfo)
        check(lib().tilert_program_parameter(self._raw, i, c.byref(info)))
        return {"name": info.name.decode(), "dtype": DTYPE_NAMES[info.dtype], "tensor": bool(info.is_tensor), "access": _ACCESS.get(info.access),
                "rank": info.rank, "alignment": info.alignment, "pointer_table": bool(info.is_pointer_table)}

    def interpret(self, arguments: typing.Sequence, dims: typing.Optional[typing.Dict[str, int]] = None) -> typing.List[Diagnostic]:
        """Runs it on host memory with the reference interpreter: slow, exact. Gives what print and assert left."""
        packed, entries = pack(self, arguments, dims), []
        on_entry = _collector(entries)
        call("tilert_program_interpret_diagnosed", self._raw, packed.arguments, packed.count, packed.dims, packed.dim_count, on_entry, None)
        return entries


class Device(Handle):
    """This machine's CPU, a CUDA context or an AMD GPU."""

    _release = "tilert_device_release"
    __slots__ = ("context",)

    def __init__(self, raw, context=None):
        super().__init__(raw)
        self.context = context

    @property
    def info(self) -> dict:
        info = s.sized(s.DeviceInfo)
        check(lib().tilert_device_get_info(self._raw, c.byref(info)))
        return {"kind": _DEVICES[info.kind], "name": info.name.decode(), "target": info.target.decode(),
                "driver_version": info.driver_version, "ordinal": info.ordinal, "multiprocessors": info.device_class.multiprocessors,
                "device_class": tuple(getattr(info.device_class, name) for name in DEVICE_CLASS)}

    def trim(self) -> int:
        """Unloads what was released and is not pinned; may wait for running kernels. How many went."""
        count = c.c_uint32()
        call("tilert_trim", self._raw, c.byref(count))
        return count.value


class Context(Handle):
    """Cache and compilers. cache: "default", "memory" or "off"; isolate: "never", "untrusted" or "always"; on_event(kind, message,
    fields): what the library tells while it works, from any thread."""

    _release = "tilert_context_release"
    __slots__ = ("_on_event",)

    def __init__(self, cache: str = "default", cache_path=None, plugin_path=None, nvrtc_path=None, allow_source: bool = False,
                 hiprtc_path=None, helper_path=None, cache_namespace: typing.Optional[str] = None, isolate: str = "never",
                 compile_timeout: float = 0, on_event: typing.Optional[typing.Callable[[str, str, dict], None]] = None):
        options = s.sized(s.ContextOptions, flags=1 if allow_source else 0)
        options.cache_mode = {"default": 0, "memory": 1, "off": 2}[cache]
        options.isolate = {"never": 0, "untrusted": 1, "always": 2}[isolate]
        options.compile_timeout = int(compile_timeout * 1e9)
        for name, value in (("cache_path", cache_path), ("plugin_path", plugin_path), ("nvrtc_path", nvrtc_path), ("helper_path", helper_path),
                            ("hiprtc_path", hiprtc_path), ("cache_namespace", cache_namespace)):
            setattr(options, name, str(value).encode() if value else None)
        self._on_event = None
        if on_event is not None:
            self._on_event = s.ON_EVENT(_teller(on_event))  # what it raises is shown and goes no further
            options.on_event = c.cast(self._on_event, c.c_void_p)
        raw = c.c_void_p()
        call("tilert_context_create", c.byref(options), c.byref(raw))
        super().__init__(raw)

    def _open(self, kind, binding=0, ordinal=0, native=None, threads=0):
        options = s.sized(s.DeviceOptions, kind=kind, binding=binding, ordinal=ordinal, native=native, threads=threads)
        raw = c.c_void_p()
        call("tilert_device_open", self._raw, c.byref(options), c.byref(raw))
        return Device(raw, self)

    def cpu(self, threads: int = 0) -> Device:
        """This machine's CPU. threads 0: as many as it may use."""
        return self._open(1, threads=threads)

    def hip(self, ordinal: int = 0) -> Device:
        return self._open(3, ordinal=ordinal)

    def cuda(self, ordinal: int = 0) -> Device:
        """The primary context of a device, which is PyTorch's too."""
        return self._open(2, 0, ordinal)

    def current(self) -> Device:
        """The calling thread's current CUDA context."""
        return self._open(2, 1)

    def kernel(self, program: Program, target: typing.Optional[str] = None, dims: typing.Optional[typing.Dict[str, int]] = None,
               device_class: typing.Optional[typing.Sequence[int]] = None, debug: bool = False) -> "Kernel":
        """The program for a target ("sm_90a", "cpu"; None: of the device prepared for), with values for some dims.

        device_class: (multiprocessors, bytes of shared memory of a block, of L2 cache) to compile for, as Device.info has them;
        None: the target's own. debug: elements outside of their tiles are found and reported.
        """
        dims = dims or {}
        bindings = (s.DimBinding * max(len(dims), 1))(*[(name.encode(), value) for name, value in dims.items()])
        options = s.sized(s.KernelOptions, dim_count=len(dims), dims=c.addressof(bindings), target=target.encode() if target else None,
                          flags=int(debug))
        if device_class:
            sizes = s.DeviceClass(c.sizeof(s.DeviceClass), *device_class)
            options.device_class = c.addressof(sizes)
        raw = c.c_void_p()
        call("tilert_kernel_create", self._raw, program._raw, c.byref(options), c.byref(raw))
        return Kernel(raw, program, self)

    def seal(self) -> None:
        """From now on a needed compile is an error."""
        check(lib().tilert_context_seal(self._raw))

    @property
    def stats(self) -> dict:
        stats = s.sized(s.Stats)
        check(lib().tilert_context_stats(self._raw, c.byref(stats)))
        return {name: getattr(stats, name) for name, _ in s.Stats._fields_[2:]}


def _teller(on_event):
    def tell(_, event):
        e = event.contents
        fields = {"status": e.status, "program": e.program.decode(), "target": e.target.decode(), "key": e.key.decode(),
                  "nanoseconds": e.nanoseconds}
        on_event(_EVENTS.get(e.kind, str(e.kind)), e.message.decode(errors="replace"), fields)
    return tell


class Kernel(Handle):
    """A program for a target, with its table of variants."""

    _release = "tilert_kernel_release"
    __slots__ = ("program", "context")

    def __init__(self, raw, program: Program, context: Context):
        super().__init__(raw)
        self.program, self.context = program, context

    def compile(self) -> None:
        """Compiles every variant, or fetches it; needs no device."""
        call("tilert_kernel_compile", self._raw)

    def prepare(self, device: Device) -> "Loaded":
        """Compiles or fetches, and loads on the device."""
        raw = c.c_void_p()
        call("tilert_prepare", self._raw, device._raw, None, c.byref(raw))
        return Loaded(raw, self, device)

    @property
    def variants(self) -> typing.List["Variant"]:
        out = []
        for i in range(lib().tilert_kernel_variant_count(self._raw)):
            raw = c.c_void_p()
            check(lib().tilert_kernel_variant(self._raw, i, c.byref(raw)))
            out.append(Variant(raw, self))
        return out


class Workspace(typing.NamedTuple):
    """Device memory that a launch needs; the first zero_bytes are zeroed once."""

    bytes: int
    alignment: int
    zero_bytes: int
    plan_offset: int
    plan_bytes: int


class Variant(Handle):
    """One specialization of a kernel."""

    _release = "tilert_variant_release"
    __slots__ = ("kernel",)

    def __init__(self, raw, kernel=None):
        super().__init__(raw)
        self.kernel = kernel

    @property
    def info(self) -> dict:
        info = s.sized(s.VariantInfo)
        check(lib().tilert_variant_get_info(self._raw, c.byref(info)))
        values = {name: getattr(info, name) for name, _ in s.VariantInfo._fields_[1:]}
        return {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}

    def text(self, stage: typing.Optional[str] = None) -> str:
        """The generated source, or the program after a pass."""
        return _text_of("tilert_variant_text", self._raw, stage.encode() if stage else None)

    def explain(self, json: bool = False) -> str:
        """How the variant was made, for people, or as JSON for tools."""
        return _text_of("tilert_variant_explain", self._raw, int(json))

    @property
    def binary(self) -> bytes:
        data, size = c.c_void_p(), c.c_size_t()
        call("tilert_variant_binary", self._raw, c.byref(data), c.byref(size))
        return c.string_at(data, size.value)

    def workspace(self, dims: typing.Optional[typing.Dict[str, int]] = None) -> Workspace:
        """What a launch needs with dims up to these."""
        names = self.kernel.program.signature()[1]
        sizes = (c.c_int64 * max(len(names), 1))(*[(dims or {}).get(name, -1) for name in names])
        info = s.sized(s.WorkspaceInfo)
        call("tilert_workspace", self._raw, sizes, len(names), c.byref(info))
        return Workspace(info.bytes, info.alignment, info.zero_bytes, info.plan_offset, info.plan_bytes)


class Loaded(Handle):
    """A kernel's variants, loaded on a device. A launch picks among them."""

    _release = "tilert_loaded_release"
    __slots__ = ("kernel", "device", "program", "_own")

    def __init__(self, raw, kernel: Kernel, device: Device):
        super().__init__(raw)
        self.kernel, self.device, self.program, self._own = kernel, device, kernel.program, threading.local()

    def workspace(self, dims: typing.Optional[typing.Dict[str, int]] = None) -> Workspace:
        """The most that a variant asks for with dims up to these."""
        return max((v.workspace(dims) for v in self.kernel.variants), key=lambda w: w.bytes)

    def bind(self, arguments: typing.Sequence, dims: typing.Optional[typing.Dict[str, int]] = None, workspace=None,
             attributes: typing.Optional[typing.Dict[str, int]] = None) -> Bound:
        """A callable that launches with these arguments, packed once: bound(stream). Its memory belongs to one thread at a time.

        arguments: tensors (what tensors.describe takes), numbers for scalars, PointerTable. dims: by name, what does not follow
        from the shapes. workspace: a tensor, or (address, bytes). attributes: pdl, priority, cooperative, max_blocks.
        """
        return Bound(self, pack(self.program, arguments, dims), pack_workspace(workspace), attributes)

    def launch(self, arguments: typing.Sequence, dims: typing.Optional[typing.Dict[str, int]] = None, stream=None, workspace=None,
               attributes: typing.Optional[typing.Dict[str, int]] = None) -> None:
        """Launches once on the caller's stream; never compiles, loads or waits (a CPU runs it to the end)."""
        if attributes:
            self.bind(arguments, dims, workspace, attributes)(stream)
            return
        bound = getattr(self._own, "bound", None)  # of this thread
        if bound is None or bound.count != len(arguments):
            bound = self._own.bound = Bound(weakref.proxy(self), Argument(len(arguments), len(self.program.signature()[1])), (None, 0, None))
        bound.again(arguments, dims, workspace, stream)

    def diagnostics(self, workspace) -> typing.List[Diagnostic]:
        """What print and assert left in a host copy of the workspace's first zero_bytes, made after the launches have ended."""
        address, size, _ = pack_workspace(workspace)
        entries: typing.List[Diagnostic] = []
        on_entry = _collector(entries)
        call("tilert_diagnostics_read", self._raw, address, size, on_entry, None)
        return entries

    def plan(self, dims: typing.Optional[typing.Dict[str, int]] = None, max_blocks: int = 0) -> bytes:
        """A planned schedule of a persistent kernel with costs, for plan_offset of the workspace; empty: nothing follows one here."""
        names = self.program.signature()[1]
        sizes = (c.c_int64 * max(len(names), 1))(*[(dims or {}).get(name, -1) for name in names])
        count = c.c_uint64()
        call("tilert_plan", self._raw, sizes, len(names), max_blocks, None, c.byref(count))
        data = c.create_string_buffer(count.value)
        if count.value:
            call("tilert_plan", self._raw, sizes, len(names), max_blocks, data, c.byref(count))
        return data.raw[:count.value]

    def unpin(self) -> None:
        """The caller's word that no captured graph remains that launches this."""
        call("tilert_unpin", self._raw)


__all__ = ["Argument", "Bound", "Context", "Device", "Diagnostic", "Error", "Kernel", "Loaded", "Program", "Variant", "Workspace", "bits_of"]
