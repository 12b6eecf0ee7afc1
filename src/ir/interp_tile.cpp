// Tile operations: copy, fill, gemm, reduce. Each reads all its sources before it writes.
#include <algorithm>

#include "ir/interpreter_impl.h"
#include "support/immortal.h"

namespace tilert::ir::interp {

bool Machine::convert(DType from, DType to, std::vector<uint64_t>& values) {
  if (from == to) return true;
  const ScalarFunction function = scalar_function(Op::cast, from, to);
  if (!function)
    return refuse(fmt::format("a cast of {} to {} is not defined", dtype_text(from), dtype_text(to)), "go by way of f32");
  for (uint64_t& value : values) value = function(value, 0, 0);
  return true;
}

bool Machine::step(const Operation& op, const Copy&, const Lanes& lanes) {
  const Place &src = op.p[0], &dst = op.p[1];
  const uint32_t lane = lanes[0];
  static const auto& none = immortal(std::vector<const Tape*>());
  const uint64_t safe = op.e[0] ? eval(op.e[0], lane) : double_to_bits(src.memory->dtype, 0);
  std::vector<uint64_t> values;
  if (!read_region(src, lane, src.memory->global ? op.bounds : none, safe, values)) return false;
  if (!convert(src.memory->dtype, dst.memory->dtype, values)) return false;
  return write_region(dst, lane, src.memory->global ? none : op.bounds, values);
}

bool Machine::step(const Operation& op, const Reinterpret&, const Lanes&) {
  const Memory &src = *op.p[0].memory, &dst = *op.p[1].memory;
  const int64_t bytes = src.elements * src.bytes;
  if (bytes != dst.elements * dst.bytes) return fail("the tiles of reinterpret differ in bytes", Code::kInternal);
  std::copy_n(src.data, bytes, dst.data);
  std::copy_n(src.written, bytes, dst.written);
  return true;
}

bool Machine::step(const Operation& op, const Fill&, const Lanes& lanes) {
  const uint64_t value = eval(op.e[0], lanes[0]);
  return write_region(op.p[0], lanes[0], {}, std::vector<uint64_t>(static_cast<size_t>(op.p[0].size), value));
}

namespace {

struct Matrix {
  int64_t rows = 1, columns = 1;
};

// The two last dims; leading ones have extent 1.
bool matrix(const Place& p, Matrix& out) {
  const size_t rank = p.extents.size();
  if (rank < 2) return false;
  out = {p.extents[rank - 2], p.extents[rank - 1]};
  return out.rows * out.columns == p.size;
}

struct Shape {
  int64_t m, n, k;
  bool trans_a, trans_b;
};

// c[m, n] = start + the sum over k, in order, in T. `places`, where given: of each row of a and each of its k / 2 elements, the
// row of b; -1: none.
template <class T>
void multiply(const std::vector<T>& a, const std::vector<T>& b, std::vector<T>& c, const Shape& shape, const std::vector<int64_t>& places) {
  const int64_t m = shape.m, n = shape.n, k = shape.k, kept = places.empty() ? k : k / 2;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t s = 0; s < kept; ++s) {
      const int64_t row = places.empty() ? s : places[static_cast<size_t>(i * kept + s)];
      if (row < 0) continue;
      const T x = a[static_cast<size_t>(shape.trans_a ? s * m + i : i * kept + s)];
      for (int64_t j = 0; j < n; ++j)
        c[static_cast<size_t>(i * n + j)] += x * b[static_cast<size_t>(shape.trans_b ? j * k + row : row * n + j)];
    }
}

// Where the elements of a sparse operand stand (semantics.h).
std::vector<int64_t> places_of(const std::vector<uint64_t>& metadata, DType dtype, int64_t m, int64_t k) {
  const int64_t bits = dtype_bits(dtype), columns = gemm_metadata_columns(dtype, k);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t q = 0; q < k; q += 4) {
      const uint64_t both = metadata[static_cast<size_t>(i * columns + q / bits)] >> (q % bits) & 15;
      const auto first = static_cast<int64_t>(both & 3), second = static_cast<int64_t>(both >> 2);
      places.push_back(first == second ? -1 : q + first);
      places.push_back(q + second);
    }
  return places;
}

template <class T>
std::vector<T> floats(DType dtype, const std::vector<uint64_t>& bits) {
  std::vector<T> values;
  values.reserve(bits.size());
  for (uint64_t b : bits) values.push_back(static_cast<T>(bits_to_double(dtype, b)));
  return values;
}

}  // namespace

bool Machine::step(const Operation& op, const Gemm& n, const Lanes& lanes) {
  const uint32_t lane = lanes[0];
  const Place &pa = op.p[0], &pb = op.p[1], &pc = op.p[2];
  Matrix a, b, c;
  if (!matrix(pa, a) || !matrix(pb, b) || !matrix(pc, c)) return fail("an operand of gemm is no matrix");
  if (n.trans_a) std::swap(a.rows, a.columns);
  if (n.trans_b) std::swap(b.rows, b.columns);
  if (n.sparse()) a.columns *= 2;
  if (a.rows != c.rows || b.columns != c.columns || a.columns != b.rows)
    return fail(fmt::format("gemm of [{}, {}] by [{}, {}] into [{}, {}]", a.rows, a.columns, b.rows, b.columns, c.rows,
                            c.columns));
  int64_t products = 0;
  if (__builtin_mul_overflow(pc.size, a.columns, &products)) products = INT64_MAX;
  if (!goes_over(products)) return false;
  std::vector<uint64_t> va, vb, vc(static_cast<size_t>(pc.size), 0);
  const bool accumulate = eval(op.e[0], lane) != 0;
  if (!read_region(pa, lane, {}, 0, va) || !read_region(pb, lane, {}, 0, vb)) return false;
  if (accumulate && !read_region(pc, lane, {}, 0, vc)) return false;
  std::vector<int64_t> places;
  if (n.sparse()) {
    std::vector<uint64_t> metadata;
    if (!read_region(op.p[3], lane, {}, 0, metadata)) return false;
    places = places_of(metadata, op.p[3].memory->dtype, c.rows, b.rows);
  }
  const Shape shape{c.rows, c.columns, b.rows, n.trans_a, n.trans_b};
  const DType in = gemm_operand_dtype(p_, n), out = pc.memory->dtype;
  if (!convert(pa.memory->dtype, in, va) || !convert(pb.memory->dtype, in, vb)) return false;
  if (!gemm_takes(in, out))
    return refuse(fmt::format("gemm of {} into {} is not defined", dtype_text(in), dtype_text(out)),
                  "f64 adds up in f64, other floats in f32, integers in int32 or int64");
  const auto in_floats = [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> sums = floats<T>(out, vc);
    multiply(floats<T>(in, va), floats<T>(in, vb), sums, shape, places);
    for (size_t i = 0; i < vc.size(); ++i) vc[i] = double_to_bits(out, static_cast<double>(sums[i]));
  };
  if (in == DType::f64) {
    in_floats(0.0);
  } else if (dtype_is_float(in)) {
    in_floats(0.0f);
  } else {
    multiply(va, vb, vc, shape, places);
    if (!convert(DType::int64, out, vc)) return false;
  }
  return write_region(pc, lane, {}, vc);
}

bool Machine::step(const Operation& op, const Reduce& n, const Lanes& lanes) {
  const uint32_t lane = lanes[0];
  const Place &src = op.p[0], &dst = op.p[1];
  const DType from = src.memory->dtype, to = dst.memory->dtype, sum = reduce_accumulator(to);
  const ScalarFunction combine = scalar_function(reduce_combine(n.op), sum, sum);
  const ScalarFunction absolute = reduce_takes_absolute(n.op) ? scalar_function(Op::abs, sum, sum) : nullptr;
  if (!combine || !reduce_takes(n.op, sum))
    return refuse(fmt::format("this reduction of {} into {} is not defined", dtype_text(from), dtype_text(to)),
                  "bits reduce into integers, the other operations into numbers");
  std::vector<uint64_t> values, results(static_cast<size_t>(dst.size), reduce_identity(n.op, sum));
  if (!read_region(src, lane, {}, 0, values) || !convert(from, sum, values)) return false;
  if (n.accumulate && (!read_region(dst, lane, {}, 0, results) || !convert(to, sum, results))) return false;
  if (n.accumulate && reduce_identity_shows(n.op, sum))
    for (uint64_t& result : results) result = combine(result, reduce_identity(n.op, sum), 0);
  const auto extent = static_cast<size_t>(src.extents[static_cast<size_t>(n.dim)]);
  size_t inner = 1;
  for (size_t d = static_cast<size_t>(n.dim) + 1; d < src.extents.size(); ++d)
    inner *= static_cast<size_t>(src.extents[d]);
  for (size_t i = 0; i < results.size(); ++i) {
    const size_t first = i / inner * extent * inner + i % inner;
    for (size_t r = 0; r < extent; ++r) {
      const uint64_t value = values[first + r * inner];
      results[i] = combine(results[i], absolute ? absolute(value, 0, 0) : value, 0);
    }
  }
  return convert(sum, to, results) && write_region(dst, lane, {}, results);
}

}  // namespace tilert::ir::interp
