//! One reference to a counted handle of the library.

use std::ptr::NonNull;

use tilert_sys as sys;

use crate::error::{check, Result};

pub(crate) trait Counted {
    unsafe fn retain(raw: *mut Self);
    unsafe fn release(raw: *mut Self);
}

macro_rules! counted {
    ($($name:ident, $retain:ident, $release:ident;)*) => { $(
        impl Counted for sys::$name {
            unsafe fn retain(raw: *mut Self) {
                sys::$retain(raw)
            }
            unsafe fn release(raw: *mut Self) {
                sys::$release(raw)
            }
        }
    )* };
}
counted! {
    tilert_program, tilert_program_retain, tilert_program_release;
    tilert_context, tilert_context_retain, tilert_context_release;
    tilert_device, tilert_device_retain, tilert_device_release;
    tilert_kernel, tilert_kernel_retain, tilert_kernel_release;
    tilert_variant, tilert_variant_retain, tilert_variant_release;
    tilert_loaded, tilert_loaded_retain, tilert_loaded_release;
    tilert_job, tilert_job_retain, tilert_job_release;
}

/// A reference. Children hold their parents in the library, so any order of drops is right.
pub(crate) struct Handle<T: Counted>(NonNull<T>);

// SAFETY: tilert.h, "Threads": any thread may call any function on any handle at once; builders are no `Handle`.
unsafe impl<T: Counted> Send for Handle<T> {}
unsafe impl<T: Counted> Sync for Handle<T> {}

impl<T: Counted> Handle<T> {
    /// The handle that a call made, or the error that it left.
    pub(crate) fn of(
        make: impl FnOnce(&mut *mut T, &mut *mut sys::tilert_error) -> sys::tilert_status,
    ) -> Result<Self> {
        let (mut raw, mut error) = (std::ptr::null_mut(), std::ptr::null_mut());
        let status = make(&mut raw, &mut error);
        check(status, error)?;
        Ok(Handle(NonNull::new(raw).expect("a call that succeeds gives a handle")))
    }

    #[inline]
    pub(crate) fn raw(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T: Counted> Clone for Handle<T> {
    fn clone(&self) -> Self {
        // SAFETY: a live reference of our own.
        unsafe { T::retain(self.raw()) };
        Handle(self.0)
    }
}

impl<T: Counted> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: the reference that this object is.
        unsafe { T::release(self.raw()) };
    }
}
