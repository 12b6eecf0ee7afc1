/* twenty: builds, compiles and runs the twenty programs by the C interface alone, and prints a line for each, as ../README.md says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "programs.h"

/* Ends the program where something failed, and says why. */
static void need(const char* what, tilert_status status, tilert_error* const* error) {
  if (status == TILERT_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, tilert_status_name(status), tilert_error_message(error ? *error : NULL));
  exit(2);
}

static tilert_program* program_of(const program_case* one) {
  tilert_program* program = NULL;
  tilert_error* error = NULL;
  need("a builder", tilert_builder_create(one->name, &b), NULL);
  HERE;
  one->build();
  need(one->name, tilert_builder_finish(b, &program, &error), &error);
  tilert_builder_release(b);
  return program;
}

static tilert_kernel* kernel_of(tilert_context* context, tilert_program* program, const program_case* one, const char* target) {
  tilert_dim_binding dims[kMaxSizes] = {{0}};
  tilert_kernel_options options = {.struct_size = sizeof options, .dims = dims, .target = target};
  for (const size* d = one->bound; d->name; ++d) {
    dims[options.dim_count].name = d->name;
    dims[options.dim_count++].value = d->value;
  }
  tilert_kernel* kernel = NULL;
  tilert_error* error = NULL;
  need(one->name, tilert_kernel_create(context, program, &options, &kernel, &error), &error);
  return kernel;
}

static tilert_variant* variant_of(tilert_kernel* kernel, uint32_t index) {
  tilert_variant* variant = NULL;
  need("a variant", tilert_kernel_variant(kernel, index, &variant), NULL);
  return variant;
}

/* Request keys of all variants. */
static void print_keys(tilert_kernel* kernel) {
  for (uint32_t i = 0; i < tilert_kernel_variant_count(kernel); ++i) {
    tilert_variant* variant = variant_of(kernel, i);
    tilert_variant_info info = {.struct_size = sizeof info};
    need("a variant", tilert_variant_get_info(variant, &info), NULL);
    printf("%s%s", i ? "+" : " ", info.request_key);
    tilert_variant_release(variant);
  }
}

/* Zeros, on a multiple of 256 bytes. */
static unsigned char* zeros(uint64_t bytes) {
  const size_t whole = ((size_t)bytes + 256) / 256 * 256;
  unsigned char* memory = aligned_alloc(256, whole);
  if (!memory) exit(2);
  return memset(memory, 0, whole);
}

/* Bits of (n - 8) / 8 as a float of that many bits of exponent and mantissa, which hold it. */
static uint64_t eighths(int n, int exponent_bits, int mantissa_bits) {
  if (n == 8) return 0;
  const uint64_t sign = n < 8;
  uint64_t magnitude = (uint64_t)(n < 8 ? 8 - n : n - 8);
  int exponent = (1 << (exponent_bits - 1)) - 1; /* of 8 eighths */
  for (; magnitude < 8; magnitude *= 2) --exponent;
  return sign << (exponent_bits + mantissa_bits) | (uint64_t)exponent << mantissa_bits | (magnitude - 8) << (mantissa_bits - 3);
}

/* The bit pattern that n, 0 to 16, stands for. */
static uint64_t pattern(tilert_dtype dtype, int n) {
  switch (dtype) {
    case TILERT_F16: return eighths(n, 5, 10);
    case TILERT_BF16: return eighths(n, 8, 7);
    case TILERT_F32: return eighths(n, 8, 23);
    case TILERT_F64: return eighths(n, 11, 52);
    case TILERT_INT8:
    case TILERT_INT16:
    case TILERT_INT32:
    case TILERT_INT64: return (uint64_t)(int64_t)(n - 8);
    case TILERT_E4M3: return (uint64_t)(0x30 + n);
    case TILERT_INT4: return (uint64_t)(15 * n); /* of a byte */
    default: return (uint64_t)n;
  }
}

static void fill(unsigned char* memory, uint64_t bytes, tilert_dtype dtype, int j) {
  const uint64_t width = tilert_dtype_bits(dtype) < 8 ? 1 : tilert_dtype_bits(dtype) / 8;
  for (uint64_t i = 0; i < bytes / width; ++i) {
    const uint64_t value = pattern(dtype, (int)((7 * i + 3 * (uint64_t)j) % 17));
    memcpy(memory + i * width, &value, width); /* low bytes first: a little-endian host */
  }
}

/* What one run needs: arguments, and the memory behind them. */
typedef struct run {
  tilert_argument arguments[kMaxTensors + 1];
  unsigned char* memory[kMaxTensors];
  uint64_t bytes[kMaxTensors];
  int written[kMaxTensors];
  void* table[8];
  uint32_t count;
  int tensors;
} run;

static void add_tensor(run* r, const program_case* one, const tilert_parameter_info* info) {
  const int j = r->tensors++;
  const shape* s = &one->tensors[j];
  uint64_t elements = 1;
  for (uint32_t d = 0; d < info->rank; ++d) elements *= (uint64_t)s->sizes[d];
  if (s->strides[0]) elements = (uint64_t)(s->sizes[0] * s->strides[0]);
  r->bytes[j] = elements * tilert_dtype_bits(info->dtype) / 8;
  r->memory[j] = zeros(r->bytes[j]);
  r->written[j] = info->access != TILERT_IN;
  if (!r->written[j]) fill(r->memory[j], r->bytes[j], info->dtype, j);
  tilert_argument* a = &r->arguments[r->count++];
  a->kind = TILERT_ARGUMENT_TENSOR;
  a->dtype = info->dtype;
  a->data = r->memory[j];
  a->shape = s->sizes;
  a->strides = s->strides[0] ? s->strides : NULL;
  a->ndim = (int32_t)info->rank;
  if (info->is_pointer_table) {
    for (int64_t g = 0; g < s->sizes[0]; ++g) r->table[g] = r->memory[j] + (uint64_t)g * (r->bytes[j] / (uint64_t)s->sizes[0]);
    a->kind = TILERT_ARGUMENT_POINTER_TABLE;
    a->data = r->table;
  }
}

static void prepare_run(run* r, tilert_program* program, const program_case* one) {
  memset(r, 0, sizeof *r);
  for (uint32_t p = 0; p < tilert_program_parameter_count(program); ++p) {
    tilert_parameter_info info = {.struct_size = sizeof info};
    need("a parameter", tilert_program_parameter(program, p, &info), NULL);
    if (info.is_tensor)
      add_tensor(r, one, &info);
    else
      r->arguments[r->count++] = one->scalar;
  }
}

/* All dims by index: those of the launch and those that are bound. */
static uint32_t dims_of(tilert_program* program, const program_case* one, int64_t* dims) {
  const uint32_t count = tilert_program_dim_count(program);
  for (uint32_t i = 0; i < count; ++i) {
    dims[i] = -1;
    for (int k = 0; k < 2; ++k)
      for (const size* d = k ? one->dims : one->bound; d->name; ++d)
        if (strcmp(d->name, tilert_program_dim_name(program, i)) == 0) dims[i] = d->value;
  }
  return count;
}

/* The most that a variant asks for. */
static uint64_t workspace_of(tilert_kernel* kernel, const int64_t* dims, uint32_t count) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < tilert_kernel_variant_count(kernel); ++i) {
    tilert_variant* variant = variant_of(kernel, i);
    tilert_workspace_info info = {.struct_size = sizeof info};
    tilert_error* error = NULL;
    need("a workspace", tilert_workspace(variant, dims, count, &info, &error), &error);
    if (info.bytes > most) most = info.bytes;
    tilert_variant_release(variant);
  }
  return most;
}

static uint64_t digest_of(tilert_device* device, tilert_program* program, tilert_kernel* kernel, const program_case* one) {
  run r;
  int64_t dims[2 * kMaxSizes];
  prepare_run(&r, program, one);
  const uint32_t dim_count = dims_of(program, one, dims);
  tilert_loaded* loaded = NULL;
  tilert_error* error = NULL;
  need(one->name, tilert_prepare(kernel, device, NULL, &loaded, &error), &error);
  const uint64_t bytes = workspace_of(kernel, dims, dim_count);
  void* workspace = bytes ? zeros(bytes) : NULL;
  tilert_launch_failure failure = {.struct_size = sizeof failure};
  const tilert_launch_info info = {.struct_size = sizeof info,
                                   .loaded = loaded,
                                   .arguments = r.arguments,
                                   .dims = dims,
                                   .argument_count = r.count,
                                   .dim_count = dim_count,
                                   .workspace = workspace,
                                   .workspace_bytes = bytes,
                                   .failure = &failure};
  if (tilert_launch(&info) != TILERT_OK) {
    fprintf(stderr, "%s: %s\n", one->name, failure.message);
    exit(2);
  }
  uint64_t digest = 0xcbf29ce484222325u;
  for (int j = 0; j < r.tensors; ++j) {
    for (uint64_t i = 0; r.written[j] && i < r.bytes[j]; ++i) digest = (digest ^ r.memory[j][i]) * 0x100000001b3u;
    free(r.memory[j]);
  }
  free(workspace);
  tilert_loaded_release(loaded);
  return digest;
}

int main(void) {
  const tilert_context_options options = {.struct_size = sizeof options, .flags = TILERT_ALLOW_SOURCE, .cache_mode = TILERT_CACHE_MEMORY};
  const tilert_device_options cpu = {.struct_size = sizeof cpu, .kind = TILERT_DEVICE_CPU};
  tilert_context* context = NULL;
  tilert_device* device = NULL;
  tilert_error* error = NULL;
  need("a context", tilert_context_create(&options, &context, &error), &error);
  need("the CPU", tilert_device_open(context, &cpu, &device, &error), &error);
  for (int i = 0; i < kCaseCount; ++i) {
    const program_case* one = &kCases[i];
    tilert_program* program = program_of(one);
    tilert_kernel *kernel = kernel_of(context, program, one, "cpu:x86-64"), *gpu = kernel_of(context, program, one, "sm_90a");
    printf("%s", one->name);
    print_keys(kernel);
    print_keys(gpu);
    printf(" %016llx\n", (unsigned long long)digest_of(device, program, kernel, one));
    tilert_kernel_release(gpu);
    tilert_kernel_release(kernel);
    tilert_program_release(program);
  }
  tilert_device_release(device);
  tilert_context_release(context);
  return 0;
}
