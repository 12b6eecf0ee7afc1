//! What failed: a status, a text that is complete in itself, and the place it speaks of.

use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_char;

use tilert_sys as sys;

/// The kinds of failure, as `tilert_status` numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(i32)]
pub enum Status {
    /// A wrong count, a value out of its range.
    InvalidArgument = sys::TILERT_INVALID_ARGUMENT,
    /// The tile program is wrong: the message names operation, label, file and line.
    InvalidProgram = sys::TILERT_INVALID_PROGRAM,
    /// Valid, but refused by this version or target: the message names the alternative.
    Unsupported = sys::TILERT_UNSUPPORTED,
    /// A device, driver, compiler or plugin is not there: the message names what was tried.
    Unavailable = sys::TILERT_UNAVAILABLE,
    /// No loaded variant takes these dims, or a job still runs.
    NotReady = sys::TILERT_NOT_READY,
    /// A pointer is not aligned as the variant needs.
    Alignment = sys::TILERT_ALIGNMENT,
    /// Dims, strides, rank or dtype of an argument do not fit.
    Shape = sys::TILERT_SHAPE,
    /// Memory could not be had.
    OutOfMemory = sys::TILERT_OUT_OF_MEMORY,
    /// The device driver failed: the message holds its code and name.
    Driver = sys::TILERT_DRIVER,
    /// The compiler below refused the source: [`Error::source_text`] and [`Error::log`] hold both.
    Compile = sys::TILERT_COMPILE,
    /// A handle made before `fork` was used in the child.
    Forked = sys::TILERT_FORKED,
    /// A compile was needed after [`Context::seal`](crate::Context::seal).
    Sealed = sys::TILERT_SEALED,
    /// A deadline has passed.
    Timeout = sys::TILERT_TIMEOUT,
    /// The job was cancelled.
    Cancelled = sys::TILERT_CANCELLED,
    /// The program holds source text that was not allowed.
    SourceRefused = sys::TILERT_SOURCE_REFUSED,
    /// An artifact or bundle failed its checks.
    Corrupt = sys::TILERT_CORRUPT,
    /// The library's own fault: the message asks for the dump.
    Internal = sys::TILERT_INTERNAL,
    /// A status of a newer library.
    Unknown = -1,
}

const STATUSES: [Status; 17] = [
    Status::InvalidArgument,
    Status::InvalidProgram,
    Status::Unsupported,
    Status::Unavailable,
    Status::NotReady,
    Status::Alignment,
    Status::Shape,
    Status::OutOfMemory,
    Status::Driver,
    Status::Compile,
    Status::Forked,
    Status::Sealed,
    Status::Timeout,
    Status::Cancelled,
    Status::SourceRefused,
    Status::Corrupt,
    Status::Internal,
];

impl Status {
    pub(crate) fn of(raw: sys::tilert_status) -> Status {
        STATUSES.iter().copied().find(|status| *status as i32 == raw).unwrap_or(Status::Unknown)
    }

    /// The name that the C interface gives it, as `"INVALID_ARGUMENT"`.
    pub fn name(self) -> &'static str {
        // SAFETY: static storage, ASCII.
        unsafe { CStr::from_ptr(sys::tilert_status_name(self as i32)) }.to_str().unwrap_or("UNKNOWN")
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A file and a line: of the builder's call, or of a program's text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file, as the compiler or the caller of [`Program::parse`](crate::Program::parse) named it.
    pub file: String,
    /// Counted from one.
    pub line: u32,
}

/// What failed.
#[derive(Clone, Debug)]
pub struct Error(Box<Details>);

#[derive(Clone, Debug)]
struct Details {
    status: Status,
    message: String,
    source: String,
    log: String,
    place: Option<Place>,
    argument: Option<u32>,
    dim: Option<u32>,
    driver_code: i32,
}

/// A `Result` whose error is [`enum@Status`] with words.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Error {
        let message = message.into();
        let place = place_in(&message);
        let (source, log) = (String::new(), String::new());
        Error(Box::new(Details { status, message, source, log, place, argument: None, dim: None, driver_code: 0 }))
    }

    /// Takes the reference to `error` over.
    pub(crate) unsafe fn take(status: sys::tilert_status, error: *mut sys::tilert_error) -> Error {
        let message = if error.is_null() {
            Status::of(status).name().to_string()
        } else {
            text_of(sys::tilert_error_message(error))
        };
        let mut out = Error::new(Status::of(status), message);
        out.0.source = text_of(sys::tilert_error_source(error));
        out.0.log = text_of(sys::tilert_error_log(error));
        sys::tilert_error_release(error);
        out
    }

    pub(crate) fn of_launch(status: sys::tilert_status, failure: &sys::tilert_launch_failure) -> Error {
        let bytes = failure.message.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect::<Vec<u8>>();
        let mut message = String::from_utf8_lossy(&bytes).into_owned();
        if message.is_empty() {
            message = Status::of(status).name().to_string();
        }
        let mut out = Error::new(Status::of(status), message);
        out.0.place = None;
        out.0.argument = u32::try_from(failure.argument).ok();
        out.0.dim = u32::try_from(failure.dim).ok();
        out.0.driver_code = failure.driver_code;
        out
    }

    pub(crate) fn with_argument(mut self, index: usize) -> Error {
        self.0.argument = Some(index as u32);
        self
    }

    /// What kind of failure it is.
    pub fn status(&self) -> Status {
        self.0.status
    }

    /// The words, complete in themselves; one or more lines.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The place that the message names: the builder's call, or a line of a program's text.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// The generated source that a compiler refused, else `""`.
    pub fn source_text(&self) -> &str {
        &self.0.source
    }

    /// The compiler's log, else `""`.
    pub fn log(&self) -> &str {
        &self.0.log
    }

    /// Of a refused launch: which argument.
    pub fn argument(&self) -> Option<u32> {
        self.0.argument
    }

    /// Of a refused launch: which dim of the program or of the argument.
    pub fn dim(&self) -> Option<u32> {
        self.0.dim
    }

    /// Of [`Status::Driver`] at a launch: the driver's own code, else 0.
    pub fn driver_code(&self) -> i32 {
        self.0.driver_code
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.status, self.0.message)?;
        if !self.0.log.is_empty() {
            write!(f, "\n{}", self.0.log)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// The first `file:line` of a message.
fn place_in(message: &str) -> Option<Place> {
    for word in message.split_whitespace() {
        let mut parts = word.splitn(3, ':');
        let (file, rest) = (parts.next()?, parts.next());
        let digits: String = rest.unwrap_or("").chars().take_while(char::is_ascii_digit).collect();
        if let (false, Ok(line)) = (file.is_empty(), digits.parse()) {
            return Some(Place { file: file.to_string(), line });
        }
    }
    None
}

pub(crate) unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

/// What a call gave: success, or the error that it left behind.
pub(crate) fn check(status: sys::tilert_status, error: *mut sys::tilert_error) -> Result<()> {
    if status == sys::TILERT_OK {
        return Ok(());
    }
    // SAFETY: the reference that the failed call has just given.
    Err(unsafe { Error::take(status, error) })
}

/// A C string; a NUL inside is an error that names what it was for.
pub(crate) fn c_string(text: &str, what: &str) -> Result<std::ffi::CString> {
    std::ffi::CString::new(text)
        .map_err(|_| Error::new(Status::InvalidArgument, format!("{} holds a NUL character: leave it out", what)))
}

/// The same of text that may be missing.
pub(crate) fn optional_c_string(text: Option<&str>, what: &str) -> Result<Option<std::ffi::CString>> {
    text.map(|text| c_string(text, what)).transpose()
}

pub(crate) fn pointer_of(text: &Option<std::ffi::CString>) -> *const c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_its_place() {
        assert_eq!(place_in("gemm.rs:41 'scores': copy"), Some(Place { file: "gemm.rs".into(), line: 41 }));
        assert_eq!(place_in("at src/a.rs:7: no"), Some(Place { file: "src/a.rs".into(), line: 7 }));
        assert_eq!(place_in("no place: none"), None);
    }

    #[test]
    fn a_status_has_the_librarys_name() {
        assert_eq!(Status::Shape.name(), "SHAPE");
        assert_eq!(Status::of(12345), Status::Unknown);
        for status in STATUSES {
            assert_eq!(Status::of(status as i32), status);
            assert_ne!(status.name(), "UNKNOWN");
        }
    }
}
