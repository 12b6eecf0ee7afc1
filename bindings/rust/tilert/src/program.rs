//! Frozen programs: read, printed, asked, interpreted.

use std::fmt;
use std::os::raw::c_char;

use tilert_sys as sys;

use crate::argument::{pack, Argument};
use crate::builder::Access;
use crate::diagnostics::{on_entry, Diagnostic, Reader};
use crate::dtype::DType;
use crate::error::{check, optional_c_string, pointer_of, text_of, Error, Result, Status};
use crate::handle::Handle;

/// A tile program: immutable, of no device, read by any number of threads.
#[derive(Clone)]
pub struct Program {
    handle: Handle<sys::tilert_program>,
}

/// A parameter, in the order of declaration, which is that of a launch's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterInfo {
    /// Its name.
    pub name: String,
    /// Its element type, or that of the scalar.
    pub dtype: DType,
    /// Of a tensor: how it is used. None: a scalar.
    pub access: Option<Access>,
    /// Of a tensor.
    pub rank: u32,
    /// Of a tensor: bytes.
    pub alignment: u32,
    /// A tensor that is a table of pointers.
    pub is_pointer_table: bool,
}

impl Program {
    pub(crate) fn new(handle: Handle<sys::tilert_program>) -> Program {
        Program { handle }
    }

    /// Reads program text (`.tir`). `name` stands for the file in messages. Text that holds source is refused.
    pub fn parse(text: &str, name: Option<&str>) -> Result<Program> {
        Self::parse_with(text, name, 0)
    }

    /// The same, source allowed. What runs it is a context that allows source, too, which is where trust is given.
    pub fn parse_source(text: &str, name: Option<&str>) -> Result<Program> {
        Self::parse_with(text, name, sys::TILERT_ALLOW_SOURCE)
    }

    fn parse_with(text: &str, name: Option<&str>, flags: u32) -> Result<Program> {
        let name = optional_c_string(name, "the program's name")?;
        let data = text.as_ptr() as *const c_char;
        // SAFETY: `text.len()` bytes; the call copies them.
        Handle::of(|program, error| unsafe {
            sys::tilert_program_parse(data, text.len(), pointer_of(&name), flags, program, error)
        })
        .map(Program::new)
    }

    /// The handle of the C interface; it stays this object's.
    pub fn as_raw(&self) -> *mut sys::tilert_program {
        self.handle.raw()
    }

    /// As text, from which [`parse`](Program::parse) makes an equal program.
    pub fn text(&self) -> Result<String> {
        let (mut text, mut size, mut error) = (std::ptr::null(), 0, std::ptr::null_mut());
        // SAFETY: a live handle; the text belongs to it. So below.
        let status = unsafe { sys::tilert_program_text(self.as_raw(), &mut text, &mut size, &mut error) };
        check(status, error)?;
        Ok(unsafe { text_of(text) })
    }

    /// SHA-256 of the canonical text, in hex: equal for equal programs.
    pub fn hash(&self) -> Result<String> {
        let (mut hash, mut error) = (std::ptr::null(), std::ptr::null_mut());
        let status = unsafe { sys::tilert_program_hash(self.as_raw(), &mut hash, &mut error) };
        check(status, error)?;
        Ok(unsafe { text_of(hash) })
    }

    /// Whether it holds source text.
    pub fn has_source(&self) -> bool {
        unsafe { sys::tilert_program_has_source(self.as_raw()) != 0 }
    }

    /// The parameters, in their order.
    pub fn parameters(&self) -> Vec<ParameterInfo> {
        let count = unsafe { sys::tilert_program_parameter_count(self.as_raw()) };
        (0..count).filter_map(|index| self.parameter(index)).collect()
    }

    fn parameter(&self, index: u32) -> Option<ParameterInfo> {
        let mut raw = sys::tilert_parameter_info::default();
        let status = unsafe { sys::tilert_program_parameter(self.as_raw(), index, &mut raw) };
        if status != sys::TILERT_OK {
            return None;
        }
        let access = match raw.access {
            sys::TILERT_IN => Access::In,
            sys::TILERT_OUT => Access::Out,
            _ => Access::InOut,
        };
        Some(ParameterInfo {
            name: unsafe { text_of(raw.name) },
            dtype: DType::of(raw.dtype)?,
            access: (raw.is_tensor != 0).then_some(access),
            rank: raw.rank,
            alignment: raw.alignment,
            is_pointer_table: raw.is_pointer_table != 0,
        })
    }

    pub(crate) fn uses(&self) -> Vec<Use> {
        let count = unsafe { sys::tilert_program_parameter_count(self.as_raw()) };
        (0..count)
            .map(|index| {
                let mut raw = sys::tilert_parameter_info::default();
                unsafe { sys::tilert_program_parameter(self.as_raw(), index, &mut raw) };
                let written = raw.is_tensor != 0 && raw.access != sys::TILERT_IN;
                Use { dtype: raw.dtype, written, is_pointer_table: raw.is_pointer_table != 0 }
            })
            .collect()
    }

    /// The dims' names, in the order of declaration, which is that of a launch's dims.
    pub fn dims(&self) -> Vec<String> {
        let count = self.dim_count();
        (0..count).map(|index| unsafe { text_of(sys::tilert_program_dim_name(self.as_raw(), index)) }).collect()
    }

    pub(crate) fn dim_count(&self) -> u32 {
        unsafe { sys::tilert_program_dim_count(self.as_raw()) }
    }

    /// Runs the program on host memory with the reference interpreter: slow, exact. `dims`: ordinals and values of those that
    /// the arguments' shapes do not tell.
    pub fn interpret(&self, arguments: &[Argument<'_>], dims: &[(u32, i64)]) -> Result<()> {
        self.run(arguments, dims, None)
    }

    /// The same; `on_entry` is given what print and assert have to say, also before an error.
    pub fn interpret_diagnosed(
        &self,
        arguments: &[Argument<'_>],
        dims: &[(u32, i64)],
        mut on_entry: impl FnMut(Diagnostic),
    ) -> Result<()> {
        self.run(arguments, dims, Some(&mut on_entry))
    }

    fn run(
        &self,
        arguments: &[Argument<'_>],
        dims: &[(u32, i64)],
        take: Option<&mut dyn FnMut(Diagnostic)>,
    ) -> Result<()> {
        let uses = self.uses();
        let mut raw = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            raw.push(pack(argument, index, uses.get(index).copied())?);
        }
        let mut sizes = vec![-1; self.dim_count() as usize];
        place_dims(dims, &mut sizes)?;
        let mut error = std::ptr::null_mut();
        let (count, dim_count) = (raw.len() as u32, sizes.len() as u32);
        // SAFETY: a live handle; arguments that `pack` has checked, whose memory is borrowed through the call.
        let status = unsafe {
            match take {
                None => sys::tilert_program_interpret(
                    self.as_raw(),
                    raw.as_ptr(),
                    count,
                    sizes.as_ptr(),
                    dim_count,
                    &mut error,
                ),
                Some(take) => {
                    let mut reader = Reader::new(take);
                    let user = reader.user();
                    let status = sys::tilert_program_interpret_diagnosed(
                        self.as_raw(),
                        raw.as_ptr(),
                        count,
                        sizes.as_ptr(),
                        dim_count,
                        Some(on_entry),
                        user,
                        &mut error,
                    );
                    if reader.is_panicking() {
                        sys::tilert_error_release(error);
                        reader.resume();
                    }
                    status
                }
            }
        };
        check(status, error)
    }
}

/// What a launch checks of a parameter on this side.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    pub(crate) dtype: sys::tilert_dtype,
    pub(crate) written: bool,
    pub(crate) is_pointer_table: bool,
}

/// Puts dims at their ordinals; those that are not named stay as they are.
pub(crate) fn place_dims(dims: &[(u32, i64)], to: &mut [i64]) -> Result<()> {
    let count = to.len();
    for (ordinal, value) in dims {
        match to.get_mut(*ordinal as usize) {
            Some(place) => *place = *value,
            None => {
                let message = format!("dim {} of {}: dims are numbered from 0 as they were declared", ordinal, count);
                return Err(Error::new(Status::InvalidArgument, message));
            }
        }
    }
    Ok(())
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Program").field(&self.hash().unwrap_or_default()).finish()
    }
}
