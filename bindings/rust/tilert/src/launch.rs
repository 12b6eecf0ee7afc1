//! Launches: streams, options, and a launch whose arguments are bound.

use tilert_sys as sys;

use crate::argument::{pack, Argument};
use crate::dtype::Element;
use crate::error::{check, Error, Result, Status};
use crate::loaded::Loaded;
use crate::program::place_dims;
use crate::sys::c_void;
use crate::workspace::{Record, Workspace, Zeroed};

/// A stream of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(*mut c_void);

// SAFETY: an address; whoever made it answers for its use from any thread.
unsafe impl Send for Stream {}
unsafe impl Sync for Stream {}

impl Stream {
    /// Of a CPU; of a GPU the legacy stream of the device's context.
    #[inline]
    pub const fn null() -> Stream {
        Stream(std::ptr::null_mut())
    }

    /// A stream of the caller's, which is used as it is.
    ///
    /// # Safety
    /// A `CUstream` (`hipStream_t`) of the device's context that lives as long as launches use it.
    pub const unsafe fn from_raw(raw: *mut c_void) -> Stream {
        Stream(raw)
    }

    #[inline]
    pub(crate) fn raw(self) -> *mut c_void {
        self.0
    }
}

/// What a launch asks of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// May overlap the grid before it, where the kernel waits for that.
    Pdl,
    /// As the driver numbers priorities.
    Priority(i64),
    /// All blocks resident at once.
    Cooperative,
    /// Persistent kernels loop on at most so many blocks.
    MaxBlocks(i64),
}

impl Attribute {
    fn raw(self) -> sys::tilert_launch_attribute {
        let (id, value) = match self {
            Attribute::Pdl => (sys::TILERT_ATTRIBUTE_PDL, 1),
            Attribute::Priority(value) => (sys::TILERT_ATTRIBUTE_PRIORITY, value),
            Attribute::Cooperative => (sys::TILERT_ATTRIBUTE_COOPERATIVE, 1),
            Attribute::MaxBlocks(value) => (sys::TILERT_ATTRIBUTE_MAX_BLOCKS, value),
        };
        sys::tilert_launch_attribute { id, reserved: 0, value }
    }
}

/// What a launch has beside its arguments. What is not set is the default.
#[derive(Default)]
pub struct LaunchOptions<'a> {
    workspace: Option<&'a mut Workspace>,
    record: Option<&'a mut Record>,
    attributes: Vec<sys::tilert_launch_attribute>,
    flags: u32,
}

impl<'a> LaunchOptions<'a> {
    /// None set.
    #[inline]
    pub fn new() -> Self {
        LaunchOptions { workspace: None, record: None, attributes: Vec::new(), flags: 0 }
    }
    /// What [`Loaded::workspace`] made.
    pub fn workspace(mut self, workspace: &'a mut Workspace) -> Self {
        self.workspace = Some(workspace);
        self
    }
    /// Keeps tensor maps between launches.
    pub fn record(mut self, record: &'a mut Record) -> Self {
        self.record = Some(record);
        self
    }
    /// Asks something of the driver.
    pub fn attribute(mut self, attribute: Attribute) -> Self {
        self.attributes.push(attribute.raw());
        self
    }
    /// Asks the driver about each pointer: slow, and not while a stream is captured.
    pub fn debug_pointers(mut self) -> Self {
        self.flags |= sys::TILERT_LAUNCH_DEBUG_POINTERS;
        self
    }

    /// Its part of the C form; it points into `self`.
    #[inline]
    pub(crate) fn info(&mut self, loaded: &Loaded) -> Result<sys::tilert_launch_info> {
        let mut info = sys::tilert_launch_info { flags: self.flags, ..Default::default() };
        if let Some(workspace) = &mut self.workspace {
            let (data, bytes) = workspace.parts(loaded)?;
            info.workspace = data;
            info.workspace_bytes = bytes;
        }
        if let Some(record) = &mut self.record {
            let (data, bytes) = record.parts();
            info.record = data;
            info.record_bytes = bytes;
        }
        if !self.attributes.is_empty() {
            info.attributes = self.attributes.as_ptr();
            info.attribute_count = self.attributes.len() as u32;
        }
        Ok(info)
    }
}

/// A launch whose arguments are bound: each [`run`](Launch::run) is one call of the library. It owns the borrows of its
/// arguments; [`slice`](Launch::slice) reads host memory between runs.
pub struct Launch<'a> {
    loaded: Loaded,
    arguments: Vec<Argument<'a>>,
    // What `info` points to: memory of vectors that never grow.
    raw: Vec<sys::tilert_argument>,
    dims: Vec<i64>,
    failure: Vec<sys::tilert_launch_failure>,
    options: LaunchOptions<'a>,
    info: sys::tilert_launch_info,
}

// SAFETY: its parts are Send, and its pointers lead to them. Not Sync: a launch's memory belongs to one thread at a time.
unsafe impl Send for Launch<'_> {}

/// What a launch would hand to the driver.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The `CUfunction`; CPU: NULL.
    pub function: *mut c_void,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// Of a block.
    pub shared_bytes: u32,
    /// Kernels of the program.
    pub kernel_count: u32,
    /// The parameters' bytes, at their offsets.
    pub parameters: Vec<u8>,
    /// Where each parameter begins.
    pub parameter_offsets: Vec<u32>,
}

impl<'a> Launch<'a> {
    pub(crate) fn new(
        loaded: Loaded,
        arguments: Vec<Argument<'a>>,
        dims: &[(u32, i64)],
        mut options: LaunchOptions<'a>,
    ) -> Result<Launch<'a>> {
        let mut raw = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            raw.push(pack(argument, index, loaded.parameter(index))?);
        }
        let mut sizes = vec![-1; loaded.dims()];
        place_dims(dims, &mut sizes)?;
        let info = options.info(&loaded)?;
        let failure = vec![sys::tilert_launch_failure::default()];
        let mut out = Launch { loaded, arguments, raw, dims: sizes, failure, options, info };
        out.info.loaded = out.loaded.as_raw();
        out.info.arguments = out.raw.as_ptr();
        out.info.argument_count = out.raw.len() as u32;
        out.info.dims = out.dims.as_ptr();
        out.info.dim_count = out.dims.len() as u32;
        out.info.failure = out.failure.as_mut_ptr();
        Ok(out)
    }

    /// Launches. On a CPU it has run when this returns.
    #[inline]
    pub fn run(&mut self, stream: Stream) -> Result<()> {
        self.info.stream = stream.raw();
        // SAFETY: as `Loaded::launch_with`; what `info` points to is part of this object.
        let status = unsafe { sys::tilert_launch(&self.info) };
        self.loaded.resume();
        if status == sys::TILERT_OK {
            Ok(())
        } else {
            Err(self.refused(status))
        }
    }

    /// Plans this launch's tiles by a kernel, into its workspace, on the stream.
    pub fn plan(&mut self, stream: Stream) -> Result<()> {
        self.info.stream = stream.raw();
        // SAFETY: as above.
        let status = unsafe { sys::tilert_plan_launch(&self.info) };
        self.loaded.resume();
        if status == sys::TILERT_OK {
            Ok(())
        } else {
            Err(self.refused(status))
        }
    }

    #[cold]
    fn refused(&self, status: sys::tilert_status) -> Error {
        Error::of_launch(status, &self.failure[0])
    }

    /// Sets a dim, by its ordinal; -1: from the shapes.
    pub fn set_dim(&mut self, ordinal: u32, value: i64) -> Result<()> {
        place_dims(&[(ordinal, value)], &mut self.dims)
    }

    /// Puts another argument in the place of one.
    pub fn set(&mut self, index: usize, argument: Argument<'a>) -> Result<()> {
        let count = self.raw.len();
        let place = self.raw.get_mut(index).ok_or_else(|| none_such(index, count))?;
        pack(&argument, index, self.loaded.parameter(index))?;
        self.arguments[index] = argument;
        *place = pack(&self.arguments[index], index, self.loaded.parameter(index))?;
        Ok(())
    }

    /// Sets a scalar.
    pub fn set_scalar<T: Element>(&mut self, index: usize, value: T) -> Result<()> {
        match self.arguments.get(index) {
            Some(argument) if argument.is_scalar() => self.set(index, Argument::scalar(value)),
            Some(_) => Err(Error::new(Status::InvalidArgument, format!("argument {} is no scalar", index))),
            None => Err(none_such(index, self.raw.len())),
        }
    }

    /// The host memory of an argument, where it has that type.
    pub fn slice<T: Element>(&self, index: usize) -> Option<&[T]> {
        self.arguments.get(index)?.slice()
    }

    /// The host memory of an output, where it has that type.
    pub fn slice_mut<T: Element>(&mut self, index: usize) -> Option<&mut [T]> {
        self.arguments.get_mut(index)?.slice_mut()
    }

    /// The workspace that it was given.
    pub fn workspace(&self) -> Option<&Workspace> {
        self.options.workspace.as_deref()
    }

    /// What kernel `kernel_index` of the program would hand to the driver. Pins what is loaded, as a captured launch does.
    pub fn export(&self, kernel_index: u32) -> Result<Exported> {
        let mut raw = sys::tilert_launch_record { kernel_index, ..Default::default() };
        self.exported(&mut raw)?;
        let bytes = Zeroed::new(raw.parameter_bytes as usize, 64)?;
        let mut offsets = vec![0u32; raw.parameter_count as usize];
        raw.parameters = bytes.pointer();
        raw.parameter_offsets = offsets.as_mut_ptr();
        raw.parameter_offset_count = raw.parameter_count;
        self.exported(&mut raw)?;
        Ok(Exported {
            function: raw.function,
            grid: raw.grid,
            block: raw.block,
            cluster: raw.cluster,
            shared_bytes: raw.shared_bytes,
            kernel_count: raw.kernel_count,
            parameters: bytes.bytes()[..raw.parameter_bytes as usize].to_vec(),
            parameter_offsets: offsets,
        })
    }

    fn exported(&self, raw: &mut sys::tilert_launch_record) -> Result<()> {
        // SAFETY: as `run`; a record whose buffers are as large as it says.
        let status = unsafe { sys::tilert_launch_export(&self.info, raw) };
        if status == sys::TILERT_OK {
            return Ok(());
        }
        if self.failure[0].status == status {
            return Err(self.refused(status));
        }
        check(status, std::ptr::null_mut())
    }
}

fn none_such(index: usize, count: usize) -> Error {
    Error::new(Status::InvalidArgument, format!("argument {} of {}: they are numbered from 0", index, count))
}
