//! Programs that work along rows.

use tilert::prelude::*;
use tilert::{Access, Atomic, CopyPrefer, DimOptions, Layout, Result, Scan, TensorOptions};

/// y = factor x, a block's part in a loop over four tiles.
pub fn scale() -> Result<Program> {
    tilert::build("scale", |b| {
        let n = b.dim_with("N", DimOptions::new().divisible(8));
        let (x, y) = (b.input("x", F32, n), b.output("y", F32, n));
        let factor = b.scalar("factor", F32);
        b.grid(n.ceildiv(512), |block| {
            let t = b.fragment(F32, 128);
            b.serial(4, |k| {
                let at = b.bind(block * 512 + k * 128);
                b.copy(x.at(at), t);
                b.parallel(128, |i| t.at(i).update(|v| v * factor));
                b.copy(t, y.at(at));
            });
        });
    })
}

/// Rows of 100 in tiles of 4 x 128; what lies beyond a row is minus infinity and adds nothing.
pub fn softmax() -> Result<Program> {
    let (rows, width) = (4, 128);
    tilert::build("softmax", |b| {
        let r = b.dim("R");
        let (x, y) = (b.input("x", F32, (r, 100)), b.output("y", F32, (r, 100)));
        b.grid(r.ceildiv(rows), |block| {
            let t = b.fragment(F32, (rows, width));
            let (top, sum) = (b.fragment(F32, rows), b.fragment(F32, rows));
            b.copy_with(x.at((block * rows, 0)), t, CopyOptions::new(b).safe(f64::NEG_INFINITY));
            b.reduce(Reduce::Max, t, top, 1);
            b.parallel((rows, width), |(i, j)| t.at((i, j)).set((t.at((i, j)) - top.at(i)).exp()));
            b.reduce(Reduce::Sum, t, sum, 1);
            b.parallel((rows, width), |(i, j)| t.at((i, j)).set(t.at((i, j)) / sum.at(i)));
            b.copy(t, y.at((block * rows, 0)));
        });
    })
}

/// f16 rows, computed in f32.
pub fn rmsnorm() -> Result<Program> {
    let n = 256;
    tilert::build("rmsnorm", |b| {
        let t = b.dim("T");
        let (x, w, y) = (b.input("x", F16, (t, n)), b.input("w", F32, n), b.output("y", F16, (t, n)));
        let eps = b.scalar("eps", F32);
        b.grid(t, |t| {
            let (row, squares, sum) = (b.fragment(F32, n), b.fragment(F32, n), b.fragment(F32, 1));
            b.copy(x.at((t, 0)), row);
            b.parallel(n, |i| {
                let v = row.at(i).load();
                squares.at(i).set(v * v);
            });
            b.reduce(Reduce::Sum, squares, sum, 0);
            b.parallel(n, |i| {
                let (v, all, weight) = (row.at(i).load(), sum.at(0).load(), w.at(i).load());
                row.at(i).set(v * (all / n + eps).rsqrt() * weight);
            });
            b.copy(row, y.at((t, 0)));
        });
    })
}

/// Through shared tiles whose columns lie on 32 banks.
pub fn transposed() -> Result<Program> {
    tilert::build("transposed", |b| {
        let [m, n] = b.dims(["M", "N"]);
        let (x, y) = (b.input("x", F32, (m, n)), b.output("y", F32, (n, m)));
        b.grid((n.ceildiv(32), m.ceildiv(32)), |(column, row)| {
            let t = b.shared(F32, (32, 32));
            b.annotate_places(t, false, |[i, j]| i * 32 + (j + i) % 32);
            b.copy(x.at((row * 32, column * 32)), t);
            b.transpose(t, y.at((column * 32, row * 32)), &[]);
        });
    })
}

/// Rows that lie S elements apart, columns from `limit` on taken for -1; two ranges of M, a variant for each.
pub fn strided_copy() -> Result<Program> {
    tilert::build("strided_copy", |b| {
        let m = b.dim_with("M", DimOptions::new().range(1, 64).range(65, 4096));
        let [n, s] = b.dims(["N", "S"]);
        let x = b.tensor("x", Access::In, F32, (m, n), TensorOptions::new().strides(b, (s, 1)));
        let y = b.output("y", F32, (m, n));
        let limit = b.scalar("limit", I32);
        b.grid_with(m.ceildiv(16), Hints::new().threads(128), |block| {
            let t = b.shared(F32, (16, 64));
            b.annotate_layout(t, Layout::Padded, false);
            b.pipelined(n.ceildiv(64), 2, |k| {
                let options = CopyOptions::new(b).valid((m, limit.cast(Index))).safe(-1);
                b.copy_with(x.at((block * 16, k * 64)), t, options.prefer(CopyPrefer::Async).eviction(1));
                b.copy(t, y.at((block * 16, k * 64)));
            });
        });
    })
}

/// Rows of a table by index, and for each row of the table the sum of what was taken.
pub fn embed() -> Result<Program> {
    tilert::build("embed", |b| {
        let [t, v] = b.dims(["T", "V"]);
        let (table, ids) = (b.input("table", F16, (v, 32)), b.input("ids", I32, t));
        let (y, sums) = (b.output("y", F32, (t, 32)), b.inout("sums", F32, (v, 32)));
        b.grid(t.ceildiv(16), |block| {
            let (id, rows) = (b.fragment(I32, 16), b.fragment(F32, (16, 32)));
            b.copy_with(ids.at(block * 16), id, CopyOptions::new(b).safe(-1));
            b.gather(table.at((0, 0)), id, rows, 0);
            b.copy(rows, y.at((block * 16, 0)));
            b.scatter(rows, id, sums.at((0, 0)), 0, Some(Atomic::Add));
        });
    })
}

/// The eight greatest of each row, what lies before each element, the place of the greatest, and how many are as great.
pub fn ranked() -> Result<Program> {
    let (rows, n) = (4, 48);
    tilert::build("ranked", |b| {
        let r = b.dim("R");
        let (x, best) = (b.input("x", F32, (r, n)), b.output("best", F32, (r, 8)));
        let (before, places) = (b.output("before", F32, (r, n)), b.output("places", I32, (r, 8)));
        let (first, equal) = (b.output("first", I32, r), b.output("equal", I32, r));
        b.grid(r.ceildiv(rows), |block| {
            let row = b.bind(block * rows);
            let (t, sums) = (b.fragment(F32, (rows, n)), b.fragment(F32, (rows, n)));
            let (eight, place, at) = (b.fragment(F32, (rows, 8)), b.fragment(I32, (rows, 8)), b.fragment(I32, rows));
            b.copy(x.at((row, 0)), t);
            b.top_k(t, eight, place, 1);
            b.scan(Reduce::Sum, t, sums, 1, Scan::new().exclusive());
            b.reduce(Reduce::ArgMax, t, at, 1);
            let (ones, count, greatest) = (b.fragment(I32, (rows, n)), b.fragment(I32, rows), b.fragment(F32, rows));
            b.fill(ones, 1);
            let nothing = [b.literal(f64::NEG_INFINITY), b.literal(0)];
            b.combine([t, ones], [greatest, count], 1, nothing, |l, r| {
                let both = l[1] + r[1];
                let greater = l[0].lt(r[0]).select(r[1], l[1]);
                [l[0].max(r[0]), l[0].eq(r[0]).select(both, greater)]
            });
            b.copy(eight, best.at((row, 0)));
            b.copy(sums, before.at((row, 0)));
            b.copy(place, places.at((row, 0)));
            b.copy(at, first.at(row));
            b.copy(count, equal.at(row));
        });
    })
}
