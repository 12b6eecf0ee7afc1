/* launch_cost FILE.tir: nanoseconds of a launch through the C interface whose grid has no blocks, so that nothing but the call is timed:
 * the median of batches, and the least. The program is `scale` of bindings/programs. launch_cost.py times the same from Python. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tilert.h"

enum { kBatches = 400, kCalls = 500 }; /* short ones: most are not interrupted */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void* x, const void* y) { return (*(const double*)x > *(const double*)y) - (*(const double*)x < *(const double*)y); }

static void need(tilert_status status, tilert_error* const* error) {
  if (status == TILERT_OK) return;
  fprintf(stderr, "%s: %s\n", tilert_status_name(status), tilert_error_message(error ? *error : NULL));
  exit(2);
}

int main(int argc, char** argv) {
  static char text[1 << 16];
  FILE* file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (!file) return 2;
  const size_t size = fread(text, 1, sizeof text, file);
  fclose(file);
  const tilert_context_options options = {.struct_size = sizeof options, .cache_mode = TILERT_CACHE_MEMORY};
  const tilert_device_options cpu = {.struct_size = sizeof cpu, .kind = TILERT_DEVICE_CPU};
  tilert_error* error = NULL;
  tilert_program* program = NULL;
  tilert_context* context = NULL;
  tilert_device* device = NULL;
  tilert_kernel* kernel = NULL;
  tilert_loaded* loaded = NULL;
  need(tilert_program_parse(text, size, argv[1], 0, &program, &error), &error);
  need(tilert_context_create(&options, &context, &error), &error);
  need(tilert_device_open(context, &cpu, &device, &error), &error);
  need(tilert_kernel_create(context, program, NULL, &kernel, &error), &error);
  need(tilert_prepare(kernel, device, NULL, &loaded, &error), &error);
  const int64_t none = 0;
  const tilert_argument arguments[3] = {{.kind = TILERT_ARGUMENT_TENSOR, .dtype = TILERT_F32, .shape = &none, .ndim = 1},
                                        {.kind = TILERT_ARGUMENT_TENSOR, .dtype = TILERT_F32, .shape = &none, .ndim = 1},
                                        {.kind = TILERT_ARGUMENT_SCALAR, .dtype = TILERT_F32}};
  tilert_launch_failure failure = {.struct_size = sizeof failure};
  const tilert_launch_info info = {.struct_size = sizeof info, .loaded = loaded, .arguments = arguments, .argument_count = 3, .failure = &failure};
  double times[kBatches];
  for (int i = 0; i < kBatches; ++i) {
    const double start = now();
    for (int k = 0; k < kCalls; ++k) need(tilert_launch(&info), NULL);
    times[i] = (now() - start) / kCalls;
  }
  qsort(times, kBatches, sizeof times[0], compare);
  printf("%.1f %.1f\n", times[kBatches / 2], times[0]);
  tilert_loaded_release(loaded);
  tilert_kernel_release(kernel);
  tilert_device_release(device);
  tilert_context_release(context);
  tilert_program_release(program);
  return 0;
}
