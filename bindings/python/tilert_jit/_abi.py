"""The C interface in ctypes: structs, signatures, finding the library, errors. Mirrors include/tilert.h."""

import ctypes as c
import os

DTYPES = {"bool": 1, "i4": 2, "i8": 3, "i16": 4, "i32": 5, "i64": 6, "u4": 7, "u8": 8, "u16": 9, "u32": 10, "u64": 11,
          "f16": 12, "bf16": 13, "f32": 14, "f64": 15, "tf32": 16, "e4m3": 17, "e5m2": 18, "e4m3fnuz": 19, "e5m2fnuz": 20,
          "e8m0": 21, "e2m3": 22, "e3m2": 23, "e2m1": 24, "nf4": 25, "index": 26}
DTYPE_NAMES = {number: name for name, number in DTYPES.items()}
TORCH_DTYPES = {"bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
                "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "float8_e4m3fn": "e4m3",
                "float8_e5m2": "e5m2", "float8_e4m3fnuz": "e4m3fnuz", "float8_e5m2fnuz": "e5m2fnuz"}


def _struct(name, *fields):
    return type(name, (c.Structure,), {"_fields_": list(fields)})


_u32, _i32, _u64, _i64, _ptr, _str = c.c_uint32, c.c_int32, c.c_uint64, c.c_int64, c.c_void_p, c.c_char_p

Argument = _struct("Argument", ("kind", _i32), ("dtype", _i32), ("data", _ptr), ("shape", c.POINTER(_i64)),
                   ("strides", c.POINTER(_i64)), ("ndim", _i32), ("device_type", _i32), ("device_id", _i32),
                   ("reserved", _u32), ("bits", _u64))
ParameterInfo = _struct("ParameterInfo", ("struct_size", _u32), ("is_tensor", _u32), ("name", _str), ("dtype", _i32),
                        ("access", _i32), ("rank", _u32), ("alignment", _u32))
ContextOptions = _struct("ContextOptions", ("struct_size", _u32), ("flags", _u32), ("cache_mode", _i32), ("isolate", _i32),
                         ("cache_path", _str), ("cache_namespace", _str), ("plugin_path", _str), ("nvrtc_path", _str),
                         ("helper_path", _str), ("compile_threads", _u32), ("seal", _u32), ("compile_timeout", _u64),
                         ("on_event", _ptr), ("on_event_user", _ptr), ("hiprtc_path", _str))
Stats = _struct("Stats", ("struct_size", _u32), ("reserved", _u32),
                *[(name, _u64) for name in ("memory_hits", "disk_hits", "misses", "compiles", "compile_failures",
                                            "compile_nanoseconds", "puts", "put_bytes", "cache_faults", "sealed_misses",
                                            "loads")])
DeviceOptions = _struct("DeviceOptions", ("struct_size", _u32), ("kind", _i32), ("binding", _i32), ("ordinal", _i32),
                        ("uuid", _ptr), ("native", _ptr), ("executor", _ptr), ("threads", _u32), ("reserved", _u32),
                        ("driver_path", _str))
DeviceClass = _struct("DeviceClass", ("struct_size", _u32), ("multiprocessors", _u32), ("shared_bytes", _u64),
                      ("l2_bytes", _u64))
DEVICE_CLASS = tuple(name for name, _ in DeviceClass._fields_[1:])
DeviceInfo = _struct("DeviceInfo", ("struct_size", _u32), ("kind", _i32), ("name", _str), ("target", _str),
                     ("driver_version", _u32), ("ordinal", _i32), ("device_class", DeviceClass))
DimBinding = _struct("DimBinding", ("name", _str), ("value", _i64), ("buckets", _ptr), ("bucket_count", _u32),
                     ("reserved", _u32))
KernelOptions = _struct("KernelOptions", ("struct_size", _u32), ("dim_count", _u32), ("dims", c.POINTER(DimBinding)),
                        ("target", _str), ("device_class", _ptr), ("flags", _u32), ("reserved", _u32))
VariantInfo = _struct("VariantInfo", ("struct_size", _u32), ("compiled", _u32), ("target", _str), ("request_key", _str),
                      ("binary_key", _str), ("conditions", _str), ("configuration", _str), ("log", _str),
                      ("compile_nanoseconds", _u64), ("binary_bytes", _u64), ("registers", _u32), ("spill_bytes", _u32),
                      ("threads", _u32), ("shared_bytes", _u32))
LaunchFailure = _struct("LaunchFailure", ("struct_size", _u32), ("status", _i32), ("argument", _i32), ("dim", _i32),
                        ("driver_code", _i32), ("reserved", _u32), ("message", c.c_char * 232))
LaunchInfo = _struct("LaunchInfo", ("struct_size", _u32), ("flags", _u32), ("loaded", _ptr), ("stream", _ptr),
                     ("arguments", c.POINTER(Argument)), ("dims", c.POINTER(_i64)), ("argument_count", _u32),
                     ("dim_count", _u32), ("workspace", _ptr), ("workspace_bytes", _u64), ("attributes", _ptr),
                     ("attribute_count", _u32), ("reserved", _u32), ("record", _ptr), ("record_bytes", _u64),
                     ("failure", c.POINTER(LaunchFailure)))
Product = _struct("Product", ("struct_size", _u32), ("flags", _u32), ("m", _i64), ("n", _i64), ("k", _i64), ("a", _i32), ("b", _i32),
                  ("c", _i32), ("accumulator", _i32), ("lda", _i64), ("ldb", _i64), ("ldc", _i64), ("epilogue_bytes", _u64),
                  ("target", _str), ("device_class", c.POINTER(DeviceClass)))
ProductChoice = _struct("ProductChoice", ("struct_size", _u32), ("path", _i32), ("tile_m", _u32), ("tile_n", _u32), ("tile_k", _u32),
                        ("consumers", _u32), ("threads", _u32), ("stages", _u32), ("cluster", _u32), ("split_k", _u32),
                        ("raster", _u32), ("flags", _u32), ("bound", _i32), ("shared_bytes", _u32), ("predicted", _u64))
PRODUCT_PATHS = {1: "warpgroup", 2: "warp", 3: "vector"}
BOUNDS = {1: "tensor", 2: "shared", 3: "feed", 4: "l2", 5: "memory", 6: "latency"}

# Arguments of each function, without the trailing error; the first group takes one.
_WITH_ERROR = {
    "tilert_program_parse": [_str, c.c_size_t, _str, _u32, c.POINTER(_ptr)],
    "tilert_program_text": [_ptr, c.POINTER(_str), c.POINTER(c.c_size_t)],
    "tilert_program_hash": [_ptr, c.POINTER(_str)],
    "tilert_program_interpret": [_ptr, c.POINTER(Argument), _u32, c.POINTER(_i64), _u32],
    "tilert_context_create": [c.POINTER(ContextOptions), c.POINTER(_ptr)],
    "tilert_device_open": [_ptr, c.POINTER(DeviceOptions), c.POINTER(_ptr)],
    "tilert_kernel_create": [_ptr, _ptr, c.POINTER(KernelOptions), c.POINTER(_ptr)],
    "tilert_kernel_compile": [_ptr],
    "tilert_prepare": [_ptr, _ptr, _ptr, c.POINTER(_ptr)],
    "tilert_recommend_product": [c.POINTER(Product), c.POINTER(ProductChoice), c.POINTER(_u32)],
    "tilert_variant_explain": [_ptr, c.c_int32, c.POINTER(_str), c.POINTER(c.c_size_t)],
    "tilert_variant_text": [_ptr, _str, c.POINTER(_str), c.POINTER(c.c_size_t)],
}
_PLAIN = {
    "tilert_version": (_u32, []),
    "tilert_status_name": (_str, [_i32]),
    "tilert_error_message": (_str, [_ptr]),
    "tilert_error_source": (_str, [_ptr]),
    "tilert_error_log": (_str, [_ptr]),
    "tilert_program_parameter_count": (_u32, [_ptr]),
    "tilert_program_parameter": (_i32, [_ptr, _u32, c.POINTER(ParameterInfo)]),
    "tilert_program_dim_count": (_u32, [_ptr]),
    "tilert_program_dim_name": (_str, [_ptr, _u32]),
    "tilert_context_stats": (_i32, [_ptr, c.POINTER(Stats)]),
    "tilert_device_get_info": (_i32, [_ptr, c.POINTER(DeviceInfo)]),
    "tilert_kernel_variant_count": (_u32, [_ptr]),
    "tilert_kernel_variant": (_i32, [_ptr, _u32, c.POINTER(_ptr)]),
    "tilert_variant_get_info": (_i32, [_ptr, c.POINTER(VariantInfo)]),
    "tilert_launch": (_i32, [c.POINTER(LaunchInfo)]),
    **{f"tilert_{noun}_release": (None, [_ptr])
       for noun in ("error", "program", "context", "device", "kernel", "variant", "loaded")},
}

_lib = None


class Error(RuntimeError):
    """A failed call: status (number), name, message; source and log where a compiler refused."""

    def __init__(self, status, message, source="", log=""):
        self.status, self.name, self.source, self.log = status, lib().tilert_status_name(status).decode(), source, log
        self.message = message or self.name
        super().__init__(f"{self.name}: {self.message}" + (f"\n{log}" if log else ""))


def lib():
    """The library, loaded at the first call."""
    global _lib
    if _lib is None:
        here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtilert.so.0")
        path = os.environ.get("TILERT_LIBRARY") or (here if os.path.exists(here) else "libtilert.so.0")
        found = c.CDLL(path)
        for name, arguments in _WITH_ERROR.items():
            function = getattr(found, name)
            function.restype, function.argtypes = _i32, [*arguments, c.POINTER(_ptr)]
        for name, (result, arguments) in _PLAIN.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
        _lib = found
    return _lib


def check(status, error):
    if status == 0:
        return
    found = lib()
    texts = [getattr(found, f"tilert_error_{part}")(error).decode(errors="replace") for part in ("message", "source", "log")]
    found.tilert_error_release(error)
    raise Error(status, *texts)


def call(name, *arguments):
    """Calls a function that ends in an error; raises it."""
    error = c.c_void_p()
    check(getattr(lib(), name)(*arguments, c.byref(error)), error)
