//! Options of operations on tiles. All start as the default; what is set is said by a method.

use tilert_sys as sys;

use super::{AsRegion, Builder, Region, Value, Values, NO_EXPR};

/// How a copy is asked to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum CopyPrefer {
    /// As recommended.
    Auto = sys::TILERT_COPY_AUTO,
    /// By the engine for boxes of tensors.
    Tma = sys::TILERT_COPY_TMA,
    /// Asynchronously, by threads.
    Async = sys::TILERT_COPY_ASYNC,
    /// By loads and stores.
    Sync = sys::TILERT_COPY_SYNC,
}

/// Of a copy. Values are the builder's: `CopyOptions::new(b).valid((m, k)).safe(-1)`.
#[derive(Clone)]
pub struct CopyOptions<'b> {
    builder: Builder<'b>,
    pub(crate) valid: Vec<sys::tilert_expr>,
    pub(crate) raw: sys::tilert_copy_options,
}

impl<'b> CopyOptions<'b> {
    /// None set.
    pub fn new(builder: Builder<'b>) -> Self {
        CopyOptions { builder, valid: Vec::new(), raw: Default::default() }
    }
    /// Where the parameter's side ends, in its coordinates, instead of its shape.
    #[track_caller]
    pub fn valid(mut self, ends: impl Values<'b>) -> Self {
        self.valid = ends.ids(self.builder);
        self
    }
    /// What is read outside; else 0.
    #[track_caller]
    pub fn safe(mut self, value: impl Value<'b>) -> Self {
        self.raw.safe_value = value.id(self.builder);
        self
    }
    /// The engine.
    pub fn prefer(mut self, engine: CopyPrefer) -> Self {
        self.raw.prefer = engine as i32;
        self
    }
    /// What is preferred and not taken is an error that says why.
    pub fn must(mut self) -> Self {
        self.raw.flags |= sys::TILERT_COPY_MUST;
        self
    }
    /// Priority in caches: 1 leaves first, 2 last.
    pub fn eviction(mut self, priority: u32) -> Self {
        self.raw.eviction = priority;
        self
    }
    /// One block of a cluster brings its part of the tile to all.
    pub fn multicast(mut self) -> Self {
        self.raw.multicast = 1;
        self
    }
}

/// How the warps of a product share its tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum WarpSplit {
    /// As recommended.
    Auto = sys::TILERT_SPLIT_AUTO,
    /// By rows.
    Rows = sys::TILERT_SPLIT_ROWS,
    /// By columns.
    Columns = sys::TILERT_SPLIT_COLUMNS,
    /// By both.
    Square = sys::TILERT_SPLIT_SQUARE,
}

/// Of a product: `GemmOptions::new().trans_b().scaled(of_a, of_b)`.
#[derive(Clone, Default)]
pub struct GemmOptions<'b> {
    pub(crate) flags: u32,
    pub(crate) split: i32,
    pub(crate) accumulate: sys::tilert_expr,
    pub(crate) metadata: Option<Region<'b>>,
    pub(crate) a_scale: Option<Region<'b>>,
    pub(crate) b_scale: Option<Region<'b>>,
}

impl<'b> GemmOptions<'b> {
    /// None set: C += A * B.
    pub fn new() -> Self {
        GemmOptions { accumulate: NO_EXPR, ..Default::default() }
    }
    /// A is K x M.
    pub fn trans_a(self) -> Self {
        self.flag(sys::TILERT_GEMM_TRANS_A)
    }
    /// B is N x K.
    pub fn trans_b(self) -> Self {
        self.flag(sys::TILERT_GEMM_TRANS_B)
    }
    /// C = A * B: C is not read.
    pub fn overwrite(self) -> Self {
        self.flag(sys::TILERT_GEMM_OVERWRITE)
    }
    /// f32 operands are rounded to tf32 on the way in.
    pub fn tf32(self) -> Self {
        self.flag(sys::TILERT_GEMM_TF32)
    }
    /// Started only: see [`Builder::commit_products`].
    pub fn issue(self) -> Self {
        self.flag(sys::TILERT_GEMM_ISSUE)
    }
    /// The scales of A are [blocks of K, blocks of M].
    pub fn trans_a_scale(self) -> Self {
        self.flag(sys::TILERT_GEMM_TRANS_A_SCALE)
    }
    /// The scales of B are [blocks of N, blocks of K].
    pub fn trans_b_scale(self) -> Self {
        self.flag(sys::TILERT_GEMM_TRANS_B_SCALE)
    }
    /// A bool, uniform over the block: false overwrites.
    #[track_caller]
    pub fn accumulate_if(mut self, builder: Builder<'b>, condition: impl Value<'b>) -> Self {
        self.accumulate = condition.id(builder);
        self
    }
    /// How warps share the tile.
    pub fn warps(mut self, split: WarpSplit) -> Self {
        self.split = split as i32;
        self
    }
    /// A keeps two of each four elements along K; `places` says which.
    #[track_caller]
    pub fn sparse(mut self, places: impl AsRegion<'b>) -> Self {
        self.metadata = Some(places.region());
        self
    }
    /// Sums of blocks of K times the blocks' scales.
    #[track_caller]
    pub fn scaled(self, a: impl AsRegion<'b>, b: impl AsRegion<'b>) -> Self {
        self.scaled_a(a).scaled_b(b)
    }
    /// Scales of A alone.
    #[track_caller]
    pub fn scaled_a(mut self, scales: impl AsRegion<'b>) -> Self {
        self.a_scale = Some(scales.region());
        self
    }
    /// Scales of B alone.
    #[track_caller]
    pub fn scaled_b(mut self, scales: impl AsRegion<'b>) -> Self {
        self.b_scale = Some(scales.region());
        self
    }

    fn flag(mut self, flag: u32) -> Self {
        self.flags |= flag;
        self
    }
}

/// What combines the elements of a reduction, a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Reduce {
    /// The sum.
    Sum = sys::TILERT_REDUCE_SUM,
    /// The greatest; numbers win over NaN.
    Max = sys::TILERT_REDUCE_MAX,
    /// The least; numbers win over NaN.
    Min = sys::TILERT_REDUCE_MIN,
    /// The greatest magnitude.
    AbsMax = sys::TILERT_REDUCE_ABSMAX,
    /// The sum of magnitudes.
    AbsSum = sys::TILERT_REDUCE_ABSSUM,
    /// The product.
    Prod = sys::TILERT_REDUCE_PROD,
    /// Bits or truth.
    And = sys::TILERT_REDUCE_AND,
    /// Bits or truth.
    Or = sys::TILERT_REDUCE_OR,
    /// Bits or truth.
    Xor = sys::TILERT_REDUCE_XOR,
    /// The place of the first that is greatest.
    ArgMax = sys::TILERT_REDUCE_ARGMAX,
    /// The place of the first that is least.
    ArgMin = sys::TILERT_REDUCE_ARGMIN,
    /// The greatest; NaN propagates.
    MaxNan = sys::TILERT_REDUCE_MAX_NAN,
    /// The least; NaN propagates.
    MinNan = sys::TILERT_REDUCE_MIN_NAN,
}

/// Of a scan: which end it starts at, and whether an element counts for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scan(pub(crate) u32);

impl Scan {
    /// From the beginning, each element included.
    pub fn new() -> Self {
        Self::default()
    }
    /// Starts at the end.
    pub fn reverse(self) -> Self {
        Scan(self.0 | sys::TILERT_SCAN_REVERSE)
    }
    /// Leaves the element itself out.
    pub fn exclusive(self) -> Self {
        Scan(self.0 | sys::TILERT_SCAN_EXCLUSIVE)
    }
}
