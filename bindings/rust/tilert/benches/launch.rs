//! What a launch through this crate costs over C's: the same small kernel on this machine's CPU, one thread, three arguments,
//! launched by a loop that a C compiler makes here (with -O2) and by Rust's. Medians over batches that alternate, in one run: `cargo bench --bench launch`.

use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use tilert::prelude::*;
use tilert::{sys, CacheMode, ContextOptions, DeviceOptions, Result};

const BATCH: u32 = 2000;
const ROUNDS: usize = 301;

fn tiny() -> Result<Program> {
    tilert::build("tiny", |b| {
        let n = b.dim("N");
        let (x, y) = (b.input("X", F32, n), b.output("Y", F32, n));
        let shift = b.scalar("shift", F32);
        b.grid(n.ceildiv(4), |block| {
            b.parallel(4, |i| y.at(block * 4 + i).set(x.at(block * 4 + i) + shift));
        });
    })
}

const LOOP: &str = r#"
#include "tilert.h"
int launches(const tilert_launch_info* info, unsigned count) {
  int failed = 0;
  for (unsigned i = 0; i < count; ++i) failed |= tilert_launch(info) != TILERT_OK;
  return failed;
}
"#;

type Launches = unsafe extern "C" fn(*const sys::tilert_launch_info, u32) -> c_int;

extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

/// C's loop, compiled and loaded.
fn launches_by_c() -> Launches {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, library) = (folder.join("launches.c"), folder.join("launches.so"));
    std::fs::write(&source, LOOP).expect("the build folder");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../include");
    let mut made = Command::new("cc");
    made.args(["-O2", "-shared", "-fPIC", "-I"]).arg(include).arg("-o").arg(&library).arg(source);
    assert!(made.status().expect("a C compiler").success());
    let (path, name) = (CString::new(library.to_str().unwrap()).unwrap(), CString::new("launches").unwrap());
    // SAFETY: the library made above, whose function has this type; it takes libtilert from this process.
    unsafe {
        let library = dlopen(path.as_ptr(), 2);
        assert!(!library.is_null(), "{:?}", CStr::from_ptr(dlerror()));
        let found = dlsym(library, name.as_ptr());
        assert!(!found.is_null());
        std::mem::transmute::<*mut c_void, Launches>(found)
    }
}

/// Nanoseconds a call, of one batch.
fn batch(mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..BATCH).for_each(|_| call());
    start.elapsed().as_nanos() as f64 / f64::from(BATCH)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(|a, b| a.total_cmp(b));
    values[values.len() / 2]
}

/// The arguments and the info of the C interface, as a C program fills them in once.
struct Raw {
    arguments: Vec<sys::tilert_argument>,
    dims: Vec<i64>,
    info: sys::tilert_launch_info,
}

fn raw(loaded: &Loaded, x: &[f32], y: &mut [f32], shape: &[i64]) -> Raw {
    let tensor = |data: *mut f32| sys::tilert_argument {
        kind: sys::TILERT_ARGUMENT_TENSOR,
        dtype: sys::TILERT_F32,
        data: data as *mut _,
        shape: shape.as_ptr(),
        ndim: 1,
        device_type: sys::TILERT_MEMORY_CPU,
        ..Default::default()
    };
    let scalar = sys::tilert_argument {
        kind: sys::TILERT_ARGUMENT_SCALAR,
        dtype: sys::TILERT_F32,
        bits: u64::from(1f32.to_bits()),
        ..Default::default()
    };
    let mut out = Raw {
        arguments: vec![tensor(x.as_ptr() as *mut f32), tensor(y.as_mut_ptr()), scalar],
        dims: vec![-1],
        info: Default::default(),
    };
    out.info.loaded = loaded.as_raw();
    out.info.arguments = out.arguments.as_ptr();
    out.info.argument_count = out.arguments.len() as u32;
    out.info.dims = out.dims.as_ptr();
    out.info.dim_count = 1;
    out
}

fn main() -> Result<()> {
    let context = Context::with(ContextOptions::new().cache_mode(CacheMode::Memory))?;
    let device = context.device(DeviceOptions::cpu().threads(1))?;
    let loaded = context.kernel(&tiny()?)?.prepare(&device)?;
    let x = vec![1f32; 4];
    let (mut y, mut z, mut w, mut v) = (vec![0f32; 4], vec![0f32; 4], vec![0f32; 4], vec![0f32; 4]);
    let shape = [4i64];
    let launches = launches_by_c();
    let by_c = raw(&loaded, &x, &mut y, &shape);
    let mut bound = loaded.bind(vec![input(&x, &[4])?, output(&mut z, &[4])?, Argument::scalar(1f32)], &[])?;

    let kept_arguments = [input(&x, &[4])?, output(&mut v, &[4])?, Argument::scalar(1f32)];
    let (mut c, mut again, mut packed, mut kept) = (vec![], vec![], vec![], vec![]);
    let (mut over_bound, mut over_packed, mut over_kept) = (vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        // SAFETY: memory that lives through the calls.
        let failed = unsafe { launches(&by_c.info, BATCH) };
        let raw = start.elapsed().as_nanos() as f64 / f64::from(BATCH);
        assert_eq!(failed, 0);
        let run = batch(|| bound.run(Stream::null()).expect("a launch"));
        let one = batch(|| {
            let arguments = match (input(&x, &[4]), output(&mut w, &[4])) {
                (Ok(x), Ok(w)) => [x, w, Argument::scalar(1f32)],
                _ => unreachable!(),
            };
            loaded.launch(Stream::null(), &arguments, &[]).expect("a launch");
        });
        c.push(raw);
        again.push(run);
        let kept_one = batch(|| loaded.launch(Stream::null(), &kept_arguments, &[]).expect("a launch"));
        packed.push(one);
        kept.push(kept_one);
        over_kept.push(kept_one - raw);
        over_bound.push(run - raw);
        over_packed.push(one - raw);
    }
    println!("ns a launch, medians of {} batches of {}:", ROUNDS, BATCH);
    println!("  C's call                  {:8.1}", median(&mut c));
    println!("  bound, Launch::run        {:8.1}   over C {:+.1}", median(&mut again), median(&mut over_bound));
    println!("  Loaded::launch            {:8.1}   over C {:+.1}", median(&mut kept), median(&mut over_kept));
    println!("  with arguments made anew  {:8.1}   over C {:+.1}", median(&mut packed), median(&mut over_packed));
    drop(bound);
    assert_eq!((y[0], z[0], w[0], v[0]), (2.0, 2.0, 2.0, 2.0));
    Ok(())
}
