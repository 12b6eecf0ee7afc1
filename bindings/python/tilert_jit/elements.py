"""The builder's calls on single elements and by threads: atomics, gather, random numbers, views, diagnostics, shuffles, barriers,
tensor copies, text of one's own. tilert_jit.Builder is one of these; what each means is in include/tilert.h."""

import ctypes as c
import typing

from . import _structs as s
from .dtypes import DType, named
from .values import Expr, Region, Tile, Var, id_in, ids_in

ATOMICS = {"add": 1, "max": 2, "min": 3, "and": 4, "or": 5, "xor": 6, "exchange": 7, "cas": 8}
ORDERS = {"relaxed": 0, "acquire": 1, "release": 2, "acq_rel": 3}
ORDER_SCOPES = {"device": 0, "block": 1, "system": 2}
LAYOUTS = {"auto": 0, "row_major": 1, "padded": 2, "swizzle_32": 3, "swizzle_64": 4, "swizzle_128": 5}
_PASSINGS = {"value": 0, "read": 1, "write": 2, "update": 3}


class Pointer(typing.NamedTuple):
    """A parameter of a device function that is a pointer to an element: read, write or update."""

    dtype: DType
    passing: str


def pointer_read(dtype) -> Pointer:
    return Pointer(named(dtype), "read")


def pointer_write(dtype) -> Pointer:
    return Pointer(named(dtype), "write")


def pointer_update(dtype) -> Pointer:
    return Pointer(named(dtype), "update")


class DeviceFunction:
    """A function of one's own text: calling it is a statement, which gives its value, or None."""

    __slots__ = ("_builder", "_id", "_passing", "_gives", "name")

    def __init__(self, builder, raw, name, passing, gives):
        self._builder, self._id, self.name, self._passing, self._gives = builder, raw, name, passing, gives

    def __call__(self, *operands) -> typing.Optional[Expr]:
        b, kept = self._builder, []
        raw = (s.Operand * max(len(operands), 1))()
        for i, given in enumerate(operands):
            if i < len(self._passing) and self._passing[i] != "value" and isinstance(given, Region):
                kept.append(given._region())
                raw[i].place = c.addressof(kept[-1].raw)
            else:
                raw[i].value = id_in(b, given)
        result = s.Value()
        b._statement("call_device", self._id, raw, len(operands), c.byref(result) if self._gives else None)
        return Expr(b, result) if self._gives else None


def _options(order, scope, expected=None):
    made = s.sized(s.AtomicOptions, order=ORDERS[order], scope=ORDER_SCOPES[scope])
    if expected is not None:
        made.expected = expected
    return made


class Elements:
    """Statements on elements."""

    __slots__ = ()

    # Atomics. What is an element or a number is one operation; a whole tile or a region with extents goes element by element.
    def _atomic(self, op, place, value, order, scope):
        if isinstance(value, Region) and not isinstance(value, Var) and not (value.is_place and place.is_place):
            to, source = place._region(), value._region()
            self._statement("atomic_tile", ATOMICS[op], to, source, c.byref(_options(order, scope)))
            return
        read = id_in(self, value)
        self._statement("atomic", ATOMICS[op], place._region(), read, c.byref(_options(order, scope)), None)

    def _fetch(self, op, place, value, order, scope, expected=None):
        if expected is not None:
            expected = id_in(self, expected)
        read, old = id_in(self, value), s.Value()
        self._statement("atomic", ATOMICS[op], place._region(), read, c.byref(_options(order, scope, expected)), c.byref(old))
        return Expr(self, old)

    def atomic_add(self, place: Region, value, order: str = "relaxed", scope: str = "device") -> None:
        self._atomic("add", place, value, order, scope)

    def atomic_max(self, place: Region, value, order: str = "relaxed", scope: str = "device") -> None:
        self._atomic("max", place, value, order, scope)

    def atomic_min(self, place: Region, value, order: str = "relaxed", scope: str = "device") -> None:
        self._atomic("min", place, value, order, scope)

    def atomic_and(self, place: Region, value, order: str = "relaxed", scope: str = "device") -> None:
        self._atomic("and", place, value, order, scope)

    def atomic_or(self, place: Region, value, order: str = "relaxed", scope: str = "device") -> None:
        self._atomic("or", place, value, order, scope)

    def atomic_xor(self, place: Region, value, order: str = "relaxed", scope: str = "device") -> None:
        self._atomic("xor", place, value, order, scope)

    def fetch(self, op: str, place: Region, value, order: str = "relaxed", scope: str = "device") -> Expr:
        """The same for "add", "max", ..., and gives the element's value before it."""
        return self._fetch(op, place, value, order, scope)

    def exchange(self, place: Region, value, order: str = "relaxed", scope: str = "device") -> Expr:
        return self._fetch("exchange", place, value, order, scope)

    def cas(self, place: Region, expected, value, order: str = "relaxed", scope: str = "device") -> Expr:
        """Stores value where the element has the bits of expected; gives what was there."""
        return self._fetch("cas", place, value, order, scope, expected)

    def load_acquire(self, place: Region, order: str = "acquire", scope: str = "device") -> Expr:
        return Expr(self, self._statement("atomic_load", place._region(), c.byref(_options(order, scope))))

    def store_release(self, place: Region, value, order: str = "release", scope: str = "device") -> None:
        read = id_in(self, value)
        self._statement("atomic_store", place._region(), read, c.byref(_options(order, scope)))

    def gather(self, table: Region, indices: Region, destination: Region, dim: int = 0) -> None:
        """destination's dims with dim `dim` of the table replaced by those of the indices; an index out of range gives 0."""
        self._statement("gather", table._region(), indices._region(), destination._region(), dim)

    def scatter(self, source: Region, indices: Region, destination: Region, dim: int = 0, op: typing.Optional[str] = None) -> None:
        """An index out of range is dropped. op "add", "max", ... combines with what is there."""
        options = s.sized(s.ScatterOptions, op=ATOMICS[op] if op else 0)
        self._statement("scatter", source._region(), indices._region(), destination._region(), dim, c.byref(options))

    def _random(self, form, seed, counter, stream):
        ids = [id_in(self, each) for each in (seed, counter, stream)]
        values = (s.Value * 4)()
        self._statement("random", form, *ids, values)
        return tuple(Expr(self, s.Value(v.serial, v.index)) for v in values)

    def random_bits(self, seed, counter, stream=0) -> typing.Tuple[Expr, ...]:
        """Four uint32 of a draw; another counter or stream is another draw."""
        return self._random(1, seed, counter, stream)

    def random_uniform(self, seed, counter, stream=0) -> typing.Tuple[Expr, ...]:
        """Four f32 in [0, 1)."""
        return self._random(2, seed, counter, stream)

    def random_normal(self, seed, counter, stream=0) -> typing.Tuple[Expr, ...]:
        """Four f32 with mean 0 and variance 1."""
        return self._random(3, seed, counter, stream)

    # Views: the same memory under another shape, element type or order of dims.
    def view(self, tile: Tile, dtype=None, shape: typing.Sequence = ()) -> Tile:
        ids, count = ids_in(self, shape)
        return Tile(self, buffer=self._statement("view", tile._buffer, named(dtype).number if dtype else 0, ids, count))

    def reshape(self, tile: Tile, shape: typing.Sequence) -> Tile:
        if tile._buffer is not None:
            return self.view(tile, None, shape)
        ids, count = ids_in(self, shape)
        return Tile(self, tensor=self._statement("tensor_reshape", tile._tensor, ids, count))

    def transposed(self, parameter: Tile, order: typing.Sequence[int] = ()) -> Tile:
        """Dim d is dim order[d] of the parameter; none given: the two last change places."""
        array = (c.c_uint32 * len(order))(*order) if order else None
        return Tile(self, tensor=self._statement("tensor_transpose", parameter._tensor, array, len(order)))

    def annotate_layout(self, tile: Tile, layout, must: bool = False) -> None:
        """Where a shared tile's elements shall lie: a name of LAYOUTS, or a function of an element's indices that gives its place."""
        if not callable(layout):
            self._statement("annotate_layout", tile._buffer, LAYOUTS[layout], s.Value(), int(must))
            return
        ids = (s.Value * 8)()
        self._statement("layout_indices", tile._buffer, ids)
        indices = [Expr(self, s.Value(v.serial, v.index)) for v in ids[:layout.__code__.co_argcount]]
        self._statement("annotate_layout", tile._buffer, 6, id_in(self, layout(*indices)), int(must))

    # Diagnostics
    def print(self, *parts) -> None:
        """Texts and values in their order, print("x = ", x); print("t", t) makes an entry for each element of a tile or region."""
        if len(parts) == 2 and isinstance(parts[0], str) and isinstance(parts[1], Region) and not isinstance(parts[1], Var) \
                and not parts[1].is_place:
            self._statement("print_tile", parts[0].encode(), parts[1]._region())
            return
        self._statement("print", *self._text(parts))

    def assert_(self, condition, *parts) -> None:
        """An entry with these texts and values where the condition does not hold; the kernel goes on."""
        test = id_in(self, condition)
        self._statement("assert", test, *self._text(parts))

    def _text(self, parts):
        words = "".join(p.replace("{", "{{").replace("}", "}}") if isinstance(p, str) else "{}" for p in parts)
        ids, count = ids_in(self, [p for p in parts if not isinstance(p, str)])
        return words.encode(), ids, count

    # Threads
    def thread_id(self) -> Expr:
        return Expr(self, self._statement("thread_id"))

    def _shuffle(self, kind, value, lane, width):
        ids = [id_in(self, value), id_in(self, lane)]
        return Expr(self, self._statement("shuffle", kind, *ids, width))

    def shuffle(self, value, lane, width: int = 32) -> Expr:
        return self._shuffle(1, value, lane, width)

    def shuffle_up(self, value, lanes, width: int = 32) -> Expr:
        return self._shuffle(2, value, lanes, width)

    def shuffle_down(self, value, lanes, width: int = 32) -> Expr:
        return self._shuffle(3, value, lanes, width)

    def shuffle_xor(self, value, mask, width: int = 32) -> Expr:
        return self._shuffle(4, value, mask, width)

    def vote_all(self, predicate) -> Expr:
        return Expr(self, self._statement("vote", 1, id_in(self, predicate)))

    def vote_any(self, predicate) -> Expr:
        return Expr(self, self._statement("vote", 2, id_in(self, predicate)))

    def ballot(self, predicate) -> Expr:
        return Expr(self, self._statement("vote", 3, id_in(self, predicate)))

    def sync_threads(self) -> None:
        self._statement("sync_threads", 0, 0)

    def named_barrier(self, barrier: int, threads: int) -> None:
        self._statement("sync_threads", barrier, threads)

    def fence(self, scope: str = "device") -> None:
        self._statement("fence", ORDER_SCOPES[scope])

    def copy_async(self, source: Region, destination: Region, count: int) -> None:
        self._statement("copy_async", source._region(), destination._region(), count)

    def commit_copies(self) -> None:
        self._statement("commit_copies")

    def wait_copies(self, pending: int = 0) -> None:
        self._statement("wait_copies", pending)

    def grid_sync(self) -> None:
        """All blocks of the grid come here before any goes on."""
        self._statement("grid_sync")

    # Barriers, tensor copies and issued products
    def barriers(self, count: int, arrivals: int = 1, name: typing.Optional[str] = None) -> Tile:
        options = s.sized(s.BufferOptions, name=name.encode() if name else None)
        return Tile(self, buffer=self._statement("barriers", count, arrivals, c.byref(options)))

    def arrive(self, barrier: Region) -> None:
        self._statement("arrive", barrier._region())

    def arrive_expect(self, barrier: Region, nbytes: int) -> None:
        self._statement("arrive_expect", barrier._region(), nbytes)

    def wait_barrier(self, barrier: Region, phase) -> None:
        region = barrier._region()
        self._statement("wait_barrier", region, id_in(self, phase))

    def load_tensor(self, source: Region, destination: Region, barrier: Region) -> None:
        self._statement("load_tensor", source._region(), destination._region(), barrier._region())

    def store_tensor(self, source: Region, destination: Region) -> None:
        self._statement("store_tensor", source._region(), destination._region())

    def commit_stores(self) -> None:
        self._statement("commit_stores")

    def wait_stores(self, pending: int = 0, state: str = "written") -> None:
        self._statement("wait_stores", pending, {"written": 1, "read": 2}[state])

    def commit_products(self) -> None:
        self._statement("commit_products")

    def wait_products(self, pending: int = 0) -> None:
        self._statement("wait_products", pending)

    # Text
    def device_function(self, name: str, parameters: typing.Sequence, result=None, **texts: str) -> DeviceFunction:
        """f = b.device_function("f", [f32, pointer_update(i32)], result=f32, cuda="...", llvm="..."); then f(x, count)."""
        pointers = [p if isinstance(p, Pointer) else Pointer(named(p), "value") for p in parameters]
        raw = (s.FunctionParameter * max(len(pointers), 1))(*[(p.dtype.number, _PASSINGS[p.passing]) for p in pointers])
        sources = (s.SourceText * max(len(texts), 1))(*[(k.encode(), v.encode()) for k, v in texts.items()])
        f = s.sized(s.DeviceFunction, result=named(result).number if result else 0, name=name.encode(), parameters=c.addressof(raw),
                    texts=c.addressof(sources), parameter_count=len(pointers), text_count=len(texts))
        made = self._statement("device_function", c.byref(f))
        return DeviceFunction(self, made, name, [p.passing for p in pointers], result is not None)

    def inline_source(self, language: str, text: str, places: typing.Sequence[Region] = (), values: typing.Sequence = ()) -> None:
        """Text of one language; $0, $1, ... are the places, then the values."""
        kept = [place._region() for place in places]
        regions = (s.Region * max(len(kept), 1))(*[k.raw for k in kept])
        ids, count = ids_in(self, values)
        source = s.sized(s.InlineSource, place_count=len(kept), language=language.encode(), text=text.encode(),
                         places=c.addressof(regions), values=c.addressof(ids) if count else None, value_count=count)
        self._statement("inline_source", c.byref(source))
