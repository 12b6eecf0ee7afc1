//! Element types: those of programs, and the Rust types that hold them in host memory.

use std::ffi::CStr;
use std::fmt;

use tilert_sys as sys;

macro_rules! dtypes {
    ($($name:ident = $raw:ident, $about:literal;)*) => {
        /// The type of an element. `use tilert::DType::*` makes programs short.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum DType {
            $(#[doc = $about] $name = sys::$raw,)*
        }
        const ALL: &[DType] = &[$(DType::$name,)*];
    };
}
dtypes! {
    Bool = TILERT_BOOL, "One byte, 0 or 1.";
    I4 = TILERT_INT4, "4 bits, two in a byte.";
    I8 = TILERT_INT8, "Signed, 8 bits.";
    I16 = TILERT_INT16, "Signed, 16 bits.";
    I32 = TILERT_INT32, "Signed, 32 bits.";
    I64 = TILERT_INT64, "Signed, 64 bits.";
    U4 = TILERT_UINT4, "4 bits, two in a byte.";
    U8 = TILERT_UINT8, "Unsigned, 8 bits.";
    U16 = TILERT_UINT16, "Unsigned, 16 bits.";
    U32 = TILERT_UINT32, "Unsigned, 32 bits.";
    U64 = TILERT_UINT64, "Unsigned, 64 bits.";
    F16 = TILERT_F16, "IEEE half precision.";
    Bf16 = TILERT_BF16, "The upper half of an f32.";
    F32 = TILERT_F32, "IEEE single precision.";
    F64 = TILERT_F64, "IEEE double precision.";
    Tf32 = TILERT_TF32, "A mode of gemm, no element type.";
    E4m3 = TILERT_E4M3, "OCP fp8.";
    E5m2 = TILERT_E5M2, "OCP fp8 with the greater range.";
    E4m3fnuz = TILERT_E4M3FNUZ, "fp8 without negative zero.";
    E5m2fnuz = TILERT_E5M2FNUZ, "fp8 without negative zero.";
    E8m0 = TILERT_E8M0, "Scales: powers of two.";
    E2m3 = TILERT_E2M3, "6 bits, four in three bytes.";
    E3m2 = TILERT_E3M2, "6 bits, four in three bytes.";
    E2m1 = TILERT_E2M1, "4 bits, two in a byte.";
    Nf4 = TILERT_NF4, "4 bits of a table, two in a byte.";
    Index = TILERT_INDEX, "int64 of index arithmetic, no storage type.";
}

impl DType {
    pub(crate) fn of(raw: sys::tilert_dtype) -> Option<DType> {
        ALL.iter().copied().find(|dtype| *dtype as i32 == raw)
    }

    /// Width of one element in bits.
    pub const fn bits(self) -> u32 {
        use DType::*;
        match self {
            I4 | U4 | E2m1 | Nf4 => 4,
            E2m3 | E3m2 => 6,
            Bool | I8 | U8 | E4m3 | E5m2 | E4m3fnuz | E5m2fnuz | E8m0 => 8,
            I16 | U16 | F16 | Bf16 => 16,
            I32 | U32 | F32 | Tf32 => 32,
            I64 | U64 | F64 | Index => 64,
        }
    }

    /// Its spelling in program text, as `"bf16"`.
    pub fn name(self) -> &'static str {
        // SAFETY: static storage, ASCII.
        unsafe { CStr::from_ptr(sys::tilert_dtype_name(self as i32)) }.to_str().unwrap_or("none")
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type whose values are elements as they lie in memory.
///
/// # Safety
/// The type has the size of `DTYPE`; zero and each bit pattern that a kernel stores as `DTYPE` are values of it.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The element type that it is.
    const DTYPE: DType;
    /// The bit pattern, low bits first: how a scalar argument is passed.
    fn bits(self) -> u64;
}

macro_rules! elements {
    ($($name:ty, $dtype:ident, |$x:ident| $bits:expr;)*) => { $(
        // SAFETY: the same width; numbers take each pattern, and kernels store bools as 0 or 1.
        unsafe impl Element for $name {
            const DTYPE: DType = DType::$dtype;
            fn bits(self) -> u64 {
                let $x = self;
                $bits
            }
        }
    )* };
}
elements! {
    bool, Bool, |x| x as u64;
    i8, I8, |x| x as u8 as u64;
    i16, I16, |x| x as u16 as u64;
    i32, I32, |x| x as u32 as u64;
    i64, I64, |x| x as u64;
    u8, U8, |x| x as u64;
    u16, U16, |x| x as u64;
    u32, U32, |x| x as u64;
    u64, U64, |x| x;
    f32, F32, |x| x.to_bits() as u64;
    f64, F64, |x| x.to_bits();
    f16, F16, |x| x.0 as u64;
    bf16, Bf16, |x| x.0 as u64;
}

/// Half precision in host memory: its bits. Arithmetic is done in `f32`.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct f16(pub u16);

/// The upper half of an `f32` in host memory: its bits. Arithmetic is done in `f32`.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct bf16(pub u16);

impl bf16 {
    /// Rounded half to even; a NaN stays one.
    pub fn from_f32(x: f32) -> bf16 {
        let bits = x.to_bits();
        if x.is_nan() {
            return bf16((bits >> 16) as u16 | 0x40);
        }
        bf16(((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16)
    }

    /// Exact.
    pub fn to_f32(self) -> f32 {
        f32::from_bits((self.0 as u32) << 16)
    }
}

impl f16 {
    /// Rounded half to even; beyond 65504 by half a unit or more it is infinite; a NaN stays one.
    pub fn from_f32(x: f32) -> f16 {
        let bits = x.to_bits();
        let sign = (bits >> 16 & 0x8000) as u16;
        let magnitude = bits & 0x7fff_ffff;
        if magnitude > 0x7f80_0000 {
            return f16(sign | 0x7e00 | (bits >> 13 & 0x3ff) as u16);
        }
        if magnitude >= 0x477f_f000 {
            return f16(sign | 0x7c00);
        }
        // Subnormal results count units of 2^-24, which the addition of a constant rounds to.
        if magnitude < 0x3880_0000 {
            let units = (f32::from_bits(magnitude) * 16_777_216.0 + 8_388_608.0).to_bits() - 0x4b00_0000;
            return f16(sign | units as u16);
        }
        let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
        f16(sign | ((rounded - 0x3800_0000) >> 13) as u16)
    }

    /// Exact.
    pub fn to_f32(self) -> f32 {
        let sign = (self.0 as u32 & 0x8000) << 16;
        let (exponent, fraction) = (self.0 >> 10 & 0x1f, self.0 as u32 & 0x3ff);
        match exponent {
            0 => f32::from_bits(sign | (fraction as f32 / 16_777_216.0).to_bits()),
            0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
            _ => f32::from_bits(sign | (exponent as u32 + 112) << 23 | fraction << 13),
        }
    }
}

impl fmt::Debug for f16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_f32().fmt(f)
    }
}

impl fmt::Debug for bf16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_f32().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_come_back_whole() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (f16(bits), bf16(bits));
            if !half.to_f32().is_nan() {
                assert_eq!(f16::from_f32(half.to_f32()), half);
            }
            if !brain.to_f32().is_nan() {
                assert_eq!(bf16::from_f32(brain.to_f32()), brain);
            }
        }
    }

    #[test]
    fn rounding_is_half_to_even() {
        assert_eq!(f16::from_f32(2049.0).to_f32(), 2048.0);
        assert_eq!(f16::from_f32(2051.0).to_f32(), 2052.0);
        assert_eq!(f16::from_f32(65519.9).to_f32(), 65504.0);
        assert!(f16::from_f32(65520.0).to_f32().is_infinite());
        assert_eq!(f16::from_f32(2f32.powi(-25)).0, 0);
        assert_eq!(f16::from_f32(3.0 * 2f32.powi(-25)).0, 2);
        assert_eq!(bf16::from_f32(257.0).to_f32(), 256.0);
        assert_eq!(bf16::from_f32(259.0).to_f32(), 260.0);
        assert!(bf16::from_f32(f32::NAN).to_f32().is_nan() && f16::from_f32(f32::NAN).to_f32().is_nan());
    }

    #[test]
    fn every_dtype_has_a_name_and_an_element_its_width() {
        for dtype in ALL {
            assert_ne!(dtype.name(), "none");
            assert_eq!(DType::of(*dtype as i32), Some(*dtype));
            // SAFETY: a plain function of a number.
            assert_eq!(dtype.bits(), unsafe { sys::tilert_dtype_bits(*dtype as i32) }, "{}", dtype);
        }
        assert_eq!(<f16 as Element>::DTYPE.bits(), 16);
        assert_eq!(<f64 as Element>::DTYPE.bits(), 64);
    }
}
