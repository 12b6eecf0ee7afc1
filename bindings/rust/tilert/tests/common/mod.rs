//! What the tests share: a context that keeps nothing on disk, and small programs.
#![allow(dead_code)] // each test uses a part

use tilert::prelude::*;
use tilert::{CacheMode, ContextOptions, Device};

pub fn options() -> ContextOptions {
    ContextOptions::new().cache_mode(CacheMode::Memory)
}

pub fn cpu() -> (Context, Device) {
    let context = Context::with(options()).expect("a context");
    let device = context.cpu().expect("this machine's CPU: libtilert_llvm.so lies beside libtilert.so");
    (context, device)
}

/// z = x * factor + y, over N elements.
pub fn axpy() -> Program {
    tilert::build("axpy", |b| {
        let n = b.dim("N");
        let (x, y, z) = (b.input("X", F32, n), b.input("Y", F32, n), b.output("Z", F32, n));
        let factor = b.scalar("factor", F32);
        b.grid(n.ceildiv(64), |block| {
            b.parallel(64, |i| {
                let at = block * 64 + i;
                z.at(at).set(x.at(at) * factor + y.at(at));
            });
        });
    })
    .expect("a right program")
}

/// y = x + shift, for programs that differ.
pub fn shifted(shift: i64) -> Program {
    tilert::build("shifted", |b| {
        let (x, y) = (b.input("X", F32, 256), b.output("Y", F32, 256));
        b.grid(4, |block| b.parallel(64, |i| y.at(block * 64 + i).set(x.at(block * 64 + i) + shift)));
    })
    .expect("a right program")
}
