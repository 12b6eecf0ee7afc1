"""cuBLASLt by ctypes, as the peer of the product benchmarks: y[m, n] = x[m, k] w[n, k]^T, with the algorithms that its heuristic
names. No decisions about what is timed here; the declarations follow cublasLt.h (12.x and 13.x agree in them).
"""

import ctypes as c
import glob
import os
import sys

WORKSPACE = 64 * 2**20
CANDIDATES = 8  # algorithms asked for

# cudaDataType_t and cublasComputeType_t
_R_32F, _R_16F, _R_8I, _R_32I, _R_16BF, _R_E4M3 = 0, 2, 3, 10, 14, 28
_COMPUTE_32F, _COMPUTE_32I, _COMPUTE_TF32 = 68, 72, 77
_OP_T = 1
# Attributes of a matmul description and of a preference.
_TRANSA, _A_SCALE, _B_SCALE, _FAST_ACCUM = 3, 17, 18, 25
_MAX_WORKSPACE = 1

# Of each kind of product: operands, result, compute type, type of alpha and beta.
TYPES = {"bf16": (_R_16BF, _R_16BF, _COMPUTE_32F, _R_32F), "f16": (_R_16F, _R_16F, _COMPUTE_32F, _R_32F),
         "e4m3": (_R_E4M3, _R_16BF, _COMPUTE_32F, _R_32F), "i8": (_R_8I, _R_32I, _COMPUTE_32I, _R_32I),
         "tf32": (_R_32F, _R_32F, _COMPUTE_TF32, _R_32F)}


class Algorithm(c.Structure):
    _fields_ = [("data", c.c_uint64 * 8)]


class Heuristic(c.Structure):
    _fields_ = [("algorithm", Algorithm), ("workspace", c.c_size_t), ("state", c.c_int), ("waves", c.c_float),
                ("reserved", c.c_int * 4)]


_ptr, _out, _int, _i64, _u64, _size = c.c_void_p, c.POINTER(c.c_void_p), c.c_int, c.c_int64, c.c_uint64, c.c_size_t
_FUNCTIONS = {
    "cublasLtCreate": [_out],
    "cublasLtMatmulDescCreate": [_out, _int, _int],
    "cublasLtMatmulDescDestroy": [_ptr],
    "cublasLtMatmulDescSetAttribute": [_ptr, _int, _ptr, _size],
    "cublasLtMatrixLayoutCreate": [_out, _int, _u64, _u64, _i64],
    "cublasLtMatrixLayoutDestroy": [_ptr],
    "cublasLtMatmulPreferenceCreate": [_out],
    "cublasLtMatmulPreferenceSetAttribute": [_ptr, _int, _ptr, _size],
    "cublasLtMatmulAlgoGetHeuristic": [_ptr, _ptr, _ptr, _ptr, _ptr, _ptr, _ptr, _int, c.POINTER(Heuristic), c.POINTER(_int)],
    "cublasLtMatmul": [_ptr, _ptr, _ptr, _ptr, _ptr, _ptr, _ptr, _ptr, _ptr, _ptr, _ptr, _ptr, _ptr, _ptr, _size, _ptr],
}


class Refused(RuntimeError):
    """The library has no algorithm for a product, or a call of it failed."""


def find():
    """Where the library may be: named by CUBLASLT_LIBRARY, in this process already, beside Python's packages, the loader's."""
    named = os.environ.get("CUBLASLT_LIBRARY")
    if named:
        return [named]
    places = []
    with open("/proc/self/maps") as maps:
        places += sorted({line.split()[-1] for line in maps if "libcublasLt.so" in line})
    for folder in sys.path:
        places += sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libcublasLt.so.1[0-9]")), reverse=True)
    return places + ["libcublasLt.so.13", "libcublasLt.so.12"]


def load():
    problems = []
    for place in find():
        try:
            found = c.CDLL(place)
        except OSError as problem:
            problems.append(str(problem))
            continue
        for name, arguments in _FUNCTIONS.items():
            function = getattr(found, name)
            function.restype, function.argtypes = _int, arguments
        found.cublasLtGetVersion.restype, found.cublasLtGetVersion.argtypes = _size, []
        found.cublasLtGetStatusString.restype, found.cublasLtGetStatusString.argtypes = c.c_char_p, [_int]
        return found
    raise Refused("no cuBLASLt: " + "; ".join(problems))


class Library:
    """One handle, its workspace (the address of WORKSPACE bytes) and the preference that every heuristic is asked with."""

    def __init__(self, workspace):
        self.lib, self.workspace = load(), workspace
        self.handle, self.preference = _ptr(), _ptr()
        self.check(self.lib.cublasLtCreate(c.byref(self.handle)))
        self.check(self.lib.cublasLtMatmulPreferenceCreate(c.byref(self.preference)))
        size = _u64(WORKSPACE)
        self.check(self.lib.cublasLtMatmulPreferenceSetAttribute(self.preference, _MAX_WORKSPACE, c.byref(size), 8))

    @property
    def version(self):
        return self.lib.cublasLtGetVersion()

    def check(self, status):
        if status:
            raise Refused(f"cuBLASLt: {self.lib.cublasLtGetStatusString(status).decode()}")


class Product:
    """y = x w^T of `kind` (a key of TYPES) between addresses; ld*: elements from row to row. Asks the heuristic at once.

    A row-major matrix is its transpose column by column, so the library's own A is w, transposed, its B is x, and D is y.
    scales: addresses of the f32 scales of x and w, of fp8 products, which then sum in the tensor cores alone (the faster form).
    """

    def __init__(self, library, kind, m, n, k, x, w, y, ldx=None, ldw=None, ldy=None, scales=None):
        self.library, self.x, self.w, self.y = library, x, w, y
        operand, result, compute, scale = TYPES[kind]
        lib, check = library.lib, library.check
        number = c.c_int32 if kind == "i8" else c.c_float
        self.alpha, self.beta = number(1), number(0)
        self.desc, self.layouts = _ptr(), [_ptr() for _ in range(3)]
        check(lib.cublasLtMatmulDescCreate(c.byref(self.desc), compute, scale))
        self._set(_TRANSA, c.c_int32(_OP_T))
        if scales:
            self._set(_A_SCALE, _ptr(scales[1]))
            self._set(_B_SCALE, _ptr(scales[0]))
            self._set(_FAST_ACCUM, c.c_int8(1))
        for layout, (dtype, rows, columns, lead) in zip(self.layouts, ((operand, k, n, ldw or k), (operand, k, m, ldx or k),
                                                                     (result, n, m, ldy or n))):
            check(lib.cublasLtMatrixLayoutCreate(c.byref(layout), dtype, rows, columns, lead))
        self.algorithms = self._heuristic()

    def _set(self, attribute, value):
        self.library.check(self.library.lib.cublasLtMatmulDescSetAttribute(self.desc, attribute, c.byref(value), c.sizeof(value)))

    def _heuristic(self):
        lib, a, b, d = self.library.lib, *self.layouts
        found, count = (Heuristic * CANDIDATES)(), _int()
        self.library.check(lib.cublasLtMatmulAlgoGetHeuristic(self.library.handle, self.desc, a, b, d, d, self.library.preference,
                                                              CANDIDATES, found, c.byref(count)))
        usable = [found[i] for i in range(count.value) if found[i].state == 0 and found[i].workspace <= WORKSPACE]
        if not usable:
            raise Refused("cuBLASLt has no algorithm for it")
        return usable

    def launch(self, index=0):
        """A callable that launches one of the algorithms on the legacy stream."""
        library, (a, b, d) = self.library, self.layouts
        matmul, algorithm = library.lib.cublasLtMatmul, c.byref(self.algorithms[index].algorithm)
        alpha, beta = c.byref(self.alpha), c.byref(self.beta)

        def run():
            status = matmul(library.handle, self.desc, alpha, self.w, a, self.x, b, beta, self.y, d, self.y, d, algorithm,
                            library.workspace, WORKSPACE, None)
            if status:
                library.check(status)

        return run

    def __del__(self):
        for layout in getattr(self, "layouts", []):
            self.library.lib.cublasLtMatrixLayoutDestroy(layout)
        if getattr(self, "desc", None):
            self.library.lib.cublasLtMatmulDescDestroy(self.desc)
