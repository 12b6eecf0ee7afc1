/* Programs of matrix products. */
#include "kit.h"
#include "programs.h"

/* The hello kernel: c = gelu(a b + bias). */
void gemm_bias_gelu(void) {
  enum { bm = 64, bn = 64, bk = 32 };
  const tilert_expr M = dim("M"), N = dim("N"), K = dim("K");
  const tilert_tensor A = INPUT("A", TILERT_BF16, M, K), B = INPUT("B", TILERT_BF16, K, N), bias = INPUT("bias", TILERT_F32, N);
  const tilert_tensor C = OUTPUT("C", TILERT_BF16, M, N);
  GRID(x, ceildiv(N, bn), ceildiv(M, bm)) {
    const tilert_expr row = times(x[1], bm), column = times(x[0], bn);
    const tilert_buffer a = SHARED(TILERT_BF16, num(bm), num(bk)), w = SHARED(TILERT_BF16, num(bk), num(bn));
    const tilert_buffer acc = FRAGMENT(TILERT_F32, num(bm), num(bn));
    CLEAR(ALL(acc));
    PIPELINED(k, ceildiv(K, bk), 3) {
      COPY(AT(A, row, times(k[0], bk)), ALL(a));
      COPY(AT(B, times(k[0], bk), column), ALL(w));
      GEMM(ALL(a), ALL(w), ALL(acc), 0);
    }
    PARALLEL(i, num(bm), num(bn)) {
      const tilert_expr sum = LOAD(AT(acc, i[0], i[1])), more = LOAD(AT(bias, add(column, i[1])));
      const tilert_expr v = tilert_builder_let(b, add(sum, more));
      const tilert_expr erf = op(TILERT_OP_ERF, LIST(mul(v, real(0.7071067811865476))));
      STORE(AT(acc, i[0], i[1]), mul(mul(real(0.5), v), add(erf, literal(1))));
    }
    COPY(ALL(acc), AT(C, row, column));
  }
}

/* Exact products of 8-bit integers, a scale for each column. */
void gemm_int8(void) {
  enum { bm = 32, bn = 64, bk = 64 };
  const tilert_expr M = dim("M"), N = dim("N"), K = dim("K");
  const tilert_tensor A = INPUT("A", TILERT_INT8, M, K), B = INPUT("B", TILERT_INT8, N, K), scales = INPUT("scales", TILERT_F32, N);
  const tilert_tensor C = OUTPUT("C", TILERT_F32, M, N);
  GRID(x, ceildiv(N, bn), ceildiv(M, bm)) {
    const tilert_expr row = times(x[1], bm), column = times(x[0], bn);
    const tilert_buffer a = SHARED(TILERT_INT8, num(bm), num(bk)), w = SHARED(TILERT_INT8, num(bn), num(bk));
    const tilert_buffer acc = FRAGMENT(TILERT_INT32, num(bm), num(bn)), out = FRAGMENT(TILERT_F32, num(bm), num(bn));
    PIPELINED(k, ceildiv(K, bk), 2) {
      COPY(AT(A, row, times(k[0], bk)), ALL(a));
      COPY(AT(B, column, times(k[0], bk)), ALL(w));
      const tilert_gemm_options options = {.struct_size = sizeof options,
                                           .flags = TILERT_GEMM_TRANS_B,
                                           .accumulate = op(TILERT_OP_NE, LIST(k[0], num(0)))};
      const tilert_region left = ALL(a), right = ALL(w), into = ALL(acc);
      tilert_builder_gemm(b, &left, &right, &into, &options);
    }
    PARALLEL(i, num(bm), num(bn)) {
      const tilert_expr sum = LOAD(AT(acc, i[0], i[1])), by = LOAD(AT(scales, add(column, i[1])));
      STORE(AT(out, i[0], i[1]), mul(cast(TILERT_F32, sum), by));
    }
    COPY(ALL(out), AT(C, row, column));
  }
}

/* fp8 operands with a scale for each block of 32, then silu by its fast form; hints of all kinds. */
void gemm_scaled(void) {
  enum { bm = 64, bn = 32, bk = 32 };
  const tilert_expr M = dim("M"), N = dim("N"), K = dim("K"), NB = dim("NB"), KB = dim("KB"); /* and their blocks */
  const tilert_tensor A = INPUT("A", TILERT_E4M3, M, K), W = INPUT("W", TILERT_E4M3, N, K);
  const tilert_tensor of_a = INPUT("of_a", TILERT_F32, M, KB), of_w = INPUT("of_w", TILERT_F32, NB, KB);
  const tilert_tensor C = OUTPUT("C", TILERT_F32, M, N);
  const tilert_hint hints[] = {
      {.struct_size = sizeof(tilert_hint), .kind = TILERT_HINT_THREADS, .value = 128, .flags = TILERT_HINT_MUST, .target = "sm_90a"},
      {.struct_size = sizeof(tilert_hint), .kind = TILERT_HINT_MIN_BLOCKS, .value = 1},
      {.struct_size = sizeof(tilert_hint), .kind = TILERT_HINT_MAX_REGISTERS, .value = 128},
      {.struct_size = sizeof(tilert_hint), .kind = TILERT_HINT_RASTER, .value = 4},
      {.struct_size = sizeof(tilert_hint), .kind = TILERT_HINT_PDL, .value = 1},
  };
  const tilert_grid grid = {.flags = TILERT_GRID_FIXED_ORDER, .hints = hints, .hint_count = 5};
  KERNEL(x, grid, ceildiv(N, bn), ceildiv(M, bm)) {
    const tilert_expr row = times(x[1], bm), column = times(x[0], bn);
    const tilert_buffer a = SHARED(TILERT_E4M3, num(bm), num(bk)), w = SHARED(TILERT_E4M3, num(bn), num(bk));
    const tilert_buffer acc = FRAGMENT(TILERT_F32, num(bm), num(bn));
    CLEAR(ALL(acc));
    PIPELINED(k, ceildiv(K, bk), 0) {
      COPY(AT(A, row, times(k[0], bk)), ALL(a));
      COPY(AT(W, column, times(k[0], bk)), ALL(w));
      const tilert_region a_scale = PART(of_a, LIST(row, k[0]), LIST(num(bm), num(1)));
      const tilert_region w_scale = PART(of_w, LIST(x[0], k[0]), LIST(num(1), num(1)));
      const tilert_gemm_options options = {.struct_size = sizeof options,
                                           .flags = TILERT_GEMM_TRANS_B | TILERT_GEMM_TRANS_B_SCALE,
                                           .a_scale = &a_scale,
                                           .b_scale = &w_scale};
      const tilert_region left = ALL(a), right = ALL(w), into = ALL(acc);
      tilert_builder_gemm(b, &left, &right, &into, &options);
    }
    PARALLEL(i, num(bm), num(bn)) {
      const tilert_expr v = LOAD(AT(acc, i[0], i[1]));
      STORE(AT(acc, i[0], i[1]), mul(v, tilert_builder_fast(b, op(TILERT_OP_SIGMOID, LIST(v)))));
    }
    COPY(ALL(acc), AT(C, row, column));
  }
}

/* Two of each four elements of a are kept; `places` says which. */
void gemm_sparse(void) {
  const tilert_tensor A = INPUT("A", TILERT_F16, num(16), num(32)), B = INPUT("B", TILERT_F16, num(64), num(8));
  const tilert_tensor P = INPUT("places", TILERT_UINT16, num(16), num(4)), C = OUTPUT("C", TILERT_F32, num(16), num(8));
  GRID(x, num(1)) {
    const tilert_buffer a = SHARED(TILERT_F16, num(16), num(32)), w = SHARED(TILERT_F16, num(64), num(8));
    const tilert_buffer places = SHARED(TILERT_UINT16, num(16), num(4)), acc = FRAGMENT(TILERT_F32, num(16), num(8));
    COPY(ALL(A), ALL(a));
    COPY(ALL(B), ALL(w));
    COPY(ALL(P), ALL(places));
    const tilert_region metadata = ALL(places), left = ALL(a), right = ALL(w), into = ALL(acc);
    const tilert_gemm_options options = {.struct_size = sizeof options, .flags = TILERT_GEMM_OVERWRITE, .metadata = &metadata};
    tilert_builder_gemm(b, &left, &right, &into, &options);
    COPY(ALL(acc), ALL(C));
  }
}

/* Rows of x, 16 at a time, each for the expert that `expert` names; weights lie apart. Only the first of the tiles are done. */
void experts(void) {
  enum { rows = 16, columns = 32 };
  const tilert_expr T = dim("T"), R = dim("R"), E = dim("E"), N = dim("N"), K = dim("K");
  const tilert_tensor_options table = {.struct_size = sizeof table, .flags = TILERT_TENSOR_POINTER_TABLE};
  const tilert_tensor x = INPUT("x", TILERT_BF16, T, K);
  const tilert_tensor W = tilert_builder_tensor(b, "W", TILERT_IN, TILERT_BF16, EXPRS(E, N, K), 3, &table);
  const tilert_tensor expert = INPUT("expert", TILERT_UINT8, R), scales = INPUT("scales", TILERT_F32, E);
  const tilert_tensor tiles = INPUT("tiles", TILERT_INT32, num(1)), y = OUTPUT("y", TILERT_BF16, T, N);
  const tilert_grid grid = {.flags = TILERT_GRID_PERSISTENT, .tile_count = tiles};
  KERNEL(at, grid, ceildiv(N, columns), R) {
    const tilert_expr row = times(at[1], rows), column = times(at[0], columns);
    tilert_builder_tile_cost(b, add(at[1], num(1)), at[0]);
    const tilert_buffer a = SHARED(TILERT_BF16, num(rows), num(32)), w = SHARED(TILERT_BF16, num(columns), num(32));
    const tilert_buffer acc = FRAGMENT(TILERT_F32, num(rows), num(columns));
    const tilert_expr e = tilert_builder_let(b, mod(cast(TILERT_INDEX, LOAD(AT(expert, at[1]))), E));
    CLEAR(ALL(acc));
    PIPELINED(k, ceildiv(K, 32), 2) {
      COPY(AT(x, row, times(k[0], 32)), ALL(a));
      COPY(AT(W, e, column, times(k[0], 32)), ALL(w));
      GEMM(ALL(a), ALL(w), ALL(acc), TILERT_GEMM_TRANS_B);
    }
    PARALLEL(i, num(rows), num(columns)) {
      const tilert_expr sum = LOAD(AT(acc, i[0], i[1])), by = LOAD(AT(scales, e));
      STORE(AT(acc, i[0], i[1]), mul(sum, by));
    }
    COPY(ALL(acc), AT(y, row, column));
  }
}

enum { kRows = 128, kColumns = 64, kDepth = 64, kSlots = 3 };

/* One thread fills the ring. */
static void fill_ring(tilert_expr trips, tilert_region from_a, tilert_region from_w, tilert_buffer a, tilert_buffer w, const tilert_buffer* barriers) {
  const tilert_expr row = from_a.offsets[0], column = from_w.offsets[0];
  tilert_builder_begin_role(b, TILERT_ROLE_ISSUE);
  SERIAL(k, trips) {
    const tilert_expr slot = mod(k[0], num(kSlots)), depth = times(k[0], kDepth);
    const tilert_region free = AT(barriers[1], slot), full = AT(barriers[0], slot);
    tilert_builder_wait_barrier(b, &free, sub(quo(k[0], num(kSlots)), num(1)));
    tilert_builder_arrive_expect(b, &full, (kRows + kColumns) * kDepth * 2);
    const tilert_region a_box = placed(from_a, LIST(row, depth)), w_box = placed(from_w, LIST(column, depth));
    const tilert_region a_slot = AT(a, slot, num(0), num(0)), w_slot = AT(w, slot, num(0), num(0));
    tilert_builder_load_tensor(b, &a_box, &a_slot, &full);
    tilert_builder_load_tensor(b, &w_box, &w_slot, &full);
  }
  tilert_builder_end_role(b);
}

/* The others multiply what is there. */
static void multiply(tilert_expr trips, tilert_buffer a, tilert_buffer w, tilert_buffer out, tilert_region to, const tilert_buffer* barriers) {
  tilert_builder_begin_role(b, TILERT_ROLE_WORK);
  const tilert_buffer acc = FRAGMENT(TILERT_F32, num(kRows), num(kColumns));
  CLEAR(ALL(acc));
  SERIAL(k, trips) {
    const tilert_expr slot = mod(k[0], num(kSlots));
    const tilert_region full = AT(barriers[0], slot);
    tilert_builder_wait_barrier(b, &full, quo(k[0], num(kSlots)));
    GEMM(AT(a, slot, num(0), num(0)), AT(w, slot, num(0), num(0)), ALL(acc), TILERT_GEMM_TRANS_B | TILERT_GEMM_ISSUE);
    tilert_builder_commit_products(b);
    tilert_builder_wait_products(b, 1);
    IF(lt(num(0), k[0])) {
      const tilert_region before = AT(barriers[1], mod(sub(k[0], num(1)), num(kSlots)));
      tilert_builder_arrive(b, &before);
    }
  }
  tilert_builder_wait_products(b, 0);
  COPY(ALL(acc), ALL(out));
  const tilert_region from = ALL(out);
  tilert_builder_store_tensor(b, &from, &to);
  tilert_builder_commit_stores(b);
  tilert_builder_wait_stores(b, 0, TILERT_STORES_WRITTEN);
  tilert_builder_end_role(b);
}

/* A ring of tensor copies, one role that fills it and one that multiplies by issued products. */
void hand_gemm(void) {
  const tilert_expr M = dim("M"), N = dim_divisible("N", 8), K = dim_divisible("K", 8);
  const tilert_tensor A = INPUT("A", TILERT_BF16, M, K), B = INPUT("B", TILERT_BF16, N, K), C = OUTPUT("C", TILERT_BF16, M, N);
  const tilert_hint threads = {.struct_size = sizeof threads, .kind = TILERT_HINT_THREADS, .value = 256};
  const tilert_grid grid = {.hints = &threads, .hint_count = 1};
  KERNEL(x, grid, ceildiv(N, kColumns), ceildiv(M, kRows)) {
    const tilert_expr row = times(x[1], kRows), column = times(x[0], kColumns), trips = ceildiv(K, kDepth);
    const tilert_buffer a = SHARED(TILERT_BF16, num(kSlots), num(kRows), num(kDepth));
    const tilert_buffer w = SHARED(TILERT_BF16, num(kSlots), num(kColumns), num(kDepth));
    const tilert_buffer out = SHARED(TILERT_BF16, num(kRows), num(kColumns));
    tilert_buffer barriers[2]; /* full, free */
    for (int i = 0; i < 2; ++i) barriers[i] = tilert_builder_barriers(b, kSlots, 1, NULL);
    const tilert_roles_options registers = {.struct_size = sizeof registers, .issuer_registers = 40, .worker_registers = 232};
    tilert_builder_begin_roles(b, &registers);
    fill_ring(trips, AT(A, row, num(0)), AT(B, column, num(0)), a, w, barriers);
    multiply(trips, a, w, out, AT(C, row, column), barriers);
    tilert_builder_end_roles(b);
  }
}
