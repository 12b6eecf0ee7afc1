//! Closures that the library calls: what they are told, and that no panic of theirs unwinds through it.

mod common;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tilert::prelude::*;
use tilert::{Device, DeviceOptions, EventKind, Executor, Loaded, Task};

fn words(payload: Box<dyn std::any::Any + Send>) -> String {
    payload.downcast_ref::<&str>().map(|text| text.to_string()).or(payload.downcast_ref::<String>().cloned()).unwrap()
}

#[test]
fn events_tell_of_compiles_and_may_call_back_in() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (to, asked) = (seen.clone(), AtomicUsize::new(0));
    let context = Context::with(common::options().on_event(move |event| {
        asked.fetch_add(tilert::version().1 as usize, Ordering::Relaxed);
        to.lock().unwrap().push((event.kind, event.program.to_string(), event.key.to_string()));
    }))
    .unwrap();
    let kernel = context.kernel_with(&common::axpy(), &KernelOptions::new().target("cpu")).unwrap();
    kernel.compile().unwrap();
    let key = kernel.variant(0).unwrap().info().unwrap().request_key;
    let all = seen.lock().unwrap().clone();
    assert!(all.contains(&(EventKind::CompileBegin, "axpy".into(), key.clone())), "{:?}", all);
    assert!(all.contains(&(EventKind::CompileEnd, "axpy".into(), key)), "{:?}", all);
}

#[test]
fn a_panic_of_an_event_goes_on_in_the_call_and_the_kernel_is_compiled() {
    let once = AtomicBool::new(true);
    let context = Context::with(common::options().on_event(move |event| {
        if event.kind == EventKind::CompileBegin && once.swap(false, Ordering::Relaxed) {
            panic!("no compile, please");
        }
    }))
    .unwrap();
    let kernel = context.kernel_with(&common::axpy(), &KernelOptions::new().target("cpu")).unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| kernel.compile())).expect_err("the closure's panic");
    assert_eq!(words(panic), "no compile, please");
    kernel.compile().unwrap();
    assert_eq!(context.stats().compiles, 1, "the call had finished when the panic went on");
}

#[test]
fn a_closure_lives_as_long_as_what_its_context_made() {
    let alive = Arc::new(());
    let held = alive.clone();
    let context = Context::with(common::options().on_event(move |_| drop(held.clone()))).unwrap();
    let device = context.cpu().unwrap();
    let kernel = context.kernel(&common::axpy()).unwrap();
    drop(context);
    let loaded = kernel.prepare(&device).unwrap();
    drop((device, kernel));
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(loaded);
    assert_eq!(Arc::strong_count(&alive), 1);
}

/// y = x + 1 on a device with that executor.
fn run_on(executor: impl Executor + 'static) -> (Vec<f32>, Result<tilert::Result<()>, String>) {
    let context = Context::with(common::options()).unwrap();
    let device: Device = context.device(DeviceOptions::cpu().executor(executor)).unwrap();
    let loaded: Loaded = context.kernel(&common::shifted(1)).unwrap().prepare(&device).unwrap();
    let (x, mut y) = (vec![1f32; 256], vec![0f32; 256]);
    let arguments = [input(&x, &[256]).unwrap(), output(&mut y, &[256]).unwrap()];
    let result = catch_unwind(AssertUnwindSafe(|| loaded.launch(Stream::null(), &arguments, &[]))).map_err(words);
    (y, result)
}

struct Wide<F>(F);

impl<F: Fn(u32, Task<'_>) + Send + Sync> Executor for Wide<F> {
    fn run(&self, count: u32, task: Task<'_>) {
        (self.0)(count, task)
    }
    fn width(&self) -> u32 {
        4
    }
}

#[test]
fn an_executor_runs_the_work_on_its_threads() {
    let tasks = Arc::new(AtomicUsize::new(0));
    let counted = tasks.clone();
    let (y, result) = run_on(Wide(move |count, task: Task<'_>| {
        counted.fetch_add(count as usize, Ordering::Relaxed);
        std::thread::scope(|s| (0..count).for_each(|i| drop(s.spawn(move || task.run(i)))));
    }));
    result.unwrap().unwrap();
    assert_eq!(y, vec![2f32; 256]);
    assert!(tasks.load(Ordering::Relaxed) > 0);
}

#[test]
fn an_executor_that_forgets_and_repeats_tasks_does_no_harm() {
    for executor in [
        |_: u32, _: Task<'_>| {},
        |count: u32, task: Task<'_>| {
            for i in (0..count).chain(0..count) {
                task.run(i)
            }
        },
    ] {
        let (y, result) = run_on(Wide(executor));
        result.unwrap().unwrap();
        assert_eq!(y, vec![2f32; 256]);
    }
}

#[test]
fn a_panic_of_an_executor_goes_on_in_the_launch_whose_work_is_done() {
    let (y, result) = run_on(Wide(|_: u32, _: Task<'_>| panic!("no threads today")));
    assert_eq!(result.unwrap_err(), "no threads today");
    assert_eq!(y, vec![2f32; 256]);
    let (_, result) = run_on(Wide(|count: u32, task: Task<'_>| task.run(count)));
    assert!(result.unwrap_err().contains("an executor runs the tasks from 0 on"));
}

fn telling() -> Program {
    tilert::build("telling", |b| {
        let (x, y) = (b.input("X", I32, 8), b.output("Y", I32, 8));
        b.grid(1, |_| {
            b.parallel(8, |i| {
                let v = x.at(i).load();
                b.assert(v.lt(5), "{} at {}", (v, i));
                y.at(i).set(v);
            });
            b.label("the end").print("done", ());
        });
    })
    .unwrap()
}

#[test]
fn the_interpreter_and_a_launch_tell_the_same() {
    let (x, mut y) = (vec![0, 1, 2, 3, 4, 5, 6, 7], vec![0; 8]);
    let program = telling();
    let mut told = Vec::new();
    let arguments = [input(&x, &[8]).unwrap(), output(&mut y, &[8]).unwrap()];
    program.interpret_diagnosed(&arguments, &[], |entry| told.push(entry)).unwrap();

    let (context, device) = common::cpu();
    let loaded = context.kernel(&program).unwrap().prepare(&device).unwrap();
    let mut workspace = loaded.workspace(&[]).unwrap();
    let mut options = tilert::LaunchOptions::new().workspace(&mut workspace);
    loaded.launch_with(Stream::null(), &arguments, &[], &mut options).unwrap();
    let mut launched = loaded.diagnostics(&workspace).unwrap();
    told.sort_by_key(|entry| entry.message.clone());
    launched.sort_by_key(|entry| entry.message.clone());
    assert_eq!(told, launched);
    assert_eq!(told.len(), 4);
    let failed: Vec<_> = told.iter().filter(|entry| entry.failed).collect();
    assert_eq!(failed.len(), 3);
    assert_eq!(failed[0].values, [5, 5]);
    assert_eq!(failed[0].dtypes, [Some(I32), Some(I64)]);
    assert!(failed[0].file.ends_with("callbacks.rs") && failed[0].line > 100, "{:?}", failed[0]);
    assert!(told.iter().any(|entry| entry.message.contains("'the end'")), "{:?}", told);
    workspace.clear();
    assert!(loaded.diagnostics(&workspace).unwrap().is_empty());
}

#[test]
fn a_panic_of_a_reader_goes_on_behind_the_call() {
    let (x, mut y) = (vec![9; 8], vec![0; 8]);
    let mut calls = 0;
    let arguments = [input(&x, &[8]).unwrap(), output(&mut y, &[8]).unwrap()];
    let program = telling();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        program.interpret_diagnosed(&arguments, &[], |_| {
            calls += 1;
            panic!("enough");
        })
    }))
    .expect_err("the closure's panic");
    assert_eq!(words(panic), "enough");
    assert_eq!(calls, 1, "no entry is read after a panic");
    assert_eq!(y, vec![9; 8]);
}
