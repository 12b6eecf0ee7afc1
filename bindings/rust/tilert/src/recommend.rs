//! How a matrix product should be computed, by the cost model.

use tilert_sys as sys;

use crate::device::DeviceClass;
use crate::dtype::DType;
use crate::error::{check, optional_c_string, pointer_of, Result};

/// A matrix product, `C[m, n] = A[m, k] B[k, n]`, of which a choice is asked.
#[derive(Clone, Debug)]
pub struct Product {
    /// Rows of C.
    pub m: i64,
    /// Columns of C.
    pub n: i64,
    /// What is summed over.
    pub k: i64,
    /// Elements of A.
    pub a: DType,
    /// Elements of B.
    pub b: DType,
    /// Elements of C.
    pub c: DType,
    /// In which products are summed; none: f32 of floats (f64 of f64), int32 of integers.
    pub accumulator: Option<DType>,
    /// A is stored as [k, m].
    pub trans_a: bool,
    /// B is stored as [n, k].
    pub trans_b: bool,
    /// f32 operands enter as tf32.
    pub tf32: bool,
    /// Only candidates that give an element the same bits, whatever m is.
    pub fixed_order: bool,
    /// From row to row of A, as stored, in elements; 0: contiguous.
    pub lda: i64,
    /// Of B.
    pub ldb: i64,
    /// Of C.
    pub ldc: i64,
    /// Read beside A and B to make all of C.
    pub epilogue_bytes: u64,
    /// None: "sm_90a".
    pub target: Option<String>,
    /// None: the target's default.
    pub device_class: Option<DeviceClass>,
}

impl Product {
    /// One of matrices of one element type, contiguous.
    pub fn new(m: i64, n: i64, k: i64, dtype: DType) -> Product {
        Product {
            m,
            n,
            k,
            a: dtype,
            b: dtype,
            c: dtype,
            accumulator: None,
            trans_a: false,
            trans_b: false,
            tf32: false,
            fixed_order: false,
            lda: 0,
            ldb: 0,
            ldc: 0,
            epilogue_bytes: 0,
            target: None,
            device_class: None,
        }
    }
}

/// How products are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProductPath {
    /// A producer of tensor copies and consumer warpgroups.
    Warpgroup,
    /// Instructions of one warp, or multiply-adds.
    Warp,
    /// Few rows of A: each row of B is read once and reduced by a warp.
    Vector,
}

/// What most of a predicted time goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// The product's own instructions.
    Tensor,
    /// Operands in shared memory.
    Shared,
    /// What one multiprocessor takes in.
    Feed,
    /// The second-level cache.
    L2,
    /// Bytes of device memory.
    Memory,
    /// Starting, filling and draining.
    Latency,
}

/// One way to compute a product: what a tile program of it says in its tiles, its hints and its loop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // as tilert_product_choice documents them
pub struct ProductChoice {
    pub path: ProductPath,
    pub tile_m: u32,
    pub tile_n: u32,
    pub tile_k: u32,
    pub consumers: u32,
    pub threads: u32,
    pub stages: u32,
    pub cluster: u32,
    pub split_k: u32,
    pub raster: u32,
    pub swapped: bool,
    pub persistent: bool,
    pub bound: Bound,
    pub shared_bytes: u32,
    pub predicted_nanoseconds: u64,
}

fn choice(raw: &sys::tilert_product_choice) -> ProductChoice {
    ProductChoice {
        path: match raw.path {
            sys::TILERT_PATH_WARPGROUP => ProductPath::Warpgroup,
            sys::TILERT_PATH_VECTOR => ProductPath::Vector,
            _ => ProductPath::Warp,
        },
        tile_m: raw.tile_m,
        tile_n: raw.tile_n,
        tile_k: raw.tile_k,
        consumers: raw.consumers,
        threads: raw.threads,
        stages: raw.stages,
        cluster: raw.cluster,
        split_k: raw.split_k,
        raster: raw.raster,
        swapped: raw.flags & sys::TILERT_CHOICE_SWAPPED != 0,
        persistent: raw.flags & sys::TILERT_CHOICE_PERSISTENT != 0,
        bound: match raw.bound {
            sys::TILERT_BOUND_TENSOR => Bound::Tensor,
            sys::TILERT_BOUND_SHARED => Bound::Shared,
            sys::TILERT_BOUND_FEED => Bound::Feed,
            sys::TILERT_BOUND_L2 => Bound::L2,
            sys::TILERT_BOUND_MEMORY => Bound::Memory,
            _ => Bound::Latency,
        },
        shared_bytes: raw.shared_bytes,
        predicted_nanoseconds: raw.predicted,
    }
}

/// The best candidates, at most `most`, the fastest as predicted first. The same question has the same answer everywhere.
pub fn recommend_product(product: &Product, most: usize) -> Result<Vec<ProductChoice>> {
    let target = optional_c_string(product.target.as_deref(), "the target")?;
    let class = product.device_class.map(|class| class.raw());
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    let raw = sys::tilert_product {
        flags: flag(product.trans_a, sys::TILERT_PRODUCT_TRANS_A)
            | flag(product.trans_b, sys::TILERT_PRODUCT_TRANS_B)
            | flag(product.tf32, sys::TILERT_PRODUCT_TF32)
            | flag(product.fixed_order, sys::TILERT_PRODUCT_FIXED_ORDER),
        m: product.m,
        n: product.n,
        k: product.k,
        a: product.a as i32,
        b: product.b as i32,
        c: product.c as i32,
        accumulator: product.accumulator.map_or(0, |dtype| dtype as i32),
        lda: product.lda,
        ldb: product.ldb,
        ldc: product.ldc,
        epilogue_bytes: product.epilogue_bytes,
        target: pointer_of(&target),
        device_class: class.as_ref().map_or(std::ptr::null(), |class| class as *const _),
        ..Default::default()
    };
    let call = |choices: *mut sys::tilert_product_choice, count: &mut u32| {
        let mut error = std::ptr::null_mut();
        // SAFETY: `count` choices, each as large as the first says, or NULL.
        let status = unsafe { sys::tilert_recommend_product(&raw, choices, count, &mut error) };
        check(status, error)
    };
    let mut count = 0;
    call(std::ptr::null_mut(), &mut count)?;
    let mut choices = vec![sys::tilert_product_choice::default(); most.min(count as usize)];
    if choices.is_empty() {
        return Ok(Vec::new());
    }
    count = choices.len() as u32;
    call(choices.as_mut_ptr(), &mut count)?;
    Ok(choices[..count as usize].iter().map(choice).collect())
}
