// lower: tile operations become loops over registers and lanes.
// before: tile operations on fragments and shared tiles, with the layouts of KernelPlan. after: one Group an operation, of
//         statements of one thread: register arrays, flat shared and global accesses, primitives. No barriers yet.
// Lowering is split by operation: lower_parallel.cpp (element-wise, copy, fill), lower_copy.cpp (asynchronous copies),
// lower_gemm.cpp, lower_reduce.cpp; Lower holds what they share.
#pragma once

#include <functional>
#include <set>

#include "arith/build.h"
#include "arith/simplify.h"
#include "passes/module.h"

namespace tilert::passes {

Result<Module> lower(Module module, const PassContext& context);

// Whether a loop's body holds an atomic operation that orders what stands around it.
bool is_ordered(const ir::Block& body);

// A point of a loop over threads is the thread of its number.
FragmentMap threads_map(int64_t threads, int64_t warp_size);
// Barriers of some of a block's warps: refused where a wave of the target would come to one in part.
Status check_barriers(const ir::Program& program, const ir::Kernel& kernel, const Target& target);
void place_threads(const ir::Kernel& kernel, KernelPlan& plan, int64_t warp_size);

// Arguments of primitives.
ir::CallArg value_arg(ir::Expr e);
ir::CallArg address_arg(ir::Access at);
ir::CallArg registers_arg(ir::BufferId buffer, ir::Expr first, int64_t count);
ir::CallArg text_arg(std::string text);

class Lower {
 public:
  Lower(Module& module, KernelPlan& plan, const PassContext& context);

  Status kernel(ir::Kernel& kernel);

  // --- shared by the operations ---
  ir::Program& program() { return module_.program; }
  ir::Arena& arena() { return *module_.program.arena; }
  KernelPlan& plan() { return plan_; }
  const PassContext& context() const { return context_; }
  bool keeps_order() const { return plan_.fixed_order; }
  ir::Expr index(int64_t v) { return arena().index(v); }
  ir::Expr simplify(ir::Expr e);
  bool proves(ir::Expr condition);

  // Statements go to the innermost open block.
  void emit(ir::StmtPtr stmt) { blocks_.back().push_back(std::move(stmt)); }
  template <class T>
  void emit(T node) { emit(ir::make_stmt(std::move(node), ordinal_, location_)); }
  ir::Block collect(const std::function<void()>& f);
  void group(const std::string& comment, const std::function<void()>& f);
  void unrolled(int64_t extent, const std::function<void(ir::Expr)>& f);
  void serial(int64_t extent, const std::function<void(ir::Expr)>& f);
  void when(ir::Expr condition, const std::function<void()>& f);  // null or true: plainly
  ir::Expr let(ir::Expr value, const char* name);                 // trivial values stay themselves
  ir::Expr let_preamble(ir::Expr value, const char* name);        // once, at the top of the kernel
  ir::Expr read(ir::Access access, const char* name);
  void store(ir::Access access, ir::Expr value) { emit(ir::Store{std::move(access), value}); }

  // New buffers of one thread, and of the block (flat, in elements; freed when its last use is past).
  ir::BufferId registers(DType dtype, int64_t count, const char* name);
  ir::BufferId scalar(DType dtype, const char* name);
  ir::BufferId scratch(DType dtype, int64_t elements, const char* name);

  // The thread and its parts.
  ir::Expr thread();
  ir::Expr terms_value(const std::vector<ThreadTerm>& terms);  // sum of pieces of the thread index
  // Coordinate of dim d of the element in register `reg` (flat) of this thread.
  ir::Expr coordinate(const FragmentMap& map, int d, ir::Expr reg);
  ir::Expr engine_place(ir::Expr at);  // a coordinate as the tensor copy engine takes it
  ir::Expr thread_part(const FragmentMap& map, int d);
  ir::Expr register_part(const FragmentMap& map, int d, ir::Expr reg);
  // Records what is known of a variable: that it is the value; a loop's range.
  void define(ir::VarId var, ir::Expr value);
  // Records that a fragment changes hands through shared memory, for the operation at hand.
  void note_conversion(ir::BufferId fragment, bool written, std::string reason);
  void bound_loop(const ir::For& loop);  // in the current scope of facts
  // True on exactly one of the threads that hold copies of the same element; null when there is only one.
  ir::Expr is_first_replica(const FragmentMap& map);

  // Lowered places. Registers of a fragment; flat element of a shared tile (swizzled) or a global tensor.
  ir::BufferId fragment_registers(ir::BufferId fragment);
  const FragmentMap& fragment_map(ir::BufferId fragment) const { return plan_.fragments.at(fragment); }
  ir::Access shared_access(ir::BufferId tile, const std::vector<ir::Expr>& coordinates);
  std::pair<ir::Expr, ir::Expr> parts_of_period(ir::Expr bytes, int64_t period);
  ir::Access packed_access(ir::BufferId tile, const std::vector<ir::Expr>& coordinates, bool staged);
  ir::Access global_access(ir::BufferId tensor, const std::vector<ir::Expr>& indices);
  // Null when the indices are proved to be inside the tensor (and below `valid`, where given).
  // `below` says how an index is compared with its end, where not plainly.
  using Comparison = std::function<ir::Expr(ir::Expr index, ir::Expr end)>;
  ir::Expr inside(ir::BufferId tensor, const std::vector<ir::Expr>& indices, const std::vector<ir::Expr>& valid, const Comparison& below = {});

  // A global, shared, scalar or local element as a flat access.
  ir::Access memory_access(ir::BufferId buffer, const std::vector<ir::Expr>& indices);
  // The same element of a row-major copy of `shape_of` in the flat buffer `flat`.
  ir::Access flat_access(ir::BufferId flat, ir::BufferId shape_of, const std::vector<ir::Expr>& indices);
  int64_t shared_vector_width(ir::BufferId tile) const;  // elements along the innermost dim
  bool same_memory(ir::BufferId a, ir::BufferId b) const;  // or may be
  ir::Access further(ir::Access at, int64_t elements);       // an offset that many on
  void move(ir::Access dst, ir::Access src, int64_t count);  // in accesses of at most 16 bytes
  // The same between registers and global memory, as accesses with a priority in caches.
  void move_hinted(const ir::Access& dst, const ir::Access& src, int64_t count, ir::Eviction eviction);
  void call(ir::Primitive primitive, std::vector<ir::CallArg> args) { emit(ir::Call{primitive, std::move(args)}); }
  // A fragment to a row-major flat buffer and back.
  void spill(ir::BufferId fragment, ir::BufferId flat);
  void reload(ir::BufferId fragment, ir::BufferId flat);
  void block_barrier();
  arith::Facts& facts() { return module_.facts; }
  std::string comment(const char* what) const;

  void declare_shared(ir::BufferId tile);  // the flat buffer of a tile, with its ring
  // A tile of swizzled rows of `span` bytes, for copies out by the tensor copy engine.
  ir::BufferId operand_tile(DType dtype, const std::vector<int64_t>& shape);  // of a matrix, rows together, that lanes read in pieces of 16 bytes
  ir::BufferId staging_tile(DType dtype, const std::vector<int64_t>& shape, int64_t span);

  // --- operations ---
  Status statement(const ir::StmtPtr& s);
  // What is emitted from here on is of the statement.
  void enter(const ir::Stmt& s) { ordinal_ = s.ordinal, location_ = s.location; }
  Status parallel(const ir::Stmt& stmt, const ir::Parallel& loop);
  FragmentMap loop_map(const ir::Parallel& loop);  // which thread runs which point, where no layout says so
  Status copy(const ir::Stmt& stmt, const ir::Copy& copy);
  Status async_copy(const ir::Stmt& stmt, const ir::Copy& copy);
  Status fill(const ir::Stmt& stmt, const ir::Fill& fill);
  // Into tensors whose elements share bytes (lower_packed.cpp).
  Status packed_copy(const ir::Copy& copy);
  Status packed_fill(const ir::Fill& fill, ir::Expr value);
  Status gemm(const ir::Stmt& stmt, const ir::Gemm& gemm);
  Status reduce(const ir::Stmt& stmt, const ir::Reduce& reduce);
  Status reinterpret(const ir::Reinterpret& reinterpret);
  void reinterpret_registers(ir::BufferId src, ir::BufferId dst);
  ir::BufferId completed(ir::BufferId parts);  // of an unfinished sum
  // Combines each of `count` registers with those of the lanes that the masks lead to, one mask after the other.
  void combine_lanes(ir::BufferId values, int64_t count, DType dtype, ir::Op op, const std::vector<int64_t>& lane_xor);
  // A fragment, converted to `map` (itself where it has that map already); through shared memory where threads differ.
  Result<ir::BufferId> converted(ir::BufferId fragment, const FragmentMap& map);
  // A fragment whose elements are in `registers` already.
  ir::BufferId adopt_fragment(DType dtype, const FragmentMap& map, ir::BufferId registers);
  void clear_registers(ir::BufferId fragment);
  // The elements [rows, columns] that `at` gives the places of in `source`, cast, as a new fragment; zeros where the map reaches beyond.
  Result<ir::BufferId> operand_fragment(ir::BufferId source, const std::function<std::vector<ir::Expr>(ir::Expr, ir::Expr)>& at, DType dtype,
                                        const FragmentMap& map, int64_t rows, int64_t columns);
  ir::BufferId new_fragment(DType dtype, const FragmentMap& map, const char* name);

 private:
  Status block(const ir::Block& in);
  Status statements(const ir::Block& in);
  bool runs_ahead(uint32_t ordinal) const;
  Status kernel_with_roles(const ir::Kernel& kernel);
  Status uniform_let(const ir::Let& let);
  Status uniform_store(const ir::Store& store);
  Status uniform_atomic(const ir::Atomic& atomic);
  Status grid_sync();
  Status uniform_report(const ir::Report& report);
  Status while_loop(const ir::While& loop);
  Status async_op(const ir::Stmt& stmt, const ir::AsyncOp& op);  // lower_async.cpp
  void declare_barriers(ir::BufferId barriers);
  ir::CallArg barrier_arg(const ir::Access& barrier);
  void arrive(const ir::AsyncOp& op);
  void tensor_copy(const ir::Stmt& stmt, const ir::AsyncOp& op);
  Status issue(const ir::Stmt& stmt, const ir::Gemm& gemm);
  void finish_stores(const ir::Block& body);
  Status roles(const ir::Roles& roles);
  void by_first(const std::function<void()>& f);  // an issuer itself, of others the first thread
  Status inline_source(const ir::Inline& source);
  Status uniform_call(const ir::CallDevice& call);

  Module& module_;
  KernelPlan& plan_;
  const PassContext& context_;
  std::vector<ir::Block> blocks_;
  ir::Block preamble_;
  std::map<ir::Expr, ir::Expr> preamble_lets_;
  std::map<ir::BufferId, ir::BufferId> lowered_;  // fragments to registers, tiles to flat shared buffers
  std::set<ir::VarId> unbounded_;   // tensor_box.h
  bool issuing_ = false;            // one thread is here
  std::vector<ir::BufferId> sums_;  // of issued products, that open blocks declare
  uint32_t ordinal_ = 0, location_ = 0;
};

}  // namespace tilert::passes
