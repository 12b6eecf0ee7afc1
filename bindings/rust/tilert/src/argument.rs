//! The arguments of a launch: host memory as slices, scalars, and addresses that the caller answers for.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use tilert_sys as sys;

use crate::dtype::{DType, Element};
use crate::error::{Error, Result, Status};
use crate::program::Use;
use crate::sys::c_void;

const MOST: usize = 8;

/// One argument, in the order of the program's parameters: borrowed memory, or a scalar.
///
/// One launch's memory belongs to one thread at a time: it is `Send`, and not `Sync`.
pub struct Argument<'a> {
    raw: sys::tilert_argument,
    shape: [i64; MOST],
    strides: [i64; MOST],
    form: Form,
    writable: bool,
    host: bool,
    /// Bytes of host memory behind the address.
    bytes: usize,
    life: PhantomData<&'a mut [u8]>,
}

// SAFETY: borrowed slices of numbers, which are Send either way; addresses by their caller's word.
unsafe impl Send for Argument<'_> {}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Plain,
    Shaped,
    Strided,
}

/// A tensor in host memory that a kernel reads: contiguous, row-major, as many elements as the shape has.
#[inline]
pub fn input<'a, T: Element>(data: &'a [T], shape: &[usize]) -> Result<Argument<'a>> {
    Argument::host(data.as_ptr() as *mut c_void, std::mem::size_of_val(data), T::DTYPE, shape, None, false)
}

/// A tensor in host memory that a kernel writes, or reads and writes.
#[inline]
pub fn output<'a, T: Element>(data: &'a mut [T], shape: &[usize]) -> Result<Argument<'a>> {
    Argument::host(data.as_mut_ptr() as *mut c_void, std::mem::size_of_val(data), T::DTYPE, shape, None, true)
}

impl<'a> Argument<'a> {
    #[inline]
    fn of(kind: sys::tilert_argument_kind, dtype: sys::tilert_dtype, data: *mut c_void) -> Argument<'a> {
        let raw = sys::tilert_argument { kind, dtype, data, ..Default::default() };
        let (shape, strides, form) = ([0; MOST], [0; MOST], Form::Plain);
        Argument { raw, shape, strides, form, writable: false, host: false, bytes: 0, life: PhantomData }
    }

    /// A tensor that is read, with strides in elements.
    pub fn input_strided<T: Element>(data: &'a [T], shape: &[usize], strides: &[usize]) -> Result<Argument<'a>> {
        let (at, bytes) = (data.as_ptr() as *mut c_void, std::mem::size_of_val(data));
        Argument::host(at, bytes, T::DTYPE, shape, Some(strides), false)
    }

    /// A tensor that is written, with strides in elements: no two elements are one.
    pub fn output_strided<T: Element>(data: &'a mut [T], shape: &[usize], strides: &[usize]) -> Result<Argument<'a>> {
        let (at, bytes) = (data.as_mut_ptr() as *mut c_void, std::mem::size_of_val(data));
        Argument::host(at, bytes, T::DTYPE, shape, Some(strides), true)
    }

    /// A tensor of any type that is read, by its bytes: fp8, packed 4- and 6-bit types.
    pub fn bytes(data: &'a [u8], dtype: DType, shape: &[usize]) -> Result<Argument<'a>> {
        Argument::host(data.as_ptr() as *mut c_void, data.len(), dtype, shape, None, false)
    }

    /// A tensor of any type that is written, by its bytes.
    pub fn bytes_mut(data: &'a mut [u8], dtype: DType, shape: &[usize]) -> Result<Argument<'a>> {
        Argument::host(data.as_mut_ptr() as *mut c_void, data.len(), dtype, shape, None, true)
    }

    /// A tensor of any type that is read, by its bytes, with strides in elements.
    pub fn bytes_strided(data: &'a [u8], dtype: DType, shape: &[usize], strides: &[usize]) -> Result<Argument<'a>> {
        Argument::host(data.as_ptr() as *mut c_void, data.len(), dtype, shape, Some(strides), false)
    }

    /// A tensor of any type that is written, by its bytes, with strides in elements.
    pub fn bytes_mut_strided(
        data: &'a mut [u8],
        dtype: DType,
        shape: &[usize],
        strides: &[usize],
    ) -> Result<Argument<'a>> {
        Argument::host(data.as_mut_ptr() as *mut c_void, data.len(), dtype, shape, Some(strides), true)
    }

    /// A scalar of the parameter's type.
    pub fn scalar<T: Element>(value: T) -> Argument<'static> {
        let mut out = Argument::of(sys::TILERT_ARGUMENT_SCALAR, T::DTYPE as i32, std::ptr::null_mut());
        out.raw.bits = value.bits();
        out
    }

    /// A scalar by its bit pattern.
    pub fn scalar_bits(dtype: DType, bits: u64) -> Argument<'static> {
        let mut out = Argument::of(sys::TILERT_ARGUMENT_SCALAR, dtype as i32, std::ptr::null_mut());
        out.raw.bits = bits;
        out
    }

    /// The address of a tensor, as the device sees it; type and shape are the parameter's and the dims'.
    ///
    /// # Safety
    /// Until each launch with it has ended, the memory is there, as large as the parameter, and nobody uses it in a way that
    /// the program's accesses rule out.
    pub unsafe fn address(data: *mut c_void) -> Argument<'static> {
        Argument { writable: true, ..Argument::of(sys::TILERT_ARGUMENT_TENSOR, 0, data) }
    }

    /// The address of a table of pointers.
    ///
    /// # Safety
    /// As [`address`](Argument::address), for the table and for what it points to.
    pub unsafe fn pointer_table(data: *const c_void) -> Argument<'static> {
        Argument { writable: true, ..Argument::of(sys::TILERT_ARGUMENT_POINTER_TABLE, 0, data as *mut c_void) }
    }

    /// An argument of the C interface; shape and strides are copied.
    ///
    /// # Safety
    /// As [`address`](Argument::address); `raw.shape` and `raw.strides` are NULL or have `raw.ndim` numbers.
    pub unsafe fn from_raw(raw: &sys::tilert_argument) -> Result<Argument<'static>> {
        let rank = checked_rank(usize::try_from(raw.ndim).unwrap_or(usize::MAX))?;
        let mut out = Argument { writable: true, ..Argument::of(raw.kind, raw.dtype, raw.data) };
        out.raw = *raw;
        if !raw.shape.is_null() {
            out.shape[..rank].copy_from_slice(std::slice::from_raw_parts(raw.shape, rank));
            out.form = Form::Shaped;
        }
        if !raw.shape.is_null() && !raw.strides.is_null() {
            out.strides[..rank].copy_from_slice(std::slice::from_raw_parts(raw.strides, rank));
            out.form = Form::Strided;
        }
        Ok(out)
    }

    fn host(
        data: *mut c_void,
        bytes: usize,
        dtype: DType,
        shape: &[usize],
        strides: Option<&[usize]>,
        writable: bool,
    ) -> Result<Argument<'a>> {
        let rank = checked_rank(shape.len())?;
        let refused = |words: String| Err(Error::new(Status::Shape, words));
        let needed = match strides {
            None => elements(shape),
            Some(strides) if strides.len() != rank => {
                return refused(format!("{} strides for a shape of {} dims", strides.len(), rank))
            }
            Some(strides) if writable && overlaps(shape, strides) => {
                return refused(format!(
                    "strides {:?} of shape {:?} that make two elements one: it is written",
                    strides, shape
                ))
            }
            Some(strides) => reach(shape, strides),
        };
        let needed = needed.and_then(|count| count.checked_mul(dtype.bits() as usize)).map(|bits| (bits + 7) / 8);
        match needed {
            Some(needed) if strides.is_none() && needed != bytes => {
                return refused(format!("{} bytes for the shape {:?} of {}, which has {}", bytes, shape, dtype, needed))
            }
            Some(needed) if needed <= bytes => {}
            _ => return refused(format!("{} bytes are too few for the shape {:?} of {}", bytes, shape, dtype)),
        }
        let data = if bytes == 0 { std::ptr::null_mut() } else { data };
        let mut out = Argument::of(sys::TILERT_ARGUMENT_TENSOR, dtype as i32, data);
        (out.writable, out.host, out.bytes) = (writable, true, bytes);
        out.raw.ndim = rank as i32;
        out.raw.device_type = sys::TILERT_MEMORY_CPU;
        out.shape[..rank].iter_mut().zip(shape).for_each(|(to, size)| *to = *size as i64);
        out.form = Form::Shaped;
        if let Some(strides) = strides {
            out.strides[..rank].iter_mut().zip(strides).for_each(|(to, stride)| *to = *stride as i64);
            out.form = Form::Strided;
        }
        Ok(out)
    }

    /// The C form; it points into `self`.
    #[inline]
    pub(crate) fn raw(&self) -> sys::tilert_argument {
        let mut raw = self.raw;
        let shaped = self.form != Form::Plain;
        raw.shape = if shaped { self.shape.as_ptr() } else { std::ptr::null() };
        raw.strides = if self.form == Form::Strided { self.strides.as_ptr() } else { std::ptr::null() };
        raw
    }

    pub(crate) fn is_scalar(&self) -> bool {
        self.raw.kind == sys::TILERT_ARGUMENT_SCALAR
    }

    /// The elements of host memory, where it is of that type.
    pub(crate) fn slice<T: Element>(&self) -> Option<&[T]> {
        let (at, count) = self.host_elements::<T>()?;
        // SAFETY: the borrowed slice that this was made of.
        Some(unsafe { std::slice::from_raw_parts(at, count) })
    }

    pub(crate) fn slice_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        let (at, count) = self.host_elements::<T>().filter(|_| self.writable)?;
        // SAFETY: the same, which was borrowed mutably.
        Some(unsafe { std::slice::from_raw_parts_mut(at as *mut T, count) })
    }

    fn host_elements<T: Element>(&self) -> Option<(*const T, usize)> {
        if !self.host || self.raw.dtype != T::DTYPE as i32 {
            return None;
        }
        if self.bytes == 0 {
            return Some((std::ptr::NonNull::dangling().as_ptr(), 0));
        }
        let at = self.raw.data as *const T;
        (at as usize % std::mem::align_of::<T>() == 0).then(|| (at, self.bytes / std::mem::size_of::<T>()))
    }
}

macro_rules! scalars {
    ($($name:ty)*) => { $(
        impl From<$name> for Argument<'static> {
            fn from(value: $name) -> Self {
                Argument::scalar(value)
            }
        }
    )* };
}
scalars! { bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 crate::f16 crate::bf16 }

/// The C form of an argument for a parameter. A type that is left open is the parameter's.
pub(crate) fn pack(argument: &Argument<'_>, index: usize, parameter: Option<Use>) -> Result<sys::tilert_argument> {
    let mut raw = MaybeUninit::uninit();
    pack_to(&mut raw, argument, index, parameter)?;
    // SAFETY: written by `pack_to`.
    Ok(unsafe { raw.assume_init() })
}

/// The same to where it is wanted.
#[inline]
pub(crate) fn pack_to(
    to: &mut MaybeUninit<sys::tilert_argument>,
    argument: &Argument<'_>,
    index: usize,
    parameter: Option<Use>,
) -> Result<()> {
    let raw = to.write(argument.raw());
    if let Some(parameter) = parameter {
        if raw.dtype == 0 {
            raw.dtype = parameter.dtype;
        }
        if argument.host && (parameter.is_pointer_table || parameter.written && !argument.writable) {
            return Err(mismatch(index, parameter));
        }
    }
    Ok(())
}

#[cold]
fn mismatch(index: usize, parameter: Use) -> Error {
    let words = if parameter.is_pointer_table {
        format!("argument {} is a tensor: the parameter is a table of pointers (Argument::pointer_table)", index)
    } else {
        format!("argument {} is borrowed to be read: the kernel writes it (pass output(&mut ...))", index)
    };
    Error::new(Status::InvalidArgument, words).with_argument(index)
}

fn checked_rank(rank: usize) -> Result<usize> {
    if rank <= MOST {
        return Ok(rank);
    }
    Err(Error::new(Status::Shape, format!("a tensor of {} dims: at most {}", rank, MOST)))
}

fn elements(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |count, size| count.checked_mul(*size))
}

/// Elements from the first to the last one, both included.
fn reach(shape: &[usize], strides: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let last = shape
        .iter()
        .zip(strides)
        .try_fold(0usize, |at, (size, stride)| (size - 1).checked_mul(*stride).and_then(|more| at.checked_add(more)))?;
    last.checked_add(1)
}

/// Whether two elements may be one: dims of ascending stride, each of which does not step over all below it.
fn overlaps(shape: &[usize], strides: &[usize]) -> bool {
    let mut dims: Vec<(usize, usize)> =
        strides.iter().copied().zip(shape.iter().copied()).filter(|(_, size)| *size > 1).collect();
    dims.sort_unstable();
    let mut below = 0usize;
    for (stride, size) in dims {
        if stride <= below {
            return true;
        }
        below = below.saturating_add(stride.saturating_mul(size - 1));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_as_long_as_its_shape() {
        let data = [0f32; 12];
        assert!(input(&data, &[3, 4]).is_ok());
        assert_eq!(input(&data, &[3, 5]).err().unwrap().status(), Status::Shape);
        assert_eq!(input(&data, &[2, 4]).err().unwrap().status(), Status::Shape);
        assert!(input(&data[..0], &[0, 7]).is_ok());
        assert!(input(&data, &[usize::MAX, 8]).is_err());
        assert!(input(&data, &[1, 1, 1, 1, 1, 1, 1, 1, 12]).is_err());
        assert!(Argument::bytes(&[0; 6], DType::I4, &[3, 4]).is_ok());
        assert!(Argument::bytes(&[0; 5], DType::I4, &[3, 4]).is_err());
    }

    #[test]
    fn strides_stay_in_the_slice_and_apart() {
        let mut data = [0f32; 12];
        assert!(Argument::input_strided(&data, &[3, 3], &[4, 1]).is_ok());
        assert!(Argument::input_strided(&data, &[3, 4], &[4, 2]).is_err());
        assert!(Argument::input_strided(&data, &[3, 4], &[0, 1]).is_ok());
        assert!(Argument::input_strided(&data, &[3], &[1, 1]).is_err());
        assert!(Argument::output_strided(&mut data, &[3, 4], &[0, 1]).is_err());
        assert!(Argument::output_strided(&mut data, &[3, 4], &[3, 1]).is_err());
        assert!(Argument::output_strided(&mut data, &[4, 3], &[1, 4]).is_ok());
    }
}
