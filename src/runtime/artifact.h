// Artifact: everything that loading and launching one variant needs, and nothing of the IR.
// An immutable value with a flat serialization; what a cache row, a bundle or the compiler hands over.
// Not here: loading (loaded.h), launching (launch.h), the expressions' meaning (bytecode.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/bytecode.h"
#include "support/dtype.h"
#include "support/result.h"

namespace tilert::runtime {

inline constexpr uint32_t kArtifactVersion = 3;
inline constexpr uint32_t kMaxParams = 256;
inline constexpr uint32_t kMaxRank = 8;
inline constexpr uint32_t kMaxDims = 256;
inline constexpr uint32_t kMaxKernels = 64;
inline constexpr uint32_t kMaxKernelParams = 512;
inline constexpr uint32_t kMaxStrideSlots = 512;      // ranks of all tensors together
inline constexpr uint32_t kMaxParameterBytes = 4096;  // the driver's limit on sm_60 and later
inline constexpr uint32_t kMaxTensorMaps = 16;        // per kernel
inline constexpr uint32_t kTensorMapBytes = 128;

// Enum values below are part of the format; never reuse one.
enum class CodeKind : uint8_t { cubin = 1, ptx = 2, cpu_object = 3, code_object = 4 };
enum class Access : uint8_t { in = 1, out = 2, inout = 3 };

// What strides an argument may have, one rule per dim of a tensor.
enum class StrideRule : uint8_t {
  contiguous = 1,  // row-major: the product of the sizes after it
  given = 2,       // the value of `stride`
  free = 3,        // any; the kernel takes it at launch
};

struct TensorDim {
  Expr size;  // of dims only; names its dim by index also where this variant made it constant, so that shapes tell dims
  StrideRule rule = StrideRule::contiguous;
  Expr stride;  // given: elements, of dims only; else absent
};

enum class ParamKind : uint8_t { tensor = 1, scalar = 2, pointer_table = 3 };

// One parameter of the program, in its order. A pointer table is device memory with as many pointers as its first dim says; the
// other dims, dtype and alignment are those of the tensor at each.
struct Param {
  ParamKind kind = ParamKind::tensor;
  std::string name;
  DType dtype = DType::none;
  // Tensors and pointer tables:
  Access access = Access::in;
  std::vector<TensorDim> dims;
  uint32_t alignment = 16;  // bytes, a power of two, that this variant was compiled for
  bool may_alias = false;
};

enum class DimKind : uint8_t { constant = 1, dynamic = 2, range = 3, divisible = 4 };

// A dim of the program and which values this variant takes.
struct Dim {
  DimKind kind = DimKind::dynamic;
  std::string name;
  int64_t first = 0;  // constant: the value; range: the least; divisible: the divisor
  int64_t last = 0;   // range: the greatest
};

enum class SlotKind : uint8_t {
  pointer = 1,     // the pointer of parameter `index`, 8 bytes
  scalar = 2,      // the bits of scalar parameter `index`, `bytes` wide
  expression = 3,  // `expr`, `bytes` wide (4 or 8)
  tensor_map = 4,  // tensor_maps[index], 128 bytes
  blocks = 6,      // how many blocks of kernel `index` a launch has, `bytes` wide
  workspace = 5,   // the launch's workspace pointer, advanced by `expr` bytes where present
};

// One parameter of a kernel, in the order of its declaration.
struct Slot {
  SlotKind kind = SlotKind::pointer;
  uint8_t bytes = 8;
  uint16_t index = 0;
  Expr expr;
};

enum class Swizzle : uint8_t { none = 0, b32 = 1, b64 = 2, b128 = 3 };  // the driver's numbers
enum class L2Promotion : uint8_t { none = 0, b64 = 1, b128 = 2, b256 = 3 };

// How to encode one TMA descriptor (tiled, no interleave, zero fill). Dims innermost first. A tensor without elements
// gets a descriptor that must not be read through: the kernel issues no copy from it.
struct TensorMapRecipe {
  uint16_t param = 0;  // the tensor whose pointer it starts at
  Expr offset;         // elements added to the pointer; may be absent
  DType dtype = DType::none;
  uint8_t rank = 0;  // 1 to 5
  Expr dims[5];      // elements
  Expr strides[5];   // bytes; [0] is unused, [i] is the distance along dim i
  uint32_t box[5] = {};
  uint32_t element_strides[5] = {1, 1, 1, 1, 1};
  Swizzle swizzle = Swizzle::none;
  L2Promotion l2 = L2Promotion::none;
};

// Driver features that a kernel cannot do without.
inline constexpr uint32_t kNeedsLaunchEx = 1u << 0;   // clusters
inline constexpr uint32_t kNeedsTensorMap = 1u << 1;  // cuTensorMapEncodeTiled

inline constexpr uint32_t kKernelPdl = 1u << 0;          // the code waits for the grid before it: PDL may be set
// Grid barrier: all blocks must be resident. On the CPU the last slot is a region of the workspace that starts with a word
// for each block: where it goes on in the next round, 0 at first, -1 at its end.
inline constexpr uint32_t kKernelCooperative = 1u << 1;

inline constexpr uint32_t kKernelPersistent = 1u << 2;  // blocks loop over tiles: grid[0] is the most, as many as fit do

inline constexpr uint32_t kKernelPlanner = 1u << 3;     // writes a list of tiles into the workspace; no part of a launch
inline constexpr uint64_t kScheduleHeaderBytes = 256;   // before the list, the last of what is zeroed: blocks, tiles

struct Kernel {
  std::string entry;
  Expr grid[3];
  uint32_t threads[3] = {1, 1, 1};
  uint32_t cluster[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;  // dynamic shared memory; on the CPU the scratch bytes of one worker
  // On GPUs, where a number follows from dims and scalars; absent: the one above.
  Expr thread_exprs[3], cluster_exprs[3], shared_expr;
  uint32_t features = 0;      // kNeeds*
  uint32_t attributes = 0;    // kKernel*
  std::vector<Slot> slots;
  std::vector<TensorMapRecipe> tensor_maps;
  // Persistent, may follow a planned list: what a tile costs and the group it belongs to, over dims and, behind them, the
  // tile's indices below `tiles` (absent: one). No cost: no list.
  Expr tile_cost, tile_locality, tiles[3];
  Expr work;  // CPU: estimated nanoseconds of the whole launch on one core; may be absent
};

struct Workspace {
  Expr bytes;       // absent: none
  Expr zero_bytes;  // of these, how many from the start to zero once before the first launch; absent: none
  uint32_t alignment = 256;
};

struct Provenance {
  std::string library_build;
  uint32_t generator_version = 0;
  std::string compiler;  // identity and version
};

struct Artifact {
  CodeKind kind = CodeKind::cubin;
  std::string target;  // as targets are written: sm_90a, x86-64-v3, ...
  std::vector<uint8_t> code;
  std::vector<Param> params;
  std::vector<Dim> dims;
  std::vector<Kernel> kernels;  // launched in order
  Expr guard;                   // further condition on dims, strides and alignments; absent: always true
  Workspace workspace;
  Expr diagnostics_bytes;  // ring for print and assert at the start of the workspace; absent: none
  std::vector<Instruction> bytecode;
  std::string configuration;  // resolved configuration, JSON text
  Provenance provenance;
};

using ArtifactPtr = std::shared_ptr<const Artifact>;

// Checks everything that a launch relies on: indexes, ranks, limits, and every expression.
Status verify(const Artifact& artifact);

// SHA-256 in hex over names, kinds, dtypes, ranks and order of parameters and dims: variants of one kernel share it.
std::string signature_hash(const Artifact& artifact);

// Little-endian bytes that end with their SHA-256. The same artifact always gives the same bytes.
Result<std::vector<uint8_t>> serialize(const Artifact& artifact);

// The artifact of those bytes, verified; anything else is CORRUPT. A foreign format version is CORRUPT too, and says
// so.
Result<ArtifactPtr> deserialize(std::span<const uint8_t> bytes);

}  // namespace tilert::runtime
