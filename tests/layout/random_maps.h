// Random valid fragment maps and small loops over their holders, for the tests of this room.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "layout/fragment_map.h"

namespace tilert::test {

using Random = std::mt19937;

inline int pick(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

struct RandomMapOptions {
  int max_rank = 3;
  int max_register_digits = 4;
  bool powers_of_two = false;
  bool padded = true;      // the logical shape may be smaller than what the digits cover
  bool replicated = true;
  int64_t warps = 0;       // 0: random
};

// Gives each dim's digits strides in a random order, so that they tile it.
inline void assign_strides(Random& random, std::vector<Digit>& digits, int rank) {
  for (int d = 0; d < rank; d++) {
    std::vector<Digit*> chain;
    for (Digit& digit : digits) {
      if (digit.dim == d) chain.push_back(&digit);
    }
    std::shuffle(chain.begin(), chain.end(), random);
    int64_t stride = 1;
    for (Digit* digit : chain) {
      digit->stride = stride;
      stride *= digit->extent;
    }
  }
}

inline std::vector<int64_t> random_shape(Random& random, const std::vector<int64_t>& padded, bool smaller) {
  std::vector<int64_t> shape = padded;
  for (int64_t& extent : shape) {
    if (smaller && pick(random, 0, 1) == 1) extent -= pick(random, 0, static_cast<int>(extent) / 3);
  }
  return shape;
}

inline FragmentMap random_map(Random& random, const RandomMapOptions& options = {}) {
  const int rank = pick(random, 1, options.max_rank);
  const std::vector<std::vector<int64_t>> warp_choices = {{}, {2}, {2, 2}, {3}, {3, 2}, {2, 2, 2}};
  std::vector<int64_t> warps = warp_choices[static_cast<size_t>(pick(random, 0, options.powers_of_two ? 2 : 5))];
  if (options.warps != 0) warps = {options.warps};
  std::vector<Digit> digits;
  const int least = options.replicated ? kReplicated : 0;
  for (int i = 0; i < 5; i++) digits.push_back({Place::lane, 2, pick(random, least, rank - 1), 0});
  for (int64_t extent : warps) digits.push_back({Place::warp, extent, pick(random, least, rank - 1), 0});
  const int registers = pick(random, 0, options.max_register_digits);
  for (int i = 0; i < registers; i++) {
    digits.push_back({Place::register_, options.powers_of_two ? 2 : pick(random, 2, 3), pick(random, 0, rank - 1), 0});
  }
  assign_strides(random, digits, rank);
  std::shuffle(digits.begin(), digits.end(), random);
  FragmentMap whole(std::vector<int64_t>(static_cast<size_t>(rank), 1), digits);
  return FragmentMap(random_shape(random, whole.padded_shape(), options.padded), digits);
}

// The same coordinates in the same threads, with the registers numbered in another order and digits cut in pieces.
inline FragmentMap renumbered(Random& random, const FragmentMap& map) {
  std::vector<Digit> registers, threads;
  for (const Digit& digit : map.digits()) {
    if (digit.place != Place::register_) {
      threads.push_back(digit);
      continue;
    }
    const int64_t cut = digit.extent % 2 == 0 && digit.extent > 2 ? 2 : 1;
    registers.push_back({digit.place, cut, digit.dim, digit.stride});
    registers.push_back({digit.place, digit.extent / cut, digit.dim, digit.stride * cut});
  }
  std::shuffle(registers.begin(), registers.end(), random);
  registers.insert(registers.end(), threads.begin(), threads.end());
  return FragmentMap(map.shape(), registers);
}

inline bool inside(const std::vector<int64_t>& coords, const std::vector<int64_t>& shape) {
  for (size_t d = 0; d < shape.size(); d++) {
    if (coords[d] < 0 || coords[d] >= shape[d]) return false;
  }
  return true;
}

// Calls f(register, thread, coords) for every slot of the map, padding included.
inline void for_each_slot(const FragmentMap& map,
                          const std::function<void(int64_t, int64_t, const std::vector<int64_t>&)>& f) {
  const int64_t threads = map.threads(), registers = map.registers();
  std::vector<int64_t> coords(map.shape().size());
  for (int64_t thread = 0; thread < threads; thread++) {
    for (int64_t r = 0; r < registers; r++) {
      map.evaluate_into(r, thread, coords.data());
      f(r, thread, coords);
    }
  }
}

// How many slots hold each padded coordinate.
inline std::map<std::vector<int64_t>, int64_t> count_holders(const FragmentMap& map) {
  std::map<std::vector<int64_t>, int64_t> count;
  for_each_slot(map, [&](int64_t, int64_t, const std::vector<int64_t>& coords) { count[coords]++; });
  return count;
}

inline int64_t sum_of_terms(const std::vector<ThreadTerm>& terms, int64_t thread) {
  int64_t sum = 0;
  for (const ThreadTerm& term : terms) {
    const int64_t value = thread / term.divisor;
    sum += (term.modulus == 0 ? value : value % term.modulus) * term.stride;
  }
  return sum;
}

inline int64_t product(const std::vector<int64_t>& extents) {
  int64_t all = 1;
  for (int64_t extent : extents) all *= extent;
  return all;
}

}  // namespace tilert::test
