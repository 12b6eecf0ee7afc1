// The machine that the interpreter runs; only interp_*.cpp and interpreter.cpp include it. A program is compiled once
// to operations with flat tapes for its expressions, so that no element costs a lookup.
#pragma once

#include <deque>
#include <unordered_map>

#include "ir/evaluate.h"
#include "ir/interpreter.h"
#include "ir/semantics.h"

namespace tilert::ir::interp {

inline constexpr size_t kMaxRank = 8;

// An expression, operands before users.
struct Tape {
  enum class Kind : uint8_t { constant, variable, operation };
  struct Step {
    Kind kind;
    uint64_t value;  // constant
    ScalarFunction function;
    uint32_t a, b, c;  // earlier steps; a: the variable
  };
  std::vector<Step> steps;
};

struct Memory {
  BufferId id = kNoBuffer;
  DType dtype = DType::none;
  int bytes = 0;  // of an element
  bool global = false;
  bool packed = false;                  // elements of less than a byte, side by side
  Entries entries = Entries::none;
  const uint64_t* table = nullptr;      // counted: the addresses; `data` is the tensor that the last access was in
  bool per_lane = false;                // var, local, registers: each thread has its own
  bool staged = false;                  // an index for the stage may come first
  std::vector<int64_t> shape, strides;  // strides in elements
  int64_t elements = 0;                 // of one lane
  uint8_t* data = nullptr;
  uint8_t* written = nullptr;  // a byte per byte; null: all is
  int64_t lane_bytes = 0;      // distance between lanes' copies
  std::vector<uint8_t> own_data, own_written;
  Memory* storage = nullptr;                    // the tile that holds the elements: this one, or the one that it is a view of
  bool viewed = false;                          // has views, or is one: points are kept for each byte
  std::vector<uint32_t> last_write, last_read;  // which point of a Parallel did; of the storage
};

struct Place {  // an Access or a Region, compiled
  Memory* memory = nullptr;
  std::vector<const Tape*> at;
  bool flat = false;             // `at` is an offset in elements into a buffer of another rank, the tensor's address before it where it is addressed (lowered code)
  std::vector<int64_t> extents;  // region
  int64_t size = 1;
};

struct Operation;
using Operations = std::vector<Operation>;

struct CompiledArgument {
  CallArg::Kind kind;
  Place place;
  const Tape* value = nullptr;
  int64_t count = 0;
};

struct Operation {
  const Stmt* stmt = nullptr;
  Place p[4];
  const Tape* e[2] = {};
  std::vector<const Tape*> bounds;
  std::vector<CompiledArgument> arguments;
  Operations first, second;
};

using Lanes = std::vector<uint32_t>;

class Machine {
 public:
  Machine(const Program& program, const HostArguments& arguments, const InterpretOptions& options)
      : p_(program), arguments_(arguments), options_(options) {}
  Status run();

 private:
  // interpreter.cpp: arguments, memory, the grid, control flow
  bool bind_arguments();
  bool bind_dim(const Dim& d, int64_t value);
  bool make_workspace(Memory& m, const Buffer& buffer);
  bool allocate_tiles();
  bool share_storage(Memory& m);
  bool run_kernel(const Kernel& kernel, const Operations& code);
  void enter_block(const Kernel& kernel, const int64_t block[3]);
  bool count_tiles(const Kernel& kernel, int64_t& tiles);
  int threads_of(const Kernel& kernel) const;
  Lanes lanes_of(const Kernel& kernel);
  static bool meets(const Kernel& kernel);
  void reset(Memory& m);
  bool execute(const Operations& code, const Lanes& lanes);
  bool execute(const Operation& op, const Lanes& lanes);
  bool step(const Operation& op, const Alloc&, const Lanes&);
  bool step(const Operation& op, const Parallel&, const Lanes&);
  bool step(const Operation& op, const For&, const Lanes&);
  bool step(const Operation& op, const If&, const Lanes&);
  bool step(const Operation& op, const Let&, const Lanes&);
  bool step(const Operation& op, const Store&, const Lanes&);
  bool step(const Operation& op, const Inline&, const Lanes&);
  bool step(const Operation& op, const CallDevice&, const Lanes&);
  bool step(const Operation& op, const ThreadOp&, const Lanes&);
  bool step(const Operation& op, const AsyncOp&, const Lanes&);
  bool step(const Operation&, const Roles&, const Lanes&) { return false; }  // compile refuses them

  // interp_grid.cpp: blocks that meet
  class Meeting;
  bool run_together(const Kernel& kernel, const int64_t grid[3]);
  void run_rounds(Meeting& meeting, std::deque<Machine>& machines);
  bool be_block(Machine& of_grid, const Kernel& kernel, const int64_t block[3], Operations& code);
  bool meet();
  bool step(const Operation&, const GridSync&, const Lanes&) { return meet(); }

  // interp_atomic.cpp
  bool step(const Operation& op, const Atomic&, const Lanes&);
  bool step(const Operation& op, const Report&, const Lanes&);
  bool step(const Operation& op, const While&, const Lanes&);
  bool step(const Operation& op, const Jump&, const Lanes&);
  bool atomic(const Operation& op, const Atomic& n, ScalarFunction function, uint32_t lane);
  Lanes staying(const Lanes& lanes) const;
  bool end_trip(Lanes& lanes);
  bool step(const Operation& op, const Group&, const Lanes&);
  bool loop_lockstep(const Operation& op, const For& n, const Lanes& lanes);

  // interp_compile.cpp
  bool compile(const Kernel& kernel, Operations& out);
  bool compile(const Block& block, Operations& out);
  bool compile(const Stmt& stmt, Operation& op);
  bool compile_order(const Region& src, const Region& dst, const Region& index, int dim, int64_t kept, Operation& op);
  bool along(const Region& src, int dim, const Place& from, const Place& to, int64_t kept);
  bool compile_tuple(const std::vector<Region>& src, const std::vector<Region>& dst, const Combine& combine, int dim, bool folds,
                     Operation& op);
  bool compile_call(const ir::Call& n, Operation& op);
  bool compile_wait(const AsyncOp& n, Operation& op);
  bool compile_values(const std::vector<Expr>& values, Operation& op);
  bool place(const Region& r, Place& out);
  bool place(const Access& a, Place& out);
  const Tape* tape(Expr e);

  // interp_memory.cpp: elements
  uint64_t eval(const Tape* t, uint32_t lane);
  int64_t eval_index(const Tape* t, uint32_t lane) { return static_cast<int64_t>(eval(t, lane)); }
  bool bind_global(BufferId id);
  bool bind_table(Memory& m, const HostArgument& argument, int64_t reach);
  static bool enter(Memory& m, int64_t entry);
  int64_t offset(Memory& m, const int64_t* at, size_t rank) const;  // in elements; -1: out of bounds
  bool read(Memory& m, const int64_t* at, size_t rank, uint32_t lane, uint64_t& value, uint64_t safe = 0);
  bool write(Memory& m, const int64_t* at, size_t rank, uint32_t lane, uint64_t value);
  bool read_at(Memory& m, int64_t element, uint32_t lane, uint64_t& value);
  bool write_at(Memory& m, int64_t element, uint32_t lane, uint64_t value);
  bool check_race(Memory& m, int64_t element, bool writes);
  bool read(const Place& p, uint32_t lane, uint64_t& value);
  bool write(const Place& p, uint32_t lane, uint64_t value);
  int64_t element_of(const Place& p, uint32_t lane, int64_t* at);  // -1: out of bounds
  bool outside(const Memory& m, const int64_t* at, size_t rank);
  // The first element's offset of an access into a tile; `count` elements from it are inside.
  bool span(const Place& p, uint32_t lane, int64_t count, int64_t& element);
  // Reads all of a region in row-major order; elements at or beyond `bounds` give `safe`.
  bool read_region(const Place& p, uint32_t lane, const std::vector<const Tape*>& bounds, uint64_t safe,
                   std::vector<uint64_t>& values);
  bool write_region(const Place& p, uint32_t lane, const std::vector<const Tape*>& bounds,
                    const std::vector<uint64_t>& values);
  // False, with an error, where that many more elements are more than allowed.
  bool goes_over(int64_t elements);
  template <class F>
  bool walk(const Place& p, uint32_t lane, const std::vector<const Tape*>& bounds, F f);

  // interp_tile.cpp
  bool step(const Operation& op, const Copy&, const Lanes&);
  bool step(const Operation& op, const Fill&, const Lanes&);
  bool step(const Operation& op, const Gemm&, const Lanes&);
  bool step(const Operation& op, const Reduce&, const Lanes&);
  bool step(const Operation& op, const Reinterpret&, const Lanes&);
  bool convert(DType from, DType to, std::vector<uint64_t>& values);

  // interp_fold.cpp: operations along a dim
  using Columns = std::vector<std::vector<uint64_t>>;  // [component][element]
  bool step(const Operation& op, const Fold&, const Lanes&);
  bool step(const Operation& op, const Scan&, const Lanes&);
  bool step(const Operation& op, const Pick&, const Lanes&);
  bool step(const Operation& op, const Sort&, const Lanes&);
  bool read_tuple(const Operation& op, size_t first, const Combine& combine, uint32_t lane, Columns& values);
  bool write_tuple(const Operation& op, const Combine& combine, uint32_t lane, Columns& values);
  void combine_into(const Operation& op, const Combine& combine, uint32_t lane, std::vector<uint64_t>& left,
                    const std::vector<uint64_t>& right);

  // interp_lowered.cpp
  bool step(const Operation& op, const Move&, const Lanes&);
  bool step(const Operation& op, const ir::Call&, const Lanes&);
  bool call_cp_async(const Operation& op, const ir::Call& call, size_t first, const Lanes& lanes);
  bool call_move(const Operation& op, size_t dst, size_t src, const Lanes& lanes);
  bool call_ldmatrix(const Operation& op, int matrices, bool transposed, const Lanes& lanes);
  bool call_stmatrix(const Operation& op, int matrices, const Lanes& lanes);
  bool call_pack(const Operation& op, const Lanes& lanes);
  bool call_store_packed(const Operation& op, const Lanes& lanes);
  bool call_cast_pack(const Operation& op, const ir::Call& call, const Lanes& lanes);
  bool call_mma(const Operation& op, DType input, int k, const Lanes& lanes);
  bool call_mma_f64(const Operation& op, const Lanes& lanes);
  bool call_red(const Operation& op, const Lanes& lanes);
  bool call_shuffle(const Operation& op, bool by_xor, const Lanes& lanes);
  bool call_vote(const Operation& op, const Lanes& lanes);
  bool call_redux(const Operation& op, Op by, const Lanes& lanes);
  bool get_bytes(const Place& p, uint32_t lane, int64_t count, uint8_t* out);
  bool put_bytes(const Place& p, uint32_t lane, int64_t count, const uint8_t* in);
  bool whole_warps(const Lanes& lanes);

  bool fail(std::string message, Code code = Code::kInvalidProgram);
  bool refuse(std::string what, std::string_view instead);
  std::string buffer_name(const Memory& m) const;

  const Program& p_;
  const HostArguments& arguments_;
  const InterpretOptions& options_;
  std::vector<Memory> memory_;
  std::vector<uint8_t> arena_, arena_written_;  // shared buffers that have a place
  std::unordered_map<Expr, const Tape*> tapes_;
  std::deque<Tape> tape_store_;
  std::vector<uint64_t> scratch_;
  bool flat_ = false;  // of the kernel at hand
  uint32_t lanes_ = 1;
  std::vector<uint64_t> vars_;  // [var * lanes_ + lane]
  std::vector<VarId> thread_vars_;
  bool in_parallel_ = false;  // one lane runs; it writes every lane's copies
  uint32_t point_ = 0, first_point_ = 0;
  std::vector<std::optional<JumpKind>> jump_;  // by lane: what it is on its way to
  size_t jumping_ = 0;                          // lanes that are
  int64_t statements_ = 0, elements_ = 0;
  Meeting* meeting_ = nullptr;  // of the grid's blocks, of which this machine runs number `number_`
  size_t number_ = 0;
  const Stmt* current_ = nullptr;
  std::optional<Error> error_;
};

}  // namespace tilert::ir::interp
