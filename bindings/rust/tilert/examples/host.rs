//! A host that uses tilert hard and ends: 50 kernels, compiled and launched by 8 threads, checked; afterwards each signal's
//! disposition and the floating-point environment are what they were. Built with panics that unwind and with ones that abort.
//! `cargo run --example host`.

use std::sync::atomic::{AtomicU32, Ordering};

use tilert::prelude::*;
use tilert::{CacheMode, ContextOptions, Result};

const KERNELS: u32 = 50;
const THREADS: usize = 8;

/// glibc's `struct sigaction` and `fenv_t` of 64-bit machines, as bytes.
#[repr(C, align(16))]
struct Bytes<const N: usize>([u8; N]);

extern "C" {
    fn sigaction(signal: i32, new: *const Bytes<256>, old: *mut Bytes<256>) -> i32;
    fn fegetenv(to: *mut Bytes<64>) -> i32;
}

/// What of the floating-point environment decides results and traps: control words without the flags that any sum may raise.
fn control() -> Vec<u8> {
    let mut environment = Bytes([0; 64]);
    // SAFETY: room for more than glibc writes.
    unsafe { fegetenv(&mut environment) };
    let Bytes(all) = environment;
    if cfg!(target_arch = "x86_64") {
        // The x87's control word; MXCSR, whose lowest six bits are flags.
        vec![all[0], all[1], all[28] & 0xc0, all[29], all[30], all[31]]
    } else {
        all[..4].to_vec() // aarch64: FPCR, in front of FPSR
    }
}

/// Dispositions of the 64 signals, and the floating-point environment of this thread.
fn state() -> (Vec<(i32, Vec<u8>)>, Vec<u8>) {
    let signals = (1..=64).map(|signal| {
        let mut old = Bytes([0; 256]);
        // SAFETY: as above; nothing is set.
        let status = unsafe { sigaction(signal, std::ptr::null(), &mut old) };
        // The handler, the kernel's 64 bits of the mask (the rest is not written), the flags.
        (status, [&old.0[..16], &old.0[136..140]].concat())
    });
    (signals.collect(), control())
}

fn program(number: u32) -> Result<Program> {
    tilert::build("numbered", |b| {
        let n = b.dim("N");
        let (x, y) = (b.input("X", F32, n), b.output("Y", F32, n));
        b.grid(n.ceildiv(32), |block| {
            b.parallel(32, |i| y.at(block * 32 + i).set(x.at(block * 32 + i) * 2 + number));
        });
    })
}

fn work(context: &Context, next: &AtomicU32) -> Result<u32> {
    let device = context.cpu()?;
    let before = state();
    let mut done = 0;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= KERNELS {
            break;
        }
        let loaded = context.kernel(&program(number)?)?.prepare(&device)?;
        let (x, mut y) = (vec![1.5f32; 100], vec![0f32; 100]);
        loaded.launch(Stream::null(), &[input(&x, &[100])?, output(&mut y, &[100])?], &[])?;
        assert!(y.iter().all(|v| *v == 3.0 + number as f32), "kernel {}: {:?}", number, y);
        done += 1;
    }
    assert!(state() == before, "signals or the floating-point environment of a thread have changed");
    Ok(done)
}

fn main() -> Result<()> {
    let before = state();
    let context = Context::with(ContextOptions::new().cache_mode(CacheMode::Memory))?;
    let next = AtomicU32::new(0);
    let done = std::thread::scope(|s| {
        let threads: Vec<_> = (0..THREADS).map(|_| s.spawn(|| work(&context, &next))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum::<Result<u32>>()
    })?;
    assert_eq!((done, context.stats().compiles), (KERNELS, u64::from(KERNELS)));
    drop(context);
    assert!(state() == before, "signals or the floating-point environment have changed");
    println!("{} kernels on {} threads; signals and floating-point environment as before", done, THREADS);
    Ok(())
}
