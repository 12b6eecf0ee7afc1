/* Programs of single elements: atomics, branches, casts, functions, diagnostics, threads, packed types. */
#include "kit.h"
#include "programs.h"

/* Counts by atomics, in a shared tile first; when all blocks have met, the first one makes shares of them. */
void histogram(void) {
  const tilert_expr N = dim("N");
  const tilert_tensor x = INPUT("x", TILERT_UINT8, N), counts = INOUT("counts", TILERT_INT32, num(16));
  const tilert_tensor highest = INOUT("highest", TILERT_INT32, num(1)), shares = OUTPUT("shares", TILERT_F64, num(16));
  GRID(block, num(4)) {
    const tilert_buffer mine = SHARED(TILERT_INT32, num(16));
    CLEAR(ALL(mine));
    PARALLEL(i, num(256)) {
      const tilert_expr at = add(times(block[0], 256), i[0]);
      IF(lt(at, N)) {
        const tilert_expr v = LOAD(AT(x, at));
        atomic(TILERT_ATOMIC_ADD, AT(mine, mod(cast(TILERT_INDEX, v), num(16))), literal(1));
        atomic(TILERT_ATOMIC_MAX, AT(highest, num(0)), cast(TILERT_INT32, v));
      }
    }
    const tilert_region to = AT(counts, num(0)), from = ALL(mine);
    tilert_builder_atomic_tile(b, TILERT_ATOMIC_ADD, &to, &from, NULL);
    tilert_builder_grid_sync(b);
    IF(eq(block[0], num(0))) {
      PARALLEL(i, num(16)) { STORE(AT(shares, i[0]), quo(cast(TILERT_F64, LOAD(AT(counts, i[0]))), cast(TILERT_F64, N))); }
    }
  }
}

/* A block waits for the one before it, whose flag it acquires. */
static void wait_for(tilert_region flag) {
  const tilert_atomic_options acquire = {.struct_size = sizeof acquire, .order = TILERT_ORDER_ACQUIRE};
  tilert_builder_begin_while(b);
  tilert_builder_begin_while_body(b, eq(tilert_builder_atomic_load(b, &flag, &acquire), literal(0)));
  tilert_builder_end_while(b);
}

static void count_trips(tilert_buffer count) {
  STORE(ALL(count), literal(0));
  tilert_expr k;
  tilert_builder_begin_serial(b, TILERT_LOOP_SERIAL, num(2), num(12), num(2), &k);
  IF(eq(k, num(4))) { tilert_builder_continue(b); }
  IF(eq(k, num(10))) { tilert_builder_break(b); }
  STORE(ALL(count), add(LOAD(ALL(count)), literal(1)));
  tilert_builder_end_serial(b);
}

/* What a block tells the others: whom it saw last, and that it is done. */
static void tell(tilert_expr block, tilert_tensor flags, tilert_tensor last, tilert_tensor seen, tilert_buffer count) {
  const tilert_region newest = AT(last, num(0)), chain = AT(last, num(1)), flag = AT(flags, block);
  const tilert_expr next = cast(TILERT_INT32, add(block, num(1)));
  tilert_expr old;
  tilert_builder_atomic(b, TILERT_ATOMIC_EXCHANGE, &newest, next, NULL, &old);
  STORE(AT(seen, block), old);
  const tilert_atomic_options expecting = {.struct_size = sizeof expecting, .expected = cast(TILERT_INT32, block)};
  tilert_builder_atomic(b, TILERT_ATOMIC_CAS, &chain, next, &expecting, &old);
  const tilert_atomic_options release = {.struct_size = sizeof release, .order = TILERT_ORDER_RELEASE};
  tilert_builder_atomic_store(b, &flag, LOAD(ALL(count)), &release);
}

/* Loops that are left and gone on with, branches of blocks and of points, and blocks that wait for the one before. */
void branches(void) {
  const tilert_expr B = dim("B");
  const tilert_tensor x = INPUT("x", TILERT_F32, B, num(64)), y = OUTPUT("y", TILERT_F32, B, num(64));
  const tilert_tensor flags = INOUT("flags", TILERT_INT32, B), last = INOUT("last", TILERT_INT32, num(2)), seen = OUTPUT("seen", TILERT_INT32, B);
  const tilert_grid grid = {.flags = TILERT_GRID_NO_CONTRACT};
  KERNEL(block, grid, B) {
    const tilert_buffer t = FRAGMENT(TILERT_F32, num(64));
    COPY(AT(x, block[0], num(0)), ALL(t));
    IF(lt(num(0), block[0])) { wait_for(AT(flags, sub(block[0], num(1)))); }
    const tilert_buffer count = VAR(TILERT_INT32);
    count_trips(count);
    PARALLEL(i, num(64)) {
      const tilert_buffer pair = LOCAL(TILERT_F32, num(2));
      const tilert_expr v = LOAD(AT(t, i[0]));
      STORE(AT(pair, num(0)), mul(v, literal(3)));
      STORE(AT(pair, num(1)), neg(v));
      IF(lt(v, literal(0))) {
        STORE(AT(t, i[0]), LOAD(AT(pair, num(1))));
        tilert_builder_begin_else(b);
        STORE(AT(t, i[0]), add(LOAD(AT(pair, num(0))), literal(1)));
      }
      const tilert_expr now = LOAD(AT(t, i[0])), counted = LOAD(ALL(count));
      STORE(AT(t, i[0]), choose(eq(mod(i[0], num(2)), num(0)), now, add(now, cast(TILERT_F32, counted))));
    }
    COPY(ALL(t), AT(y, block[0], num(0)));
    tell(block[0], flags, last, seen, count);
    IF(eq(block[0], num(2))) { tilert_builder_return(b); }
    UNROLL(k, num(2)) { STORE(AT(y, block[0], k[0]), cast(TILERT_F32, add(block[0], k[0]))); }
  }
}

void casts(void) {
  const tilert_expr N = dim("N");
  const tilert_tensor x = INPUT("x", TILERT_F32, N), h = OUTPUT("h", TILERT_F16, N), q = OUTPUT("q", TILERT_BF16, N);
  const tilert_tensor e = OUTPUT("e", TILERT_E4M3, N), f = OUTPUT("f", TILERT_E5M2, N), n = OUTPUT("n", TILERT_INT8, N);
  const tilert_tensor bits = OUTPUT("bits", TILERT_UINT32, N), back = OUTPUT("back", TILERT_F32, N), r = OUTPUT("r", TILERT_BF16, N);
  const tilert_expr seed = scalar("seed", TILERT_INT64);
  GRID(block, ceildiv(N, 64)) {
    PARALLEL(i, num(64)) {
      const tilert_expr at = tilert_builder_let(b, add(times(block[0], 64), i[0]));
      const tilert_expr v = tilert_builder_let(b, mul(LOAD(AT(x, at)), literal(300)));
      STORE(AT(h, at), cast(TILERT_F16, quo(v, literal(7))));
      STORE(AT(q, at), cast(TILERT_BF16, quo(v, literal(7))));
      STORE(AT(e, at), cast(TILERT_E4M3, mul(v, literal(2))));
      STORE(AT(f, at), tilert_builder_cast(b, TILERT_E5M2, mul(v, literal(300)), TILERT_CAST_NONSAT));
      STORE(AT(n, at), cast(TILERT_INT8, v));
      STORE(AT(bits, at), tilert_builder_reinterpret(b, TILERT_UINT32, v));
      STORE(AT(back, at), cast(TILERT_F32, cast(TILERT_E4M3, quo(v, literal(7)))));
      tilert_expr random[4];
      tilert_builder_random(b, TILERT_RANDOM_BITS, seed, at, literal(0), random);
      STORE(AT(r, at), tilert_builder_cast_stochastic(b, TILERT_BF16, quo(v, literal(7)), random[0], 0));
    }
  }
}

static const tilert_source_text kLeaky[] = {
    {"cuda",
     "__device__ float leaky(float x, float slope, int* negatives) {\n"
     "  if (x < 0.f) *negatives += 1;\n"
     "  return x < 0.f ? x * slope : x;\n"
     "}"},
    {"llvm",
     "define float @leaky(float %x, float %slope, ptr %negatives) {\n"
     "  %negative = fcmp olt float %x, 0.0\n"
     "  %one = zext i1 %negative to i32\n"
     "  %old = load i32, ptr %negatives\n"
     "  %new = add i32 %old, %one\n"
     "  store i32 %new, ptr %negatives\n"
     "  %less = fmul float %x, %slope\n"
     "  %r = select i1 %negative, float %less, float %x\n"
     "  ret float %r\n"
     "}"}};

static tilert_expr call_leaky(tilert_function f, tilert_expr x, double slope, tilert_buffer count) {
  const tilert_region place = ALL(count);
  const tilert_operand operands[] = {{.value = x}, {.value = real(slope)}, {.place = &place}};
  tilert_expr result;
  tilert_builder_call_device(b, f, operands, 3, &result);
  return result;
}

/* A device function that is called twice, and text in the middle of a kernel. */
void leaky(void) {
  const tilert_expr R = dim("R");
  const tilert_tensor x = INPUT("x", TILERT_F32, R, num(16)), y = OUTPUT("y", TILERT_F32, R, num(16)), z = OUTPUT("z", TILERT_F32, R);
  const tilert_tensor negatives = OUTPUT("negatives", TILERT_INT32, R);
  const tilert_function_parameter parameters[] = {{TILERT_F32, TILERT_BY_VALUE}, {TILERT_F32, TILERT_BY_VALUE}, {TILERT_INT32, TILERT_BY_UPDATE_POINTER}};
  const tilert_device_function declared = {.struct_size = sizeof declared,
                                           .result = TILERT_F32,
                                           .name = "leaky",
                                           .parameters = parameters,
                                           .texts = kLeaky,
                                           .parameter_count = 3,
                                           .text_count = 2};
  const tilert_function f = tilert_builder_device_function(b, &declared);
  GRID(row, R) {
    const tilert_buffer count = VAR(TILERT_INT32);
    STORE(ALL(count), literal(0));
    SERIAL(j, num(16)) { STORE(AT(y, row[0], j[0]), call_leaky(f, LOAD(AT(x, row[0], j[0])), 0.25, count)); }
    const tilert_expr v = call_leaky(f, neg(LOAD(AT(x, row[0], num(0)))), 0.5, count);
    const tilert_region place = AT(z, row[0]);
    const tilert_inline_source text = {.struct_size = sizeof text,
                                       .place_count = 1,
                                       .language = "llvm",
                                       .text = "%twice = fmul float $1, 2.0\nstore float %twice, ptr $0",
                                       .places = &place,
                                       .values = &v,
                                       .value_count = 1};
    tilert_builder_inline_source(b, &text);
    STORE(AT(negatives, row[0]), LOAD(ALL(count)));
  }
}

void checked(void) {
  const tilert_tensor x = INPUT("x", TILERT_F32, num(64)), y = OUTPUT("y", TILERT_F32, num(64));
  GRID(block, num(1)) {
    const tilert_buffer t = FRAGMENT(TILERT_F32, num(64));
    tilert_builder_at(b, __FILE__, __LINE__, "the whole row");
    copy(ALL(x), ALL(t));
    tilert_builder_print(b, "block {} starts with {}", EXPRS(block[0], LOAD(AT(t, num(0)))), 2);
    PARALLEL(i, num(64)) {
      const tilert_expr v = LOAD(AT(t, i[0])), right = op(TILERT_OP_GE, LIST(v, literal(0)));
      tilert_builder_assert(b, right, "x[{}] is {}", EXPRS(i[0], v), 2);
      STORE(AT(t, i[0]), op(TILERT_OP_SQRT, LIST(op(TILERT_OP_MAX, LIST(v, literal(0))))));
    }
    const tilert_region four = PART(t, LIST(num(2)), LIST(num(4)));
    tilert_builder_print_tile(b, "t", &four);
    COPY(ALL(t), ALL(y));
  }
}

/* A thread's sum of four columns of the row, then with those of the other lanes. */
static tilert_buffer sum_of_warp(tilert_expr t, tilert_buffer row) {
  const tilert_buffer sum = VAR(TILERT_F32);
  STORE(ALL(sum), literal(0));
  SERIAL(i, num(4)) {
    const tilert_expr before = LOAD(ALL(sum)), v = LOAD(AT(row, add(times(i[0], 64), t)));
    STORE(ALL(sum), add(before, v));
  }
  for (int step = 16; step > 0; step /= 2) {
    const tilert_expr before = LOAD(ALL(sum));
    STORE(ALL(sum), add(before, tilert_builder_shuffle(b, TILERT_SHUFFLE_DOWN, before, num(step), 32)));
  }
  return sum;
}

/* Sums of rows by the threads of a block: copies ahead, shuffles, a vote, barriers. */
void warp_sums(void) {
  const tilert_expr R = dim("R");
  const tilert_tensor x = INPUT("x", TILERT_F32, R, num(200)), y = OUTPUT("y", TILERT_F32, R), positive = OUTPUT("positive", TILERT_UINT32, R);
  const tilert_hint threads = {.struct_size = sizeof threads, .kind = TILERT_HINT_THREADS_FIXED, .value = 64};
  const tilert_grid grid = {.hints = &threads, .hint_count = 1};
  KERNEL(r, grid, R) {
    const tilert_buffer row = SHARED(TILERT_F32, num(256)), parts = SHARED(TILERT_F32, num(2));
    THREADS(t) {
      const tilert_region from = AT(x, r[0], times(t[0], 4)), to = AT(row, times(t[0], 4));
      tilert_builder_copy_async(b, &from, &to, 4);
      tilert_builder_commit_copies(b);
      tilert_builder_wait_copies(b, 0);
      tilert_builder_sync_threads(b, 0, 0);
      const tilert_buffer sum = sum_of_warp(t[0], row);
      IF(eq(mod(t[0], num(32)), num(0))) { STORE(AT(parts, quo(t[0], num(32))), LOAD(ALL(sum))); }
      tilert_builder_fence(b, TILERT_ORDER_BLOCK);
      tilert_builder_sync_threads(b, 1, 64);
      const tilert_expr above = op(TILERT_OP_GT, LIST(LOAD(AT(row, t[0])), literal(0)));
      const tilert_expr lanes = tilert_builder_vote(b, TILERT_VOTE_BALLOT, above);
      IF(eq(t[0], num(0))) {
        const tilert_expr first = LOAD(AT(parts, num(0))), second = LOAD(AT(parts, num(1)));
        STORE(AT(y, r[0]), add(first, second));
        STORE(AT(positive, r[0]), lanes);
      }
    }
  }
}

/* 4-bit weights, unpacked and scaled; the packed bytes; magnitudes through a view of the bits, turned. */
void unpacked(void) {
  enum { bm = 16, k = 48 };
  const tilert_expr M = dim("M");
  const tilert_tensor q = INPUT("q", TILERT_INT4, M, num(k)), scales = INPUT("scales", TILERT_F16, M);
  const tilert_tensor w = OUTPUT("w", TILERT_F16, M, num(3), num(k / 3)), raw = OUTPUT("raw", TILERT_UINT8, M, num(k / 2));
  const tilert_tensor turned = OUTPUT("turned", TILERT_F16, num(k), M);
  const tilert_tensor rows = tilert_builder_tensor_reshape(b, w, EXPRS(M, num(k)), 2);
  const tilert_tensor magnitudes = tilert_builder_tensor_transpose(b, turned, NULL, 0);
  GRID(block, ceildiv(M, bm)) {
    const tilert_expr row = times(block[0], bm);
    const tilert_buffer t = SHARED(TILERT_INT4, num(bm), num(k));
    const tilert_buffer bytes = tilert_builder_view(b, t, TILERT_UINT8, NULL, 0);
    const tilert_buffer u = FRAGMENT(TILERT_F16, num(bm), num(k));
    const tilert_buffer words = tilert_builder_view(b, u, TILERT_UINT16, NULL, 0);
    COPY(AT(q, row, num(0)), ALL(t));
    COPY(ALL(bytes), AT(raw, row, num(0)));
    COPY(ALL(t), ALL(u));
    PARALLEL(i, num(bm), num(k)) {
      const tilert_expr v = LOAD(AT(u, i[0], i[1])), by = LOAD(AT(scales, add(row, i[0])));
      STORE(AT(u, i[0], i[1]), mul(v, by));
    }
    COPY(ALL(u), AT(rows, row, num(0)));
    PARALLEL(i, num(bm), num(k)) {
      STORE(AT(words, i[0], i[1]), op(TILERT_OP_AND, LIST(LOAD(AT(words, i[0], i[1])), literal(0x7fff))));
    }
    COPY(ALL(u), AT(magnitudes, row, num(0)));
  }
}
