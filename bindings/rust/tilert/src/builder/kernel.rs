//! Kernels of a program, and what a persistent one says of its tiles.

use tilert_sys as sys;

use super::{list, pointer, Builder, Expr, Hints, Indices, Value, Values, NO_EXPR};

impl<'b> Builder<'b> {
    /// A kernel of one to three grid extents, expressions of dims. The closure takes as many block indices:
    /// `b.grid((n.ceildiv(64), m.ceildiv(64)), |(x, y)| ...)`.
    #[track_caller]
    pub fn grid<V: Values<'b>>(self, extents: V, f: impl FnOnce(V::Indices)) {
        self.grid_with(extents, Hints::new(), f);
    }

    /// The same with hints and flags.
    #[track_caller]
    pub fn grid_with<V: Values<'b>>(self, extents: V, mut hints: Hints, f: impl FnOnce(V::Indices)) {
        let extents = extents.ids(self);
        self.at();
        let name = hints.name.take().map(|name| self.text(&name, "a kernel's name"));
        let all: Vec<sys::tilert_hint> =
            hints.list.iter().map(|(hint, target)| sys::tilert_hint { target: pointer(target), ..*hint }).collect();
        let raw = sys::tilert_grid {
            rank: extents.len() as u32,
            extents: list(&extents),
            name: pointer(&name),
            flags: hints.flags,
            hint_count: all.len() as u32,
            hints: list(&all),
            tile_count: hints.tile_count,
            ..Default::default()
        };
        // Room for what the library takes, also where the extents are more than it does.
        let mut block = vec![NO_EXPR; extents.len().max(3)];
        // SAFETY: strings and lists that live through the call, which copies them; room for the indices.
        unsafe { sys::tilert_builder_begin_kernel(self.raw(), &raw, block.as_mut_ptr()) };
        f(V::Indices::made(self, &block[..extents.len()]));
        // SAFETY: a live builder.
        unsafe { sys::tilert_builder_end_kernel(self.raw()) };
    }

    /// What a tile of a persistent kernel takes, in any unit.
    #[track_caller]
    pub fn tile_cost(self, cost: impl Value<'b>) {
        let cost = cost.id(self);
        self.at();
        // SAFETY: a live builder and an id of it.
        unsafe { sys::tilert_builder_tile_cost(self.raw(), cost, NO_EXPR) };
    }

    /// The same, and the group of tiles that it wants to be near.
    #[track_caller]
    pub fn tile_cost_near(self, cost: impl Value<'b>, locality: impl Value<'b>) {
        let (cost, locality) = (cost.id(self), locality.id(self));
        self.at();
        // SAFETY: a live builder and ids of it.
        unsafe { sys::tilert_builder_tile_cost(self.raw(), cost, locality) };
    }

    /// A value computed here, once, by name.
    #[track_caller]
    pub fn bind(self, value: impl Value<'b>) -> Expr<'b> {
        let value = value.id(self);
        self.at();
        // SAFETY: a live builder and an id of it.
        Expr::new(self, unsafe { sys::tilert_builder_let(self.raw(), value) })
    }
}
