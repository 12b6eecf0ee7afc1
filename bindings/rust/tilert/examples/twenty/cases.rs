//! How each program is run.

use crate::{elements, products, rows};
use tilert::{Argument, Program, Result};

/// Dims by name.
pub type Sizes = &'static [(&'static str, i64)];

/// A tensor of the run: shape, and strides where it is not contiguous.
pub type Tensor = (&'static [usize], &'static [usize]);

/// One program and its run.
pub struct Case {
    pub name: &'static str,
    pub build: fn() -> Result<Program>,
    /// Dims that have their value when compiled.
    pub bound: Sizes,
    /// Dims of the launch.
    pub dims: Sizes,
    /// In the order of the tensor parameters.
    pub tensors: &'static [Tensor],
    /// The scalar parameter.
    pub scalar: Option<fn() -> Argument<'static>>,
}

macro_rules! case {
    ($room:ident::$name:ident, [$($b:ident $bv:expr),*], [$($d:ident $dv:expr),*], [$($shape:tt $(/ $strides:tt)?),*] $(, $scalar:expr)?) => {
        Case {
            name: stringify!($name),
            build: $room::$name,
            bound: &[$((stringify!($b), $bv)),*],
            dims: &[$((stringify!($d), $dv)),*],
            tensors: &[$((&$shape, case!(@strides $($strides)?))),*],
            scalar: case!(@scalar $($scalar)?),
        }
    };
    (@strides) => { &[] };
    (@strides $strides:tt) => { &$strides };
    (@scalar) => { None };
    (@scalar $scalar:expr) => { Some(|| Argument::scalar($scalar)) };
}

#[rustfmt::skip]
pub const ALL: &[Case] = &[
    case!(products::gemm_bias_gelu, [N 96, K 80], [M 100], [[100, 80], [80, 96], [96], [100, 96]]),
    case!(rows::scale, [], [N 1000], [[1000], [1000]], 2.5f32),
    case!(rows::softmax, [], [R 37], [[37, 100], [37, 100]]),
    case!(rows::rmsnorm, [], [T 9], [[9, 256], [256], [9, 256]], 0.0009765625f32),
    case!(rows::transposed, [N 70], [M 50], [[50, 70], [70, 50]]),
    case!(elements::histogram, [], [N 1000], [[1000], [16], [1], [16]]),
    case!(rows::strided_copy, [N 100, S 112], [M 70], [[70, 100] / [112, 1], [70, 100]], 90i32),
    case!(products::gemm_int8, [N 64, K 96], [M 70], [[70, 96], [64, 96], [64], [70, 64]]),
    case!(products::gemm_scaled, [N 64, K 96, NB 2, KB 3], [M 70], [[70, 96], [64, 96], [70, 3], [2, 3], [70, 64]]),
    case!(products::gemm_sparse, [], [], [[16, 32], [64, 8], [16, 4], [16, 8]]),
    case!(rows::embed, [], [T 40, V 6], [[6, 32], [40], [40, 32], [6, 32]]),
    case!(elements::branches, [], [B 5], [[5, 64], [5, 64], [5], [2], [5]]),
    case!(elements::casts, [], [N 100], [[100], [100], [100], [100], [100], [100], [100], [100], [100]], 42i64),
    case!(rows::ranked, [], [R 7], [[7, 48], [7, 8], [7, 48], [7, 8], [7], [7]]),
    case!(products::experts, [N 64, K 64], [T 50, R 4, E 3], [[50, 64], [3, 64, 64], [4], [3], [1], [50, 64]]),
    case!(elements::leaky, [], [R 6], [[6, 16], [6, 16], [6], [6]]),
    case!(elements::checked, [], [], [[64], [64]]),
    case!(elements::warp_sums, [], [R 5], [[5, 200], [5], [5]]),
    case!(elements::unpacked, [M 20], [], [[20, 48], [20], [20, 3, 16], [20, 24], [48, 20]]),
    case!(products::hand_gemm, [N 72, K 104], [M 150], [[150, 104], [72, 104], [150, 72]]),
];
