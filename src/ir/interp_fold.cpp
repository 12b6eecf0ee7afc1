// Operations along a dim: fold, scan, pick, sort. Each reads all its sources before it writes; a fold's or scan's order is
// that of the elements.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/interpreter_impl.h"

namespace tilert::ir::interp {
namespace {

// The elements along one dim of a row-major box: the i-th of line l is at first(l) + i * stride.
struct Lines {
  size_t count = 1, extent = 1, stride = 1;
  Lines(const std::vector<int64_t>& extents, int dim) {
    for (size_t d = 0; d < extents.size(); ++d) {
      const auto size = static_cast<size_t>(extents[d]);
      if (d == static_cast<size_t>(dim)) extent = size;
      else count *= size;
      if (d > static_cast<size_t>(dim)) stride *= size;
    }
  }
  size_t first(size_t line, size_t kept) const { return line / stride * kept * stride + line % stride; }
};

bool less(DType dtype, uint64_t a, uint64_t b) {
  if (!dtype_is_float(dtype)) return dtype_is_signed(dtype) ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
  const double x = bits_to_double(dtype, a), y = bits_to_double(dtype, b);
  return x < y || (x == y && std::signbit(x) && !std::signbit(y));
}

bool comes_before(DType dtype, uint64_t a, uint64_t b, bool descending) {
  if (dtype_is_float(dtype)) {
    const bool x = std::isnan(bits_to_double(dtype, a)), y = std::isnan(bits_to_double(dtype, b));
    if (x || y) return !x && y;
  }
  return descending ? less(dtype, b, a) : less(dtype, a, b);
}

}  // namespace

bool Machine::read_tuple(const Operation& op, size_t first, const Combine& combine, uint32_t lane, Columns& values) {
  for (size_t c = 0; c < combine.left.size(); ++c) {
    const Place& from = op.arguments[first + c].place;
    values.emplace_back();
    if (!read_region(from, lane, {}, 0, values.back()) || !convert(from.memory->dtype, combine.identity[c]->dtype, values.back()))
      return false;
  }
  return true;
}

bool Machine::write_tuple(const Operation& op, const Combine& combine, uint32_t lane, Columns& values) {
  for (size_t c = 0; c < combine.left.size(); ++c) {
    const Place& to = op.arguments[combine.left.size() + c].place;
    if (!convert(combine.identity[c]->dtype, to.memory->dtype, values[c]) || !write_region(to, lane, {}, values[c])) return false;
  }
  return true;
}

void Machine::combine_into(const Operation& op, const Combine& combine, uint32_t lane, std::vector<uint64_t>& left,
                           const std::vector<uint64_t>& right) {
  for (size_t c = 0; c < left.size(); ++c) {
    vars_[combine.left[c] * lanes_ + lane] = left[c];
    vars_[combine.right[c] * lanes_ + lane] = right[c];
  }
  for (size_t c = 0; c < left.size(); ++c) left[c] = eval(op.bounds[c], lane);
}

bool Machine::step(const Operation& op, const Fold& n, const Lanes& lanes) {
  const size_t count = n.src.size();
  Columns values, results;
  if (!read_tuple(op, 0, n.combine, lanes[0], values)) return false;
  if (n.accumulate && !read_tuple(op, count, n.combine, lanes[0], results)) return false;
  const Lines lines(n.src[0].extents, n.dim);
  if (!n.accumulate)
    for (size_t c = 0; c < count; ++c) results.emplace_back(lines.count, n.combine.identity[c]->bits);
  std::vector<uint64_t> total(count), next(count);
  for (size_t l = 0; l < lines.count; ++l) {
    for (size_t c = 0; c < count; ++c) total[c] = results[c][l];
    for (size_t i = 0; i < lines.extent; ++i) {
      for (size_t c = 0; c < count; ++c) next[c] = values[c][lines.first(l, lines.extent) + i * lines.stride];
      combine_into(op, n.combine, lanes[0], total, next);
    }
    for (size_t c = 0; c < count; ++c) results[c][l] = total[c];
  }
  return write_tuple(op, n.combine, lanes[0], results);
}

bool Machine::step(const Operation& op, const Scan& n, const Lanes& lanes) {
  const size_t count = n.src.size();
  Columns values;
  if (!read_tuple(op, 0, n.combine, lanes[0], values)) return false;
  const Lines lines(n.src[0].extents, n.dim);
  std::vector<uint64_t> total(count), next(count);
  for (size_t l = 0; l < lines.count; ++l) {
    for (size_t c = 0; c < count; ++c) total[c] = n.combine.identity[c]->bits;
    for (size_t step = 0; step < lines.extent; ++step) {
      const size_t at = lines.first(l, lines.extent) + (n.reverse ? lines.extent - 1 - step : step) * lines.stride;
      for (size_t c = 0; c < count; ++c) next[c] = values[c][at];
      if (n.exclusive)
        for (size_t c = 0; c < count; ++c) values[c][at] = total[c];
      if (n.reverse) {
        combine_into(op, n.combine, lanes[0], next, total);  // what comes first is left
        total = next;
      } else {
        combine_into(op, n.combine, lanes[0], total, next);
      }
      if (!n.exclusive)
        for (size_t c = 0; c < count; ++c) values[c][at] = total[c];
    }
  }
  return write_tuple(op, n.combine, lanes[0], values);
}

bool Machine::step(const Operation& op, const Pick& n, const Lanes& lanes) {
  const DType dtype = op.p[0].memory->dtype;
  const ScalarFunction less = scalar_function(Op::lt, dtype, dtype), nan = dtype_is_float(dtype) ? scalar_function(Op::isnan, dtype, dtype) : nullptr;
  if (!less) return refuse(fmt::format("pick of {} is not defined", dtype_text(dtype)), "cast to f32 or int32 first");
  std::vector<uint64_t> values, places;
  if (!read_region(op.p[0], lanes[0], {}, 0, values)) return false;
  const Lines lines(n.src.extents, n.dim);
  for (size_t l = 0; l < lines.count; ++l) {
    size_t best = 0;
    bool any = false;
    for (size_t i = 0; i < lines.extent; ++i) {
      const size_t first = lines.first(l, lines.extent);
      const uint64_t x = values[first + i * lines.stride], y = values[first + best * lines.stride];
      if (nan && nan(x, 0, 0)) continue;
      if (!any || (n.least ? less(x, y, 0) : less(y, x, 0))) best = i;
      any = true;
    }
    places.push_back(best);
  }
  return convert(DType::int64, op.p[1].memory->dtype, places) && write_region(op.p[1], lanes[0], {}, places);
}

bool Machine::step(const Operation& op, const Sort& n, const Lanes& lanes) {
  const DType dtype = op.p[0].memory->dtype;
  std::vector<uint64_t> values;
  if (!read_region(op.p[0], lanes[0], {}, 0, values)) return false;
  const Lines lines(n.src.extents, n.dim);
  const auto kept = static_cast<size_t>(n.dst.extents[static_cast<size_t>(n.dim)]);
  std::vector<uint64_t> sorted(lines.count * kept), places(lines.count * kept);
  std::vector<size_t> order(lines.extent);
  for (size_t l = 0; l < lines.count; ++l) {
    const size_t first = lines.first(l, lines.extent);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return comes_before(dtype, values[first + a * lines.stride], values[first + b * lines.stride], n.descending);
    });
    for (size_t i = 0; i < kept; ++i) {
      sorted[lines.first(l, kept) + i * lines.stride] = values[first + order[i] * lines.stride];
      places[lines.first(l, kept) + i * lines.stride] = order[i];
    }
  }
  if (!write_region(op.p[1], lanes[0], {}, sorted)) return false;
  if (n.index.buffer == kNoBuffer) return true;
  return convert(DType::int64, op.p[2].memory->dtype, places) && write_region(op.p[2], lanes[0], {}, places);
}

}  // namespace tilert::ir::interp
