//! Closures that the library calls. A panic stops here: it is kept, and goes on where a call returns to Rust.

use std::any::Any;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tilert_sys as sys;

use crate::context::Event;
use crate::device::{Executor, Task};
use crate::sys::c_void;

/// The panic of a callback, from where it was caught to where it goes on.
#[derive(Default)]
pub(crate) struct Panic {
    any: AtomicBool,
    payload: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Panic {
    /// Runs `f`; of several panics the first is kept.
    pub(crate) fn catch(&self, f: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            let mut kept = locked(&self.payload);
            if kept.is_none() {
                *kept = Some(payload);
                self.any.store(true, Ordering::Release);
            } else {
                // Dropping a payload may panic, too.
                std::mem::forget(payload);
            }
        }
    }

    /// Goes on with a panic that was kept.
    #[inline]
    pub(crate) fn resume(&self) {
        if self.any.load(Ordering::Acquire) {
            self.resume_now();
        }
    }

    #[cold]
    fn resume_now(&self) {
        self.any.store(false, Ordering::Relaxed);
        let payload = locked(&self.payload).take();
        if let Some(payload) = payload {
            resume_unwind(payload);
        }
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

pub(crate) type OnEvent = dyn Fn(&Event<'_>) + Send + Sync;

/// A context's closure for events. The library knows it by a number: an event that comes when all handles are gone (of a
/// compile that a deadline has abandoned, say) finds nothing, and does nothing.
pub(crate) struct Events {
    number: usize,
    listener: Arc<Listener>,
}

struct Listener {
    closure: Box<OnEvent>,
    panic: Panic,
}

static LISTENERS: Mutex<Vec<(usize, Arc<Listener>)>> = Mutex::new(Vec::new());
static NEXT: AtomicUsize = AtomicUsize::new(1);

impl Events {
    pub(crate) fn new(closure: Box<OnEvent>) -> Events {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let listener = Arc::new(Listener { closure, panic: Panic::default() });
        locked(&LISTENERS).push((number, listener.clone()));
        Events { number, listener }
    }

    /// What the library hands to [`on_event`].
    pub(crate) fn user(&self) -> *mut c_void {
        self.number as *mut c_void
    }

    pub(crate) fn resume(&self) {
        self.listener.panic.resume();
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        locked(&LISTENERS).retain(|(number, _)| *number != self.number);
    }
}

pub(crate) unsafe extern "C" fn on_event(user: *mut c_void, event: *const sys::tilert_event) {
    let number = user as usize;
    let listener = locked(&LISTENERS).iter().find(|(known, _)| *known == number).map(|(_, found)| found.clone());
    if let Some(listener) = listener {
        listener.panic.catch(|| (listener.closure)(&Event::of(&*event)));
    }
}

/// A device's executor: shared by the device and what is loaded on it.
pub(crate) struct Threads {
    executor: Box<dyn Executor>,
    panic: Panic,
}

impl Threads {
    pub(crate) fn new(executor: Box<dyn Executor>) -> Threads {
        Threads { executor, panic: Panic::default() }
    }

    pub(crate) fn raw(&self) -> sys::tilert_executor {
        sys::tilert_executor {
            parallel_for: Some(parallel_for),
            user: self as *const Threads as *mut c_void,
            width: self.executor.width(),
            reserved: 0,
        }
    }

    #[inline]
    pub(crate) fn resume(&self) {
        self.panic.resume();
    }
}

type Body = unsafe extern "C" fn(*mut c_void, u32);

unsafe extern "C" fn parallel_for(user: *mut c_void, count: u32, body: Option<Body>, arg: *mut c_void) {
    let threads = &*(user as *const Threads);
    let body = match body {
        Some(body) => body,
        None => return,
    };
    let work = Work { body, arg, done: (0..count).map(|_| AtomicBool::new(false)).collect() };
    let once = |index| work.once(index);
    threads.panic.catch(|| threads.executor.run(count, Task(&once)));
    (0..count).for_each(once);
}

/// Each index once, whatever an executor does: what it leaves out is done at the end, what it repeats is not done again.
struct Work {
    body: Body,
    arg: *mut c_void,
    done: Vec<AtomicBool>,
}

// SAFETY: the library's pair, made to be run by any thread.
unsafe impl Sync for Work {}

impl Work {
    fn once(&self, index: u32) {
        match self.done.get(index as usize) {
            // SAFETY: the library's own pair, for an index that it named, once.
            Some(flag) if !flag.swap(true, Ordering::AcqRel) => unsafe { (self.body)(self.arg, index) },
            Some(_) => {}
            None => panic!("task {} of {}: an executor runs the tasks from 0 on", index, self.done.len()),
        }
    }
}
