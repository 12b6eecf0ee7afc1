//! `Send` and `Sync` are those of the header's paragraph on threads; and eight threads compile and launch at once.

mod common;

use std::sync::Barrier;
use tilert::prelude::*;
use tilert::{Device, Error, Job, Launch, Loaded, Record, Variant, Workspace};

fn send_and_sync<T: Send + Sync>() {}
fn send<T: Send>() {}

/// Does not compile where the type has the trait: then there are two ways to name `here`.
macro_rules! lacks {
    ($trait:ident: $($type:ty),*) => { $({
        trait Ambiguous<A> {
            fn here() {}
        }
        impl<T: ?Sized> Ambiguous<()> for T {}
        struct Has;
        impl<T: ?Sized + $trait> Ambiguous<Has> for T {}
        <$type as Ambiguous<_>>::here();
    })* };
}

#[test]
fn any_thread_may_use_any_handle() {
    send_and_sync::<Program>();
    send_and_sync::<Context>();
    send_and_sync::<Device>();
    send_and_sync::<Kernel>();
    send_and_sync::<Variant>();
    send_and_sync::<Loaded>();
    send_and_sync::<Job>();
    send_and_sync::<Error>();
    send_and_sync::<Stream>();
}

#[test]
fn one_launchs_memory_belongs_to_one_thread_at_a_time() {
    send::<Argument<'static>>();
    send::<Launch<'static>>();
    send::<Workspace>();
    send::<Record>();
    lacks!(Sync: Argument<'static>, Launch<'static>, Workspace, Record);
}

#[test]
fn one_builder_and_its_ids_belong_to_one_thread() {
    lacks!(Send: Builder<'static>, Expr<'static>, Tile<'static>, Region<'static>);
    lacks!(Sync: Builder<'static>, Expr<'static>, Tile<'static>, Region<'static>);
}

#[test]
fn eight_threads_compile_and_launch() {
    let (context, device) = common::cpu();
    let start = Barrier::new(8);
    let same = context.kernel(&common::axpy()).unwrap();
    std::thread::scope(|s| {
        for thread in 0..8i64 {
            let (context, device, start, same) = (&context, &device, &start, &same);
            s.spawn(move || {
                start.wait();
                // One kernel that all want at once, and two of the thread's own.
                let shared = same.prepare(device).unwrap();
                for shift in [2 * thread, 2 * thread + 1] {
                    let own = context.kernel(&common::shifted(shift)).unwrap().prepare(device).unwrap();
                    for round in 0..20 {
                        let x = vec![round as f32; 256];
                        let mut y = vec![0f32; 256];
                        let arguments = [input(&x, &[256]).unwrap(), output(&mut y, &[256]).unwrap()];
                        own.launch(Stream::null(), &arguments, &[]).unwrap();
                        assert_eq!(y, vec![(round + shift) as f32; 256]);
                        let mut z = vec![0f32; 256];
                        let arguments = [
                            input(&x, &[256]).unwrap(),
                            input(&y, &[256]).unwrap(),
                            output(&mut z, &[256]).unwrap(),
                            Argument::scalar(2f32),
                        ];
                        shared.launch(Stream::null(), &arguments, &[]).unwrap();
                        assert_eq!(z, vec![(3 * round + shift) as f32; 256]);
                    }
                }
            });
        }
    });
    assert_eq!(context.stats().compiles, 17, "16 programs of one thread each, and one of all");
}

#[test]
fn handles_are_dropped_in_any_order_on_any_thread() {
    let (context, device) = common::cpu();
    let program = common::axpy();
    let kernel = context.kernel(&program).unwrap();
    let loaded = kernel.prepare(&device).unwrap();
    let variant = kernel.variant(0).unwrap();
    drop(context);
    drop(program);
    std::thread::spawn(move || drop((device, kernel))).join().unwrap();
    let (x, y, mut z) = (vec![1f32; 8], vec![2f32; 8], vec![0f32; 8]);
    let mut launch = loaded
        .bind(
            vec![
                input(&x, &[8]).unwrap(),
                input(&y, &[8]).unwrap(),
                output(&mut z, &[8]).unwrap(),
                Argument::scalar(3f32),
            ],
            &[],
        )
        .unwrap();
    drop(loaded);
    std::thread::scope(|s| {
        s.spawn(move || launch.run(Stream::null()).unwrap());
    });
    assert_eq!(z, vec![5f32; 8]);
    assert!(variant.info().unwrap().compiled);
}
