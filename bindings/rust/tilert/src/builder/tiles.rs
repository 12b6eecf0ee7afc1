//! Operations on tiles: copies, products, reductions, scans, sorting, combinations, gather and scatter.

use tilert_sys as sys;

use super::{
    list, AsRegion, Atomic, Builder, CopyOptions, Expr, GemmOptions, Indices, Reduce, Region, Scan, Value, NO_EXPR,
};

/// The ends of a combination by an operation of one's own.
#[derive(Clone, Copy)]
enum Combining {
    Reduce { accumulate: bool },
    Scan(Scan),
}

impl<'b> Builder<'b> {
    /// Copies, casting where dtypes differ; what lies outside a parameter reads 0 and is not written.
    #[track_caller]
    pub fn copy(self, source: impl AsRegion<'b>, destination: impl AsRegion<'b>) {
        self.copy_with(source, destination, CopyOptions::new(self));
    }

    /// The same with options.
    #[track_caller]
    pub fn copy_with(self, source: impl AsRegion<'b>, destination: impl AsRegion<'b>, options: CopyOptions<'b>) {
        let (from, to) = (source.region(), destination.region());
        self.at();
        let raw = sys::tilert_copy_options {
            valid: list(&options.valid),
            valid_count: options.valid.len() as u32,
            ..options.raw
        };
        // SAFETY: a live builder; regions and lists that live through the call, which copies them. So below.
        unsafe { sys::tilert_builder_copy(self.raw(), &from.raw(), &to.raw(), &raw) };
    }

    /// Sets each element to a value.
    #[track_caller]
    pub fn fill(self, destination: impl AsRegion<'b>, value: impl Value<'b>) {
        let (to, value) = (destination.region(), value.id(self));
        self.at();
        unsafe { sys::tilert_builder_fill(self.raw(), &to.raw(), value) };
    }

    /// Sets each element to 0.
    #[track_caller]
    pub fn clear(self, destination: impl AsRegion<'b>) {
        let to = destination.region();
        self.at();
        unsafe { sys::tilert_builder_clear(self.raw(), &to.raw()) };
    }

    /// C += A * B.
    #[track_caller]
    pub fn gemm(self, a: impl AsRegion<'b>, b: impl AsRegion<'b>, c: impl AsRegion<'b>) {
        self.gemm_with(a, b, c, GemmOptions::new());
    }

    /// The same with options: transposed operands, overwriting, sparse or scaled products.
    #[track_caller]
    pub fn gemm_with(self, a: impl AsRegion<'b>, b: impl AsRegion<'b>, c: impl AsRegion<'b>, options: GemmOptions<'b>) {
        let (a, b, c) = (a.region(), b.region(), c.region());
        self.at();
        let metadata = options.metadata.as_ref().map(Region::raw);
        let (a_scale, b_scale) = (options.a_scale.as_ref().map(Region::raw), options.b_scale.as_ref().map(Region::raw));
        let raw = sys::tilert_gemm_options {
            flags: options.flags,
            warp_split: options.split,
            accumulate: options.accumulate,
            metadata: optional(&metadata),
            a_scale: optional(&a_scale),
            b_scale: optional(&b_scale),
            ..Default::default()
        };
        unsafe { sys::tilert_builder_gemm(self.raw(), &a.raw(), &b.raw(), &c.raw(), &raw) };
    }

    /// Reduces `source` along `dim`.
    #[track_caller]
    pub fn reduce(self, op: Reduce, source: impl AsRegion<'b>, destination: impl AsRegion<'b>, dim: u32) {
        self.reduction(op, source.region(), destination.region(), dim, 0);
    }

    /// The same, where the destination's old value counts once.
    #[track_caller]
    pub fn reduce_onto(self, op: Reduce, source: impl AsRegion<'b>, destination: impl AsRegion<'b>, dim: u32) {
        self.reduction(op, source.region(), destination.region(), dim, sys::TILERT_REDUCE_ACCUMULATE);
    }

    #[track_caller]
    fn reduction(self, op: Reduce, from: Region<'b>, to: Region<'b>, dim: u32, flags: u32) {
        self.at();
        let raw = sys::tilert_reduce_options { flags, ..Default::default() };
        unsafe { sys::tilert_builder_reduce(self.raw(), op as i32, &from.raw(), &to.raw(), dim, &raw) };
    }

    /// Beginnings combined along `dim`.
    #[track_caller]
    pub fn scan(self, op: Reduce, source: impl AsRegion<'b>, destination: impl AsRegion<'b>, dim: u32, form: Scan) {
        let (from, to) = (source.region(), destination.region());
        self.at();
        let raw = sys::tilert_scan_options { flags: form.0, ..Default::default() };
        unsafe { sys::tilert_builder_scan(self.raw(), op as i32, &from.raw(), &to.raw(), dim, &raw) };
    }

    /// In order along `dim`, the least first, as many as the destination has there. `places`: where they stood.
    #[track_caller]
    pub fn sort(self, source: impl AsRegion<'b>, destination: impl AsRegion<'b>, places: Option<Region<'b>>, dim: u32) {
        self.order(source.region(), destination.region(), places, dim, 0);
    }

    /// The greatest first.
    #[track_caller]
    pub fn sort_descending(
        self,
        source: impl AsRegion<'b>,
        destination: impl AsRegion<'b>,
        places: Option<Region<'b>>,
        dim: u32,
    ) {
        self.order(source.region(), destination.region(), places, dim, sys::TILERT_SORT_DESCENDING);
    }

    /// The greatest elements along `dim`, as many as the destination has there, and where they stood.
    #[track_caller]
    pub fn top_k(self, source: impl AsRegion<'b>, destination: impl AsRegion<'b>, places: impl AsRegion<'b>, dim: u32) {
        let places = Some(places.region());
        self.order(source.region(), destination.region(), places, dim, sys::TILERT_SORT_DESCENDING);
    }

    #[track_caller]
    fn order(self, from: Region<'b>, to: Region<'b>, places: Option<Region<'b>>, dim: u32, flags: u32) {
        self.at();
        let raw = sys::tilert_sort_options { flags, ..Default::default() };
        let stood = places.as_ref().map(Region::raw);
        unsafe { sys::tilert_builder_sort(self.raw(), &from.raw(), &to.raw(), optional(&stood), dim, &raw) };
    }

    /// A reduction by an operation of one's own over tuples of `N` components: `f(left, right)` gives the tuple that two
    /// make. `identities` change nothing.
    #[track_caller]
    pub fn combine<const N: usize, S, D, I, R>(
        self,
        sources: [S; N],
        destinations: [D; N],
        dim: u32,
        identities: [I; N],
        f: impl FnOnce([Expr<'b>; N], [Expr<'b>; N]) -> [R; N],
    ) where
        S: AsRegion<'b>,
        D: AsRegion<'b>,
        I: Value<'b>,
        R: Value<'b>,
    {
        self.combination(sources, destinations, dim, identities, Combining::Reduce { accumulate: false }, f);
    }

    /// The same, where the destinations' old values come first, once.
    #[track_caller]
    pub fn combine_onto<const N: usize, S, D, I, R>(
        self,
        sources: [S; N],
        destinations: [D; N],
        dim: u32,
        identities: [I; N],
        f: impl FnOnce([Expr<'b>; N], [Expr<'b>; N]) -> [R; N],
    ) where
        S: AsRegion<'b>,
        D: AsRegion<'b>,
        I: Value<'b>,
        R: Value<'b>,
    {
        self.combination(sources, destinations, dim, identities, Combining::Reduce { accumulate: true }, f);
    }

    /// The same as a scan.
    #[track_caller]
    pub fn combine_scan<const N: usize, S, D, I, R>(
        self,
        sources: [S; N],
        destinations: [D; N],
        dim: u32,
        identities: [I; N],
        form: Scan,
        f: impl FnOnce([Expr<'b>; N], [Expr<'b>; N]) -> [R; N],
    ) where
        S: AsRegion<'b>,
        D: AsRegion<'b>,
        I: Value<'b>,
        R: Value<'b>,
    {
        self.combination(sources, destinations, dim, identities, Combining::Scan(form), f);
    }

    #[track_caller]
    fn combination<const N: usize, S, D, I, R>(
        self,
        sources: [S; N],
        destinations: [D; N],
        dim: u32,
        identities: [I; N],
        form: Combining,
        f: impl FnOnce([Expr<'b>; N], [Expr<'b>; N]) -> [R; N],
    ) where
        S: AsRegion<'b>,
        D: AsRegion<'b>,
        I: Value<'b>,
        R: Value<'b>,
    {
        let (from, to) = (sources.map(AsRegion::region), destinations.map(AsRegion::region));
        let starts = identities.map(|value| value.id(self));
        self.at();
        let inputs: Vec<sys::tilert_region> = from.iter().map(Region::raw).collect();
        let outputs: Vec<sys::tilert_region> = to.iter().map(Region::raw).collect();
        let raw = sys::tilert_combine {
            count: N as u32,
            sources: list(&inputs),
            destinations: list(&outputs),
            identities: list(&starts),
            dim,
            flags: combine_flags(form),
            ..Default::default()
        };
        let (mut left, mut right) = (vec![NO_EXPR; N.max(8)], vec![NO_EXPR; N.max(8)]);
        // SAFETY: room for the values of as many components as there can be.
        unsafe {
            sys::tilert_builder_begin_combine(self.raw(), &raw, left.as_mut_ptr(), right.as_mut_ptr());
        }
        let made = f(Indices::made(self, &left), Indices::made(self, &right)).map(|value| value.id(self));
        unsafe { sys::tilert_builder_end_combine(self.raw(), list(&made), N as u32) };
    }

    /// The table's dim `dim` replaced by the dims of the indices; one that is out of range gives 0.
    #[track_caller]
    pub fn gather(
        self,
        table: impl AsRegion<'b>,
        indices: impl AsRegion<'b>,
        destination: impl AsRegion<'b>,
        dim: u32,
    ) {
        let (from, places, to) = (table.region(), indices.region(), destination.region());
        self.at();
        unsafe { sys::tilert_builder_gather(self.raw(), &from.raw(), &places.raw(), &to.raw(), dim) };
    }

    /// Stores where the indices say, or combines with what is there; an index out of range is dropped.
    #[track_caller]
    pub fn scatter(
        self,
        source: impl AsRegion<'b>,
        indices: impl AsRegion<'b>,
        destination: impl AsRegion<'b>,
        dim: u32,
        op: Option<Atomic>,
    ) {
        let (from, places, to) = (source.region(), indices.region(), destination.region());
        self.at();
        let raw = sys::tilert_scatter_options { op: op.map_or(0, |op| op as i32), ..Default::default() };
        unsafe { sys::tilert_builder_scatter(self.raw(), &from.raw(), &places.raw(), &to.raw(), dim, &raw) };
    }

    /// A copy whose dims change places: dim d of the destination is dim `order[d]`; of none the two last do.
    #[track_caller]
    pub fn transpose(self, source: impl AsRegion<'b>, destination: impl AsRegion<'b>, order: &[u32]) {
        let (from, to) = (source.region(), destination.region());
        self.at();
        unsafe { sys::tilert_builder_transpose(self.raw(), &from.raw(), &to.raw(), list(order), order.len() as u32) };
    }
}

pub(crate) fn optional<T>(value: &Option<T>) -> *const T {
    value.as_ref().map_or(std::ptr::null(), |value| value as *const T)
}

fn combine_flags(form: Combining) -> u32 {
    match form {
        Combining::Reduce { accumulate: false } => 0,
        Combining::Reduce { accumulate: true } => sys::TILERT_COMBINE_ACCUMULATE,
        Combining::Scan(form) => {
            let mut flags = sys::TILERT_COMBINE_SCAN;
            if form.0 & sys::TILERT_SCAN_REVERSE != 0 {
                flags |= sys::TILERT_COMBINE_REVERSE;
            }
            if form.0 & sys::TILERT_SCAN_EXCLUSIVE != 0 {
                flags |= sys::TILERT_COMBINE_EXCLUSIVE;
            }
            flags
        }
    }
}
