//! Raw declarations of libtilert's C interface: what `tilert.h` declares, name for name. The header documents each
//! function and is the reference; the safe interface is the crate `tilert`.
//!
//! `build.rs` finds the library: by `TILERT_LIB_DIR`, else by the program `pkg-config`, else, with the feature
//! `bundled`, by building it with CMake from the sources around this crate.
//!
//! Structs start as zero: `Default` fills in `struct_size` and leaves the rest at the default of each field.

#![no_std]
#![allow(non_camel_case_types)]

#[cfg(test)]
extern crate std;

use core::marker::{PhantomData, PhantomPinned};
// The names of C's types, as generate.py spells them.
pub use core::ffi::c_void;
/// C's `char` on this target.
pub type c_char = platform::c_char;
/// C's `int`.
pub type c_int = i32;

mod platform {
    #[cfg(any(target_arch = "aarch64", target_arch = "arm", target_arch = "riscv64", target_arch = "powerpc64"))]
    pub type c_char = u8;
    #[cfg(not(any(target_arch = "aarch64", target_arch = "arm", target_arch = "riscv64", target_arch = "powerpc64")))]
    pub type c_char = i8;
}

// Structs of integers, pointers and optional functions: all bytes zero is a value of each.
macro_rules! zero {
    ($($name:ident,)*) => { $(
        impl Default for $name {
            fn default() -> Self {
                // SAFETY: integers, raw pointers and optional functions only, as generate.py makes them.
                unsafe { core::mem::MaybeUninit::zeroed().assume_init() }
            }
        }
    )* };
}
macro_rules! zero_with_size {
    ($($name:ident,)*) => { $(
        impl Default for $name {
            fn default() -> Self {
                // SAFETY: as above.
                let mut value: Self = unsafe { core::mem::MaybeUninit::zeroed().assume_init() };
                value.struct_size = core::mem::size_of::<Self>() as u32;
                value
            }
        }
    )* };
}

#[rustfmt::skip]
mod constants;
#[rustfmt::skip]
mod functions;
#[rustfmt::skip]
mod types;
pub use constants::*;
pub use functions::*;
pub use types::*;
