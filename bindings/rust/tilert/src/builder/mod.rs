//! Building a tile program: [`build`], and the [`Builder`] that its closure gets. Values and their operators are in
//! `value`, places in memory in `region`; the builder's statements are in the other files, by kind.

use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::marker::PhantomData;
use std::os::raw::c_char;
use std::panic::Location;

use tilert_sys as sys;

use crate::error::{c_string, check, Error, Result, Status};
use crate::handle::Handle;
use crate::program::Program;

mod barriers;
mod control;
mod declare;
mod elements;
mod kernel;
mod operators;
mod options;
mod region;
mod source;
mod threads;
mod tile_options;
mod tiles;
mod value;
mod values;

pub use barriers::{Roles, StoresState};
pub use control::Loop;
pub use elements::{Atomic, Order, OrderScope};
pub use options::*;
pub use region::{AsRegion, Region, Tile, Var};
pub use source::{DeviceFunction, Input, Parameter, Passing, SourceKernel};
pub use tile_options::*;
pub use value::{Dim, Expr, Operand, Value};
pub use values::{Indices, Values};

/// Builds a program of that name, an identifier. Building never fails half way: the first error sticks, and is what
/// `build` returns, with the place of the call in the caller's source.
///
/// The closure is given a [`Builder`] with a lifetime of its own, as have all ids made by it. So ids of one builder are no
/// ids of another, which the compiler sees:
///
/// ```compile_fail
/// # use tilert::prelude::*;
/// tilert::build("one", |a| {
///     let m = a.dim("M");
///     let _ = tilert::build("two", |b| {
///         b.input("X", DType::F32, (m,)); // `m` belongs to `a`
///     });
/// });
/// ```
///
/// and none outlives its builder:
///
/// ```compile_fail
/// # use tilert::prelude::*;
/// let mut kept = None;
/// let _ = tilert::build("one", |b| {
///     kept = Some(b.dim("M"));
/// });
/// ```
///
/// One builder belongs to one thread at a time: it is neither `Send` nor `Sync`, like its ids.
///
/// ```compile_fail
/// # use tilert::prelude::*;
/// let _ = tilert::build("one", |b| {
///     std::thread::scope(|s| {
///         s.spawn(move || b.dim("M"));
///     });
/// });
/// ```
#[track_caller]
pub fn build(name: &str, f: impl for<'b> FnOnce(Builder<'b>)) -> Result<Program> {
    build_with(name, f).map(|(program, ())| program)
}

/// The same, and what the closure returns: ordinals of dims, say.
#[track_caller]
pub fn build_with<R>(name: &str, f: impl for<'b> FnOnce(Builder<'b>) -> R) -> Result<(Program, R)> {
    let state = State::new(name)?;
    let made = f(Builder { state: &state, brand: PhantomData });
    Ok((state.finish(Location::caller())?, made))
}

/// What the calls of one builder share.
pub(crate) struct State {
    raw: *mut sys::tilert_builder,
    file: Cell<*const u8>,
    last: Cell<Option<&'static Location<'static>>>,
    label: RefCell<Option<CString>>,
    name: RefCell<Option<CString>>,
    /// What is refused on this side already; the first counts.
    refused: RefCell<Option<Error>>,
    dims: Cell<u32>,
}

impl State {
    fn new(name: &str) -> Result<State> {
        let name = c_string(name, "the program's name")?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: a string and a place for the result.
        let status = unsafe { sys::tilert_builder_create(name.as_ptr(), &mut raw) };
        check(status, std::ptr::null_mut())?;
        Ok(State {
            raw,
            file: Cell::new(std::ptr::null()),
            last: Cell::new(None),
            label: RefCell::new(None),
            name: RefCell::new(None),
            refused: RefCell::new(None),
            dims: Cell::new(0),
        })
    }

    fn at(&self, place: &'static Location<'static>) {
        self.last.set(Some(place));
        let label = self.label.borrow_mut().take();
        let label = label.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        let file = place.file();
        // The library keeps the file of the call before.
        let known = self.file.replace(file.as_ptr()) == file.as_ptr();
        let text = if known { None } else { CString::new(file).ok() };
        let text = text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        // SAFETY: strings that live through the call, which copies them.
        unsafe { sys::tilert_builder_at(self.raw, text, place.line(), label) };
    }

    fn refuse(&self, error: Error) {
        self.refused.borrow_mut().get_or_insert(error);
    }

    fn finish(&self, place: &'static Location<'static>) -> Result<Program> {
        if let Some(error) = self.refused.borrow_mut().take() {
            return Err(error);
        }
        self.at(place);
        // SAFETY: a live builder.
        let program = Handle::of(|program, error| unsafe { sys::tilert_builder_finish(self.raw, program, error) })?;
        Ok(Program::new(program))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: the one reference, which is ours.
        unsafe { sys::tilert_builder_release(self.raw) };
    }
}

/// Builds one program: see [`build`]. A name for the builder that copies like a number; `'b` belongs to it alone.
#[derive(Clone, Copy)]
pub struct Builder<'b> {
    state: &'b State,
    // Invariant: two builders' lifetimes are never taken for one.
    brand: PhantomData<fn(&'b ()) -> &'b ()>,
}

impl<'b> Builder<'b> {
    #[inline]
    pub(crate) fn raw(self) -> *mut sys::tilert_builder {
        self.state.raw
    }

    #[track_caller]
    pub(crate) fn at(self) {
        self.state.at(Location::caller());
    }

    pub(crate) fn at_place(self, place: &'static Location<'static>) {
        self.state.at(place);
    }

    /// A string for the library; one that it cannot take is the builder's error, told by `build`.
    pub(crate) fn text(self, text: &str, what: &str) -> CString {
        c_string(text, what).unwrap_or_else(|error| {
            self.state.refuse(error);
            CString::default()
        })
    }

    pub(crate) fn refuse(self, message: String) {
        self.state.refuse(Error::new(Status::InvalidArgument, message));
    }

    pub(crate) fn take_name(self) -> Option<CString> {
        self.state.name.borrow_mut().take()
    }

    pub(crate) fn next_dim(self) -> u32 {
        self.state.dims.replace(self.state.dims.get() + 1)
    }

    /// Names the next operation or declaration in messages: `b.label("scores").gemm(q, k, s)`.
    pub fn label(self, text: &str) -> Self {
        let text = self.text(text, "a label");
        *self.state.label.borrow_mut() = Some(text);
        self
    }

    /// Names the next tile or variable in messages and generated source: `b.name("acc").fragment(F32, (64, 64))`.
    pub fn name(self, text: &str) -> Self {
        let text = self.text(text, "a name");
        *self.state.name.borrow_mut() = Some(text);
        self
    }

    /// Whether a call has failed so far; `build` returns why.
    pub fn failed(self) -> bool {
        // SAFETY: a live builder.
        self.state.refused.borrow().is_some() || unsafe { sys::tilert_builder_status(self.raw()) } != sys::TILERT_OK
    }

    /// The builder of the C interface, for calls that have no method here. Its use is `unsafe` like every call of
    /// `tilert-sys`; it lives as long as the closure of [`build`] runs.
    pub fn as_raw(self) -> *mut sys::tilert_builder {
        self.raw()
    }
}

/// The address of a list for C: NULL of none.
pub(crate) fn list<T>(items: &[T]) -> *const T {
    if items.is_empty() {
        std::ptr::null()
    } else {
        items.as_ptr()
    }
}

pub(crate) fn pointer(text: &Option<CString>) -> *const c_char {
    crate::error::pointer_of(text)
}

pub(crate) const NO_EXPR: sys::tilert_expr = sys::tilert_expr { serial: 0, index: 0 };
