"""tile programs from Python: declarations, kernels, storage and tile operations. Scopes are in scopes.py, statements on elements in
elements.py, values in values.py."""

import ctypes as c
import functools
import os
import sys
import typing
import weakref

from . import _structs as s
from ._abi import call, check, lib
from .dtypes import named
from .elements import LAYOUTS, Elements
from .host import Program
from .scopes import Scope, Scopes
from .values import Dim, Expr, Region, Tile, Value, Var, id_in, ids_in

_HERE = os.path.dirname(os.path.abspath(__file__))
_ACCESS = {"in": 1, "out": 2, "inout": 3}
_HINTS = {"threads": 1, "threads_fixed": 2, "min_blocks": 3, "max_registers": 4, "raster": 5, "roles": 6, "cluster": 7, "pdl": 8,
          "split_k": 9, "consumers": 10}
_PREFER = {"auto": 0, "tma": 1, "async": 2, "sync": 3}
_EVICTION = {"default": 0, "first": 1, "last": 2}
_REDUCE = {name: i + 1 for i, name in enumerate(
    "sum max min absmax abssum prod and or xor argmax argmin max_nan min_nan".split())}
_SPLITS = {"auto": 0, "rows": 1, "columns": 2, "square": 3}


class Hint(typing.NamedTuple):
    """A hint of a kernel: hint("threads", 128, must=True, target="sm_90a")."""

    kind: str
    value: int
    must: bool = False
    target: typing.Optional[str] = None


hint = Hint


class Range(typing.NamedTuple):
    """A bucket of a dim: a variant for values from low to high."""

    low: int
    high: int


class Multiple(typing.NamedTuple):
    """A bucket of a dim: a variant for multiples."""

    of: int


class Builder(Scopes, Elements):
    """Builds one program. Building never fails half way: the first error sticks, and finish raises it. One thread at a time.

    Reads of elements are statements: t[i] is read by the operator or the call that takes it, t[i].value at once.
    """

    __slots__ = ("_raw", "_ending", "_label", "name", "__weakref__")

    def __init__(self, name: str = "program"):
        self._ending, self._label, self.name = False, None, name
        raw = c.c_void_p()
        check(lib().tilert_builder_create(name.encode(), c.byref(raw)))
        self._raw = raw
        weakref.finalize(self, lib().tilert_builder_release, raw)

    def _statement(self, name, *arguments):
        """One call, with the caller's file and line."""
        if self._ending:
            self._ending = False
            lib().tilert_builder_end_if(self._raw)
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_HERE):
            frame = frame.f_back
        label, self._label = self._label, None
        if frame is not None:
            lib().tilert_builder_at(self._raw, frame.f_code.co_filename.encode(errors="replace"), frame.f_lineno, label)
        return getattr(lib(), "tilert_builder_" + name)(self._raw, *arguments)

    def _end_if_later(self):
        """The end of an if waits for an else_ that may follow."""
        if self._ending:
            lib().tilert_builder_end_if(self._raw)
        self._ending = True

    def label(self, text: str) -> "Builder":
        """Names the next operation or declaration in messages."""
        self._label = text.encode()
        return self

    def finish(self) -> Program:
        """The frozen program; raises the first error, whole. The builder is spent."""
        if self._ending:
            self._ending = False
            lib().tilert_builder_end_if(self._raw)
        raw = c.c_void_p()
        call("tilert_builder_finish", self._raw, c.byref(raw))
        return Program(raw)

    # Declarations
    def dim(self, name: str, divisible: int = 0, buckets: typing.Sequence[typing.Union[Range, Multiple]] = ()) -> Dim:
        """A size that tensors share. divisible: the caller's word that each value is a multiple."""
        raw = (s.Bucket * max(len(buckets), 1))(*[(1, 0, *b) if isinstance(b, Range) else (2, 0, b.of, 0) for b in buckets])
        options = s.sized(s.DimOptions, bucket_count=len(buckets), buckets=c.addressof(raw) if buckets else None, divisible=divisible)
        made = self._statement("dim", name.encode(), c.byref(options))
        return Dim(self, lib().tilert_builder_dim_value(self._raw, made), name)

    def dims(self, names: str) -> typing.List[Dim]:
        """Several by their names: M, N = b.dims("M N")."""
        return [self.dim(name) for name in names.split()]

    def tensor(self, name: str, access: str, dtype, shape: typing.Sequence, strides: typing.Sequence = (), alignment: int = 0,
               may_alias: bool = False, pointer_table: bool = False) -> Tile:
        """A tensor parameter; access "in", "out" or "inout"."""
        sizes, rank = ids_in(self, shape)
        steps, count = ids_in(self, strides)
        options = s.sized(s.TensorOptions, flags=int(may_alias) | int(pointer_table) << 1, strides=c.addressof(steps) if count else None,
                          stride_count=count, alignment=alignment)
        made = self._statement("tensor", name.encode(), _ACCESS[access], named(dtype).number, sizes, rank, c.byref(options))
        return Tile(self, tensor=made, name=name)

    def input(self, name: str, dtype, shape: typing.Sequence, **options) -> Tile:
        return self.tensor(name, "in", dtype, shape, **options)

    def output(self, name: str, dtype, shape: typing.Sequence, **options) -> Tile:
        return self.tensor(name, "out", dtype, shape, **options)

    def inout(self, name: str, dtype, shape: typing.Sequence, **options) -> Tile:
        return self.tensor(name, "inout", dtype, shape, **options)

    def scalar(self, name: str, dtype) -> Expr:
        made = self._statement("scalar", name.encode(), named(dtype).number)
        return Expr(self, lib().tilert_builder_scalar_value(self._raw, made))

    # Kernels
    def grid(self, *extents, hints: typing.Sequence[Hint] = (), persistent: typing.Union[bool, Tile] = False, fixed_order: bool = False,
             fast_math: bool = False, no_contract: bool = False, name: typing.Optional[str] = None, **more: int) -> Scope:
        """A kernel of one to three extents: `with b.grid(n, m, threads=128) as (x, y):`. persistent: the points are tiles, all of
        them, or as many as the first element of a tensor says. Further names are hints; `hints` has those with must or a target."""
        flags = bool(persistent is not False) | bool(no_contract) << 1 | bool(fixed_order) << 2 | bool(fast_math) << 3
        listed = [*hints, *(Hint(kind, value) for kind, value in more.items())]

        def begin():
            raw = (s.Hint * max(len(listed), 1))()
            for one, given in zip(raw, listed):
                if given.kind not in _HINTS:
                    raise TypeError(f"grid has no hint {given.kind!r}; it has: {', '.join(_HINTS)}")
                one.struct_size, one.kind, one.value = c.sizeof(s.Hint), _HINTS[given.kind], given.value
                one.flags, one.target = int(given.must), given.target.encode() if given.target else None
            ids, rank = ids_in(self, extents)
            g = s.sized(s.Grid, rank=rank, extents=c.addressof(ids), name=name.encode() if name else None, flags=flags,
                        hint_count=len(listed), hints=c.addressof(raw) if listed else None)
            if isinstance(persistent, Tile):
                g.tile_count = persistent._tensor
            return self._indices("begin_kernel", c.byref(g), count=rank)
        return Scope(self, begin, "end_kernel")

    def tile_cost(self, cost, locality=None) -> None:
        """What a tile of a persistent kernel takes, in any unit, and the group of tiles that it shares data with."""
        ids = id_in(self, cost), s.Value() if locality is None else id_in(self, locality)
        self._statement("tile_cost", *ids)

    def source_kernel(self, language: str, text: str, entry: str, grid: typing.Sequence, block: typing.Sequence = (),
                      cluster: typing.Sequence = (), shared_bytes=None, headers: typing.Optional[typing.Dict[str, str]] = None,
                      options: typing.Sequence[str] = ()) -> None:
        """A whole kernel in text: "cuda", "hip" or "llvm"."""
        extents, rank = ids_in(self, grid)
        threads, blocks = (ids_in(self, [*given, 1, 1, 1][:3] if given else ())[0] for given in (block, cluster))
        files = (s.Header * max(len(headers or {}), 1))(*[(k.encode(), v.encode()) for k, v in (headers or {}).items()])
        words = (c.c_char_p * max(len(options), 1))(*[o.encode() for o in options])
        kernel = s.sized(s.SourceKernel, grid_rank=rank, language=language.encode(), text=text.encode(), entry=entry.encode(),
                         headers=c.addressof(files), header_count=len(headers or {}), options=c.addressof(words),
                         option_count=len(options), grid=c.addressof(extents), block=c.addressof(threads) if threads else None,
                         cluster=c.addressof(blocks) if blocks else None)
        if shared_bytes is not None:
            kernel.shared_bytes = id_in(self, shared_bytes)
        self._statement("source_kernel", c.byref(kernel))

    # Storage
    def _storage(self, scope, dtype, shape, name, layout="auto"):
        ids, rank = ids_in(self, shape)
        options = s.sized(s.BufferOptions, layout=LAYOUTS[layout], name=name.encode() if name else None)
        return self._statement("buffer", scope, named(dtype).number, ids, rank, c.byref(options))

    def shared(self, dtype, shape: typing.Sequence, name: typing.Optional[str] = None, layout: str = "auto") -> Tile:
        """A tile that all threads of the block see."""
        return Tile(self, buffer=self._storage(1, dtype, shape, name, layout), name=name)

    def fragment(self, dtype, shape: typing.Sequence, name: typing.Optional[str] = None) -> Tile:
        """A tile spread over the block's registers."""
        return Tile(self, buffer=self._storage(2, dtype, shape, name), name=name)

    def local(self, dtype, shape: typing.Sequence, name: typing.Optional[str] = None) -> Tile:
        """Outside parallel one of the block, inside one of the iteration."""
        return Tile(self, buffer=self._storage(4, dtype, shape, name), name=name)

    def var(self, dtype, initial=None, name: typing.Optional[str] = None) -> Var:
        """One element, `v.value`; initial is stored at once."""
        made = Var(self, buffer=self._storage(3, dtype, (), name))
        if initial is not None:
            made.value = initial
        return made

    def let(self, value) -> Expr:
        """Evaluates here, once."""
        read = id_in(self, value)
        return Expr(self, self._statement("let", read))

    # Tile operations
    def copy(self, source: Region, destination: Region, valid: typing.Sequence = (), safe=None, prefer: str = "auto", must: bool = False,
             eviction: str = "default", multicast: bool = False) -> None:
        """Between any two of parameters, tiles and fragments, casting where dtypes differ. valid: ends, one for each dim of the
        parameter's side; safe: what is read beyond; prefer: "tma", "async" or "sync"."""
        start, end = source._region(), destination._region()
        ends, count = ids_in(self, valid)
        options = s.sized(s.CopyOptions, flags=int(must), valid=c.addressof(ends) if count else None, valid_count=count,
                          prefer=_PREFER[prefer], eviction=_EVICTION[eviction], multicast=int(multicast))
        if safe is not None:
            options.safe_value = id_in(self, safe)
        self._statement("copy", start, end, c.byref(options))

    def fill(self, destination: Region, value) -> None:
        region = destination._region()
        self._statement("fill", region, id_in(self, value))

    def clear(self, destination: Region) -> None:
        self._statement("clear", destination._region())

    def gemm(self, a: Region, b: Region, into: Region, trans_a: bool = False, trans_b: bool = False, overwrite: bool = False,
             issue: bool = False, tf32: bool = False, accumulate: typing.Optional[Value] = None, sparse: typing.Optional[Region] = None,
             a_scale: typing.Optional[Region] = None, b_scale: typing.Optional[Region] = None, trans_a_scale: bool = False,
             trans_b_scale: bool = False, warps: str = "auto") -> None:
        """into += a b. overwrite: into = a b; accumulate: a bool that decides; sparse: the places of a 2:4 sparse a."""
        flags = sum(bool(on) << i for i, on in enumerate((trans_a, trans_b, overwrite, tf32, issue, trans_a_scale, trans_b_scale)))
        sides = [region._region() for region in (a, b, into)]
        options = s.sized(s.GemmOptions, flags=flags, warp_split=_SPLITS[warps])
        if accumulate is not None:
            options.accumulate = id_in(self, accumulate)
        kept = {name: region._region() for name, region in (("metadata", sparse), ("a_scale", a_scale), ("b_scale", b_scale)) if region is not None}
        for name, region in kept.items():
            setattr(options, name, c.addressof(region.raw))
        self._statement("gemm", *sides, c.byref(options))

    def reduce(self, op: str, source: Region, destination: Region, dim: int, accumulate: bool = False) -> None:
        """op: sum, prod, max, min, absmax, abssum, and, or, xor, argmax, argmin, max_nan, min_nan."""
        options = s.sized(s.ReduceOptions, flags=int(accumulate))
        self._statement("reduce", _REDUCE[op], source._region(), destination._region(), dim, c.byref(options))

    def scan(self, op: str, source: Region, destination: Region, dim: int, reverse: bool = False, exclusive: bool = False) -> None:
        """All beginnings combined."""
        options = s.sized(s.ScanOptions, flags=int(reverse) | int(exclusive) << 1)
        self._statement("scan", _REDUCE[op], source._region(), destination._region(), dim, c.byref(options))

    def sort(self, source: Region, destination: Region, dim: int, places: typing.Optional[Region] = None, descending: bool = False) -> None:
        """In order along dim, as many as the destination has there. places: where they stood."""
        options = s.sized(s.SortOptions, flags=int(descending))
        stood = None if places is None else places._region()
        self._statement("sort", source._region(), destination._region(), stood, dim, c.byref(options))

    def top_k(self, source: Region, destination: Region, places: Region, dim: int) -> None:
        """The greatest along dim, as many as the destination has there."""
        self.sort(source, destination, dim, places, descending=True)

    def combine(self, sources: typing.Sequence[Region], destinations: typing.Sequence[Region], dim: int, identities: typing.Sequence,
                f: typing.Callable, accumulate: bool = False, scan: bool = False, reverse: bool = False, exclusive: bool = False) -> None:
        """A reduction, or a scan, by an associative operation on tuples: f(left, right) gives the tuple that they make."""
        count = len(sources)
        kept = [region._region() for region in (*sources, *destinations)]
        arrays = [(s.Region * count)(*[k.raw for k in half]) for half in (kept[:count], kept[count:])]
        starts, _ = ids_in(self, identities)
        flags = sum(bool(on) << i for i, on in enumerate((accumulate, scan, reverse, exclusive)))
        given = s.sized(s.Combine, count=count, sources=c.addressof(arrays[0]), destinations=c.addressof(arrays[1]),
                        identities=c.addressof(starts), dim=dim, flags=flags)
        left, right = (s.Value * count)(), (s.Value * count)()
        self._statement("begin_combine", c.byref(given), left, right)
        made = f(*([Expr(self, s.Value(v.serial, v.index)) for v in side] for side in (left, right)))
        results, number = ids_in(self, made)
        self._statement("end_combine", results, number)

    def transpose(self, source: Region, destination: Region, order: typing.Sequence[int] = ()) -> None:
        """Dim d of the destination is dim order[d] of the source; none given: the two last change places."""
        array = (c.c_uint32 * len(order))(*order) if order else None
        self._statement("transpose", source._region(), destination._region(), array, len(order))


def program(function: typing.Callable) -> typing.Callable[..., Program]:
    """@tilert_jit.program makes a function of a Builder and more into one of these more that gives the program, called as it is."""
    @functools.wraps(function)
    def build(*arguments, **named_ones) -> Program:
        b = Builder(function.__name__)
        function(b, *arguments, **named_ones)
        return b.finish()
    return build
