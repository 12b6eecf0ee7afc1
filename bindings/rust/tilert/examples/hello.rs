//! c = gelu(a · b + bias): a product with a fused epilogue, built, compiled for this machine's CPU, launched, and checked
//! against a plain loop: `cargo run --example hello`.

use tilert::prelude::*;
use tilert::{bf16, Result};

fn gelu(x: Expr<'_>) -> Expr<'_> {
    0.5 * x * ((x * std::f64::consts::FRAC_1_SQRT_2).erf() + 1)
}

fn gemm_bias_gelu(bm: i64, bn: i64, bk: i64) -> Result<Program> {
    tilert::build("gemm_bias_gelu", |b| {
        let [m, n, k] = b.dims(["M", "N", "K"]);
        let a = b.input("A", Bf16, (m, k));
        let w = b.input("B", Bf16, (k, n));
        let bias = b.input("bias", F32, n);
        let c = b.output("C", Bf16, (m, n));
        b.grid((n.ceildiv(bn), m.ceildiv(bm)), |(x, y)| {
            let (at, wt) = (b.shared(Bf16, (bm, bk)), b.shared(Bf16, (bk, bn)));
            let acc = b.fragment(F32, (bm, bn));
            b.clear(acc);
            b.pipelined(k.ceildiv(bk), 3, |k| {
                b.copy(a.at((y * bm, k * bk)), at); // beyond the matrix: zeros
                b.copy(w.at((k * bk, x * bn)), wt);
                b.gemm(at, wt, acc);
            });
            b.parallel((bm, bn), |(i, j)| {
                acc.at((i, j)).set(gelu(acc.at((i, j)) + bias.at(x * bn + j)));
            });
            b.copy(acc, c.at((y * bm, x * bn)));
        });
    })
}

/// Small numbers that repeat from run to run.
fn numbers(count: usize, seed: u64) -> impl Iterator<Item = f32> {
    let mut state = seed;
    (0..count).map(move |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 40) as f32 / (1 << 23) as f32) - 1.0
    })
}

/// The error function, to 1e-7 and better: its series below 3, 1 beyond.
fn erf(x: f64) -> f64 {
    if x.abs() > 4.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..80 {
        term *= -x * x / n as f64;
        sum += term / (2 * n + 1) as f64;
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

fn main() -> Result<()> {
    let (m, n, k) = (300, 200, 152);
    let a: Vec<bf16> = numbers(m * k, 1).map(bf16::from_f32).collect();
    let w: Vec<bf16> = numbers(k * n, 2).map(bf16::from_f32).collect();
    let bias: Vec<f32> = numbers(n, 3).collect();
    let mut c = vec![bf16(0x7fc0); m * n]; // poisoned with NaN

    let context = Context::new()?;
    let device = context.cpu()?;
    let loaded = context.kernel(&gemm_bias_gelu(128, 128, 32)?)?.prepare(&device)?;
    let arguments = [input(&a, &[m, k])?, input(&w, &[k, n])?, input(&bias, &[n])?, output(&mut c, &[m, n])?];
    loaded.launch(Stream::null(), &arguments, &[])?;

    let mut worst = 0f64;
    for i in 0..m {
        for j in 0..n {
            let (mut sum, mut size) = (bias[j] as f64, bias[j].abs() as f64);
            for p in 0..k {
                let product = a[i * k + p].to_f32() as f64 * w[p * n + j].to_f32() as f64;
                sum += product;
                size += product.abs();
            }
            let wanted = 0.5 * sum * (1.0 + erf(sum / std::f64::consts::SQRT_2));
            let allowed = wanted.abs() / 256.0 + 8.0 * f32::EPSILON as f64 * (k as f64).sqrt() * size;
            let error = (c[i * n + j].to_f32() as f64 - wanted).abs();
            worst = if error.is_nan() { f64::INFINITY } else { worst.max(error / allowed) };
        }
    }
    println!("gemm with bias and GELU on {}: {} x {} x {}", device.info()?.target, m, n, k);
    println!("largest error: {:.3} of what is allowed", worst);
    if worst > 1.0 {
        println!("wrong");
        std::process::exit(1);
    }
    println!("right");
    Ok(())
}
