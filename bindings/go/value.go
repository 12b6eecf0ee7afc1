// Scalar values and their operations, as methods. Not here: places in memory (region.go).

package tilert

// #include "shim.h"
import "C"

import "fmt"

// Any argument called a value in this package is an Expr, a Dim, a Region, Tile or Var (an element, read at that moment), or a
// number of Go (bool, integers, floats, Float16, BFloat16), which adopts the dtype of what it meets. Anything else is an error
// that the builder keeps.

// operand is a value: of a builder, or a number, or the element at a place.
type operand struct {
	b       *Builder
	id      C.tilert_expr
	number  C.tilert_number // dtype 0: none
	refused *numberCall
	place   *place // read when it is used
	wrong   string // why it is no value
}

func (o operand) self() operand { return o }

type valuer interface{ self() operand }

// operandOf is anything that is a value, as one. An element is read here.
func operandOf(v any) operand {
	if x, ok := v.(valuer); ok {
		o := x.self()
		if o.place != nil {
			return o.load().operand
		}
		return o
	}
	if o, ok := literalOf(v); ok {
		return o
	}
	return operand{wrong: fmt.Sprintf("a %T is no value: give an expression, a place or a number", v)}
}

// in is the id in that builder.
func (o operand) in(b *Builder) C.tilert_expr {
	switch {
	case o.wrong != "":
		b.fail(InvalidArgument, "%s", o.wrong)
		return C.tilert_expr{}
	case o.refused != nil:
		return o.refused.in(b)
	case o.number.dtype != 0:
		return numberIn(b, o.number)
	}
	return o.id
}

// An Expr is a scalar value of the program that a builder builds, or a number. Its zero value is none. Operations build new
// values; nothing of an Expr changes.
type Expr struct{ operand }

// Num is a number as an Expr: for operations among numbers, Num(1).Div(3). A value that is none is reported by the builder
// that it comes to.
func Num(v any) Expr { return Expr{operandOf(v)} }

// Op is an operation on one to three values, the method of its name in general form.
func Op(op Operation, values ...any) Expr {
	if len(values) > 3 {
		return Expr{operand{wrong: fmt.Sprintf("%d operands: operations have 1 to 3", len(values))}}
	}
	operands := make([]operand, len(values))
	var b *Builder
	for i, v := range values {
		operands[i] = operandOf(v)
		if operands[i].wrong != "" && operands[i].b == nil {
			return Expr{operands[i].lateFail(values)}
		}
		if b == nil {
			b = operands[i].b
		}
	}
	if b == nil {
		return Expr{ofNumbers(numberCall{kind: numberOp, op: C.tilert_op(op)}, operands)}
	}
	var ids [3]C.tilert_expr
	for i, o := range operands {
		ids[i] = o.in(b)
	}
	return b.expr(C.tilert_builder_op(b.raw, C.tilert_op(op), &ids[0], C.uint32_t(len(operands))))
}

// lateFail tells the builder of any of the values, now, what else would be told when this value is used.
func (o operand) lateFail(values []any) operand {
	for _, v := range values {
		if x, ok := v.(valuer); ok && x.self().b != nil {
			x.self().b.failHere(InvalidArgument, "%s", o.wrong)
			break
		}
	}
	return o
}

// An Operation is what Op does.
type Operation int32

// The operations of tilert.h.
const (
	OpAdd      Operation = C.TILERT_OP_ADD
	OpSub      Operation = C.TILERT_OP_SUB
	OpMul      Operation = C.TILERT_OP_MUL
	OpDiv      Operation = C.TILERT_OP_DIV
	OpMod      Operation = C.TILERT_OP_MOD
	OpTruncDiv Operation = C.TILERT_OP_TRUNC_DIV
	OpTruncMod Operation = C.TILERT_OP_TRUNC_MOD
	OpMin      Operation = C.TILERT_OP_MIN
	OpMax      Operation = C.TILERT_OP_MAX
	OpMinNaN   Operation = C.TILERT_OP_MIN_NAN
	OpMaxNaN   Operation = C.TILERT_OP_MAX_NAN
	OpPow      Operation = C.TILERT_OP_POW
	OpAnd      Operation = C.TILERT_OP_AND
	OpOr       Operation = C.TILERT_OP_OR
	OpXor      Operation = C.TILERT_OP_XOR
	OpShl      Operation = C.TILERT_OP_SHL
	OpShr      Operation = C.TILERT_OP_SHR
	OpEq       Operation = C.TILERT_OP_EQ
	OpNe       Operation = C.TILERT_OP_NE
	OpLt       Operation = C.TILERT_OP_LT
	OpLe       Operation = C.TILERT_OP_LE
	OpGt       Operation = C.TILERT_OP_GT
	OpGe       Operation = C.TILERT_OP_GE
	OpNeg      Operation = C.TILERT_OP_NEG
	OpNot      Operation = C.TILERT_OP_NOT
	OpAbs      Operation = C.TILERT_OP_ABS
	OpExp      Operation = C.TILERT_OP_EXP
	OpExp2     Operation = C.TILERT_OP_EXP2
	OpLog      Operation = C.TILERT_OP_LOG
	OpLog2     Operation = C.TILERT_OP_LOG2
	OpSqrt     Operation = C.TILERT_OP_SQRT
	OpRsqrt    Operation = C.TILERT_OP_RSQRT
	OpSin      Operation = C.TILERT_OP_SIN
	OpCos      Operation = C.TILERT_OP_COS
	OpTanh     Operation = C.TILERT_OP_TANH
	OpErf      Operation = C.TILERT_OP_ERF
	OpSigmoid  Operation = C.TILERT_OP_SIGMOID
	OpFloor    Operation = C.TILERT_OP_FLOOR
	OpCeil     Operation = C.TILERT_OP_CEIL
	OpRound    Operation = C.TILERT_OP_ROUND
	OpTrunc    Operation = C.TILERT_OP_TRUNC
	OpIsNaN    Operation = C.TILERT_OP_ISNAN
	OpIsInf    Operation = C.TILERT_OP_ISINF
	OpIsFinite Operation = C.TILERT_OP_ISFINITE
	OpSelect   Operation = C.TILERT_OP_SELECT
	OpFMA      Operation = C.TILERT_OP_FMA
	OpCeilDiv  Operation = C.TILERT_OP_CEILDIV
)

// Arithmetic: both of one dtype; a number adopts the other's. Integers wrap; x / 0 = 0.

// Add is o + v.
func (o operand) Add(v any) Expr { return Op(OpAdd, o, v) }

// Sub is o - v.
func (o operand) Sub(v any) Expr { return Op(OpSub, o, v) }

// Mul is o * v.
func (o operand) Mul(v any) Expr { return Op(OpMul, o, v) }

// Div is o / v, floor division on integers.
func (o operand) Div(v any) Expr { return Op(OpDiv, o, v) }

// Mod is the remainder of Div, with the sign of v.
func (o operand) Mod(v any) Expr { return Op(OpMod, o, v) }

// TruncDiv is integer division towards 0.
func (o operand) TruncDiv(v any) Expr { return Op(OpTruncDiv, o, v) }

// TruncMod is the remainder of TruncDiv, with the sign of o.
func (o operand) TruncMod(v any) Expr { return Op(OpTruncMod, o, v) }

// CeilDiv is (o + v - 1) / v on indices, v positive.
func (o operand) CeilDiv(v any) Expr { return Op(OpCeilDiv, o, v) }

// Min is the lesser; a number wins over NaN, -0 < +0.
func (o operand) Min(v any) Expr { return Op(OpMin, o, v) }

// Max is the greater; a number wins over NaN, -0 < +0.
func (o operand) Max(v any) Expr { return Op(OpMax, o, v) }

// MinNaN is Min, but NaN wins.
func (o operand) MinNaN(v any) Expr { return Op(OpMinNaN, o, v) }

// MaxNaN is Max, but NaN wins.
func (o operand) MaxNaN(v any) Expr { return Op(OpMaxNaN, o, v) }

// Pow is o to the power of v.
func (o operand) Pow(v any) Expr { return Op(OpPow, o, v) }

// And is that of integers' bits, or of bools.
func (o operand) And(v any) Expr { return Op(OpAnd, o, v) }

// Or is that of integers' bits, or of bools.
func (o operand) Or(v any) Expr { return Op(OpOr, o, v) }

// Xor is that of integers' bits, or of bools.
func (o operand) Xor(v any) Expr { return Op(OpXor, o, v) }

// Shl is o << v; 0 by the width or more.
func (o operand) Shl(v any) Expr { return Op(OpShl, o, v) }

// Shr is o >> v, arithmetic on signed integers.
func (o operand) Shr(v any) Expr { return Op(OpShr, o, v) }

// Eq is o == v, a bool.
func (o operand) Eq(v any) Expr { return Op(OpEq, o, v) }

// Ne is o != v, a bool.
func (o operand) Ne(v any) Expr { return Op(OpNe, o, v) }

// Lt is o < v, a bool.
func (o operand) Lt(v any) Expr { return Op(OpLt, o, v) }

// Le is o <= v, a bool.
func (o operand) Le(v any) Expr { return Op(OpLe, o, v) }

// Gt is o > v, a bool.
func (o operand) Gt(v any) Expr { return Op(OpGt, o, v) }

// Ge is o >= v, a bool.
func (o operand) Ge(v any) Expr { return Op(OpGe, o, v) }

// FMA is o * v + w, rounded once.
func (o operand) FMA(v, w any) Expr { return Op(OpFMA, o, v, w) }

// Select is v where o, a bool, holds, else w. Nothing is read that is not chosen.
func (o operand) Select(v, w any) Expr { return Op(OpSelect, o, v, w) }
