// Builder: turns calls into an ir::Program. Checks every id, type, shape and scope at the call; the first error sticks.
// Takes the structs of tilert.h whose sizes the skin (src/capi) has checked; everything in them may still be wrong.
// Not here: the C functions (src/capi/builder.cpp), the stage rules that need the whole program (src/ir's verifier).
#pragma once

#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "builder/ids.h"
#include "builder/ranges.h"
#include "builder/refusals.h"
#include "ir/program.h"

namespace tilert::builder {

inline std::string shape_text(const std::vector<int64_t>& extents) { return fmt::format("[{}]", fmt::join(extents, ", ")); }

class Builder {
 public:
  explicit Builder(const char* name);

  void at(const char* file, uint32_t line, const char* label);
  Code status() const { return error_ ? error_->code : Code::kOk; }
  // The frozen program, or the sticky error; the builder is spent afterwards.
  Result<std::shared_ptr<const ir::Program>> finish();
  // Makes an error of the skin (a wrong struct_size, no memory) the sticky one.
  void fail(std::string_view operation, Error error);

  // Declarations (declare.cpp)
  tilert_dim dim(const char* name, const tilert_dim_options& options);
  tilert_tensor tensor(const char* name, tilert_access access, tilert_dtype dtype, const tilert_expr* shape,
                       uint32_t rank, const tilert_tensor_options& options);
  tilert_scalar scalar(const char* name, tilert_dtype dtype);
  tilert_buffer buffer(tilert_scope scope, tilert_dtype dtype, const tilert_expr* shape, uint32_t rank,
                       const tilert_buffer_options& options);

  // Views (views.cpp)
  tilert_buffer view(tilert_buffer tile, tilert_dtype dtype, const tilert_expr* shape, uint32_t rank);
  tilert_tensor tensor_reshape(tilert_tensor tensor, const tilert_expr* shape, uint32_t rank);
  tilert_tensor tensor_transpose(tilert_tensor tensor, const uint32_t* order, uint32_t count);

  // Layouts of shared tiles (layouts.cpp)
  Code layout_indices(tilert_buffer tile, tilert_expr* indices);
  Code annotate_layout(tilert_buffer tile, tilert_layout layout, tilert_expr place, uint32_t flags);

  // Values (values.cpp)
  tilert_expr index(int64_t value);
  tilert_expr constant(tilert_dtype dtype, uint64_t bits);
  tilert_expr literal(tilert_dtype dtype, uint64_t bits);
  tilert_expr dim_value(tilert_dim dim);
  tilert_expr scalar_value(tilert_scalar scalar);
  tilert_expr op(tilert_op op, const tilert_expr* operands, uint32_t count);
  tilert_expr cast(tilert_dtype dtype, tilert_expr x, uint32_t flags);
  tilert_expr cast_stochastic(tilert_dtype dtype, tilert_expr x, tilert_expr random, uint32_t flags);  // rounding.cpp
  tilert_expr reinterpret(tilert_dtype dtype, tilert_expr x);
  tilert_expr fast(tilert_expr x);
  Code random(tilert_random form, tilert_expr seed, tilert_expr counter, tilert_expr stream, tilert_expr* values);  // random.cpp
  tilert_dtype dtype_of(tilert_expr x);
  // A number as a value of this builder, and a value of constants only as a number (literals.cpp).
  tilert_expr of_number(const tilert_number& number);
  Result<tilert_number> number_of(tilert_expr id) const;

  // Kernels (kernels.cpp). hints: already normalized copies.
  Code begin_kernel(const tilert_grid& grid, std::span<const tilert_hint> hints, tilert_expr* block);
  Code end_kernel();
  Code source_kernel(const tilert_source_kernel& kernel);

  // Control (control.cpp)
  Code begin_parallel(const tilert_expr* extents, uint32_t rank, tilert_expr* indices);
  Code end_parallel();
  Code begin_serial(tilert_loop kind, tilert_expr begin, tilert_expr end, tilert_expr step, tilert_expr* index);
  Code end_serial();
  Code begin_pipelined(tilert_expr extent, uint32_t stages, tilert_expr* index);
  Code end_pipelined();
  Code begin_while();
  Code begin_while_body(tilert_expr condition);
  Code end_while();
  Code jump(ir::JumpKind kind);
  Code grid_sync();
  Code tile_cost(tilert_expr cost, tilert_expr locality);  // kernels.cpp
  Code begin_if(tilert_expr condition);
  Code begin_else();
  Code end_if();

  // Loops over threads and what threads do together (threads.cpp)
  Code begin_threads(tilert_expr* thread);
  Code end_threads();
  tilert_expr thread_id();
  tilert_expr shuffle(tilert_shuffle kind, tilert_expr value, tilert_expr lane, uint32_t width);
  tilert_expr vote(tilert_vote kind, tilert_expr predicate);
  Code sync_threads(uint32_t barrier, uint32_t threads);
  Code fence(tilert_order_scope scope);
  Code copy_async(const tilert_region* source, const tilert_region* destination, uint32_t count);
  Code commit_copies();
  Code wait_copies(uint32_t pending);

  // Barriers and tensor copies (async.cpp); what an operation does not take is null
  tilert_buffer barriers(uint32_t count, uint32_t arrivals, const tilert_buffer_options& options);
  Code async_op(std::string_view name, ir::AsyncOpKind kind, const tilert_region* barrier, int64_t number, const tilert_expr* phase);
  Code begin_roles(const tilert_roles_options& options);
  Code begin_role(tilert_role role);
  Code end_role();
  Code end_roles();
  Code tensor_copy(const tilert_region* source, const tilert_region* destination, const tilert_region* barrier, bool loads);

  // Single elements and source text (memory.cpp); device functions (functions.cpp), `result` null: nobody asks
  tilert_expr let(tilert_expr value);
  tilert_expr load(const tilert_region* element);
  Code store(const tilert_region* element, tilert_expr value);
  Code inline_source(const tilert_inline_source& source);
  tilert_function device_function(const tilert_device_function& function);
  Code call_device(tilert_function function, const tilert_operand* operands, uint32_t count, tilert_expr* result);
  // Diagnostics (reports.cpp)
  Code print(const char* message, const tilert_expr* values, uint32_t count);
  Code print_tile(const char* name, const tilert_region* region);
  Code assert_true(tilert_expr condition, const char* message, const tilert_expr* values, uint32_t count);
  // `old` null: nobody asks (atomics.cpp)
  Code atomic(tilert_atomic_op op, const tilert_region* element, tilert_expr value, const tilert_atomic_options& options, tilert_expr* old);
  tilert_expr atomic_load(const tilert_region* element, const tilert_atomic_options& options);
  Code atomic_store(const tilert_region* element, tilert_expr value, const tilert_atomic_options& options);

  // Tile operations (tiles.cpp)
  Code copy(const tilert_region* source, const tilert_region* destination, const tilert_copy_options& options);
  Code fill(const tilert_region* destination, tilert_expr value);
  Code clear(const tilert_region* destination);
  Code gemm(const tilert_region* a, const tilert_region* b, const tilert_region* c, const tilert_gemm_options& options);
  Code reduce(tilert_reduce_op op, const tilert_region* source, const tilert_region* destination, uint32_t dim, const tilert_reduce_options& options);
  // Tile operations that are written as the element-wise loop that they mean (atomics.cpp, indexed.cpp)
  Code atomic_tile(tilert_atomic_op op, const tilert_region* destination, const tilert_region* source, const tilert_atomic_options& options);
  Code gather(const tilert_region* table, const tilert_region* indices, const tilert_region* destination, uint32_t dim);
  Code scatter(const tilert_region* source, const tilert_region* indices, const tilert_region* destination, uint32_t dim, const tilert_scatter_options& options);
  Code transpose(const tilert_region* source, const tilert_region* destination, const uint32_t* order, uint32_t rank);

  // Operations along a dim (folds.cpp). begin_combine opens a scope of values alone.
  Code scan(tilert_reduce_op op, const tilert_region* source, const tilert_region* destination, uint32_t dim, const tilert_scan_options& options);
  Code sort(const tilert_region* source, const tilert_region* destination, const tilert_region* index, uint32_t dim, const tilert_sort_options& options);
  Code begin_combine(const tilert_combine& what, tilert_expr* left, tilert_expr* right);
  Code end_combine(const tilert_expr* results, uint32_t count);

 private:
  // head, repeat: of a while, whose body stands inside the scope of its head.
  enum class ScopeKind : uint8_t { program, kernel, parallel, serial, pipelined, then, otherwise, combine, head, repeat, roles, issuer, worker };
  struct OpenScope {
    ScopeKind kind = ScopeKind::program;
    uint32_t serial = 0, location = 0, ordinal = 0;
    ir::Block body;
    std::vector<ir::VarId> vars;                                      // parallel, loops
    std::vector<int64_t> extents;                                     // parallel
    bool threads = false;                                             // parallel: over the block's threads
    ir::For loop{ir::ForKind::serial, ir::kNoVar, nullptr, nullptr};  // serial, pipelined: all but the body
    ir::Expr condition = nullptr;                                     // then, otherwise, repeat
    ir::Block then_body;                                              // otherwise
    ir::Scan tuple;                                                   // combine: all but the results
    bool folds = false, accumulates = false;                          // combine
    ir::Roles roles;                                                  // roles
    bool works = false;                                               // roles: the worker's body is given
  };
  // What lives until a scope ends: an index into scopes_ and that scope's serial number.
  struct Lifetime {
    uint32_t depth = 0;
    uint32_t serial = 0;  // that of the program's own scope is 0
  };
  struct Value {
    ir::Expr expr = nullptr;      // null: a literal
    DType literal = DType::none;  // int64 or f64
    uint64_t bits = 0;            // of the literal
    Lifetime life;
  };
  struct Storage {  // of one ir::Buffer, tensor parameters included
    Lifetime life;
    bool written = false;
  };
  static constexpr int64_t kMaxExtent = int64_t{1} << 31;
  // A region resolved as far as it says by itself.
  struct Place {
    ir::BufferId buffer = ir::kNoBuffer;
    std::vector<ir::Expr> offsets;
    std::vector<int64_t> extents;  // empty: to be inferred
    bool whole = false;
    bool symbolic = false;  // whole, with a dim that is not a constant
  };
  enum class Use : uint8_t { read, write, update };

  // Runs one call: refuses it after an error, adds operation and location to a new error, drops the label.
  template <class F>
  Code run(std::string_view operation, F&& f);
  template <class Id, class F>
  Id make(std::string_view operation, F&& f);
  std::string where(std::string_view operation) const;
  std::string opened_at(const OpenScope& scope) const;  // " opened at FILE:LINE", nothing where no place was given
  static const char* scope_name(const OpenScope& scope);
  void drop_label();
  uint32_t location();

  // Ids and values
  template <class Id>
  Result<uint32_t> find(Id id, size_t count, std::string_view what) const;
  Result<Value> value(tilert_expr id, std::string_view what) const;
  Result<tilert_expr> add_value(Value value);
  Result<tilert_expr> add_expr(ir::Expr expr) { return add_expr(expr, Lifetime{}); }
  Result<tilert_expr> add_expr(ir::Expr expr, Lifetime life);
  Result<tilert_expr> add_variable(ir::VarKind kind, DType dtype, std::string name, Range range, ir::VarId* var);
  Status check_alive(const Lifetime& life, std::string_view what, std::string_view name) const;
  static Lifetime shorter(const Lifetime& a, const Lifetime& b) { return a.depth >= b.depth ? a : b; }
  Result<ir::Expr> adopt(const Value& value, DType dtype, std::string_view what) const;
  Result<ir::Expr> typed(tilert_expr id, DType dtype, std::string_view what) const;
  Result<ir::Expr> index_value(tilert_expr id, std::string_view what) const;
  Result<int64_t> constant_index(tilert_expr id, std::string_view what) const;
  Status unify(std::vector<Value>& values, size_t first, std::string_view name) const;
  Result<ir::Expr> draw_operand(tilert_expr id, std::string_view what) const;
  Status do_random(tilert_random form, tilert_expr seed, tilert_expr counter, tilert_expr stream, tilert_expr* values);
  Result<Value> fold_literals(tilert_op op, const std::vector<Value>& values, std::string_view name);
  Result<Value> fold_integers(tilert_op op, int64_t a, int64_t b, std::string_view name) const;
  Result<Value> fold_floats(tilert_op op, const std::vector<Value>& values, std::string_view name);
  Result<tilert_expr> do_op(tilert_op op, const tilert_expr* operands, uint32_t count);
  Result<ir::Expr> apply(tilert_op op, const std::vector<ir::Expr>& operands);

  // Scopes and statements
  OpenScope& top() { return scopes_.back(); }
  const OpenScope* enclosing(ScopeKind kind) const;
  Status need_kernel() const, need_statements() const, need_tile_level() const;
  Status open(ScopeKind kind);
  Status close(ScopeKind kind, bool threads = false);
  Lifetime here() const;
  tilert_buffer allocate(ir::Buffer buffer);  // storage of the block, from here on
  void append(ir::Stmt::Node node);
  Status need_threads() const;
  Code thread_statement(std::string_view name, const ir::ThreadOp& op);
  bool under_if(uint32_t depth) const;
  bool in_loop() const;
  bool passed_jump(uint32_t depth) const;
  Status settle_doubt();
  void name_doubt(std::string_view operation);
  Status do_begin_loop(ScopeKind kind, ir::For loop, tilert_expr* index);

  // Names and declarations
  Result<std::string> new_name(const char* name, std::string_view what);
  Result<DType> storage_dtype(tilert_dtype dtype, std::string_view what) const;
  Status packed_strides(const ir::Buffer& buffer, std::string_view what) const;
  Status set_strides(const tilert_tensor_options& options, ir::Buffer& buffer, std::string_view what);
  Status covers_bytes(const ir::Region& region, std::string_view what) const;
  Result<tilert_tensor> do_tensor(const char* name, tilert_access access, tilert_dtype dtype, const tilert_expr* shape, uint32_t rank, const tilert_tensor_options& options);
  Result<tilert_buffer> do_buffer(tilert_scope scope, tilert_dtype dtype, const tilert_expr* shape, uint32_t rank, const tilert_buffer_options& options);
  Result<ir::BufferId> shared_tile(tilert_buffer tile) const;
  Status do_annotate_layout(tilert_buffer tile, tilert_layout layout, tilert_expr place, uint32_t flags);
  bool same_memory(ir::BufferId a, ir::BufferId b) const;
  Result<tilert_buffer> do_view(tilert_buffer tile, tilert_dtype dtype, const tilert_expr* shape, uint32_t rank);
  Result<std::vector<ir::Expr>> view_shape(const ir::Buffer& shown, DType dtype, const tilert_expr* shape, uint32_t rank) const;
  std::string extents_text(const std::vector<ir::Expr>& shape) const;
  tilert_tensor add_tensor_view(ir::Buffer view);
  Result<tilert_tensor> do_tensor_reshape(tilert_tensor tensor, const tilert_expr* shape, uint32_t rank);
  Result<tilert_tensor> do_tensor_transpose(tilert_tensor tensor, const uint32_t* order, uint32_t count);
  Status size_expr(ir::Expr expr, bool scalars, std::string_view what) const;
  Result<ir::Hints> hints_of(std::span<const tilert_hint> hints) const;
  Status do_begin_kernel(const tilert_grid& grid, std::span<const tilert_hint> hints, tilert_expr* block);
  Status do_source_kernel(const tilert_source_kernel& kernel);
  Result<std::vector<ir::Expr>> launch_exprs(const tilert_expr* exprs, uint32_t count, std::string_view what) const;

  // Regions (regions.cpp)
  Result<Place> place(const tilert_region* region, std::string_view what);
  Result<ir::BufferId> storage_of(const tilert_region& region, std::string_view what) const;
  Status offsets_of(const tilert_region& region, std::string_view what, Place& place) const;
  Result<ir::Region> region(const Place& place, std::string_view what) const;
  Result<ir::Region> whole_region(const tilert_region* region, std::string_view what);
  Result<ir::Region> matrix_region(const tilert_region* region, std::string_view what);
  Status infer(Place& place, const Place& other, std::string_view what) const;
  Status check_bounds(ir::BufferId buffer, const std::vector<ir::Expr>& offsets, const std::vector<int64_t>& extents, std::string_view what) const;
  Result<ir::Access> access(const tilert_region* element, std::string_view what);
  Status use(ir::BufferId buffer, Use use, std::string_view what);
  Status check_race(const ir::Access& to) const;
  std::string text_of(ir::BufferId buffer) const;
  std::string text_of(const ir::Region& region) const;
  bool is_tile(ir::BufferId buffer) const;

  Status check_whole(const Place& side, const Place& other, std::string_view what) const;
  Status repeat(const ir::Copy& copy, std::string_view what);
  Status do_copy(const tilert_region* source, const tilert_region* destination, const tilert_copy_options& options);
  Status copy_options(const tilert_copy_options& options, ir::Copy& copy) const;
  Status do_gemm(const tilert_region* a, const tilert_region* b, const tilert_region* c, const tilert_gemm_options& options);
  Status gemm_dtypes(const ir::Gemm& gemm) const;
  Status scaled_gemm(const ir::Gemm& gemm, const tilert_gemm_options& options, int64_t k);
  Status gemm_metadata(ir::Gemm& gemm, const tilert_region& metadata, int64_t rows, int64_t kept);
  Status do_reduce(tilert_reduce_op op, const tilert_region* source, const tilert_region* destination, uint32_t dim, const tilert_reduce_options& options);
  Status do_pick(const ir::Reduce& reduce, bool least, const tilert_reduce_options& options);
  Result<ir::Scan> scan_of(const tilert_region* source, const tilert_region* destination, uint32_t dim, uint32_t flags);
  Status do_scan(tilert_reduce_op op, const tilert_region* source, const tilert_region* destination, uint32_t dim, const tilert_scan_options& options);
  Status do_sort(const tilert_region* source, const tilert_region* destination, const tilert_region* index, uint32_t dim, const tilert_sort_options& options);
  Status do_begin_combine(const tilert_combine& what, tilert_expr* left, tilert_expr* right);
  Status do_end_combine(const tilert_expr* results, uint32_t count);
  Status do_inline_source(const tilert_inline_source& source);
  Result<ir::CallDevice> call_of(tilert_function function, const tilert_operand* operands, uint32_t count, bool asked);
  Result<ir::DeviceOperand> operand_of(const tilert_operand& given, ir::DeviceFunction::Parameter parameter, const std::string& what);
  Status two_sides(const tilert_region* source, const tilert_region* destination, ir::Region& from, ir::Region& to, std::string& what);

  // atomics.cpp
  Result<ir::Atomic> atomic_of(tilert_atomic_op op, const tilert_atomic_options& options, ir::Access to) const;
  Status check_atomic(const ir::Atomic& atomic) const;
  Status use_atomic(const ir::Atomic& atomic);
  Status do_atomic(tilert_atomic_op op, const tilert_region* element, tilert_expr value, const tilert_atomic_options& options, tilert_expr* old);
  Status do_atomic_tile(tilert_atomic_op op, const tilert_region* destination, const tilert_region* source, const tilert_atomic_options& options);
  Result<ir::AtomicOp> atomic_op(tilert_atomic_op op) const;

  Result<ir::Access> barrier_of(const tilert_region* barrier);  // async.cpp

  // reports.cpp
  ir::Expr reported(ir::Expr value) const;
  Result<ir::Expr> reported(tilert_expr id, std::string_view what) const;
  Result<ir::Report> report_of(std::string message, std::vector<ir::Expr> values) const;
  Result<ir::Report> report_of(const char* message, const tilert_expr* values, uint32_t count);
  Status do_print_tile(const char* name, const tilert_region* region);
  Status do_assert(tilert_expr condition, const char* message, const tilert_expr* values, uint32_t count);

  // indexed.cpp: an element-wise loop under construction
  struct PointLoop {
    ir::Parallel loop;
    std::vector<ir::Expr> points;  // the variables as values
  };
  PointLoop point_loop(const std::vector<int64_t>& extents);
  void put(ir::Block& body, ir::Stmt::Node node);
  ir::Expr read_point(ir::Block& body, ir::BufferId buffer, std::vector<ir::Expr> indices);
  void append_loop(PointLoop loop);
  Status integers(ir::BufferId buffer, std::string_view what) const;
  struct Indexed {  // a table's side and a plain side of gather and scatter
    ir::Region plain, indices;
    Place table;
  };
  Result<Indexed> indexed(const tilert_region* table, const tilert_region* indices, const tilert_region* plain, uint32_t dim, bool plain_is_written);
  Status do_gather(const tilert_region* table, const tilert_region* indices, const tilert_region* destination, uint32_t dim);
  Status do_scatter(const tilert_region* source, const tilert_region* indices, const tilert_region* destination, uint32_t dim, const tilert_scatter_options& options);
  Status do_transpose(const tilert_region* source, const tilert_region* destination, const uint32_t* order, uint32_t rank);

  uint32_t serial_;  // of this builder; ids carry it
  std::shared_ptr<ir::Program> program_;
  std::optional<Error> error_;
  // A region that leaves its tile in a trip that a jump may yet keep from running: an error once the loop is closed.
  mutable std::optional<Error> doubt_;
  bool doubt_named_ = false;
  std::vector<Value> values_;
  std::vector<Storage> storage_;  // parallel to program_->buffers
  std::vector<ir::BufferId> tensors_;
  std::vector<ir::VarId> scalars_;
  std::vector<ir::BufferId> buffers_;
  std::map<ir::BufferId, std::vector<ir::VarId>> layout_vars_;  // the indices asked for last
  std::vector<OpenScope> scopes_;
  std::unordered_set<std::string> names_;
  Ranges ranges_;
  ir::Kernel kernel_;  // the open one
  bool contract_ = true;
  bool fast_ = false;  // all of the open kernel, whatever its expressions were made for
  uint32_t next_scope_ = 1;
  uint32_t jumps_ = 0;  // in the open kernel
  uint32_t next_ordinal_ = 1;
  ir::Location here_;        // file and line of the caller, label of the next operation
  uint32_t here_index_ = 0;  // here_ in program_->locations; 0: not added yet
};

template <class F>
Code Builder::run(std::string_view operation, F&& f) {
  if (error_) return error_->code;
  Status status = f();
  if (!status) fail(operation, std::move(status).error());
  name_doubt(operation);
  drop_label();
  return this->status();
}

template <class Id, class F>
Id Builder::make(std::string_view operation, F&& f) {
  if (error_) return Id{};
  Result<Id> id = f();
  if (!id) fail(operation, std::move(id).error());
  name_doubt(operation);
  if constexpr (!std::is_same_v<Id, tilert_expr>) drop_label();  // a value is no operation
  return id ? *id : Id{};
}

// Looks an id up: `count` of its kind exist.
template <class Id>
Result<uint32_t> Builder::find(Id id, size_t count, std::string_view what) const {
  if (is_none(id))
    return make_error(Code::kInvalidArgument, "{} is none: an id that an earlier call returned is needed", what);
  if (id.serial != serial_)
    return make_error(Code::kInvalidArgument, "{} is an id of another builder (number {}, this one is {})", what, id.serial, serial_);
  if (kind_of(id) != IdTraits<Id>::kind)
    return make_error(Code::kInvalidArgument, "{} is the id of {}, not of {}", what, id_kind_name(kind_of(id)), id_kind_name(IdTraits<Id>::kind));
  if (index_of(id) >= count) return make_error(Code::kInvalidArgument, "{} is not an id that this builder made", what);
  return index_of(id);
}

}  // namespace tilert::builder
