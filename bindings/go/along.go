// Operations along a dim: reductions, scans, sorting, reductions of one's own; and elements that indices pick.

package tilert

// #include "shim.h"
import "C"

// ReduceOp is the operation of a reduction or scan.
type ReduceOp int32

// The reductions of tilert.h.
const (
	Sum    ReduceOp = C.TILERT_REDUCE_SUM
	Max    ReduceOp = C.TILERT_REDUCE_MAX
	Min    ReduceOp = C.TILERT_REDUCE_MIN
	AbsMax ReduceOp = C.TILERT_REDUCE_ABSMAX
	AbsSum ReduceOp = C.TILERT_REDUCE_ABSSUM
	Prod   ReduceOp = C.TILERT_REDUCE_PROD
	And    ReduceOp = C.TILERT_REDUCE_AND
	Or     ReduceOp = C.TILERT_REDUCE_OR
	Xor    ReduceOp = C.TILERT_REDUCE_XOR
	ArgMax ReduceOp = C.TILERT_REDUCE_ARGMAX
	ArgMin ReduceOp = C.TILERT_REDUCE_ARGMIN
	MaxNaN ReduceOp = C.TILERT_REDUCE_MAX_NAN
	MinNaN ReduceOp = C.TILERT_REDUCE_MIN_NAN
)

// Reduce reduces source along dim into destination, whose shape is the source's without that dim (or with 1 there).
func (b *Builder) Reduce(op ReduceOp, source, destination Place, dim int) {
	b.reduce(op, source, destination, dim, 0)
}

// ReduceInto is Reduce where the destination's old value counts once.
func (b *Builder) ReduceInto(op ReduceOp, source, destination Place, dim int) {
	b.reduce(op, source, destination, dim, C.TILERT_REDUCE_ACCUMULATE)
}

func (b *Builder) reduce(op ReduceOp, source, destination Place, dim int, flags C.uint32_t) {
	b.do(func() {
		o := one[C.tilert_reduce_options](&b.memory)
		o.struct_size, o.flags = C.sizeof_tilert_reduce_options, flags
		C.tilert_builder_reduce(b.raw, C.tilert_reduce_op(op), b.region(source), b.region(destination), C.uint32_t(dim), o)
	})
}

// ScanOptions are what may be said of a scan.
type ScanOptions struct {
	Reverse   bool // starts at the end
	Exclusive bool // leaves the element itself out
}

// Scan makes destination[i] = source[0] op ... op source[i] along dim.
func (b *Builder) Scan(op ReduceOp, source, destination Place, dim int, options ...ScanOptions) {
	b.do(func() {
		o := one[C.tilert_scan_options](&b.memory)
		o.struct_size = C.sizeof_tilert_scan_options
		for _, s := range options {
			o.flags = flag(s.Reverse, C.TILERT_SCAN_REVERSE) | flag(s.Exclusive, C.TILERT_SCAN_EXCLUSIVE)
		}
		C.tilert_builder_scan(b.raw, C.tilert_reduce_op(op), b.region(source), b.region(destination), C.uint32_t(dim), o)
	})
}

// SortOptions are what may be said of sorting.
type SortOptions struct {
	Descending bool
	Places     Place // receives the places along the dim that the elements had (int32 or int64); nil: not wanted
}

// Sort puts the elements of source in order along dim, as many as destination has there. Equal elements keep their order.
func (b *Builder) Sort(source, destination Place, dim int, options ...SortOptions) {
	b.do(func() {
		o := one[C.tilert_sort_options](&b.memory)
		o.struct_size = C.sizeof_tilert_sort_options
		var places *C.tilert_region
		for _, s := range options {
			o.flags, places = flag(s.Descending, C.TILERT_SORT_DESCENDING), b.given(s.Places)
		}
		C.tilert_builder_sort(b.raw, b.region(source), b.region(destination), places, C.uint32_t(dim), o)
	})
}

// TopK is the greatest elements along dim, as many as destination has there, and where they stood.
func (b *Builder) TopK(source, destination, places Place, dim int) {
	b.Sort(source, destination, dim, SortOptions{Descending: true, Places: places})
}

// A Combination is a reduction or scan by an operation of one's own over tuples of 1 to 8 components.
type Combination struct {
	Sources, Destinations []Place
	Identities            []any // numbers or constants that change nothing
	Dim                   int
	Accumulate            bool // the destinations' old values come first, once
	Scan                  bool
	Reverse, Exclusive    bool // of a scan
}

// Combine reduces or scans: operation gets two tuples of values, left of what comes first along the dim, and returns the tuple
// that they make. It is associative, and makes values only.
func (b *Builder) Combine(c Combination, operation func(left, right []Expr) []Expr) {
	n := len(c.Sources)
	left, right := make([]Expr, n), make([]Expr, n)
	b.do(func() {
		if len(c.Destinations) != n || len(c.Identities) != n {
			b.fail(InvalidArgument, "combine: %d sources, %d destinations and %d identities: each component has one of each",
				n, len(c.Destinations), len(c.Identities))
			return
		}
		raw := one[C.tilert_combine](&b.memory)
		raw.struct_size, raw.count, raw.dim = C.sizeof_tilert_combine, C.uint32_t(n), C.uint32_t(c.Dim)
		raw.sources, raw.destinations, raw.identities = b.regions(c.Sources), b.regions(c.Destinations), b.values(c.Identities)
		raw.flags = flag(c.Accumulate, C.TILERT_COMBINE_ACCUMULATE) | flag(c.Scan, C.TILERT_COMBINE_SCAN) |
			flag(c.Reverse, C.TILERT_COMBINE_REVERSE) | flag(c.Exclusive, C.TILERT_COMBINE_EXCLUSIVE)
		b.opened(left, func(l *C.tilert_expr) {
			b.opened(right, func(r *C.tilert_expr) { C.tilert_builder_begin_combine(b.raw, raw, l, r) })
		})
	})
	made := operation(left, right)
	b.do(func() {
		list := many[C.tilert_expr](&b.memory, len(made))
		for i, v := range made {
			list[i] = v.in(b)
		}
		C.tilert_builder_end_combine(b.raw, first(list), C.uint32_t(len(list)))
	})
}

// Gather makes destination[.., i.., ..] = table[.., indices[i..], ..], at dim of the table. An index out of range gives 0.
func (b *Builder) Gather(table, indices, destination Place, dim int) {
	b.do(func() {
		C.tilert_builder_gather(b.raw, b.region(table), b.region(indices), b.region(destination), C.uint32_t(dim))
	})
}

// Scatter makes destination[.., indices[i..], ..] = source[.., i.., ..]. An index out of range is dropped.
func (b *Builder) Scatter(source, indices, destination Place, dim int) {
	b.ScatterAtomic(0, source, indices, destination, dim)
}

// ScatterAtomic combines with what is there by an atomic operation; all of equal indices count.
func (b *Builder) ScatterAtomic(op AtomicOp, source, indices, destination Place, dim int) {
	b.do(func() {
		o := one[C.tilert_scatter_options](&b.memory)
		o.struct_size, o.op = C.sizeof_tilert_scatter_options, C.tilert_atomic_op(op)
		C.tilert_builder_scatter(b.raw, b.region(source), b.region(indices), b.region(destination), C.uint32_t(dim), o)
	})
}
