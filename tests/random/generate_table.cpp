// Parameters that are tables of pointers: which there are, which of their tensors an operation takes, strides.
// Not here: their data and which pointers are null (random_case.h).
#include "random/generator_impl.h"

namespace tilert::random {
namespace {

constexpr int64_t kMostEntries = 40;
constexpr int64_t kMostElements = 60000;  // of all tensors of a table

}  // namespace

// How many tensors: a number, or a dim.
TensorDim Generator::count_dim() {
  const int64_t count = dice_.of<int64_t>({0, 1, 2, 2, 3, 4, 5, 7});
  if (dice_.chance(60)) return {idx(std::max<int64_t>(1, count)), std::max<int64_t>(1, count), -1};
  const ir::Dim dim{case_.program.add_var(ir::VarKind::dim, DType::index, "G" + std::to_string(++names_))};
  case_.program.dims.push_back(dim);
  case_.dims.push_back(count);
  case_.bound.push_back(dice_.chance(30));
  return {case_.program.var(dim.var), count, -1};
}

// Sometimes a tensor of these dims is a table instead: of tensors of them, or the first dim counts tensors of the others.
bool Generator::becomes_table(std::vector<TensorDim>& dims, int percent) {
  if (!dice_.chance(percent)) return false;
  int64_t elements = 1;
  for (const TensorDim& d : dims) elements = bounded_mul(elements, std::max<int64_t>(1, d.value));
  if (bounded_mul(elements, 7) > kMostElements) return false;
  if (dims[0].value > kMostEntries || dice_.chance(75)) dims.insert(dims.begin(), count_dim());
  return true;
}

// Which tensor of a table: mostly one that is there, by whatever is in scope.
Expr Generator::entry(const Place& table) {
  const TensorDim& count = table.dims[0];
  if (table.home && count.grid >= 0) return home_offset(count, 1);
  if (dice_.chance(12)) return dice_.of({idx(-1), count.size, idx(dice_.from(-3, 9))});
  if (dice_.chance(10)) return free_offset(count.value, 1);
  const Expr there = index_in(0, std::max<int64_t>(0, count.value - 1));
  return dice_.chance(15) ? op(Op::sub, op(Op::sub, count.size, idx(1)), there) : there;
}

// Rows with a gap after them; the tensors of a table lie apart anyway.
void Generator::strides_with_gaps(ir::Buffer& b, const std::vector<TensorDim>& dims) {
  b.strides.resize(dims.size());
  Expr stride = idx(1);
  for (size_t d = dims.size(); d-- > 0;) {
    b.strides[d] = stride;
    const Expr size = op(Op::add, dims[d].size, idx(dice_.of<int64_t>({0, 1, 3, 8})));
    stride = d + 1 == dims.size() ? size : op(Op::mul, stride, size);
  }
  if (ir::is_table(b)) b.strides[0] = idx(0);
  b.contiguous = false;
}

}  // namespace tilert::random
