// Control: loops, branches, scopes as closures. What a closure builds stands in the scope; it runs once, while the program is built.

package tilert

// #include "shim.h"
import "C"

// ParallelN is an element-wise loop over one to six extents. No element that one iteration writes is touched by another.
func (b *Builder) ParallelN(extents Shape, body func(index []Expr)) {
	indices := make([]Expr, len(extents))
	b.do(func() {
		sizes := b.values(extents)
		b.opened(indices, func(ids *C.tilert_expr) {
			C.tilert_builder_begin_parallel(b.raw, sizes, C.uint32_t(len(extents)), ids)
		})
	})
	body(indices)
	b.do(func() { C.tilert_builder_end_parallel(b.raw) })
}

// Parallel1 is ParallelN over one extent.
func (b *Builder) Parallel1(m any, body func(i Expr)) {
	b.ParallelN(Shape{m}, func(i []Expr) { body(i[0]) })
}

// Parallel2 is ParallelN over two extents, the last fastest.
func (b *Builder) Parallel2(m, n any, body func(i, j Expr)) {
	b.ParallelN(Shape{m, n}, func(i []Expr) { body(i[0], i[1]) })
}

// Parallel3 is ParallelN over three extents.
func (b *Builder) Parallel3(m, n, k any, body func(i, j, l Expr)) {
	b.ParallelN(Shape{m, n, k}, func(i []Expr) { body(i[0], i[1], i[2]) })
}

// Serial is a loop over 0 .. extent - 1.
func (b *Builder) Serial(extent any, body func(i Expr)) {
	b.loop(C.TILERT_LOOP_SERIAL, nil, extent, nil, body)
}

// SerialRange is for (i = from; step > 0 ? i < to : i > to; i += step), step a constant other than 0.
func (b *Builder) SerialRange(from, to, step any, body func(i Expr)) {
	b.loop(C.TILERT_LOOP_SERIAL, from, to, step, body)
}

// Unroll is a serial loop of a constant number of trips, at most 4096, emitted without a loop.
func (b *Builder) Unroll(extent any, body func(i Expr)) {
	b.loop(C.TILERT_LOOP_UNROLL, nil, extent, nil, body)
}

// UnrollRange is SerialRange, unrolled.
func (b *Builder) UnrollRange(from, to, step any, body func(i Expr)) {
	b.loop(C.TILERT_LOOP_UNROLL, from, to, step, body)
}

func (b *Builder) loop(kind C.tilert_loop, from, to, step any, body func(i Expr)) {
	index := make([]Expr, 1)
	b.do(func() {
		if from == nil {
			from = 0
		}
		if step == nil {
			step = 1
		}
		f, t, s := b.value(from), b.value(to), b.value(step)
		b.opened(index, func(ids *C.tilert_expr) { C.tilert_builder_begin_serial(b.raw, kind, f, t, s, ids) })
	})
	body(index[0])
	b.do(func() { C.tilert_builder_end_serial(b.raw) })
}

// Pipelined is a serial loop over 0 .. extent - 1 whose copies of later iterations may overlap the work of earlier ones.
// stages 0: recommended; 1: no overlap.
func (b *Builder) Pipelined(extent any, stages int, body func(i Expr)) {
	index := make([]Expr, 1)
	b.do(func() {
		e := b.value(extent)
		b.opened(index, func(ids *C.tilert_expr) { C.tilert_builder_begin_pipelined(b.raw, e, C.uint32_t(stages), ids) })
	})
	body(index[0])
	b.do(func() { C.tilert_builder_end_pipelined(b.raw) })
}

// While loops: what condition builds runs before each trip, and gives a bool; its values are known in the body.
func (b *Builder) While(condition func() any, body func()) {
	b.do(func() { C.tilert_builder_begin_while(b.raw) })
	test := operandOf(condition())
	b.do(func() { C.tilert_builder_begin_while_body(b.raw, test.in(b)) })
	body()
	b.do(func() { C.tilert_builder_end_while(b.raw) })
}

// Break leaves the innermost loop.
func (b *Builder) Break() { b.do(func() { C.tilert_builder_break(b.raw) }) }

// Continue ends the trip of the innermost loop.
func (b *Builder) Continue() { b.do(func() { C.tilert_builder_continue(b.raw) }) }

// Return ends the block's work on the kernel.
func (b *Builder) Return() { b.do(func() { C.tilert_builder_return(b.raw) }) }

// If builds a branch. Outside Parallel the condition is uniform over the block.
func (b *Builder) If(condition any, then func()) { b.IfElse(condition, then, nil) }

// IfElse builds two.
func (b *Builder) IfElse(condition any, then, otherwise func()) {
	b.do(func() { C.tilert_builder_begin_if(b.raw, b.value(condition)) })
	then()
	if otherwise != nil {
		b.do(func() { C.tilert_builder_begin_else(b.raw) })
		otherwise()
	}
	b.do(func() { C.tilert_builder_end_if(b.raw) })
}
