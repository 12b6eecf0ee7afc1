// FragmentMap: which thread and register holds which element of a tile (hardware -> coordinate).
// Here: the map itself and its elementary algebra. Builders are in fragment_builders.h, ownership of an access in
// same_owner.h, movement between maps in conversion.h, reductions in reduce_plan.h; addresses are in address_map.h.
//
// A map is an ordered list of mixed-radix digits. Each digit reads one piece of a hardware index (register, lane, warp,
// warpgroup, block) and adds value * stride to one coordinate. Within a place the listed order is low to high.
//   coords[d] = sum over the digits with dim d of (digit value) * stride
// A matrix over GF(2) whose columns are distinct powers of two is the case in which all extents are 2. Nothing XORs on
// this side: an XOR in ownership is never needed by an instruction, while bank conflicts need it in addresses; so XORs
// live in AddressMap alone, and here every map is a sum, with radices that need not be powers of two (24, 96, 576).
//
// A valid map covers its *padded* shape, at least the logical one; users guard the excess.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tilert {

enum class Place : uint8_t { register_, lane, warp, warpgroup, block };

// The dim of a digit that moves no coordinate.
inline constexpr int kReplicated = -1;  // each value of the digit holds a copy
inline constexpr int kPartial = -2;     // each value holds one part of a reduction not yet finished

struct Digit {
  Place place = Place::register_;
  int64_t extent = 1;
  int dim = kReplicated;
  int64_t stride = 0;  // in elements of the dim; 0 for kReplicated and kPartial
  friend bool operator==(const Digit&, const Digit&) = default;
};

// A digit with where it sits in its hardware index: value = (index / position) % extent. For a thread digit the index is
// the thread in its block, for a register digit the register.
struct PlacedDigit {
  Digit digit;
  int64_t position = 1;
};

// value = (thread / divisor) % modulus; modulus 0 where no reduction is needed (the topmost digit).
struct ThreadTerm {
  int64_t divisor = 1;
  int64_t modulus = 0;
  int64_t stride = 0;  // what the value is multiplied by
  friend bool operator==(const ThreadTerm&, const ThreadTerm&) = default;
};

struct Holder {
  int64_t register_index = 0;
  int64_t thread = 0;
  friend auto operator<=>(const Holder&, const Holder&) = default;
};

class FragmentMap {
 public:
  FragmentMap() = default;
  // Digits of extent 1 are dropped, neighbours that form one larger digit are merged, order of places becomes
  // register, lane, warp, warpgroup, block. So equal maps are equal values.
  FragmentMap(std::vector<int64_t> shape, std::vector<Digit> digits);

  const std::vector<int64_t>& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  const std::vector<Digit>& digits() const { return digits_; }
  std::vector<int64_t> padded_shape() const;

  int64_t extent(Place place) const;  // product of that place's digits
  int64_t registers() const { return extent(Place::register_); }
  // lane + lanes * (warp + warps * (warpgroup + ...)): lanes() is the warp size of a map over full warps.
  int64_t threads() const { return extent(Place::lane) * extent(Place::warp) * extent(Place::warpgroup); }
  int64_t lanes() const { return extent(Place::lane); }
  bool is_partial() const;
  bool is_replicated() const;  // some thread digit holds copies

  // The element that `register_index` of `thread` holds. Needs registers() and threads() to bound its arguments.
  std::vector<int64_t> evaluate(int64_t register_index, int64_t thread, int64_t block = 0) const;
  void evaluate_into(int64_t register_index, int64_t thread, int64_t* coords) const;

  // Every (register, thread) that holds the element; several where replicated or partial; empty outside padded_shape().
  std::vector<Holder> holders(const std::vector<int64_t>& coords) const;

  // Each dim's digits tile it without gap or overlap from stride 1 up and reach the logical extent; replicated and partial
  // digits are thread digits. The error says what is wrong.
  Status check() const;
  bool is_valid() const { return static_cast<bool>(check()); }

  // The digits with their positions, register digits and thread digits (lane, warp, warpgroup as one index).
  std::vector<PlacedDigit> register_digits() const;
  std::vector<PlacedDigit> thread_digits() const;

  // For generated code. Coordinate d of register r in a thread = register_offset(r, d) + sum of thread_terms(d).
  int64_t register_offset(int64_t register_index, int dim) const;
  std::vector<ThreadTerm> thread_terms(int dim) const;
  // Terms that are all zero in exactly one holder of each element: the one that stores or adds it to memory.
  std::vector<ThreadTerm> replica_terms() const;

  // The dims kept, in that order. A dropped dim's thread digits become replicated, its register digits vanish.
  FragmentMap project(const std::vector<int>& dims) const;
  // New dim k is old dim order[k]; order is a permutation.
  FragmentMap permute(const std::vector<int>& order) const;
  // A dim of extent 1 put before dim `at` (at == rank() appends).
  FragmentMap with_unit_dim(int at) const;
  // Partial digits become replicated ones: the map after the parts have been added up everywhere.
  FragmentMap completed() const;
  // Register digits that lie wholly beyond the logical shape are cut; thread digits stay.
  FragmentMap trimmed() const;
  // The same digits for another logical shape (no larger than what the digits cover).
  FragmentMap with_shape(std::vector<int64_t> shape) const;

  // The same elements, row-major, under another shape of as many; nothing where a digit crosses the border of a new dim, or
  // where the map holds more than the shape. Registers and threads keep their elements.
  std::optional<FragmentMap> reshaped(std::vector<int64_t> shape) const;

  // Each element as `parts` narrower ones along the last dim, all in the thread that has it, lowest register first; and back,
  // where threads have whole groups so.
  FragmentMap expanded(int64_t parts) const;
  std::optional<FragmentMap> contracted(int64_t parts) const;

  std::string text() const;  // "[16, 8] register(2:d1*1 2:d0*8) lane(4:d1*2 8:d0*1)"; rep and part for -1 and -2
  friend bool operator==(const FragmentMap&, const FragmentMap&) = default;

 private:
  std::vector<int64_t> shape_;
  std::vector<Digit> digits_;
};

// Reads the digits of a map's text: places in any order, each once. Dims are named by `dim_names` ("mk": one letter each)
// or d0, d1, .. where it is empty. "*:n*8" stands for a digit of extent `fill`.
Result<std::vector<Digit>> parse_digits(std::string_view text, std::string_view dim_names = {}, int64_t fill = 1);
Result<FragmentMap> parse_fragment_map(std::string_view text);

// Both maps with their digits split so that register digits and thread digits have common breakpoints, position by
// position; nullopt where the radices do not nest or the counts differ. The digits are not merged again.
struct RefinedPair {
  std::vector<PlacedDigit> a_registers, b_registers, a_threads, b_threads;
};
std::optional<RefinedPair> refine(const FragmentMap& a, const FragmentMap& b);

}  // namespace tilert
