// Element types, and the Go types of their elements. Not here: conversion of values, but of the two 16-bit floats.

package tilert

// #include "shim.h"
import "C"

import "math"

// A DType is the type of an element.
type DType int32

// The element types of tilert.h. F8 and smaller, and 4-bit integers, are stored, moved, filled, selected and cast; operations
// on their values are refused.
const (
	Bool     DType = C.TILERT_BOOL // one byte, 0 or 1
	Int4     DType = C.TILERT_INT4
	Int8     DType = C.TILERT_INT8
	Int16    DType = C.TILERT_INT16
	Int32    DType = C.TILERT_INT32
	Int64    DType = C.TILERT_INT64
	Uint4    DType = C.TILERT_UINT4
	Uint8    DType = C.TILERT_UINT8
	Uint16   DType = C.TILERT_UINT16
	Uint32   DType = C.TILERT_UINT32
	Uint64   DType = C.TILERT_UINT64
	F16      DType = C.TILERT_F16
	BF16     DType = C.TILERT_BF16
	F32      DType = C.TILERT_F32
	F64      DType = C.TILERT_F64
	TF32     DType = C.TILERT_TF32 // a mode of gemm on f32, no storage type
	E4M3     DType = C.TILERT_E4M3 // OCP fp8
	E5M2     DType = C.TILERT_E5M2
	E4M3FNUZ DType = C.TILERT_E4M3FNUZ
	E5M2FNUZ DType = C.TILERT_E5M2FNUZ
	E8M0     DType = C.TILERT_E8M0 // scales
	E2M3     DType = C.TILERT_E2M3
	E3M2     DType = C.TILERT_E3M2
	E2M1     DType = C.TILERT_E2M1
	NF4      DType = C.TILERT_NF4
	Index    DType = C.TILERT_INDEX // int64 of index arithmetic; no storage type
)

// Bits is the width of one element, 0 for a value that is no dtype.
func (d DType) Bits() int { return int(C.tilert_dtype_bits(C.tilert_dtype(d))) }

// String is the spelling in program text, as "bf16", or "none".
func (d DType) String() string { return C.GoString(C.tilert_dtype_name(C.tilert_dtype(d))) }

// Float16 holds the bits of an f16.
type Float16 uint16

// BFloat16 holds the bits of a bf16.
type BFloat16 uint16

// ToBFloat16 rounds x half to even.
func ToBFloat16(x float32) BFloat16 {
	bits := math.Float32bits(x)
	if x != x {
		return BFloat16(bits>>16 | 0x40)
	}
	return BFloat16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Float32 is the same number.
func (x BFloat16) Float32() float32 { return math.Float32frombits(uint32(x) << 16) }

// ToFloat16 rounds x half to even.
func ToFloat16(x float32) Float16 {
	bits := math.Float32bits(x)
	sign := Float16(bits >> 16 & 0x8000)
	magnitude := bits & 0x7fffffff
	switch {
	case magnitude > 0x7f800000: // NaN
		return sign | 0x7e00 | Float16(magnitude>>13&0x1ff)
	case magnitude >= 0x477ff000: // what rounds beyond 65504
		return sign | 0x7c00
	case magnitude < 0x38800000: // subnormal: adding 0.5 rounds to multiples of 2^-24
		rounded := math.Float32bits(math.Float32frombits(magnitude) + 0.5)
		return sign | Float16(rounded-0x3f000000)
	}
	return sign | Float16((magnitude-0x38000000+0xfff+magnitude>>13&1)>>13)
}

// Float32 is the same number.
func (x Float16) Float32() float32 {
	sign, exponent, fraction := uint32(x&0x8000)<<16, uint32(x>>10&0x1f), uint32(x&0x3ff)
	switch exponent {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// Element is a Go type whose slices hold a tensor's elements. Elements of other dtypes are bytes: see Arg.As.
type Element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | Float16 | BFloat16 | float32 | float64
}

// DTypeOf is the dtype whose elements a T is.
func DTypeOf[T Element]() DType {
	var t T
	dtype, _ := scalarOf(t)
	return dtype
}

// scalarOf is a value's dtype and bit pattern.
func scalarOf[T Element](value T) (DType, uint64) {
	switch v := any(value).(type) {
	case bool:
		if v {
			return Bool, 1
		}
		return Bool, 0
	case int8:
		return Int8, uint64(uint8(v))
	case int16:
		return Int16, uint64(uint16(v))
	case int32:
		return Int32, uint64(uint32(v))
	case int64:
		return Int64, uint64(v)
	case uint8:
		return Uint8, uint64(v)
	case uint16:
		return Uint16, uint64(v)
	case uint32:
		return Uint32, uint64(v)
	case uint64:
		return Uint64, v
	case Float16:
		return F16, uint64(v)
	case BFloat16:
		return BF16, uint64(v)
	case float32:
		return F32, uint64(math.Float32bits(v))
	case float64:
		return F64, math.Float64bits(v)
	}
	return 0, 0
}
