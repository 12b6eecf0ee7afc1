/* clang-format off */
/* tilert: build a tile program at run time, compile it for the device and the shapes at hand, launch it.
 *
 * The whole C interface, clean C11 and C++17. Needs no other header of the library, no CUDA, no HIP.
 *
 *   tilert_builder  --finish-->  tilert_program          a frozen tile program, no device and no pointers in it
 *   tilert_program  --create-->  tilert_kernel           the program for one target, with its table of variants
 *   tilert_kernel   --prepare->  tilert_loaded           variants, compiled or fetched, loaded in one device context
 *   tilert_loaded   --launch-->  work on your stream     picks a tilert_variant by the dims; never compiles or loads
 *
 * Conventions, which hold wherever a function does not say otherwise
 *   Results   A tilert_status; TILERT_OK is 0. Outputs are written only on success, handles otherwise set to NULL.
 *   Errors    `error`, where there is one, may be NULL. On failure it receives an object that the caller releases with
 *             tilert_error_release; on success it is set to NULL. There is no thread-local or global last error.
 *   Handles   Reference counted and atomic. A function that returns a handle returns one reference; X_retain adds one,
 *             X_release drops one. NULL is a no-op for both. Children hold their parents: any order of release is
 *             legal. A handle made before fork() answers TILERT_FORKED in the child; releasing it there is legal.
 *   Threads   Any thread may call any function on any handle at once, with two exceptions: one builder belongs to one
 *             thread at a time, and so does one launch's memory (arguments, workspace).
 *   Structs   `struct_size` comes first and is sizeof of the struct that the caller knows; zero-fill the rest. Zero is
 *             the default of each field. Bytes beyond the size that the library knows must be zero
 *             (TILERT_INVALID_ARGUMENT), so that a field it does not understand is never ignored.
 *             Structs without it never change.
 *   Inputs    Copied before the call returns, launch arguments included (the device memory they name is not).
 *   Strings   UTF-8, NUL-terminated. Returned `const char *` belong to the handle they came from.
 *   Callbacks Run with no lock held, may call back in, must not unwind (no exception, no longjmp, no panic).
 *   Context   The caller's current CUDA context is the same before and after each call.
 *   Numbers   Sizes in bytes, times in nanoseconds, shapes and strides in elements, row-major, last dim fastest.
 *   Acts      Each function names what it does of: compile, load (into a device context), disk, capture-safe (may run
 *             while a stream of this thread is being captured). `Acts: none` means: no compile, no load, no disk,
 *             capture-safe.
 *
 * Every enum value is explicit and never reused. What this version refuses answers TILERT_UNSUPPORTED with a message
 * that names the feature and what to use instead; tilert_feature asks beforehand.
 */
/* clang-format on */
#ifndef TILERT_H_
#define TILERT_H_

#include <stddef.h>
#include <stdint.h>

#define TILERT_VERSION_MAJOR 0
#define TILERT_VERSION_MINOR 1
#define TILERT_VERSION_PATCH 0

#if defined(TILERT_BUILDING) && defined(__GNUC__)
#define TILERT_API __attribute__((visibility("default")))
#else
#define TILERT_API
#endif
#ifdef __cplusplus
#define TILERT_NOEXCEPT noexcept
extern "C" {
#else
#define TILERT_NOEXCEPT
#endif

/* ---- Status, errors, version ----------------------------------------------------------------- */

typedef int32_t tilert_status;
enum {
  TILERT_OK = 0,
  TILERT_INVALID_ARGUMENT = 1, /* a null handle, a wrong count, a value out of its range */
  TILERT_INVALID_PROGRAM = 2,  /* the tile program is wrong: the message names operation, label, file and line */
  TILERT_UNSUPPORTED = 3,      /* valid, but refused by this version or target: the message names the alternative */
  TILERT_UNAVAILABLE = 4,      /* a device, driver, compiler or plugin is not there: the message names what was tried */
  TILERT_NOT_READY = 5, /* no loaded variant takes these dims, or a job still runs: tilert_prepare, tilert_job_wait */
  TILERT_ALIGNMENT = 6, /* a pointer is not aligned as the variant needs: the message names the parameter */
  TILERT_SHAPE = 7,     /* dims, strides, rank or dtype of an argument do not fit */
  TILERT_OUT_OF_MEMORY = 8,
  TILERT_DRIVER = 9,   /* the device driver failed: the message holds its code and name */
  TILERT_COMPILE = 10, /* the compiler below refused the source: tilert_error_source and _log hold both */
  TILERT_FORKED = 11,  /* a handle made before fork() was used in the child */
  TILERT_SEALED = 12,  /* a compile was needed after tilert_context_seal */
  TILERT_TIMEOUT = 13,
  TILERT_CANCELLED = 14,
  TILERT_SOURCE_REFUSED = 15, /* the program holds source text and TILERT_ALLOW_SOURCE was not given */
  TILERT_CORRUPT = 16,        /* an artifact or bundle failed its checks (a bad cache row is a miss, never an error) */
  TILERT_INTERNAL = 17        /* our own fault: the message asks for the dump */
};

typedef struct tilert_error tilert_error;

/* The name of a status, "UNKNOWN" for a value that is none. Static storage. Acts: none. */
TILERT_API const char* tilert_status_name(tilert_status status) TILERT_NOEXCEPT;

/* What failed. The strings live as long as `error`; all answer "" (TILERT_OK) for NULL. Acts: none.
 * message: complete in itself, one or more lines. source, log: generated source and the compiler's log, where a
 * compiler refused it, else "". */
TILERT_API tilert_status tilert_error_status(const tilert_error* error) TILERT_NOEXCEPT;
TILERT_API const char* tilert_error_message(const tilert_error* error) TILERT_NOEXCEPT;
TILERT_API const char* tilert_error_source(const tilert_error* error) TILERT_NOEXCEPT;
TILERT_API const char* tilert_error_log(const tilert_error* error) TILERT_NOEXCEPT;
TILERT_API void tilert_error_retain(tilert_error* error) TILERT_NOEXCEPT;
TILERT_API void tilert_error_release(tilert_error* error) TILERT_NOEXCEPT;

/* The version of the library that is loaded, as (major << 16) | (minor << 8) | patch. Acts: none. */
TILERT_API uint32_t tilert_version(void) TILERT_NOEXCEPT;

/* Whether this version does the language feature `name` ("reduce", "scan", "atomic", "persistent", ...): TILERT_OK, or
 * TILERT_UNSUPPORTED with a message that says what to use instead, or TILERT_INVALID_ARGUMENT for a name that is no
 * feature. Acts: none. */
TILERT_API tilert_status tilert_feature(const char* name, tilert_error** error) TILERT_NOEXCEPT;

/* ---- Element types --------------------------------------------------------------------------- */

typedef int32_t tilert_dtype;
enum {
  TILERT_BOOL = 1, /* one byte, 0 or 1 */
  TILERT_INT4 = 2,
  TILERT_INT8 = 3,
  TILERT_INT16 = 4,
  TILERT_INT32 = 5,
  TILERT_INT64 = 6,
  TILERT_UINT4 = 7,
  TILERT_UINT8 = 8,
  TILERT_UINT16 = 9,
  TILERT_UINT32 = 10,
  TILERT_UINT64 = 11,
  TILERT_F16 = 12,
  TILERT_BF16 = 13,
  TILERT_F32 = 14,
  TILERT_F64 = 15,
  TILERT_TF32 = 16, /* a matmul mode of f32 */
  TILERT_E4M3 = 17, /* OCP fp8 */
  TILERT_E5M2 = 18,
  TILERT_E4M3FNUZ = 19,
  TILERT_E5M2FNUZ = 20,
  TILERT_E8M0 = 21, /* scales */
  TILERT_E2M3 = 22,
  TILERT_E3M2 = 23,
  TILERT_E2M1 = 24,
  TILERT_NF4 = 25,
  TILERT_INDEX = 26 /* int64 of index arithmetic; not a storage type */
};

/* Types of less than a byte (INT4, UINT4, E2M1, NF4: 4 bits; E2M3, E3M2: 6 bits) are packed in tensors, low bits first: 2 of 4
 * bits fill a byte, 4 of 6 bits three. Rows start on a byte: the default stride of a row is rounded up to a multiple of 2 (4)
 * elements, and given ones are such multiples, 1 for the last dim. An argument's data points at the byte of the first
 * element; shapes and strides count elements; one that gives a shape and no strides is compact, and refused where its rows
 * then start inside a byte. Shared tiles with views of another type are packed, too (tilert_builder_view); of other tiles a
 * program cannot tell. TF32 is no element type but a mode of gemm (TILERT_GEMM_TF32). fp8 and smaller, and 4-bit integers,
 * are stored, moved, filled, selected, read as other bits and cast; operations on their values are refused.
 *
 * Width of one element in bits, 0 for a value that is no dtype; its spelling in program text ("bf16"), or "none".
 * Acts: none. */
TILERT_API uint32_t tilert_dtype_bits(tilert_dtype dtype) TILERT_NOEXCEPT;
TILERT_API const char* tilert_dtype_name(tilert_dtype dtype) TILERT_NOEXCEPT;

/* ---- Handles and ids ------------------------------------------------------------------------- */

typedef struct tilert_builder tilert_builder;
typedef struct tilert_program tilert_program;
typedef struct tilert_context tilert_context;
typedef struct tilert_device tilert_device;
typedef struct tilert_kernel tilert_kernel;
typedef struct tilert_variant tilert_variant;
typedef struct tilert_loaded tilert_loaded;
typedef struct tilert_job tilert_job;

/* Ids of one builder: the builder's serial number and an index that also holds the kind, so that an id of another
 * builder or another kind is an error, never another thing. All zero is "none". Plain values: copy and compare them
 * freely. */
typedef struct tilert_dim {
  uint32_t serial, index;
} tilert_dim; /* a named size */
typedef struct tilert_tensor {
  uint32_t serial, index;
} tilert_tensor; /* a tensor parameter */
typedef struct tilert_scalar {
  uint32_t serial, index;
} tilert_scalar; /* a scalar parameter */
typedef struct tilert_buffer {
  uint32_t serial, index;
} tilert_buffer; /* shared, fragment, var or local storage */
typedef struct tilert_expr {
  uint32_t serial, index;
} tilert_expr; /* a scalar value */
typedef struct tilert_function {
  uint32_t serial, index;
} tilert_function; /* a device function */

/* ---- Builder: life --------------------------------------------------------------------------- */

/* A new builder of a program called `name` (an identifier; NULL is "program"). Belongs to one thread at a time.
 *
 * Building never fails half way: the first error sticks, every later call returns its status (or the "none" id) and
 * does nothing, and tilert_builder_finish reports it. So a caller may ignore every status but that of finish. No call
 * on a builder compiles, loads or touches the disk; all are capture-safe (Acts: none). Errors: TILERT_OUT_OF_MEMORY,
 * TILERT_INVALID_ARGUMENT. */
TILERT_API tilert_status tilert_builder_create(const char* name, tilert_builder** builder) TILERT_NOEXCEPT;
TILERT_API void tilert_builder_retain(tilert_builder* builder) TILERT_NOEXCEPT;
TILERT_API void tilert_builder_release(tilert_builder* builder) TILERT_NOEXCEPT;

/* Where the next calls stand in the caller's source. `file` and `line` hold until the next call of this function;
 * `label` names the next operation or declaration only. `file` NULL keeps the last one; `label` NULL is none. Messages
 * name them; they are no part of the program's key. */
TILERT_API void tilert_builder_at(tilert_builder* builder, const char* file, uint32_t line,
                                  const char* label) TILERT_NOEXCEPT;

/* The status of the sticky error, TILERT_OK without one. */
TILERT_API tilert_status tilert_builder_status(const tilert_builder* builder) TILERT_NOEXCEPT;

/* Freezes the program. The builder is spent: every later call on it is an error. `*program` holds one reference.
 * Errors: the sticky one, whole; TILERT_INVALID_PROGRAM for a scope left open or for what only the whole shows. */
TILERT_API tilert_status tilert_builder_finish(tilert_builder* builder, tilert_program** program,
                                               tilert_error** error) TILERT_NOEXCEPT;

/* ---- Builder: declarations (outside a kernel) ------------------------------------------------ */

/* A named size, shared by the tensors that use it; 0 is a legal value. Given a value when compiled (tilert_dim_binding)
 * it is constant, given buckets here or there it is bucketed, else dynamic. `options` may be NULL. Names of dims and
 * parameters are identifiers, each used once. */
typedef int32_t tilert_bucket_kind;
enum {
  TILERT_BUCKET_RANGE = 1,  /* a <= value <= b */
  TILERT_BUCKET_DIVISOR = 2 /* value % a == 0; b is 0 */
};
typedef struct tilert_bucket {
  tilert_bucket_kind kind;
  uint32_t reserved;
  int64_t a, b;
} tilert_bucket;
typedef struct tilert_dim_options {
  uint32_t struct_size;
  uint32_t bucket_count;
  const tilert_bucket* buckets; /* a variant for each; the launch picks. A value in none is NOT_READY */
  int64_t divisible;            /* the caller's word: each value is a multiple of this; checked at launch. 0: 1 */
} tilert_dim_options;
TILERT_API tilert_dim tilert_builder_dim(tilert_builder* builder, const char* name,
                                         const tilert_dim_options* options) TILERT_NOEXCEPT;

typedef int32_t tilert_access;
enum {
  TILERT_IN = 1,
  TILERT_OUT = 2, /* cannot be read; elements that the program does not write keep their bytes */
  TILERT_INOUT = 3
};

/* A tensor parameter. `shape` has `rank` expressions of constants and dims. */
typedef struct tilert_tensor_options {
  uint32_t struct_size;
  uint32_t flags;             /* TILERT_TENSOR_* */
  const tilert_expr* strides; /* `rank` of them (of a pointer table one less), in elements; NULL: row-major contiguous */
  uint32_t stride_count;      /* how many, where strides is given, else 0 */
  uint32_t alignment;         /* bytes; 0: 16 */
} tilert_tensor_options;
enum {
  TILERT_TENSOR_MAY_ALIAS = 1,    /* may overlap other parameters that say so too */
  TILERT_TENSOR_POINTER_TABLE = 2 /* a table of device pointers, below */
};
/* A pointer table (grouped work: weights of experts that live in allocations of their own). The shape is {count, sizes...}: the
 * argument points to `count` pointers of 8 bytes, in device memory (host memory for CPU targets), and element (g, i...) is
 * element (i...) of the tensor at pointer g, whose shape is `sizes` and whose strides are those given or row-major contiguous.
 * `dtype`, `access` and `alignment` (of each pointer) speak of these tensors; the table itself is only read, once a kernel has
 * begun, and may not change while it runs. A NULL pointer is a tensor without elements. A g out of 0 to count - 1 is out of
 * bounds, as any other index: reads give the safe value, writes are dropped, no pointer is followed. A region of an operation
 * lies in one tensor: its extent in the first dim is 1. In `parallel` each element may have a g of its own. Two tensors of one
 * table, and those of another parameter, do not overlap where one is written, unless TILERT_TENSOR_MAY_ALIAS says so. No
 * reshape, and no transpose of the first dim. What the tables point to is nowhere checked. */
TILERT_API tilert_tensor tilert_builder_tensor(tilert_builder* builder, const char* name, tilert_access access,
                                               tilert_dtype dtype, const tilert_expr* shape, uint32_t rank,
                                               const tilert_tensor_options* options) TILERT_NOEXCEPT;

/* A scalar parameter, passed by value at launch. */
TILERT_API tilert_scalar tilert_builder_scalar(tilert_builder* builder, const char* name,
                                               tilert_dtype dtype) TILERT_NOEXCEPT;

/* ---- Builder: kernels ------------------------------------------------------------------------ */

/* One hint of the schedule. An unset hint is recommended by the target's cost model. */
typedef int32_t tilert_hint_kind;
enum {
  TILERT_HINT_THREADS = 1,       /* threads of a block: 32 to 1024, whole warps (class B: results within tolerance) */
  TILERT_HINT_THREADS_FIXED = 2, /* the same, fixed, for all targets: makes begin_threads available */
  TILERT_HINT_MIN_BLOCKS = 3,    /* blocks per multiprocessor (class A: bit-identical, as all below but for class B) */
  TILERT_HINT_MAX_REGISTERS = 4, /* a thread's, 24 to 255: more blocks fit, the compiler may spill */
  TILERT_HINT_RASTER = 5, /* width of the groups of blocks that run together along the first grid dim: a group's blocks
                           * go down the second dim before the next group starts, so that they share what L2 holds */
  TILERT_HINT_ROLES = 6,  /* 0 auto, 1 off, 2 producer and consumers */
  TILERT_HINT_CLUSTER = 7, /* blocks that share copies: neighbours along one dim of the grid whose tiles of one operand are the
                            * same, each of which brings its part of them to all; kernels with roles, on sm_90a; 2 to 8 */
  TILERT_HINT_PDL = 8,       /* 1: may start before the grid in front of it has ended, for whose end it waits before it touches
                              * global memory; sm_90 on, not with grid_sync. Launched so with TILERT_ATTRIBUTE_PDL */
  TILERT_HINT_SPLIT_K = 9,   /* class B */
  TILERT_HINT_CONSUMERS = 10 /* consumer warpgroups of a kernel with roles (class B) */
};
enum { TILERT_HINT_MUST = 1 /* not taken is an error that says why */ };
typedef struct tilert_hint {
  uint32_t struct_size;
  tilert_hint_kind kind;
  int64_t value;
  uint32_t flags;
  uint32_t reserved;
  const char* target; /* only when compiled for this target ("sm_90a"; "cpu": any CPU); NULL: for all that no hint of
                       * the same kind names */
} tilert_hint;

/* A kernel of the program: 1 to 3 grid extents, expressions of dims. All further fields may be zero. */
typedef struct tilert_grid {
  uint32_t struct_size;
  uint32_t rank;
  const tilert_expr* extents;
  const char* name; /* NULL: the program's */
  uint32_t flags;   /* TILERT_GRID_* */
  uint32_t hint_count;
  const tilert_hint* hints;
  tilert_tensor tile_count; /* persistent: its first element (int32 or int64) is how many tiles are done, those of the lowest
                             * numbers, x fastest; read by the kernel, which does not write it. None: all of the grid */
} tilert_grid;
enum {
  TILERT_GRID_PERSISTENT = 1,  /* the grid's points are tiles, over which as many blocks loop as fit on the device, in an order
                                * that is kind to L2 (TILERT_HINT_RASTER; 0: groups of 8); return ends a tile. Tiles are
                                * independent: none waits for another, and there is no grid_sync */
  TILERT_GRID_NO_CONTRACT = 2, /* multiply-add is fused only by fma(), also inside parallel */
  TILERT_GRID_FIXED_ORDER = 4, /* reduction_order = fixed: an element's bits do not depend on dynamic dims; below */
  TILERT_GRID_FAST_MATH = 8    /* every value of the kernel as tilert_builder_fast makes it */
};
/* With TILERT_GRID_FIXED_ORDER the bits of an element depend on the values that enter it and on how many of them there are, and on
 * nothing else that is given at launch: a row has the same bits among 1 and among 1000 (batch invariance), in every variant of the
 * kernel, with every stride. Nor do they depend on hints of class B: `consumers` is followed where it asks for what is chosen
 * anyway, `threads` where the kernel adds up no floats across threads, `split_k` where its sums are integers, which have one value
 * in any order; elsewhere the hint's outcome says why not, and with TILERT_HINT_MUST it is an error. THREADS_FIXED is part of the
 * program. Instructions, layouts and fused multiply-adds are chosen by the program, the dims bound when compiled, the target and
 * its device class alone. On a CPU a sum in f32 goes on from one round of K to the next, whatever the tiles are. Atomic additions of
 * floats are refused; source text and device functions are their authors'. */

/* Opens a kernel; `block` receives grid->rank block indices (dtype index). Scopes are begin/end pairs; they nest, and
 * an end that does not match the innermost open scope is an error that names both. */
TILERT_API tilert_status tilert_builder_begin_kernel(tilert_builder* builder, const tilert_grid* grid,
                                                     tilert_expr* block) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_end_kernel(tilert_builder* builder) TILERT_NOEXCEPT;

/* In a persistent kernel, before its loops: what a tile costs, in any unit, and the group of tiles that it shares data with
 * (none: all are one group), as expressions of block indices, dims and constants. A planned schedule (tilert_plan) balances the
 * blocks by them; without a plan they change nothing. One kernel of a program may have a cost. */
TILERT_API tilert_status tilert_builder_tile_cost(tilert_builder* builder, tilert_expr cost, tilert_expr locality) TILERT_NOEXCEPT;

/* A whole kernel of one's own, which takes part in cache, loading and launch like any other. It takes the program's
 * parameters in their order: a tensor as a pointer, a scalar by value, then the dims in their order as int64.
 * Grid, block, cluster and shared bytes are expressions of dims and scalars, worked out at each launch (on a CPU, shared bytes
 * when the kernel is made); one that the device does not take is TILERT_SHAPE. On GPUs it may stand among tile kernels and
 * other source kernels, compiled together as one text: then without options, and with entries of their own.
 * A program with source needs TILERT_ALLOW_SOURCE in its context. Every field is part of the key. */
typedef struct tilert_header {
  const char *name, *text;
} tilert_header;
typedef struct tilert_source_kernel {
  uint32_t struct_size;
  uint32_t grid_rank;   /* 1 to 3 */
  const char* language; /* "cuda": CUDA C++ through NVRTC; "hip": HIP C++; "llvm": LLVM IR text through the plugin */
  const char* text;
  const char* entry;            /* symbol; or a C++ name expression (cuda) */
  const tilert_header* headers; /* virtual headers: the only files that an #include may name */
  uint32_t header_count;
  uint32_t option_count;
  const char* const* options; /* compiler options, of the list in docs/security.md */
  const tilert_expr* grid;    /* expressions of dims */
  const tilert_expr* block;   /* 3 of them; NULL: 1, 1, 1 */
  const tilert_expr* cluster; /* 3 of them; NULL: none */
  tilert_expr shared_bytes;   /* dynamic shared memory; none: 0 */
} tilert_source_kernel;
TILERT_API tilert_status tilert_builder_source_kernel(tilert_builder* builder,
                                                      const tilert_source_kernel* kernel) TILERT_NOEXCEPT;

/* ---- Builder: storage (inside a kernel) ------------------------------------------------------ */

typedef int32_t tilert_scope;
enum {
  TILERT_SHARED = 1,   /* a tile that all threads of the block see */
  TILERT_FRAGMENT = 2, /* a tile spread over the block's registers */
  TILERT_VAR = 3,      /* one element: rank 0 */
  TILERT_LOCAL = 4     /* outside parallel one value per block, inside private to the iteration */
};
typedef int32_t tilert_layout;
enum {
  TILERT_LAYOUT_AUTO = 0,
  TILERT_LAYOUT_ROW_MAJOR = 1,
  TILERT_LAYOUT_PADDED = 2,
  TILERT_LAYOUT_SWIZZLE_32 = 3,
  TILERT_LAYOUT_SWIZZLE_64 = 4,
  TILERT_LAYOUT_SWIZZLE_128 = 5,
  TILERT_LAYOUT_CUSTOM = 6 /* by an expression: tilert_builder_annotate_layout only */
};
typedef struct tilert_buffer_options {
  uint32_t struct_size;
  tilert_layout layout; /* shared tiles only: a hint, as tilert_builder_annotate_layout gives without flags */
  const char* name;     /* for messages and generated source; NULL: made up */
} tilert_buffer_options;

/* A tile or variable. Shapes are constants of the compiled kernel, not necessarily powers of two; this version takes
 * constants only and refuses expressions of dims that are given values when compiled. `options` may be NULL. */
TILERT_API tilert_buffer tilert_builder_buffer(tilert_builder* builder, tilert_scope scope, tilert_dtype dtype,
                                               const tilert_expr* shape, uint32_t rank,
                                               const tilert_buffer_options* options) TILERT_NOEXCEPT;

/* Where the elements of a shared tile shall lie: a hint of class A, which changes no bit of any result. Its outcome is in
 * tilert_variant_explain; with TILERT_LAYOUT_MUST one that cannot be met is an error that says why. ROW_MAJOR; PADDED: rows 16
 * bytes longer; SWIZZLE_n: rows in pieces of n bytes, 16-byte chunks XORed with the row, as tensor copy engines write them (a
 * row is a multiple of n bytes). CUSTOM: `place` counts elements from the tile's start, made of the indices that
 * tilert_builder_layout_indices gives (one for each dim); two elements with one place are an error here. Else `place` is
 * none. Views of the tile follow. On a CPU tiles are row-major. */
enum { TILERT_LAYOUT_MUST = 1 };
TILERT_API tilert_status tilert_builder_layout_indices(tilert_builder* builder, tilert_buffer tile,
                                                       tilert_expr* indices) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_annotate_layout(tilert_builder* builder, tilert_buffer tile, tilert_layout layout,
                                                        tilert_expr place, uint32_t flags) TILERT_NOEXCEPT;

/* Another shape, or another element type, of a tile: the same bytes, row-major and little-endian, all of them. `tile` is
 * shared or a fragment, or a view of one; what is written through one is read through the other. Free of a shared tile; a
 * fragment's elements change hands where threads would hold others under the view (tilert_variant_explain lists it).
 * `dtype` 0: that of `tile`. `shape` NULL and `rank` 0: the shape of `tile`, with as many elements in its last dim as have
 * the bytes. Nothing is a view as bool. Elements of less than a byte are side by side in a shared tile that has a view of
 * another type, or is one: its rows must be whole bytes, and only copies and fills of whole bytes write such elements; of a
 * fragment they only change their shape. */
TILERT_API tilert_buffer tilert_builder_view(tilert_builder* builder, tilert_buffer tile, tilert_dtype dtype,
                                             const tilert_expr* shape, uint32_t rank) TILERT_NOEXCEPT;

/* A tensor parameter with another shape: `rank` constants, dims or products of them, whose product is that of the tensor's
 * own whatever the dims are. The tensor is contiguous: declared without strides. The same memory under both names; free. */
TILERT_API tilert_tensor tilert_builder_tensor_reshape(tilert_builder* builder, tilert_tensor tensor,
                                                       const tilert_expr* shape, uint32_t rank) TILERT_NOEXCEPT;

/* A tensor parameter whose dims have changed places: dim d is dim order[d] of the tensor. `order` NULL: the two last dims
 * change places. The same memory under both names; free. */
TILERT_API tilert_tensor tilert_builder_tensor_transpose(tilert_builder* builder, tilert_tensor tensor,
                                                         const uint32_t* order, uint32_t rank) TILERT_NOEXCEPT;

/* ---- Builder: scalar values ------------------------------------------------------------------ */

/* A constant of dtype index: what shapes, extents and offsets are made of. */
TILERT_API tilert_expr tilert_builder_index(tilert_builder* builder, int64_t value) TILERT_NOEXCEPT;

/* A constant: dtype and bit pattern, low bits first (TILERT_F32 1.0 is 0x3f800000). Bits beyond the width must be zero.
 */
TILERT_API tilert_expr tilert_builder_constant(tilert_builder* builder, tilert_dtype dtype,
                                               uint64_t bits) TILERT_NOEXCEPT;

/* A literal: adopts the dtype of what it meets (the other operand, the destination). `dtype` says how `bits` are to be
 * read: TILERT_INT64, TILERT_UINT64 (beyond int64 it is an error), TILERT_F64 or TILERT_BOOL. An integer literal must be
 * representable where it arrives; a float literal does not adopt an integer dtype. Floats round half to even.
 * Literals that meet stay a literal: integers are folded exactly (leaving int64, a divisor of 0 and a shift beyond 63 are
 * errors), floats, or an integer and a float, in f64 by the operations that are rounded correctly everywhere (not by exp,
 * pow and the like: cast one operand). A comparison gives a bool; a bool is a constant. */
TILERT_API tilert_expr tilert_builder_literal(tilert_builder* builder, tilert_dtype dtype,
                                              uint64_t bits) TILERT_NOEXCEPT;

/* The value of a dim (dtype index) and of a scalar parameter. */
TILERT_API tilert_expr tilert_builder_dim_value(tilert_builder* builder, tilert_dim dim) TILERT_NOEXCEPT;
TILERT_API tilert_expr tilert_builder_scalar_value(tilert_builder* builder, tilert_scalar scalar) TILERT_NOEXCEPT;

typedef int32_t tilert_op;
enum {
  /* two operands of one dtype. Integers wrap; x / 0 = 0 and x % 0 = x; a shift by the width or more gives 0 or the sign
   */
  TILERT_OP_ADD = 1,
  TILERT_OP_SUB = 2,
  TILERT_OP_MUL = 3,
  TILERT_OP_DIV = 4,       /* floor division on integers */
  TILERT_OP_MOD = 5,       /* its remainder: the sign of the divisor */
  TILERT_OP_TRUNC_DIV = 6, /* integers */
  TILERT_OP_TRUNC_MOD = 7, /* integers: the sign of the dividend */
  TILERT_OP_MIN = 8,       /* the number wins over NaN; -0 < +0 */
  TILERT_OP_MAX = 9,
  TILERT_OP_MIN_NAN = 10, /* NaN propagates */
  TILERT_OP_MAX_NAN = 11,
  TILERT_OP_POW = 12,
  TILERT_OP_AND = 13, /* bits of integers, truth of bools */
  TILERT_OP_OR = 14,
  TILERT_OP_XOR = 15,
  TILERT_OP_SHL = 16,
  TILERT_OP_SHR = 17, /* arithmetic on signed */
  /* comparisons: bool */
  TILERT_OP_EQ = 18,
  TILERT_OP_NE = 19,
  TILERT_OP_LT = 20,
  TILERT_OP_LE = 21,
  TILERT_OP_GT = 22,
  TILERT_OP_GE = 23,
  /* one operand */
  TILERT_OP_NEG = 24,
  TILERT_OP_NOT = 25, /* bits of integers, truth of bools */
  TILERT_OP_ABS = 26,
  TILERT_OP_EXP = 27, /* from here to sigmoid: floats; each has an ulp bound per dtype */
  TILERT_OP_EXP2 = 28,
  TILERT_OP_LOG = 29,
  TILERT_OP_LOG2 = 30,
  TILERT_OP_SQRT = 31,
  TILERT_OP_RSQRT = 32,
  TILERT_OP_SIN = 33,
  TILERT_OP_COS = 34,
  TILERT_OP_TANH = 35,
  TILERT_OP_ERF = 36,
  TILERT_OP_SIGMOID = 37,
  TILERT_OP_FLOOR = 38,
  TILERT_OP_CEIL = 39,
  TILERT_OP_ROUND = 40, /* half to even */
  TILERT_OP_TRUNC = 41,
  TILERT_OP_ISNAN = 42, /* bool */
  TILERT_OP_ISINF = 43,
  TILERT_OP_ISFINITE = 44,
  /* three operands */
  TILERT_OP_SELECT = 45, /* bool ? a : b; nothing is read that is not chosen */
  TILERT_OP_FMA = 46,    /* a * b + c, rounded once */
  TILERT_OP_CEILDIV = 47 /* two index operands, the second positive: (a + b - 1) / b */
};

/* An operation on `count` values. Mixed dtypes are refused (cast first), except that a literal adopts the other side's
 * dtype and that an int32 or int64 becomes an index on meeting one (int32 * int32 wraps first). Pure: reads nothing. */
TILERT_API tilert_expr tilert_builder_op(tilert_builder* builder, tilert_op op, const tilert_expr* operands,
                                         uint32_t count) TILERT_NOEXCEPT;

/* x converted to dtype: float to integer truncates, saturates, NaN gives 0; float casts round half to even.
 * To fp8 and smaller, beyond the greatest finite value (infinity too) gives that value, and NaN gives NaN: e4m3 and e5m2
 * 0x7f, the fnuz types 0x80, e8m0 255; e2m1, e2m3, e3m2 and nf4, which have none, their greatest value. e8m0 has neither sign
 * nor zero: a value below 0 gives NaN, 0 gives 2^-127. Formats: OCP 8-bit Floating Point and Microscaling Formats, 1.0. */
enum {
  TILERT_CAST_NONSAT = 1 /* to fp8: what is beyond the range becomes infinity (e5m2) or NaN (the others) instead of the
                            greatest value. Refused for other types */
};
TILERT_API tilert_expr tilert_builder_cast(tilert_builder* builder, tilert_dtype dtype, tilert_expr x,
                                           uint32_t flags) TILERT_NOEXCEPT;

/* x, an f16, bf16, f32 or f64, rounded at random to a narrower float (not e8m0 or nf4): of the two neighbours of its magnitude the
 * upper one where the 32 bits behind the lower one's last and `random`, a uint32, add up to 2^32 or more; so its probability is
 * where x lies between them, in 2^32 parts. What is a value of dtype stays. Beyond the greatest finite value, infinities
 * and NaN as tilert_builder_cast, after that step: f16 and bf16 become infinite, fp8 and smaller saturate unless flags say
 * otherwise. The same bits on every back end. */
TILERT_API tilert_expr tilert_builder_cast_stochastic(tilert_builder* builder, tilert_dtype dtype, tilert_expr x, tilert_expr random,
                                                      uint32_t flags) TILERT_NOEXCEPT;

/* The bits of x read as dtype, of the same width. */
TILERT_API tilert_expr tilert_builder_reinterpret(tilert_builder* builder, tilert_dtype dtype,
                                                  tilert_expr x) TILERT_NOEXCEPT;

/* x computed by fast forms: every div, sqrt, rsqrt, exp, exp2, log, log2, sin, cos, tanh and sigmoid on f32, f16 and bf16 in x,
 * down to values that were bound (let, load, a variable), may be the target's approximation. GPUs take theirs; CPUs and the
 * interpreter compute exactly. All else in x stays as it is: pow, erf, f64, integers; nothing is reordered or fused by it.
 * Errors are at most, in ulp of f32 at the exact result (16-bit results are rounded once more): div, sqrt and exp2 2, rsqrt 3,
 * exp 3 + 1.18 |x|, sigmoid 8 + 2.4 |x|, log 4 and 2^-21 beside, log2 2 and 2^-22 beside, tanh 8192 (2^-11 of the result); of sin
 * and cos 2^-20 up to |x| = 2^20, any number in [-1, 1] beyond. A subnormal f32 may count as a zero of its sign, as argument and
 * as result; a result within its error of f32's end may be infinite. NaN comes where the exact operation gives NaN; where an
 * infinite or zero argument makes an infinity or a zero, it does so here, with its sign. A literal stays a literal. For all of
 * a kernel: TILERT_GRID_FAST_MATH. Part of the program's text and keys. Acts: none. */
TILERT_API tilert_expr tilert_builder_fast(tilert_builder* builder, tilert_expr x) TILERT_NOEXCEPT;

/* Numbers that belong to no builder: what tilert_builder_op, _cast and _reinterpret make of literals and constants, for
 * bindings in which numbers meet before a builder is known. A failure here is one that the same call in a builder reports,
 * as its sticky error. Acts: none. */
typedef struct tilert_number {
  tilert_dtype dtype;
  uint32_t typed; /* 0: a literal, read as tilert_builder_literal does; 1: a constant of dtype */
  uint64_t bits;
} tilert_number;
TILERT_API tilert_status tilert_number_op(tilert_op op, const tilert_number* operands, uint32_t count,
                                          tilert_number* result) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_number_cast(tilert_dtype dtype, const tilert_number* x,
                                            tilert_number* result) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_number_reinterpret(tilert_dtype dtype, const tilert_number* x,
                                                   tilert_number* result) TILERT_NOEXCEPT;

/* The dtype of a value; 0 for a literal and for none. */
TILERT_API tilert_dtype tilert_builder_dtype_of(tilert_builder* builder, tilert_expr x) TILERT_NOEXCEPT;

/* ---- Builder: memory ------------------------------------------------------------------------- */

/* A part of a tile or of a tensor parameter: exactly one of `buffer` and `tensor` is set. `offsets` has `rank`
 * expressions; rank 0 with NULL is the whole, whose extents are the shape: all of it is copied, and the other side must
 * agree. A literal negative constant offset counts from the end. Extents are constants of the compiled kernel; NULL:
 * inferred from the other side of the operation, or whole dims. A parameter with a dim that is not a constant has no
 * whole to copy: give offsets. */
typedef struct tilert_region {
  tilert_buffer buffer;
  tilert_tensor tensor;
  const tilert_expr* offsets;
  const tilert_expr* extents;
  uint32_t rank;
  uint32_t extent_count; /* of `extents`: another number than rank is an error; 0: rank */
} tilert_region;

/* A value read here, once, by name: later stores do not change it. let: of a pure expression. load: of one element,
 * with one index per dim; an element outside a tensor parameter reads 0. Valid until the enclosing scope ends. */
TILERT_API tilert_expr tilert_builder_let(tilert_builder* builder, tilert_expr value) TILERT_NOEXCEPT;
TILERT_API tilert_expr tilert_builder_load(tilert_builder* builder, const tilert_region* element) TILERT_NOEXCEPT;

/* Stores one element; one outside a tensor parameter is dropped. The dtypes must be equal; a literal adopts. */
TILERT_API tilert_status tilert_builder_store(tilert_builder* builder, const tilert_region* element,
                                              tilert_expr value) TILERT_NOEXCEPT;

/* Atomic operations: an element of a tensor parameter or of a shared tile changes in one step, between which nothing of any
 * block comes. Inside parallel each iteration makes its own, and iterations may meet in one element; outside it happens once
 * a block, and the old value is the same for all of it. Later plain reads of the same block see what was done. Types: 32 and
 * 64 bit integers; f16, bf16, f32 and f64 for add, max, min, exchange and cas. max and min: the number wins over NaN, -0 < +0.
 * cas stores the value where the old one has the bits of `expected`. An element outside a tensor parameter is left alone, and
 * its old value is 0. Float sums depend on the order in which blocks come; on GPUs f32 sums in global memory flush subnormals.
 * The tensor is inout (out for a store, in for a load).
 * Orders: relaxed, at device scope, unless said. acquire: what the block does after is not done before; release: what it did
 * before is seen by whoever acquires what was written. A block may wait for blocks of lower index (x first, then y, z) in a
 * loop of acquiring loads: on a CPU, in the interpreter, and on GPUs as far as these start blocks in that order, which today's
 * do and no vendor promises; it must not wait for higher ones, nor an iteration of parallel for another.
 * options may be NULL. old may be NULL: nobody asks, which is cheaper; else it receives the value that was there. */
typedef int32_t tilert_atomic_op;
enum {
  TILERT_ATOMIC_ADD = 1,
  TILERT_ATOMIC_MAX = 2,
  TILERT_ATOMIC_MIN = 3,
  TILERT_ATOMIC_AND = 4,
  TILERT_ATOMIC_OR = 5,
  TILERT_ATOMIC_XOR = 6,
  TILERT_ATOMIC_EXCHANGE = 7,
  TILERT_ATOMIC_CAS = 8
};
typedef int32_t tilert_order;
enum { TILERT_ORDER_RELAXED = 0, TILERT_ORDER_ACQUIRE = 1, TILERT_ORDER_RELEASE = 2, TILERT_ORDER_ACQ_REL = 3 };
typedef int32_t tilert_order_scope;
enum { TILERT_ORDER_DEVICE = 0, TILERT_ORDER_BLOCK = 1, TILERT_ORDER_SYSTEM = 2 };
typedef struct tilert_atomic_options {
  uint32_t struct_size;
  tilert_order order;
  tilert_order_scope scope;
  uint32_t reserved;
  tilert_expr expected; /* cas */
} tilert_atomic_options;
TILERT_API tilert_status tilert_builder_atomic(tilert_builder* builder, tilert_atomic_op op, const tilert_region* element,
                                               tilert_expr value, const tilert_atomic_options* options,
                                               tilert_expr* old) TILERT_NOEXCEPT;

/* The same for each element of a region: destination = op(destination, source), where source is a region of the same shape in
 * any storage, cast to the destination's dtype. Not for exchange and cas. Neighbouring elements go in one access where the
 * target can. */
TILERT_API tilert_status tilert_builder_atomic_tile(tilert_builder* builder, tilert_atomic_op op,
                                                    const tilert_region* destination, const tilert_region* source,
                                                    const tilert_atomic_options* options) TILERT_NOEXCEPT;

/* A load or store of one element that other blocks may write or read at the same time: flags. A load is relaxed or acquires,
 * a store is relaxed or releases. */
TILERT_API tilert_expr tilert_builder_atomic_load(tilert_builder* builder, const tilert_region* element,
                                                  const tilert_atomic_options* options) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_atomic_store(tilert_builder* builder, const tilert_region* element,
                                                     tilert_expr value,
                                                     const tilert_atomic_options* options) TILERT_NOEXCEPT;

/* Four random values of a draw, the same bits on every back end: Philox4x32-10 (Salmon et al., SC 2011) with `seed` as the key and
 * `stream`, `counter` as the upper and lower half of its counter. Any integers, by their 64 bits; none is 0. Another counter or
 * stream is another draw; nothing is remembered. BITS: uint32. UNIFORM: f32 in [0, 1), multiples of 2^-24. NORMAL: f32 with mean 0
 * and variance 1, by Box and Muller, within the bounds of log, sqrt, sin and cos. `values` receives four values. */
typedef int32_t tilert_random;
enum { TILERT_RANDOM_BITS = 1, TILERT_RANDOM_UNIFORM = 2, TILERT_RANDOM_NORMAL = 3 };
TILERT_API tilert_status tilert_builder_random(tilert_builder* builder, tilert_random form, tilert_expr seed,
                                               tilert_expr counter, tilert_expr stream,
                                               tilert_expr* values) TILERT_NOEXCEPT;

/* Diagnostics: entries of a ring in the launch's workspace (tilert_workspace, tilert_diagnostics_read). No value of the program
 * depends on them: nothing waits, traps or is printed, and what the ring has no room for is counted only. Outside parallel an
 * entry is made once a block, inside by each iteration.
 * print: `message` with each {} replaced by the next of `values`, at most TILERT_MAX_REPORTED; without any {} the values follow
 * it. {{ and }} are braces. Values of any dtype, literals too; message may not be NULL, and is copied. It is no part of keys.
 * print_tile: an entry for each element of a region of any storage, which reads "name[3, 5] = 0.25"; name NULL: the buffer's own.
 * Of rank 5 at most, and not inside parallel. Parameters need extents.
 * assert: an entry where `condition`, a bool, does not hold; the kernel goes on. */
enum { TILERT_MAX_REPORTED = 6 };
TILERT_API tilert_status tilert_builder_print(tilert_builder* builder, const char* message, const tilert_expr* values,
                                              uint32_t count) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_print_tile(tilert_builder* builder, const char* name,
                                                   const tilert_region* region) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_assert(tilert_builder* builder, tilert_expr condition, const char* message,
                                               const tilert_expr* values, uint32_t count) TILERT_NOEXCEPT;

/* Copies between any two of tensor parameter, shared tile, fragment and local, casting where dtypes differ. Reads
 * outside a tensor, or beyond `valid`, give the safe value; writes there are dropped. A region that provably leaves a
 * tile is an error. `options` may be NULL. */
typedef int32_t tilert_copy_prefer;
enum { TILERT_COPY_AUTO = 0, TILERT_COPY_TMA = 1, TILERT_COPY_ASYNC = 2, TILERT_COPY_SYNC = 3 };
typedef struct tilert_copy_options {
  uint32_t struct_size;
  uint32_t flags;           /* TILERT_COPY_* flags */
  const tilert_expr* valid; /* one end per dim of the parameter's side, in its coordinates; NULL: its shape */
  uint32_t valid_count;
  tilert_copy_prefer prefer;
  tilert_expr safe_value; /* a constant or literal; none: 0 */
  uint32_t eviction;      /* 0 default, 1 first, 2 last; others are refused */
  /* 1: one block of a cluster brings its part of the tile to all, where the kernel has the hint cluster; the cluster runs along
   * the dim of the grid whose blocks make this same copy. With 0 everywhere: along y where they make some copy alike, else x. */
  uint32_t multicast;
} tilert_copy_options;
enum { TILERT_COPY_MUST = 1 /* `prefer` or `multicast` not taken is an error that says why */ };
TILERT_API tilert_status tilert_builder_copy(tilert_builder* builder, const tilert_region* source,
                                             const tilert_region* destination,
                                             const tilert_copy_options* options) TILERT_NOEXCEPT;

/* Sets each element of a shared tile, fragment or local to a value (fill) or to 0 (clear). */
TILERT_API tilert_status tilert_builder_fill(tilert_builder* builder, const tilert_region* destination,
                                             tilert_expr value) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_clear(tilert_builder* builder,
                                              const tilert_region* destination) TILERT_NOEXCEPT;

/* C += A * B, or C = A * B (overwrite: never reads C). A is M x K, or K x M with trans_a; B is K x N, or N x K with
 * trans_b; C is an M x N fragment. A and B from shared tiles or fragments. Of two floats the wider operand is cast to the
 * narrower dtype, an integer to the float; fp8 and smaller to the other's dtype, among themselves to f16 (with e8m0 bf16,
 * with nf4 f32); integers are multiplied exactly. f64 adds up in f64, other floats in f32, integers in int32 or int64,
 * wrapping. f32 times f32 is exact in each product unless TILERT_GEMM_TF32 is given. Any size. An operand of more than two dims
 * without extents is the matrix of its last two dims at its offsets: a slot of a ring. `options` may be NULL.
 * Sparse A (2:4): A is M x K/2, of each four elements along K the two that are kept, in order; the others are 0. `metadata` is
 * a shared tile or fragment of uint8, uint16 or uint32, M x ceil(K / 8), / 16 or / 32 in this order: four bits for each four
 * elements of K, low bits first, the place (0 to 3) of the first kept element in the low two, that of the second above it.
 * Places ascend. K is a multiple of 4; TRANS_A is refused. With TF32 each half of four keeps one: places 0 or 1, then 2 or 3.
 * Other metadata is taken as it is (of two elements in one place the second counts) except by matrix instructions of GPUs, where
 * what such a four contributes is unspecified. Whether B's elements without a partner are multiplied by 0 is unspecified: only
 * infinities and NaN show it.
 * Block-scaled: `a_scale` is [blocks of M, blocks of K], `b_scale` [blocks of K, blocks of N], of floats up to 32 bits (f32, e8m0, ...):
 * regions of tiles, or of parameters (whose extents are given), where what lies outside is 0. Blocks share their dim evenly, at
 * most 64 along K. C, which is f32, gets the sum of each block of K, in f32, times the product of its two scales, rounded to f32
 * and added by a fused multiply-add, block after block. With metadata, blocks of K are what whole elements of it speak of. */
typedef int32_t tilert_warp_split;
enum { TILERT_SPLIT_AUTO = 0, TILERT_SPLIT_ROWS = 1, TILERT_SPLIT_COLUMNS = 2, TILERT_SPLIT_SQUARE = 3 };
enum {
  TILERT_GEMM_TRANS_A = 1,
  TILERT_GEMM_TRANS_B = 2,
  TILERT_GEMM_OVERWRITE = 4,
  TILERT_GEMM_ISSUE = 16, /* started only: see tilert_builder_commit_products */
  TILERT_GEMM_TF32 = 8, /* f32 times f32: operands are rounded to tf32 (half to even to 10 bits of mantissa) on the way in */
  TILERT_GEMM_TRANS_A_SCALE = 32, /* a_scale is [blocks of K, blocks of M] */
  TILERT_GEMM_TRANS_B_SCALE = 64  /* b_scale is [blocks of N, blocks of K] */
};
typedef struct tilert_gemm_options {
  uint32_t struct_size;
  uint32_t flags;
  tilert_warp_split warp_split;
  uint32_t reserved;
  tilert_expr
      accumulate; /* a bool, uniform over the block: false overwrites, as `k != 0` in a loop; none: by the flag */
  const tilert_region* metadata; /* A is sparse, as above; NULL: dense. Read before the call returns, as the next two */
  const tilert_region* a_scale;  /* of blocks, as above; NULL: 1 */
  const tilert_region* b_scale;
} tilert_gemm_options;
TILERT_API tilert_status tilert_builder_gemm(tilert_builder* builder, const tilert_region* a, const tilert_region* b,
                                             const tilert_region* c,
                                             const tilert_gemm_options* options) TILERT_NOEXCEPT;

/* Reduces `source` along `dim` into `destination`, whose shape is the source's without that dim (or with 1 there). In
 * the destination's dtype; 16- and 8-bit floats in f32, rounded once. With accumulate the old value counts once. */
typedef int32_t tilert_reduce_op;
enum {
  TILERT_REDUCE_SUM = 1,
  TILERT_REDUCE_MAX = 2,
  TILERT_REDUCE_MIN = 3,
  TILERT_REDUCE_ABSMAX = 4,
  TILERT_REDUCE_ABSSUM = 5,
  TILERT_REDUCE_PROD = 6,
  TILERT_REDUCE_AND = 7,
  TILERT_REDUCE_OR = 8,
  TILERT_REDUCE_XOR = 9,
  TILERT_REDUCE_ARGMAX = 10,
  TILERT_REDUCE_ARGMIN = 11,
  TILERT_REDUCE_MAX_NAN = 12,
  TILERT_REDUCE_MIN_NAN = 13
};
typedef struct tilert_reduce_options {
  uint32_t struct_size;
  uint32_t flags;
} tilert_reduce_options;
enum { TILERT_REDUCE_ACCUMULATE = 1 };
TILERT_API tilert_status tilert_builder_reduce(tilert_builder* builder, tilert_reduce_op op,
                                               const tilert_region* source, const tilert_region* destination,
                                               uint32_t dim, const tilert_reduce_options* options) TILERT_NOEXCEPT;

/* Operations along a dim. Sources and destinations are regions of tiles: copy what lies in a tensor parameter to a tile
 * first. Sources are read before anything is written.
 *
 * ARGMAX and ARGMIN of tilert_builder_reduce give, as int32 or int64, the place along the dim (from 0 in the region) of
 * the first element that is the greatest (least); numbers win over NaN, -0 and +0 are equal; 0 where all are NaN. They do not
 * accumulate.
 *
 * scan: destination[i] = source[0] op ... op source[i], in the destination's dtype, 16- and 8-bit floats in f32, rounded
 * once. The extents of both sides are equal. op: SUM, PROD, MAX, MIN, MAX_NAN, MIN_NAN, AND, OR, XOR. REVERSE starts at the
 * end; EXCLUSIVE leaves i itself out, so that the first is the operation's identity. `options` may be NULL. */
typedef struct tilert_scan_options {
  uint32_t struct_size;
  uint32_t flags; /* TILERT_SCAN_* */
} tilert_scan_options;
enum { TILERT_SCAN_REVERSE = 1, TILERT_SCAN_EXCLUSIVE = 2 };
TILERT_API tilert_status tilert_builder_scan(tilert_builder* builder, tilert_reduce_op op, const tilert_region* source,
                                             const tilert_region* destination, uint32_t dim,
                                             const tilert_scan_options* options) TILERT_NOEXCEPT;

/* The elements of `source` in order along `dim`, as many as `destination` has there: all of them, or the first k (top_k, with
 * DESCENDING). Equal elements keep their order; -0 is less than +0; NaN comes after all numbers in both directions. `index`
 * (int32 or int64, as large as the destination; NULL: not wanted) receives the places along the dim that they had.
 * `options` may be NULL. */
typedef struct tilert_sort_options {
  uint32_t struct_size;
  uint32_t flags; /* TILERT_SORT_* */
} tilert_sort_options;
enum { TILERT_SORT_DESCENDING = 1 };
TILERT_API tilert_status tilert_builder_sort(tilert_builder* builder, const tilert_region* source,
                                             const tilert_region* destination, const tilert_region* index, uint32_t dim,
                                             const tilert_sort_options* options) TILERT_NOEXCEPT;

/* A reduction, or with SCAN a scan, by an operation of one's own over tuples of 1 to 8 components, each with a source and
 * a destination. begin gives two tuples of values, `left` (of what comes first along the dim) and `right`, `count` each; end
 * takes the tuple that they make, computed from these and from any values known before. The operation is associative;
 * `identities` are numbers or constants that change nothing. A component has the dtype in which its destination adds
 * up: f32 for 16- and 8-bit floats, else its own; sources are cast on the way in. Between begin and end stand values only,
 * no statements and no reads. */
typedef struct tilert_combine {
  uint32_t struct_size;
  uint32_t count;
  const tilert_region* sources;
  const tilert_region* destinations;
  const tilert_expr* identities;
  uint32_t dim;
  uint32_t flags; /* TILERT_COMBINE_*; ACCUMULATE: the destination's old values come first, once */
} tilert_combine;
enum {
  TILERT_COMBINE_ACCUMULATE = 1,
  TILERT_COMBINE_SCAN = 2,
  TILERT_COMBINE_REVERSE = 4,  /* of a scan */
  TILERT_COMBINE_EXCLUSIVE = 8 /* of a scan */
};
TILERT_API tilert_status tilert_builder_begin_combine(tilert_builder* builder, const tilert_combine* combine,
                                                      tilert_expr* left, tilert_expr* right) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_end_combine(tilert_builder* builder, const tilert_expr* results,
                                                    uint32_t count) TILERT_NOEXCEPT;

/* destination[.., i.., ..] = table[.., indices[i..], ..]: the table's dim `dim` is replaced by the dims of the indices, which
 * are integers in any storage. `table` gives the offsets of its other dims; an index counts from its offset along `dim`. One
 * that is out of the table's range gives 0. The destination's dtype may differ: a cast. */
TILERT_API tilert_status tilert_builder_gather(tilert_builder* builder, const tilert_region* table,
                                               const tilert_region* indices, const tilert_region* destination,
                                               uint32_t dim) TILERT_NOEXCEPT;

/* destination[.., indices[i..], ..] = source[.., i.., ..], or combined with what is there by an atomic operation. An index
 * out of range is dropped. Of equal indices one stores, which one is not said (the interpreter calls it an error in a tile);
 * combined, all count. `options` may be NULL. */
typedef struct tilert_scatter_options {
  uint32_t struct_size;
  tilert_atomic_op op; /* 0: store */
} tilert_scatter_options;
TILERT_API tilert_status tilert_builder_scatter(tilert_builder* builder, const tilert_region* source,
                                                const tilert_region* indices, const tilert_region* destination,
                                                uint32_t dim, const tilert_scatter_options* options) TILERT_NOEXCEPT;

/* A copy whose dims change places: dim d of the destination is dim order[d] of the source. `order` NULL: the two last dims
 * change places. Bounds, casts and inferred extents as of a copy; source and destination are two buffers. */
TILERT_API tilert_status tilert_builder_transpose(tilert_builder* builder, const tilert_region* source,
                                                  const tilert_region* destination, const uint32_t* order,
                                                  uint32_t rank) TILERT_NOEXCEPT;

/* ---- Builder: control ------------------------------------------------------------------------ */

/* Element-wise loop over `rank` (1 to 6) extents; `indices` receives rank values of dtype index. No element written by
 * one iteration is touched by another: a provably non-injective write is refused. */
TILERT_API tilert_status tilert_builder_begin_parallel(tilert_builder* builder, const tilert_expr* extents,
                                                       uint32_t rank, tilert_expr* indices) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_end_parallel(tilert_builder* builder) TILERT_NOEXCEPT;

/* for (i = begin; step > 0 ? i < end : i > end; i += step). `begin` none is 0, `step` none is 1; step is a constant,
 * not 0. unroll: a serial loop whose trip count is a constant of the compiled kernel, at most 4096, emitted without a
 * loop. */
typedef int32_t tilert_loop;
enum { TILERT_LOOP_SERIAL = 1, TILERT_LOOP_UNROLL = 2 };
TILERT_API tilert_status tilert_builder_begin_serial(tilert_builder* builder, tilert_loop kind, tilert_expr begin,
                                                     tilert_expr end, tilert_expr step,
                                                     tilert_expr* index) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_end_serial(tilert_builder* builder) TILERT_NOEXCEPT;

/* A serial loop over 0 .. extent - 1 whose copies of later iterations may overlap the work of earlier ones. Serial
 * meaning, whatever the body does. stages 0: recommended; 1: no overlap. */
TILERT_API tilert_status tilert_builder_begin_pipelined(tilert_builder* builder, tilert_expr extent, uint32_t stages,
                                                        tilert_expr* index) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_end_pipelined(tilert_builder* builder) TILERT_NOEXCEPT;

/* while: what stands between begin_while and begin_while_body runs before each trip and computes the condition, a bool; its
 * values are known in the body, which ends with end_while. Outside parallel the condition is uniform over the block. */
TILERT_API tilert_status tilert_builder_begin_while(tilert_builder* builder) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_begin_while_body(tilert_builder* builder, tilert_expr condition) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_end_while(tilert_builder* builder) TILERT_NOEXCEPT;

/* break leaves the innermost loop, continue ends its trip (serial, unroll, pipelined, while); inside parallel these are the
 * iteration's own loops. return ends the block's work on the kernel; it cannot stand inside parallel. Outside parallel they
 * stand under uniform conditions. */
TILERT_API tilert_status tilert_builder_break(tilert_builder* builder) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_continue(tilert_builder* builder) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_return(tilert_builder* builder) TILERT_NOEXCEPT;

/* All blocks of the grid come here before any goes on, and see what the others did before: what one block wrote another may
 * read. The blocks must be on the device together: a launch of more than fit is TILERT_UNSUPPORTED and names both numbers, and
 * the launch needs a workspace (tilert_workspace), which is zeroed once. Outside parallel, and where all blocks come to: not
 * under what a block's own index decides (an error at build). Where values read from memory decide otherwise for some blocks, the
 * interpreter says so, a CPU launch fails, and a GPU waits for ever. */
TILERT_API tilert_status tilert_builder_grid_sync(tilert_builder* builder) TILERT_NOEXCEPT;

/* if (condition) ... else ...; the else is optional and at most one. Outside parallel the condition is uniform over the
 * block; inside it predicates element-wise statements. */
TILERT_API tilert_status tilert_builder_begin_if(tilert_builder* builder, tilert_expr condition) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_begin_else(tilert_builder* builder) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_end_if(tilert_builder* builder) TILERT_NOEXCEPT;

/* ---- Builder: threads ------------------------------------------------------------------------ */

/* A loop over the threads of the block, whose number the hint TILERT_HINT_THREADS_FIXED gives: every iteration is one thread,
 * `thread` its number, 0 and up; 32 neighbours are a warp, on every target. Inside stands what parallel takes, and the
 * operations below. vars and locals declared inside are a thread's own and end with the loop; a fragment of one dim with an
 * element for each thread, used at [thread], keeps a value for the thread from one loop to the next; what stands outside as
 * a var is the block's and can be read only.
 * The threads run beside each other in no order: an element that one of them writes is read by another only behind a barrier
 * that both come to. Before and after the loop, statements of the block are in order with it. thread_id is `thread` again,
 * for helpers that have no access to it. */
TILERT_API tilert_status tilert_builder_begin_threads(tilert_builder* builder, tilert_expr* thread) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_end_threads(tilert_builder* builder) TILERT_NOEXCEPT;
TILERT_API tilert_expr tilert_builder_thread_id(tilert_builder* builder) TILERT_NOEXCEPT;

/* Shuffles, votes and barriers are collective: all threads of a warp come to a shuffle or vote, all of the block (or those of
 * a barrier) to sync_threads. They stand under conditions that are the same for a whole warp (of the block's barrier: the
 * whole block), such as thread / 32 == 0 or thread < 64, and in serial loops with bounds known before the threads loop and no
 * break or continue; anything else is refused by finish. There is no mask: all 32 lanes take part.
 *
 * shuffle: `value` of another thread of the same group of `width` lanes (a power of two up to 32; 0: 32): of lane `lane` modulo
 * width (index), of `lane` lanes below (up) or above (down), or of the own lane ^ lane (xor); a thread's own value where that
 * leaves the group. Any dtype of arithmetic. A constant lane outside 0 .. width - 1 is an error. */
typedef int32_t tilert_shuffle;
enum { TILERT_SHUFFLE_INDEX = 1, TILERT_SHUFFLE_UP = 2, TILERT_SHUFFLE_DOWN = 3, TILERT_SHUFFLE_XOR = 4 };
TILERT_API tilert_expr tilert_builder_shuffle(tilert_builder* builder, tilert_shuffle kind, tilert_expr value, tilert_expr lane,
                                              uint32_t width) TILERT_NOEXCEPT;

/* Whether the predicate, a bool, holds in all or any of the warp's threads; ballot: as a uint32, a bit for each lane. */
typedef int32_t tilert_vote;
enum { TILERT_VOTE_ALL = 1, TILERT_VOTE_ANY = 2, TILERT_VOTE_BALLOT = 3 };
TILERT_API tilert_expr tilert_builder_vote(tilert_builder* builder, tilert_vote kind, tilert_expr predicate) TILERT_NOEXCEPT;

/* Waits for all threads of the block (barrier 0; threads is ignored), or for the warps that come to this statement, which
 * have `threads` threads (barrier 1 to 15): what they did before is seen by all of them after. Who comes must follow from
 * conditions on the thread's number alone; two statements of one barrier are of the same threads. */
TILERT_API tilert_status tilert_builder_sync_threads(tilert_builder* builder, uint32_t barrier, uint32_t threads) TILERT_NOEXCEPT;

/* What the thread wrote before is seen, in that scope, no later than what it writes after. */
TILERT_API tilert_status tilert_builder_fence(tilert_builder* builder, tilert_order_scope scope) TILERT_NOEXCEPT;

/* Starts a copy of `count` elements (4, 8 or 16 bytes) side by side along the last dim, from an element of a tensor parameter on
 * to one of a shared tile of the same dtype; elements outside the tensor give 0. commit_copies makes a group of the thread's
 * copies since the last one; wait_copies waits until at most `pending` (0 to 16) of its newest groups are under way: only
 * then, and in other threads behind a barrier, is the destination read. What is under way at the end of the loop is waited
 * for. Targets without such copies, and places whose alignment is not proved, copy at once. */
TILERT_API tilert_status tilert_builder_copy_async(tilert_builder* builder, const tilert_region* source,
                                                   const tilert_region* destination, uint32_t count) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_commit_copies(tilert_builder* builder) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_wait_copies(tilert_builder* builder, uint32_t pending) TILERT_NOEXCEPT;

/* ---- Builder: barriers and tensor copies ----------------------------------------------------- */

/* `count` barriers in shared memory (1 to 64 in a row), as a buffer whose elements are named by the calls below and are no
 * memory. A barrier counts phases: one completes when `arrivals` arrivals (1 to 1024) have come and all bytes announced for it,
 * and the next begins at once. The kernel sets them up before its work, so they are declared outside of loops and branches, and
 * not in a persistent kernel. Of `options` the name counts; NULL: made up.
 *
 * Statements of the block: one arrive is one arrival, whoever executes it, and what the block did before it is done for whoever
 * waits for the phase. arrive_expect also announces `bytes` (1 to 1048575) that tensor copies will bring to the phase.
 * wait_barrier waits until the phase with the parity of `phase`, an index, has completed: the first phase is 0, and -1, before
 * it, is always past. As many a barrier remembers: a phase is waited for before the next but one completes. A wait for a phase
 * that can never complete hangs a GPU, is an error in the interpreter, and does nothing on a CPU.
 * Targets from sm_90 on, and CPUs; sm_75 to sm_89 are refused when compiled: use copy. */
TILERT_API tilert_buffer tilert_builder_barriers(tilert_builder* builder, uint32_t count, uint32_t arrivals,
                                                 const tilert_buffer_options* options) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_arrive(tilert_builder* builder, const tilert_region* barrier) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_arrive_expect(tilert_builder* builder, const tilert_region* barrier,
                                                      uint32_t bytes) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_wait_barrier(tilert_builder* builder, const tilert_region* barrier,
                                                     tilert_expr phase) TILERT_NOEXCEPT;

/* Copies of a box of a tensor parameter by the target's engine, beside the block. The tensor is a matrix of the tile's dtype
 * with contiguous rows on multiples of 16 bytes, and the box begins at a column on one (a view makes a matrix of other
 * tensors); a tile of rank 2 is filled or stored whole, of a higher rank its last two dims at the given offsets of the others:
 * slots of a ring. Its layout decides how rows lie: row-major, or the swizzle that annotate_layout asks for; padded and custom
 * layouts are refused when compiled.
 *
 * load_tensor: elements beyond the tensor are 0; all bytes of the tile, those included, count for the phase under way of
 * `barrier`. The tile is read behind a wait for that phase, and nothing else writes it meanwhile.
 * store_tensor: what lies beyond the tensor is dropped. commit_stores makes a group of the stores since the last one;
 * wait_stores waits until at most `pending` (0 to 16) of the newest groups are still being read from their tiles (READ: then
 * the tile may be written again) or written to memory (WRITTEN: then the block may read it there). At the end of the kernel
 * all are done. */
TILERT_API tilert_status tilert_builder_load_tensor(tilert_builder* builder, const tilert_region* source,
                                                    const tilert_region* destination,
                                                    const tilert_region* barrier) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_store_tensor(tilert_builder* builder, const tilert_region* source,
                                                     const tilert_region* destination) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_commit_stores(tilert_builder* builder) TILERT_NOEXCEPT;
typedef int32_t tilert_stores_state;
enum { TILERT_STORES_WRITTEN = 1, TILERT_STORES_READ = 2 };
TILERT_API tilert_status tilert_builder_wait_stores(tilert_builder* builder, uint32_t pending,
                                                    tilert_stores_state state) TILERT_NOEXCEPT;

/* Products that run beside the block: a gemm with TILERT_GEMM_ISSUE is started, by warpgroup instructions from shared tiles
 * into a fragment. commit_products makes a group of those since the last one, wait_products waits until at most `pending`
 * (0 to 16) of the newest groups are under way. Until then the fragment is neither read nor written but by further issued
 * products, and the operands' tiles are not written; finish refuses what it sees of that (a load_tensor into another slot of
 * the same tile it cannot tell apart). Operands are the last two dims of tiles, whole, of one dtype pair that the target
 * multiplies so, M a multiple of 64 for each warpgroup of 128 threads. Targets with warpgroup products (sm_90a), and CPUs,
 * where a product is made where it is issued; others refuse them when compiled: leave the flag out. */
TILERT_API tilert_status tilert_builder_commit_products(tilert_builder* builder) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_wait_products(tilert_builder* builder, uint32_t pending) TILERT_NOEXCEPT;

/* Warps of one block with bodies of their own: begin_roles, then for each role begin_role, its statements, end_role, then
 * end_roles. First one to four roles that issue, last the one that works.
 * ISSUE: one thread of a warp of its own, beside the kernel's threads. It waits for barriers, arrives at them, loads and stores
 * tensors, in serial loops and branches, with lets and vars; its arrive is one arrival.
 * WORK: the kernel's threads (a multiple of 128), with what any kernel has but return, grid_sync and threads.
 * Roles are the last statement of a kernel; in front of them stand declarations of tiles, fragments and barriers, and lets. They
 * run beside each other and see each other's effects through barriers alone: a role that arrives has done what it did before for
 * the one that waits. At one barrier one role arrives.
 * issuer_registers and worker_registers are those of a thread while the roles run, handed over from the issuers' warpgroup
 * (multiples of 8; both 0: as compiled). With 256 threads 40 and 232 share what a block has, with 384 32 and 160.
 * On a CPU and in the interpreter issuers go on where the work waits. Targets with register handover (sm_90a on); others refuse
 * roles when compiled: write a pipelined loop. */
typedef struct tilert_roles_options {
  uint32_t struct_size;
  uint32_t issuer_registers, worker_registers;
} tilert_roles_options;
typedef int32_t tilert_role;
enum { TILERT_ROLE_ISSUE = 1, TILERT_ROLE_WORK = 2 };
TILERT_API tilert_status tilert_builder_begin_roles(tilert_builder* builder, const tilert_roles_options* options) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_begin_role(tilert_builder* builder, tilert_role role) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_end_role(tilert_builder* builder) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_builder_end_roles(tilert_builder* builder) TILERT_NOEXCEPT;

/* Source text of one language in the middle of a kernel, with $0, $1, ... for its operands in order: first `places` (one
 * element of a tensor or a shared tile each, or a whole var), then `values`; $$ is a dollar. "cuda" and "hip": statements of C++, run by
 * every thread of the block, in which a place is an lvalue of its type (16-bit types as tl_f16 and tl_bf16) and a value an
 * expression; accesses to places are ordered with the operations around it, among its own threads the text orders them.
 * "llvm": instructions of LLVM 19, run once a block, in which a place is a ptr and a value a constant or register of its
 * type; names and labels that it defines must not meet others. No bounds are checked. The interpreter and other targets
 * refuse the program. Needs TILERT_ALLOW_SOURCE. */
typedef struct tilert_inline_source {
  uint32_t struct_size;
  uint32_t place_count;
  const char* language; /* "cuda", "hip" or "llvm" */
  const char* text;
  const tilert_region* places;
  const tilert_expr* values;
  uint32_t value_count;
  uint32_t reserved;
} tilert_inline_source;
TILERT_API tilert_status tilert_builder_inline_source(tilert_builder* builder,
                                                      const tilert_inline_source* source) TILERT_NOEXCEPT;

/* A device function: a function of one's own, in text, that statements of the program's kernels call. Declared once, between
 * kernels or inside one; the same declaration again gives the same function, another of the same name is an error. `texts` has
 * one text for each language of the targets that the program is compiled for: definitions alone, of `name` and of whatever it
 * needs. What a text defines is its own: two functions' texts do not meet, nor do they meet ours, and a module has each once.
 * "cuda" and "hip": C++ with __device__ functions, which sees the primitives and types of device/ (tl_f16, tl_bf16, ...) and names
 * no file. "llvm": definitions of functions, constants and types in LLVM IR, and declarations of intrinsics, without targets,
 * attribute groups and metadata; its signature must be the declared one. Compiling for a target without a text is
 * TILERT_UNSUPPORTED and names the function.
 *
 * By value: bool, integers of 8 bits and more, f16, bf16, f32 and f64, in C++ as bool, tl_i8 ... tl_u64 (int, long long),
 * tl_f16, tl_bf16, float and double, in LLVM IR as i1, i8 ... i64, half, bfloat, float and double. By pointer: the address of
 * an element of a tensor, of a shared tile, or of a var or local (not of f16, bf16 and narrower floats), of any dtype of whole
 * bytes; in C++ `const T*` or `T*`, in LLVM IR ptr.
 *
 * What it may do: it reads and writes memory through its pointers alone, in the buffers that they point into: in a tensor by
 * its strides, in a local array in order, in a shared tile (whose layout is the compiler's, unless annotated) the one element.
 * It keeps no state, gives the same value for the same operands and memory, and returns. It does not synchronize, vote or
 * shuffle: it may run in one thread, or alike in several. No bounds are checked beyond those of the operands. */
typedef int32_t tilert_passing;
enum {
  TILERT_BY_VALUE = 0,
  TILERT_BY_READ_POINTER = 1,
  TILERT_BY_WRITE_POINTER = 2, /* what was there is not read: an output will do, a var need not have a value */
  TILERT_BY_UPDATE_POINTER = 3
};
typedef struct tilert_function_parameter {
  tilert_dtype dtype;
  tilert_passing passing;
} tilert_function_parameter;
typedef struct tilert_source_text {
  const char *language, *text;
} tilert_source_text;
typedef struct tilert_device_function {
  uint32_t struct_size;
  tilert_dtype result; /* 0: it gives no value */
  const char* name;    /* an identifier that does not start with tl_; part of the key */
  const tilert_function_parameter* parameters;
  const tilert_source_text* texts;
  uint32_t parameter_count; /* at most 64 */
  uint32_t text_count;
} tilert_device_function;
TILERT_API tilert_function tilert_builder_device_function(tilert_builder* builder,
                                                          const tilert_device_function* function) TILERT_NOEXCEPT;

/* Calls it, at this place in the order of the block's statements: inside parallel and begin_threads once a point, elsewhere
 * once a block. `operands` has one for each parameter: a value of its dtype (literals adopt it, an index becomes an int64), or a
 * place, one element. `result`, where it is not NULL, gets what the function gives, known from here on as of a let. A place
 * outside its tensor (an edge) means no call, and the result 0. The interpreter refuses the program; it needs
 * TILERT_ALLOW_SOURCE. Errors: TILERT_INVALID_ARGUMENT for another number of operands than it takes, TILERT_INVALID_PROGRAM for
 * another dtype, an input that it writes, an output that it reads, an element of a fragment. */
typedef struct tilert_operand {
  tilert_expr value;          /* by value */
  const tilert_region* place; /* by pointer; else NULL */
} tilert_operand;
TILERT_API tilert_status tilert_builder_call_device(tilert_builder* builder, tilert_function function, const tilert_operand* operands,
                                                    uint32_t count, tilert_expr* result) TILERT_NOEXCEPT;

/* ---- Programs -------------------------------------------------------------------------------- */

/* A frozen program, immutable, read by any number of threads. */
TILERT_API void tilert_program_retain(tilert_program* program) TILERT_NOEXCEPT;
TILERT_API void tilert_program_release(tilert_program* program) TILERT_NOEXCEPT;

/* Reads program text (.tir), `size` bytes. `name` stands for the file in messages; NULL: "program". Holds no lock.
 * flags: TILERT_ALLOW_SOURCE lets a text hold inline source, device functions and source kernels, which are code; without it they are
 * TILERT_SOURCE_REFUSED. Other errors: TILERT_INVALID_PROGRAM with name and line, TILERT_UNSUPPORTED. Acts: none. */
enum { TILERT_ALLOW_SOURCE = 1 };
TILERT_API tilert_status tilert_program_parse(const char* text, size_t size, const char* name, uint32_t flags,
                                              tilert_program** program, tilert_error** error) TILERT_NOEXCEPT;

/* The program as text: tilert_program_parse gives an equal program back. `*text` belongs to the program, is
 * NUL-terminated,
 * `*size` long without the NUL. Made at the first call. Acts: none. */
TILERT_API tilert_status tilert_program_text(tilert_program* program, const char** text, size_t* size,
                                             tilert_error** error) TILERT_NOEXCEPT;

/* SHA-256 of the canonical text, in hex: equal for equal programs, whatever labels, locations and unused declarations
 * they have. `*hash` belongs to the program. Acts: none. */
TILERT_API tilert_status tilert_program_hash(tilert_program* program, const char** hash,
                                             tilert_error** error) TILERT_NOEXCEPT;

/* Whether it holds inline source or source kernels: 0 or 1. Acts: none. */
TILERT_API int tilert_program_has_source(const tilert_program* program) TILERT_NOEXCEPT;

/* Parameters and dims, in the order of declaration, which is the order of the arguments and dims of a launch. An index
 * out of range is TILERT_INVALID_ARGUMENT. The strings belong to the program. Acts: none. */
typedef struct tilert_parameter_info {
  uint32_t struct_size;
  uint32_t is_tensor;
  const char* name;
  tilert_dtype dtype;
  tilert_access access; /* tensors */
  uint32_t rank;        /* tensors */
  uint32_t alignment;   /* tensors: bytes */
  uint32_t is_pointer_table; /* a tensor parameter with TILERT_TENSOR_POINTER_TABLE */
  uint32_t reserved;
} tilert_parameter_info;
TILERT_API uint32_t tilert_program_parameter_count(const tilert_program* program) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_program_parameter(const tilert_program* program, uint32_t index,
                                                  tilert_parameter_info* info) TILERT_NOEXCEPT;
TILERT_API uint32_t tilert_program_dim_count(const tilert_program* program) TILERT_NOEXCEPT;
TILERT_API const char* tilert_program_dim_name(const tilert_program* program,
                                               uint32_t index) TILERT_NOEXCEPT; /* NULL: no such dim */

/* Runs the program on host memory with the reference interpreter: slow, exact, reports reads of what was never written.
 * For tests; needs neither device nor compiler. dims by index, or -1: from the shapes. Errors: as tilert_launch, and
 * TILERT_INVALID_PROGRAM for what only running shows. Acts: none. */
typedef struct tilert_argument tilert_argument;
TILERT_API tilert_status tilert_program_interpret(tilert_program* program, const tilert_argument* arguments,
                                                  uint32_t argument_count, const int64_t* dims, uint32_t dim_count,
                                                  tilert_error** error) TILERT_NOEXCEPT;

/* What print and assert left. `entry` and what it points to live during the callback only. What a block tells outside
 * parallel comes in the order in which it was made; points of parallel, elements of tiles and blocks come in any. */
typedef struct tilert_diagnostic {
  uint32_t struct_size;
  uint32_t ordinal; /* which print or assert of the program; 0: entries were lost, how many is values[0] */
  uint32_t block[3];
  uint32_t value_count;
  const uint64_t* values; /* bit patterns, low bits first; signed integers sign-extended */
  const char* message;    /* "gemm.cc:41 'scores': x = 3": place, label and text, from the live program */
  const tilert_dtype* dtypes; /* of the values */
  const char* file;           /* "" where the builder was told none */
  uint32_t line;
  uint32_t failed; /* 1: of an assertion, which did not hold */
} tilert_diagnostic;
typedef void (*tilert_on_diagnostic)(void* user, const tilert_diagnostic* entry);

/* The same, and what print and assert have to say: on_entry is called as tilert_diagnostics_read calls it, after the run, also
 * where that ended in an error. */
TILERT_API tilert_status tilert_program_interpret_diagnosed(tilert_program* program, const tilert_argument* arguments,
                                                            uint32_t argument_count, const int64_t* dims, uint32_t dim_count,
                                                            tilert_on_diagnostic on_entry, void* user,
                                                            tilert_error** error) TILERT_NOEXCEPT;

/* ---- Context: cache and compile pool --------------------------------------------------------- */

typedef int32_t tilert_cache_mode;
enum {
  TILERT_CACHE_DEFAULT = 0, /* disk, else memory where no directory will do; a fault is never an error, always a miss */
  TILERT_CACHE_MEMORY = 1,  /* this process only */
  TILERT_CACHE_OFF = 2,     /* compile each time */
  TILERT_CACHE_READ_ONLY = 3 /* never write; refused by this version */
};
typedef int32_t tilert_isolate;
/* Which compiles run in the helper, tilert_compile, a process of its own for each that ends with it: none; those of programs
 * that hold source text; all. What ends a compiler there (LLVM and hipRTC abort on an instruction that a target lacks) is a
 * TILERT_COMPILE with its last words; a compile_timeout kills it, and so does the end of the calling thread. It gets no memory
 * and no descriptors of the host, no environment but LD_LIBRARY_PATH, TMPDIR and the paths named here, and prints nothing; a
 * host that ignores SIGCHLD or waits for all its children does no harm. The bytes are the same; Linux 5.4 or newer. */
enum { TILERT_ISOLATE_NEVER = 0, TILERT_ISOLATE_UNTRUSTED = 1, TILERT_ISOLATE_ALWAYS = 2 };

/* What the library tells while it works. Strings live during the callback only. */
typedef int32_t tilert_event_kind;
enum {
  TILERT_EVENT_COMPILE_BEGIN = 1, /* also: about once a second while compiling, with `nanoseconds` so far */
  TILERT_EVENT_COMPILE_END = 2,
  TILERT_EVENT_CACHE_HIT = 3,
  TILERT_EVENT_CACHE_MISS = 4,  /* message: which field differs from the nearest entry, where known */
  TILERT_EVENT_CACHE_FAULT = 5, /* the store failed and was stepped around */
  TILERT_EVENT_NOTE = 6         /* told once: effective cache path, libraries chosen */
};
typedef struct tilert_event {
  uint32_t struct_size;
  tilert_event_kind kind;
  tilert_status status;
  uint32_t reserved;
  const char* program; /* name, or "" */
  const char* target;
  const char* key; /* request key in hex, or "" */
  const char* message;
  uint64_t nanoseconds;
} tilert_event;

/* The environment is read through secure_getenv when a context is created or first compiles, never on the launch path:
 * TILERT_CACHE_DIR (directory of the cache; else XDG_CACHE_HOME, else HOME), TILERT_NVRTC_PATH (the NVRTC to use;
 * else the loader's libnvrtc.so.13 and .12, then /usr/local/cuda*, then NVIDIA's Python packages) and TILERT_HIPRTC_PATH
 * (the hipRTC to use, with its comgr; else the loader's libhiprtc.so.7 down to libamdhip64.so.5, then /opt/rocm*),
 * and TILERT_HELPER_PATH where compiles are isolated. Nothing else of the environment has an effect, and none changes generated code or keys. */
typedef struct tilert_context_options {
  uint32_t struct_size;
  uint32_t flags; /* TILERT_ALLOW_SOURCE: programs may hold source text */
  tilert_cache_mode cache_mode;
  tilert_isolate isolate;      /* compile in the helper; TILERT_UNAVAILABLE at once where there is none */
  const char* cache_path;      /* directory; NULL: TILERT_CACHE_DIR, else the user's cache directory */
  const char* cache_namespace; /* a salt of the keys; NULL: none */
  const char* plugin_path;     /* absolute; NULL: libtilert_llvm.so beside this library, else in tilert-0 there */
  const char* nvrtc_path;      /* absolute, a file or a folder; NULL: TILERT_NVRTC_PATH, else searched */
  const char* helper_path;     /* absolute; NULL: TILERT_HELPER_PATH, else tilert_compile beside this library, in tilert-0 there, in ../bin */
  uint32_t compile_threads;    /* of background compiles, of which this version has none; 0: by CPUs and memory */
  uint32_t seal;               /* 1: begin sealed */
  uint64_t compile_timeout;    /* ns for one compile, TILERT_TIMEOUT afterwards; 0: none */
  void (*on_event)(void* user, const tilert_event* event); /* from any thread, no lock held; must not unwind */
  void* on_event_user;
  const char* hiprtc_path; /* absolute, a file or a folder with libhiprtc or libamdhip64; NULL: TILERT_HIPRTC_PATH, else searched */
} tilert_context_options;

/* A context: cache, compile pool, options. One per process is usual, several are legal. `options` may be NULL.
 * Opens no device, starts no driver. Acts: reads the environment once; disk only to find the cache's directory. */
TILERT_API tilert_status tilert_context_create(const tilert_context_options* options, tilert_context** context,
                                               tilert_error** error) TILERT_NOEXCEPT;
TILERT_API void tilert_context_retain(tilert_context* context) TILERT_NOEXCEPT;
TILERT_API void tilert_context_release(tilert_context* context)
    TILERT_NOEXCEPT; /* the last one writes what the cache still holds */

/* From now on a needed compile is TILERT_SEALED, naming the key: "no compiles after ready". Cannot be undone. Acts:
 * none. */
TILERT_API tilert_status tilert_context_seal(tilert_context* context) TILERT_NOEXCEPT;

/* Counters since creation, without a lock. Acts: none. */
typedef struct tilert_stats {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t memory_hits, disk_hits, misses, compiles, compile_failures, compile_nanoseconds;
  uint64_t puts, put_bytes, cache_faults, sealed_misses, loads;
} tilert_stats;
TILERT_API tilert_status tilert_context_stats(tilert_context* context, tilert_stats* stats) TILERT_NOEXCEPT;

/* Makes variants compiled in the background visible, on all ranks at the point the host chooses. This version compiles
 * in the foreground only and has nothing to commit: TILERT_UNSUPPORTED. Acts: none. */
TILERT_API tilert_status tilert_commit(tilert_context* context, tilert_error** error) TILERT_NOEXCEPT;

/* Bundles: request, configuration and binary pinned in one signed file. Both are refused by this version: ship the
 * cache directory and name it in cache_path instead. Acts: disk. */
TILERT_API tilert_status tilert_bundle_write(tilert_context* context, tilert_kernel* const* kernels, uint32_t count,
                                             const char* path, tilert_error** error) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_bundle_load(tilert_context* context, const char* path, uint32_t flags,
                                            tilert_error** error) TILERT_NOEXCEPT;

/* ---- Devices --------------------------------------------------------------------------------- */

typedef int32_t tilert_device_kind;
enum { TILERT_DEVICE_CPU = 1, TILERT_DEVICE_CUDA = 2, TILERT_DEVICE_HIP = 3 };
typedef int32_t tilert_binding;
enum {
  TILERT_BIND_PRIMARY =
      0, /* CUDA: the primary context of `ordinal` (retained until the device is released), or of `uuid`; HIP: the device `ordinal` */
  TILERT_BIND_CURRENT = 1, /* the calling thread's current context; HIP: its current device */
  TILERT_BIND_GIVEN = 2    /* CUDA: the CUcontext `native`; outlives the device */
};
/* The caller's threads, in place of our own pool. Runs body(arg, i) for each i of 0 .. count - 1, on any threads, the
 * calling one included, and returns when all are done. Must not unwind. */
typedef struct tilert_executor {
  void (*parallel_for)(void* user, uint32_t count, void (*body)(void* arg, uint32_t index), void* arg);
  void* user;
  uint32_t width; /* threads that may run at once; 0: unknown */
  uint32_t reserved;
} tilert_executor;
typedef struct tilert_device_options {
  uint32_t struct_size;
  tilert_device_kind kind;
  tilert_binding binding;
  int32_t ordinal;                 /* CUDA and HIP, primary: as the driver numbers them */
  const uint8_t* uuid;             /* CUDA, primary: 16 bytes, instead of the ordinal; NULL: the ordinal */
  void* native;                    /* CUDA, given: a CUcontext */
  const tilert_executor* executor; /* CPU; NULL: our pool. Copied; `user` outlives the device */
  uint32_t threads;                /* CPU: size of our pool; 0: by affinity and cgroup */
  uint32_t reserved;
  const char* driver_path; /* absolute; NULL: libcuda.so.1; HIP: libamdhip64.so.7, .6 or .5, there or in /opt/rocm/lib */
} tilert_device_options;

/* A device: one CUDA context, an AMD GPU, or this machine's CPU. Errors: TILERT_UNAVAILABLE naming what was looked for and where,
 * TILERT_DRIVER. Acts: loads the driver library; not capture-safe. */
TILERT_API tilert_status tilert_device_open(tilert_context* context, const tilert_device_options* options,
                                            tilert_device** device, tilert_error** error) TILERT_NOEXCEPT;
TILERT_API void tilert_device_retain(tilert_device* device) TILERT_NOEXCEPT;
TILERT_API void tilert_device_release(tilert_device* device) TILERT_NOEXCEPT; /* never unloads, never waits */

/* What the choices of the compiler may depend on: serializable, no clocks and no load. */
typedef struct tilert_device_class {
  uint32_t struct_size;
  uint32_t multiprocessors; /* of the context (green contexts and MIG count less); CPU: threads */
  uint64_t shared_bytes;    /* of a block; CPU: 0 */
  uint64_t l2_bytes;
} tilert_device_class;
typedef struct tilert_device_info {
  uint32_t struct_size;
  tilert_device_kind kind;
  const char* name;
  const char* target;      /* the target that kernels for it are made for: "sm_90a", "gfx942", "cpu:x86-64-v3", ... */
  uint32_t driver_version; /* CUDA: as the driver says it (12040); CPU: 0 */
  int32_t ordinal;
  tilert_device_class device_class;
} tilert_device_info;
TILERT_API tilert_status tilert_device_get_info(tilert_device* device,
                                                tilert_device_info* info) TILERT_NOEXCEPT; /* Acts: none */

/* Unloads what was released, on this device, and is not pinned by a capture. May wait for running kernels and
 * synchronize.
 * `*unloaded`, where not NULL, receives how many. Acts: not capture-safe. */
TILERT_API tilert_status tilert_trim(tilert_device* device, uint32_t* unloaded, tilert_error** error) TILERT_NOEXCEPT;

/* ---- Recommendations ------------------------------------------------------------------------- */

/* A matrix product, C[m, n] = A[m, k] B[k, n], of which a choice is asked. */
typedef struct tilert_product {
  uint32_t struct_size;
  uint32_t flags; /* TILERT_PRODUCT_* */
  int64_t m, n, k;          /* 0 to 2^40, matrices of at most 2^50 elements */
  tilert_dtype a, b, c;     /* elements of the operands and of the result */
  tilert_dtype accumulator; /* in which products are summed; 0: f32 of floats (f64 of f64), int32 of integers */
  int64_t lda, ldb, ldc;    /* from row to row as they are stored, in elements, a row's or more; 0: contiguous */
  uint64_t epilogue_bytes;  /* read beside A and B to make all of C: a residual, a bias; at most 2^60 */
  const char* target;       /* "sm_90a", ...; NULL: "sm_90a" */
  const tilert_device_class* device_class; /* NULL: the target's default */
} tilert_product;
enum {
  TILERT_PRODUCT_TRANS_A = 1, /* A is stored as [k, m] */
  TILERT_PRODUCT_TRANS_B = 2, /* B is stored as [n, k]: weights as engines keep them */
  TILERT_PRODUCT_TF32 = 4,    /* f32 operands enter as tf32 */
  TILERT_PRODUCT_FIXED_ORDER = 8 /* only candidates that give an element the same bits, whatever m is: one instruction's order of
                                  * sums, no split. Their kernels say TILERT_GRID_FIXED_ORDER */
};

typedef int32_t tilert_product_path;
enum {
  TILERT_PATH_WARPGROUP = 1, /* a producer of tensor copies and consumer warpgroups (TILERT_HINT_ROLES) */
  TILERT_PATH_WARP = 2,      /* instructions of one warp, or multiply-adds */
  TILERT_PATH_VECTOR = 3     /* few rows of A: each row of B is read once and reduced by a warp; no product of tiles */
};
/* What most of a predicted time goes to. */
typedef int32_t tilert_bound;
enum {
  TILERT_BOUND_TENSOR = 1,  /* the product's own instructions */
  TILERT_BOUND_SHARED = 2,  /* operands in shared memory: reading and filling it */
  TILERT_BOUND_FEED = 3,    /* what one multiprocessor takes in from beyond */
  TILERT_BOUND_L2 = 4,
  TILERT_BOUND_MEMORY = 5,  /* bytes of device memory */
  TILERT_BOUND_LATENCY = 6  /* starting, filling and draining */
};

/* One way to compute it: what a tile program of it says in its tiles, its hints and its loop. */
typedef struct tilert_product_choice {
  uint32_t struct_size;
  tilert_product_path path;
  uint32_t tile_m, tile_n, tile_k; /* rows and columns of C, and of K, that a block takes at once */
  uint32_t consumers;              /* warpgroups of products (TILERT_HINT_CONSUMERS); 0 without roles */
  uint32_t threads;                /* of a block, without the producer's (TILERT_HINT_THREADS) */
  uint32_t stages;                 /* of the pipelined loop */
  uint32_t cluster;                /* TILERT_HINT_CLUSTER; 1: none */
  uint32_t split_k;                /* TILERT_HINT_SPLIT_K; 1: none */
  uint32_t raster;                 /* columns of tiles that run together (TILERT_HINT_RASTER); 0: grid order */
  uint32_t flags;                  /* TILERT_CHOICE_* */
  tilert_bound bound;
  uint32_t shared_bytes; /* of a block */
  uint64_t predicted;    /* ns, of a launch whose operands are in device memory; at most 2^63 */
} tilert_product_choice;
enum {
  TILERT_CHOICE_SWAPPED = 1,   /* rows of B's side (weights) are the rows of the instruction: tiles hold C transposed */
  TILERT_CHOICE_PERSISTENT = 2 /* TILERT_GRID_PERSISTENT */
};

/* How to compute a product on a GPU, from its sizes and the device class, without trying. Writes the best of the candidates
 * that this version can compile, the fastest as predicted first, to `choices`: an array of `*count` elements, each as large
 * as the first one's struct_size says. `*count` receives how many were written; where `choices` is NULL, how many there are.
 * The same question has the same answer in each process and on each machine; another version may answer otherwise.
 * Predicted times are for comparing candidates of one product: clocks, power and other kernels move the real ones.
 * Errors: TILERT_INVALID_ARGUMENT; TILERT_UNSUPPORTED for CPUs, which no model is for. Acts: none. */
TILERT_API tilert_status tilert_recommend_product(const tilert_product* product, tilert_product_choice* choices,
                                                  uint32_t* count, tilert_error** error) TILERT_NOEXCEPT;

/* ---- Kernels and variants -------------------------------------------------------------------- */

/* A dim given a value (it becomes constant), or buckets, or left dynamic, when compiled. */
typedef struct tilert_dim_binding {
  const char* name;
  int64_t value; /* where bucket_count is 0 */
  const tilert_bucket* buckets;
  uint32_t bucket_count;
  uint32_t reserved;
} tilert_dim_binding;
typedef struct tilert_kernel_options {
  uint32_t struct_size;
  uint32_t dim_count;
  const tilert_dim_binding* dims;
  const char* target; /* "sm_80", "sm_90a", "gfx942", "cpu", "cpu:x86-64-v3", ...; NULL: of the device prepared for */
  const tilert_device_class* device_class; /* NULL: the target's default */
  uint32_t flags;                          /* TILERT_KERNEL_* */
  uint32_t reserved;
} tilert_kernel_options;
enum {
  TILERT_KERNEL_DEBUG = 1 /* elements and regions of tiles that may leave them are checked where they are used: outside is an
                             assertion that does not hold (tilert_diagnostics_read), stores are dropped, and what is read is
                             another element of the tile. What is proved costs nothing. Another key, other code */
};

/* The program for a target, with its table of variants (one, or one per combination of buckets). Resolves names and
 * binds dims; a NULL target is settled by the first tilert_prepare. `options` may be NULL. Holds program and context.
 * Errors: TILERT_INVALID_ARGUMENT (unknown dim), TILERT_UNSUPPORTED (a target that this version does not know: the
 * message lists those it does), TILERT_SOURCE_REFUSED. Acts: none. */
TILERT_API tilert_status tilert_kernel_create(tilert_context* context, tilert_program* program,
                                              const tilert_kernel_options* options, tilert_kernel** kernel,
                                              tilert_error** error) TILERT_NOEXCEPT;
TILERT_API void tilert_kernel_retain(tilert_kernel* kernel) TILERT_NOEXCEPT;
TILERT_API void tilert_kernel_release(tilert_kernel* kernel) TILERT_NOEXCEPT;

/* Compiles every variant, or fetches it from the cache, for the kernel's target; needs no device. Once per process and
 * key: concurrent calls share one compile. Errors: TILERT_COMPILE with source and log, TILERT_UNSUPPORTED,
 * TILERT_UNAVAILABLE, TILERT_SEALED, TILERT_INVALID_ARGUMENT without a target. Acts: compile, disk. Capture-safe: it
 * touches no driver. */
TILERT_API tilert_status tilert_kernel_compile(tilert_kernel* kernel, tilert_error** error) TILERT_NOEXCEPT;

/* The variants. They exist from creation on where the target is known; what only compiling knows is 0 or "" before.
 * tilert_kernel_variant returns one reference. Acts: none. */
TILERT_API uint32_t tilert_kernel_variant_count(tilert_kernel* kernel) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_kernel_variant(tilert_kernel* kernel, uint32_t index,
                                               tilert_variant** variant) TILERT_NOEXCEPT;
TILERT_API void tilert_variant_retain(tilert_variant* variant) TILERT_NOEXCEPT;
TILERT_API void tilert_variant_release(tilert_variant* variant) TILERT_NOEXCEPT;

/* What a variant is. The strings live as long as a handle of the variant or of its kernel. Acts: none. */
typedef struct tilert_variant_info {
  uint32_t struct_size;
  uint32_t compiled; /* 0 or 1 */
  const char* target;
  const char* request_key;      /* hex */
  const char* binary_key;       /* hex; "" where not compiled */
  const char* conditions;       /* which dims it takes: "M % 8 == 0, N = 4096" */
  const char* configuration;    /* the resolved configuration with each hint's outcome (taken, or why not), as JSON */
  const char* log;              /* the compiler's, also on success */
  uint64_t compile_nanoseconds; /* 0: fetched */
  uint64_t binary_bytes;
  uint32_t registers;    /* a thread; 0: unknown */
  uint32_t spill_bytes;  /* a thread */
  uint32_t threads;      /* a block */
  uint32_t shared_bytes; /* a block */
} tilert_variant_info;
TILERT_API tilert_status tilert_variant_get_info(tilert_variant* variant, tilert_variant_info* info) TILERT_NOEXCEPT;

/* The generated source text (stage "source", or NULL), the program with its dims bound ("specialized"), or, for GPUs, the
 * program after the pass of that name; the error about an unknown stage lists all. Programs are verified after each pass on
 * the way. Runs the passes again where the variant was fetched; compiles nothing. `*text` belongs to the variant. Acts:
 * none. */
TILERT_API tilert_status tilert_variant_text(tilert_variant* variant, const char* stage, const char** text,
                                             size_t* size, tilert_error** error) TILERT_NOEXCEPT;

/* How the variant was made: its resolved configuration with the program's own names and places; each hint's outcome, with
 * the reason where it was not taken; products, pipelines, roles, copies and their engines; who holds each element of a
 * fragment, where each element of a shared tile lies, and the map of shared memory; fragments that change hands, and the
 * bytes they move; what bounds the blocks of a multiprocessor (registers only where this process compiled it).
 * As text for people, or as JSON, whose keys may grow in number. Runs the passes again; compiles nothing. `*text`
 * belongs to the variant and lasts until the next call for the same format. Errors: those of generating code. Acts:
 * none. */
typedef int32_t tilert_explain_format;
enum { TILERT_EXPLAIN_TEXT = 0, TILERT_EXPLAIN_JSON = 1 };
TILERT_API tilert_status tilert_variant_explain(tilert_variant* variant, tilert_explain_format format, const char** text,
                                                size_t* size, tilert_error** error) TILERT_NOEXCEPT;

/* The binary (cubin, object) of a compiled variant; belongs to the variant. Errors: TILERT_NOT_READY. Acts: none. */
TILERT_API tilert_status tilert_variant_binary(tilert_variant* variant, const void** data, size_t* size,
                                               tilert_error** error) TILERT_NOEXCEPT;

/* ---- Preparing ------------------------------------------------------------------------------- */

typedef struct tilert_prepare_options {
  uint32_t struct_size;
  uint32_t flags;      /* none yet */
  const int64_t* dims; /* only the variants that take these, by index, -1: any; NULL: all variants */
  uint32_t dim_count;
  uint32_t reserved;
} tilert_prepare_options;

/* Compiles or fetches, loads on `device`, resolves functions and sets their attributes: afterwards a launch is one
 * driver call. `options` may be NULL. Again for the same kernel and device gives the same Loaded. Loads in relaxed
 * capture mode, so that a capture that is open anywhere survives. Errors: as tilert_kernel_compile, TILERT_DRIVER,
 * TILERT_UNAVAILABLE, TILERT_NOT_READY where the driver refuses a load because of a capture (nothing was loaded).
 * Acts: compile, load, disk; not capture-safe. */
TILERT_API tilert_status tilert_prepare(tilert_kernel* kernel, tilert_device* device,
                                        const tilert_prepare_options* options, tilert_loaded** loaded,
                                        tilert_error** error) TILERT_NOEXCEPT;
TILERT_API void tilert_loaded_retain(tilert_loaded* loaded) TILERT_NOEXCEPT;
TILERT_API void tilert_loaded_release(tilert_loaded* loaded) TILERT_NOEXCEPT; /* only marks: tilert_trim unloads */

/* The same as work in the background: submit, then poll, wait or cancel. This version refuses: call tilert_prepare on a
 * thread of your own; it may run beside everything else. Acts: none. */
TILERT_API tilert_status tilert_prepare_submit(tilert_kernel* kernel, tilert_device* device,
                                               const tilert_prepare_options* options, tilert_job** job,
                                               tilert_error** error) TILERT_NOEXCEPT;

/* poll: TILERT_OK when done, TILERT_NOT_READY while it runs, else why it failed. wait: the same after at most `timeout`
 * ns (UINT64_MAX: for ever), then TILERT_TIMEOUT. cancel: asks; the job ends as TILERT_CANCELLED or as it would have.
 * result: what a job that is done made. Acts: none. */
TILERT_API tilert_status tilert_job_poll(tilert_job* job) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_job_wait(tilert_job* job, uint64_t timeout) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_job_cancel(tilert_job* job) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_job_result(tilert_job* job, tilert_loaded** loaded,
                                           tilert_error** error) TILERT_NOEXCEPT;
TILERT_API void tilert_job_retain(tilert_job* job) TILERT_NOEXCEPT;
TILERT_API void tilert_job_release(tilert_job* job) TILERT_NOEXCEPT;

/* ---- Launching ------------------------------------------------------------------------------- */

typedef int32_t tilert_argument_kind;
enum { TILERT_ARGUMENT_TENSOR = 1, TILERT_ARGUMENT_SCALAR = 2, TILERT_ARGUMENT_POINTER_TABLE = 3 };
typedef int32_t tilert_memory;
enum { /* as DLPack numbers them */
  TILERT_MEMORY_UNKNOWN = 0,
  TILERT_MEMORY_CPU = 1,
  TILERT_MEMORY_CUDA = 2,
  TILERT_MEMORY_CUDA_HOST = 3,    /* pinned: for kernels of both */
  TILERT_MEMORY_ROCM = 10,
  TILERT_MEMORY_ROCM_HOST = 11,   /* pinned: for kernels of both */
  TILERT_MEMORY_CUDA_MANAGED = 13 /* for kernels on CUDA devices */
};

/* One argument, in the order of the program's parameters. */
struct tilert_argument {
  tilert_argument_kind kind;
  tilert_dtype dtype;
  /* tensor: the first element, a DLPack byte offset folded in. May be NULL where it has no elements. Pointer table: the first
   * pointer, aligned to 8 bytes. May be NULL where there are none. A tensor, from DLPack or not, is no pointer table */
  void* data;
  const int64_t* shape;   /* tensor: ndim sizes; NULL: as the dims say. Pointer table: their number, then the sizes of each tensor */
  const int64_t* strides; /* tensor: in elements, 0 or positive; NULL: row-major contiguous. Pointer table: the first is not read */
  int32_t ndim;
  tilert_memory device_type; /* where known, it is checked */
  int32_t device_id;
  uint32_t reserved;
  uint64_t bits; /* scalar: its bit pattern, in the low bytes */
};

typedef uint32_t tilert_attribute_id;
enum {
  TILERT_ATTRIBUTE_PDL = 1,        /* value 1: may overlap the previous grid, each kernel whose code waits for it (TILERT_HINT_PDL);
                                    * no effect on others, on cooperative launches and where a driver cannot */
  TILERT_ATTRIBUTE_PRIORITY = 2,   /* launch priority, as the driver numbers them */
  TILERT_ATTRIBUTE_COOPERATIVE = 3, /* value 1: all blocks resident at once */
  TILERT_ATTRIBUTE_MAX_BLOCKS = 4   /* persistent kernels loop on at most so many blocks, at least 1: leaves room to others */
};
typedef struct tilert_launch_attribute {
  tilert_attribute_id id;
  uint32_t reserved;
  int64_t value;
} tilert_launch_attribute;

/* Why a launch was refused: the caller's memory, filled without allocating. */
typedef struct tilert_launch_failure {
  uint32_t struct_size;
  tilert_status status;
  int32_t argument;    /* which, or -1 */
  int32_t dim;         /* which dim of the program or of the argument, or -1 */
  int32_t driver_code; /* TILERT_DRIVER: the driver's own */
  uint32_t reserved;
  char message[232]; /* NUL-terminated */
} tilert_launch_failure;

typedef struct tilert_launch_info {
  uint32_t struct_size;
  uint32_t flags; /* TILERT_LAUNCH_* */
  tilert_loaded* loaded;
  void* stream; /* CUstream, used as it is; NULL: legacy stream of the bound context. CPU: NULL */
  const tilert_argument* arguments;
  const int64_t* dims; /* by index of declaration; -1: from the tensors' shapes; NULL: all from the shapes */
  uint32_t argument_count;
  uint32_t dim_count;
  void* workspace; /* device memory, as tilert_workspace says; used by one launch in flight at a time */
  uint64_t workspace_bytes;
  const tilert_launch_attribute* attributes;
  uint32_t attribute_count;
  uint32_t reserved;
  void* record; /* keeps tensor maps between launches (below), or NULL */
  uint64_t record_bytes;
  tilert_launch_failure* failure; /* may be NULL */
} tilert_launch_info;
enum { TILERT_LAUNCH_DEBUG_POINTERS = 1 /* asks the driver about each pointer: slow, and not capture-safe */ };

/* A launch record: the caller's memory, zeroed once and aligned to 64 bytes, with TILERT_RECORD_ENTRY_BYTES for each tensor
 * map of the kernel. A launch finds in it the maps that the one before encoded, and encodes those anew whose tensor or
 * variant has changed. Maps beyond its size are encoded at each launch, about 50 to 100 ns each. One launch at a time uses
 * it; nothing in it refers to memory of the library, so it needs no end. */
enum { TILERT_RECORD_ENTRY_BYTES = 256 };

/* Launches the variant that takes these dims. Never compiles, loads, allocates, locks, logs, reads the environment or
 * synchronizes; legal during capture, which pins the Loaded for the life of its context. On the CPU it runs to
 * completion. A grid of no blocks is a successful no-op. Checked: argument count, kinds, dtypes, rank, null, dims
 * against each other, alignment, strides, device where given. Errors: TILERT_NOT_READY (no loaded variant takes these
 * dims: tilert_prepare), TILERT_SHAPE, TILERT_ALIGNMENT, TILERT_INVALID_ARGUMENT, TILERT_DRIVER. Acts: none
 * (capture-safe). */
TILERT_API tilert_status tilert_launch(const tilert_launch_info* info) TILERT_NOEXCEPT;

/* What that launch would hand to the driver, for a host that builds its own graph nodes; pins the Loaded as a captured
 * launch does. `kernel_index` picks the kernel of a program of several. Call with parameters NULL to learn sizes. Acts:
 * none. */
typedef struct tilert_launch_record {
  uint32_t struct_size;
  uint32_t kernel_index;
  void* function; /* CUfunction; CPU: NULL */
  uint32_t grid[3], block[3], cluster[3];
  uint32_t shared_bytes;
  uint32_t parameter_count;
  uint32_t kernel_count; /* of the program */
  uint32_t reserved;
  void* parameters; /* caller's buffer for the parameter bytes, at their offsets; aligned to 64 bytes; or NULL */
  uint64_t parameter_bytes;        /* in: its size; out: bytes needed */
  uint32_t* parameter_offsets;     /* caller's array, or NULL */
  uint32_t parameter_offset_count; /* in: its length */
  uint32_t reserved2;
} tilert_launch_record;
TILERT_API tilert_status tilert_launch_export(const tilert_launch_info* info,
                                              tilert_launch_record* record) TILERT_NOEXCEPT;

/* The caller's word that no captured graph remains that launches this Loaded. Acts: none. */
TILERT_API tilert_status tilert_unpin(tilert_loaded* loaded, tilert_error** error) TILERT_NOEXCEPT;

/* ---- Workspace, plans, diagnostics ----------------------------------------------------------- */

/* Device memory that a launch of this compiled variant needs with dims up to `max_dims` (by index): monotone in the
 * dims; take the greatest over the variants that may be picked. Used by one launch in flight at a time. The first
 * zero_bytes are set to zero once, by the caller, before the first launch; counters reset themselves. Acts: none. */
typedef struct tilert_workspace_info {
  uint32_t struct_size;
  uint32_t alignment;
  uint64_t bytes;
  uint64_t zero_bytes;
  uint64_t plan_offset; /* where tilert_plan's list goes */
  uint64_t plan_bytes;  /* its size for max_dims; 0: the program has no tile cost, or the target follows no list */
} tilert_workspace_info;
TILERT_API tilert_status tilert_workspace(tilert_variant* variant, const int64_t* max_dims, uint32_t dim_count,
                                          tilert_workspace_info* info, tilert_error** error) TILERT_NOEXCEPT;

/* A planned schedule of the persistent kernel that has a tile cost: which block does which tiles, groups of locality one after
 * the other, each tile, the costliest of a group first, to the block that is least loaded so far. A launch follows the plan that
 * stands in its workspace where that was made for as many tiles and blocks, else the closed form; the first zeroing leaves none.
 * tilert_plan: into the caller's host buffer; the caller copies it to plan_offset of the workspace on its stream. For a launch
 * with TILERT_ATTRIBUTE_MAX_BLOCKS max_blocks (0: without) whose tiles are not counted in memory. `*bytes`: the buffer's size, then those of the plan;
 * buffer NULL asks for them. 0 bytes: nothing follows a plan here. Errors: TILERT_NOT_READY, TILERT_INVALID_ARGUMENT. Acts: none.
 * tilert_plan_launch: by a kernel, into the workspace, for launches with the same info; on its stream, capture-safe, also where
 * tiles are counted in memory. It is one block, whose time grows with the square of the tiles. A successful no-op where nothing follows a plan. Errors, acts: as tilert_launch. */
TILERT_API tilert_status tilert_plan(tilert_loaded* loaded, const int64_t* dims, uint32_t dim_count, uint32_t max_blocks,
                                     void* buffer, uint64_t* bytes, tilert_error** error) TILERT_NOEXCEPT;
TILERT_API tilert_status tilert_plan_launch(const tilert_launch_info* info) TILERT_NOEXCEPT;

/* Reads the ring that the launches with this workspace wrote, from a host copy of its first bytes (tilert_workspace_info's
 * zero_bytes are enough), made after the caller's own synchronization; on a CPU the workspace itself will do. Calls on_entry for
 * each entry, on this thread, before it returns. It changes nothing: setting those bytes to zero again, while no launch runs, empties the ring.
 * No entries where the program has neither print nor assert. Errors: TILERT_INVALID_ARGUMENT (fewer bytes than the ring has, or
 * bytes that no kernel of this program left). Acts: none. */
TILERT_API tilert_status tilert_diagnostics_read(tilert_loaded* loaded, const void* workspace, uint64_t bytes,
                                                 tilert_on_diagnostic on_entry, void* user,
                                                 tilert_error** error) TILERT_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TILERT_H_ */
