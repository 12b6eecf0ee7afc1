// Operations of one value, and what changes its dtype. Those with an error bound have it in docs/language.md, per dtype.

package tilert

// #include "shim.h"
import "C"

// Neg is -o.
func (o operand) Neg() Expr { return Op(OpNeg, o) }

// Not is that of an integer's bits, or of a bool.
func (o operand) Not() Expr { return Op(OpNot, o) }

// Abs is |o|.
func (o operand) Abs() Expr { return Op(OpAbs, o) }

// Exp is e to the power of o.
func (o operand) Exp() Expr { return Op(OpExp, o) }

// Exp2 is 2 to the power of o.
func (o operand) Exp2() Expr { return Op(OpExp2, o) }

// Log is the natural logarithm.
func (o operand) Log() Expr { return Op(OpLog, o) }

// Log2 is the logarithm to base 2.
func (o operand) Log2() Expr { return Op(OpLog2, o) }

// Sqrt is the square root.
func (o operand) Sqrt() Expr { return Op(OpSqrt, o) }

// Rsqrt is 1 over the square root.
func (o operand) Rsqrt() Expr { return Op(OpRsqrt, o) }

// Sin is the sine.
func (o operand) Sin() Expr { return Op(OpSin, o) }

// Cos is the cosine.
func (o operand) Cos() Expr { return Op(OpCos, o) }

// Tanh is the hyperbolic tangent.
func (o operand) Tanh() Expr { return Op(OpTanh, o) }

// Erf is the error function.
func (o operand) Erf() Expr { return Op(OpErf, o) }

// Sigmoid is 1 / (1 + exp(-o)).
func (o operand) Sigmoid() Expr { return Op(OpSigmoid, o) }

// Floor rounds down.
func (o operand) Floor() Expr { return Op(OpFloor, o) }

// Ceil rounds up.
func (o operand) Ceil() Expr { return Op(OpCeil, o) }

// Round rounds half to even.
func (o operand) Round() Expr { return Op(OpRound, o) }

// Trunc rounds towards 0.
func (o operand) Trunc() Expr { return Op(OpTrunc, o) }

// IsNaN is a bool.
func (o operand) IsNaN() Expr { return Op(OpIsNaN, o) }

// IsInf is a bool.
func (o operand) IsInf() Expr { return Op(OpIsInf, o) }

// IsFinite is a bool.
func (o operand) IsFinite() Expr { return Op(OpIsFinite, o) }

// Cast is the value converted: float to integer truncates and saturates, NaN gives 0; float casts round half to even.
func (o operand) Cast(dtype DType) Expr { return o.cast(dtype, 0) }

// CastNonSat is Cast to fp8 where what is beyond the range becomes infinity or NaN instead of the greatest value.
func (o operand) CastNonSat(dtype DType) Expr { return o.cast(dtype, C.TILERT_CAST_NONSAT) }

func (o operand) cast(dtype DType, flags C.uint32_t) Expr {
	x := operandOf(o)
	if x.b == nil {
		if x.wrong != "" {
			return Expr{x}
		}
		return Expr{ofNumbers(numberCall{kind: numberCast, dtype: C.tilert_dtype(dtype)}, []operand{x})}
	}
	return x.b.expr(C.tilert_builder_cast(x.b.raw, C.tilert_dtype(dtype), x.in(x.b), flags))
}

// CastStochastic rounds to a narrower float at random: up with the probability of where the value lies between its neighbours.
// random is a uint32 value. nonSat: as CastNonSat.
func (o operand) CastStochastic(dtype DType, random any, nonSat bool) Expr {
	x, r := operandOf(o), operandOf(random)
	b := x.b
	if b == nil {
		b = r.b
	}
	if b == nil {
		return Expr{operand{wrong: "a number is not rounded at random: cast it"}}
	}
	var flags C.uint32_t
	if nonSat {
		flags = C.TILERT_CAST_NONSAT
	}
	return b.expr(C.tilert_builder_cast_stochastic(b.raw, C.tilert_dtype(dtype), x.in(b), r.in(b), flags))
}

// Reinterpret is the value's bits read as a dtype of the same width.
func (o operand) Reinterpret(dtype DType) Expr {
	x := operandOf(o)
	if x.b == nil {
		if x.wrong != "" {
			return Expr{x}
		}
		return Expr{ofNumbers(numberCall{kind: numberReinterpret, dtype: C.tilert_dtype(dtype)}, []operand{x})}
	}
	return x.b.expr(C.tilert_builder_reinterpret(x.b.raw, C.tilert_dtype(dtype), x.in(x.b)))
}

// Fast is the value, with the target's approximations in its operations where it has them, within the bounds that
// tilert_builder_fast states.
func (o operand) Fast() Expr {
	x := operandOf(o)
	if x.b == nil {
		return Expr{x}
	}
	return x.b.expr(C.tilert_builder_fast(x.b.raw, x.in(x.b)))
}

// DType is the value's; 0 for a number that has none, and for none.
func (o operand) DType() DType {
	x := operandOf(o)
	switch {
	case x.b != nil:
		return DType(C.tilert_builder_dtype_of(x.b.raw, x.in(x.b)))
	case x.number.typed != 0:
		return DType(x.number.dtype)
	}
	return 0
}
