// The builder's C functions: struct sizes, NULL and fork checks, then src/builder.
#include <algorithm>
#include <span>

#include "capi/builder_calls.h"

namespace tilert::capi {
namespace {

// The hints of a grid: an array whose elements are as large as the first one says.
bool hints_of(builder::Builder& b, const tilert_grid& grid, std::vector<tilert_hint>& out) {
  if (grid.hint_count == 0) return true;
  if (!grid.hints || grid.hint_count > 64) {
    b.fail("kernel", make_error(Code::kInvalidArgument, "hint_count is {}: give 0 to 64 hints, and their array",
                                grid.hint_count));
    return false;
  }
  const uint32_t stride = grid.hints->struct_size;
  for (uint32_t i = 0; i < grid.hint_count; ++i) {
    tilert_hint hint;
    const auto* at = reinterpret_cast<const char*>(grid.hints) + static_cast<size_t>(i) * stride;
    if (!options(b, reinterpret_cast<const tilert_hint*>(at), hint, "tilert_hint")) return false;
    if (hint.struct_size != stride) {
      b.fail("kernel", make_error(Code::kInvalidArgument, "hint {} has another struct_size than the first", i));
      return false;
    }
    out.push_back(hint);
  }
  return true;
}

// What `make` gives in a builder of its own; its first error is the status.
template <class F>
tilert_status of_numbers(tilert_number* result, F&& make) noexcept {
  if (!result) return TILERT_INVALID_ARGUMENT;
  return guard(nullptr, [&]() -> Status {
    builder::Builder b(nullptr);
    TILERT_ASSIGN(*result, b.number_of(make(b)));
    return {};
  });
}

bool given(builder::Builder& b, const void* pointer, std::string_view name) {
  if (!pointer) b.fail("builder", make_error(Code::kInvalidArgument, "{} is NULL", name));
  return pointer != nullptr;
}

}  // namespace
}  // namespace tilert::capi

using namespace tilert;
using builder::Builder;
using capi::on;
using capi::options;
using capi::statement;

tilert_status tilert_builder_create(const char* name, tilert_builder** out) noexcept {
  if (!out) return TILERT_INVALID_ARGUMENT;
  *out = nullptr;
  return capi::guard(nullptr, [&]() -> Status {
    *out = new tilert_builder(name);
    return {};
  });
}
void tilert_builder_retain(tilert_builder* b) noexcept { capi::retain(b); }
void tilert_builder_release(tilert_builder* b) noexcept { capi::release(b); }

void tilert_builder_at(tilert_builder* handle, const char* file, uint32_t line, const char* label) noexcept {
  on(handle, 0, [&](Builder& b) { return b.at(file, line, label), 0; });
}

tilert_status tilert_builder_status(const tilert_builder* handle) noexcept { return capi::status_of(handle); }

tilert_status tilert_builder_finish(tilert_builder* handle, tilert_program** program, tilert_error** error) noexcept {
  if (program) *program = nullptr;
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(handle, "builder"));
    if (!program) return make_error(Code::kInvalidArgument, "program is NULL");
    TILERT_ASSIGN(auto made, handle->builder.finish());
    *program = new tilert_program(std::move(made));
    return {};
  });
}

tilert_dim tilert_builder_dim(tilert_builder* handle, const char* name, const tilert_dim_options* in) noexcept {
  return on(handle, tilert_dim{}, [&](Builder& b) {
    tilert_dim_options o;
    return options(b, in, o, "tilert_dim_options") ? b.dim(name, o) : tilert_dim{};
  });
}

tilert_tensor tilert_builder_tensor(tilert_builder* handle, const char* name, tilert_access access, tilert_dtype dtype,
                                    const tilert_expr* shape, uint32_t rank, const tilert_tensor_options* in) noexcept {
  return on(handle, tilert_tensor{}, [&](Builder& b) {
    tilert_tensor_options o;
    return options(b, in, o, "tilert_tensor_options") ? b.tensor(name, access, dtype, shape, rank, o) : tilert_tensor{};
  });
}

tilert_scalar tilert_builder_scalar(tilert_builder* handle, const char* name, tilert_dtype dtype) noexcept {
  return on(handle, tilert_scalar{}, [&](Builder& b) { return b.scalar(name, dtype); });
}

tilert_status tilert_builder_begin_kernel(tilert_builder* handle, const tilert_grid* in, tilert_expr* block) noexcept {
  return statement(handle, [&](Builder& b) {
    tilert_grid grid;
    std::vector<tilert_hint> hints;
    if (capi::given(b, in, "grid") && options(b, in, grid, "tilert_grid") && capi::hints_of(b, grid, hints))
      b.begin_kernel(grid, hints, block);
  });
}
tilert_status tilert_builder_end_kernel(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.end_kernel(); });
}

tilert_status tilert_builder_source_kernel(tilert_builder* handle, const tilert_source_kernel* in) noexcept {
  return statement(handle, [&](Builder& b) {
    tilert_source_kernel kernel;
    if (capi::given(b, in, "kernel") && options(b, in, kernel, "tilert_source_kernel")) b.source_kernel(kernel);
  });
}

tilert_buffer tilert_builder_buffer(tilert_builder* handle, tilert_scope scope, tilert_dtype dtype,
                                    const tilert_expr* shape, uint32_t rank, const tilert_buffer_options* in) noexcept {
  return on(handle, tilert_buffer{}, [&](Builder& b) {
    tilert_buffer_options o;
    return options(b, in, o, "tilert_buffer_options") ? b.buffer(scope, dtype, shape, rank, o) : tilert_buffer{};
  });
}

tilert_expr tilert_builder_index(tilert_builder* handle, int64_t value) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.index(value); });
}
tilert_expr tilert_builder_constant(tilert_builder* handle, tilert_dtype dtype, uint64_t bits) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.constant(dtype, bits); });
}
tilert_expr tilert_builder_literal(tilert_builder* handle, tilert_dtype dtype, uint64_t bits) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.literal(dtype, bits); });
}
tilert_expr tilert_builder_dim_value(tilert_builder* handle, tilert_dim dim) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.dim_value(dim); });
}
tilert_expr tilert_builder_scalar_value(tilert_builder* handle, tilert_scalar scalar) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.scalar_value(scalar); });
}
tilert_expr tilert_builder_op(tilert_builder* handle, tilert_op op, const tilert_expr* operands,
                              uint32_t count) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.op(op, operands, count); });
}
tilert_expr tilert_builder_cast(tilert_builder* handle, tilert_dtype dtype, tilert_expr x, uint32_t flags) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.cast(dtype, x, flags); });
}
tilert_expr tilert_builder_cast_stochastic(tilert_builder* handle, tilert_dtype dtype, tilert_expr x, tilert_expr random,
                                           uint32_t flags) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.cast_stochastic(dtype, x, random, flags); });
}
tilert_expr tilert_builder_fast(tilert_builder* handle, tilert_expr x) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.fast(x); });
}
tilert_expr tilert_builder_reinterpret(tilert_builder* handle, tilert_dtype dtype, tilert_expr x) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.reinterpret(dtype, x); });
}
tilert_dtype tilert_builder_dtype_of(tilert_builder* handle, tilert_expr x) noexcept {
  return on(handle, tilert_dtype{0}, [&](Builder& b) { return b.dtype_of(x); });
}
tilert_status tilert_number_op(tilert_op op, const tilert_number* operands, uint32_t count,
                               tilert_number* result) noexcept {
  if (!operands || count > 3) return TILERT_INVALID_ARGUMENT;
  return capi::of_numbers(result, [&](Builder& b) {
    tilert_expr ids[3] = {};
    for (uint32_t i = 0; i < count; ++i) ids[i] = b.of_number(operands[i]);
    return b.op(op, ids, count);
  });
}
tilert_status tilert_number_cast(tilert_dtype dtype, const tilert_number* x, tilert_number* result) noexcept {
  if (!x) return TILERT_INVALID_ARGUMENT;
  return capi::of_numbers(result, [&](Builder& b) { return b.cast(dtype, b.of_number(*x), 0); });
}
tilert_status tilert_number_reinterpret(tilert_dtype dtype, const tilert_number* x, tilert_number* result) noexcept {
  if (!x) return TILERT_INVALID_ARGUMENT;
  return capi::of_numbers(result, [&](Builder& b) { return b.reinterpret(dtype, b.of_number(*x)); });
}
tilert_expr tilert_builder_let(tilert_builder* handle, tilert_expr value) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.let(value); });
}
tilert_expr tilert_builder_load(tilert_builder* handle, const tilert_region* element) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.load(element); });
}
tilert_status tilert_builder_store(tilert_builder* handle, const tilert_region* element, tilert_expr value) noexcept {
  return statement(handle, [&](Builder& b) { b.store(element, value); });
}

tilert_status tilert_builder_random(tilert_builder* handle, tilert_random form, tilert_expr seed, tilert_expr counter,
                                    tilert_expr stream, tilert_expr* values) noexcept {
  if (values) std::fill_n(values, 4, tilert_expr{});
  return statement(handle, [&](Builder& b) { b.random(form, seed, counter, stream, values); });
}
tilert_status tilert_builder_print(tilert_builder* handle, const char* message, const tilert_expr* values,
                                   uint32_t count) noexcept {
  return statement(handle, [&](Builder& b) { b.print(message, values, count); });
}
tilert_status tilert_builder_print_tile(tilert_builder* handle, const char* name, const tilert_region* region) noexcept {
  return statement(handle, [&](Builder& b) { b.print_tile(name, region); });
}
tilert_status tilert_builder_assert(tilert_builder* handle, tilert_expr condition, const char* message, const tilert_expr* values,
                                    uint32_t count) noexcept {
  return statement(handle, [&](Builder& b) { b.assert_true(condition, message, values, count); });
}
tilert_status tilert_builder_atomic(tilert_builder* handle, tilert_atomic_op op, const tilert_region* element, tilert_expr value,
                                    const tilert_atomic_options* in, tilert_expr* old) noexcept {
  if (old) *old = {};
  return statement(handle, [&](Builder& b) {
    tilert_atomic_options o;
    if (options(b, in, o, "tilert_atomic_options")) b.atomic(op, element, value, o, old);
  });
}
tilert_status tilert_builder_atomic_tile(tilert_builder* handle, tilert_atomic_op op, const tilert_region* destination,
                                         const tilert_region* source, const tilert_atomic_options* in) noexcept {
  return statement(handle, [&](Builder& b) {
    tilert_atomic_options o;
    if (options(b, in, o, "tilert_atomic_options")) b.atomic_tile(op, destination, source, o);
  });
}
tilert_expr tilert_builder_atomic_load(tilert_builder* handle, const tilert_region* element,
                                       const tilert_atomic_options* in) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) {
    tilert_atomic_options o;
    return options(b, in, o, "tilert_atomic_options") ? b.atomic_load(element, o) : tilert_expr{};
  });
}
tilert_status tilert_builder_atomic_store(tilert_builder* handle, const tilert_region* element, tilert_expr value,
                                          const tilert_atomic_options* in) noexcept {
  return statement(handle, [&](Builder& b) {
    tilert_atomic_options o;
    if (options(b, in, o, "tilert_atomic_options")) b.atomic_store(element, value, o);
  });
}
tilert_status tilert_builder_gather(tilert_builder* handle, const tilert_region* table, const tilert_region* indices,
                                    const tilert_region* destination, uint32_t dim) noexcept {
  return statement(handle, [&](Builder& b) { b.gather(table, indices, destination, dim); });
}
tilert_status tilert_builder_scatter(tilert_builder* handle, const tilert_region* source, const tilert_region* indices,
                                     const tilert_region* destination, uint32_t dim, const tilert_scatter_options* in) noexcept {
  return statement(handle, [&](Builder& b) {
    tilert_scatter_options o;
    if (options(b, in, o, "tilert_scatter_options")) b.scatter(source, indices, destination, dim, o);
  });
}
tilert_status tilert_builder_transpose(tilert_builder* handle, const tilert_region* source, const tilert_region* destination,
                                       const uint32_t* order, uint32_t rank) noexcept {
  return statement(handle, [&](Builder& b) { b.transpose(source, destination, order, rank); });
}

tilert_status tilert_builder_copy(tilert_builder* handle, const tilert_region* source, const tilert_region* destination,
                                  const tilert_copy_options* in) noexcept {
  return statement(handle, [&](Builder& b) {
    tilert_copy_options o;
    if (options(b, in, o, "tilert_copy_options")) b.copy(source, destination, o);
  });
}
tilert_status tilert_builder_fill(tilert_builder* handle, const tilert_region* destination,
                                  tilert_expr value) noexcept {
  return statement(handle, [&](Builder& b) { b.fill(destination, value); });
}
tilert_status tilert_builder_clear(tilert_builder* handle, const tilert_region* destination) noexcept {
  return statement(handle, [&](Builder& b) { b.clear(destination); });
}
tilert_status tilert_builder_gemm(tilert_builder* handle, const tilert_region* x, const tilert_region* y,
                                  const tilert_region* z, const tilert_gemm_options* in) noexcept {
  return statement(handle, [&](Builder& b) {
    tilert_gemm_options o;
    if (options(b, in, o, "tilert_gemm_options")) b.gemm(x, y, z, o);
  });
}
tilert_status tilert_builder_reduce(tilert_builder* handle, tilert_reduce_op op, const tilert_region* source,
                                    const tilert_region* destination, uint32_t dim,
                                    const tilert_reduce_options* in) noexcept {
  return statement(handle, [&](Builder& b) {
    tilert_reduce_options o;
    if (options(b, in, o, "tilert_reduce_options")) b.reduce(op, source, destination, dim, o);
  });
}
tilert_status tilert_builder_scan(tilert_builder* handle, tilert_reduce_op op, const tilert_region* source,
                                  const tilert_region* destination, uint32_t dim, const tilert_scan_options* in) noexcept {
  return statement(handle, [&](Builder& b) {
    tilert_scan_options o;
    if (options(b, in, o, "tilert_scan_options")) b.scan(op, source, destination, dim, o);
  });
}
tilert_status tilert_builder_sort(tilert_builder* handle, const tilert_region* source, const tilert_region* destination,
                                  const tilert_region* index, uint32_t dim, const tilert_sort_options* in) noexcept {
  return statement(handle, [&](Builder& b) {
    tilert_sort_options o;
    if (options(b, in, o, "tilert_sort_options")) b.sort(source, destination, index, dim, o);
  });
}
tilert_status tilert_builder_begin_combine(tilert_builder* handle, const tilert_combine* in, tilert_expr* left,
                                           tilert_expr* right) noexcept {
  return statement(handle, [&](Builder& b) {
    tilert_combine combine;
    if (capi::given(b, in, "combine") && options(b, in, combine, "tilert_combine")) b.begin_combine(combine, left, right);
  });
}
tilert_status tilert_builder_end_combine(tilert_builder* handle, const tilert_expr* results, uint32_t count) noexcept {
  return statement(handle, [&](Builder& b) { b.end_combine(results, count); });
}

tilert_status tilert_builder_begin_parallel(tilert_builder* handle, const tilert_expr* extents, uint32_t rank,
                                            tilert_expr* indices) noexcept {
  return statement(handle, [&](Builder& b) { b.begin_parallel(extents, rank, indices); });
}
tilert_status tilert_builder_end_parallel(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.end_parallel(); });
}
tilert_status tilert_builder_begin_serial(tilert_builder* handle, tilert_loop kind, tilert_expr begin, tilert_expr end,
                                          tilert_expr step, tilert_expr* index) noexcept {
  return statement(handle, [&](Builder& b) { b.begin_serial(kind, begin, end, step, index); });
}
tilert_status tilert_builder_end_serial(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.end_serial(); });
}
tilert_status tilert_builder_begin_pipelined(tilert_builder* handle, tilert_expr extent, uint32_t stages,
                                             tilert_expr* index) noexcept {
  return statement(handle, [&](Builder& b) { b.begin_pipelined(extent, stages, index); });
}
tilert_status tilert_builder_end_pipelined(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.end_pipelined(); });
}
tilert_status tilert_builder_begin_while(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.begin_while(); });
}
tilert_status tilert_builder_begin_while_body(tilert_builder* handle, tilert_expr condition) noexcept {
  return statement(handle, [&](Builder& b) { b.begin_while_body(condition); });
}
tilert_status tilert_builder_end_while(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.end_while(); });
}
tilert_status tilert_builder_break(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.jump(ir::JumpKind::leave); });
}
tilert_status tilert_builder_continue(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.jump(ir::JumpKind::next); });
}
tilert_status tilert_builder_return(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.jump(ir::JumpKind::finish); });
}
tilert_status tilert_builder_tile_cost(tilert_builder* handle, tilert_expr cost, tilert_expr locality) noexcept {
  return statement(handle, [&](Builder& b) { b.tile_cost(cost, locality); });
}
tilert_status tilert_builder_grid_sync(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.grid_sync(); });
}
tilert_status tilert_builder_begin_if(tilert_builder* handle, tilert_expr condition) noexcept {
  return statement(handle, [&](Builder& b) { b.begin_if(condition); });
}
tilert_status tilert_builder_begin_else(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.begin_else(); });
}
tilert_status tilert_builder_end_if(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.end_if(); });
}
tilert_status tilert_builder_inline_source(tilert_builder* handle, const tilert_inline_source* in) noexcept {
  return statement(handle, [&](Builder& b) {
    tilert_inline_source source;
    if (capi::given(b, in, "source") && options(b, in, source, "tilert_inline_source")) b.inline_source(source);
  });
}
