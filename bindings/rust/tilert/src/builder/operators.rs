//! Rust's operators on values of a builder, also with a number on the left.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use tilert_sys as sys;

use super::value::op;
use super::{Dim, Expr, Operand, Region, Value, Var};

macro_rules! operator {
    ($trait:ident, $method:ident, $op:ident; $($left:ident)*; $($number:ty)*) => {
        $(impl<'b, R: Value<'b>> $trait<R> for $left<'b> {
            type Output = Expr<'b>;
            #[track_caller]
            fn $method(self, other: R) -> Expr<'b> {
                let x = self.expr();
                op(x.builder, sys::$op, &[x.id, other.id(x.builder)])
            }
        })*
        $(operator! { @number $trait, $method, $op; $number; Expr Dim Region Var })*
    };
    (@number $trait:ident, $method:ident, $op:ident; $number:ty; $($right:ident)*) => {
        $(impl<'b> $trait<$right<'b>> for $number {
            type Output = Expr<'b>;
            #[track_caller]
            fn $method(self, other: $right<'b>) -> Expr<'b> {
                let y = other.expr();
                op(y.builder, sys::$op, &[self.id(y.builder), y.id])
            }
        })*
    };
}
macro_rules! operators {
    ($($trait:ident, $method:ident, $op:ident;)*) => {
        $(operator! { $trait, $method, $op; Expr Dim Region Var; i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64 })*
    };
}
operators! {
    Add, add, TILERT_OP_ADD;
    Sub, sub, TILERT_OP_SUB;
    Mul, mul, TILERT_OP_MUL;
    Div, div, TILERT_OP_DIV;
    Rem, rem, TILERT_OP_MOD;
    BitAnd, bitand, TILERT_OP_AND;
    BitOr, bitor, TILERT_OP_OR;
    BitXor, bitxor, TILERT_OP_XOR;
    Shl, shl, TILERT_OP_SHL;
    Shr, shr, TILERT_OP_SHR;
}

macro_rules! prefix {
    ($trait:ident, $method:ident, $op:ident; $($left:ident)*) => {
        $(impl<'b> $trait for $left<'b> {
            type Output = Expr<'b>;
            #[track_caller]
            fn $method(self) -> Expr<'b> {
                let x = self.expr();
                op(x.builder, sys::$op, &[x.id])
            }
        })*
    };
}
prefix! { Neg, neg, TILERT_OP_NEG; Expr Dim Region Var }
prefix! { Not, not, TILERT_OP_NOT; Expr Dim Region Var }
