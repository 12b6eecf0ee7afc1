"""Programs that work along rows."""

import tilert_jit as tj
from tilert_jit import ceildiv, f16, f32, i32


@tj.program
def scale(b):
    """y = factor x, a block's part in a loop over four tiles."""
    N = b.dim("N", divisible=8)
    x, y = b.input("x", f32, [N]), b.output("y", f32, [N])
    factor = b.scalar("factor", f32)
    with b.grid(ceildiv(N, 512)) as block:
        t = b.fragment(f32, [128])
        with b.serial(4) as k:
            at = b.let(block * 512 + k * 128)
            b.copy(x[at], t)
            with b.parallel(128) as i:
                t[i] = t[i] * factor
            b.copy(t, y[at])


@tj.program
def softmax(b):
    """Rows of 100 in tiles of 4 x 128; what lies beyond a row is minus infinity and adds nothing."""
    rows, width = 4, 128
    R = b.dim("R")
    x, y = b.input("x", f32, [R, 100]), b.output("y", f32, [R, 100])
    with b.grid(ceildiv(R, rows)) as block:
        t = b.fragment(f32, [rows, width])
        top, total = b.fragment(f32, [rows]), b.fragment(f32, [rows])
        b.copy(x[block * rows, 0], t, safe=-tj.inf)
        b.reduce("max", t, top, 1)
        with b.parallel(rows, width) as (i, j):
            t[i, j] = tj.exp(t[i, j] - top[i])
        b.reduce("sum", t, total, 1)
        with b.parallel(rows, width) as (i, j):
            t[i, j] = t[i, j] / total[i]
        b.copy(t, y[block * rows, 0])


@tj.program
def rmsnorm(b):
    """f16 rows, computed in f32."""
    n = 256
    T = b.dim("T")
    x, w, y = b.input("x", f16, [T, n]), b.input("w", f32, [n]), b.output("y", f16, [T, n])
    eps = b.scalar("eps", f32)
    with b.grid(T) as t:
        row, squares, total = b.fragment(f32, [n]), b.fragment(f32, [n]), b.fragment(f32, [1])
        b.copy(x[t, 0], row)
        with b.parallel(n) as i:
            v = row[i].value
            squares[i] = v * v
        b.reduce("sum", squares, total, 0)
        with b.parallel(n) as i:
            v = row[i].value  # read before what it is multiplied by
            row[i] = v * tj.rsqrt(total[0] / n + eps) * w[i]
        b.copy(row, y[t, 0])


@tj.program
def transposed(b):
    """Through shared tiles whose columns lie on 32 banks. M is a stride, so there are two variants: rows on 16 bytes, and any."""
    M, N = b.dims("M N")
    x, y = b.input("x", f32, [M, N]), b.output("y", f32, [N, M])
    with b.grid(ceildiv(N, 32), ceildiv(M, 32)) as (column, row):
        t = b.shared(f32, [32, 32])
        b.annotate_layout(t, lambda i, j: i * 32 + (j + i) % 32)
        b.copy(x[row * 32, column * 32], t)
        b.transpose(t, y[column * 32, row * 32])


@tj.program
def strided_copy(b):
    """Rows that lie S elements apart, columns from `limit` on taken for -1; two ranges of M, a variant for each."""
    M, N, S = b.dim("M", buckets=[tj.Range(1, 64), tj.Range(65, 4096)]), b.dim("N"), b.dim("S")
    x, y = b.input("x", f32, [M, N], strides=[S, 1]), b.output("y", f32, [M, N])
    limit = b.scalar("limit", i32)
    with b.grid(ceildiv(M, 16), threads=128) as block:
        t = b.shared(f32, [16, 64])
        b.annotate_layout(t, "padded")
        with b.pipelined(ceildiv(N, 64), stages=2) as k:
            b.copy(x[block * 16, k * 64], t, valid=[M, tj.cast(tj.index, limit)], safe=-1, prefer="async", eviction="first")
            b.copy(t, y[block * 16, k * 64])


@tj.program
def embed(b):
    """Rows of a table by index, and for each row of the table the sum of what was taken. Indices out of range give 0."""
    T, V = b.dims("T V")
    table, ids = b.input("table", f16, [V, 32]), b.input("ids", i32, [T])
    y, sums = b.output("y", f32, [T, 32]), b.inout("sums", f32, [V, 32])
    with b.grid(ceildiv(T, 16)) as block:
        id_, rows = b.fragment(i32, [16]), b.fragment(f32, [16, 32])
        b.copy(ids[block * 16], id_, safe=-1)
        b.gather(table[0, 0], id_, rows)
        b.copy(rows, y[block * 16, 0])
        b.scatter(rows, id_, sums[0, 0], op="add")


@tj.program
def ranked(b):
    """The eight greatest of each row, what lies before each element, the place of the greatest, and how many are as great."""
    rows, n = 4, 48
    R = b.dim("R")
    x, best, before = b.input("x", f32, [R, n]), b.output("best", f32, [R, 8]), b.output("before", f32, [R, n])
    places, first, equal = b.output("places", i32, [R, 8]), b.output("first", i32, [R]), b.output("equal", i32, [R])

    def merged(left, right):
        both = left[1] + right[1]
        counted = tj.select(left[0] == right[0], both, tj.select(left[0] < right[0], right[1], left[1]))
        return tj.maximum(left[0], right[0]), counted

    with b.grid(ceildiv(R, rows)) as block:
        row = b.let(block * rows)
        t, sums, eight = b.fragment(f32, [rows, n]), b.fragment(f32, [rows, n]), b.fragment(f32, [rows, 8])
        place, at = b.fragment(i32, [rows, 8]), b.fragment(i32, [rows])
        b.copy(x[row, 0], t)
        b.top_k(t, eight, place, 1)
        b.scan("sum", t, sums, 1, exclusive=True)
        b.reduce("argmax", t, at, 1)
        ones, count, greatest = b.fragment(i32, [rows, n]), b.fragment(i32, [rows]), b.fragment(f32, [rows])
        b.fill(ones, 1)
        b.combine([t, ones], [greatest, count], 1, [-tj.inf, 0], merged)
        b.copy(eight, best[row, 0])
        b.copy(sums, before[row, 0])
        b.copy(place, places[row, 0])
        b.copy(at, first[row])
        b.copy(count, equal[row])
