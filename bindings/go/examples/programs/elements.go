// Programs of single elements: atomics, branches, casts, functions, diagnostics, threads, packed types.

package main

import . "tilert"

// Counts by atomics, in a shared tile first; when all blocks have met, the first one makes shares of them.
func histogram(b *Builder) {
	n := b.Dim("N")
	x := b.Input("x", Uint8, n)
	counts, highest := b.InOut("counts", Int32, 16), b.InOut("highest", Int32, 1)
	shares := b.Output("shares", F64, 16)
	b.Grid1(4, nil, func(block Expr) {
		mine := b.Shared(Int32, 16)
		b.Clear(mine)
		b.Parallel1(256, func(i Expr) {
			b.If(block.Mul(256).Add(i).Lt(n), func() {
				v := x.At(block.Mul(256).Add(i)).Load()
				mine.At(v.Cast(Index).Mod(16)).Atomic(AtomicAdd, 1)
				highest.At(0).Atomic(AtomicMax, v.Cast(Int32))
			})
		})
		b.AtomicTile(AtomicAdd, counts.At(0), mine)
		b.GridSync()
		b.If(block.Eq(0), func() {
			b.Parallel1(16, func(i Expr) { shares.At(i).Store(counts.At(i).Cast(F64).Div(n.Cast(F64))) })
		})
	})
}

// Loops that are left and gone on with, branches of blocks and of points, and blocks that wait for the one before.
func branches(b *Builder) {
	n := b.Dim("B")
	x, y := b.Input("x", F32, n, 64), b.Output("y", F32, n, 64)
	flags, last, seen := b.InOut("flags", Int32, n), b.InOut("last", Int32, 2), b.Output("seen", Int32, n)
	b.Grid1(n, NewHints().NoContract(), func(block Expr) {
		t := b.Fragment(F32, 64)
		b.Copy(x.At(block, 0), t)
		b.If(Num(0).Lt(block), func() {
			b.While(func() any { return flags.At(block.Sub(1)).AtomicLoad(Acquire).Eq(0) }, func() {})
		})
		count := b.Var(Int32)
		count.Store(0)
		b.SerialRange(2, 12, 2, func(k Expr) {
			b.If(k.Eq(4), b.Continue)
			b.If(k.Eq(10), b.Break)
			count.Store(count.Add(1))
		})
		b.Parallel1(64, func(i Expr) {
			pair := b.Local(F32, 2)
			v := t.At(i).Load()
			pair.At(0).Store(v.Mul(3))
			pair.At(1).Store(v.Neg())
			b.IfElse(v.Lt(0), func() { t.At(i).Store(pair.At(1)) }, func() { t.At(i).Store(pair.At(0).Add(1)) })
			now, counted := t.At(i).Load(), count.Load()
			t.At(i).Store(i.Mod(2).Eq(0).Select(now, now.Add(counted.Cast(F32))))
		})
		b.Copy(t, y.At(block, 0))
		seen.At(block).Store(last.At(0).Fetch(AtomicExchange, block.Add(1).Cast(Int32)))
		last.At(1).CompareAndSwap(block.Cast(Int32), block.Add(1).Cast(Int32))
		flags.At(block).AtomicStore(count, Release)
		b.If(block.Eq(2), b.Return)
		b.Unroll(2, func(k Expr) { y.At(block, k).Store(block.Add(k).Cast(F32)) })
	})
}

func casts(b *Builder) {
	count := b.Dim("N")
	x := b.Input("x", F32, count)
	h, q, e, f := b.Output("h", F16, count), b.Output("q", BF16, count), b.Output("e", E4M3, count), b.Output("f", E5M2, count)
	n, bits, back := b.Output("n", Int8, count), b.Output("bits", Uint32, count), b.Output("back", F32, count)
	r := b.Output("r", BF16, count)
	seed := b.Scalar("seed", Int64)
	b.Grid1(count.CeilDiv(64), nil, func(block Expr) {
		b.Parallel1(64, func(i Expr) {
			at := b.Let(block.Mul(64).Add(i))
			v := b.Let(x.At(at).Mul(300))
			h.At(at).Store(v.Div(7).Cast(F16))
			q.At(at).Store(v.Div(7).Cast(BF16))
			e.At(at).Store(v.Mul(2).Cast(E4M3))
			f.At(at).Store(v.Mul(300).CastNonSat(E5M2))
			n.At(at).Store(v.Cast(Int8))
			bits.At(at).Store(v.Reinterpret(Uint32))
			back.At(at).Store(v.Div(7).Cast(E4M3).Cast(F32))
			r.At(at).Store(v.Div(7).CastStochastic(BF16, b.RandomBits(seed, at, 0)[0], false))
		})
	})
}

// A device function that is called twice, and text in the middle of a kernel.
func leaky(b *Builder) {
	n := b.Dim("R")
	x, y, z := b.Input("x", F32, n, 16), b.Output("y", F32, n, 16), b.Output("z", F32, n)
	negatives := b.Output("negatives", Int32, n)
	f := b.DeviceFunction("leaky", F32, []Parameter{ByValue(F32), ByValue(F32), ByUpdatePointer(Int32)},
		SourceText{Language: "cuda", Text: `__device__ float leaky(float x, float slope, int* negatives) {
  if (x < 0.f) *negatives += 1;
  return x < 0.f ? x * slope : x;
}`},
		SourceText{Language: "llvm", Text: `define float @leaky(float %x, float %slope, ptr %negatives) {
  %negative = fcmp olt float %x, 0.0
  %one = zext i1 %negative to i32
  %old = load i32, ptr %negatives
  %new = add i32 %old, %one
  store i32 %new, ptr %negatives
  %less = fmul float %x, %slope
  %r = select i1 %negative, float %less, float %x
  ret float %r
}`})
	b.Grid1(n, nil, func(row Expr) {
		count := b.Var(Int32)
		count.Store(0)
		b.Serial(16, func(j Expr) { y.At(row, j).Store(b.Call(f, x.At(row, j), 0.25, count)) })
		v := b.Call(f, x.At(row, 0).Neg(), 0.5, count)
		b.InlineSource("llvm", "%twice = fmul float $1, 2.0\nstore float %twice, ptr $0", []Place{z.At(row)}, v)
		negatives.At(row).Store(count)
	})
}

func checked(b *Builder) {
	x, y := b.Input("x", F32, 64), b.Output("y", F32, 64)
	b.Grid1(1, nil, func(block Expr) {
		t := b.Fragment(F32, 64)
		b.Label("the whole row").Copy(x, t)
		b.Print("block ", block, " starts with ", t.At(0))
		b.Parallel1(64, func(i Expr) {
			v := t.At(i).Load()
			b.Assert(v.Ge(0), "x[", i, "] is ", v)
			t.At(i).Store(v.Max(0).Sqrt())
		})
		b.PrintTile("t", t.At(2).Size(4))
		b.Copy(t, y)
	})
}

// Sums of rows by the threads of a block: copies ahead, shuffles, a vote, barriers.
func warpSums(b *Builder) {
	n := b.Dim("R")
	x, y := b.Input("x", F32, n, 200), b.Output("y", F32, n)
	positive := b.Output("positive", Uint32, n)
	b.Grid1(n, ThreadsFixed(64), func(r Expr) {
		row, parts := b.Shared(F32, 256), b.Shared(F32, 2)
		b.Threads(func(t Expr) {
			b.CopyAsync(x.At(r, t.Mul(4)), row.At(t.Mul(4)), 4)
			b.CommitCopies()
			b.WaitCopies(0)
			b.SyncThreads(0, 0)
			sum := b.Var(F32)
			sum.Store(0)
			b.Serial(4, func(i Expr) {
				before, v := sum.Load(), row.At(i.Mul(64).Add(t)).Load()
				sum.Store(before.Add(v))
			})
			for step := 16; step > 0; step /= 2 {
				before := sum.Load()
				sum.Store(before.Add(b.Shuffle(ShuffleDown, before, step, 0)))
			}
			b.If(t.Mod(32).Eq(0), func() { parts.At(t.Div(32)).Store(sum) })
			b.Fence(BlockScope)
			b.SyncThreads(1, 64)
			lanes := b.Ballot(row.At(t).Gt(0))
			b.If(t.Eq(0), func() {
				first, second := parts.At(0).Load(), parts.At(1).Load()
				y.At(r).Store(first.Add(second))
				positive.At(r).Store(lanes)
			})
		})
	})
}

// 4-bit weights, unpacked and scaled; the packed bytes; magnitudes through a view of the bits, turned.
func unpacked(b *Builder) {
	const bm, k = 16, 48
	m := b.Dim("M")
	q, scales := b.Input("q", Int4, m, k), b.Input("scales", F16, m)
	w, raw, turned := b.Output("w", F16, m, 3, k/3), b.Output("raw", Uint8, m, k/2), b.Output("turned", F16, k, m)
	rows := b.Reshape(w, m, k)
	magnitudes := b.Transposed(turned)
	b.Grid1(m.CeilDiv(bm), nil, func(block Expr) {
		t := b.Shared(Int4, bm, k)
		bytes := b.View(t, Uint8)
		u := b.Fragment(F16, bm, k)
		words := b.View(u, Uint16)
		b.Copy(q.At(block.Mul(bm), 0), t)
		b.Copy(bytes, raw.At(block.Mul(bm), 0))
		b.Copy(t, u)
		b.Parallel2(bm, k, func(i, j Expr) {
			v, by := u.At(i, j).Load(), scales.At(block.Mul(bm).Add(i)).Load()
			u.At(i, j).Store(v.Mul(by))
		})
		b.Copy(u, rows.At(block.Mul(bm), 0))
		b.Parallel2(bm, k, func(i, j Expr) { words.At(i, j).Store(words.At(i, j).And(0x7fff)) })
		b.Copy(u, magnitudes.At(block.Mul(bm), 0))
	})
}
