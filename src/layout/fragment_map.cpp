// FragmentMap: canonical form, evaluation, checks and elementary algebra. Text is in fragment_text.cpp.
#include "layout/fragment_map.h"

#include <algorithm>

#include "layout/digit_lists.h"

namespace tilert {
namespace {

// Whether `high`, the next digit of the same hardware index, only carries `low` on.
bool extends(const Digit& low, const Digit& high) {
  return low.dim == high.dim && (low.dim < 0 || high.stride == low.stride * low.extent);
}

// The same across the border between warps and warpgroups, which is one index to everybody but the printer.
bool continues(const Digit& low, const Digit& high) {
  return low.place == Place::warp && high.place == Place::warpgroup && extends(low, high);
}

bool is_thread_place(Place place) { return place == Place::lane || place == Place::warp || place == Place::warpgroup; }

}  // namespace

FragmentMap::FragmentMap(std::vector<int64_t> shape, std::vector<Digit> digits) : shape_(std::move(shape)) {
  std::erase_if(digits, [](const Digit& digit) { return digit.extent == 1; });
  std::ranges::stable_sort(digits, {}, &Digit::place);
  for (Digit& digit : digits) {
    if (digit.dim < 0) digit.stride = 0;
    const bool merges = !digits_.empty() && digits_.back().place == digit.place && extends(digits_.back(), digit);
    if (merges) digits_.back().extent *= digit.extent;
    else digits_.push_back(digit);
  }
}

std::vector<int64_t> FragmentMap::padded_shape() const {
  std::vector<int64_t> padded(shape_.size(), 1);
  for (const Digit& digit : digits_) {
    if (digit.dim >= 0) padded[static_cast<size_t>(digit.dim)] *= digit.extent;
  }
  return padded;
}

int64_t FragmentMap::extent(Place place) const {
  int64_t product = 1;
  for (const Digit& digit : digits_) {
    if (digit.place == place) product *= digit.extent;
  }
  return product;
}

bool FragmentMap::is_partial() const {
  return std::ranges::any_of(digits_, [](const Digit& digit) { return digit.dim == kPartial; });
}

bool FragmentMap::is_replicated() const {
  return std::ranges::any_of(digits_, [](const Digit& digit) { return digit.dim == kReplicated; });
}

void FragmentMap::evaluate_into(int64_t register_index, int64_t thread, int64_t* coords) const {
  std::fill(coords, coords + rank(), 0);
  int64_t rest[2] = {register_index, thread};
  for (const Digit& digit : digits_) {
    if (digit.place == Place::block) continue;
    int64_t& index = rest[digit.place == Place::register_ ? 0 : 1];
    if (digit.dim >= 0) coords[digit.dim] += index % digit.extent * digit.stride;
    index /= digit.extent;
  }
}

std::vector<int64_t> FragmentMap::evaluate(int64_t register_index, int64_t thread, int64_t block) const {
  std::vector<int64_t> coords(shape_.size());
  evaluate_into(register_index, thread, coords.data());
  for (const Digit& digit : digits_) {
    if (digit.place != Place::block) continue;
    if (digit.dim >= 0) coords[static_cast<size_t>(digit.dim)] += block % digit.extent * digit.stride;
    block /= digit.extent;
  }
  return coords;
}

std::vector<Holder> FragmentMap::holders(const std::vector<int64_t>& coords) const {
  const std::vector<int64_t> padded = padded_shape();
  for (size_t d = 0; d < coords.size(); d++) {
    if (coords[d] < 0 || coords[d] >= padded[d]) return {};
  }
  std::vector<Holder> found = {{}};
  int64_t position[2] = {1, 1};
  for (const Digit& digit : digits_) {
    if (digit.place == Place::block) continue;
    const bool in_register = digit.place == Place::register_;
    int64_t& step = position[in_register ? 0 : 1];
    const size_t before = found.size();
    const int64_t copies = digit.dim >= 0 ? 1 : digit.extent;
    for (int64_t copy = 1; copy < copies; copy++) {
      for (size_t i = 0; i < before; i++) {
        found.push_back(found[i]);
        (in_register ? found.back().register_index : found.back().thread) += copy * step;
      }
    }
    if (digit.dim >= 0) {
      const int64_t value = coords[static_cast<size_t>(digit.dim)] / digit.stride % digit.extent;
      for (Holder& holder : found) (in_register ? holder.register_index : holder.thread) += value * step;
    }
    step *= digit.extent;
  }
  std::ranges::sort(found);
  return found;
}

Status FragmentMap::check() const {
  for (const Digit& digit : digits_) {
    if (digit.extent < 1 || digit.dim >= rank() || digit.dim < kPartial) {
      return make_error(Code::kInternal, "fragment map {}: a digit's extent or dim is out of range", text());
    }
    if (digit.dim < 0 && digit.place == Place::register_) {
      return make_error(Code::kInternal, "fragment map {}: registers hold copies or parts", text());
    }
  }
  for (int d = 0; d < rank(); d++) {
    int64_t reached = 1;
    for (const PlacedDigit& placed : dim_chain(*this, d)) {
      if (placed.digit.stride != reached) {
        return make_error(Code::kInternal, "fragment map {}: d{} has a gap or overlap at {}", text(), d, reached);
      }
      reached *= placed.digit.extent;
    }
    if (reached < shape_[static_cast<size_t>(d)]) {
      return make_error(Code::kInternal, "fragment map {}: d{} reaches {} only", text(), d, reached);
    }
  }
  return {};
}

std::vector<PlacedDigit> FragmentMap::register_digits() const {
  std::vector<PlacedDigit> placed;
  int64_t position = 1;
  for (const Digit& digit : digits_) {
    if (digit.place != Place::register_) continue;
    placed.push_back({digit, position});
    position *= digit.extent;
  }
  return placed;
}

std::vector<PlacedDigit> FragmentMap::thread_digits() const {
  std::vector<PlacedDigit> placed;
  int64_t position = 1;
  for (const Digit& digit : digits_) {
    if (!is_thread_place(digit.place)) continue;
    if (!placed.empty() && continues(placed.back().digit, digit)) placed.back().digit.extent *= digit.extent;
    else placed.push_back({digit, position});
    position *= digit.extent;
  }
  return placed;
}

int64_t FragmentMap::register_offset(int64_t register_index, int dim) const {
  int64_t offset = 0;
  for (const Digit& digit : digits_) {
    if (digit.place != Place::register_) continue;
    if (digit.dim == dim) offset += register_index % digit.extent * digit.stride;
    register_index /= digit.extent;
  }
  return offset;
}

std::vector<ThreadTerm> FragmentMap::thread_terms(int dim) const {
  std::vector<ThreadTerm> terms;
  const int64_t count = threads();
  for (const PlacedDigit& placed : thread_digits()) {
    if (placed.digit.dim != dim) continue;
    const bool top = placed.position * placed.digit.extent == count;
    terms.push_back({placed.position, top ? 0 : placed.digit.extent, placed.digit.dim < 0 ? 1 : placed.digit.stride});
  }
  return terms;
}

std::vector<ThreadTerm> FragmentMap::replica_terms() const { return thread_terms(kReplicated); }

FragmentMap FragmentMap::project(const std::vector<int>& dims) const {
  std::vector<int64_t> shape;
  std::vector<int> renamed(shape_.size(), kReplicated);
  for (int dim : dims) {
    renamed[static_cast<size_t>(dim)] = static_cast<int>(shape.size());
    shape.push_back(shape_[static_cast<size_t>(dim)]);
  }
  std::vector<Digit> digits;
  for (Digit digit : digits_) {
    if (digit.dim >= 0) digit.dim = renamed[static_cast<size_t>(digit.dim)];
    if (digit.dim == kReplicated && digit.place == Place::register_) continue;
    digits.push_back(digit);
  }
  return FragmentMap(std::move(shape), std::move(digits));
}

FragmentMap FragmentMap::permute(const std::vector<int>& order) const { return project(order); }

FragmentMap FragmentMap::with_unit_dim(int at) const {
  FragmentMap result = *this;
  result.shape_.insert(result.shape_.begin() + at, 1);
  for (Digit& digit : result.digits_) {
    if (digit.dim >= at) digit.dim++;
  }
  return result;
}

FragmentMap FragmentMap::completed() const {
  std::vector<Digit> digits = digits_;
  for (Digit& digit : digits) {
    if (digit.dim == kPartial) digit.dim = kReplicated;
  }
  return FragmentMap(shape_, std::move(digits));
}

FragmentMap FragmentMap::trimmed() const {
  std::vector<Digit> digits = digits_;
  for (Digit& digit : digits) {
    if (digit.place != Place::register_ || digit.dim < 0) continue;
    const auto dim = static_cast<size_t>(digit.dim);
    const bool reaches_beyond = digit.stride * digit.extent >= padded_shape()[dim];
    const int64_t needed = std::max<int64_t>((shape_[dim] + digit.stride - 1) / digit.stride, 1);
    if (reaches_beyond) digit.extent = std::min(digit.extent, needed);
  }
  return FragmentMap(shape_, std::move(digits));
}

FragmentMap FragmentMap::with_shape(std::vector<int64_t> shape) const {
  FragmentMap result = *this;
  result.shape_ = std::move(shape);
  return result;
}

namespace {

// Elements, row-major, between neighbours along each dim.
std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

}  // namespace

std::optional<FragmentMap> FragmentMap::reshaped(std::vector<int64_t> shape) const {
  if (padded_shape() != shape_) return std::nullopt;
  const std::vector<int64_t> before = row_major_strides(shape_), after = row_major_strides(shape);
  std::vector<Digit> digits;
  for (Digit digit : digits_) {
    if (digit.dim < 0) {
      digits.push_back(digit);
      continue;
    }
    int64_t step = digit.stride * before[static_cast<size_t>(digit.dim)], left = digit.extent;
    for (size_t d = shape.size(); d-- > 0 && left > 1;) {
      const int64_t reach = after[d] * shape[d];
      if (step >= reach) continue;
      const int64_t part = std::min(left, reach / step);
      if (step % after[d] != 0 || reach % step != 0 || left % part != 0) return std::nullopt;
      digits.push_back({digit.place, part, static_cast<int>(d), step / after[d]});
      step *= part;
      left /= part;
    }
    if (left > 1) return std::nullopt;
  }
  FragmentMap map(std::move(shape), std::move(digits));
  if (!map.is_valid() || map.padded_shape() != map.shape()) return std::nullopt;
  return map;
}

FragmentMap FragmentMap::expanded(int64_t parts) const {
  const int last = rank() - 1;
  std::vector<int64_t> shape = shape_;
  shape.back() *= parts;
  std::vector<Digit> digits = {{Place::register_, parts, last, 1}};
  for (Digit digit : digits_) {
    if (digit.dim == last) digit.stride *= parts;
    digits.push_back(digit);
  }
  return FragmentMap(std::move(shape), std::move(digits));
}

std::optional<FragmentMap> FragmentMap::contracted(int64_t parts) const {
  const int last = rank() - 1;
  std::vector<int64_t> shape = shape_;
  if (shape.back() % parts != 0 || digits_.empty()) return std::nullopt;
  shape.back() /= parts;
  std::vector<Digit> digits = digits_;
  Digit& first = digits[0];
  if (first.place != Place::register_ || first.dim != last || first.stride != 1 || first.extent % parts != 0) return std::nullopt;
  first.extent /= parts;
  for (Digit& digit : digits) {
    if (digit.dim != last || &digit == &first) continue;
    if (digit.stride % parts != 0) return std::nullopt;
    digit.stride /= parts;
  }
  return FragmentMap(std::move(shape), std::move(digits));
}

std::optional<RefinedPair> refine(const FragmentMap& a, const FragmentMap& b) {
  RefinedPair pair{a.register_digits(), b.register_digits(), a.thread_digits(), b.thread_digits()};
  if (!split_common(pair.a_registers, pair.b_registers)) return std::nullopt;
  if (!split_common(pair.a_threads, pair.b_threads)) return std::nullopt;
  return pair;
}

}  // namespace tilert
