//! Kernels, their variants, and the work of preparing them.

use std::ffi::CString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tilert_sys as sys;

use crate::callbacks::{Events, Threads};
use crate::device::{Device, DeviceClass};
use crate::error::{c_string, check, optional_c_string, pointer_of, text_of, Result, Status};
use crate::handle::Handle;
use crate::loaded::Loaded;
use crate::program::{place_dims, Program};

/// How a kernel is made of a program. What is not set is the default.
#[derive(Clone, Debug, Default)]
pub struct KernelOptions {
    target: Option<String>,
    device_class: Option<DeviceClass>,
    dims: Vec<(String, Bound)>,
    debug: bool,
}

#[derive(Clone, Debug)]
enum Bound {
    Value(i64),
    Buckets(Vec<(sys::tilert_bucket_kind, i64, i64)>),
}

impl KernelOptions {
    /// None set: for the device that it is prepared for, all dims given at launch.
    pub fn new() -> Self {
        Self::default()
    }
    /// "sm_90a", "gfx942", "cpu", "cpu:x86-64-v3", ...
    pub fn target(mut self, target: &str) -> Self {
        self.target = Some(target.to_string());
        self
    }
    /// What choices may depend on; else the target's default.
    pub fn device_class(mut self, class: DeviceClass) -> Self {
        self.device_class = Some(class);
        self
    }
    /// Gives a dim its value: it is constant in the kernel.
    pub fn dim(mut self, name: &str, value: i64) -> Self {
        self.dims.push((name.to_string(), Bound::Value(value)));
        self
    }
    /// A bucket of a dim: the values from `low` to `high` have a variant of their own.
    pub fn range(self, name: &str, low: i64, high: i64) -> Self {
        self.bucket(name, (sys::TILERT_BUCKET_RANGE, low, high))
    }
    /// A bucket of a dim: the multiples of `of` have a variant of their own.
    pub fn multiple(self, name: &str, of: i64) -> Self {
        self.bucket(name, (sys::TILERT_BUCKET_DIVISOR, of, 0))
    }
    /// Elements and regions of tiles that may leave them are checked: outside is an assertion that does not hold.
    pub fn debug(mut self) -> Self {
        self.debug = true;
        self
    }

    fn bucket(mut self, name: &str, bucket: (sys::tilert_bucket_kind, i64, i64)) -> Self {
        match self.dims.iter_mut().find(|(known, _)| known == name) {
            Some((_, Bound::Buckets(list))) => list.push(bucket),
            _ => self.dims.push((name.to_string(), Bound::Buckets(vec![bucket]))),
        }
        self
    }
}

/// A program for one target, with its table of variants.
#[derive(Clone)]
pub struct Kernel {
    handle: Handle<sys::tilert_kernel>,
    program: Program,
    events: Option<Arc<Events>>,
}

impl Kernel {
    pub(crate) fn create(
        context: *mut sys::tilert_context,
        program: &Program,
        options: &KernelOptions,
        events: Option<Arc<Events>>,
    ) -> Result<Kernel> {
        let target = optional_c_string(options.target.as_deref(), "the target")?;
        let class = options.device_class.map(|class| class.raw());
        let mut names: Vec<CString> = Vec::new();
        let mut buckets: Vec<Vec<sys::tilert_bucket>> = Vec::new();
        for (name, bound) in &options.dims {
            names.push(c_string(name, "a dim's name")?);
            buckets.push(match bound {
                Bound::Value(_) => Vec::new(),
                Bound::Buckets(list) => {
                    list.iter().map(|&(kind, a, b)| sys::tilert_bucket { kind, reserved: 0, a, b }).collect()
                }
            });
        }
        let dims: Vec<sys::tilert_dim_binding> = (0..names.len())
            .map(|i| sys::tilert_dim_binding {
                name: names[i].as_ptr(),
                value: if let Bound::Value(value) = options.dims[i].1 { value } else { 0 },
                buckets: crate::builder::list(&buckets[i]),
                bucket_count: buckets[i].len() as u32,
                reserved: 0,
            })
            .collect();
        let raw = sys::tilert_kernel_options {
            dim_count: dims.len() as u32,
            dims: crate::builder::list(&dims),
            target: pointer_of(&target),
            device_class: class.as_ref().map_or(std::ptr::null(), |class| class as *const _),
            flags: if options.debug { sys::TILERT_KERNEL_DEBUG } else { 0 },
            ..Default::default()
        };
        // SAFETY: live handles; what `raw` points to lives through the call, which copies it.
        let handle = Handle::of(|kernel, error| unsafe {
            sys::tilert_kernel_create(context, program.as_raw(), &raw, kernel, error)
        })?;
        Ok(Kernel { handle, program: program.clone(), events })
    }

    /// The handle of the C interface; it stays this object's.
    pub fn as_raw(&self) -> *mut sys::tilert_kernel {
        self.handle.raw()
    }

    /// The program that it is of.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Compiles every variant, or fetches it from the cache, for the kernel's target; needs no device.
    pub fn compile(&self) -> Result<()> {
        let mut error = std::ptr::null_mut();
        // SAFETY: a live handle; so below.
        let status = unsafe { sys::tilert_kernel_compile(self.as_raw(), &mut error) };
        let result = check(status, error);
        self.resume();
        result
    }

    /// Compiles or fetches, and loads on the device: afterwards a launch is one driver call.
    pub fn prepare(&self, device: &Device) -> Result<Loaded> {
        self.prepare_raw(device, &sys::tilert_prepare_options::default())
    }

    /// Only the variants that take these dims.
    pub fn prepare_dims(&self, device: &Device, dims: &[(u32, i64)]) -> Result<Loaded> {
        let mut sizes = vec![-1; self.program.dim_count() as usize];
        place_dims(dims, &mut sizes)?;
        self.prepare_raw(device, &prepare_options(&sizes))
    }

    fn prepare_raw(&self, device: &Device, options: &sys::tilert_prepare_options) -> Result<Loaded> {
        let made = Handle::of(|loaded, error| unsafe {
            sys::tilert_prepare(self.as_raw(), device.as_raw(), options, loaded, error)
        });
        let loaded = made.map(|handle| Loaded::new(handle, self.clone(), device.threads.clone()));
        self.resume();
        loaded
    }

    /// The same in the background. This version refuses, and says what to do instead.
    pub fn submit(&self, device: &Device) -> Result<Job> {
        let options = sys::tilert_prepare_options::default();
        let handle = Handle::of(|job, error| unsafe {
            sys::tilert_prepare_submit(self.as_raw(), device.as_raw(), &options, job, error)
        });
        self.resume();
        Ok(Job { handle: handle?, kernel: self.clone(), threads: device.threads.clone() })
    }

    /// The variants. What only compiling knows is empty before.
    pub fn variants(&self) -> Vec<Variant> {
        let count = unsafe { sys::tilert_kernel_variant_count(self.as_raw()) };
        (0..count).filter_map(|index| self.variant(index).ok()).collect()
    }

    /// One of them.
    pub fn variant(&self, index: u32) -> Result<Variant> {
        let handle = Handle::of(|variant, _| unsafe { sys::tilert_kernel_variant(self.as_raw(), index, variant) })?;
        Ok(Variant { handle, kernel: self.clone() })
    }

    fn resume(&self) {
        if let Some(events) = &self.events {
            events.resume();
        }
    }
}

fn prepare_options(sizes: &[i64]) -> sys::tilert_prepare_options {
    let (dims, dim_count) = (crate::builder::list(sizes), sizes.len() as u32);
    sys::tilert_prepare_options { dims, dim_count, ..Default::default() }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kernel").field(&self.program).finish()
    }
}

/// Work in the background.
#[derive(Clone)]
pub struct Job {
    handle: Handle<sys::tilert_job>,
    kernel: Kernel,
    threads: Option<Arc<Threads>>,
}

impl Job {
    /// Whether it is done; an error where it has failed.
    pub fn poll(&self) -> Result<bool> {
        match check(unsafe { sys::tilert_job_poll(self.handle.raw()) }, std::ptr::null_mut()) {
            Ok(()) => Ok(true),
            Err(error) if error.status() == Status::NotReady => Ok(false),
            Err(error) => Err(error),
        }
    }
    /// Waits at most so long; none: for ever. Then [`Status::Timeout`].
    pub fn wait(&self, timeout: Option<Duration>) -> Result<()> {
        let most = timeout.map_or(u64::MAX, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let result = check(unsafe { sys::tilert_job_wait(self.handle.raw(), most) }, std::ptr::null_mut());
        self.kernel.resume();
        result
    }
    /// Asks it to end.
    pub fn cancel(&self) -> Result<()> {
        check(unsafe { sys::tilert_job_cancel(self.handle.raw()) }, std::ptr::null_mut())
    }
    /// What it made, when it is done.
    pub fn result(&self) -> Result<Loaded> {
        let handle = Handle::of(|loaded, error| unsafe { sys::tilert_job_result(self.handle.raw(), loaded, error) })?;
        Ok(Loaded::new(handle, self.kernel.clone(), self.threads.clone()))
    }
}

/// What a variant is.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // as tilert_variant_info documents them
pub struct VariantInfo {
    pub compiled: bool,
    pub target: String,
    pub request_key: String,
    pub binary_key: String,
    pub conditions: String,
    pub configuration: String,
    pub log: String,
    pub compile_time: Duration,
    pub binary_bytes: u64,
    pub registers: u32,
    pub spill_bytes: u32,
    pub threads: u32,
    pub shared_bytes: u32,
}

/// What launches need beside their arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceInfo {
    /// All of it.
    pub bytes: u64,
    /// Of its address.
    pub alignment: u32,
    /// From its start on, zero before the first launch.
    pub zero_bytes: u64,
    /// Where a plan goes.
    pub plan_offset: u64,
    /// The plan's size; 0: nothing follows a plan.
    pub plan_bytes: u64,
}

impl WorkspaceInfo {
    /// Grows to what the other needs, too.
    pub(crate) fn cover(&mut self, other: &WorkspaceInfo) {
        self.bytes = self.bytes.max(other.bytes);
        self.alignment = self.alignment.max(other.alignment);
        self.zero_bytes = self.zero_bytes.max(other.zero_bytes);
        self.plan_offset = self.plan_offset.max(other.plan_offset);
        self.plan_bytes = self.plan_bytes.max(other.plan_bytes);
    }
}

/// One specialization of a kernel.
#[derive(Clone)]
pub struct Variant {
    handle: Handle<sys::tilert_variant>,
    kernel: Kernel,
}

impl Variant {
    /// The handle of the C interface; it stays this object's.
    pub fn as_raw(&self) -> *mut sys::tilert_variant {
        self.handle.raw()
    }

    /// What it is.
    pub fn info(&self) -> Result<VariantInfo> {
        let mut raw = sys::tilert_variant_info::default();
        // SAFETY: a live handle, whose strings live as long as it; so below.
        check(unsafe { sys::tilert_variant_get_info(self.as_raw(), &mut raw) }, std::ptr::null_mut())?;
        let text = |text| unsafe { text_of(text) };
        Ok(VariantInfo {
            compiled: raw.compiled != 0,
            target: text(raw.target),
            request_key: text(raw.request_key),
            binary_key: text(raw.binary_key),
            conditions: text(raw.conditions),
            configuration: text(raw.configuration),
            log: text(raw.log),
            compile_time: Duration::from_nanos(raw.compile_nanoseconds),
            binary_bytes: raw.binary_bytes,
            registers: raw.registers,
            spill_bytes: raw.spill_bytes,
            threads: raw.threads,
            shared_bytes: raw.shared_bytes,
        })
    }

    /// The generated source; or, by name, the program after a pass ("specialized", ...).
    pub fn text(&self, stage: Option<&str>) -> Result<String> {
        let stage = optional_c_string(stage, "a stage's name")?;
        let (mut text, mut size, mut error) = (std::ptr::null(), 0, std::ptr::null_mut());
        let status =
            unsafe { sys::tilert_variant_text(self.as_raw(), pointer_of(&stage), &mut text, &mut size, &mut error) };
        check(status, error)?;
        Ok(unsafe { text_of(text) })
    }

    /// How it was made, for people.
    pub fn explain(&self) -> Result<String> {
        self.explained(sys::TILERT_EXPLAIN_TEXT)
    }

    /// How it was made, as JSON.
    pub fn explain_json(&self) -> Result<String> {
        self.explained(sys::TILERT_EXPLAIN_JSON)
    }

    fn explained(&self, format: sys::tilert_explain_format) -> Result<String> {
        let (mut text, mut size, mut error) = (std::ptr::null(), 0, std::ptr::null_mut());
        // The text lasts until the next call for the same format, of any thread.
        let _alone = EXPLAINING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let status = unsafe { sys::tilert_variant_explain(self.as_raw(), format, &mut text, &mut size, &mut error) };
        check(status, error)?;
        Ok(unsafe { text_of(text) })
    }

    /// The binary of a compiled variant.
    pub fn binary(&self) -> Result<Vec<u8>> {
        let (mut data, mut size, mut error) = (std::ptr::null(), 0usize, std::ptr::null_mut());
        let status = unsafe { sys::tilert_variant_binary(self.as_raw(), &mut data, &mut size, &mut error) };
        check(status, error)?;
        if size == 0 {
            return Ok(Vec::new());
        }
        // SAFETY: `size` bytes that belong to the variant.
        Ok(unsafe { std::slice::from_raw_parts(data as *const u8, size) }.to_vec())
    }

    /// What launches of it with dims up to these need. A dim that has its value is left out.
    pub fn workspace_info(&self, max_dims: &[(u32, i64)]) -> Result<WorkspaceInfo> {
        let mut sizes = vec![-1; self.kernel.program.dim_count() as usize];
        place_dims(max_dims, &mut sizes)?;
        let mut raw = sys::tilert_workspace_info::default();
        let mut error = std::ptr::null_mut();
        let count = sizes.len() as u32;
        let status = unsafe { sys::tilert_workspace(self.as_raw(), sizes.as_ptr(), count, &mut raw, &mut error) };
        check(status, error)?;
        Ok(WorkspaceInfo {
            bytes: raw.bytes,
            alignment: raw.alignment,
            zero_bytes: raw.zero_bytes,
            plan_offset: raw.plan_offset,
            plan_bytes: raw.plan_bytes,
        })
    }
}

static EXPLAINING: std::sync::Mutex<()> = std::sync::Mutex::new(());

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.info().fmt(f)
    }
}
