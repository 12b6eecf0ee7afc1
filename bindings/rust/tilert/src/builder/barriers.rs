//! Barriers that count phases, copies of boxes of tensors, products that are waited for, warps with bodies of their own.

use tilert_sys as sys;

use super::{pointer, AsRegion, Builder, Tile, Value};

/// How far the stores that are waited for have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum StoresState {
    /// In memory: the block may read them there.
    Written = sys::TILERT_STORES_WRITTEN,
    /// Read from their tiles, which may be written again.
    Read = sys::TILERT_STORES_READ,
}

/// The bodies of [`Builder::roles`].
pub struct Roles<'b>(Builder<'b>);

impl<'b> Roles<'b> {
    /// One that issues: one thread that waits, arrives, loads and stores. One to four, before the work.
    #[track_caller]
    pub fn issue(&self, body: impl FnOnce()) {
        self.role(sys::TILERT_ROLE_ISSUE, body);
    }

    /// The one that works: the kernel's threads. Last.
    #[track_caller]
    pub fn work(&self, body: impl FnOnce()) {
        self.role(sys::TILERT_ROLE_WORK, body);
    }

    #[track_caller]
    fn role(&self, kind: sys::tilert_role, body: impl FnOnce()) {
        self.0.at();
        // SAFETY: a live builder; so below.
        unsafe { sys::tilert_builder_begin_role(self.0.raw(), kind) };
        body();
        unsafe { sys::tilert_builder_end_role(self.0.raw()) };
    }
}

impl<'b> Builder<'b> {
    /// `count` barriers in a row, each of which takes `arrivals` arrivals; `full.at(slot)` names one of them.
    #[track_caller]
    pub fn barriers(self, count: u32, arrivals: u32) -> Tile<'b> {
        let name = self.take_name();
        self.at();
        let raw = sys::tilert_buffer_options { name: pointer(&name), ..Default::default() };
        Tile::of_buffer(self, unsafe { sys::tilert_builder_barriers(self.raw(), count, arrivals, &raw) })
    }

    /// One arrival.
    #[track_caller]
    pub fn arrive(self, barrier: impl AsRegion<'b>) {
        let on = barrier.region();
        self.at();
        unsafe { sys::tilert_builder_arrive(self.raw(), &on.raw()) };
    }

    /// Arrives, and announces bytes that tensor copies bring.
    #[track_caller]
    pub fn arrive_expect(self, barrier: impl AsRegion<'b>, bytes: u32) {
        let on = barrier.region();
        self.at();
        unsafe { sys::tilert_builder_arrive_expect(self.raw(), &on.raw(), bytes) };
    }

    /// Until the phase of this parity has completed: 0 is the first, -1 is always past.
    #[track_caller]
    pub fn wait_barrier(self, barrier: impl AsRegion<'b>, phase: impl Value<'b>) {
        let (on, phase) = (barrier.region(), phase.id(self));
        self.at();
        unsafe { sys::tilert_builder_wait_barrier(self.raw(), &on.raw(), phase) };
    }

    /// A box of a matrix to a shared tile; its bytes come to the barrier's phase.
    #[track_caller]
    pub fn load_tensor(self, source: impl AsRegion<'b>, destination: impl AsRegion<'b>, barrier: impl AsRegion<'b>) {
        let (from, to, on) = (source.region(), destination.region(), barrier.region());
        self.at();
        unsafe { sys::tilert_builder_load_tensor(self.raw(), &from.raw(), &to.raw(), &on.raw()) };
    }

    /// A shared tile to a box of a matrix.
    #[track_caller]
    pub fn store_tensor(self, source: impl AsRegion<'b>, destination: impl AsRegion<'b>) {
        let (from, to) = (source.region(), destination.region());
        self.at();
        unsafe { sys::tilert_builder_store_tensor(self.raw(), &from.raw(), &to.raw()) };
    }

    /// Makes a group of the stores since the last one.
    #[track_caller]
    pub fn commit_stores(self) {
        self.at();
        unsafe { sys::tilert_builder_commit_stores(self.raw()) };
    }

    /// Until all but `pending` of the newest groups are so far.
    #[track_caller]
    pub fn wait_stores(self, pending: u32, state: StoresState) {
        self.at();
        unsafe { sys::tilert_builder_wait_stores(self.raw(), pending, state as i32) };
    }

    /// Makes a group of the issued products since the last one.
    #[track_caller]
    pub fn commit_products(self) {
        self.at();
        unsafe { sys::tilert_builder_commit_products(self.raw()) };
    }

    /// Until at most `pending` of the newest groups are under way.
    #[track_caller]
    pub fn wait_products(self, pending: u32) {
        self.at();
        unsafe { sys::tilert_builder_wait_products(self.raw(), pending) };
    }

    /// Warps with bodies of their own: `b.roles(0, 0, |r| { r.issue(|| ...); r.work(|| ...); })`. The numbers are registers
    /// of a thread of an issuer and of a worker, handed over while the roles run; both 0: as compiled.
    #[track_caller]
    pub fn roles(self, issuer_registers: u32, worker_registers: u32, f: impl FnOnce(&Roles<'b>)) {
        self.at();
        let raw = sys::tilert_roles_options { issuer_registers, worker_registers, ..Default::default() };
        unsafe { sys::tilert_builder_begin_roles(self.raw(), &raw) };
        f(&Roles(self));
        unsafe { sys::tilert_builder_end_roles(self.raw()) };
    }
}
