// Splitting and pairing of digit lists.
#include "layout/digit_lists.h"

#include <algorithm>

namespace tilert {

void split_digit(std::vector<PlacedDigit>& list, size_t at, int64_t extent) {
  PlacedDigit high = list[at];
  list[at].digit.extent = extent;
  high.digit.extent /= extent;
  high.digit.stride *= extent;
  high.position *= extent;
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at) + 1, high);
}

bool split_common(std::vector<PlacedDigit>& a, std::vector<PlacedDigit>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); i++) {
    const int64_t x = a[i].digit.extent, y = b[i].digit.extent;
    if (x == y) continue;
    if (x > y ? x % y != 0 : y % x != 0) return false;
    if (x > y) split_digit(a, i, y);
    else split_digit(b, i, x);
  }
  return a.size() == b.size();
}

std::vector<PlacedDigit> dim_chain(const FragmentMap& map, int dim) {
  std::vector<PlacedDigit> chain;
  for (const auto& list : {map.register_digits(), map.thread_digits()}) {
    for (const PlacedDigit& placed : list) {
      if (placed.digit.dim == dim) chain.push_back(placed);
    }
  }
  int64_t block_position = 1;
  for (const Digit& digit : map.digits()) {
    if (digit.place != Place::block) continue;
    if (digit.dim == dim) chain.push_back({digit, block_position});
    block_position *= digit.extent;
  }
  std::ranges::stable_sort(chain, {}, [](const PlacedDigit& placed) { return placed.digit.stride; });
  return chain;
}

}  // namespace tilert
