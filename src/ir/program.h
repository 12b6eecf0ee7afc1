// Program: the tile program and, lowered in stages, everything made of it. Carries no device, shape values or pointers.
// A frozen program is read by any number of threads; a pass works on its own clone.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/hint.h"
#include "ir/stmt.h"
#include "support/result.h"

namespace tilert::ir {

enum class VarKind : uint8_t {
  dim,          // a size shared by tensors
  scalar,       // a scalar parameter
  block_index,  // which tile of the grid
  loop,         // of For and Parallel
  let,
  thread,       // thread index within the block (lowered code)
  blocks,       // how many blocks loop over a persistent kernel's tiles (lowered code)
};

struct Var {
  VarKind kind;
  DType dtype;
  std::string name;  // for reading only; not part of keys
};

// How a dim that is not given a value when compiled is divided among variants.
struct Bucket {
  enum class Kind : uint8_t { range, divisor } kind;
  int64_t low = 0, high = 0;  // range: low <= value <= high
  int64_t divisor = 1;
};

struct Dim {
  VarId var;
  std::optional<int64_t> value;  // given when compiled
  std::vector<Bucket> buckets;
  int64_t divisible = 1;         // the caller's promise, checked at launch
};

enum class Scope : uint8_t {
  global,
  shared,
  fragment,   // spread over the block's registers
  scalar,     // var(): one value per block, or private to an iteration inside Parallel
  local,      // local(): small array, as scalar
  barrier,    // barriers in shared memory that count phases, in a row
  registers,  // lowered: a per-thread array
};
enum class Direction : uint8_t { none, in, out, inout };

// A parameter that is a table of pointers: dim 0 counts them, the other dims are those of the tensor at each. Tensors of one
// table do not overlap unless they may alias; what is out of bounds of dim 0, and all of a null pointer, is out of bounds.
enum class Entries : uint8_t {
  none,       // a tensor
  counted,    // an index of dim 0 is the place in the table
  addressed,  // after the pass `tables`: it is the tensor's address
};

// Where the elements of a shared tile lie: a hint that changes no value.
enum class TileLayout : uint8_t { automatic, row_major, padded, swizzle_32, swizzle_64, swizzle_128, custom };
struct LayoutHint {
  TileLayout kind = TileLayout::automatic;
  bool must = false;         // not taken is an error
  std::vector<VarId> vars;   // custom: a loop variable for each dim,
  Expr place = nullptr;      // and the element's place made of them: counted in elements, each element has its own
};

struct Buffer {
  std::string name;
  DType dtype;
  Scope scope;
  std::vector<Expr> shape;    // index; constants except for global buffers
  std::vector<Expr> strides;  // global: in elements, one per dim; row-major contiguous where the program gave none
  bool contiguous = true;     // global: strides are the default ones
  Direction direction = Direction::none;  // global
  int32_t parameter = -1;     // global: index into Program::parameters (views of one tensor share it); -1: of the workspace
  int64_t alignment = 16;     // global: bytes promised, checked at launch
  bool may_alias = false;
  Entries entries = Entries::none;  // global; of a table dim 0 has stride 0
  bool zeroed = false;        // workspace: 0 before the first launch, and whatever a launch needs after each
  // shared, fragment: the tile that holds the elements, where this is another shape or element type of its bytes
  // (row-major, little-endian, all of them). Declared before this one, no view itself; its Alloc is this one's.
  BufferId view_of = kNoBuffer;
  LayoutHint layout{};  // shared, of the tile itself
  int64_t arrivals = 0;  // barrier: that complete a phase
  uint32_t location = 0;
  // lowered:
  int64_t stages = 1;         // ring depth of a staged shared buffer
  int64_t byte_offset = -1;   // shared: place in the block's arena
};

struct Parameter {
  enum class Kind : uint8_t { tensor, scalar } kind;
  std::string name;
  BufferId buffer = kNoBuffer;  // tensor
  VarId var = kNoVar;           // scalar
};

// A whole kernel in the user's own text, instead of a body. Its parameters are the program's, in their order (a tensor as a
// pointer, a scalar by value), then all dims in their order as int64.
struct SourceKernel {
  std::string language;  // cuda | llvm
  std::string text;
  std::string entry;     // symbol, or a name expression
  std::vector<std::pair<std::string, std::string>> headers;  // virtual headers: name, text
  std::vector<std::string> options;                          // of the compiler
  std::vector<Expr> block;       // threads: 3 expressions over dims, or none: 1, 1, 1
  std::vector<Expr> cluster;     // 3 of them, or none
  Expr shared_bytes = nullptr;   // dynamic; null: 0
};

// A function in the user's own text, which statements of the program's kernels call.
struct DeviceFunction {
  struct Parameter {
    DType dtype;
    Passing passing;
    bool operator==(const Parameter&) const = default;
  };
  std::string name;  // an identifier, unique in the program; what the texts define
  std::vector<Parameter> parameters;
  DType result = DType::none;  // none: it gives no value
  std::vector<std::pair<std::string, std::string>> texts;  // language (cuda | llvm), definitions; one of a language
  bool operator==(const DeviceFunction&) const = default;
};
// Its text in the language; null: none.
const std::string* text_in(const DeviceFunction& function, std::string_view language);
// What a device function takes and gives by value, and what its pointers may point to.
bool device_value_takes(DType dtype);
bool device_pointer_takes(DType dtype);
// Whether a program may hold it: its name, types and texts, as far as texts are looked into.
Status check_function(const DeviceFunction& function);
inline bool reads_through(Passing p) { return p == Passing::read || p == Passing::update; }
inline bool writes_through(Passing p) { return p == Passing::write || p == Passing::update; }

struct Kernel {
  std::string name;
  std::vector<VarId> block_vars;  // 1 to 3, x first
  std::vector<Expr> grid;         // one extent each, over dims and scalars
  Block body;
  Hints hints;
  // An element's sums are made in one order, whatever the dynamic dims, the variant and hints of class B are.
  bool fixed_order = false;
  // The grid's points are tiles, over which as many blocks loop as fit; only those whose number (x fastest) is below the
  // first element of tile_count, where there is one.
  bool persistent = false;
  BufferId tile_count = kNoBuffer;  // a tensor of int32 or int64
  // What a tile takes, in any unit, and the group of tiles that want to be near each other: of the block indices and dims.
  // A planned schedule goes by them; without one they mean nothing. Null: none.
  Expr cost = nullptr, locality = nullptr;
  int threads = 0;                  // lowered: of a block
  bool flat = false;                // lowered: elements of memory go by their offset alone, also where there is one dim
  VarId blocks = kNoVar;            // lowered, persistent: their number; the grid has one extent, and may be launched smaller
  int cluster = 1;                  // lowered: each point of the grid is a cluster of so many neighbouring blocks,
  VarId rank = kNoVar;              // which are told apart by this; kNoVar where it is 1
  bool planner = false;             // lowered: writes the schedule of the program's kernel that has a cost; launched when asked for
  std::shared_ptr<const SourceKernel> source;  // set: `body` and `block_vars` are empty
};

struct Location {
  std::string file;
  int line = 0;
  std::string label;
};

struct Program {
  std::string name;
  std::shared_ptr<Arena> arena = std::make_shared<Arena>();
  std::vector<Var> vars;
  std::vector<Dim> dims;
  std::vector<Buffer> buffers;
  std::vector<Parameter> parameters;
  std::vector<DeviceFunction> functions;
  std::vector<Kernel> kernels;
  std::vector<Location> locations{Location{}};  // [0] is unknown

  VarId add_var(VarKind kind, DType dtype, std::string name_);
  // Gives a global buffer without strides the row-major contiguous ones; rows of packed elements start on a byte.
  BufferId add_buffer(Buffer buffer);
  // A region of the launch's workspace, which passes make: every kernel that uses it gets its address. What is zeroed has
  // a constant size and is there in all variants of a program or in none, for they take turns in one workspace.
  BufferId add_workspace(std::string name_, DType dtype, std::vector<Expr> shape, bool zeroed);
  Expr var(VarId id) const { return arena->variable(id, vars[id].dtype); }
  const Buffer& buffer(BufferId id) const { return buffers[id]; }
};

inline bool is_workspace(const Buffer& buffer) { return buffer.scope == Scope::global && buffer.parameter < 0; }
inline bool is_table(const Buffer& buffer) { return buffer.entries != Entries::none; }
inline bool is_addressed(const Buffer& buffer) { return buffer.entries == Entries::addressed; }
// Whether two global buffers may be one memory: of one parameter, or both may alias. A table is no memory of its tensors.
inline bool may_share(const Buffer& a, const Buffer& b) {
  return (a.parameter == b.parameter && is_table(a) == is_table(b)) || (a.may_alias && b.may_alias);
}
// The tile whose bytes a buffer shows: itself unless it is a view.
inline BufferId storage_of(const Program& program, BufferId id) {
  const BufferId viewed = program.buffers[id].view_of;
  return viewed == kNoBuffer ? id : viewed;
}
// Views of the tile that are declared.
std::vector<BufferId> views_of(const Program& program, BufferId tile);
// Whether the buffer's elements are of less than a byte and share bytes: in tensors, and in a shared tile that has a view of
// another element type, or is that view. Elsewhere each has a byte of its own.
bool is_packed(const Program& program, BufferId id);
// Bytes of a tile's elements, of one stage.
int64_t tile_bytes(const Program& program, BufferId id);

// Whether the strides are those that add_buffer gives: row-major contiguous for a global buffer, none for any other.
bool has_default_strides(const Buffer& buffer);

// A deep copy with an arena of its own. Plain: the same ids. `canonical`: used dims first, in their order, other used
// variables and buffers numbered in order of first use, ordinals (from 1; 0 for Alloc) in order of appearance; what is
// unused, locations and all names but the kernels' are dropped. Equal programs have equal canonical copies, whatever was
// declared besides. Parameters all stay, in their order.
Program clone(const Program& program, bool canonical = false);

// "matmul.cc:41 'scores'", or "operation 7" when no location is known: how messages name a statement.
std::string describe(const Program& program, const Stmt& stmt);

// Whether some part of the program is source text: code, not data.
bool holds_source(const Program& program);
// Whether the call writes what others see: a tensor or a shared tile.
bool writes_memory(const Program& program, const CallDevice& call);

}  // namespace tilert::ir
