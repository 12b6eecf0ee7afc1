// Statements: a closed variant of plain structs. Tile level first (what a program says), then the lowered kinds
// (what passes make of it: loops over registers and lanes, moves, calls of primitives). Immutable; shared structure.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/expr.h"
#include "ir/primitive.h"

namespace tilert::ir {

using BufferId = uint32_t;
inline constexpr BufferId kNoBuffer = ~0u;

struct Stmt;
using StmtPtr = std::shared_ptr<const Stmt>;
using Block = std::vector<StmtPtr>;

// A box of a buffer: offsets (index dtype) and constant extents, one each per dim of the buffer.
struct Region {
  BufferId buffer = kNoBuffer;
  std::vector<Expr> offsets;
  std::vector<int64_t> extents;
};

// An element of a buffer. Rank 0 for a var().
struct Access {
  BufferId buffer = kNoBuffer;
  std::vector<Expr> indices;
};

// ---- tile level ----

struct Alloc {  // declares a shared, fragment, var or local buffer; its elements are undefined from here on
  BufferId buffer;
};

enum class CopyPrefer : uint8_t { any, tma, async, sync };
enum class Eviction : uint8_t { normal, first, last };

// dst = src, casting. Both regions have the same extents once dims of extent 1 are dropped.
struct Copy {
  Region src, dst;
  Expr safe = nullptr;        // value of src elements out of bounds, in src's dtype; null: 0
  std::vector<Expr> valid;    // empty, or one run-time bound (exclusive) per dim of the global side; null entry: the dim's size
  CopyPrefer prefer = CopyPrefer::any;
  bool must = false;          // `prefer` and `multicast` or an error
  Eviction eviction = Eviction::normal;
  bool multicast = false;     // one block of a cluster brings it to all
};

struct Fill {
  Region dst;
  Expr value;  // of dst's dtype; the same for every element
};

enum class WarpSplit : uint8_t { automatic, rows, columns, square };

// c = a * b + (accumulate ? c : 0). a is [m, k] ([k, m] when trans_a), b is [k, n] ([n, k] when trans_b), c is [m, n];
// leading dims of extent 1 are dropped. Sparse: a is [m, k / 2], two elements of each four along k, and metadata says which
// (semantics.h); the others are 0.
struct Gemm {
  Region a, b, c;
  bool trans_a = false, trans_b = false;
  Expr accumulate;  // bool, uniform
  WarpSplit split = WarpSplit::automatic;
  bool tf32 = false;  // f32 operands are rounded to tf32
  bool issued = false;  // it is under way until AsyncOp says that its group is multiplied; a and b are shared tiles
  Region metadata{};  // kNoBuffer: a is dense

  bool sparse() const { return metadata.buffer != kNoBuffer; }
};

enum class ReduceOp : uint8_t { sum, prod, max, min, max_nan, min_nan, absmax, abssum, bit_and, bit_or, bit_xor };

// dst = op over dim of src (and dst, when accumulate). dst has src's rank less `dim`, or the same rank with extent 1.
struct Reduce {
  ReduceOp op;
  Region src, dst;
  int dim;
  bool accumulate = false;
};

// How two tuples make one: result[i] over left (what comes first) and right, which have the dtypes in which the
// components add up (reduce_accumulator of their destinations). Associative; identity[i] are constants that change nothing.
struct Combine {
  std::vector<VarId> left, right;
  std::vector<Expr> result, identity;
};

// Tuples along a dim, combined in order: dst[c] = all of src[c] (and dst[c], when accumulate). Regions as in Reduce.
struct Fold {
  std::vector<Region> src, dst;
  Combine combine;
  int dim;
  bool accumulate = false;
};

// The combinations of all beginnings: dst[c] at i = src[c] from 0 to i. Every region has the same extents.
struct Scan {
  std::vector<Region> src, dst;
  Combine combine;
  int dim;
  bool reverse = false;    // from i to the end
  bool exclusive = false;  // without i itself: the first is the identity
};

// dst = the place along dim of the first element that is the greatest (least); numbers win over NaN, 0 where all are NaN.
struct Pick {
  Region src, dst;
  int dim;
  bool least = false;
};

// dst = the first elements of src in order along dim, as many as dst has there; equal ones keep their order. -0 is
// less than +0; NaN comes after all numbers in both directions. index, where given: the places they had.
struct Sort {
  Region src, dst;
  Region index;  // kNoBuffer: none
  int dim;
  bool descending = false;
};

// dst's bytes = src's, row-major: two whole tiles of as many bytes. What passes make of views of fragments.
struct Reinterpret {
  Region src, dst;
};

// Element-wise: every point once, in no order.
struct Parallel {
  std::vector<VarId> vars;      // index dtype
  std::vector<int64_t> extents;
  Block body;                   // Let, Store, If, serial For, Alloc of var and local
  bool contract = true;         // multiply-adds may be fused, by our own pass only
  bool threads = false;         // the points are the block's threads: one extent, their fixed number; may hold ThreadOps
};

enum class ForKind : uint8_t { serial, unrolled, pipelined };

inline constexpr int64_t kMaxUnroll = 4096;  // trips of an unrolled loop

struct For {
  ForKind kind = ForKind::serial;
  VarId var;
  Expr begin, end;   // index dtype, uniform
  int64_t step = 1;  // not 0; a negative step counts down while var > end
  int stages = 0;    // pipelined: hint, 0 = recommended
  Block body;
  int copies = 0;    // lowered: of the body, one after the other, that the compiler of the text is asked for; 0: as it likes
};

struct If {
  Expr condition;  // bool; uniform outside Parallel
  Block then_body, else_body;
};

// var = value, or var = buffer[indices]; the read happens here. A global element out of range reads 0 (or `safe`).
struct Let {
  VarId var;
  Expr value = nullptr;   // null: a read
  Access read;
};

struct Store {  // a global element out of range is dropped
  Access to;
  Expr value;
};

enum class AtomicOp : uint8_t { add, max, min, bit_and, bit_or, bit_xor, exchange, cas, load, store };
enum class MemoryOrder : uint8_t { relaxed, acquire, release, acq_rel };
enum class MemoryScope : uint8_t { device, block, system };

// to = op(to, value) in one step that nothing comes between; old = what it was. A global element out of range is left
// alone, and old is 0. Outside Parallel it happens once a block, and every thread gets the same old.
struct Atomic {
  AtomicOp op;
  Access to;
  Expr value = nullptr;     // null: of load
  Expr expected = nullptr;  // of cas: the value is stored where the old one has these bits
  VarId old = kNoVar;       // a let variable; kNoVar: nobody asks
  MemoryOrder order = MemoryOrder::relaxed;
  MemoryScope scope = MemoryScope::device;
};

// What a thread of a Parallel over threads does with others, or beside the loop's order. Shuffles and votes are of all
// threads of a warp, sync is of all of the block or of the warps that come to it: these are collective.
enum class ThreadOpKind : uint8_t { shuffle, shuffle_up, shuffle_down, shuffle_xor, all, any, ballot, sync, fence, copy, commit, wait };
struct ThreadOp {
  ThreadOpKind kind;
  VarId var = kNoVar;       // what shuffles and votes give
  Expr value = nullptr;     // shuffled; voted on (bool)
  Expr lane = nullptr;      // index; of shuffles: the source, or how far it is
  int64_t number = 0;       // width of a shuffle; barrier of sync, 0: of the block; groups that wait leaves under way
  int64_t count = 0;        // threads that meet at a sync that is not of the block; elements of copy
  MemoryScope scope = MemoryScope::device;  // of fence
  Access dst{}, src{};      // copy: the first of `count` neighbours in a shared tile and in a tensor
};

// What a block asks of barriers in shared memory and of the engine that copies boxes of tensors. A barrier (an element of a
// buffer of Scope::barrier) counts phases: one completes when as many arrivals as the buffer says have come and all bytes
// that were announced for it; the next begins at once. One statement is one arrival, whoever executes it.
enum class AsyncOpKind : uint8_t {
  arrive,   // at `barrier`
  expect,   // the same, and announces `number` bytes for this phase
  wait,     // until the phase of `value`'s parity has completed; -1 is that of the phase before the first
  load,     // dst = src, of which bytes beyond the tensor are zeros; all of dst's bytes come to `barrier`'s phase
  store,    // dst = src; what lies beyond the tensor is dropped
  commit,   // the stores since the last one are a group
  written,  // until at most `number` of the newest groups are still being written
  read,     // until at most `number` of the newest groups are still being read from their tiles
  close,       // the issued products since the last one are a group
  multiplied,  // until at most `number` of the newest groups of products are under way
};
struct AsyncOp {
  AsyncOpKind kind;
  Access barrier{};      // arrive, expect, wait, load
  Expr value = nullptr;  // index; of wait
  int64_t number = 0;    // bytes of expect, groups of written, read and multiplied
  Region src{}, dst{};   // load, store
};

// Bodies that warps of their own run beside the kernel's threads: what stands last in a kernel, behind declarations and lets.
// Each issuer is one thread of a warp, which waits for barriers, arrives and copies tensors; the kernel's threads do the work.
// They see each other's effects through barriers alone.
inline constexpr size_t kMaxIssuers = 4;
struct Roles {
  std::vector<Block> issuers;
  Block work;
  int issuer_registers = 0, worker_registers = 0;  // of a thread, handed over between warpgroups; 0: as compiled
};

// A loop with its condition evaluated before each trip, after the statements of `head`, whose lets the body sees.
struct While {
  Block head;
  Expr condition;  // bool; uniform outside Parallel
  Block body;
};

// Leaves the innermost loop, ends its trip, or ends the block's work on the kernel. Uniform outside Parallel; inside it
// a point leaves its own loops only.
enum class JumpKind : uint8_t { leave, next, finish };
struct Jump {
  JumpKind kind;
};

// All blocks of the grid come here before any goes on, and see what the others did before. Not inside Parallel; under
// conditions that hold for all blocks alike.
struct GridSync {};

inline constexpr size_t kMaxReported = 6;

// An entry in the ring of diagnostics (report.h): which report, which block, the values. Of a print, or of an assertion that
// does not hold (a branch around it says when). Inside Parallel each point makes its own, outside a block makes one. No value
// of the program depends on it.
struct Report {
  bool failed = false;       // of an assertion
  std::string message;       // "{}" stands for a value, "{{" and "}}" for braces; not part of keys
  std::vector<Expr> values;  // at most kMaxReported, of the dtypes that report_takes names
  std::vector<Expr> block;   // index: its coordinates in the grid, x first
  uint32_t id = 0;           // as the ring has it; 0 in programs as they are built
  BufferId ring = kNoBuffer;  // the ring, a region of the workspace; none in programs as they are built
};

// Target source text with operands spliced in: $0, $1, ... name them. Code: refused unless the caller allows source.
struct Inline {
  std::string target;  // cuda | hip | llvm
  std::string text;
  std::vector<std::variant<Expr, Access>> operands;
};

// How a device function takes an operand: a value, or a pointer to an element that it reads, writes, or both.
enum class Passing : uint8_t { value, read, write, update };
struct DeviceOperand {
  Passing passing = Passing::value;  // as the function's declaration says
  Expr value = nullptr;              // of Passing::value
  Access at{};                       // of the others
};

// var = function(operands): the user's own code, run once a point inside Parallel, and outside it once a block as far as
// anyone can see. It touches memory through its pointers alone and keeps no state. Where a global element among the
// operands is out of range there is no call, and var is 0. Code: refused unless the caller allows source.
struct CallDevice {
  uint32_t function = 0;  // index into Program::functions
  VarId var = kNoVar;     // a let variable; kNoVar: nobody asks, or there is no result
  std::vector<DeviceOperand> operands;
};

// ---- lowered (per thread) ----

// Moves `count` consecutive elements between a register buffer and memory, as one access where it can be. Alignment of
// the memory side is proved by the pass that makes it.
struct Move {
  Access dst, src;
  int64_t count = 1;
};

struct CallArg {
  enum class Kind : uint8_t { value, address, registers, text } kind = Kind::value;
  Expr value = nullptr;   // value
  Access at;              // address of an element; first of `count` registers
  int64_t count = 0;
  std::string text;       // a template argument or literal, spelled as in the target language
};

struct Call {  // a primitive of device/*; effects follow from its row
  Primitive primitive;
  std::vector<CallArg> args;
};

// The lowered form of one tile operation, under its ordinal; `comment` says which.
struct Group {
  std::string comment;
  Block body;
};

struct Stmt {
  using Node = std::variant<Alloc, Copy, Fill, Gemm, Reduce, Fold, Scan, Pick, Sort, Reinterpret, Parallel, For, If, While, Jump, Let,
                            Store, Atomic, ThreadOp, AsyncOp, Roles, GridSync, Report, Inline, CallDevice, Move, Call, Group>;
  Node node;
  uint32_t ordinal = 0;    // of the tile operation it comes from; unique in the program
  uint32_t location = 0;   // index into Program::locations; 0 = unknown
};

template <class T>
StmtPtr make_stmt(T node, uint32_t ordinal = 0, uint32_t location = 0) {
  return std::make_shared<const Stmt>(Stmt{Stmt::Node(std::move(node)), ordinal, location});
}
template <class... Fs>
struct Overload : Fs... { using Fs::operator()...; };
template <class... Fs>
Overload(Fs...) -> Overload<Fs...>;

}  // namespace tilert::ir
