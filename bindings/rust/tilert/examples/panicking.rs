//! What a panic in a callback comes to: it goes on in the call whose work it interrupted, or ends the process in a program
//! built with `panic = "abort"`; it never unwinds through the library. `cargo run --example panicking [event|executor|reader]`.

use tilert::prelude::*;
use tilert::{CacheMode, ContextOptions, DeviceOptions, EventKind, Result, Task};

fn telling() -> Result<Program> {
    tilert::build("telling", |b| {
        let y = b.output("Y", F32, 256);
        b.grid(4, |block| {
            b.print("block {}", block);
            b.parallel(64, |i| y.at(block * 64 + i).set(1));
        });
    })
}

fn event() -> Result<()> {
    let options = ContextOptions::new().cache_mode(CacheMode::Memory).on_event(|event| {
        if event.kind == EventKind::CompileBegin {
            panic!("in an event");
        }
    });
    let context = Context::with(options)?;
    context.kernel_with(&telling()?, &KernelOptions::new().target("cpu"))?.compile()
}

fn executor() -> Result<()> {
    let context = Context::with(ContextOptions::new().cache_mode(CacheMode::Memory))?;
    let device = context.device(DeviceOptions::cpu().executor(|_: u32, _: Task<'_>| panic!("in an executor")))?;
    let loaded = context.kernel(&telling()?)?.prepare(&device)?;
    let mut workspace = loaded.workspace(&[])?;
    let mut y = vec![0f32; 256];
    let mut options = tilert::LaunchOptions::new().workspace(&mut workspace);
    loaded.launch_with(Stream::null(), &[output(&mut y, &[256])?], &[], &mut options)
}

fn reader() -> Result<()> {
    let mut y = vec![0f32; 256];
    telling()?.interpret_diagnosed(&[output(&mut y, &[256])?], &[], |_| panic!("in a reader"))
}

fn main() {
    type Act = fn() -> Result<()>;
    let acts: [(&str, Act); 3] = [("event", event), ("executor", executor), ("reader", reader)];
    let wanted = std::env::args().nth(1);
    for (name, act) in acts {
        if wanted.as_deref().map_or(false, |wanted| wanted != name) {
            continue;
        }
        match std::panic::catch_unwind(act) {
            Ok(result) => panic!("{}: no panic came, but {:?}", name, result),
            Err(payload) => println!("caught: {}", payload.downcast_ref::<&str>().unwrap_or(&"another panic")),
        }
    }
}
