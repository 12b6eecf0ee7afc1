//! Tile programs, built at run time, compiled for the device and the shapes at hand, launched on the caller's stream: the
//! safe interface to libtilert. What each operation means is in `include/tilert.h` and `docs/language.md` of tilert.
//!
//! ```
//! use tilert::prelude::*;
//!
//! # fn main() -> tilert::Result<()> {
//! let program = tilert::build("add", |b| {
//!     let n = b.dim("N");
//!     let (x, y) = (b.input("X", F32, n), b.input("Y", F32, n));
//!     let z = b.output("Z", F32, n);
//!     b.grid(n.ceildiv(256), |block| {
//!         b.parallel(256, |i| {
//!             let at = block * 256 + i;
//!             z.at(at).set(x.at(at) + y.at(at)); // an element outside is not written
//!         });
//!     });
//! })?;
//!
//! let (x, y, mut z) = (vec![1.0f32; 1000], vec![2.0f32; 1000], vec![0.0f32; 1000]);
//! program.interpret(&[input(&x, &[1000])?, input(&y, &[1000])?, output(&mut z, &[1000])?], &[])?;
//! assert_eq!(z, vec![3.0; 1000]);
//!
//! let context = Context::new()?;
//! let kernel = context.kernel(&program)?; // for the device that it is prepared for
//! let loaded = kernel.prepare(&context.cpu()?)?; // compiles or fetches, and loads
//! let (x, y) = (input(&x, &[1000])?, input(&y, &[1000])?);
//! loaded.launch(Stream::null(), &[x, y, output(&mut z, &[1000])?], &[])?; // never compiles, loads or allocates
//! # Ok(())
//! # }
//! ```
//!
//! # Threads
//! As `tilert.h` says: any thread may call any function on any handle at once, so [`Program`], [`Context`], [`Device`],
//! [`Kernel`], [`Variant`], [`Loaded`] and [`Job`] are `Send` and `Sync`. One builder belongs to one thread at a time, and so
//! does one launch's memory: [`Builder`] and its ids are neither, [`Launch`], [`Argument`], [`Workspace`] and [`Record`] are
//! `Send` alone.
//!
//! # Safety
//! Host memory is passed as slices, whose length, type and mutability are checked against the parameter; a tile program
//! reaches no memory of its caller beside its parameters (docs/security.md). Indices inside a tile are the program's own: where
//! they come from data, [`KernelOptions::debug`] has them checked. What is `unsafe` says so: device memory and streams,
//! which are addresses, and source text, which is code.
//!
//! # Panics in callbacks
//! None unwinds through the library. Where a callback panics, the call on whose behalf it ran finishes first; the panic goes
//! on in the thread that made the call.

#![warn(missing_docs)]
#![allow(clippy::missing_safety_doc)] // "# Safety" stands where there is more to say than the item's own text

mod argument;
mod builder;
mod callbacks;
mod context;
mod device;
mod diagnostics;
pub mod dlpack;
mod dtype;
mod error;
mod handle;
mod host;
mod kernel;
mod launch;
mod loaded;
mod program;
mod recommend;
mod workspace;

pub use argument::{input, output, Argument};
pub use builder::*;
pub use context::{CacheMode, Context, ContextOptions, Event, EventKind, Isolate, Stats};
pub use device::{Device, DeviceClass, DeviceInfo, DeviceKind, DeviceOptions, Executor, Task};
pub use diagnostics::Diagnostic;
pub use dtype::{bf16, f16, DType, Element};
pub use error::{Error, Place, Result, Status};
pub use host::Host;
pub use kernel::{Job, Kernel, KernelOptions, Variant, VariantInfo, WorkspaceInfo};
pub use launch::{Attribute, Exported, Launch, LaunchOptions, Stream};
pub use loaded::Loaded;
pub use program::{ParameterInfo, Program};
pub use recommend::{recommend_product, Bound, Product, ProductChoice, ProductPath};
pub use workspace::{Record, Workspace};

/// The raw declarations.
pub use tilert_sys as sys;

/// What a file that builds and launches programs uses: `use tilert::prelude::*`.
pub mod prelude {
    pub use crate::dtype::DType::*;
    pub use crate::{input, output, AsRegion, Builder, Context, DType, Expr, Operand, Program, Region, Stream, Tile};
    pub use crate::{Argument, CopyOptions, GemmOptions, Hints, Kernel, KernelOptions, Loaded, Reduce, Value, Values};
}

/// The version of the library that is loaded: major, minor, patch.
pub fn version() -> (u32, u32, u32) {
    // SAFETY: a plain function.
    let packed = unsafe { sys::tilert_version() };
    (packed >> 16, packed >> 8 & 0xff, packed & 0xff)
}

/// Whether this version does a feature of the language ("reduce", "scan", ...); the error says what to use instead.
pub fn feature(name: &str) -> Result<()> {
    let name = error::c_string(name, "a feature's name")?;
    let mut error = std::ptr::null_mut();
    // SAFETY: a string and a place for the error.
    let status = unsafe { sys::tilert_feature(name.as_ptr(), &mut error) };
    error::check(status, error)
}
