//! What print and assert of a program left.

use tilert_sys as sys;

use crate::callbacks::Panic;
use crate::dtype::DType;
use crate::error::text_of;
use crate::sys::c_void;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which print or assert of the program; 0: entries were lost, how many is `values[0]`.
    pub ordinal: u32,
    /// The block's indices.
    pub block: [u32; 3],
    /// Bit patterns, low bits first; signed integers sign-extended.
    pub values: Vec<u64>,
    /// Of the values; none where a newer library has a type that this one does not know.
    pub dtypes: Vec<Option<DType>>,
    /// Place, label and text.
    pub message: String,
    /// "" where the builder was told none.
    pub file: String,
    /// The line in it.
    pub line: u32,
    /// Of an assertion, which did not hold.
    pub failed: bool,
}

/// A closure for entries, as the library is given it.
pub(crate) struct Reader<'a> {
    take: &'a mut dyn FnMut(Diagnostic),
    panic: Panic,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(take: &'a mut dyn FnMut(Diagnostic)) -> Self {
        Reader { take, panic: Panic::default() }
    }

    pub(crate) fn user(&mut self) -> *mut c_void {
        self as *mut Reader<'a> as *mut c_void
    }

    pub(crate) fn is_panicking(&self) -> bool {
        self.panic.is_kept()
    }

    pub(crate) fn resume(&self) {
        self.panic.resume();
    }
}

/// Called on the thread of the call that it was given to, before that returns.
pub(crate) unsafe extern "C" fn on_entry(user: *mut c_void, entry: *const sys::tilert_diagnostic) {
    let reader = &mut *(user as *mut Reader<'_>);
    if reader.panic.is_kept() {
        return; // the rest is not read: the caller's panic goes on when the call has returned
    }
    let take = &mut reader.take;
    reader.panic.catch(|| take(read(&*entry)));
}

unsafe fn read(entry: &sys::tilert_diagnostic) -> Diagnostic {
    let count = entry.value_count as usize;
    let (mut values, mut dtypes) = (Vec::new(), Vec::new());
    if count != 0 {
        values = std::slice::from_raw_parts(entry.values, count).to_vec();
    }
    if count != 0 && !entry.dtypes.is_null() {
        dtypes = std::slice::from_raw_parts(entry.dtypes, count).iter().map(|raw| DType::of(*raw)).collect();
    }
    Diagnostic {
        ordinal: entry.ordinal,
        block: entry.block,
        values,
        dtypes,
        message: text_of(entry.message),
        file: text_of(entry.file),
        line: entry.line,
        failed: entry.failed != 0,
    }
}
