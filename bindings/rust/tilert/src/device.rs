//! Devices: this machine's CPU, a CUDA context, an AMD GPU.

use std::fmt;
use std::sync::Arc;

use tilert_sys as sys;

use crate::callbacks::{Events, Threads};
use crate::error::{check, text_of, Result};
use crate::handle::Handle;
use crate::sys::c_void;

/// Kinds of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum DeviceKind {
    /// This machine's CPU.
    Cpu = sys::TILERT_DEVICE_CPU,
    /// An NVIDIA GPU.
    Cuda = sys::TILERT_DEVICE_CUDA,
    /// An AMD GPU.
    Hip = sys::TILERT_DEVICE_HIP,
}

/// One piece of work of an [`Executor`]: `task.run(i)` for each i below the count.
#[derive(Clone, Copy)]
pub struct Task<'a>(pub(crate) &'a (dyn Fn(u32) + Sync));

impl Task<'_> {
    /// Does the part of that number; a second time it does nothing.
    pub fn run(&self, index: u32) {
        (self.0)(index)
    }
}

/// The caller's threads, in place of the library's pool. A closure of the same form is one.
pub trait Executor: Send + Sync {
    /// Runs `task` for each number from 0 to `count` - 1, on any threads, and returns when all are done.
    fn run(&self, count: u32, task: Task<'_>);

    /// Threads that may run at once; 0: unknown.
    fn width(&self) -> u32 {
        0
    }
}

impl<F: Fn(u32, Task<'_>) + Send + Sync> Executor for F {
    fn run(&self, count: u32, task: Task<'_>) {
        self(count, task)
    }
}

/// How a device is opened. What is not set is the default.
pub struct DeviceOptions {
    raw: sys::tilert_device_options,
    uuid: Option<[u8; 16]>,
    driver_path: Option<String>,
    executor: Option<Box<dyn Executor>>,
}

impl DeviceOptions {
    fn new(kind: DeviceKind) -> Self {
        let raw = sys::tilert_device_options { kind: kind as i32, ..Default::default() };
        DeviceOptions { raw, uuid: None, driver_path: None, executor: None }
    }
    /// This machine's CPU.
    pub fn cpu() -> Self {
        Self::new(DeviceKind::Cpu)
    }
    /// The primary context of the CUDA device of that number.
    pub fn cuda(ordinal: i32) -> Self {
        let mut out = Self::new(DeviceKind::Cuda);
        out.raw.ordinal = ordinal;
        out
    }
    /// The primary context of the CUDA device with that UUID.
    pub fn cuda_uuid(uuid: [u8; 16]) -> Self {
        DeviceOptions { uuid: Some(uuid), ..Self::new(DeviceKind::Cuda) }
    }
    /// The calling thread's current CUDA context.
    pub fn cuda_current() -> Self {
        let mut out = Self::new(DeviceKind::Cuda);
        out.raw.binding = sys::TILERT_BIND_CURRENT;
        out
    }
    /// A given CUDA context.
    ///
    /// # Safety
    /// `native` is a `CUcontext` that outlives the device and all that is loaded on it.
    pub unsafe fn cuda_given(native: *mut c_void) -> Self {
        let mut out = Self::new(DeviceKind::Cuda);
        out.raw.binding = sys::TILERT_BIND_GIVEN;
        out.raw.native = native;
        out
    }
    /// The AMD GPU of that number.
    pub fn hip(ordinal: i32) -> Self {
        let mut out = Self::new(DeviceKind::Hip);
        out.raw.ordinal = ordinal;
        out
    }
    /// The calling thread's current HIP device.
    pub fn hip_current() -> Self {
        let mut out = Self::new(DeviceKind::Hip);
        out.raw.binding = sys::TILERT_BIND_CURRENT;
        out
    }
    /// CPU: the size of the library's pool; 0: by affinity and cgroup.
    pub fn threads(mut self, count: u32) -> Self {
        self.raw.threads = count;
        self
    }
    /// CPU: the caller's threads in place of the pool.
    pub fn executor(mut self, executor: impl Executor + 'static) -> Self {
        self.executor = Some(Box::new(executor));
        self
    }
    /// GPUs: the driver's library, an absolute path.
    pub fn driver_path(mut self, path: &str) -> Self {
        self.driver_path = Some(path.to_string());
        self
    }
}

/// What the choices of the compiler may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceClass {
    /// Of the context; CPU: threads.
    pub multiprocessors: u32,
    /// Of a block; CPU: 0.
    pub shared_bytes: u64,
    /// Of the second-level cache.
    pub l2_bytes: u64,
}

impl DeviceClass {
    pub(crate) fn raw(&self) -> sys::tilert_device_class {
        sys::tilert_device_class {
            multiprocessors: self.multiprocessors,
            shared_bytes: self.shared_bytes,
            l2_bytes: self.l2_bytes,
            ..Default::default()
        }
    }
}

/// What a device is.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// Its kind.
    pub kind: DeviceKind,
    /// Its name.
    pub name: String,
    /// What kernels for it are made for: "sm_90a", "gfx942", "cpu:x86-64-v3".
    pub target: String,
    /// CUDA: as the driver says it; CPU: 0.
    pub driver_version: u32,
    /// As the driver numbers it.
    pub ordinal: i32,
    /// What the compiler's choices depend on.
    pub device_class: DeviceClass,
}

/// A device that kernels are prepared for.
#[derive(Clone)]
pub struct Device {
    handle: Handle<sys::tilert_device>,
    // Behind the handle: what the library calls lives longer.
    pub(crate) threads: Option<Arc<Threads>>,
    _events: Option<Arc<Events>>,
}

impl Device {
    pub(crate) fn open(
        context: *mut sys::tilert_context,
        mut options: DeviceOptions,
        events: Option<Arc<Events>>,
    ) -> Result<Device> {
        let driver = crate::error::optional_c_string(options.driver_path.as_deref(), "the driver's path")?;
        let threads = options.executor.take().map(|executor| Arc::new(Threads::new(executor)));
        let executor = threads.as_ref().map(|threads| threads.raw());
        let mut raw = options.raw;
        raw.uuid = options.uuid.as_ref().map_or(std::ptr::null(), |uuid| uuid.as_ptr());
        raw.executor = executor.as_ref().map_or(std::ptr::null(), |executor| executor as *const _);
        raw.driver_path = crate::error::pointer_of(&driver);
        // SAFETY: a live context; what `raw` points to lives through the call, which copies it.
        let handle = Handle::of(|device, error| unsafe { sys::tilert_device_open(context, &raw, device, error) })?;
        Ok(Device { handle, threads, _events: events })
    }

    /// The handle of the C interface; it stays this object's.
    pub fn as_raw(&self) -> *mut sys::tilert_device {
        self.handle.raw()
    }

    /// What it is.
    pub fn info(&self) -> Result<DeviceInfo> {
        let mut raw = sys::tilert_device_info::default();
        // SAFETY: a live handle; the strings live as long as it.
        check(unsafe { sys::tilert_device_get_info(self.as_raw(), &mut raw) }, std::ptr::null_mut())?;
        let kind = match raw.kind {
            sys::TILERT_DEVICE_CUDA => DeviceKind::Cuda,
            sys::TILERT_DEVICE_HIP => DeviceKind::Hip,
            _ => DeviceKind::Cpu,
        };
        let class = raw.device_class;
        Ok(DeviceInfo {
            kind,
            name: unsafe { text_of(raw.name) },
            target: unsafe { text_of(raw.target) },
            driver_version: raw.driver_version,
            ordinal: raw.ordinal,
            device_class: DeviceClass {
                multiprocessors: class.multiprocessors,
                shared_bytes: class.shared_bytes,
                l2_bytes: class.l2_bytes,
            },
        })
    }

    /// Unloads what was dropped, on this device, and is not pinned by a capture; gives how many. May wait for kernels.
    pub fn trim(&self) -> Result<u32> {
        let (mut count, mut error) = (0, std::ptr::null_mut());
        // SAFETY: a live handle.
        let status = unsafe { sys::tilert_trim(self.as_raw(), &mut count, &mut error) };
        check(status, error).map(|()| count)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.info().map(|info| info.target).unwrap_or_default()).finish()
    }
}
