//! The memory of a launch beside its arguments: workspaces and launch records.

use std::alloc::{alloc_zeroed, dealloc, Layout};

use tilert_sys as sys;

use crate::error::{Error, Result, Status};
use crate::kernel::WorkspaceInfo;
use crate::loaded::Loaded;
use crate::sys::c_void;

/// Zeroed host memory of an alignment.
pub(crate) struct Zeroed {
    at: *mut u8,
    layout: Layout,
}

// SAFETY: memory that this object owns alone.
unsafe impl Send for Zeroed {}

impl Zeroed {
    pub(crate) fn new(bytes: usize, alignment: usize) -> Result<Zeroed> {
        let none = || Error::new(Status::OutOfMemory, format!("{} bytes could not be had", bytes));
        let layout = Layout::from_size_align(bytes.max(1), alignment.max(1)).map_err(|_| none())?;
        // SAFETY: a layout of at least a byte.
        let at = unsafe { alloc_zeroed(layout) };
        if at.is_null() {
            return Err(none());
        }
        Ok(Zeroed { at, layout })
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        self.at as *mut c_void
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: owned and initialized.
        unsafe { std::slice::from_raw_parts(self.at, self.layout.size()) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the same, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.layout.size()) }
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.at, self.layout) };
    }
}

enum Memory {
    Host(Zeroed),
    Device(*mut c_void, u64),
}

/// What launches of one kernel keep between them: counters, diagnostics, a plan. Used by one launch in flight at a time.
pub struct Workspace {
    memory: Memory,
    info: WorkspaceInfo,
    // Of whom the bytes are: those of another kernel mean something else.
    loaded: Loaded,
}

// SAFETY: host memory that it owns; a device's by the caller's word. Not Sync: it belongs to one thread at a time.
unsafe impl Send for Workspace {}

impl Workspace {
    pub(crate) fn host(loaded: Loaded, info: WorkspaceInfo) -> Result<Workspace> {
        let size = usize::try_from(info.bytes).unwrap_or(usize::MAX);
        let memory = Memory::Host(Zeroed::new(size, info.alignment.max(64) as usize)?);
        Ok(Workspace { memory, info, loaded })
    }

    /// Device memory as the workspace of launches of `loaded`.
    ///
    /// # Safety
    /// `data` is memory of the device, aligned and as large as `info` (of [`Loaded::workspace_info`]) says, whose first
    /// `zero_bytes` are zero or as launches of `loaded` left them; nothing else uses it while a launch does.
    pub unsafe fn device(loaded: &Loaded, info: WorkspaceInfo, data: *mut c_void) -> Workspace {
        Workspace { memory: Memory::Device(data, info.bytes), info, loaded: loaded.clone() }
    }

    /// How large it is, and what lies where.
    pub fn info(&self) -> WorkspaceInfo {
        self.info
    }

    /// Host memory: its bytes, for [`Loaded::diagnostics`] and one's own eyes.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.memory {
            Memory::Host(memory) => Some(&memory.bytes()[..self.info.bytes as usize]),
            Memory::Device(..) => None,
        }
    }

    /// Host memory: empties the ring of diagnostics and forgets plans.
    pub fn clear(&mut self) {
        if let Memory::Host(memory) = &mut self.memory {
            memory.bytes_mut().fill(0);
        }
    }

    /// Host memory: the plan that launches follow from here on, as [`Loaded::plan`] made it for these dims.
    pub fn follow(&mut self, dims: &[(u32, i64)], max_blocks: u32) -> Result<()> {
        let plan = self.loaded.plan(dims, max_blocks)?;
        let at = self.info.plan_offset as usize;
        match &mut self.memory {
            Memory::Host(memory) if plan.len() as u64 <= self.info.plan_bytes => {
                memory.bytes_mut()[at..at + plan.len()].copy_from_slice(&plan);
                Ok(())
            }
            Memory::Host(_) => Err(Error::new(Status::Shape, "the plan is larger than the workspace's dims allow")),
            Memory::Device(..) => Err(Error::new(
                Status::InvalidArgument,
                "device memory: copy Loaded::plan to plan_offset on your stream",
            )),
        }
    }

    /// Address and size, for launches of `loaded` alone.
    pub(crate) fn parts(&mut self, loaded: &Loaded) -> Result<(*mut c_void, u64)> {
        if self.loaded.as_raw() != loaded.as_raw() {
            return Err(Error::new(Status::InvalidArgument, "the workspace is of another kernel: make one of this"));
        }
        Ok(match &self.memory {
            Memory::Host(memory) => (memory.pointer(), self.info.bytes),
            Memory::Device(data, bytes) => (*data, *bytes),
        })
    }
}

/// Keeps a launch's tensor maps from one launch to the next. Used by one launch at a time.
pub struct Record(Zeroed);

impl Record {
    /// Room for that many tensor maps of a kernel.
    pub fn new(tensor_maps: usize) -> Result<Record> {
        let bytes = tensor_maps.saturating_mul(sys::TILERT_RECORD_ENTRY_BYTES as usize);
        Zeroed::new(bytes, 64).map(Record)
    }

    pub(crate) fn parts(&mut self) -> (*mut c_void, u64) {
        (self.0.pointer(), self.0.bytes().len() as u64)
    }
}
