//! The twenty programs of `bindings/programs`, built and run from Rust: a line for each, `name key-for-the-CPU key-for-sm_90a
//! digest`, as the README there says. `cargo run --example twenty [NAME...]`.

mod cases;
mod elements;
mod products;
mod rows;

use cases::Case;
use tilert::prelude::*;
use tilert::{bf16, f16, Access, CacheMode, ContextOptions, Device, LaunchOptions, Result};

const CPU: &str = "cpu:x86-64";

/// Zeroed memory, aligned to 256 bytes.
struct Memory {
    words: Vec<Line>,
    size: usize,
}

#[derive(Clone, Copy)]
#[repr(align(256))]
struct Line([u8; 256]);

impl Memory {
    fn new(size: usize) -> Memory {
        Memory { words: vec![Line([0; 256]); size / 256 + 1], size }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: bytes that the vector owns; so below.
        unsafe { std::slice::from_raw_parts(self.words[0].0.as_ptr(), self.words.len() * 256) }.split_at(self.size).0
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let (at, count) = (self.words.as_mut_ptr() as *mut u8, self.size);
        unsafe { std::slice::from_raw_parts_mut(at, count) }
    }
}

/// Element i of the j-th tensor parameter is made of (7 i + 3 j) mod 17.
fn fill(bytes: &mut [u8], dtype: DType, j: usize) {
    let width = (dtype.bits() as usize / 8).max(1);
    for (i, element) in bytes.chunks_mut(width).enumerate() {
        let n = ((7 * i + 3 * j) % 17) as i64;
        let f = (n - 8) as f32 / 8.0;
        match dtype {
            F32 => element.copy_from_slice(&f.to_le_bytes()),
            F64 => element.copy_from_slice(&f64::from(f).to_le_bytes()),
            F16 => element.copy_from_slice(&f16::from_f32(f).0.to_le_bytes()),
            Bf16 => element.copy_from_slice(&bf16::from_f32(f).0.to_le_bytes()),
            I8 | I16 | I32 | I64 => element.copy_from_slice(&(n - 8).to_le_bytes()[..width]),
            U8 | U16 | U32 | U64 => element.copy_from_slice(&n.to_le_bytes()[..width]),
            E4m3 => element[0] = 0x30 + n as u8,
            I4 => element[0] = 15 * n as u8,
            other => panic!("no rule fills {}", other),
        }
    }
}

fn keys(kernel: &Kernel) -> Result<String> {
    let keys: Result<Vec<String>> = kernel.variants().iter().map(|variant| Ok(variant.info()?.request_key)).collect();
    Ok(keys?.join("+"))
}

fn kernel(context: &Context, program: &Program, case: &Case, target: &str) -> Result<Kernel> {
    let options = KernelOptions::new().target(target);
    let options = case.bound.iter().fold(options, |options, (name, value)| options.dim(name, *value));
    context.kernel_with(program, &options)
}

/// Runs the kernel, and digests what it wrote.
fn digest(device: &Device, kernel: &Kernel, case: &Case) -> Result<u64> {
    let loaded = kernel.prepare(device)?;
    let parameters = kernel.program().parameters();
    let tensors: Vec<_> = parameters.iter().filter(|parameter| parameter.access.is_some()).collect();
    let mut memory = Vec::new();
    for (j, (parameter, (shape, strides))) in tensors.iter().zip(case.tensors).enumerate() {
        let count = strides.first().map_or(shape.iter().product(), |stride| shape[0] * stride);
        let mut one = Memory::new(count * parameter.dtype.bits() as usize / 8);
        if parameter.access == Some(Access::In) {
            fill(one.bytes_mut(), parameter.dtype, j);
        }
        memory.push(one);
    }

    let mut arguments = Vec::new();
    let mut tables: Vec<Vec<*const u8>> = Vec::new();
    let mut own = memory.iter_mut().zip(case.tensors);
    for parameter in &parameters {
        let (access, (one, (shape, strides))) = match parameter.access {
            None => {
                arguments.push(case.scalar.expect("a scalar for the parameter")());
                continue;
            }
            Some(access) => (access, own.next().expect("a tensor for the parameter")),
        };
        arguments.push(if parameter.is_pointer_table {
            let part = one.size / shape[0];
            tables.push((0..shape[0]).map(|g| one.bytes()[g * part..].as_ptr()).collect());
            // SAFETY: pointers into memory that lives as long as the launch, as many as the dim says, each to as much as
            // the parameter's shape.
            unsafe { Argument::pointer_table(tables[tables.len() - 1].as_ptr() as *const _) }
        } else if !strides.is_empty() {
            Argument::bytes_strided(one.bytes(), parameter.dtype, shape, strides)?
        } else if access == Access::In {
            Argument::bytes(one.bytes(), parameter.dtype, shape)?
        } else {
            Argument::bytes_mut(one.bytes_mut(), parameter.dtype, shape)?
        });
    }

    let names = kernel.program().dims();
    let dims: Vec<(u32, i64)> = case
        .bound
        .iter()
        .chain(case.dims)
        .map(|(name, value)| {
            (names.iter().position(|known| known == name).expect("a dim of the program") as u32, *value)
        })
        .collect();
    let mut workspace = loaded.workspace(&dims)?;
    let mut options = LaunchOptions::new();
    if workspace.info().bytes != 0 {
        options = options.workspace(&mut workspace);
    }
    loaded.launch_with(Stream::null(), &arguments, &dims, &mut options)?;

    let written = tensors.iter().zip(&memory).filter(|(parameter, _)| parameter.access != Some(Access::In));
    let bytes = written.flat_map(|(_, memory)| memory.bytes());
    Ok(bytes.fold(0xcbf29ce484222325, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x100000001b3)))
}

fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    // SAFETY: the source texts are those of this example.
    let options = unsafe { ContextOptions::new().cache_mode(CacheMode::Memory).allow_source() };
    let context = Context::with(options)?;
    let device = context.cpu()?;
    for case in cases::ALL {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == case.name) {
            continue;
        }
        let program = (case.build)()?;
        let cpu = kernel(&context, &program, case, CPU)?;
        let gpu = keys(&kernel(&context, &program, case, "sm_90a")?)?;
        println!("{} {} {} {:016x}", case.name, keys(&cpu)?, gpu, digest(&device, &cpu, case)?);
    }
    Ok(())
}
