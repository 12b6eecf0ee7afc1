//! The loop over the threads of a block, and what threads do together.

use tilert_sys as sys;

use super::{AsRegion, Builder, Expr, OrderScope, Value, NO_EXPR};

macro_rules! shuffles {
    ($($(#[$about:meta])* $name:ident = $kind:ident;)*) => { $(
        $(#[$about])*
        #[track_caller]
        pub fn $name(self, value: impl Value<'b>, lane: impl Value<'b>, width: u32) -> Expr<'b> {
            let (value, lane) = (value.id(self), lane.id(self));
            self.at();
            // SAFETY: a live builder and ids of it; so below.
            Expr::new(self, unsafe { sys::tilert_builder_shuffle(self.raw(), sys::$kind, value, lane, width) })
        }
    )* };
}
macro_rules! votes {
    ($($(#[$about:meta])* $name:ident = $kind:ident;)*) => { $(
        $(#[$about])*
        #[track_caller]
        pub fn $name(self, predicate: impl Value<'b>) -> Expr<'b> {
            let predicate = predicate.id(self);
            self.at();
            Expr::new(self, unsafe { sys::tilert_builder_vote(self.raw(), sys::$kind, predicate) })
        }
    )* };
}

impl<'b> Builder<'b> {
    /// The closure's statements for each of the threads that [`Hints::threads_fixed`](super::Hints::threads_fixed) gave.
    #[track_caller]
    pub fn threads(self, f: impl FnOnce(Expr<'b>)) {
        self.at();
        let mut thread = NO_EXPR;
        unsafe { sys::tilert_builder_begin_threads(self.raw(), &mut thread) };
        f(Expr::new(self, thread));
        unsafe { sys::tilert_builder_end_threads(self.raw()) };
    }

    /// The number of the thread, inside [`threads`](Builder::threads).
    #[track_caller]
    pub fn thread_id(self) -> Expr<'b> {
        self.at();
        Expr::new(self, unsafe { sys::tilert_builder_thread_id(self.raw()) })
    }

    shuffles! {
        /// `value` of lane `lane` modulo `width` (0: 32) of the same group.
        shuffle = TILERT_SHUFFLE_INDEX;
        /// Of the thread `lane` lanes below.
        shuffle_up = TILERT_SHUFFLE_UP;
        /// Of the thread `lane` lanes above.
        shuffle_down = TILERT_SHUFFLE_DOWN;
        /// Of the own lane ^ `lane`.
        shuffle_xor = TILERT_SHUFFLE_XOR;
    }
    votes! {
        /// Whether it holds in all threads of the warp.
        vote_all = TILERT_VOTE_ALL;
        /// Whether it holds in any thread of the warp.
        vote_any = TILERT_VOTE_ANY;
        /// A bit for each lane, as a uint32.
        ballot = TILERT_VOTE_BALLOT;
    }

    /// Waits for all threads of the block.
    #[track_caller]
    pub fn sync_threads(self) {
        self.named_barrier(0, 0);
    }

    /// Waits for the `threads` threads that come to barrier 1 to 15.
    #[track_caller]
    pub fn named_barrier(self, barrier: u32, threads: u32) {
        self.at();
        unsafe { sys::tilert_builder_sync_threads(self.raw(), barrier, threads) };
    }

    /// What the thread wrote before is seen no later than what it writes after.
    #[track_caller]
    pub fn fence(self, scope: OrderScope) {
        self.at();
        unsafe { sys::tilert_builder_fence(self.raw(), scope as i32) };
    }

    /// Starts a copy of `count` elements from an element of a parameter on to one of a shared tile.
    #[track_caller]
    pub fn copy_async(self, source: impl AsRegion<'b>, destination: impl AsRegion<'b>, count: u32) {
        let (from, to) = (source.region(), destination.region());
        self.at();
        unsafe { sys::tilert_builder_copy_async(self.raw(), &from.raw(), &to.raw(), count) };
    }

    /// Makes a group of the thread's copies since the last one.
    #[track_caller]
    pub fn commit_copies(self) {
        self.at();
        unsafe { sys::tilert_builder_commit_copies(self.raw()) };
    }

    /// Waits until at most `pending` of the newest groups are under way.
    #[track_caller]
    pub fn wait_copies(self, pending: u32) {
        self.at();
        unsafe { sys::tilert_builder_wait_copies(self.raw(), pending) };
    }
}
