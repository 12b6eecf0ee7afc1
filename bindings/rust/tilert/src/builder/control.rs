//! Scopes that are closures: parallel, loops, conditions; and the jumps out of them.

use tilert_sys as sys;

use super::{list, Builder, Expr, Indices, Value, Values, NO_EXPR};

/// The kinds of plain loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Loop {
    /// One trip after the other.
    Serial = sys::TILERT_LOOP_SERIAL,
    /// Emitted without a loop; the trip count is a constant of the compiled kernel.
    Unroll = sys::TILERT_LOOP_UNROLL,
}

impl<'b> Builder<'b> {
    /// Element by element over one to six extents: `b.parallel((64, 64), |(i, j)| ...)`.
    #[track_caller]
    pub fn parallel<V: Values<'b>>(self, extents: V, f: impl FnOnce(V::Indices)) {
        let extents = extents.ids(self);
        self.at();
        let mut indices = vec![NO_EXPR; extents.len().max(6)];
        // SAFETY: a live builder, ids of it, room for the indices.
        unsafe {
            let count = extents.len() as u32;
            sys::tilert_builder_begin_parallel(self.raw(), list(&extents), count, indices.as_mut_ptr());
        }
        f(V::Indices::made(self, &indices[..extents.len()]));
        // SAFETY: a live builder; so below.
        unsafe { sys::tilert_builder_end_parallel(self.raw()) };
    }

    /// A loop over 0 to `extent` - 1.
    #[track_caller]
    pub fn serial(self, extent: impl Value<'b>, f: impl FnOnce(Expr<'b>)) {
        self.each(Loop::Serial, 0, extent, 1, f);
    }

    /// The same, emitted without a loop.
    #[track_caller]
    pub fn unroll(self, extent: impl Value<'b>, f: impl FnOnce(Expr<'b>)) {
        self.each(Loop::Unroll, 0, extent, 1, f);
    }

    /// `for (i = begin; step > 0 ? i < end : i > end; i += step)`; the step is a constant.
    #[track_caller]
    pub fn each(
        self,
        kind: Loop,
        begin: impl Value<'b>,
        end: impl Value<'b>,
        step: impl Value<'b>,
        f: impl FnOnce(Expr<'b>),
    ) {
        let (begin, end, step) = (begin.id(self), end.id(self), step.id(self));
        self.at();
        let mut index = NO_EXPR;
        unsafe { sys::tilert_builder_begin_serial(self.raw(), kind as i32, begin, end, step, &mut index) };
        f(Expr::new(self, index));
        unsafe { sys::tilert_builder_end_serial(self.raw()) };
    }

    /// A serial loop whose copies of later trips may overlap the work of earlier ones. `stages` 0: as recommended.
    #[track_caller]
    pub fn pipelined(self, extent: impl Value<'b>, stages: u32, f: impl FnOnce(Expr<'b>)) {
        let extent = extent.id(self);
        self.at();
        let mut index = NO_EXPR;
        unsafe { sys::tilert_builder_begin_pipelined(self.raw(), extent, stages, &mut index) };
        f(Expr::new(self, index));
        unsafe { sys::tilert_builder_end_pipelined(self.raw()) };
    }

    /// `condition` is evaluated before each trip.
    #[track_caller]
    pub fn while_<C: Value<'b>>(self, condition: impl FnOnce() -> C, body: impl FnOnce()) {
        self.at();
        unsafe { sys::tilert_builder_begin_while(self.raw()) };
        let test = condition().id(self);
        unsafe { sys::tilert_builder_begin_while_body(self.raw(), test) };
        body();
        unsafe { sys::tilert_builder_end_while(self.raw()) };
    }

    /// Outside `parallel` the condition is the same for the whole block.
    #[track_caller]
    pub fn if_(self, condition: impl Value<'b>, then: impl FnOnce()) {
        let condition = condition.id(self);
        self.at();
        unsafe { sys::tilert_builder_begin_if(self.raw(), condition) };
        then();
        unsafe { sys::tilert_builder_end_if(self.raw()) };
    }

    /// The same with an else.
    #[track_caller]
    pub fn if_else(self, condition: impl Value<'b>, then: impl FnOnce(), otherwise: impl FnOnce()) {
        let condition = condition.id(self);
        self.at();
        unsafe { sys::tilert_builder_begin_if(self.raw(), condition) };
        then();
        unsafe { sys::tilert_builder_begin_else(self.raw()) };
        otherwise();
        unsafe { sys::tilert_builder_end_if(self.raw()) };
    }

    /// Leaves the innermost loop.
    #[track_caller]
    pub fn break_(self) {
        self.at();
        unsafe { sys::tilert_builder_break(self.raw()) };
    }

    /// Ends the trip of the innermost loop.
    #[track_caller]
    pub fn continue_(self) {
        self.at();
        unsafe { sys::tilert_builder_continue(self.raw()) };
    }

    /// Ends the block's work on the kernel.
    #[track_caller]
    pub fn return_(self) {
        self.at();
        unsafe { sys::tilert_builder_return(self.raw()) };
    }

    /// All blocks of the grid come here before any goes on. The launch needs a workspace.
    #[track_caller]
    pub fn grid_sync(self) {
        self.at();
        unsafe { sys::tilert_builder_grid_sync(self.raw()) };
    }
}
