// Atomic operations on elements and tiles, and flags between blocks.

package tilert

// #include "shim.h"
import "C"

// AtomicOp is an atomic operation.
type AtomicOp int32

// The atomic operations of tilert.h.
const (
	AtomicAdd      AtomicOp = C.TILERT_ATOMIC_ADD
	AtomicMax      AtomicOp = C.TILERT_ATOMIC_MAX
	AtomicMin      AtomicOp = C.TILERT_ATOMIC_MIN
	AtomicAnd      AtomicOp = C.TILERT_ATOMIC_AND
	AtomicOr       AtomicOp = C.TILERT_ATOMIC_OR
	AtomicXor      AtomicOp = C.TILERT_ATOMIC_XOR
	AtomicExchange AtomicOp = C.TILERT_ATOMIC_EXCHANGE
	AtomicCAS      AtomicOp = C.TILERT_ATOMIC_CAS
)

// OrderScope is whom an order reaches.
type OrderScope int32

// The scopes of tilert.h.
const (
	DeviceScope OrderScope = C.TILERT_ORDER_DEVICE
	BlockScope  OrderScope = C.TILERT_ORDER_BLOCK
	SystemScope OrderScope = C.TILERT_ORDER_SYSTEM
)

// An Order is what else is seen by whom: tilert.Acquire, tilert.Release.In(tilert.SystemScope).
type Order struct {
	order C.tilert_order
	scope OrderScope
}

// The orders of tilert.h, at device scope.
var (
	Relaxed = Order{order: C.TILERT_ORDER_RELAXED}
	Acquire = Order{order: C.TILERT_ORDER_ACQUIRE}
	Release = Order{order: C.TILERT_ORDER_RELEASE}
	AcqRel  = Order{order: C.TILERT_ORDER_ACQ_REL}
)

// In is the order in that scope.
func (o Order) In(scope OrderScope) Order { return Order{o.order, scope} }

func (b *Builder) atomicOptions(order []Order) *C.tilert_atomic_options {
	o := one[C.tilert_atomic_options](&b.memory)
	o.struct_size = C.sizeof_tilert_atomic_options
	for _, given := range order {
		o.order, o.scope = given.order, C.tilert_order_scope(given.scope)
	}
	return o
}

// Atomic changes the element here in one step: AtomicAdd to AtomicExchange. The order is Relaxed where none is given.
func (r Region) Atomic(op AtomicOp, value any, order ...Order) {
	r.atomic(op, value, nil, order, false)
}

// Fetch is Atomic, and gives the value that was there.
func (r Region) Fetch(op AtomicOp, value any, order ...Order) Expr {
	return r.atomic(op, value, nil, order, true)
}

// CompareAndSwap stores value where the old one has the bits of expected, and gives the old one.
func (r Region) CompareAndSwap(expected, value any, order ...Order) Expr {
	return r.atomic(AtomicCAS, value, expected, order, true)
}

func (r Region) atomic(op AtomicOp, value, expected any, order []Order, wanted bool) (out Expr) {
	b := r.b
	if b == nil {
		return Expr{operand{wrong: "no place: a Region comes from a Builder"}}
	}
	b.do(func() {
		v, o := b.value(value), b.atomicOptions(order)
		o.expected = b.optional(expected)
		var old *C.tilert_expr
		if wanted {
			old = one[C.tilert_expr](&b.memory)
		}
		C.tilert_builder_atomic(b.raw, C.tilert_atomic_op(op), b.region(r), v, o, old)
		if wanted {
			out = b.expr(*old)
		}
	})
	return out
}

// AtomicLoad reads an element that other blocks may write at the same time: relaxed, or Acquire.
func (r Region) AtomicLoad(order ...Order) (out Expr) {
	b := r.b
	if b == nil {
		return Expr{operand{wrong: "no place: a Region comes from a Builder"}}
	}
	b.do(func() { out = b.expr(C.tilert_builder_atomic_load(b.raw, b.region(r), b.atomicOptions(order))) })
	return out
}

// AtomicStore writes one that other blocks may read at the same time: relaxed, or Release.
func (r Region) AtomicStore(value any, order ...Order) {
	if b := r.b; b != nil {
		b.do(func() {
			v := b.value(value)
			C.tilert_builder_atomic_store(b.raw, b.region(r), v, b.atomicOptions(order))
		})
	}
}

// AtomicTile makes destination = op(destination, source), each element in one step. Not for AtomicExchange and AtomicCAS.
func (b *Builder) AtomicTile(op AtomicOp, destination, source Place, order ...Order) {
	b.do(func() {
		C.tilert_builder_atomic_tile(b.raw, C.tilert_atomic_op(op), b.region(destination), b.region(source), b.atomicOptions(order))
	})
}
