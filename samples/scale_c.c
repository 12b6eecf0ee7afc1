/* The whole way in C: build y = factor * x + 1, compile it for this machine's CPU, launch it, check it. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tilert.h"

enum { kTile = 64, kLength = 1000 };

/* Says what failed and why. */
static int fail(const char* what, tilert_error* error) {
  fprintf(stderr, "%s: %s\n", what, tilert_error_message(error));
  tilert_error_release(error);
  return 2;
}

static uint64_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static tilert_expr call(tilert_builder* b, tilert_op op, tilert_expr x, tilert_expr y) {
  const tilert_expr operands[2] = {x, y};
  return tilert_builder_op(b, op, operands, 2);
}

/* Statuses need no look: the first error sticks, and finish reports it. */
static tilert_status build(tilert_program** program, tilert_error** error) {
  tilert_builder* b = NULL;
  tilert_builder_create("scale", &b);
  tilert_builder_at(b, __FILE__, __LINE__, NULL);
  const tilert_expr n = tilert_builder_dim_value(b, tilert_builder_dim(b, "N", NULL));
  const tilert_tensor x = tilert_builder_tensor(b, "x", TILERT_IN, TILERT_F32, &n, 1, NULL);
  const tilert_tensor y = tilert_builder_tensor(b, "y", TILERT_OUT, TILERT_F32, &n, 1, NULL);
  const tilert_expr factor = tilert_builder_scalar_value(b, tilert_builder_scalar(b, "factor", TILERT_F32));
  const tilert_expr tile = tilert_builder_index(b, kTile);
  const tilert_expr blocks = call(b, TILERT_OP_CEILDIV, n, tile);
  const tilert_grid grid = {.struct_size = sizeof grid, .rank = 1, .extents = &blocks};
  tilert_expr block, i;
  tilert_builder_begin_kernel(b, &grid, &block);
  const tilert_buffer t = tilert_builder_buffer(b, TILERT_FRAGMENT, TILERT_F32, &tile, 1, NULL);
  const tilert_expr start = call(b, TILERT_OP_MUL, block, tile);
  const tilert_region whole = {.buffer = t}, from = {.tensor = x, .rank = 1, .offsets = &start};
  const tilert_region to = {.tensor = y, .rank = 1, .offsets = &start};
  tilert_builder_at(b, __FILE__, __LINE__, "read x");
  tilert_builder_copy(b, &from, &whole, NULL);
  tilert_builder_begin_parallel(b, &tile, 1, &i);
  const tilert_region element = {.buffer = t, .rank = 1, .offsets = &i};
  const tilert_expr product = call(b, TILERT_OP_MUL, tilert_builder_load(b, &element), factor);
  tilert_builder_store(b, &element, call(b, TILERT_OP_ADD, product, tilert_builder_literal(b, TILERT_INT64, 1)));
  tilert_builder_end_parallel(b);
  tilert_builder_at(b, __FILE__, __LINE__, "write y");
  tilert_builder_copy(b, &whole, &to, NULL);
  tilert_builder_end_kernel(b);
  const tilert_status status = tilert_builder_finish(b, program, error);
  tilert_builder_release(b);
  return status;
}

/* The four acts: make a kernel for a device, compile and load it, launch it. */
static int run_on_cpu(tilert_program* program, const tilert_argument* arguments, uint32_t count) {
  const tilert_device_options cpu = {.struct_size = sizeof cpu, .kind = TILERT_DEVICE_CPU};
  tilert_error* error = NULL;
  tilert_context* context = NULL;
  tilert_device* device = NULL;
  tilert_kernel* kernel = NULL;
  tilert_loaded* loaded = NULL;
  if (tilert_context_create(NULL, &context, &error)) return fail("context", error);
  if (tilert_device_open(context, &cpu, &device, &error)) return fail("device", error);
  if (tilert_kernel_create(context, program, NULL, &kernel, &error)) return fail("kernel", error);
  if (tilert_prepare(kernel, device, NULL, &loaded, &error)) return fail("prepare", error);
  tilert_launch_failure failure = {.struct_size = sizeof failure};
  const tilert_launch_info launch = {.struct_size = sizeof launch,
                                     .loaded = loaded,
                                     .arguments = arguments,
                                     .argument_count = count,
                                     .failure = &failure};
  const tilert_status status = tilert_launch(&launch);
  if (status) fprintf(stderr, "launch: %s\n", failure.message);
  tilert_loaded_release(loaded);
  tilert_kernel_release(kernel);
  tilert_device_release(device);
  tilert_context_release(context);
  return status ? 2 : 0;
}

int main(int argc, char** argv) {
  static float x[kLength], y[kLength];
  const int64_t length = kLength;
  tilert_error* error = NULL;
  tilert_program* program = NULL;
  if (build(&program, &error)) return fail("build", error);
  for (int k = 0; k < kLength; ++k) x[k] = (float)k;
  const tilert_argument arguments[3] = {
      {.kind = TILERT_ARGUMENT_TENSOR, .dtype = TILERT_F32, .data = x, .shape = &length, .ndim = 1},
      {.kind = TILERT_ARGUMENT_TENSOR, .dtype = TILERT_F32, .data = y, .shape = &length, .ndim = 1},
      {.kind = TILERT_ARGUMENT_SCALAR, .dtype = TILERT_F32, .bits = bits_of(3.0f)}};
  if (argc > 1 && strcmp(argv[1], "interpret") == 0) {
    if (tilert_program_interpret(program, arguments, 3, NULL, 0, &error)) return fail("interpret", error);
  } else {
    const int failed = run_on_cpu(program, arguments, 3);
    if (failed) return failed;
  }
  int wrong = 0;
  for (int k = 0; k < kLength; ++k) wrong += (double)y[k] != 3.0 * k + 1.0;
  printf("scale in C: %d values against float64, %d wrong: %s\n", kLength, wrong, wrong ? "WRONG" : "right");
  tilert_program_release(program);
  return wrong != 0;
}
