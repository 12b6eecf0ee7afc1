// The default distribution of a tile: a search over how the thread index is cut into one piece per dim.
#include <algorithm>
#include <limits>

#include "layout/fragment_builders.h"
#include "support/round.h"

namespace tilert {
namespace {

// The weights of the search, per element held: an access moves `vector` elements at a time, and its neighbours' should
// lie next to it for at least a memory transaction.
constexpr int64_t kScale = 64;            // cost of one register
constexpr int64_t kAccessCost = 128;      // cost of one access
constexpr int64_t kScatterCost = 1024;    // per register, divided by the contiguous run in elements
constexpr int64_t kEnoughRun = 64;        // elements after which a longer run gains nothing
constexpr int64_t kMeetCost = 512;        // of warps that meet in shared memory, once per tile

// The thread index as prime digits, lanes first: a dim takes a run of them.
std::vector<Digit> thread_factors(int64_t lanes, int64_t warps) {
  std::vector<Digit> factors;
  auto add = [&](int64_t count, Place place) {
    for (int64_t prime = 2; count > 1; prime++) {
      for (; count % prime == 0; count /= prime) factors.push_back({place, prime, kReplicated, 0});
    }
  };
  add(lanes, Place::lane);
  add(warps, Place::warp);
  return factors;
}

struct Cut {
  int64_t vector = 1;
  std::vector<int64_t> threads;  // per dim, innermost first
  int64_t cost = std::numeric_limits<int64_t>::max();
};

class Search {
 public:
  Search(const std::vector<int64_t>& shape, const std::vector<Digit>& factors, int together)
      : shape_(shape), factors_(factors), together_(together < 0 ? shape.size() : shape.size() - 1 - static_cast<size_t>(together)) {}

  Cut best(int64_t vector) {
    for (int64_t v = vector; v >= 1; v /= 2) {
      current_ = {v, std::vector<int64_t>(shape_.size(), 1), 0};
      descend(0, 0);
    }
    return best_;
  }

 private:
  // Extent of the dim that is `depth`-th from the innermost, in vectors there.
  int64_t extent(size_t depth) const {
    const int64_t whole = std::max<int64_t>(shape_[shape_.size() - 1 - depth], 1);
    return depth == 0 ? ceil_div(whole, current_.vector) : whole;
  }

  void descend(size_t depth, size_t used) {
    if (depth == shape_.size()) return judge();
    int64_t threads = 1;
    for (size_t next = used;; next++) {
      current_.threads[depth] = threads;
      if (depth == together_) meets_ = next > used && factors_[next - 1].place == Place::warp;
      descend(depth + 1, next);
      if (next == factors_.size() || threads >= extent(depth)) break;
      threads *= factors_[next].extent;
    }
  }

  void judge() {
    int64_t registers = current_.vector, run = current_.vector;
    bool whole_rows = true;
    for (size_t depth = 0; depth < shape_.size(); depth++) {
      registers *= ceil_div(extent(depth), current_.threads[depth]);
      if (whole_rows) run *= std::min(current_.threads[depth], extent(depth));
      whole_rows = whole_rows && current_.threads[depth] >= extent(depth);
    }
    const int64_t scatter = kScatterCost / std::min(run, kEnoughRun);
    current_.cost = registers * (kScale + scatter) + registers / current_.vector * kAccessCost + (meets_ ? kMeetCost : 0);
    if (current_.cost < best_.cost) best_ = current_;
  }

  const std::vector<int64_t>& shape_;
  const std::vector<Digit>& factors_;
  const size_t together_;  // counted from the innermost dim
  bool meets_ = false;     // several warps share a line along it
  Cut current_, best_;
};

int64_t fitting_vector(int64_t wanted, int64_t extent) {
  int64_t vector = 1;
  while (vector * 2 <= wanted && extent % (vector * 2) == 0) vector *= 2;
  return vector;
}

}  // namespace

FragmentMap blocked_map(const std::vector<int64_t>& shape, int64_t threads, int64_t vector, int64_t warp_size, int together) {
  const int64_t lanes = std::min(threads, warp_size);
  std::vector<Digit> digits = thread_factors(lanes, threads / lanes);
  if (shape.empty()) return FragmentMap(shape, std::move(digits));
  const Cut cut = Search(shape, digits, together).best(fitting_vector(vector, std::max<int64_t>(shape.back(), 1)));
  size_t next = 0;
  std::vector<Digit> registers;
  for (size_t depth = 0; depth < shape.size(); depth++) {
    const size_t at = shape.size() - 1 - depth;
    const int dim = static_cast<int>(at);
    int64_t stride = depth == 0 ? cut.vector : 1;
    if (stride > 1) registers.push_back({Place::register_, stride, dim, 1});
    for (int64_t taken = 1; taken < cut.threads[depth]; next++) {
      digits[next].dim = dim;
      digits[next].stride = stride;
      stride *= digits[next].extent;
      taken *= digits[next].extent;
    }
    registers.push_back({Place::register_, std::max<int64_t>(ceil_div(shape[at], stride), 1), dim, stride});
  }
  registers.insert(registers.end(), digits.begin(), digits.end());
  return FragmentMap(shape, std::move(registers));
}

FragmentMap beside_map(const FragmentMap& known, const std::vector<int>& dims, const std::vector<int64_t>& shape, int64_t vector) {
  const int last = static_cast<int>(shape.size()) - 1;
  const int64_t extent = shape.back();
  int64_t stride = fitting_vector(vector, extent);
  std::vector<Digit> digits{{Place::register_, stride, last, 1}};
  for (Digit digit : known.digits()) {
    if (digit.dim >= 0) digit.dim = dims[static_cast<size_t>(digit.dim)];
    if (digit.dim == kReplicated) digit.stride = 0;
    if (digit.dim == kReplicated && digit.place == Place::register_) continue;  // of a unit dim
    int64_t taken = 1;
    while (digit.dim == kReplicated && taken * stride < extent && digit.extent % (taken * 2) == 0) taken *= 2;
    if (taken > 1) digits.push_back({digit.place, taken, last, stride});
    stride *= taken;
    digit.extent /= taken;
    digits.push_back(digit);
  }
  digits.push_back({Place::register_, ceil_div(extent, stride), last, stride});
  return FragmentMap(shape, std::move(digits));
}

FragmentMap replicated_map(const std::vector<int64_t>& shape, int64_t threads, int64_t warp_size) {
  const int64_t lanes = std::min(threads, warp_size);
  std::vector<Digit> digits = {{Place::lane, lanes, kReplicated, 0}, {Place::warp, threads / lanes, kReplicated, 0}};
  for (size_t d = shape.size(); d-- > 0;) digits.push_back({Place::register_, shape[d], static_cast<int>(d), 1});
  return FragmentMap(shape, std::move(digits));
}

}  // namespace tilert
