/* Programs that work along rows. */
#include <math.h>

#include "kit.h"
#include "programs.h"

/* y = factor x, a block's part in a loop over four tiles. */
void scale(void) {
  const tilert_expr N = dim_divisible("N", 8);
  const tilert_tensor x = INPUT("x", TILERT_F32, N), y = OUTPUT("y", TILERT_F32, N);
  const tilert_expr factor = scalar("factor", TILERT_F32);
  GRID(block, ceildiv(N, 512)) {
    const tilert_buffer t = FRAGMENT(TILERT_F32, num(128));
    SERIAL(k, num(4)) {
      const tilert_expr at = tilert_builder_let(b, add(times(block[0], 512), times(k[0], 128)));
      COPY(AT(x, at), ALL(t));
      PARALLEL(i, num(128)) { STORE(AT(t, i[0]), mul(LOAD(AT(t, i[0])), factor)); }
      COPY(ALL(t), AT(y, at));
    }
  }
}

/* Rows of 100 in tiles of 4 x 128; what lies beyond a row is minus infinity and adds nothing. */
void softmax(void) {
  enum { rows = 4, width = 128 };
  const tilert_expr R = dim("R");
  const tilert_tensor x = INPUT("x", TILERT_F32, R, num(100)), y = OUTPUT("y", TILERT_F32, R, num(100));
  GRID(block, ceildiv(R, rows)) {
    const tilert_expr row = times(block[0], rows);
    const tilert_buffer t = FRAGMENT(TILERT_F32, num(rows), num(width));
    const tilert_buffer top = FRAGMENT(TILERT_F32, num(rows)), sum = FRAGMENT(TILERT_F32, num(rows));
    const tilert_copy_options options = {.struct_size = sizeof options, .safe_value = real(-INFINITY)};
    const tilert_region from = AT(x, row, num(0)), whole = ALL(t);
    tilert_builder_copy(b, &from, &whole, &options);
    REDUCE(TILERT_REDUCE_MAX, ALL(t), ALL(top), 1);
    PARALLEL(i, num(rows), num(width)) {
      const tilert_expr v = LOAD(AT(t, i[0], i[1])), most = LOAD(AT(top, i[0]));
      STORE(AT(t, i[0], i[1]), op(TILERT_OP_EXP, LIST(sub(v, most))));
    }
    REDUCE(TILERT_REDUCE_SUM, ALL(t), ALL(sum), 1);
    PARALLEL(i, num(rows), num(width)) {
      const tilert_expr v = LOAD(AT(t, i[0], i[1])), all = LOAD(AT(sum, i[0]));
      STORE(AT(t, i[0], i[1]), quo(v, all));
    }
    COPY(ALL(t), AT(y, row, num(0)));
  }
}

/* f16 rows, computed in f32. */
void rmsnorm(void) {
  enum { n = 256 };
  const tilert_expr T = dim("T");
  const tilert_tensor x = INPUT("x", TILERT_F16, T, num(n)), w = INPUT("w", TILERT_F32, num(n)), y = OUTPUT("y", TILERT_F16, T, num(n));
  const tilert_expr eps = scalar("eps", TILERT_F32);
  GRID(t, T) {
    const tilert_buffer row = FRAGMENT(TILERT_F32, num(n)), squares = FRAGMENT(TILERT_F32, num(n)), sum = FRAGMENT(TILERT_F32, num(1));
    COPY(AT(x, t[0], num(0)), ALL(row));
    PARALLEL(i, num(n)) {
      const tilert_expr v = LOAD(AT(row, i[0]));
      STORE(AT(squares, i[0]), mul(v, v));
    }
    REDUCE(TILERT_REDUCE_SUM, ALL(squares), ALL(sum), 0);
    PARALLEL(i, num(n)) {
      const tilert_expr v = LOAD(AT(row, i[0])), all = LOAD(AT(sum, num(0))), weight = LOAD(AT(w, i[0]));
      const tilert_expr by = op(TILERT_OP_RSQRT, LIST(add(quo(all, literal(n)), eps)));
      STORE(AT(row, i[0]), mul(mul(v, by), weight));
    }
    COPY(ALL(row), AT(y, t[0], num(0)));
  }
}

/* Through shared tiles whose columns lie on 32 banks. M is a stride, so there are two variants: rows on 16 bytes, and any. */
void transposed(void) {
  const tilert_expr M = dim("M"), N = dim("N");
  const tilert_tensor x = INPUT("x", TILERT_F32, M, N), y = OUTPUT("y", TILERT_F32, N, M);
  GRID(at, ceildiv(N, 32), ceildiv(M, 32)) {
    const tilert_expr column = times(at[0], 32), row = times(at[1], 32);
    const tilert_buffer t = SHARED(TILERT_F32, num(32), num(32));
    tilert_expr i[2];
    tilert_builder_layout_indices(b, t, i);
    tilert_builder_annotate_layout(b, t, TILERT_LAYOUT_CUSTOM, add(times(i[0], 32), mod(add(i[1], i[0]), num(32))), 0);
    COPY(AT(x, row, column), ALL(t));
    const tilert_region from = ALL(t), to = AT(y, column, row);
    tilert_builder_transpose(b, &from, &to, NULL, 0);
  }
}

/* Rows that lie S elements apart, columns from `limit` on taken for -1; two ranges of M, a variant for each. */
void strided_copy(void) {
  const tilert_bucket buckets[] = {{.kind = TILERT_BUCKET_RANGE, .a = 1, .b = 64}, {.kind = TILERT_BUCKET_RANGE, .a = 65, .b = 4096}};
  const tilert_dim_options ranges = {.struct_size = sizeof ranges, .buckets = buckets, .bucket_count = 2};
  const tilert_expr M = tilert_builder_dim_value(b, tilert_builder_dim(b, "M", &ranges)), N = dim("N"), S = dim("S");
  const tilert_tensor_options strided = {.struct_size = sizeof strided, .strides = EXPRS(S, num(1)), .stride_count = 2};
  const tilert_tensor x = tilert_builder_tensor(b, "x", TILERT_IN, TILERT_F32, EXPRS(M, N), 2, &strided);
  const tilert_tensor y = OUTPUT("y", TILERT_F32, M, N);
  const tilert_expr limit = scalar("limit", TILERT_INT32);
  const tilert_hint threads = {.struct_size = sizeof threads, .kind = TILERT_HINT_THREADS, .value = 128};
  const tilert_grid grid = {.hints = &threads, .hint_count = 1};
  KERNEL(block, grid, ceildiv(M, 16)) {
    const tilert_expr row = times(block[0], 16);
    const tilert_buffer t = SHARED(TILERT_F32, num(16), num(64));
    tilert_builder_annotate_layout(b, t, TILERT_LAYOUT_PADDED, (tilert_expr){0, 0}, 0);
    PIPELINED(k, ceildiv(N, 64), 2) {
      const tilert_copy_options options = {.struct_size = sizeof options,
                                           .valid = EXPRS(M, cast(TILERT_INDEX, limit)),
                                           .valid_count = 2,
                                           .safe_value = literal(-1),
                                           .prefer = TILERT_COPY_ASYNC,
                                           .eviction = 1};
      const tilert_region from = AT(x, row, times(k[0], 64)), whole = ALL(t);
      tilert_builder_copy(b, &from, &whole, &options);
      COPY(ALL(t), AT(y, row, times(k[0], 64)));
    }
  }
}

/* Rows of a table by index, and for each row of the table the sum of what was taken. Indices out of range give 0. */
void embed(void) {
  const tilert_expr T = dim("T"), V = dim("V");
  const tilert_tensor table = INPUT("table", TILERT_F16, V, num(32)), ids = INPUT("ids", TILERT_INT32, T);
  const tilert_tensor y = OUTPUT("y", TILERT_F32, T, num(32)), sums = INOUT("sums", TILERT_F32, V, num(32));
  GRID(block, ceildiv(T, 16)) {
    const tilert_expr row = times(block[0], 16);
    const tilert_buffer id = FRAGMENT(TILERT_INT32, num(16)), rows = FRAGMENT(TILERT_F32, num(16), num(32));
    const tilert_copy_options options = {.struct_size = sizeof options, .safe_value = literal(-1)};
    const tilert_region from = AT(ids, row), where = ALL(id), all = ALL(rows);
    const tilert_region first = AT(table, num(0), num(0)), to = AT(sums, num(0), num(0));
    tilert_builder_copy(b, &from, &where, &options);
    tilert_builder_gather(b, &first, &where, &all, 0);
    COPY(ALL(rows), AT(y, row, num(0)));
    const tilert_scatter_options adding = {.struct_size = sizeof adding, .op = TILERT_ATOMIC_ADD};
    tilert_builder_scatter(b, &all, &where, &to, 0, &adding);
  }
}

/* The greatest and how many are as great, in one pass over pairs. */
static void greatest_and_count(tilert_buffer t, tilert_buffer ones, tilert_buffer greatest, tilert_buffer count) {
  const tilert_region sources[] = {ALL(t), ALL(ones)}, destinations[] = {ALL(greatest), ALL(count)};
  const tilert_combine combine = {.struct_size = sizeof combine,
                                  .count = 2,
                                  .sources = sources,
                                  .destinations = destinations,
                                  .identities = EXPRS(real(-INFINITY), literal(0)),
                                  .dim = 1};
  tilert_expr l[2], r[2];
  tilert_builder_begin_combine(b, &combine, l, r);
  const tilert_expr both = add(l[1], r[1]);
  const tilert_expr counted = choose(eq(l[0], r[0]), both, choose(lt(l[0], r[0]), r[1], l[1]));
  tilert_builder_end_combine(b, EXPRS(op(TILERT_OP_MAX, LIST(l[0], r[0])), counted), 2);
}

/* The eight greatest of each row, what lies before each element, the place of the greatest, and how many are as great. */
void ranked(void) {
  enum { rows = 4, n = 48 };
  const tilert_expr R = dim("R");
  const tilert_tensor x = INPUT("x", TILERT_F32, R, num(n)), best = OUTPUT("best", TILERT_F32, R, num(8));
  const tilert_tensor before = OUTPUT("before", TILERT_F32, R, num(n)), places = OUTPUT("places", TILERT_INT32, R, num(8));
  const tilert_tensor first = OUTPUT("first", TILERT_INT32, R), equal = OUTPUT("equal", TILERT_INT32, R);
  GRID(block, ceildiv(R, rows)) {
    const tilert_expr row = tilert_builder_let(b, times(block[0], rows));
    const tilert_buffer t = FRAGMENT(TILERT_F32, num(rows), num(n)), sums = FRAGMENT(TILERT_F32, num(rows), num(n));
    const tilert_buffer eight = FRAGMENT(TILERT_F32, num(rows), num(8)), place = FRAGMENT(TILERT_INT32, num(rows), num(8));
    const tilert_buffer at = FRAGMENT(TILERT_INT32, num(rows));
    COPY(AT(x, row, num(0)), ALL(t));
    const tilert_region all = ALL(t), top = ALL(eight), stood = ALL(place), so_far = ALL(sums);
    const tilert_sort_options descending = {.struct_size = sizeof descending, .flags = TILERT_SORT_DESCENDING};
    tilert_builder_sort(b, &all, &top, &stood, 1, &descending);
    const tilert_scan_options exclusive = {.struct_size = sizeof exclusive, .flags = TILERT_SCAN_EXCLUSIVE};
    tilert_builder_scan(b, TILERT_REDUCE_SUM, &all, &so_far, 1, &exclusive);
    REDUCE(TILERT_REDUCE_ARGMAX, ALL(t), ALL(at), 1);
    const tilert_buffer ones = FRAGMENT(TILERT_INT32, num(rows), num(n)), count = FRAGMENT(TILERT_INT32, num(rows));
    const tilert_buffer greatest = FRAGMENT(TILERT_F32, num(rows));
    const tilert_region each = ALL(ones);
    tilert_builder_fill(b, &each, literal(1));
    greatest_and_count(t, ones, greatest, count);
    COPY(ALL(eight), AT(best, row, num(0)));
    COPY(ALL(sums), AT(before, row, num(0)));
    COPY(ALL(place), AT(places, row, num(0)));
    COPY(ALL(at), AT(first, row));
    COPY(ALL(count), AT(equal, row));
  }
}
