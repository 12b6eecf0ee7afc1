//! Scalar values: expressions of a builder, numbers that adopt the dtype of what they meet, and what is made of them. Their
//! operators are in `operators`, lists of them in `values`.

use tilert_sys as sys;

use super::{Builder, Region, Var};
use crate::dtype::{bf16, f16, DType};

/// A scalar value of a builder. Pure: it reads nothing, and copies like a number.
#[derive(Clone, Copy)]
pub struct Expr<'b> {
    pub(crate) builder: Builder<'b>,
    pub(crate) id: sys::tilert_expr,
}

impl<'b> Expr<'b> {
    pub(crate) fn new(builder: Builder<'b>, id: sys::tilert_expr) -> Expr<'b> {
        Expr { builder, id }
    }

    /// Its element type; none of a literal and of what came from an error.
    pub fn dtype(self) -> Option<DType> {
        // SAFETY: a live builder; an id of it.
        DType::of(unsafe { sys::tilert_builder_dtype_of(self.builder.raw(), self.id) })
    }

    /// The id of the C interface, for calls that have no method here.
    pub fn as_raw(self) -> sys::tilert_expr {
        self.id
    }
}

/// A named size; also its value.
#[derive(Clone, Copy)]
pub struct Dim<'b> {
    value: Expr<'b>,
    ordinal: u32,
}

impl<'b> Dim<'b> {
    pub(crate) fn new(value: Expr<'b>, ordinal: u32) -> Dim<'b> {
        Dim { value, ordinal }
    }

    /// Its place in the order of declaration: how launches name it.
    pub fn ordinal(self) -> u32 {
        self.ordinal
    }
}

/// What can stand for a scalar value: an [`Expr`], a [`Dim`], a variable or an element (which is read at that moment), or a
/// number of Rust, which is a literal and adopts the dtype of what it meets.
pub trait Value<'b>: Copy {
    #[doc(hidden)]
    #[track_caller]
    fn id(self, builder: Builder<'b>) -> sys::tilert_expr;
}

impl<'b> Value<'b> for Expr<'b> {
    fn id(self, _: Builder<'b>) -> sys::tilert_expr {
        self.id
    }
}
impl<'b> Value<'b> for Dim<'b> {
    fn id(self, _: Builder<'b>) -> sys::tilert_expr {
        self.value.id
    }
}
impl<'b> Value<'b> for Region<'b> {
    #[track_caller]
    fn id(self, _: Builder<'b>) -> sys::tilert_expr {
        self.load().id
    }
}
impl<'b> Value<'b> for Var<'b> {
    #[track_caller]
    fn id(self, _: Builder<'b>) -> sys::tilert_expr {
        self.get().id
    }
}

macro_rules! literals {
    ($($name:ty, $dtype:ident, |$x:ident| $bits:expr;)*) => { $(
        impl<'b> Value<'b> for $name {
            fn id(self, builder: Builder<'b>) -> sys::tilert_expr {
                let $x = self;
                // SAFETY: a live builder and plain numbers.
                unsafe { sys::tilert_builder_literal(builder.raw(), sys::$dtype, $bits) }
            }
        }
    )* };
}
literals! {
    bool, TILERT_BOOL, |x| x as u64;
    i8, TILERT_INT64, |x| x as i64 as u64;
    i16, TILERT_INT64, |x| x as i64 as u64;
    i32, TILERT_INT64, |x| x as i64 as u64;
    i64, TILERT_INT64, |x| x as u64;
    isize, TILERT_INT64, |x| x as i64 as u64;
    u8, TILERT_UINT64, |x| x as u64;
    u16, TILERT_UINT64, |x| x as u64;
    u32, TILERT_UINT64, |x| x as u64;
    u64, TILERT_UINT64, |x| x;
    usize, TILERT_UINT64, |x| x as u64;
    f32, TILERT_F64, |x| f64::from(x).to_bits();
    f64, TILERT_F64, |x| x.to_bits();
    f16, TILERT_F64, |x| f64::from(x.to_f32()).to_bits();
    bf16, TILERT_F64, |x| f64::from(x.to_f32()).to_bits();
}

pub(crate) fn op<'b>(builder: Builder<'b>, op: sys::tilert_op, operands: &[sys::tilert_expr]) -> Expr<'b> {
    // SAFETY: a live builder and `operands.len()` ids of it.
    let id = unsafe { sys::tilert_builder_op(builder.raw(), op, operands.as_ptr(), operands.len() as u32) };
    Expr::new(builder, id)
}

macro_rules! unary {
    ($($(#[$about:meta])* $name:ident = $op:ident;)*) => { $(
        $(#[$about])*
        #[track_caller]
        fn $name(self) -> Expr<'b> {
            let x = self.expr();
            op(x.builder, sys::$op, &[x.id])
        }
    )* };
}
macro_rules! binary {
    ($($(#[$about:meta])* $name:ident = $op:ident;)*) => { $(
        $(#[$about])*
        #[track_caller]
        fn $name(self, other: impl Value<'b>) -> Expr<'b> {
            let x = self.expr();
            op(x.builder, sys::$op, &[x.id, other.id(x.builder)])
        }
    )* };
}

/// A value that knows its builder: what operations can be asked of. Numbers alone stay Rust's.
pub trait Operand<'b>: Value<'b> {
    /// The value itself; of an element or variable, read here, once.
    #[track_caller]
    fn expr(self) -> Expr<'b>;

    unary! {
        /// The magnitude.
        abs = TILERT_OP_ABS;
        /// e to this power.
        exp = TILERT_OP_EXP;
        /// 2 to this power.
        exp2 = TILERT_OP_EXP2;
        /// The natural logarithm.
        log = TILERT_OP_LOG;
        /// The logarithm to base 2.
        log2 = TILERT_OP_LOG2;
        /// The square root.
        sqrt = TILERT_OP_SQRT;
        /// 1 / sqrt.
        rsqrt = TILERT_OP_RSQRT;
        /// The sine.
        sin = TILERT_OP_SIN;
        /// The cosine.
        cos = TILERT_OP_COS;
        /// The hyperbolic tangent.
        tanh = TILERT_OP_TANH;
        /// The error function.
        erf = TILERT_OP_ERF;
        /// 1 / (1 + exp(-x)).
        sigmoid = TILERT_OP_SIGMOID;
        /// Rounded down.
        floor = TILERT_OP_FLOOR;
        /// Rounded up.
        ceil = TILERT_OP_CEIL;
        /// Rounded half to even.
        round = TILERT_OP_ROUND;
        /// Rounded towards zero.
        trunc = TILERT_OP_TRUNC;
        /// A bool.
        is_nan = TILERT_OP_ISNAN;
        /// A bool.
        is_inf = TILERT_OP_ISINF;
        /// A bool.
        is_finite = TILERT_OP_ISFINITE;
    }
    binary! {
        /// The number wins over NaN; -0 < +0.
        min = TILERT_OP_MIN;
        /// The number wins over NaN; -0 < +0.
        max = TILERT_OP_MAX;
        /// NaN propagates.
        min_nan = TILERT_OP_MIN_NAN;
        /// NaN propagates.
        max_nan = TILERT_OP_MAX_NAN;
        /// To the power of the other.
        pow = TILERT_OP_POW;
        /// Division of integers towards zero; `/` is floor division.
        trunc_div = TILERT_OP_TRUNC_DIV;
        /// Its remainder: the sign of the dividend. `%` has the sign of the divisor.
        trunc_mod = TILERT_OP_TRUNC_MOD;
        /// `(self + other - 1) / other` of indices; the other is positive.
        ceildiv = TILERT_OP_CEILDIV;
        /// `==`, as a bool of the program.
        eq = TILERT_OP_EQ;
        /// `!=`, as a bool of the program.
        ne = TILERT_OP_NE;
        /// `<`, as a bool of the program.
        lt = TILERT_OP_LT;
        /// `<=`, as a bool of the program.
        le = TILERT_OP_LE;
        /// `>`, as a bool of the program.
        gt = TILERT_OP_GT;
        /// `>=`, as a bool of the program.
        ge = TILERT_OP_GE;
    }

    /// Of a bool: one or the other. Nothing is read that is not chosen.
    #[track_caller]
    fn select(self, yes: impl Value<'b>, no: impl Value<'b>) -> Expr<'b> {
        let x = self.expr();
        op(x.builder, sys::TILERT_OP_SELECT, &[x.id, yes.id(x.builder), no.id(x.builder)])
    }

    /// `self * factor + term`, rounded once.
    #[track_caller]
    fn fma(self, factor: impl Value<'b>, term: impl Value<'b>) -> Expr<'b> {
        let x = self.expr();
        op(x.builder, sys::TILERT_OP_FMA, &[x.id, factor.id(x.builder), term.id(x.builder)])
    }

    /// Converted: floats to integers truncate and saturate, float casts round half to even.
    #[track_caller]
    fn cast(self, dtype: DType) -> Expr<'b> {
        cast(self.expr(), dtype, 0)
    }

    /// To fp8: what is beyond the greatest value becomes infinity or NaN instead of that value.
    #[track_caller]
    fn cast_nonsat(self, dtype: DType) -> Expr<'b> {
        cast(self.expr(), dtype, sys::TILERT_CAST_NONSAT)
    }

    /// To a narrower float, rounded at random by the uint32 `random` to one of its two neighbours.
    #[track_caller]
    fn cast_stochastic(self, dtype: DType, random: impl Value<'b>) -> Expr<'b> {
        cast_stochastic(self.expr(), dtype, random, 0)
    }

    /// The same to fp8 without saturation.
    #[track_caller]
    fn cast_stochastic_nonsat(self, dtype: DType, random: impl Value<'b>) -> Expr<'b> {
        cast_stochastic(self.expr(), dtype, random, sys::TILERT_CAST_NONSAT)
    }

    /// The same bits as another type of the same width.
    #[track_caller]
    fn reinterpret(self, dtype: DType) -> Expr<'b> {
        let x = self.expr();
        // SAFETY: a live builder and an id of it.
        Expr::new(x.builder, unsafe { sys::tilert_builder_reinterpret(x.builder.raw(), dtype as i32, x.id) })
    }

    /// The operations of this value as the target's approximations where it has them.
    #[track_caller]
    fn fast(self) -> Expr<'b> {
        let x = self.expr();
        // SAFETY: a live builder and an id of it.
        Expr::new(x.builder, unsafe { sys::tilert_builder_fast(x.builder.raw(), x.id) })
    }
}

fn cast(x: Expr<'_>, dtype: DType, flags: u32) -> Expr<'_> {
    // SAFETY: a live builder and an id of it.
    Expr::new(x.builder, unsafe { sys::tilert_builder_cast(x.builder.raw(), dtype as i32, x.id, flags) })
}

#[track_caller]
fn cast_stochastic<'b>(x: Expr<'b>, dtype: DType, random: impl Value<'b>, flags: u32) -> Expr<'b> {
    let random = random.id(x.builder);
    // SAFETY: a live builder and ids of it.
    let id = unsafe { sys::tilert_builder_cast_stochastic(x.builder.raw(), dtype as i32, x.id, random, flags) };
    Expr::new(x.builder, id)
}

impl<'b> Operand<'b> for Expr<'b> {
    fn expr(self) -> Expr<'b> {
        self
    }
}
impl<'b> Operand<'b> for Dim<'b> {
    fn expr(self) -> Expr<'b> {
        self.value
    }
}
impl<'b> Operand<'b> for Region<'b> {
    #[track_caller]
    fn expr(self) -> Expr<'b> {
        self.load()
    }
}
impl<'b> Operand<'b> for Var<'b> {
    #[track_caller]
    fn expr(self) -> Expr<'b> {
        self.get()
    }
}
