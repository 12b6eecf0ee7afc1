// Programs that work along rows.

package main

import (
	"math"

	. "tilert"
)

// y = factor x, a block's part in a loop over four tiles.
func scale(b *Builder) {
	n := b.Dim("N", DimOptions{Divisible: 8})
	x, y := b.Input("x", F32, n), b.Output("y", F32, n)
	factor := b.Scalar("factor", F32)
	b.Grid1(n.CeilDiv(512), nil, func(block Expr) {
		t := b.Fragment(F32, 128)
		b.Serial(4, func(k Expr) {
			at := b.Let(block.Mul(512).Add(k.Mul(128)))
			b.Copy(x.At(at), t)
			b.Parallel1(128, func(i Expr) { t.At(i).Store(t.At(i).Mul(factor)) })
			b.Copy(t, y.At(at))
		})
	})
}

// Rows of 100 in tiles of 4 x 128; what lies beyond a row is minus infinity and adds nothing.
func softmax(b *Builder) {
	const rows, width = 4, 128
	r := b.Dim("R")
	x, y := b.Input("x", F32, r, 100), b.Output("y", F32, r, 100)
	b.Grid1(r.CeilDiv(rows), nil, func(block Expr) {
		t := b.Fragment(F32, rows, width)
		top, sum := b.Fragment(F32, rows), b.Fragment(F32, rows)
		b.Copy(x.At(block.Mul(rows), 0), t, CopyOptions{Safe: math.Inf(-1)})
		b.Reduce(Max, t, top, 1)
		b.Parallel2(rows, width, func(i, j Expr) {
			v, most := t.At(i, j).Load(), top.At(i).Load()
			t.At(i, j).Store(v.Sub(most).Exp())
		})
		b.Reduce(Sum, t, sum, 1)
		b.Parallel2(rows, width, func(i, j Expr) {
			v, all := t.At(i, j).Load(), sum.At(i).Load()
			t.At(i, j).Store(v.Div(all))
		})
		b.Copy(t, y.At(block.Mul(rows), 0))
	})
}

// f16 rows, computed in f32.
func rmsnorm(b *Builder) {
	const n = 256
	rows := b.Dim("T")
	x, w, y := b.Input("x", F16, rows, n), b.Input("w", F32, n), b.Output("y", F16, rows, n)
	eps := b.Scalar("eps", F32)
	b.Grid1(rows, nil, func(t Expr) {
		row, squares, sum := b.Fragment(F32, n), b.Fragment(F32, n), b.Fragment(F32, 1)
		b.Copy(x.At(t, 0), row)
		b.Parallel1(n, func(i Expr) {
			v := row.At(i).Load()
			squares.At(i).Store(v.Mul(v))
		})
		b.Reduce(Sum, squares, sum, 0)
		b.Parallel1(n, func(i Expr) {
			v, all, weight := row.At(i).Load(), sum.At(0).Load(), w.At(i).Load()
			row.At(i).Store(v.Mul(all.Div(n).Add(eps).Rsqrt()).Mul(weight))
		})
		b.Copy(row, y.At(t, 0))
	})
}

// Through shared tiles whose columns lie on 32 banks. M is a stride, so there are two variants: rows on 16 bytes, and any.
func transposed(b *Builder) {
	m, n := b.Dim("M"), b.Dim("N")
	x, y := b.Input("x", F32, m, n), b.Output("y", F32, n, m)
	b.Grid2(n.CeilDiv(32), m.CeilDiv(32), nil, func(column, row Expr) {
		t := b.Shared(F32, 32, 32)
		b.AnnotateLayoutFunc(t, false, func(i []Expr) any { return i[0].Mul(32).Add(i[1].Add(i[0]).Mod(32)) })
		b.Copy(x.At(row.Mul(32), column.Mul(32)), t)
		b.Transpose(t, y.At(column.Mul(32), row.Mul(32)))
	})
}

// Rows that lie S elements apart, columns from limit on taken for -1; two ranges of M, a variant for each.
func stridedCopy(b *Builder) {
	m := b.Dim("M", DimOptions{Buckets: []Bucket{InRange(1, 64), InRange(65, 4096)}})
	n, s := b.Dim("N"), b.Dim("S")
	x := b.Tensor("x", In, F32, Shape{m, n}, TensorOptions{Strides: Shape{s, 1}})
	y := b.Output("y", F32, m, n)
	limit := b.Scalar("limit", Int32)
	b.Grid1(m.CeilDiv(16), Threads(128), func(block Expr) {
		t := b.Shared(F32, 16, 64)
		b.AnnotateLayout(t, LayoutPadded, false)
		b.Pipelined(n.CeilDiv(64), 2, func(k Expr) {
			options := CopyOptions{Valid: []any{m, limit.Cast(Index)}, Safe: -1, Prefer: CopyAsync, Eviction: EvictionFirst}
			b.Copy(x.At(block.Mul(16), k.Mul(64)), t, options)
			b.Copy(t, y.At(block.Mul(16), k.Mul(64)))
		})
	})
}

// Rows of a table by index, and for each row of the table the sum of what was taken. Indices out of range give 0.
func embed(b *Builder) {
	n, v := b.Dim("T"), b.Dim("V")
	table, ids := b.Input("table", F16, v, 32), b.Input("ids", Int32, n)
	y, sums := b.Output("y", F32, n, 32), b.InOut("sums", F32, v, 32)
	b.Grid1(n.CeilDiv(16), nil, func(block Expr) {
		id := b.Fragment(Int32, 16)
		rows := b.Fragment(F32, 16, 32)
		b.Copy(ids.At(block.Mul(16)), id, CopyOptions{Safe: -1})
		b.Gather(table.At(0, 0), id, rows, 0)
		b.Copy(rows, y.At(block.Mul(16), 0))
		b.ScatterAtomic(AtomicAdd, rows, id, sums.At(0, 0), 0)
	})
}

// The eight greatest of each row, what lies before each element, the place of the greatest, and how many are as great.
func ranked(b *Builder) {
	const rows, n = 4, 48
	r := b.Dim("R")
	x, best, before := b.Input("x", F32, r, n), b.Output("best", F32, r, 8), b.Output("before", F32, r, n)
	places, first, equal := b.Output("places", Int32, r, 8), b.Output("first", Int32, r), b.Output("equal", Int32, r)
	b.Grid1(r.CeilDiv(rows), nil, func(block Expr) {
		row := b.Let(block.Mul(rows))
		t, sums, eight := b.Fragment(F32, rows, n), b.Fragment(F32, rows, n), b.Fragment(F32, rows, 8)
		place, at := b.Fragment(Int32, rows, 8), b.Fragment(Int32, rows)
		b.Copy(x.At(row, 0), t)
		b.TopK(t, eight, place, 1)
		b.Scan(Sum, t, sums, 1, ScanOptions{Exclusive: true})
		b.Reduce(ArgMax, t, at, 1)
		ones, count := b.Fragment(Int32, rows, n), b.Fragment(Int32, rows)
		greatest := b.Fragment(F32, rows)
		b.Fill(ones, 1)
		b.Combine(Combination{Sources: []Place{t, ones}, Destinations: []Place{greatest, count}, Dim: 1,
			Identities: []any{math.Inf(-1), 0}}, func(l, r []Expr) []Expr {
			both := l[1].Add(r[1])
			greater := l[0].Max(r[0])
			return []Expr{greater, l[0].Eq(r[0]).Select(both, l[0].Lt(r[0]).Select(r[1], l[1]))}
		})
		b.Copy(eight, best.At(row, 0))
		b.Copy(sums, before.At(row, 0))
		b.Copy(place, places.At(row, 0))
		b.Copy(at, first.At(row))
		b.Copy(count, equal.At(row))
	})
}
