//! Options of declarations and kernels. All start as the default; what is set is said by a method.

use std::ffi::CString;

use tilert_sys as sys;

use super::{Builder, Tile, Values};

/// How a kernel uses a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Access {
    /// Read only.
    In = sys::TILERT_IN,
    /// Written only; elements that the program does not write keep their bytes.
    Out = sys::TILERT_OUT,
    /// Read and written.
    InOut = sys::TILERT_INOUT,
}

/// Where a tile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Scope {
    /// A tile that all threads of the block see.
    Shared = sys::TILERT_SHARED,
    /// A tile spread over the block's registers.
    Fragment = sys::TILERT_FRAGMENT,
    /// Outside `parallel` one value per block, inside private to the iteration.
    Local = sys::TILERT_LOCAL,
}

/// Where the elements of a shared tile shall lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Layout {
    /// As recommended.
    Auto = sys::TILERT_LAYOUT_AUTO,
    /// Row after row.
    RowMajor = sys::TILERT_LAYOUT_ROW_MAJOR,
    /// Rows 16 bytes longer.
    Padded = sys::TILERT_LAYOUT_PADDED,
    /// Rows in pieces of 32 bytes, chunks XORed with the row.
    Swizzle32 = sys::TILERT_LAYOUT_SWIZZLE_32,
    /// The same of 64 bytes.
    Swizzle64 = sys::TILERT_LAYOUT_SWIZZLE_64,
    /// The same of 128 bytes.
    Swizzle128 = sys::TILERT_LAYOUT_SWIZZLE_128,
}

/// Of a dim: buckets, each with a variant of its own, and what every value is a multiple of.
#[derive(Clone, Default)]
pub struct DimOptions {
    pub(crate) buckets: Vec<sys::tilert_bucket>,
    pub(crate) divisible: i64,
}

impl DimOptions {
    /// None set.
    pub fn new() -> Self {
        Self::default()
    }
    /// A bucket of the values from `low` to `high`.
    pub fn range(mut self, low: i64, high: i64) -> Self {
        self.buckets.push(sys::tilert_bucket { kind: sys::TILERT_BUCKET_RANGE, reserved: 0, a: low, b: high });
        self
    }
    /// A bucket of the multiples of `of`.
    pub fn multiple(mut self, of: i64) -> Self {
        self.buckets.push(sys::tilert_bucket { kind: sys::TILERT_BUCKET_DIVISOR, reserved: 0, a: of, b: 0 });
        self
    }
    /// The caller's word that each value is a multiple of this; checked at launch.
    pub fn divisible(mut self, by: i64) -> Self {
        self.divisible = by;
        self
    }
}

/// Of a tensor parameter. Strides are made by the builder: `TensorOptions::new().strides(b, (k, 1))`.
#[derive(Clone, Default)]
pub struct TensorOptions {
    pub(crate) strides: Vec<sys::tilert_expr>,
    pub(crate) alignment: u32,
    pub(crate) flags: u32,
}

impl TensorOptions {
    /// None set: row-major, contiguous, aligned to 16 bytes.
    pub fn new() -> Self {
        Self::default()
    }
    /// In elements, one for each dim; of a pointer table one less.
    #[track_caller]
    pub fn strides<'b>(mut self, builder: Builder<'b>, strides: impl Values<'b>) -> Self {
        self.strides = strides.ids(builder);
        self
    }
    /// Of the first element, in bytes.
    pub fn alignment(mut self, bytes: u32) -> Self {
        self.alignment = bytes;
        self
    }
    /// May overlap other parameters that say so too.
    pub fn may_alias(mut self) -> Self {
        self.flags |= sys::TILERT_TENSOR_MAY_ALIAS;
        self
    }
    /// The shape's first dim counts pointers, each to a tensor of the other dims.
    pub fn pointer_table(mut self) -> Self {
        self.flags |= sys::TILERT_TENSOR_POINTER_TABLE;
        self
    }
}

/// Hints and flags of a kernel: `Hints::new().threads(128).must().min_blocks(2)`. `must` and `for_target` speak of the hint
/// before them.
#[derive(Clone, Default)]
pub struct Hints {
    pub(crate) list: Vec<(sys::tilert_hint, Option<CString>)>,
    pub(crate) flags: u32,
    pub(crate) name: Option<String>,
    pub(crate) tile_count: sys::tilert_tensor,
}

macro_rules! hints {
    ($($(#[$about:meta])* $name:ident = $kind:ident;)*) => { $(
        $(#[$about])*
        pub fn $name(self, value: i64) -> Self {
            self.add(sys::$kind, value)
        }
    )* };
}

impl Hints {
    /// None: all as recommended.
    pub fn new() -> Self {
        Self::default()
    }
    hints! {
        /// Threads of a block.
        threads = TILERT_HINT_THREADS;
        /// The same, fixed, for all targets: makes [`Builder::threads`] available.
        threads_fixed = TILERT_HINT_THREADS_FIXED;
        /// Blocks per multiprocessor.
        min_blocks = TILERT_HINT_MIN_BLOCKS;
        /// Registers of a thread.
        max_registers = TILERT_HINT_MAX_REGISTERS;
        /// Width of the groups of blocks that run together.
        raster = TILERT_HINT_RASTER;
        /// Blocks that share copies.
        cluster = TILERT_HINT_CLUSTER;
        /// Blocks to a tile of a product.
        split_k = TILERT_HINT_SPLIT_K;
        /// Consumer warpgroups of a kernel with roles.
        consumers = TILERT_HINT_CONSUMERS;
    }
    /// Without producer and consumers.
    pub fn roles_off(self) -> Self {
        self.add(sys::TILERT_HINT_ROLES, 1)
    }
    /// With a producer and consumers.
    pub fn roles_on(self) -> Self {
        self.add(sys::TILERT_HINT_ROLES, 2)
    }
    /// May start before the grid in front of it has ended.
    pub fn pdl(self) -> Self {
        self.add(sys::TILERT_HINT_PDL, 1)
    }
    /// The hint before: not taken is an error that says why.
    pub fn must(mut self) -> Self {
        if let Some((hint, _)) = self.list.last_mut() {
            hint.flags |= sys::TILERT_HINT_MUST;
        }
        self
    }
    /// The hint before: only when compiled for this target.
    pub fn for_target(mut self, target: &str) -> Self {
        if let Some((_, named)) = self.list.last_mut() {
            *named = CString::new(target).ok();
        }
        self
    }
    /// Multiply-add is fused only by `fma`.
    pub fn no_contract(self) -> Self {
        self.flag(sys::TILERT_GRID_NO_CONTRACT)
    }
    /// Every value of the kernel as [`Operand::fast`](super::Operand::fast) makes it.
    pub fn fast_math(self) -> Self {
        self.flag(sys::TILERT_GRID_FAST_MATH)
    }
    /// An element's bits depend on the values that enter it alone.
    pub fn fixed_order(self) -> Self {
        self.flag(sys::TILERT_GRID_FIXED_ORDER)
    }
    /// The grid's points are tiles, over which as many blocks loop as fit.
    pub fn persistent(self) -> Self {
        self.flag(sys::TILERT_GRID_PERSISTENT)
    }
    /// The same, over the first tiles only, as many as the parameter's first element says.
    pub fn persistent_of(mut self, count: Tile<'_>) -> Self {
        self.tile_count = count.tensor;
        self.persistent()
    }
    /// The kernel's name; the program's where none is given.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_string());
        self
    }

    fn add(mut self, kind: sys::tilert_hint_kind, value: i64) -> Self {
        self.list.push((sys::tilert_hint { kind, value, ..Default::default() }, None));
        self
    }
    fn flag(mut self, flag: u32) -> Self {
        self.flags |= flag;
        self
    }
}
