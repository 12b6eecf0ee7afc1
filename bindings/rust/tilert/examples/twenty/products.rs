//! Programs of matrix products. Reads are statements, whose order is part of a program's key.

use tilert::prelude::*;
use tilert::{Access, DimOptions, Result, StoresState, TensorOptions};

/// The hello kernel: c = gelu(a b + bias).
pub fn gemm_bias_gelu() -> Result<Program> {
    let (bm, bn, bk) = (64, 64, 32);
    tilert::build("gemm_bias_gelu", |b| {
        let [m, n, k] = b.dims(["M", "N", "K"]);
        let (a, w, bias) = (b.input("A", Bf16, (m, k)), b.input("B", Bf16, (k, n)), b.input("bias", F32, n));
        let c = b.output("C", Bf16, (m, n));
        b.grid((n.ceildiv(bn), m.ceildiv(bm)), |(x, y)| {
            let (at, wt) = (b.name("a").shared(Bf16, (bm, bk)), b.name("w").shared(Bf16, (bk, bn)));
            let acc = b.name("acc").fragment(F32, (bm, bn));
            b.clear(acc);
            b.pipelined(k.ceildiv(bk), 3, |k| {
                b.copy(a.at((y * bm, k * bk)), at);
                b.copy(w.at((k * bk, x * bn)), wt);
                b.gemm(at, wt, acc);
            });
            b.parallel((bm, bn), |(i, j)| {
                let v = b.bind(acc.at((i, j)) + bias.at(x * bn + j));
                acc.at((i, j)).set(0.5 * v * ((v * std::f64::consts::FRAC_1_SQRT_2).erf() + 1));
            });
            b.copy(acc, c.at((y * bm, x * bn)));
        });
    })
}

/// Exact products of 8-bit integers, a scale for each column.
pub fn gemm_int8() -> Result<Program> {
    let (bm, bn, bk) = (32, 64, 64);
    tilert::build("gemm_int8", |b| {
        let [m, n, k] = b.dims(["M", "N", "K"]);
        let (a, w, scales) = (b.input("A", I8, (m, k)), b.input("B", I8, (n, k)), b.input("scales", F32, n));
        let c = b.output("C", F32, (m, n));
        b.grid((n.ceildiv(bn), m.ceildiv(bm)), |(x, y)| {
            let (at, wt) = (b.shared(I8, (bm, bk)), b.shared(I8, (bn, bk)));
            let (acc, out) = (b.fragment(I32, (bm, bn)), b.fragment(F32, (bm, bn)));
            b.pipelined(k.ceildiv(bk), 2, |k| {
                b.copy(a.at((y * bm, k * bk)), at);
                b.copy(w.at((x * bn, k * bk)), wt);
                b.gemm_with(at, wt, acc, GemmOptions::new().trans_b().accumulate_if(b, k.ne(0)));
            });
            b.parallel((bm, bn), |(i, j)| {
                out.at((i, j)).set(acc.at((i, j)).cast(F32) * scales.at(x * bn + j));
            });
            b.copy(out, c.at((y * bm, x * bn)));
        });
    })
}

/// fp8 operands with a scale for each block of 32, then silu by its fast form; hints of all kinds.
pub fn gemm_scaled() -> Result<Program> {
    let (bm, bn, bk) = (64, 32, 32);
    tilert::build("gemm_scaled", |b| {
        let [m, n, k, nb, kb] = b.dims(["M", "N", "K", "NB", "KB"]);
        let (a, w) = (b.input("A", E4m3, (m, k)), b.input("W", E4m3, (n, k)));
        let (of_a, of_w) = (b.input("of_a", F32, (m, kb)), b.input("of_w", F32, (nb, kb)));
        let c = b.output("C", F32, (m, n));
        let hints = Hints::new().threads(128).must().for_target("sm_90a").min_blocks(1).max_registers(128);
        b.grid_with((n.ceildiv(bn), m.ceildiv(bm)), hints.raster(4).pdl().fixed_order(), |(x, y)| {
            let (at, wt) = (b.shared(E4m3, (bm, bk)), b.shared(E4m3, (bn, bk)));
            let acc = b.fragment(F32, (bm, bn));
            b.clear(acc);
            b.pipelined(k.ceildiv(bk), 0, |k| {
                b.copy(a.at((y * bm, k * bk)), at);
                b.copy(w.at((x * bn, k * bk)), wt);
                let scaled =
                    GemmOptions::new().scaled(of_a.at((y * bm, k)).size((bm, 1)), of_w.at((x, k)).size((1, 1)));
                b.gemm_with(at, wt, acc, scaled.trans_b().trans_b_scale());
            });
            b.parallel((bm, bn), |(i, j)| acc.at((i, j)).update(|v| v * v.sigmoid().fast()));
            b.copy(acc, c.at((y * bm, x * bn)));
        });
    })
}

/// Two of each four elements of a are kept; `places` says which.
pub fn gemm_sparse() -> Result<Program> {
    tilert::build("gemm_sparse", |b| {
        let (a, w, p) = (b.input("A", F16, (16, 32)), b.input("B", F16, (64, 8)), b.input("places", U16, (16, 4)));
        let c = b.output("C", F32, (16, 8));
        b.grid(1, |_| {
            let (at, wt, places) = (b.shared(F16, (16, 32)), b.shared(F16, (64, 8)), b.shared(U16, (16, 4)));
            let acc = b.fragment(F32, (16, 8));
            b.copy(a, at);
            b.copy(w, wt);
            b.copy(p, places);
            b.gemm_with(at, wt, acc, GemmOptions::new().sparse(places).overwrite());
            b.copy(acc, c);
        });
    })
}

/// Rows of x, 16 at a time, each for the expert that `expert` names; weights lie apart.
pub fn experts() -> Result<Program> {
    let (rows, columns) = (16, 32);
    tilert::build("experts", |b| {
        let [t, r, e, n, k] = b.dims(["T", "R", "E", "N", "K"]);
        let x = b.input("x", Bf16, (t, k));
        let w = b.tensor("W", Access::In, Bf16, (e, n, k), TensorOptions::new().pointer_table());
        let (expert, scales) = (b.input("expert", U8, r), b.input("scales", F32, e));
        let tiles = b.input("tiles", I32, 1);
        let y = b.output("y", Bf16, (t, n));
        b.grid_with((n.ceildiv(columns), r), Hints::new().persistent_of(tiles), |(column, row)| {
            b.tile_cost_near(row + 1, column);
            let (at, wt) = (b.shared(Bf16, (rows, 32)), b.shared(Bf16, (columns, 32)));
            let acc = b.fragment(F32, (rows, columns));
            let e = b.bind(expert.at(row).cast(Index) % e);
            b.clear(acc);
            b.pipelined(k.ceildiv(32), 2, |k| {
                b.copy(x.at((row * rows, k * 32)), at);
                b.copy(w.at((e, column * columns, k * 32)), wt);
                b.gemm_with(at, wt, acc, GemmOptions::new().trans_b());
            });
            b.parallel((rows, columns), |(i, j)| acc.at((i, j)).update(|sum| sum * scales.at(e)));
            b.copy(acc, y.at((row * rows, column * columns)));
        });
    })
}

/// A ring of tensor copies, one role that fills it and one that multiplies by issued products.
pub fn hand_gemm() -> Result<Program> {
    let (bm, bn, bk, slots) = (128u32, 64u32, 64u32, 3u32);
    tilert::build("hand_gemm", |b| {
        let (m, by_8) = (b.dim("M"), DimOptions::new().divisible(8));
        let (n, k) = (b.dim_with("N", by_8.clone()), b.dim_with("K", by_8));
        let (a, w) = (b.input("A", Bf16, (m, k)), b.input("B", Bf16, (n, k)));
        let c = b.output("C", Bf16, (m, n));
        b.grid_with((n.ceildiv(bn), m.ceildiv(bm)), Hints::new().threads(256), |(x, y)| {
            let (at, wt) = (b.shared(Bf16, (slots, bm, bk)), b.shared(Bf16, (slots, bn, bk)));
            let out = b.shared(Bf16, (bm, bn));
            let (full, free) = (b.barriers(slots, 1), b.barriers(slots, 1));
            let trips = k.ceildiv(bk);
            b.roles(40, 232, |roles| {
                roles.issue(|| {
                    b.serial(trips, |k| {
                        b.wait_barrier(free.at(k % slots), k / slots - 1);
                        b.arrive_expect(full.at(k % slots), (bm + bn) * bk * 2);
                        b.load_tensor(a.at((y * bm, k * bk)), at.at((k % slots, 0, 0)), full.at(k % slots));
                        b.load_tensor(w.at((x * bn, k * bk)), wt.at((k % slots, 0, 0)), full.at(k % slots));
                    });
                });
                roles.work(|| {
                    let acc = b.fragment(F32, (bm, bn));
                    b.clear(acc);
                    b.serial(trips, |k| {
                        b.wait_barrier(full.at(k % slots), k / slots);
                        let issued = GemmOptions::new().trans_b().issue();
                        b.gemm_with(at.at((k % slots, 0, 0)), wt.at((k % slots, 0, 0)), acc, issued);
                        b.commit_products();
                        b.wait_products(1);
                        b.if_(b.literal(0).lt(k), || b.arrive(free.at((k - 1) % slots)));
                    });
                    b.wait_products(0);
                    b.copy(acc, out);
                    b.store_tensor(out, c.at((y * bm, x * bn)));
                    b.commit_stores();
                    b.wait_stores(0, StoresState::Written);
                });
            });
        });
    })
}
