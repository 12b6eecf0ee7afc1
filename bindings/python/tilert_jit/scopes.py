"""Scopes of a builder as context managers, and the loops, branches and roles that open them. Not here: other statements."""

import ctypes as c
import typing

from . import _structs as s
from .values import Expr, Value, id_in, ids_in

_ROLES = {"issue": 1, "work": 2}


class Scope:
    """What `with` opens: begin() gives the indices, one of them by itself, several as a tuple."""

    __slots__ = ("_builder", "_begin", "_end")

    def __init__(self, builder, begin: typing.Callable[[], tuple], end: str):
        self._builder, self._begin, self._end = builder, begin, end

    def __enter__(self):
        indices = self._begin()
        return indices[0] if len(indices) == 1 else indices

    def __exit__(self, kind, *_):
        if kind is None:  # a program whose building failed half way is thrown away
            if self._end == "end_if":
                self._builder._end_if_later()
            else:
                self._builder._statement(self._end)


class Scopes:
    """The builder's calls that have a body."""

    __slots__ = ()

    def _indices(self, name, *arguments, count):
        ids = (s.Value * count)()
        self._statement(name, *arguments, ids)
        return tuple(Expr(self, s.Value(i.serial, i.index)) for i in ids)

    def parallel(self, *extents) -> Scope:
        """Each point once, in no order: `with b.parallel(64, 32) as (i, j):`."""
        def begin():
            ids, count = ids_in(self, extents)
            return self._indices("begin_parallel", ids, count, count=count)
        return Scope(self, begin, "end_parallel")

    def serial(self, *bounds) -> Scope:
        """A loop: serial(end), serial(begin, end) or serial(begin, end, step), as range; step is a number."""
        begin, end, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
        return self._loop(1, begin, end, step)

    def unroll(self, extent: int) -> Scope:
        """The same, written out: extent is a number, at most 4096."""
        return self._loop(2, 0, extent, 1)

    def _loop(self, kind, *bounds):
        def begin():
            ids = [id_in(self, each) for each in bounds]
            return self._indices("begin_serial", kind, *ids, count=1)
        return Scope(self, begin, "end_serial")

    def pipelined(self, extent, stages: int = 0) -> Scope:
        """A serial loop whose copies of later trips may overlap the work of earlier ones. stages 0: chosen."""
        return Scope(self, lambda: self._indices("begin_pipelined", id_in(self, extent), stages, count=1), "end_pipelined")

    def while_(self, condition: typing.Callable[[], Value]) -> Scope:
        """A loop that goes on while condition() holds: what it reads is read before each trip."""
        def begin():
            self._statement("begin_while")
            self._statement("begin_while_body", id_in(self, condition()))
            return (None,)
        return Scope(self, begin, "end_while")

    def if_(self, condition) -> Scope:
        """`with b.if_(x < 0): ...`, and after it, where wanted, `with b.else_(): ...`."""
        def begin():
            self._statement("begin_if", id_in(self, condition))
            return (None,)
        return Scope(self, begin, "end_if")

    def else_(self) -> Scope:
        """Of the if_ that has just ended."""
        def begin():
            if not self._ending:
                raise TypeError("else_ stands right behind the body of an if_")
            self._ending = False
            self._statement("begin_else")
            return (None,)
        return Scope(self, begin, "end_if")

    def threads(self) -> Scope:
        """A loop over the block's threads, whose number the kernel gives: `b.grid(..., threads_fixed=128)`."""
        return Scope(self, lambda: self._indices("begin_threads", count=1), "end_threads")

    def roles(self, issuer: int = 0, worker: int = 0) -> Scope:
        """Warps with bodies of their own, `with b.role("issue"):` and last `with b.role("work"):`; registers of a thread."""
        def begin():
            self._statement("begin_roles", c.byref(s.sized(s.RolesOptions, issuer_registers=issuer, worker_registers=worker)))
            return (None,)
        return Scope(self, begin, "end_roles")

    def role(self, kind: str) -> Scope:
        def begin():
            self._statement("begin_role", _ROLES[kind])
            return (None,)
        return Scope(self, begin, "end_role")

    def break_(self) -> None:
        """Leaves the innermost loop."""
        self._statement("break")

    def continue_(self) -> None:
        """Ends the trip of the innermost loop."""
        self._statement("continue")

    def return_(self) -> None:
        """Ends the block's work on the kernel."""
        self._statement("return")
