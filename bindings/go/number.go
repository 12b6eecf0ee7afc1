// Numbers that belong to no builder: literals, and constants where a cast gave them a dtype. Among themselves they are numbers
// again; what they cannot do is reported by the builder that they come to.

package tilert

// #include "shim.h"
import "C"

import "math"

type numberCallKind int

const (
	numberOp numberCallKind = iota
	numberCast
	numberReinterpret
)

// numberCall is what was asked of numbers and refused.
type numberCall struct {
	kind     numberCallKind
	op       C.tilert_op
	dtype    C.tilert_dtype
	operands [3]C.tilert_number
	count    int
}

func (c numberCall) fold() operand {
	var out C.tilert_number
	in := c.operands
	var status C.tilert_status
	switch c.kind {
	case numberOp:
		status = C.tilert_number_op(c.op, &in[0], C.uint32_t(c.count), &out)
	case numberCast:
		status = C.tilert_number_cast(c.dtype, &in[0], &out)
	case numberReinterpret:
		status = C.tilert_number_reinterpret(c.dtype, &in[0], &out)
	}
	if status != C.TILERT_OK {
		return operand{refused: &c}
	}
	return operand{number: out}
}

// in asks the builder the same, which knows how to complain.
func (c *numberCall) in(b *Builder) C.tilert_expr {
	var ids [3]C.tilert_expr
	for i := 0; i < c.count; i++ {
		ids[i] = numberIn(b, c.operands[i])
	}
	switch c.kind {
	case numberCast:
		return C.tilert_builder_cast(b.raw, c.dtype, ids[0], 0)
	case numberReinterpret:
		return C.tilert_builder_reinterpret(b.raw, c.dtype, ids[0])
	}
	return C.tilert_builder_op(b.raw, c.op, &ids[0], C.uint32_t(c.count))
}

func numberIn(b *Builder, n C.tilert_number) C.tilert_expr {
	switch {
	case n.dtype == 0:
		return C.tilert_expr{}
	case n.typed != 0:
		return C.tilert_builder_constant(b.raw, n.dtype, n.bits)
	}
	return C.tilert_builder_literal(b.raw, n.dtype, n.bits)
}

func ofNumbers(call numberCall, operands []operand) operand {
	for _, o := range operands {
		if o.refused != nil {
			return o
		}
		call.operands[call.count] = o.number
		call.count++
	}
	return call.fold()
}

// literalOf is a Go number as an operand.
func literalOf(v any) (operand, bool) {
	literal := func(dtype C.tilert_dtype, bits uint64) (operand, bool) {
		return operand{number: C.tilert_number{dtype: dtype, bits: C.uint64_t(bits)}}, true
	}
	switch x := v.(type) {
	case bool:
		if x {
			return literal(C.TILERT_BOOL, 1)
		}
		return literal(C.TILERT_BOOL, 0)
	case int:
		return literal(C.TILERT_INT64, uint64(x))
	case int8:
		return literal(C.TILERT_INT64, uint64(x))
	case int16:
		return literal(C.TILERT_INT64, uint64(x))
	case int32:
		return literal(C.TILERT_INT64, uint64(x))
	case int64:
		return literal(C.TILERT_INT64, uint64(x))
	case uint:
		return literal(C.TILERT_UINT64, uint64(x))
	case uint8:
		return literal(C.TILERT_UINT64, uint64(x))
	case uint16:
		return literal(C.TILERT_UINT64, uint64(x))
	case uint32:
		return literal(C.TILERT_UINT64, uint64(x))
	case uint64:
		return literal(C.TILERT_UINT64, x)
	case Float16:
		return literal(C.TILERT_F64, math.Float64bits(float64(x.Float32())))
	case BFloat16:
		return literal(C.TILERT_F64, math.Float64bits(float64(x.Float32())))
	case float32:
		return literal(C.TILERT_F64, math.Float64bits(float64(x)))
	case float64:
		return literal(C.TILERT_F64, math.Float64bits(x))
	}
	return operand{}, false
}
