//! Places in memory: tiles and parameters, parts of them, elements, variables.

use std::ops::{AddAssign, DivAssign, MulAssign, SubAssign};
use std::panic::Location;

use tilert_sys as sys;

use super::value::op;
use super::{Builder, Expr, Operand, Value, Values};

const MOST: usize = 8;

#[derive(Clone, Copy)]
struct List {
    at: [sys::tilert_expr; MOST],
    count: u32,
}

impl List {
    const NONE: List = List { at: [super::NO_EXPR; MOST], count: 0 };

    fn of(ids: &[sys::tilert_expr]) -> List {
        // What is beyond the end is refused by `checked`; the library is never told of more than there is.
        let mut out = List { count: ids.len().min(MOST) as u32, ..List::NONE };
        for (to, id) in out.at.iter_mut().zip(ids) {
            *to = *id;
        }
        out
    }

    fn pointer(&self) -> *const sys::tilert_expr {
        if self.count == 0 {
            std::ptr::null()
        } else {
            self.at.as_ptr()
        }
    }
}

/// A part of a tile or parameter. With one index per dim it is also one element: used as a value it is read at that moment,
/// [`set`](Region::set) stores.
#[derive(Clone, Copy)]
pub struct Region<'b> {
    pub(crate) builder: Builder<'b>,
    pub(crate) buffer: sys::tilert_buffer,
    pub(crate) tensor: sys::tilert_tensor,
    offsets: List,
    extents: List,
    place: &'static Location<'static>,
}

impl<'b> Region<'b> {
    /// The same place with extents of its own, one for each dim, instead of those of the other side.
    #[track_caller]
    pub fn size(self, extents: impl Values<'b>) -> Region<'b> {
        let ids = extents.ids(self.builder);
        self.checked(ids.len());
        Region { extents: List::of(&ids), ..self }
    }

    /// The element as it is here; later stores do not change the value.
    pub fn load(self) -> Expr<'b> {
        self.builder.at_place(self.place);
        let raw = self.raw();
        // SAFETY: a live builder and a region of it.
        Expr::new(self.builder, unsafe { sys::tilert_builder_load(self.builder.raw(), &raw) })
    }

    /// Stores an element. The dtypes are equal; a number adopts.
    #[track_caller]
    pub fn set(self, value: impl Value<'b>) {
        let value = value.id(self.builder);
        self.builder.at_place(self.place);
        let raw = self.raw();
        // SAFETY: a live builder, a region and an id of it.
        unsafe { sys::tilert_builder_store(self.builder.raw(), &raw, value) };
    }

    /// Reads an element, and stores what `f` makes of it: `acc.at((i, j)).update(|x| x.max(0))`.
    #[track_caller]
    pub fn update<V: Value<'b>>(self, f: impl FnOnce(Expr<'b>) -> V) {
        self.set(f(self.load()));
    }

    /// The C form; it points into `self`.
    pub(crate) fn raw(&self) -> sys::tilert_region {
        sys::tilert_region {
            buffer: self.buffer,
            tensor: self.tensor,
            offsets: self.offsets.pointer(),
            extents: self.extents.pointer(),
            rank: if self.offsets.count != 0 { self.offsets.count } else { self.extents.count },
            extent_count: self.extents.count,
        }
    }

    // More dims than any tile has: said here, since the lists end there.
    fn checked(&self, count: usize) {
        if count > MOST {
            self.builder.refuse(format!(
                "{}:{}: a place of {} dims: tiles and parameters have at most {}",
                self.place.file(),
                self.place.line(),
                count,
                MOST
            ));
        }
    }
}

/// A tile or parameter: itself its whole region; [`at`](Tile::at) names a part of it or an element.
#[derive(Clone, Copy)]
pub struct Tile<'b> {
    pub(crate) builder: Builder<'b>,
    pub(crate) buffer: sys::tilert_buffer,
    pub(crate) tensor: sys::tilert_tensor,
}

const NO_BUFFER: sys::tilert_buffer = sys::tilert_buffer { serial: 0, index: 0 };
const NO_TENSOR: sys::tilert_tensor = sys::tilert_tensor { serial: 0, index: 0 };

impl<'b> Tile<'b> {
    pub(crate) fn of_buffer(builder: Builder<'b>, buffer: sys::tilert_buffer) -> Tile<'b> {
        Tile { builder, buffer, tensor: NO_TENSOR }
    }

    pub(crate) fn of_tensor(builder: Builder<'b>, tensor: sys::tilert_tensor) -> Tile<'b> {
        Tile { builder, buffer: NO_BUFFER, tensor }
    }

    /// The part that begins at these offsets, as large as the other side of the operation; or one element.
    #[track_caller]
    pub fn at(self, offsets: impl Values<'b>) -> Region<'b> {
        let ids = offsets.ids(self.builder);
        let region = Region { offsets: List::of(&ids), ..self.whole() };
        region.checked(ids.len());
        region
    }

    /// All of it.
    #[track_caller]
    pub fn whole(self) -> Region<'b> {
        let (offsets, extents) = (List::NONE, List::NONE);
        let place = Location::caller();
        Region { builder: self.builder, buffer: self.buffer, tensor: self.tensor, offsets, extents, place }
    }

    /// All of it, with extents of its own.
    #[track_caller]
    pub fn size(self, extents: impl Values<'b>) -> Region<'b> {
        self.whole().size(extents)
    }
}

/// A variable: used as a value it is read at that moment; `set` and `+=` store.
#[derive(Clone, Copy)]
pub struct Var<'b>(pub(crate) Tile<'b>);

impl<'b> Var<'b> {
    /// The value as it is here.
    #[track_caller]
    pub fn get(self) -> Expr<'b> {
        self.0.whole().load()
    }

    /// Stores a value.
    #[track_caller]
    pub fn set(self, value: impl Value<'b>) {
        self.0.whole().set(value);
    }
}

/// What operations on tiles take: a [`Region`], a [`Tile`], a [`Var`].
pub trait AsRegion<'b>: Copy {
    /// As a region.
    #[track_caller]
    fn region(self) -> Region<'b>;
}
impl<'b> AsRegion<'b> for Region<'b> {
    fn region(self) -> Region<'b> {
        self
    }
}
impl<'b> AsRegion<'b> for Tile<'b> {
    #[track_caller]
    fn region(self) -> Region<'b> {
        self.whole()
    }
}
impl<'b> AsRegion<'b> for Var<'b> {
    #[track_caller]
    fn region(self) -> Region<'b> {
        self.0.whole()
    }
}
impl<'b> From<Tile<'b>> for Region<'b> {
    #[track_caller]
    fn from(tile: Tile<'b>) -> Region<'b> {
        tile.whole()
    }
}

macro_rules! assigning {
    ($($trait:ident, $method:ident, $op:ident;)*) => { $(
        impl<'b, R: Value<'b>> $trait<R> for Var<'b> {
            #[track_caller]
            fn $method(&mut self, other: R) {
                let now = self.expr();
                self.set(op(now.builder, sys::$op, &[now.id, other.id(now.builder)]));
            }
        }
        impl<'b, R: Value<'b>> $trait<R> for Region<'b> {
            #[track_caller]
            fn $method(&mut self, other: R) {
                let now = self.expr();
                self.set(op(now.builder, sys::$op, &[now.id, other.id(now.builder)]));
            }
        }
    )* };
}
assigning! {
    AddAssign, add_assign, TILERT_OP_ADD;
    SubAssign, sub_assign, TILERT_OP_SUB;
    MulAssign, mul_assign, TILERT_OP_MUL;
    DivAssign, div_assign, TILERT_OP_DIV;
}
