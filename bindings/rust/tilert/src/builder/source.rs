//! Source text of one's own: whole kernels, statements amid operations, device functions. A program that holds any needs
//! [`ContextOptions::allow_source`](crate::ContextOptions::allow_source).

use std::ffi::CString;

use tilert_sys as sys;

use super::{list, pointer, Builder, Expr, Region, Value, Values, NO_EXPR};
use crate::dtype::DType;

/// A whole kernel in CUDA C++, HIP C++ or LLVM IR. It takes the program's parameters in their order, then its dims.
pub struct SourceKernel<'b> {
    builder: Builder<'b>,
    language: CString,
    text: CString,
    entry: CString,
    headers: Vec<(CString, CString)>,
    options: Vec<CString>,
    grid: Vec<sys::tilert_expr>,
    block: Vec<sys::tilert_expr>,
    cluster: Vec<sys::tilert_expr>,
    shared_bytes: sys::tilert_expr,
}

impl<'b> SourceKernel<'b> {
    /// `language`: "cuda", "hip" or "llvm"; `entry`: the symbol.
    pub fn new(builder: Builder<'b>, language: &str, text: &str, entry: &str) -> Self {
        SourceKernel {
            builder,
            language: builder.text(language, "a language"),
            text: builder.text(text, "source text"),
            entry: builder.text(entry, "an entry's name"),
            headers: Vec::new(),
            options: Vec::new(),
            grid: Vec::new(),
            block: Vec::new(),
            cluster: Vec::new(),
            shared_bytes: NO_EXPR,
        }
    }
    /// A virtual header: the only kind of file that an `#include` may name.
    pub fn header(mut self, name: &str, text: &str) -> Self {
        self.headers.push((self.builder.text(name, "a header's name"), self.builder.text(text, "a header's text")));
        self
    }
    /// A compiler option, of the list in docs/security.md.
    pub fn option(mut self, option: &str) -> Self {
        self.options.push(self.builder.text(option, "an option"));
        self
    }
    /// One to three expressions of dims.
    #[track_caller]
    pub fn grid(mut self, extents: impl Values<'b>) -> Self {
        self.grid = extents.ids(self.builder);
        self
    }
    /// One to three; the rest are 1.
    #[track_caller]
    pub fn block(mut self, extents: impl Values<'b>) -> Self {
        self.block = three(self.builder, extents.ids(self.builder));
        self
    }
    /// One to three; the rest are 1.
    #[track_caller]
    pub fn cluster(mut self, extents: impl Values<'b>) -> Self {
        self.cluster = three(self.builder, extents.ids(self.builder));
        self
    }
    /// Dynamic shared memory.
    #[track_caller]
    pub fn shared_bytes(mut self, bytes: impl Value<'b>) -> Self {
        self.shared_bytes = bytes.id(self.builder);
        self
    }
}

fn three<'b>(builder: Builder<'b>, mut ids: Vec<sys::tilert_expr>) -> Vec<sys::tilert_expr> {
    if ids.len() > 3 {
        builder.refuse(format!("{} extents of a block or cluster: at most 3", ids.len()));
        ids.truncate(3);
    }
    while ids.len() < 3 {
        ids.push(1.id(builder));
    }
    ids
}

/// How a device function takes an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Passing {
    /// A value.
    Value = sys::TILERT_BY_VALUE,
    /// The address of an element that is read.
    Read = sys::TILERT_BY_READ_POINTER,
    /// Of one that is written.
    Write = sys::TILERT_BY_WRITE_POINTER,
    /// Of one that is read and written.
    Update = sys::TILERT_BY_UPDATE_POINTER,
}

/// A parameter of a device function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameter(pub DType, pub Passing);

/// A device function of the builder that declared it.
#[derive(Clone, Copy)]
pub struct DeviceFunction<'b> {
    builder: Builder<'b>,
    id: sys::tilert_function,
    gives: bool,
}

/// An operand of a call.
#[derive(Clone, Copy)]
pub enum Input<'b> {
    /// By value.
    Value(Expr<'b>),
    /// One element, by pointer.
    Place(Region<'b>),
}

impl<'b> DeviceFunction<'b> {
    /// Calls it here, in order with the block's statements; gives what the function gives, known from here on.
    #[track_caller]
    pub fn call(self, operands: &[Input<'b>]) -> Option<Expr<'b>> {
        self.builder.at();
        let places: Vec<Option<sys::tilert_region>> = operands
            .iter()
            .map(|one| match one {
                Input::Place(region) => Some(region.raw()),
                Input::Value(_) => None,
            })
            .collect();
        let raw: Vec<sys::tilert_operand> = operands
            .iter()
            .zip(&places)
            .map(|(one, place)| sys::tilert_operand {
                value: if let Input::Value(value) = one { value.id } else { NO_EXPR },
                place: super::tiles::optional(place),
            })
            .collect();
        let mut result = NO_EXPR;
        let to = if self.gives { &mut result as *mut _ } else { std::ptr::null_mut() };
        // SAFETY: a live builder; lists that live through the call, which copies them.
        unsafe { sys::tilert_builder_call_device(self.builder.raw(), self.id, list(&raw), raw.len() as u32, to) };
        self.gives.then(|| Expr::new(self.builder, result))
    }
}

impl<'b> Builder<'b> {
    /// A whole kernel of source text.
    #[track_caller]
    pub fn source_kernel(self, kernel: SourceKernel<'b>) {
        self.at();
        let headers: Vec<sys::tilert_header> = kernel
            .headers
            .iter()
            .map(|(name, text)| sys::tilert_header { name: name.as_ptr(), text: text.as_ptr() })
            .collect();
        let options: Vec<_> = kernel.options.iter().map(|option| option.as_ptr()).collect();
        let raw = sys::tilert_source_kernel {
            grid_rank: kernel.grid.len() as u32,
            language: kernel.language.as_ptr(),
            text: kernel.text.as_ptr(),
            entry: kernel.entry.as_ptr(),
            headers: list(&headers),
            header_count: headers.len() as u32,
            option_count: options.len() as u32,
            options: list(&options),
            grid: list(&kernel.grid),
            block: list(&kernel.block),
            cluster: list(&kernel.cluster),
            shared_bytes: kernel.shared_bytes,
            ..Default::default()
        };
        // SAFETY: as above.
        unsafe { sys::tilert_builder_source_kernel(self.raw(), &raw) };
    }

    /// Statements of source text in the middle of a kernel: `$0`, `$1`, ... are the places, then the values.
    #[track_caller]
    pub fn inline_source(self, language: &str, text: &str, places: &[Region<'b>], values: impl Values<'b>) {
        let values = values.ids(self);
        let (language, text) = (self.text(language, "a language"), self.text(text, "source text"));
        self.at();
        let regions: Vec<sys::tilert_region> = places.iter().map(Region::raw).collect();
        let raw = sys::tilert_inline_source {
            place_count: regions.len() as u32,
            language: language.as_ptr(),
            text: text.as_ptr(),
            places: list(&regions),
            values: list(&values),
            value_count: values.len() as u32,
            ..Default::default()
        };
        // SAFETY: as above.
        unsafe { sys::tilert_builder_inline_source(self.raw(), &raw) };
    }

    /// Declares a function of one's own: a text for each language of the targets that the program is compiled for.
    #[track_caller]
    pub fn device_function(
        self,
        name: &str,
        parameters: &[Parameter],
        result: Option<DType>,
        texts: &[(&str, &str)],
    ) -> DeviceFunction<'b> {
        let name = Some(self.text(name, "a function's name"));
        self.at();
        let owned: Vec<(CString, CString)> = texts
            .iter()
            .map(|(language, text)| (self.text(language, "a language"), self.text(text, "source text")))
            .collect();
        let texts: Vec<sys::tilert_source_text> = owned
            .iter()
            .map(|(language, text)| sys::tilert_source_text { language: language.as_ptr(), text: text.as_ptr() })
            .collect();
        let parameters: Vec<sys::tilert_function_parameter> = parameters
            .iter()
            .map(|one| sys::tilert_function_parameter { dtype: one.0 as i32, passing: one.1 as i32 })
            .collect();
        let raw = sys::tilert_device_function {
            result: result.map_or(0, |dtype| dtype as i32),
            name: pointer(&name),
            parameters: list(&parameters),
            texts: list(&texts),
            parameter_count: parameters.len() as u32,
            text_count: texts.len() as u32,
            ..Default::default()
        };
        // SAFETY: as above.
        let id = unsafe { sys::tilert_builder_device_function(self.raw(), &raw) };
        DeviceFunction { builder: self, id, gives: result.is_some() }
    }
}
