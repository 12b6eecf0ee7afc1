//! The context: cache, options, events; where devices are opened and kernels made.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tilert_sys as sys;

use crate::callbacks::{self, Events};
use crate::device::{Device, DeviceOptions};
use crate::error::{c_string, check, optional_c_string, pointer_of, Result, Status};
use crate::handle::Handle;
use crate::kernel::{Kernel, KernelOptions};
use crate::program::Program;

/// Where compiled kernels are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum CacheMode {
    /// On disk, else in memory where no directory will do.
    Default = sys::TILERT_CACHE_DEFAULT,
    /// In this process only.
    Memory = sys::TILERT_CACHE_MEMORY,
    /// Nowhere.
    Off = sys::TILERT_CACHE_OFF,
    /// Read from disk, never written; refused by this version.
    ReadOnly = sys::TILERT_CACHE_READ_ONLY,
}

/// Which compiles run in a process of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Isolate {
    /// None.
    Never = sys::TILERT_ISOLATE_NEVER,
    /// Those of programs that hold source text.
    Untrusted = sys::TILERT_ISOLATE_UNTRUSTED,
    /// All.
    Always = sys::TILERT_ISOLATE_ALWAYS,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// A compile begins; again about once a second while it runs.
    CompileBegin,
    /// It has ended.
    CompileEnd,
    /// The cache had it.
    CacheHit,
    /// It had not; the message names what differs, where that is known.
    CacheMiss,
    /// The store failed and was stepped around.
    CacheFault,
    /// Told once: the cache's path, libraries chosen.
    Note,
    /// Of a newer library.
    Other(i32),
}

/// What the library tells while it works.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    /// What happened.
    pub kind: EventKind,
    /// How a compile ended; none: well.
    pub status: Option<Status>,
    /// The program's name, or "".
    pub program: std::borrow::Cow<'a, str>,
    /// The target, or "".
    pub target: std::borrow::Cow<'a, str>,
    /// The request's key in hex, or "".
    pub key: std::borrow::Cow<'a, str>,
    /// Words, or "".
    pub message: std::borrow::Cow<'a, str>,
    /// How long it took.
    pub time: Duration,
}

impl<'a> Event<'a> {
    // SAFETY: `raw` is an event of the library during its callback.
    pub(crate) unsafe fn of(raw: &'a sys::tilert_event) -> Event<'a> {
        let text = |text: *const sys::c_char| {
            if text.is_null() {
                "".into()
            } else {
                std::ffi::CStr::from_ptr(text).to_string_lossy()
            }
        };
        Event {
            kind: match raw.kind {
                sys::TILERT_EVENT_COMPILE_BEGIN => EventKind::CompileBegin,
                sys::TILERT_EVENT_COMPILE_END => EventKind::CompileEnd,
                sys::TILERT_EVENT_CACHE_HIT => EventKind::CacheHit,
                sys::TILERT_EVENT_CACHE_MISS => EventKind::CacheMiss,
                sys::TILERT_EVENT_CACHE_FAULT => EventKind::CacheFault,
                sys::TILERT_EVENT_NOTE => EventKind::Note,
                other => EventKind::Other(other),
            },
            status: (raw.status != sys::TILERT_OK).then(|| Status::of(raw.status)),
            program: text(raw.program),
            target: text(raw.target),
            key: text(raw.key),
            message: text(raw.message),
            time: Duration::from_nanos(raw.nanoseconds),
        }
    }
}

/// How a context is made. What is not set is the default.
#[derive(Default)]
pub struct ContextOptions {
    raw: sys::tilert_context_options,
    texts: [Option<String>; 6],
    on_event: Option<Box<callbacks::OnEvent>>,
}

macro_rules! texts {
    ($($(#[$about:meta])* $name:ident = $at:expr;)*) => { $(
        $(#[$about])*
        pub fn $name(mut self, text: &str) -> Self {
            self.texts[$at] = Some(text.to_string());
            self
        }
    )* };
}

impl ContextOptions {
    /// None set.
    pub fn new() -> Self {
        Self::default()
    }
    /// Programs may hold source text: device functions, inline source, source kernels.
    ///
    /// # Safety
    /// Such text is code that runs in this process and on its devices, unchecked: every program that this context is given is
    /// trusted as code linked into the host is.
    pub unsafe fn allow_source(mut self) -> Self {
        self.raw.flags |= sys::TILERT_ALLOW_SOURCE;
        self
    }
    /// Where compiled kernels are kept.
    pub fn cache_mode(mut self, mode: CacheMode) -> Self {
        self.raw.cache_mode = mode as i32;
        self
    }
    /// Which compiles run in a process of their own.
    pub fn isolate(mut self, which: Isolate) -> Self {
        self.raw.isolate = which as i32;
        self
    }
    texts! {
        /// The cache's directory.
        cache_path = 0;
        /// A salt of the keys.
        cache_namespace = 1;
        /// The LLVM plugin, an absolute path.
        plugin_path = 2;
        /// NVRTC, an absolute path of a file or folder.
        nvrtc_path = 3;
        /// The helper of isolated compiles, an absolute path.
        helper_path = 4;
        /// hipRTC, an absolute path of a file or folder.
        hiprtc_path = 5;
    }
    /// Threads of background compiles, of which this version has none.
    pub fn compile_threads(mut self, count: u32) -> Self {
        self.raw.compile_threads = count;
        self
    }
    /// Begins sealed: see [`Context::seal`].
    pub fn sealed(mut self) -> Self {
        self.raw.seal = 1;
        self
    }
    /// How long one compile may take.
    pub fn compile_timeout(mut self, time: Duration) -> Self {
        self.raw.compile_timeout = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self
    }
    /// What is called with each event, from any thread, with no lock held; it may call back in. It lives as long as a handle
    /// of the context, or of what was made by it. A panic goes on in a call on the same context.
    pub fn on_event(mut self, f: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        self.on_event = Some(Box::new(f));
        self
    }
}

/// Counters since a context's creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // their names are what they count
pub struct Stats {
    pub memory_hits: u64,
    pub disk_hits: u64,
    pub misses: u64,
    pub compiles: u64,
    pub compile_failures: u64,
    pub compile_nanoseconds: u64,
    pub puts: u64,
    pub put_bytes: u64,
    pub cache_faults: u64,
    pub sealed_misses: u64,
    pub loads: u64,
}

/// Cache, compile pool, options. One per process is usual.
#[derive(Clone)]
pub struct Context {
    handle: Handle<sys::tilert_context>,
    // Behind the handle, whose end may still tell something.
    events: Option<Arc<Events>>,
}

impl Context {
    /// One with the default options. Opens no device, starts no driver.
    pub fn new() -> Result<Context> {
        Context::with(ContextOptions::new())
    }

    /// One with options.
    pub fn with(mut options: ContextOptions) -> Result<Context> {
        let names = [
            "the cache's path",
            "the namespace",
            "the plugin's path",
            "NVRTC's path",
            "the helper's path",
            "hipRTC's path",
        ];
        let mut texts = Vec::new();
        for (text, what) in options.texts.iter().zip(names) {
            texts.push(optional_c_string(text.as_deref(), what)?);
        }
        let events = options.on_event.take().map(|closure| Arc::new(Events::new(closure)));
        let mut raw = options.raw;
        raw.cache_path = pointer_of(&texts[0]);
        raw.cache_namespace = pointer_of(&texts[1]);
        raw.plugin_path = pointer_of(&texts[2]);
        raw.nvrtc_path = pointer_of(&texts[3]);
        raw.helper_path = pointer_of(&texts[4]);
        raw.hiprtc_path = pointer_of(&texts[5]);
        if let Some(events) = &events {
            raw.on_event = Some(callbacks::on_event);
            raw.on_event_user = events.user();
        }
        // SAFETY: what `raw` points to lives through the call, which copies it.
        let made = Handle::of(|context, error| unsafe { sys::tilert_context_create(&raw, context, error) });
        if let Some(events) = &events {
            events.resume();
        }
        Ok(Context { handle: made?, events })
    }

    /// The handle of the C interface; it stays this object's.
    pub fn as_raw(&self) -> *mut sys::tilert_context {
        self.handle.raw()
    }

    /// This machine's CPU.
    pub fn cpu(&self) -> Result<Device> {
        self.device(DeviceOptions::cpu())
    }

    /// The CUDA device of that number, by its primary context.
    pub fn cuda(&self, ordinal: i32) -> Result<Device> {
        self.device(DeviceOptions::cuda(ordinal))
    }

    /// A device. Loads the driver's library.
    pub fn device(&self, options: DeviceOptions) -> Result<Device> {
        let device = Device::open(self.as_raw(), options, self.events.clone());
        self.resume();
        device
    }

    /// The program as a kernel of the device that it is prepared for.
    pub fn kernel(&self, program: &Program) -> Result<Kernel> {
        self.kernel_with(program, &KernelOptions::new())
    }

    /// The same for a target, with dims that have their values.
    pub fn kernel_with(&self, program: &Program, options: &KernelOptions) -> Result<Kernel> {
        let kernel = Kernel::create(self.as_raw(), program, options, self.events.clone());
        self.resume();
        kernel
    }

    /// From now on a needed compile is [`Status::Sealed`]. Cannot be undone.
    pub fn seal(&self) {
        // SAFETY: a live handle; so below.
        unsafe { sys::tilert_context_seal(self.as_raw()) };
    }

    /// Counters since creation.
    pub fn stats(&self) -> Stats {
        let mut raw = sys::tilert_stats::default();
        unsafe { sys::tilert_context_stats(self.as_raw(), &mut raw) };
        Stats {
            memory_hits: raw.memory_hits,
            disk_hits: raw.disk_hits,
            misses: raw.misses,
            compiles: raw.compiles,
            compile_failures: raw.compile_failures,
            compile_nanoseconds: raw.compile_nanoseconds,
            puts: raw.puts,
            put_bytes: raw.put_bytes,
            cache_faults: raw.cache_faults,
            sealed_misses: raw.sealed_misses,
            loads: raw.loads,
        }
    }

    /// Makes variants compiled in the background visible. This version compiles in the foreground and refuses.
    pub fn commit(&self) -> Result<()> {
        let mut error = std::ptr::null_mut();
        let status = unsafe { sys::tilert_commit(self.as_raw(), &mut error) };
        check(status, error)
    }

    /// Kernels pinned in one file. This version refuses, and says what to ship instead.
    pub fn write_bundle(&self, kernels: &[&Kernel], path: &str) -> Result<()> {
        let path = c_string(path, "the bundle's path")?;
        let raw: Vec<_> = kernels.iter().map(|kernel| kernel.as_raw()).collect();
        let mut error = std::ptr::null_mut();
        let status = unsafe {
            sys::tilert_bundle_write(self.as_raw(), raw.as_ptr(), raw.len() as u32, path.as_ptr(), &mut error)
        };
        check(status, error)
    }

    /// Reads such a file. This version refuses.
    pub fn load_bundle(&self, path: &str) -> Result<()> {
        let path = c_string(path, "the bundle's path")?;
        let mut error = std::ptr::null_mut();
        let status = unsafe { sys::tilert_bundle_load(self.as_raw(), path.as_ptr(), 0, &mut error) };
        check(status, error)
    }

    fn resume(&self) {
        if let Some(events) = &self.events {
            events.resume();
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Context").field(&self.stats()).finish()
    }
}
