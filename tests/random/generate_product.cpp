// Kernels around one pipelined product of 16-bit floats in whole warpgroup tiles, which get roles on devices that have
// them, with anything before and after; and elementary functions, whose results are published and go nowhere else.
#include "random/generator_impl.h"

namespace tilert::random {
namespace {

constexpr int64_t kSpan = 64;  // elements of a row of a swizzled tile of 16-bit floats

}  // namespace

// Blocks of rows by columns. Sizes need not be whole tiles.
void Generator::declare_product_sizes() {
  static constexpr const char* kNames[] = {"M", "N"};
  for (int i = 0; i < 2; ++i) {
    GridDim g;
    g.tile = i == 0 ? dice_.of<int64_t>({64, 64, 64, 128}) : dice_.of<int64_t>({8, 16, 24, 32, 40, 64, 64, 128});
    const int64_t value = std::max<int64_t>(0, dice_.from(0, 2) * g.tile + dice_.of<int64_t>({0, 0, 1, 8, 16, 33, -7}));
    g.size.grid = i;
    if (dice_.chance(25)) {
      g.size.value = std::max<int64_t>(1, value);
      g.size.size = idx(g.size.value);
    } else {
      ir::Dim dim{case_.program.add_var(ir::VarKind::dim, DType::index, kNames[i])};
      if (value % 8 == 0 && value > 0 && dice_.chance(30)) dim.divisible = 8;
      case_.program.dims.push_back(dim);
      case_.dims.push_back(value);
      case_.bound.push_back(dice_.chance(30));
      g.size.size = case_.program.var(dim.var);
      g.size.value = value;
    }
    grid_.push_back(g);
  }
}

void Generator::product_kernel(int count) {
  top_pipelined_ = false;
  statements(static_cast<int>(dice_.from(0, count / 3)));
  bool made = true;
  ir::If branch{dice_.chance(15) ? trip_condition(case_.program.var(grid_[1].var)) : nullptr, {}, {}};
  if (!branch.condition || branch.condition->is_constant()) {
    made = product_loop();
  } else {
    nested(branch.then_body, 1, [&] { made = product_loop(); });
    if (!branch.then_body.empty()) add(std::move(branch));
  }
  if (!made) top_pipelined_ = true;
  statements(static_cast<int>(dice_.from(0, count)));
  top_pipelined_ = true;
}

// The dim along which the product sums: some blocks of `depth`, the last perhaps in part, perhaps none.
TensorDim Generator::depth_dim(int64_t depth) {
  const int64_t size = std::max<int64_t>(0, dice_.from(0, 320 / depth) * depth + dice_.of<int64_t>({0, 0, 8, 16, -8, 24}));
  if (size > 0 && dice_.chance(40)) return {idx(size), size, -1};
  ir::Dim dim{case_.program.add_var(ir::VarKind::dim, DType::index, "K" + std::to_string(++names_))};
  if (size > 0 && dice_.chance(50)) dim.divisible = 8;
  case_.program.dims.push_back(dim);
  case_.dims.push_back(size);
  case_.bound.push_back(dice_.chance(30));
  return {case_.program.var(dim.var), size, -1};
}

// A matrix of rows by k of the grid's dim, and the tile that holds a block of it.
Generator::Factor Generator::factor(DType dtype, int grid, const TensorDim& k, int64_t depth) {
  TensorDim rows = grid_[static_cast<size_t>(grid)].size;
  rows.grid = -1;
  const char letter = special_ && dice_.chance(30) ? 'N' : 'B';
  std::vector<TensorDim> dims{rows, k};
  const bool table = dice_.chance(6);
  if (table) dims.insert(dims.begin(), count_dim());
  Factor f{tensor(letter, dtype, ir::Direction::in, dims, dice_.chance(90), table), 0, 0, grid, nullptr};
  if (table && dice_.chance(70)) f.entry = entry(places_[f.tensor]);
  f.tile = declare(dtype, Scope::shared, {grid_[static_cast<size_t>(grid)].tile, depth});
  places_[f.tile].cap = places_[f.tile].direct = places_[f.tensor].cap;
  return f;
}

// A[M, K] times B[N, K] transposed, or times several, block by block along K.
bool Generator::product_loop() {
  const int64_t depth = dice_.chance(75) ? kSpan : 2 * kSpan;
  const TensorDim k = depth_dim(depth);
  const DType dtype = dice_.of({DType::f16, DType::bf16});
  std::vector<Factor> factors{factor(dtype, 0, k, depth)};
  for (int i = dice_.chance(25) ? 2 : 1; i > 0; --i) factors.push_back(factor(dtype, 1, k, depth));
  int64_t bound = kDataBound * std::max<int64_t>(1, k.value);  // a product may stand twice
  for (const Factor& f : factors) {
    if (places_[f.tile].scope != Scope::shared) return false;
    if (places_[f.tensor].cap > 1) bound *= kDataBound;
  }
  const bool clears = dice_.chance(60) || k.value == 0;
  for (size_t i = 1; i < factors.size(); ++i) {
    factors[i].sum = declare(DType::f32, Scope::fragment, {grid_[0].tile, grid_[1].tile});
    Place& sum = places_[factors[i].sum];
    sum.cap = sum.direct = bound;
    if (clears) add(ir::Fill{whole(sum), arena().number(DType::f32, 0)});
    sum.written = true;
  }
  std::optional<size_t> own;  // a fragment through which the first operand goes
  if (dice_.chance(20)) own = declare(dice_.of({dtype, DType::f32}), Scope::fragment, {grid_[0].tile, depth});
  ir::For loop{ir::ForKind::pipelined};
  loop.begin = idx(0), loop.end = op(Op::div, op(Op::add, k.size, idx(depth - 1)), idx(depth));
  loop.stages = static_cast<int>(dice_.of({0, 2, 2, 3, 3, 4, 5}));
  loop.var = case_.program.add_var(ir::VarKind::loop, DType::index, "k" + std::to_string(++names_));
  ir::Block* const outer = block_;
  block_ = &loop.body;
  product_body(factors, case_.program.var(loop.var), depth, clears, own);
  block_ = outer;
  add(std::move(loop));
  for (const Factor& f : factors) places_[f.tile].scope = Scope::registers;
  if (own) places_[*own].scope = Scope::registers;
  spend(grid_[0].tile * grid_[1].tile * std::max<int64_t>(1, k.value) / 16);
  for (size_t i = 1; i < factors.size(); ++i) store_sum(factors[i].sum);
  return true;
}

// What both roles can tell of a trip, or, of what else there is to read, perhaps not.
Expr Generator::trip_condition(Expr step) {
  if (dice_.chance(40)) return value(DType::boolean, 2).e;
  const Expr at = dice_.chance(50) ? op(Op::add, step, case_.program.var(grid_[0].var)) : step;
  return op(Op::lt, op(Op::mod, at, idx(dice_.from(2, 4))), idx(dice_.from(1, 3)));
}

// Some trips may be passed over, or make a part of their products; where one overwrites the sums, all are made.
void Generator::product_body(const std::vector<Factor>& factors, Expr step, int64_t depth, bool clears, std::optional<size_t> own) {
  ir::Block* const outer = block_;
  const size_t lets = lets_.size();
  int64_t chosen = clears && dice_.chance(30) ? dice_.from(0, 2) : 3;  // around all, around the products, by a jump
  ir::If branch{nullptr, {}, {}};
  if (chosen < 3) branch.condition = trip_condition(step);
  if (chosen < 3 && branch.condition->is_constant()) chosen = 3;
  if (chosen == 2) add(ir::If{branch.condition, {ir::make_stmt(ir::Jump{ir::JumpKind::next})}, {}});
  if (chosen == 0) block_ = &branch.then_body;
  product_copies(factors, step, depth);
  if (chosen == 1) block_ = &branch.then_body;
  products(factors, step, clears, own);
  block_ = outer;
  if (chosen < 2) add(std::move(branch));
  lets_.resize(lets);
}

void Generator::product_copies(const std::vector<Factor>& factors, Expr step, int64_t depth) {
  for (const Factor& f : factors) {
    const GridDim& g = grid_[static_cast<size_t>(f.grid)];
    const Expr row = op(Op::mul, case_.program.var(g.var), idx(g.tile));
    ir::Copy load{{places_[f.tensor].id, {row, op(Op::mul, step, idx(depth))}, {g.tile, depth}}, whole(places_[f.tile])};
    if (const Place& from = places_[f.tensor]; from.table) {
      const int64_t count = std::max<int64_t>(1, from.dims[0].value);
      load.src.offsets.insert(load.src.offsets.begin(), f.entry ? f.entry : op(Op::mod, step, idx(count)));
      load.src.extents.insert(load.src.extents.begin(), 1);
    }
    copy_hints(load);
    add(std::move(load));
  }
}

void Generator::products(const std::vector<Factor>& factors, Expr step, bool clears, std::optional<size_t> own) {
  if (own) add(ir::Copy{whole(places_[factors[0].tile]), whole(places_[*own])});
  const size_t first = own ? *own : factors[0].tile;
  for (size_t i = 1; i < factors.size(); ++i)
    for (int times = dice_.chance(20) ? 2 : 1, at = 0; at < times; ++at) {
      const Expr again = clears || at > 0 ? arena().boolean(true) : arena().make(Op::lt, {idx(0), step});
      ir::If part{nullptr, {}, {}};
      ir::Block* const outer = block_;
      if (clears && dice_.chance(8)) part.condition = trip_condition(step);
      if (part.condition && part.condition->is_constant()) part.condition = nullptr;
      if (part.condition) block_ = &part.then_body;
      add(ir::Gemm{whole(places_[first]), whole(places_[factors[i].tile]), whole(places_[factors[i].sum]), false,
                   true, again, ir::WarpSplit::automatic});
      block_ = outer;
      if (part.condition) add(std::move(part));
    }
}

// The sum leaves as one of the dtypes that hold it.
void Generator::store_sum(size_t sum) {
  const int64_t cap = places_[sum].cap;
  const DType dtype = cap <= exact_limit(DType::bf16)  ? dice_.of({DType::bf16, DType::f16, DType::f32})
                      : cap <= exact_limit(DType::f16) ? dice_.of({DType::f16, DType::f16, DType::f32})
                                                       : DType::f32;
  const size_t to = tensor('O', dtype, ir::Direction::out, {grid_[0].size, grid_[1].size}, dice_.chance(85));
  places_[to].home = true;
  add(ir::Copy{whole(places_[sum]), region(places_[to], places_[sum].shape)});
}

// f(x) for one of the functions that have a bound in ulp, where it is not steep enough to overflow.
Expr Generator::elementary_of(Expr x) {
  const DType dtype = x->dtype;
  const auto number = [&](double v) { return arena().number(dtype, v); };
  const auto clamped = [&](Expr e, double limit) { return op(Op::min, op(Op::max, e, number(-limit)), number(limit)); };
  const Expr positive = op(Op::max, op(Op::abs, x), number(0.25));
  if (dtype_bits(dtype) <= 32 && dice_.chance(15)) {  // the fast forms that are within what the judge grants any function
    const Op form = dice_.of({Op::fast_exp2, Op::fast_sqrt, Op::fast_div});
    return form == Op::fast_div ? op(form, x, positive) : op(form, form == Op::fast_exp2 ? clamped(x, 8) : positive);
  }
  switch (dice_.below(6)) {
    case 0: return op(dice_.of({Op::exp, Op::exp2}), clamped(x, 8));
    case 1: return op(dice_.of({Op::log, Op::log2, Op::rsqrt, Op::sqrt}), positive);
    case 2: return op(dice_.of({Op::sin, Op::cos}), clamped(x, 256));
    case 3: return op(Op::pow, clamped(positive, 16), number(dice_.of({-2.0, -0.5, 0.5, 1.5, 2.0, 3.0})));
    default: return op(dice_.of({Op::tanh, Op::erf, Op::sigmoid}), x);
  }
}

void Generator::elementary(size_t tile) {
  const Place from = places_[tile];
  const size_t to = tensor('E', from.dtype, ir::Direction::out, dims_of_blocks(from.shape), true);
  const BufferId id = places_[to].id;
  places_[to].scope = Scope::registers;
  ir::Parallel node{{}, from.shape, {}, true};
  std::vector<Expr> at, point;
  for (const GridDim& g : grid_) at.push_back(case_.program.var(g.var));
  for (size_t d = 0; d < from.shape.size(); ++d) {
    node.vars.push_back(case_.program.add_var(ir::VarKind::loop, DType::index, "e" + std::to_string(++names_)));
    point.push_back(case_.program.var(node.vars.back()));
    at.push_back(point.back());
  }
  ir::Block* const outer = block_;
  block_ = &node.body;
  const size_t lets = lets_.size();
  const Value x = load(from, point);
  const Expr scaled = op(Op::mul, x.e, arena().number(from.dtype, dice_.of({1.0, 0.5, 0.25, -0.5})));
  Expr y = elementary_of(scaled);
  if (dice_.chance(30)) y = op(Op::select, op(Op::lt, x.e, number(from.dtype, 0).e), y, elementary_of(scaled));
  add(ir::Store{ir::Access{id, at}, y});
  lets_.resize(lets);
  block_ = outer;
  spend(product(from.shape) * 8);
  add(std::move(node));
}

}  // namespace tilert::random
