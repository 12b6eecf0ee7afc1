// Declarations, kernels, and what is published of them.
#include "random/generator.h"

#include "ir/semantics.h"
#include "ir/visit.h"
#include "random/generator_impl.h"

namespace tilert::random {
namespace {

// What a fixed order of sums does not allow.
bool adds_up_by_time(const ir::Program& program, const ir::Block& body) {
  bool found = false;
  ir::for_each_stmt(body, [&](const ir::Stmt& s) {
    const auto* atomic = std::get_if<ir::Atomic>(&s.node);
    found |= atomic && ir::atomic_rounds(atomic->op, program.buffer(atomic->to.buffer).dtype);
  });
  return found;
}

}  // namespace

// A size: a number, or a dim, sometimes given when compiled, promised divisible, or in buckets.
TensorDim Generator::size_dim(const char* name) {
  const int64_t value =
      dice_.of<int64_t>({0, 1, 2, 3, 7, 8, 15, 16, 17, 24, 31, 32, 33, 40, 47, 48, 63, 64, 65, 80, 96, 100});
  if (dice_.chance(25)) return {idx(std::max<int64_t>(1, value)), std::max<int64_t>(1, value), -1};
  ir::Dim dim{case_.program.add_var(ir::VarKind::dim, DType::index, name)};
  if (value % 8 == 0 && value > 0 && dice_.chance(30)) dim.divisible = dice_.chance(50) ? 8 : value;
  if (dice_.chance(15)) dim.buckets.push_back({ir::Bucket::Kind::range, value / 2, value + 40, 1});
  if (value % 16 == 0 && dice_.chance(15)) dim.buckets.push_back({ir::Bucket::Kind::divisor, 0, 0, 16});
  case_.program.dims.push_back(dim);
  case_.dims.push_back(value);
  case_.bound.push_back(dim.buckets.empty() && dice_.chance(40));
  return {case_.program.var(dim.var), value, -1};
}

// The letter says what it holds (random_case.h); a plain one is contiguous, aligned and alone.
size_t Generator::tensor(char letter, DType dtype, ir::Direction direction, std::vector<TensorDim> dims, bool plain, bool table) {
  const std::string name = letter + std::to_string(++names_);
  ir::Buffer b{name, dtype, Scope::global, {}};
  for (const TensorDim& d : dims) b.shape.push_back(d.size);
  b.direction = direction;
  b.entries = table ? ir::Entries::counted : ir::Entries::none;
  b.parameter = static_cast<int32_t>(case_.program.parameters.size());
  if (!plain && dice_.chance(10)) b.alignment = std::max(dtype_bytes(dtype), dice_.of({4, 8}));
  if (dtype_is_packed(dtype)) plain = true;
  const bool aliases = b.may_alias = !plain && dice_.chance(10);
  if (!plain && !dims.empty() && dice_.chance(15)) strides_with_gaps(b, dims);
  const BufferId id = case_.program.add_buffer(std::move(b));
  Place p{id, id, dtype, Scope::global, {}, std::move(dims), direction};
  p.aliases = aliases;
  p.table = table;
  const bool reads = direction != ir::Direction::out;
  const int64_t data = letter == 'B' ? 1 : letter == 'W' ? kHuge : kDataBound;
  p.cap = p.direct = direction == ir::Direction::in ? std::min(data, exact_limit(dtype)) : exact_limit(dtype);
  if (!dtype_computes(dtype) && dtype_is_float(dtype) && (special_ || dtype == DType::e8m0)) p.cap = greatest(dtype);
  p.written = reads;
  p.home = direction != ir::Direction::in;
  case_.program.parameters.push_back({ir::Parameter::Kind::tensor, name, p.id, ir::kNoVar});
  places_.push_back(std::move(p));
  return places_.size() - 1;
}

// Another parameter in the memory of one that is read and written, read where that one is written only.
void Generator::alias(size_t of) {
  places_[of].aliases = true;
  Place p = places_[of];
  ir::Buffer b = case_.program.buffer(p.id);
  case_.program.buffers[p.id].may_alias = b.may_alias = true;
  b.name = "S" + std::to_string(++names_) + "_" + b.name;
  b.direction = p.direction = ir::Direction::in;
  b.parameter = static_cast<int32_t>(case_.program.parameters.size());
  const std::string name = b.name;
  p.id = case_.program.add_buffer(std::move(b));
  case_.program.parameters.push_back({ir::Parameter::Kind::tensor, name, p.id, ir::kNoVar});
  places_.push_back(std::move(p));
}

// The grid's dims come first: each output is divided along all of them.
void Generator::declare_sizes() {
  if (product_) return declare_product_sizes();
  const int rank = static_cast<int>(dice_.of({1, 1, 2, 2, 2, 3}));
  static constexpr const char* kNames[] = {"M", "N", "P"};
  for (int i = 0; i < rank; ++i) {
    GridDim g;
    g.size = size_dim(kNames[i]);
    g.size.grid = i;
    g.tile =
        rank == 3 ? dice_.of<int64_t>({1, 3, 8, 16, 32}) : dice_.of<int64_t>({1, 5, 8, 16, 16, 24, 32, 32, 33, 64});
    while ((g.size.value + g.tile - 1) / g.tile > 4) g.tile *= 2;
    grid_.push_back(g);
  }
}

void Generator::declare_tensors() {
  for (int64_t i = dice_.from(2, 4); i > 0; --i) declare_input();
  for (int64_t i = dice_.from(1, 3); i > 0; --i) declare_output();
  for (int64_t i = dice_.from(0, 2); i > 0; --i) {
    const DType dtype = any_dtype();
    const VarId var = case_.program.add_var(ir::VarKind::scalar, dtype, "c" + std::to_string(++names_));
    case_.program.parameters.push_back({ir::Parameter::Kind::scalar, case_.program.vars[var].name, ir::kNoBuffer, var});
    scalars_.push_back({case_.program.var(var), std::min(kDataBound, exact_limit(dtype))});
  }
}

void Generator::declare_input() {
  static constexpr const char* kNames[] = {"K", "L", "Q", "R", "S", "T", "U", "V", "W", "X", "Y", "Z"};
  const auto free_dim = [&] {
    if (!grid_.empty() && dice_.chance(50)) {
      TensorDim d = dice_.of(grid_).size;
      d.grid = -1;
      return d;
    }
    const char* const name = kNames[std::min<size_t>(free_dims_, 11)];
    if (dice_.chance(50)) return ++free_dims_, size_dim(name);
    const int64_t size = extent();
    return TensorDim{idx(size), size, -1};
  };
  std::vector<TensorDim> dims;
  for (int64_t r = dice_.of({1, 2, 2, 2, 3}); r > 0; --r) dims.push_back(free_dim());
  const DType dtype = dice_.chance(15) ? stored_dtype() : any_dtype();
  const char letter = special_ && dtype_is_float(dtype) && dtype_computes(dtype) && dice_.chance(60) ? 'N'
                      : dtype_is_integer(dtype) && dice_.chance(30)                                   ? 'W'
                      : dice_.chance(15)                                                              ? 'B'
                                                                                                      : 'A';
  const bool table = becomes_table(dims, 20);
  tensor(letter, dtype, ir::Direction::in, std::move(dims), false, table);
}

// Divided among the blocks along the dims of the grid; of a table each tensor, or the table itself.
void Generator::declare_output() {
  std::vector<TensorDim> dims;
  for (const GridDim& g : grid_) dims.push_back(g.size);
  if (dims.size() < 3 && dice_.chance(30)) {
    const int64_t size = dice_.from(1, 6);
    dims.insert(dims.begin() + dice_.below(static_cast<int64_t>(dims.size()) + 1), TensorDim{idx(size), size, -1});
  }
  if (dims.size() > 1 && dice_.chance(30)) std::swap(dims[0], dims[1]);
  const DType dtype = dice_.chance(8) ? dice_.of({DType::e4m3, DType::e5m2, DType::e4m3fnuz}) : any_dtype();
  const bool table = becomes_table(dims, 15);
  const size_t made =
      tensor('O', dtype, dice_.chance(40) ? ir::Direction::inout : ir::Direction::out, std::move(dims), false, table);
  if (places_[made].direction == ir::Direction::inout && dice_.chance(25)) alias(made);
}

ir::Hints Generator::hints() {
  ir::Hints h;
  using Kind = ir::HintKind;
  if (dice_.chance(10)) h.set(Kind::threads_fixed, dice_.of({32, 64, 96, 128, 256}));
  else if (dice_.chance(50)) h.set(Kind::threads, dice_.of({32, 64, 128, 128, 256, 96}));
  if (dice_.chance(10)) h.set(Kind::min_blocks, dice_.from(1, 3));
  if (dice_.chance(10)) h.set(Kind::max_registers, dice_.of({64, 128, 255}));
  if (dice_.chance(product_ ? 4 : 15)) h.set(Kind::roles, 1);
  if (dice_.chance(15)) h.set(Kind::raster, dice_.from(1, 4));
  if (dice_.chance(product_ ? 15 : 2)) h.set(Kind::split_k, dice_.from(2, 5));
  if (dice_.chance(product_ ? 25 : 3)) h.set(Kind::cluster, dice_.from(2, 4));
  for (const char* target : {"sm_90a", "sm_80", "cpu"})
    if (dice_.chance(6)) h.all.push_back({dice_.chance(50) ? Kind::threads : Kind::raster, dice_.of({32, 64, 160}), false, target});
  return h;
}

void Generator::begin_kernel() {
  ir::Kernel k;
  k.name = "k" + std::to_string(case_.program.kernels.size());
  blocks_ = 1;
  indices_.clear(), lets_.clear();
  static constexpr const char* kNames[] = {"x", "y", "z"};
  for (size_t i = 0; i < grid_.size(); ++i) {
    GridDim& g = grid_[i];
    g.count = (g.size.value + g.tile - 1) / g.tile;
    g.var = case_.program.add_var(ir::VarKind::block_index, DType::index, kNames[i]);
    k.block_vars.push_back(g.var);
    const Expr size = g.size.size;
    k.grid.push_back(size->is_constant() ? idx(g.count) : op(Op::div, op(Op::add, size, idx(g.tile - 1)), idx(g.tile)));
    indices_.push_back({case_.program.var(g.var), 0, std::max<int64_t>(0, g.count - 1)});
    blocks_ *= std::max<int64_t>(1, g.count);
  }
  k.hints = hints();
  left_ = false;
  if (dice_.chance(product_ ? 20 : 10)) persist(k);
  case_.program.kernels.push_back(std::move(k));
  tile_bytes_ = 0;
}

// Dims of a tensor with a tile of that shape for each block.
std::vector<TensorDim> Generator::dims_of_blocks(const std::vector<int64_t>& shape) {
  std::vector<TensorDim> dims;
  for (const GridDim& g : grid_) {
    const int64_t count = std::max<int64_t>(1, g.count);
    dims.push_back({idx(count), count, -1});
  }
  for (int64_t e : shape) dims.push_back({idx(e), e, -1});
  return dims;
}

// A tensor of its own for what a tile holds in each block.
void Generator::publish(size_t tile) {
  const Place from = places_[tile];
  const std::vector<TensorDim> dims = dims_of_blocks(from.shape);
  const size_t to = tensor('O', from.dtype, ir::Direction::out, dims);
  const BufferId id = places_[to].id;
  std::vector<Expr> at;
  for (const GridDim& g : grid_) at.push_back(case_.program.var(g.var));
  if (from.rank() == 0) {
    const Value v = load(from, {});
    add(ir::Store{ir::Access{id, at}, v.e});
    return;
  }
  std::vector<int64_t> extents(grid_.size(), 1);
  extents.insert(extents.end(), from.shape.begin(), from.shape.end());
  while (at.size() < extents.size()) at.push_back(idx(0));
  add(ir::Copy{whole(from), ir::Region{id, at, extents}});
}

void Generator::end_kernel() {
  const size_t declared = places_.size();
  for (size_t i = 0; i < declared; ++i) {
    const Place& p = places_[i];
    if (p.is_tensor() || p.scope == Scope::registers || !p.written || p.rank() > 3) continue;
    if (p.rank() == 0 && dtype_is_packed(p.dtype)) continue;  // an element alone is a part of a byte
    if (dice_.chance(85)) publish(i);
  }
  for (size_t i = 0; i < declared; ++i) {
    const Place& p = places_[i];
    const bool tile = p.scope == Scope::shared || p.scope == Scope::fragment;
    const bool takes = dtype_is_float(p.dtype) && dtype_computes(p.dtype) && p.dtype != DType::f64;
    if (tile && p.written && p.rank() <= 3 && takes && dice_.chance(12)) elementary(i);
  }
  for (Place& p : places_)
    if (!p.is_tensor()) p.scope = Scope::registers;
  for (Place& p : places_)  // published tensors are of no further use
    if (p.is_tensor() && p.direction == ir::Direction::out &&
        &p - places_.data() >= static_cast<std::ptrdiff_t>(declared))
      p.scope = Scope::registers;
}

Case Generator::make() {
  case_.program.name = "random";
  special_ = dice_.chance(20);
  product_ = dice_.chance(29);
  declare_sizes();
  declare_tensors();
  const int kernels = dice_.chance(80) ? 1 : dice_.chance(75) ? 2 : 3;
  for (int i = 0; i < kernels; ++i) {
    begin_kernel();
    ir::Block body;
    block_ = &body;
    const int count = static_cast<int>(dice_.from(options_.statements / 4, options_.statements)) / kernels;
    if (product_ && (i == 0 || dice_.chance(50)))
      product_kernel(count);
    else
      statements(count);
    end_kernel();
    ir::Kernel& kernel = case_.program.kernels.back();
    kernel.body = std::move(body);
    kernel.fixed_order = Dice(dice_).chance(20) && !adds_up_by_time(case_.program, kernel.body);  // of a copy: the rest stays what the seed makes
    change_homes();  // the next kernel may read what this one wrote, anywhere, if it does not write it
  }
  return std::move(case_);
}

Case generate(uint64_t seed, const GeneratorOptions& options) { return Generator(seed, options).make(); }

}  // namespace tilert::random
