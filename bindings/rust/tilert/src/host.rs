//! Host memory that is aligned as kernels like it.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::argument::{input, output, Argument};
use crate::dtype::Element;
use crate::error::Result;
use crate::workspace::Zeroed;

/// Elements in host memory, aligned to 64 bytes: a slice that no kernel refuses for its alignment. (A parameter is aligned to
/// 16 bytes unless it says otherwise; so is what a `Vec` of that many bytes has, but not each array or part of a slice.)
pub struct Host<T: Element> {
    memory: Zeroed,
    count: usize,
    of: PhantomData<T>,
}

// SAFETY: memory that it owns, of elements that are Send and Sync.
unsafe impl<T: Element> Sync for Host<T> {}

impl<T: Element> Host<T> {
    /// Zeros.
    pub fn zeros(count: usize) -> Result<Host<T>> {
        let bytes = count.saturating_mul(std::mem::size_of::<T>());
        Ok(Host { memory: Zeroed::new(bytes, 64)?, count, of: PhantomData })
    }

    /// A copy of a slice.
    pub fn of(elements: &[T]) -> Result<Host<T>> {
        let mut out = Host::zeros(elements.len())?;
        out.copy_from_slice(elements);
        Ok(out)
    }

    /// As an argument that is read.
    pub fn input(&self, shape: &[usize]) -> Result<Argument<'_>> {
        input(self, shape)
    }

    /// As an argument that is written.
    pub fn output(&mut self, shape: &[usize]) -> Result<Argument<'_>> {
        output(self, shape)
    }
}

impl<T: Element> Deref for Host<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `count` elements, which were zero, a value of each, or stored as such.
        unsafe { std::slice::from_raw_parts(self.memory.pointer() as *const T, self.count) }
    }
}

impl<T: Element> DerefMut for Host<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the same, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.memory.pointer() as *mut T, self.count) }
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Host<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}
