//! What is loaded on a device and can be launched.

use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Arc;

use tilert_sys as sys;

use crate::argument::{pack_to, Argument};
use crate::callbacks::Threads;
use crate::diagnostics::{on_entry, Diagnostic, Reader};
use crate::error::{check, Error, Result, Status};
use crate::handle::Handle;
use crate::kernel::{Kernel, WorkspaceInfo};
use crate::launch::{Launch, LaunchOptions, Stream};
use crate::program::{place_dims, Use};
use crate::workspace::{Workspace, Zeroed};

const MOST: usize = 64;

/// A kernel's variants, loaded on one device. A launch picks by the dims; it never compiles, loads, allocates, locks or
/// synchronizes.
#[derive(Clone)]
pub struct Loaded {
    handle: Handle<sys::tilert_loaded>,
    // Behind the handle: what the library calls lives longer.
    shared: Arc<Shared>,
}

struct Shared {
    uses: Vec<Use>,
    dims: u32,
    kernel: Kernel,
    threads: Option<Arc<Threads>>,
}

impl Loaded {
    pub(crate) fn new(handle: Handle<sys::tilert_loaded>, kernel: Kernel, threads: Option<Arc<Threads>>) -> Loaded {
        let uses = kernel.program().uses();
        let dims = kernel.program().dim_count();
        Loaded { handle, shared: Arc::new(Shared { uses, dims, kernel, threads }) }
    }

    /// The handle of the C interface; it stays this object's.
    #[inline]
    pub fn as_raw(&self) -> *mut sys::tilert_loaded {
        self.handle.raw()
    }

    /// The kernel that it is of.
    pub fn kernel(&self) -> &Kernel {
        &self.shared.kernel
    }

    pub(crate) fn dims(&self) -> usize {
        self.shared.dims as usize
    }

    #[inline]
    pub(crate) fn parameter(&self, index: usize) -> Option<Use> {
        self.shared.uses.get(index).copied()
    }

    /// Goes on with the panic of an executor.
    #[inline]
    pub(crate) fn resume(&self) {
        if let Some(threads) = &self.shared.threads {
            threads.resume();
        }
    }

    /// Launches. `dims`: ordinals and values of those that the arguments' shapes do not tell. On a CPU it has run when this
    /// returns; on a GPU it is in `stream`, and addresses are used until it has run.
    #[inline]
    pub fn launch(&self, stream: Stream, arguments: &[Argument<'_>], dims: &[(u32, i64)]) -> Result<()> {
        self.launch_with(stream, arguments, dims, &mut LaunchOptions::new())
    }

    /// The same with a workspace, attributes, a record.
    pub fn launch_with(
        &self,
        stream: Stream,
        arguments: &[Argument<'_>],
        dims: &[(u32, i64)],
        options: &mut LaunchOptions<'_>,
    ) -> Result<()> {
        if arguments.len() > MOST || self.dims() > MOST {
            let words = "more than 64 arguments or dims: bind them (Loaded::bind), which has no such limit";
            return Err(Error::new(Status::InvalidArgument, words));
        }
        let mut raw = [MaybeUninit::<sys::tilert_argument>::uninit(); MOST];
        for (index, argument) in arguments.iter().enumerate() {
            pack_to(&mut raw[index], argument, index, self.parameter(index))?;
        }
        let mut sizes = MaybeUninit::<[i64; MOST]>::uninit();
        // SAFETY: as many as there are dims, at most MOST, written before they are read.
        let sizes = unsafe {
            (0..self.dims()).for_each(|dim| (sizes.as_mut_ptr() as *mut i64).add(dim).write(-1));
            std::slice::from_raw_parts_mut(sizes.as_mut_ptr() as *mut i64, self.dims())
        };
        place_dims(dims, sizes)?;
        // Its message is read where a launch was refused, which fills it.
        let mut failure = MaybeUninit::<sys::tilert_launch_failure>::uninit();
        let mut info = options.info(self)?;
        // SAFETY: a field of ours; what is not written is not read.
        unsafe {
            std::ptr::addr_of_mut!((*failure.as_mut_ptr()).struct_size)
                .write(std::mem::size_of::<sys::tilert_launch_failure>() as u32);
        }
        info.loaded = self.as_raw();
        info.stream = stream.raw();
        info.arguments = raw.as_ptr() as *const sys::tilert_argument;
        info.argument_count = arguments.len() as u32;
        info.dims = sizes.as_ptr();
        info.dim_count = self.shared.dims;
        info.failure = failure.as_mut_ptr();
        // SAFETY: all lives through the call. Host memory is borrowed, checked against its shape, which the library checks
        // against the parameter; addresses and streams are their callers' word.
        let status = unsafe { sys::tilert_launch(&info) };
        self.resume();
        if status == sys::TILERT_OK {
            return Ok(());
        }
        // SAFETY: filled in by the refusal.
        Err(Error::of_launch(status, unsafe { failure.assume_init_ref() }))
    }

    /// Checks and packs once, for launches whose arguments stay the same.
    pub fn bind<'a>(&self, arguments: Vec<Argument<'a>>, dims: &[(u32, i64)]) -> Result<Launch<'a>> {
        Launch::new(self.clone(), arguments, dims, LaunchOptions::new())
    }

    /// The same with a workspace, attributes, a record.
    pub fn bind_with<'a>(
        &self,
        arguments: Vec<Argument<'a>>,
        dims: &[(u32, i64)],
        options: LaunchOptions<'a>,
    ) -> Result<Launch<'a>> {
        Launch::new(self.clone(), arguments, dims, options)
    }

    /// What launches with dims up to these need, whichever variant is picked.
    pub fn workspace_info(&self, max_dims: &[(u32, i64)]) -> Result<WorkspaceInfo> {
        let mut all = WorkspaceInfo::default();
        for variant in self.shared.kernel.variants() {
            all.cover(&variant.workspace_info(max_dims)?);
        }
        Ok(all)
    }

    /// A workspace in host memory, for CPUs: zeroed, as large as launches with dims up to these need.
    pub fn workspace(&self, max_dims: &[(u32, i64)]) -> Result<Workspace> {
        Workspace::host(self.clone(), self.workspace_info(max_dims)?)
    }

    /// A plan of a persistent kernel with a tile cost: which block does which tiles. Empty: nothing follows a plan here.
    /// `max_blocks`: as the launch's attribute; 0: without.
    pub fn plan(&self, dims: &[(u32, i64)], max_blocks: u32) -> Result<Vec<u8>> {
        let mut sizes = vec![-1i64; self.dims()];
        place_dims(dims, &mut sizes)?;
        let call = |buffer, bytes: &mut u64| {
            let mut error = std::ptr::null_mut();
            let count = sizes.len() as u32;
            // SAFETY: a live handle; a buffer of `bytes`.
            let status = unsafe {
                sys::tilert_plan(self.as_raw(), sizes.as_ptr(), count, max_blocks, buffer, bytes, &mut error)
            };
            check(status, error)
        };
        let mut bytes = 0u64;
        call(std::ptr::null_mut(), &mut bytes)?;
        if bytes == 0 {
            return Ok(Vec::new());
        }
        let buffer = Zeroed::new(bytes as usize, 64)?;
        call(buffer.pointer(), &mut bytes)?;
        Ok(buffer.bytes()[..bytes as usize].to_vec())
    }

    /// What print and assert of launches with this workspace left, which is in host memory.
    pub fn diagnostics(&self, workspace: &Workspace) -> Result<Vec<Diagnostic>> {
        let bytes = workspace.bytes().ok_or_else(|| {
            let words = "a workspace in device memory: copy its first bytes and use read_diagnostics";
            Error::new(Status::InvalidArgument, words)
        })?;
        let mut out = Vec::new();
        self.read_diagnostics(bytes, |entry| out.push(entry))?;
        Ok(out)
    }

    /// The same from a host copy of a workspace's first `zero_bytes`, made after the launches have ended.
    pub fn read_diagnostics(&self, bytes: &[u8], mut on_each: impl FnMut(Diagnostic)) -> Result<()> {
        // As aligned as the workspace itself.
        let mut copy = Zeroed::new(bytes.len(), 64)?;
        copy.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        let mut reader = Reader::new(&mut on_each);
        let mut error = std::ptr::null_mut();
        let user = reader.user();
        // SAFETY: a live handle, `bytes.len()` bytes, a reader that lives through the call.
        let status = unsafe {
            let size = bytes.len() as u64;
            sys::tilert_diagnostics_read(self.as_raw(), copy.pointer(), size, Some(on_entry), user, &mut error)
        };
        let result = check(status, error);
        reader.resume();
        result
    }

    /// The caller's word that no captured graph remains that launches this.
    ///
    /// # Safety
    /// It is so: what is unloaded afterwards is no longer launched.
    pub unsafe fn unpin(&self) -> Result<()> {
        let mut error = std::ptr::null_mut();
        let status = sys::tilert_unpin(self.as_raw(), &mut error);
        check(status, error)
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Loaded").field(&self.shared.kernel).finish()
    }
}
