// Programs of matrix products. Reads are statements, whose order is part of a program's key: where a value is made of two, each
// is read by name first.

package main

import . "tilert"

// The hello kernel: c = gelu(a b + bias).
func gemmBiasGelu(b *Builder) {
	const bm, bn, bk = 64, 64, 32
	m, n, k := b.Dim("M"), b.Dim("N"), b.Dim("K")
	A, B, bias := b.Input("A", BF16, m, k), b.Input("B", BF16, k, n), b.Input("bias", F32, n)
	C := b.Output("C", BF16, m, n)
	b.Grid2(n.CeilDiv(bn), m.CeilDiv(bm), nil, func(x, y Expr) {
		a := b.Buffer(InShared, BF16, Shape{bm, bk}, BufferOptions{Name: "a"})
		w := b.Buffer(InShared, BF16, Shape{bk, bn}, BufferOptions{Name: "w"})
		acc := b.Buffer(InFragment, F32, Shape{bm, bn}, BufferOptions{Name: "acc"})
		b.Clear(acc)
		b.Pipelined(k.CeilDiv(bk), 3, func(k Expr) {
			b.Copy(A.At(y.Mul(bm), k.Mul(bk)), a)
			b.Copy(B.At(k.Mul(bk), x.Mul(bn)), w)
			b.Gemm(a, w, acc)
		})
		b.Parallel2(bm, bn, func(i, j Expr) {
			sum, more := acc.At(i, j).Load(), bias.At(x.Mul(bn).Add(j)).Load()
			v := b.Let(sum.Add(more))
			acc.At(i, j).Store(Num(0.5).Mul(v).Mul(v.Mul(0.7071067811865476).Erf().Add(1)))
		})
		b.Copy(acc, C.At(y.Mul(bm), x.Mul(bn)))
	})
}

// Exact products of 8-bit integers, a scale for each column.
func gemmInt8(b *Builder) {
	const bm, bn, bk = 32, 64, 64
	m, n, k := b.Dim("M"), b.Dim("N"), b.Dim("K")
	A, B, scales := b.Input("A", Int8, m, k), b.Input("B", Int8, n, k), b.Input("scales", F32, n)
	C := b.Output("C", F32, m, n)
	b.Grid2(n.CeilDiv(bn), m.CeilDiv(bm), nil, func(x, y Expr) {
		a, w := b.Shared(Int8, bm, bk), b.Shared(Int8, bn, bk)
		acc := b.Fragment(Int32, bm, bn)
		out := b.Fragment(F32, bm, bn)
		b.Pipelined(k.CeilDiv(bk), 2, func(k Expr) {
			b.Copy(A.At(y.Mul(bm), k.Mul(bk)), a)
			b.Copy(B.At(x.Mul(bn), k.Mul(bk)), w)
			b.Gemm(a, w, acc, GemmOptions{TransB: true, Accumulate: k.Ne(0)})
		})
		b.Parallel2(bm, bn, func(i, j Expr) {
			sum, by := acc.At(i, j).Load(), scales.At(x.Mul(bn).Add(j)).Load()
			out.At(i, j).Store(sum.Cast(F32).Mul(by))
		})
		b.Copy(out, C.At(y.Mul(bm), x.Mul(bn)))
	})
}

// fp8 operands with a scale for each block of 32, then silu by its fast form; hints of all kinds.
func gemmScaled(b *Builder) {
	const bm, bn, bk = 64, 32, 32
	m, n, k, nb, kb := b.Dim("M"), b.Dim("N"), b.Dim("K"), b.Dim("NB"), b.Dim("KB") // and their blocks
	A, W := b.Input("A", E4M3, m, k), b.Input("W", E4M3, n, k)
	ofA, ofW := b.Input("of_a", F32, m, kb), b.Input("of_w", F32, nb, kb)
	C := b.Output("C", F32, m, n)
	hints := Threads(128).Must().For("sm_90a").MinBlocks(1).MaxRegisters(128).Raster(4).PDL().FixedOrder()
	b.Grid2(n.CeilDiv(bn), m.CeilDiv(bm), hints, func(x, y Expr) {
		a, w := b.Shared(E4M3, bm, bk), b.Shared(E4M3, bn, bk)
		acc := b.Fragment(F32, bm, bn)
		b.Clear(acc)
		b.Pipelined(k.CeilDiv(bk), 0, func(k Expr) {
			b.Copy(A.At(y.Mul(bm), k.Mul(bk)), a)
			b.Copy(W.At(x.Mul(bn), k.Mul(bk)), w)
			b.Gemm(a, w, acc, GemmOptions{TransB: true, TransScaleB: true,
				ScaleA: ofA.At(y.Mul(bm), k).Size(bm, 1), ScaleB: ofW.At(x, k).Size(1, 1)})
		})
		b.Parallel2(bm, bn, func(i, j Expr) {
			v := acc.At(i, j).Load()
			acc.At(i, j).Store(v.Mul(v.Sigmoid().Fast()))
		})
		b.Copy(acc, C.At(y.Mul(bm), x.Mul(bn)))
	})
}

// Two of each four elements of a are kept; places says which.
func gemmSparse(b *Builder) {
	A, B, P := b.Input("A", F16, 16, 32), b.Input("B", F16, 64, 8), b.Input("places", Uint16, 16, 4)
	C := b.Output("C", F32, 16, 8)
	b.Grid1(1, nil, func(Expr) {
		a, w, places := b.Shared(F16, 16, 32), b.Shared(F16, 64, 8), b.Shared(Uint16, 16, 4)
		acc := b.Fragment(F32, 16, 8)
		b.Copy(A, a)
		b.Copy(B, w)
		b.Copy(P, places)
		b.Gemm(a, w, acc, GemmOptions{Sparse: places, Overwrite: true})
		b.Copy(acc, C)
	})
}

// Rows of x, 16 at a time, each for the expert that expert names; weights lie apart. Only the first of the tiles are done.
func experts(b *Builder) {
	const rows, columns = 16, 32
	t, r, e, n, k := b.Dim("T"), b.Dim("R"), b.Dim("E"), b.Dim("N"), b.Dim("K")
	x, W := b.Input("x", BF16, t, k), b.Tensor("W", In, BF16, Shape{e, n, k}, TensorOptions{PointerTable: true})
	expert, scales := b.Input("expert", Uint8, r), b.Input("scales", F32, e)
	tiles := b.Input("tiles", Int32, 1)
	y := b.Output("y", BF16, t, n)
	b.Grid2(n.CeilDiv(columns), r, Persistent().TileCount(tiles), func(column, row Expr) {
		b.TileCost(row.Add(1), column)
		a, w := b.Shared(BF16, rows, 32), b.Shared(BF16, columns, 32)
		acc := b.Fragment(F32, rows, columns)
		e := b.Let(expert.At(row).Cast(Index).Mod(e))
		b.Clear(acc)
		b.Pipelined(k.CeilDiv(32), 2, func(k Expr) {
			b.Copy(x.At(row.Mul(rows), k.Mul(32)), a)
			b.Copy(W.At(e, column.Mul(columns), k.Mul(32)), w)
			b.Gemm(a, w, acc, GemmOptions{TransB: true})
		})
		b.Parallel2(rows, columns, func(i, j Expr) {
			sum, by := acc.At(i, j).Load(), scales.At(e).Load()
			acc.At(i, j).Store(sum.Mul(by))
		})
		b.Copy(acc, y.At(row.Mul(rows), column.Mul(columns)))
	})
}

// A ring of tensor copies, one role that fills it and one that multiplies by issued products.
func handGemm(b *Builder) {
	const bm, bn, bk, slots = 128, 64, 64, 3
	m, n, k := b.Dim("M"), b.Dim("N", DimOptions{Divisible: 8}), b.Dim("K", DimOptions{Divisible: 8})
	A, B := b.Input("A", BF16, m, k), b.Input("B", BF16, n, k)
	C := b.Output("C", BF16, m, n)
	b.Grid2(n.CeilDiv(bn), m.CeilDiv(bm), Threads(256), func(x, y Expr) {
		a, w := b.Shared(BF16, slots, bm, bk), b.Shared(BF16, slots, bn, bk)
		out := b.Shared(BF16, bm, bn)
		full, free := b.Barriers(slots, 1), b.Barriers(slots, 1)
		trips := k.CeilDiv(bk)
		b.Roles(RoleRegisters{Issuer: 40, Worker: 232}, func() {
			acc := b.Fragment(F32, bm, bn)
			b.Clear(acc)
			b.Serial(trips, func(k Expr) {
				b.WaitBarrier(full.At(k.Mod(slots)), k.Div(slots))
				b.Gemm(a.At(k.Mod(slots), 0, 0), w.At(k.Mod(slots), 0, 0), acc, GemmOptions{TransB: true, Issue: true})
				b.CommitProducts()
				b.WaitProducts(1)
				b.If(Num(0).Lt(k), func() { b.Arrive(free.At(k.Sub(1).Mod(slots))) })
			})
			b.WaitProducts(0)
			b.Copy(acc, out)
			b.StoreTensor(out, C.At(y.Mul(bm), x.Mul(bn)))
			b.CommitStores()
			b.WaitStores(0, StoresWritten)
		}, func() {
			b.Serial(trips, func(k Expr) {
				b.WaitBarrier(free.At(k.Mod(slots)), k.Div(slots).Sub(1))
				b.ArriveExpect(full.At(k.Mod(slots)), (bm+bn)*bk*2)
				b.LoadTensor(A.At(y.Mul(bm), k.Mul(bk)), a.At(k.Mod(slots), 0, 0), full.At(k.Mod(slots)))
				b.LoadTensor(B.At(x.Mul(bn), k.Mul(bk)), w.At(k.Mod(slots), 0, 0), full.At(k.Mod(slots)))
			})
		})
	})
}
