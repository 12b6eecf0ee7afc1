"""The functions of include/tilert.h in ctypes: signatures, finding the library, statuses as exceptions. Structs are in _structs.py."""

import ctypes as c
import enum
import os
import re

from . import _structs as s
from ._structs import DeviceClass

DTYPES = {"bool": 1, "i4": 2, "i8": 3, "i16": 4, "i32": 5, "i64": 6, "u4": 7, "u8": 8, "u16": 9, "u32": 10, "u64": 11,
          "f16": 12, "bf16": 13, "f32": 14, "f64": 15, "tf32": 16, "e4m3": 17, "e5m2": 18, "e4m3fnuz": 19, "e5m2fnuz": 20,
          "e8m0": 21, "e2m3": 22, "e3m2": 23, "e2m1": 24, "nf4": 25, "index": 26}
DTYPE_NAMES = {number: name for name, number in DTYPES.items()}
DEVICE_CLASS = tuple(name for name, _ in DeviceClass._fields_[1:])

# A letter for each argument: p pointer or array, s string, u uint32, i int32, q int64, Q uint64, z size; ids by value: v value,
# t tensor, b tile, d dim, n scalar, f function. The result follows a colon; none: nothing. A last ! is the error that most take.
_LETTERS = {"p": c.c_void_p, "s": c.c_char_p, "u": c.c_uint32, "i": c.c_int32, "q": c.c_int64, "Q": c.c_uint64, "z": c.c_size_t,
            "v": s.Value, "t": s.Tensor, "b": s.Tile, "d": s.Dim, "n": s.Scalar, "f": s.Function, "!": c.c_void_p}
_BUILDER = """create sp:i, retain p, release p, at psus, status p:i, finish pp!:i, dim psp:d, tensor psiipup:t, scalar psi:n,
begin_kernel ppp:i, end_kernel p:i, tile_cost pvv:i, source_kernel pp:i, buffer piipup:b, layout_indices pbp:i, annotate_layout pbivu:i,
view pbipu:b, tensor_reshape ptpu:t, tensor_transpose ptpu:t, index pq:v, constant piQ:v, literal piQ:v, dim_value pd:v, scalar_value pn:v,
op pipu:v, cast pivu:v, cast_stochastic pivvu:v, reinterpret piv:v, fast pv:v, dtype_of pv:i, let pv:v, load pp:v, store ppv:i,
atomic pipvpp:i, atomic_tile pippp:i, atomic_load ppp:v, atomic_store ppvp:i, random pivvvp:i, print pspu:i, print_tile psp:i,
assert pvspu:i, copy pppp:i, fill ppv:i, clear pp:i, gemm ppppp:i, reduce pippup:i, scan pippup:i, sort ppppup:i, begin_combine pppp:i,
end_combine ppu:i, gather ppppu:i, scatter ppppup:i, transpose ppppu:i, begin_parallel ppup:i, end_parallel p:i, begin_serial pivvvp:i,
end_serial p:i, begin_pipelined pvup:i, end_pipelined p:i, begin_while p:i, begin_while_body pv:i, end_while p:i, break p:i, continue p:i,
return p:i, grid_sync p:i, begin_if pv:i, begin_else p:i, end_if p:i, begin_threads pp:i, end_threads p:i, thread_id p:v, shuffle pivvu:v,
vote piv:v, sync_threads puu:i, fence pi:i, copy_async pppu:i, commit_copies p:i, wait_copies pu:i, barriers puup:b, arrive pp:i,
arrive_expect ppu:i, wait_barrier ppv:i, load_tensor pppp:i, store_tensor ppp:i, commit_stores p:i, wait_stores pui:i, commit_products p:i,
wait_products pu:i, begin_roles pp:i, begin_role pi:i, end_role p:i, end_roles p:i, inline_source pp:i, device_function pp:f,
call_device pfpup:i"""
_HOST = """status_name i:s, error_status p:i, error_message p:s, error_source p:s, error_log p:s, error_retain p, error_release p, version :u,
feature s!:i, dtype_bits i:u, dtype_name i:s, number_op ipup:i, number_cast ipp:i, number_reinterpret ipp:i, program_retain p,
program_release p, program_parse szsup!:i, program_text ppp!:i, program_hash pp!:i, program_has_source p:i, program_parameter_count p:u,
program_parameter pup:i, program_dim_count p:u, program_dim_name pu:s, program_interpret ppupu!:i, program_interpret_diagnosed ppupupp!:i,
context_create pp!:i, context_retain p, context_release p, context_seal p:i, context_stats pp:i, commit p!:i, bundle_write ppus!:i,
bundle_load psu!:i, device_open ppp!:i, device_retain p, device_release p, device_get_info pp:i, trim pp!:i, recommend_product ppp!:i,
kernel_create pppp!:i, kernel_retain p, kernel_release p, kernel_compile p!:i, kernel_variant_count p:u, kernel_variant pup:i,
variant_retain p, variant_release p, variant_get_info pp:i, variant_text pspp!:i, variant_explain pipp!:i, variant_binary ppp!:i,
prepare pppp!:i, loaded_retain p, loaded_release p, prepare_submit pppp!:i, job_poll p:i, job_wait pQ:i, job_cancel p:i, job_result pp!:i,
job_retain p, job_release p, launch p:i, launch_export pp:i, unpin p!:i, workspace ppup!:i, plan ppuupp!:i, plan_launch p:i,
diagnostics_read ppQpp!:i"""


class Status(enum.IntEnum):
    """What a call answers."""

    OK = 0
    INVALID_ARGUMENT = 1
    INVALID_PROGRAM = 2
    UNSUPPORTED = 3
    UNAVAILABLE = 4
    NOT_READY = 5
    ALIGNMENT = 6
    SHAPE = 7
    OUT_OF_MEMORY = 8
    DRIVER = 9
    COMPILE = 10
    FORKED = 11
    SEALED = 12
    TIMEOUT = 13
    CANCELLED = 14
    SOURCE_REFUSED = 15
    CORRUPT = 16
    INTERNAL = 17


class Error(RuntimeError):
    """A failed call.

    status: a Status; name: its name; message: complete in itself; file and line: where the program was built that the message
    speaks of, or None; source and log: the generated source and the compiler's log, where a compiler refused.
    """

    def __init__(self, status, message="", source="", log=""):
        self.status = Status(status) if status in Status._value2member_map_ else status
        self.name = getattr(self.status, "name", "UNKNOWN")
        self.message, self.source, self.log = message or self.name, source, log
        place = re.match(r"(.+?):(\d+): ", self.message)
        self.file, self.line = (place[1], int(place[2])) if place else (None, None)
        super().__init__(f"{self.name}: {self.message}" + (f"\n{log}" if log else ""))

    def __reduce__(self):
        return Error, (int(self.status), self.message, self.source, self.log)


def signatures():
    """(C name, letters of the arguments, letter of the result or "") of each function."""
    for prefix, table in (("tilert_builder_", _BUILDER), ("tilert_", _HOST)):
        for row in table.split(","):
            name, _, kinds = row.strip().partition(" ")
            arguments, _, result = kinds.partition(":")
            yield prefix + name, arguments, result


def _candidates():
    """Paths to try: what is named, then beside this package, then the loader's own search."""
    if os.environ.get("TILERT_LIBRARY"):
        return [os.environ["TILERT_LIBRARY"]]
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtilert.so.0")
    return [beside, "libtilert.so.0"] if os.path.exists(beside) else ["libtilert.so.0"]


def _open():
    tried = []
    for path in _candidates():
        try:
            return c.CDLL(path)
        except OSError as problem:
            tried.append(f"{path}: {problem}")
    raise Error(Status.UNAVAILABLE, "the library tilert is not found. Name it in TILERT_LIBRARY (a file), or install it where the "
                "loader looks. Tried " + "; ".join(tried))


_lib = None


def lib():
    """The library, loaded at the first call. Calls release the GIL, as ctypes does."""
    global _lib
    if _lib is None:
        found = _open()
        for name, arguments, result in signatures():
            function = getattr(found, name)
            function.argtypes = [_LETTERS[letter] for letter in arguments]
            function.restype = _LETTERS[result] if result else None
        _lib = found
    return _lib


def check(status, error=None):
    """Raises what went wrong, if something did."""
    if status == 0:
        return
    if not error:
        raise Error(status)
    found = lib()
    texts = [getattr(found, f"tilert_error_{part}")(error).decode(errors="replace") for part in ("message", "source", "log")]
    found.tilert_error_release(error)
    raise Error(status, *texts)


def call(name, *arguments):
    """Calls a function that ends in an error; raises it."""
    error = c.c_void_p()
    check(getattr(lib(), name)(*arguments, c.byref(error)), error)
