/* What makes the C interface pleasant to write programs in: numbers, operators, lists, regions and scopes of one builder, `b`.
 * Nothing here is needed; take what you like. A scope is a statement with a body, which is not left by break or return:
 *
 *   PARALLEL(i, num(64)) { STORE(AT(t, i[0]), mul(LOAD(AT(t, i[0])), literal(2))); }
 */
#ifndef KIT_H_
#define KIT_H_

#include <tilert.h>

/* The builder of the program that is being made. Statuses need no look: its first error sticks, and finish reports it. */
extern _Thread_local tilert_builder* b;

/* Where the next calls stand. */
#define HERE tilert_builder_at(b, __FILE__, __LINE__, NULL)

/* Lists of values, and how many there are. */
#define EXPRS(...) ((const tilert_expr[]){__VA_ARGS__})
#define COUNT(...) ((uint32_t)(sizeof(EXPRS(__VA_ARGS__)) / sizeof(tilert_expr)))
#define LIST(...) COUNT(__VA_ARGS__), EXPRS(__VA_ARGS__)

/* ---- Values ---- */
tilert_expr num(int64_t value);       /* an index */
tilert_expr literal(int64_t value);   /* adopts the dtype of what it meets */
tilert_expr real(double value);       /* the same */
tilert_expr op(tilert_op which, uint32_t count, const tilert_expr* operands);
tilert_expr cast(tilert_dtype dtype, tilert_expr x);
static inline tilert_expr add(tilert_expr x, tilert_expr y) { return op(TILERT_OP_ADD, LIST(x, y)); }
static inline tilert_expr sub(tilert_expr x, tilert_expr y) { return op(TILERT_OP_SUB, LIST(x, y)); }
static inline tilert_expr mul(tilert_expr x, tilert_expr y) { return op(TILERT_OP_MUL, LIST(x, y)); }
static inline tilert_expr quo(tilert_expr x, tilert_expr y) { return op(TILERT_OP_DIV, LIST(x, y)); }
static inline tilert_expr mod(tilert_expr x, tilert_expr y) { return op(TILERT_OP_MOD, LIST(x, y)); }
static inline tilert_expr lt(tilert_expr x, tilert_expr y) { return op(TILERT_OP_LT, LIST(x, y)); }
static inline tilert_expr eq(tilert_expr x, tilert_expr y) { return op(TILERT_OP_EQ, LIST(x, y)); }
static inline tilert_expr neg(tilert_expr x) { return op(TILERT_OP_NEG, LIST(x)); }
static inline tilert_expr choose(tilert_expr c, tilert_expr x, tilert_expr y) { return op(TILERT_OP_SELECT, LIST(c, x, y)); }
static inline tilert_expr ceildiv(tilert_expr x, int64_t by) { return op(TILERT_OP_CEILDIV, LIST(x, num(by))); }
static inline tilert_expr times(tilert_expr x, int64_t by) { return mul(x, num(by)); }

/* ---- Declarations ---- */
tilert_expr dim(const char* name);
tilert_expr dim_divisible(const char* name, int64_t by);
tilert_expr scalar(const char* name, tilert_dtype dtype);
tilert_tensor tensor(const char* name, tilert_access access, tilert_dtype dtype, uint32_t rank, const tilert_expr* shape);
tilert_buffer tile(tilert_scope scope, tilert_dtype dtype, uint32_t rank, const tilert_expr* shape);
#define INPUT(name, dtype, ...) (HERE, tensor(name, TILERT_IN, dtype, LIST(__VA_ARGS__)))
#define OUTPUT(name, dtype, ...) (HERE, tensor(name, TILERT_OUT, dtype, LIST(__VA_ARGS__)))
#define INOUT(name, dtype, ...) (HERE, tensor(name, TILERT_INOUT, dtype, LIST(__VA_ARGS__)))
#define SHARED(dtype, ...) (HERE, tile(TILERT_SHARED, dtype, LIST(__VA_ARGS__)))
#define FRAGMENT(dtype, ...) (HERE, tile(TILERT_FRAGMENT, dtype, LIST(__VA_ARGS__)))
#define LOCAL(dtype, ...) (HERE, tile(TILERT_LOCAL, dtype, LIST(__VA_ARGS__)))
#define VAR(dtype) (HERE, tile(TILERT_VAR, dtype, 0, NULL))

/* ---- Regions: ALL(t) is the whole, AT(t, i, j) an element or a place, PART(t, LIST(i, j), LIST(rows, columns)) with extents. ---- */
static inline tilert_region of_tensor(tilert_tensor t) { return (tilert_region){.tensor = t}; }
static inline tilert_region of_buffer(tilert_buffer t) { return (tilert_region){.buffer = t}; }
static inline tilert_region placed(tilert_region whole, uint32_t rank, const tilert_expr* offsets) {
  whole.rank = rank, whole.offsets = offsets;
  return whole;
}
static inline tilert_region sized(tilert_region place, uint32_t count, const tilert_expr* extents) {
  place.extent_count = count, place.extents = extents;
  return place;
}
#define ALL(t) _Generic((t), tilert_tensor: of_tensor, tilert_buffer: of_buffer)(t)
#define AT(t, ...) placed(ALL(t), LIST(__VA_ARGS__))
#define PART(t, offsets, extents) sized(placed(ALL(t), offsets), extents)

/* ---- Statements ---- */
tilert_expr load(tilert_region element);
void store(tilert_region element, tilert_expr value);
void copy(tilert_region source, tilert_region destination);
void gemm(tilert_region a, tilert_region c, tilert_region into, uint32_t flags);
void reduce(tilert_reduce_op which, tilert_region source, tilert_region destination, uint32_t along);
void clear(tilert_region destination);
void atomic(tilert_atomic_op which, tilert_region element, tilert_expr value);
#define LOAD(element) (HERE, load(element))
#define STORE(element, value) (HERE, store(element, value))
#define COPY(source, destination) (HERE, copy(source, destination))
#define GEMM(a, c, into, flags) (HERE, gemm(a, c, into, flags))
#define REDUCE(which, source, destination, along) (HERE, reduce(which, source, destination, along))
#define CLEAR(destination) (HERE, clear(destination))

/* ---- Scopes. The first word names the indices, an array. ---- */
tilert_expr* begin_grid(tilert_grid grid, uint32_t rank, const tilert_expr* extents, tilert_expr* indices);
tilert_expr* begin_parallel(uint32_t rank, const tilert_expr* extents, tilert_expr* indices);
tilert_expr* begin_serial(tilert_loop kind, tilert_expr extent, tilert_expr* index);
tilert_expr* begin_pipelined(tilert_expr extent, uint32_t stages, tilert_expr* index);
tilert_expr* begin_threads(tilert_expr* thread);
int begin_if(tilert_expr condition);
#define SCOPE(name, size, begin, end) for (tilert_expr name[size] = {{0, 0}}, *name##_open = (HERE, begin); name##_open; name##_open = NULL, end(b))
/* GRID is a kernel without options, KERNEL takes those of a tilert_grid. */
#define KERNEL(name, options, ...) SCOPE(name, 3, begin_grid(options, LIST(__VA_ARGS__), name), tilert_builder_end_kernel)
#define GRID(name, ...) KERNEL(name, (tilert_grid){0}, __VA_ARGS__)
#define PARALLEL(name, ...) SCOPE(name, 6, begin_parallel(LIST(__VA_ARGS__), name), tilert_builder_end_parallel)
#define SERIAL(name, extent) SCOPE(name, 1, begin_serial(TILERT_LOOP_SERIAL, extent, name), tilert_builder_end_serial)
#define UNROLL(name, extent) SCOPE(name, 1, begin_serial(TILERT_LOOP_UNROLL, extent, name), tilert_builder_end_serial)
#define PIPELINED(name, extent, stages) SCOPE(name, 1, begin_pipelined(extent, stages, name), tilert_builder_end_pipelined)
#define THREADS(name) SCOPE(name, 1, begin_threads(name), tilert_builder_end_threads)
#define IF(condition) for (int open_if = (HERE, begin_if(condition)); open_if; open_if = 0, tilert_builder_end_if(b))

#endif /* KIT_H_ */
