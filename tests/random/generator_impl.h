// The generator's class; only generator.cpp and generate_*.cpp include it. Each maker appends to the current block and
// says whether it could.
#pragma once

#include <functional>

#include "random/dice.h"
#include "random/generator.h"
#include "random/scene.h"

namespace tilert::random {

class Generator {
 public:
  Generator(uint64_t seed, const GeneratorOptions& options) : dice_(seed), options_(options) { case_.seed = seed; }
  Case make();

 private:
  // generator.cpp: declarations and kernels
  void declare_sizes();
  TensorDim size_dim(const char* name);
  size_t tensor(char letter, DType dtype, ir::Direction direction, std::vector<TensorDim> dims, bool plain = false, bool table = false);
  void alias(size_t of);
  std::vector<TensorDim> dims_of_blocks(const std::vector<int64_t>& shape);
  void declare_tensors();
  void declare_input();
  void declare_output();
  void begin_kernel();
  void end_kernel();
  ir::Hints hints();
  void publish(size_t tile);
  void spend(int64_t operations) { work_ += operations * trips_ * blocks_; }

  // generate_product.cpp: kernels around one pipelined product, of the shape that gets roles; elementary functions
  void declare_product_sizes();
  void product_kernel(int count);
  struct Factor {
    size_t tensor, tile, sum;  // places; `sum` of all but the first
    int grid;
    Expr entry;  // of a table, where it is the same in all trips
  };
  TensorDim depth_dim(int64_t depth);
  Factor factor(DType dtype, int grid, const TensorDim& k, int64_t depth);
  bool product_loop();
  void product_body(const std::vector<Factor>& factors, Expr step, int64_t depth, bool clears, std::optional<size_t> own);
  Expr trip_condition(Expr step);
  void product_copies(const std::vector<Factor>& factors, Expr step, int64_t depth);
  void products(const std::vector<Factor>& factors, Expr step, bool clears, std::optional<size_t> own);
  void store_sum(size_t sum);
  void elementary(size_t tile);
  Expr elementary_of(Expr x);

  // generate_control.cpp: statements, loops, branches
  void statements(int count);
  bool statement();
  bool serial();
  bool pipelined();
  bool branch();
  bool use_of(size_t tile, bool reads_only = false);
  std::optional<size_t> ring_tile();
  Expr trip_count(int64_t limit, int64_t& most);
  void nested(ir::Block& into, int64_t trips, const std::function<void()>& body);
  bool scalar_let();
  bool scalar_store();
  void in_loop(const std::function<void()>& body);
  bool while_loop();
  bool jump();
  bool leaves();

  // generate_threads.cpp: loops over threads
  struct Arrival {
    size_t from, tile;
    int64_t count;
  };
  bool threads();
  void exchange();
  std::optional<Arrival> arrival(int64_t threads);
  void issue(const Arrival& a, Expr thread);

  // generate_grid.cpp: of the grid
  void persist(ir::Kernel& kernel);
  bool meet();
  void change_homes();
  bool report();

  // generate_along.cpp: operations along a dim
  bool along();
  bool scan(const Place& from);
  bool fold(const Place& from);
  bool pick(const Place& from);
  bool sort(const Place& from);
  size_t destination(DType dtype, const std::vector<int64_t>& shape, int64_t bound, const std::vector<BufferId>& not_these);
  std::pair<VarId, VarId> sides(DType dtype);
  std::vector<int64_t> without(const Place& from, size_t dim);

  // generate_atomic.cpp: atomic operations whose results depend on no order
  bool atomic();
  bool contended_tensor();
  bool contended_tile();
  bool own_elements();
  bool once_a_block();
  ir::Atomic change(const Place& place, bool together);
  void points_of(ir::Parallel& loop, const std::function<void()>& body);

  // generate_table.cpp: tables of pointers
  TensorDim count_dim();
  bool becomes_table(std::vector<TensorDim>& dims, int percent);
  Expr entry(const Place& table);
  void strides_with_gaps(ir::Buffer& b, const std::vector<TensorDim>& dims);

  // generate_tile.cpp: storage and tile operations
  size_t declare(DType dtype, Scope scope, std::vector<int64_t> shape, bool accumulator = false);
  size_t fresh(DType dtype, Scope scope, std::vector<int64_t> shape);
  size_t fresh();
  void initialize(size_t tile);
  bool view();
  bool fill(size_t tile);
  bool copy();
  bool copy(size_t from, size_t to, bool plain = false);
  bool load_tile(size_t tile, bool plain = false);
  bool copies(const Place& from, const Place& to) const;
  void copy_hints(ir::Copy& node);
  bool gemm(std::optional<size_t> operand = {});
  bool reduce(std::optional<size_t> source = {});
  ir::Region region(const Place& place, const std::vector<int64_t>& extents, bool whole_first = true);
  ir::Region whole(const Place& place);
  Expr home_offset(const TensorDim& dim, int64_t extent);
  Expr free_offset(int64_t size, int64_t extent);
  bool accumulates(Place& to, int64_t growth);

  // generate_parallel.cpp: element-wise loops
  bool parallel(std::optional<size_t> target = {}, std::optional<size_t> source = {});
  struct Target {
    size_t place;
    std::vector<Expr> at;
    bool whole;
  };
  std::optional<Target> target_of(size_t place, const std::vector<int64_t>& extents);
  void point_body(std::vector<Target>& targets, std::optional<size_t> source);
  void read_some(int count, std::optional<size_t> source);
  std::optional<std::vector<Expr>> read_index(size_t place);
  void store_point(const Target& target);
  void private_sum();

  // generate_value.cpp: scalar expressions
  Value value(DType dtype, int depth);
  Value leaf(DType dtype);
  Value float_value(DType dtype, int depth);
  Value integer_value(DType dtype, int depth);
  Value bool_value(int depth);
  Value cast_from_any(DType dtype, int depth);
  std::optional<Value> from_stored(DType dtype, int depth);
  Value stored_value(DType dtype, int depth);
  Value fit(Value v, int64_t bound);
  Value number(DType dtype, int64_t value);
  Value settle(Expr e, int64_t bound) const;
  Expr index_in(int64_t low, int64_t high);
  Value bounded_value(DType dtype, int64_t bound, int depth = 3) { return fit(value(dtype, depth), bound); }

  // small hands
  ir::Arena& arena() { return *case_.program.arena; }
  Expr idx(int64_t v) { return arena().index(v); }
  Expr op(Op o, Expr a) { return arena().make(o, {a}); }
  Expr op(Op o, Expr a, Expr b) { return arena().make(o, {a, b}); }
  Expr op(Op o, Expr a, Expr b, Expr c) { return arena().make(o, {a, b, c}); }
  template <class T>
  void add(T node) {
    block_->push_back(ir::make_stmt(std::move(node), ++ordinal_));
  }
  Value let(Value v);
  Value load(const Place& place, std::vector<Expr> at);
  std::vector<size_t> places(const std::function<bool(const Place&)>& fits) const;
  std::optional<size_t> some_place(const std::function<bool(const Place&)>& fits);
  DType any_dtype() {
    if (dice_.chance(70))
      return dice_.of({DType::f32, DType::f32, DType::f16, DType::f16, DType::bf16, DType::int32, DType::int8,
                       DType::int64, DType::boolean});
    return dice_.of({DType::f64, DType::int16, DType::uint8, DType::uint16, DType::uint32, DType::uint64});
  }
  // Types that are stored and converted only.
  static const std::vector<DType>& small_floats() {
    static const std::vector<DType> all{DType::e4m3, DType::e5m2, DType::e4m3fnuz, DType::e5m2fnuz, DType::e2m3,
                                        DType::e3m2, DType::e2m1, DType::nf4};
    return all;
  }
  DType stored_dtype() {
    if (dice_.chance(20)) return DType::e8m0;
    return dice_.chance(60) ? dice_.of(small_floats()) : dice_.of({DType::int4, DType::uint4});
  }
  int64_t extent() {
    return dice_.of<int64_t>({1, 2, 3, 5, 7, 8, 8, 12, 15, 16, 16, 16, 17, 24, 31, 32, 32, 32, 33, 40, 48, 64});
  }
  std::vector<int64_t> shape(size_t rank);

  Dice dice_;
  GeneratorOptions options_;
  Case case_;
  std::vector<Place> places_;
  std::vector<GridDim> grid_;
  std::vector<IndexVar> indices_;  // in scope
  std::vector<Value> lets_;        // in scope
  std::vector<Value> scalars_;
  std::vector<BufferId> stored_;  // by the parallel loop around
  bool special_ = false;  // floats may be infinite or undefined: no bits of them, no index from them
  bool product_ = false;  // the program has a kernel around one product
  bool top_pipelined_ = true;  // pipelined loops may stand at the top of a kernel
  bool in_parallel_ = false;
  std::vector<IndexVar> points_;  // of the parallel loop around
  ir::Block* block_ = nullptr;
  uint32_t ordinal_ = 0;
  bool left_ = false;  // some blocks of the kernel may have ended
  int depth_ = 0, names_ = 0, loops_ = 0;
  size_t free_dims_ = 0;  // named so far
  int64_t trips_ = 1, blocks_ = 1, work_ = 0;
  int64_t tile_bytes_ = 0;
};

}  // namespace tilert::random
