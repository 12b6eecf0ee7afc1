//! Elements that many touch or that a draw picks: atomic operations, random numbers; and what a reader is told.

use tilert_sys as sys;

use super::{list, AsRegion, Builder, Expr, Region, Value, Values, NO_EXPR};

/// Operations that change an element in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Atomic {
    /// Adds.
    Add = sys::TILERT_ATOMIC_ADD,
    /// The greater; numbers win over NaN.
    Max = sys::TILERT_ATOMIC_MAX,
    /// The lesser; numbers win over NaN.
    Min = sys::TILERT_ATOMIC_MIN,
    /// Bits.
    And = sys::TILERT_ATOMIC_AND,
    /// Bits.
    Or = sys::TILERT_ATOMIC_OR,
    /// Bits.
    Xor = sys::TILERT_ATOMIC_XOR,
}

/// Whom an order reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum OrderScope {
    /// All blocks of the device.
    Device = sys::TILERT_ORDER_DEVICE,
    /// The block.
    Block = sys::TILERT_ORDER_BLOCK,
    /// Hosts and other devices, too.
    System = sys::TILERT_ORDER_SYSTEM,
}

/// The order of an atomic operation, and whom it reaches: `Order::ACQUIRE`, `Order::RELEASE.at(OrderScope::System)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    order: sys::tilert_order,
    scope: OrderScope,
}

impl Order {
    /// None, at device scope.
    pub const RELAXED: Order = Order { order: sys::TILERT_ORDER_RELAXED, scope: OrderScope::Device };
    /// What the block does after is not done before.
    pub const ACQUIRE: Order = Order { order: sys::TILERT_ORDER_ACQUIRE, scope: OrderScope::Device };
    /// What it did before is seen by whoever acquires what was written.
    pub const RELEASE: Order = Order { order: sys::TILERT_ORDER_RELEASE, scope: OrderScope::Device };
    /// Both.
    pub const ACQ_REL: Order = Order { order: sys::TILERT_ORDER_ACQ_REL, scope: OrderScope::Device };

    /// The same order in that scope.
    pub const fn at(self, scope: OrderScope) -> Order {
        Order { order: self.order, scope }
    }

    fn options(self, expected: sys::tilert_expr) -> sys::tilert_atomic_options {
        let (order, scope) = (self.order, self.scope as i32);
        sys::tilert_atomic_options { order, scope, expected, ..Default::default() }
    }
}

macro_rules! draws {
    ($($(#[$about:meta])* $name:ident = $form:ident;)*) => { $(
        $(#[$about])*
        #[track_caller]
        pub fn $name(
            self,
            seed: impl Value<'b>,
            counter: impl Value<'b>,
            stream: impl Value<'b>,
        ) -> [Expr<'b>; 4] {
            let (seed, counter, stream) = (seed.id(self), counter.id(self), stream.id(self));
            self.at();
            let mut values = [NO_EXPR; 4];
            // SAFETY: a live builder, ids of it, room for four; so below.
            unsafe {
                sys::tilert_builder_random(self.raw(), sys::$form, seed, counter, stream, values.as_mut_ptr())
            };
            values.map(|id| Expr::new(self, id))
        }
    )* };
}

impl<'b> Builder<'b> {
    /// Changes an element in one step: once a block, in `parallel` once an iteration.
    #[track_caller]
    pub fn atomic(self, op: Atomic, place: Region<'b>, value: impl Value<'b>, order: Order) {
        let value = value.id(self);
        self.at();
        let options = order.options(NO_EXPR);
        unsafe {
            let old = std::ptr::null_mut();
            sys::tilert_builder_atomic(self.raw(), op as i32, &place.raw(), value, &options, old)
        };
    }

    /// Adds to an element, relaxed.
    #[track_caller]
    pub fn atomic_add(self, place: Region<'b>, value: impl Value<'b>) {
        self.atomic(Atomic::Add, place, value, Order::RELAXED);
    }

    /// The same for each element of a region: destination = op(destination, source).
    #[track_caller]
    pub fn atomic_tile(self, op: Atomic, destination: impl AsRegion<'b>, source: impl AsRegion<'b>, order: Order) {
        let (to, from) = (destination.region(), source.region());
        self.at();
        let options = order.options(NO_EXPR);
        unsafe { sys::tilert_builder_atomic_tile(self.raw(), op as i32, &to.raw(), &from.raw(), &options) };
    }

    /// Changes an element and gives the value that was there.
    #[track_caller]
    pub fn fetch(self, op: Atomic, place: Region<'b>, value: impl Value<'b>, order: Order) -> Expr<'b> {
        let value = value.id(self);
        self.at();
        self.fetched(op as i32, place, value, order, NO_EXPR)
    }

    /// Stores a value and gives the one that was there.
    #[track_caller]
    pub fn exchange(self, place: Region<'b>, value: impl Value<'b>, order: Order) -> Expr<'b> {
        let value = value.id(self);
        self.at();
        self.fetched(sys::TILERT_ATOMIC_EXCHANGE, place, value, order, NO_EXPR)
    }

    /// Stores `value` where the old one has the bits of `expected`; gives the old one.
    #[track_caller]
    pub fn cas(self, place: Region<'b>, expected: impl Value<'b>, value: impl Value<'b>, order: Order) -> Expr<'b> {
        let (expected, value) = (expected.id(self), value.id(self));
        self.at();
        self.fetched(sys::TILERT_ATOMIC_CAS, place, value, order, expected)
    }

    fn fetched(
        self,
        op: sys::tilert_atomic_op,
        place: Region<'b>,
        value: sys::tilert_expr,
        order: Order,
        expected: sys::tilert_expr,
    ) -> Expr<'b> {
        let options = order.options(expected);
        let mut old = NO_EXPR;
        unsafe { sys::tilert_builder_atomic(self.raw(), op, &place.raw(), value, &options, &mut old) };
        Expr::new(self, old)
    }

    /// A load of an element that other blocks may write at the same time.
    #[track_caller]
    pub fn atomic_load(self, place: Region<'b>, order: Order) -> Expr<'b> {
        self.at();
        let options = order.options(NO_EXPR);
        Expr::new(self, unsafe { sys::tilert_builder_atomic_load(self.raw(), &place.raw(), &options) })
    }

    /// A store to an element that other blocks may read at the same time.
    #[track_caller]
    pub fn atomic_store(self, place: Region<'b>, value: impl Value<'b>, order: Order) {
        let value = value.id(self);
        self.at();
        let options = order.options(NO_EXPR);
        unsafe { sys::tilert_builder_atomic_store(self.raw(), &place.raw(), value, &options) };
    }

    draws! {
        /// Four uint32 of a draw. Another counter or stream is another draw.
        random_bits = TILERT_RANDOM_BITS;
        /// Four f32 in [0, 1).
        random_uniform = TILERT_RANDOM_UNIFORM;
        /// Four f32 with mean 0 and variance 1.
        random_normal = TILERT_RANDOM_NORMAL;
    }

    /// Tells values, each at a `{}` of the message: `b.print("x = {} at {}", (x, i))`. `()`: none.
    #[track_caller]
    pub fn print(self, message: &str, values: impl Values<'b>) {
        let (values, message) = (values.ids(self), self.text(message, "a message"));
        self.at();
        unsafe { sys::tilert_builder_print(self.raw(), message.as_ptr(), list(&values), values.len() as u32) };
    }

    /// Tells each element of a region, as "name[3, 5] = 0.25".
    #[track_caller]
    pub fn print_tile(self, name: &str, region: impl AsRegion<'b>) {
        let (region, name) = (region.region(), self.text(name, "a name"));
        self.at();
        unsafe { sys::tilert_builder_print_tile(self.raw(), name.as_ptr(), &region.raw()) };
    }

    /// Tells the message where the condition, a bool, does not hold; the kernel goes on.
    #[track_caller]
    pub fn assert(self, condition: impl Value<'b>, message: &str, values: impl Values<'b>) {
        let (condition, values) = (condition.id(self), values.ids(self));
        let message = self.text(message, "a message");
        self.at();
        unsafe {
            let count = values.len() as u32;
            sys::tilert_builder_assert(self.raw(), condition, message.as_ptr(), list(&values), count)
        };
    }
}
