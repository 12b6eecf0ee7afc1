// Places in memory: parts of tiles and of tensor parameters, elements, variables. Not here: the operations on them.

package tilert

// #include "shim.h"
import "C"

const maxRank = 8

// place is what a Region names.
type place struct {
	buffer           C.tilert_buffer
	tensor           C.tilert_tensor
	offsets, extents []operand
}

// A Region is a part of a tile or parameter. With one index per dim it is also one element: as a value it is read at the
// moment of use, Store writes it.
type Region struct{ operand }

// A Place is where an operation reads or writes: a Region, a Tile or a Var.
type Place interface{ region() Region }

func (r Region) region() Region { return r }

// A Tile is a tile or a parameter: itself its whole region; At names a part of it or an element.
type Tile struct {
	Region
	rank int
}

// A Var is a variable: as a value it is read, Store changes it.
type Var struct{ Region }

// A Dim is a named size; also its value.
type Dim struct {
	Expr
	name    string
	ordinal int
}

// Name is the dim's.
func (d Dim) Name() string { return d.name }

// Ordinal is the number of the dim by declaration: its place in the lists of sizes that launches take.
func (d Dim) Ordinal() int { return d.ordinal }

// At names an element, or the place where a part starts, by one value for each dim.
func (t Tile) At(offsets ...any) Region {
	out := t.Region
	p := *t.place
	p.offsets = operandsOf(offsets)
	out.place = &p
	return out
}

// Rank is the number of dims.
func (t Tile) Rank() int { return t.rank }

// Size is the same place with extents of its own, one for each dim, instead of those of the other side of the operation.
func (r Region) Size(extents ...any) Region {
	if r.place == nil {
		return r
	}
	p := *r.place
	p.extents = operandsOf(extents)
	r.place = &p
	return r
}

func operandsOf(values []any) []operand {
	out := make([]operand, len(values))
	for i, v := range values {
		out[i] = operandOf(v)
	}
	return out
}

// Load is the element here, read now, by name: later stores do not change it. One outside a tensor parameter reads 0.
func (r Region) Load() Expr { return r.load() }

func (o operand) load() Expr {
	b := o.b
	if b == nil {
		return Expr{operand{wrong: "no place: a Region comes from a Builder"}}
	}
	if !b.begin() {
		return Expr{operand{b: b}}
	}
	defer b.end()
	out := b.expr(C.tilert_builder_load(b.raw, b.region(Region{o})))
	b.relabel()
	return out
}

// Store writes the element. One outside a tensor parameter is dropped. The dtypes must be equal; a number adopts.
func (r Region) Store(value any) {
	b := r.b
	if b == nil || !b.begin() {
		return
	}
	defer b.end()
	at, v := b.region(r), b.value(value)
	C.tilert_builder_store(b.raw, at, v)
}

// region is the C form, in the builder's memory of this call.
func (b *Builder) region(at Place) *C.tilert_region {
	out := one[C.tilert_region](&b.memory)
	var r Region
	if at != nil {
		r = at.region()
	}
	if r.place == nil {
		if r.wrong != "" {
			b.fail(InvalidArgument, "%s", r.wrong)
		}
		return out // names nothing, which the library says
	}
	p := r.place
	out.buffer, out.tensor = p.buffer, p.tensor
	out.offsets, out.extents = b.ids(p.offsets), b.ids(p.extents)
	out.rank = C.uint32_t(len(p.offsets))
	if len(p.offsets) == 0 {
		out.rank = C.uint32_t(len(p.extents))
	}
	out.extent_count = C.uint32_t(len(p.extents))
	return out
}

// ids are the values in the builder's memory; NULL for none.
func (b *Builder) ids(values []operand) *C.tilert_expr {
	list := many[C.tilert_expr](&b.memory, len(values))
	for i, v := range values {
		list[i] = v.in(b)
	}
	return first(list)
}

func (b *Builder) values(values []any) *C.tilert_expr {
	list := many[C.tilert_expr](&b.memory, len(values))
	for i, v := range values {
		list[i] = b.value(v)
	}
	return first(list)
}

func (b *Builder) value(v any) C.tilert_expr { return operandOf(v).in(b) }

// optional is a value, or none for nil.
func (b *Builder) optional(v any) C.tilert_expr {
	if v == nil {
		return C.tilert_expr{}
	}
	return b.value(v)
}

func (b *Builder) expr(id C.tilert_expr) Expr { return Expr{operand{b: b, id: id}} }

func (b *Builder) tile(buffer C.tilert_buffer, tensor C.tilert_tensor, rank int) Tile {
	return Tile{Region{operand{b: b, place: &place{buffer: buffer, tensor: tensor}}}, rank}
}

// regions are the C forms of a list, side by side.
func (b *Builder) regions(list []Place) *C.tilert_region {
	out := many[C.tilert_region](&b.memory, len(list))
	for i, r := range list {
		out[i] = *b.region(r)
	}
	return first(out)
}
