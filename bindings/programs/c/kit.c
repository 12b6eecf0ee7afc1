/* The kit: calls of the C interface on the builder `b`, in the short forms of kit.h. */
#include "kit.h"

#include <string.h>

_Thread_local tilert_builder* b;

tilert_expr num(int64_t value) { return tilert_builder_index(b, value); }
tilert_expr literal(int64_t value) { return tilert_builder_literal(b, TILERT_INT64, (uint64_t)value); }
tilert_expr real(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return tilert_builder_literal(b, TILERT_F64, bits);
}
tilert_expr op(tilert_op which, uint32_t count, const tilert_expr* operands) { return tilert_builder_op(b, which, operands, count); }
tilert_expr cast(tilert_dtype dtype, tilert_expr x) { return tilert_builder_cast(b, dtype, x, 0); }

tilert_expr dim(const char* name) { return tilert_builder_dim_value(b, tilert_builder_dim(b, name, NULL)); }
tilert_expr dim_divisible(const char* name, int64_t by) {
  const tilert_dim_options options = {.struct_size = sizeof options, .divisible = by};
  return tilert_builder_dim_value(b, tilert_builder_dim(b, name, &options));
}
tilert_expr scalar(const char* name, tilert_dtype dtype) { return tilert_builder_scalar_value(b, tilert_builder_scalar(b, name, dtype)); }
tilert_tensor tensor(const char* name, tilert_access access, tilert_dtype dtype, uint32_t rank, const tilert_expr* shape) {
  return tilert_builder_tensor(b, name, access, dtype, shape, rank, NULL);
}
tilert_buffer tile(tilert_scope scope, tilert_dtype dtype, uint32_t rank, const tilert_expr* shape) {
  return tilert_builder_buffer(b, scope, dtype, shape, rank, NULL);
}

tilert_expr load(tilert_region element) { return tilert_builder_load(b, &element); }
void store(tilert_region element, tilert_expr value) { tilert_builder_store(b, &element, value); }
void copy(tilert_region source, tilert_region destination) { tilert_builder_copy(b, &source, &destination, NULL); }
void gemm(tilert_region a, tilert_region c, tilert_region into, uint32_t flags) {
  const tilert_gemm_options options = {.struct_size = sizeof options, .flags = flags};
  tilert_builder_gemm(b, &a, &c, &into, &options);
}
void reduce(tilert_reduce_op which, tilert_region source, tilert_region destination, uint32_t along) {
  tilert_builder_reduce(b, which, &source, &destination, along, NULL);
}
void clear(tilert_region destination) { tilert_builder_clear(b, &destination); }
void atomic(tilert_atomic_op which, tilert_region element, tilert_expr value) {
  tilert_builder_atomic(b, which, &element, value, NULL, NULL);
}

tilert_expr* begin_grid(tilert_grid grid, uint32_t rank, const tilert_expr* extents, tilert_expr* indices) {
  grid.struct_size = sizeof grid, grid.rank = rank, grid.extents = extents;
  tilert_builder_begin_kernel(b, &grid, indices);
  return indices;
}
tilert_expr* begin_parallel(uint32_t rank, const tilert_expr* extents, tilert_expr* indices) {
  tilert_builder_begin_parallel(b, extents, rank, indices);
  return indices;
}
tilert_expr* begin_serial(tilert_loop kind, tilert_expr extent, tilert_expr* index) {
  tilert_builder_begin_serial(b, kind, num(0), extent, num(1), index);
  return index;
}
tilert_expr* begin_pipelined(tilert_expr extent, uint32_t stages, tilert_expr* index) {
  tilert_builder_begin_pipelined(b, extent, stages, index);
  return index;
}
tilert_expr* begin_threads(tilert_expr* thread) {
  tilert_builder_begin_threads(b, thread);
  return thread;
}
int begin_if(tilert_expr condition) {
  tilert_builder_begin_if(b, condition);
  return 1;
}
