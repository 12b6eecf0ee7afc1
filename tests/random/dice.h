// Chance from a seed: the same on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tilert::random {

// One step of splitmix64: a number that looks like chance, from any number.
inline uint64_t scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(scramble(seed)) {}
  int64_t below(int64_t n) { return static_cast<int64_t>((state_ = scramble(state_)) % static_cast<uint64_t>(n)); }
  int64_t from(int64_t low, int64_t high) { return low + below(high - low + 1); }
  uint64_t bits() { return state_ = scramble(state_); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T of(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int64_t>(list.size()))];
  }
  template <class T, size_t N>
  T of(const T (&list)[N]) {
    return list[below(static_cast<int64_t>(N))];
  }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }

 private:
  uint64_t state_;
};

}  // namespace tilert::random
