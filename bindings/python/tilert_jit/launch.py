"""Launch arguments in their C form, and launches that are bound to them: the path that is taken many times. Not here: what is a
tensor (tensors.py)."""

import ctypes as c
import typing

from . import _structs as s
from ._abi import Error, lib
from .dtypes import bits_of, of_number
from .tensors import PointerTable, Tensor, describe, pack_tensor, stream_handle

_ATTRIBUTES = {"pdl": 1, "priority": 2, "cooperative": 3, "max_blocks": 4}


class Argument:
    """Launch arguments and dims in their C form, with what they point into."""

    __slots__ = ("count", "dim_count", "arguments", "dims", "kept", "_arrays", "_seen")

    def __init__(self, count: int, dim_count: int):
        self.count, self.dim_count = count, dim_count
        self.arguments = (s.Argument * (count or 1))()
        self.dims = (c.c_int64 * (dim_count or 1))(*[-1] * (dim_count or 1))
        self.kept: list = [None] * count  # the tensors
        self._arrays: list = [None] * count  # shapes and strides
        self._seen: list = [None] * count  # of what: a tensor like the last one changes its address alone

    def set(self, program, i: int, value) -> None:
        """One argument anew."""
        kinds, dtypes = program.signature()[2:]
        raw = self.arguments[i]
        dtype = dtypes[i] if i < len(dtypes) else 0
        if i < len(kinds) and not kinds[i]:
            if value != self._seen[i] or value != value:
                raw.kind, raw.dtype, raw.bits = 2, dtype, bits_of(of_number(dtype), value)
                self._seen[i] = value
            return
        table = isinstance(value, PointerTable)
        described = value.described() if table else describe(value)
        if described is None:
            raise TypeError(f"argument {i} ({type(value).__name__}) is neither a tensor nor a Buffer")
        self.kept[i] = described[6]
        if described[1:6] == self._seen[i]:
            raw.data = described[0] or None
            return
        self._arrays[i] = pack_tensor(raw, described, dtype, table)
        self._seen[i] = None if table else described[1:6]

    @classmethod
    def pack(cls, program, values, dims=None) -> "Argument":
        return pack(program, values, dims)


def pack(program, values: typing.Sequence, dims: typing.Optional[typing.Dict[str, int]] = None) -> Argument:
    names = program.signature()[1]
    out = Argument(len(values), len(names))
    if dims:
        set_dims(out, names, dims)
    for i, value in enumerate(values):
        out.set(program, i, value)
    return out


def set_dims(packed: Argument, names: typing.Sequence[str], dims: typing.Dict[str, int]) -> None:
    """All dims anew: those that are not named follow from the shapes."""
    for name in dims:
        if name not in names:
            raise ValueError(f"the program has no dim {name!r}; it has: {', '.join(names)}")
    for i, name in enumerate(names):
        packed.dims[i] = dims.get(name, -1)


def pack_workspace(workspace) -> typing.Tuple[typing.Optional[int], int, object]:
    """(address, bytes, owner) of a tensor or of (address, bytes)."""
    if workspace is None:
        return None, 0, None
    if isinstance(workspace, tuple):
        return workspace[0], workspace[1], workspace
    if isinstance(workspace, Tensor) or hasattr(workspace, "data_ptr"):
        return workspace.data_ptr(), workspace.nbytes, workspace
    found = describe(workspace)
    if found is None:
        raise TypeError("a workspace is a tensor or (address, bytes)")
    size = 1
    for each in found.shape:
        size *= each
    return found.address, size * of_number(found.dtype).bits // 8, found


class Bound:
    """A launch with its arguments packed: bound(stream). One thread at a time uses it; `rebind` puts another tensor or number in
    the place of an argument."""

    __slots__ = ("loaded", "_packed", "_kept", "_failure", "_info", "_launch", "_at", "_stream", "_dims")

    def __init__(self, loaded, packed: Argument, workspace, attributes: typing.Optional[typing.Dict[str, int]] = None):
        self.loaded, self._packed, self._stream, self._dims = loaded, packed, None, {}
        listed = (s.LaunchAttribute * len(attributes or {}))(*[(_ATTRIBUTES[name], 0, value) for name, value in (attributes or {}).items()])
        self._failure = s.sized(s.LaunchFailure)
        info = self._info = s.sized(s.LaunchInfo, loaded=loaded._raw, arguments=c.addressof(packed.arguments), argument_count=packed.count,
                                    dims=c.addressof(packed.dims), dim_count=packed.dim_count, workspace=workspace[0],
                                    workspace_bytes=workspace[1], failure=c.addressof(self._failure))
        if attributes:
            info.attributes, info.attribute_count = c.addressof(listed), len(listed)
        self._kept = workspace, listed
        self._launch, self._at = lib().tilert_launch, c.byref(info)

    @property
    def count(self) -> int:
        return self._packed.count

    def again(self, values: typing.Sequence, dims, workspace, stream) -> None:
        """Launches with other arguments, and forgets them: Loaded.launch, whose memory this is."""
        packed, program, info = self._packed, self.loaded.program, self._info
        if (dims or None) != self._dims:
            set_dims(packed, program.signature()[1], dims or {})
            self._dims = dict(dims) if dims else None
        if workspace is not None or self._kept[0][0]:
            self._kept = pack_workspace(workspace), self._kept[1]
            info.workspace, info.workspace_bytes = self._kept[0][:2]
        try:
            for i, value in enumerate(values):
                packed.set(program, i, value)
            self(stream)
        finally:
            packed.kept = [None] * packed.count
            self._kept = (None, 0, None), self._kept[1]

    def rebind(self, i: int, value) -> "Bound":
        """Argument i from now on."""
        self._packed.set(self.loaded.program, i, value)
        return self

    def __call__(self, stream=None) -> None:
        """Launches on a stream: None (the legacy one), a number, or an object with cuda_stream, __cuda_stream__ or ptr."""
        if stream is not self._stream:
            self._info.stream, self._stream = stream_handle(stream), stream
        status = self._launch(self._at)
        if status:
            raise Error(status, self._failure.message.decode(errors="replace"))
