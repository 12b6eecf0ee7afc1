//! Lists of values, and the indices that scopes give for them.

use tilert_sys as sys;

use super::{Builder, Expr, Value};

/// A list of values, such as a shape or the offsets of a place: a tuple of up to eight values of any kind, an array, a
/// slice or `Vec` of one kind, or one value alone.
pub trait Values<'b> {
    /// What a closure over as many indices takes: a tuple for a tuple, an array for an array, one [`Expr`] for one value.
    type Indices: Indices<'b>;
    #[doc(hidden)]
    #[track_caller]
    fn ids(self, builder: Builder<'b>) -> Vec<sys::tilert_expr>;
}

/// The indices that a scope gives to its closure.
pub trait Indices<'b>: Sized {
    #[doc(hidden)]
    fn made(builder: Builder<'b>, ids: &[sys::tilert_expr]) -> Self;
}

impl<'b> Indices<'b> for Expr<'b> {
    fn made(builder: Builder<'b>, ids: &[sys::tilert_expr]) -> Self {
        Expr::new(builder, ids[0])
    }
}
impl<'b, const N: usize> Indices<'b> for [Expr<'b>; N] {
    fn made(builder: Builder<'b>, ids: &[sys::tilert_expr]) -> Self {
        std::array::from_fn(|i| Expr::new(builder, ids[i]))
    }
}
impl<'b> Indices<'b> for Vec<Expr<'b>> {
    fn made(builder: Builder<'b>, ids: &[sys::tilert_expr]) -> Self {
        ids.iter().map(|id| Expr::new(builder, *id)).collect()
    }
}

// For every value at once: a closure's index has its type before that of an integer literal is settled.
impl<'b, V: Value<'b>> Values<'b> for V {
    type Indices = Expr<'b>;
    #[track_caller]
    fn ids(self, builder: Builder<'b>) -> Vec<sys::tilert_expr> {
        vec![self.id(builder)]
    }
}

impl<'b, V: Value<'b>, const N: usize> Values<'b> for [V; N] {
    type Indices = [Expr<'b>; N];
    #[track_caller]
    fn ids(self, builder: Builder<'b>) -> Vec<sys::tilert_expr> {
        ids_of(&self, builder)
    }
}
impl<'b, V: Value<'b>> Values<'b> for &[V] {
    type Indices = Vec<Expr<'b>>;
    #[track_caller]
    fn ids(self, builder: Builder<'b>) -> Vec<sys::tilert_expr> {
        ids_of(self, builder)
    }
}
impl<'b, V: Value<'b>> Values<'b> for Vec<V> {
    type Indices = Vec<Expr<'b>>;
    #[track_caller]
    fn ids(self, builder: Builder<'b>) -> Vec<sys::tilert_expr> {
        ids_of(&self, builder)
    }
}
impl<'b> Values<'b> for () {
    type Indices = Vec<Expr<'b>>;
    fn ids(self, _: Builder<'b>) -> Vec<sys::tilert_expr> {
        Vec::new()
    }
}

#[track_caller]
fn ids_of<'b, V: Value<'b>>(values: &[V], builder: Builder<'b>) -> Vec<sys::tilert_expr> {
    let mut out = Vec::with_capacity(values.len());
    for value in values {
        out.push(value.id(builder));
    }
    out
}

macro_rules! tuples {
    ($(($($name:ident $at:tt),+);)*) => { $(
        impl<'b, $($name: Value<'b>),+> Values<'b> for ($($name,)+) {
            type Indices = ($(tuples!(@expr $name),)+);
            #[track_caller]
            fn ids(self, builder: Builder<'b>) -> Vec<sys::tilert_expr> {
                vec![$(self.$at.id(builder)),+]
            }
        }
        impl<'b> Indices<'b> for ($(tuples!(@expr $name),)+) {
            fn made(builder: Builder<'b>, ids: &[sys::tilert_expr]) -> Self {
                ($(Expr::new(builder, ids[$at]),)+)
            }
        }
    )* };
    (@expr $name:ident) => { Expr<'b> };
}
tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}
