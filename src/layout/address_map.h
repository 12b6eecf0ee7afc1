// AddressMap: where an element of a tile lies in shared (or scratch) memory (coordinate -> byte address).
// Integer affine over mixed-radix pieces of the coordinates, then an XOR swizzle. Who holds an element is fragment_map.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"

namespace tilert {

// address += (coords[dim] / divisor % modulus) * stride; modulus 0 means no reduction (the topmost piece of its dim).
struct AddressTerm {
  int dim = 0;
  int64_t divisor = 1;
  int64_t modulus = 0;
  int64_t stride = 0;  // bytes
  friend bool operator==(const AddressTerm&, const AddressTerm&) = default;
};

// address ^= ((address >> (base + shift)) & ((1 << bits) - 1)) << base. bits 0: none.
struct Swizzle {
  int bits = 0, base = 4, shift = 3;
  int64_t apply(int64_t address) const {
    return address ^ (((address >> (base + shift)) & ((int64_t{1} << bits) - 1)) << base);
  }
  int64_t period() const { return bits == 0 ? 1 : int64_t{1} << (base + shift + bits); }  // bytes after which it repeats
  friend bool operator==(const Swizzle&, const Swizzle&) = default;
};

class AddressMap {
 public:
  AddressMap() = default;
  AddressMap(std::vector<int64_t> shape, int64_t element_bytes, std::vector<AddressTerm> terms, Swizzle swizzle = {});

  // Each element, row-major, at its place of the list, counted in elements; no two alike.
  static AddressMap custom(std::vector<int64_t> shape, int64_t element_bytes, std::vector<int64_t> places);

  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t element_bytes() const { return element_bytes_; }
  const std::vector<AddressTerm>& terms() const { return terms_; }
  const Swizzle& swizzle() const { return swizzle_; }

  // Byte address of an element in slot `stage` of a ring, from the (aligned) start of slot 0.
  int64_t evaluate(std::span<const int64_t> coords, int64_t stage = 0) const;
  int64_t evaluate(std::initializer_list<int64_t> coords, int64_t stage = 0) const;

  bool is_custom() const { return places_ != nullptr; }

  int64_t tile_bytes() const { return tile_bytes_; }      // one slot, padding included
  int64_t stage_stride() const { return stage_stride_; }  // tile_bytes rounded up to the alignment
  int64_t bytes(int64_t stages = 1) const { return stage_stride_ * (stages - 1) + tile_bytes_; }
  int64_t alignment() const { return alignment_; }        // what the start of the buffer must be a multiple of

  // Bytes of a swizzled row piece: 128, 64 or 32, and 0 where not swizzled; and the distance between row pieces of
  // neighbouring sub-tiles (rows x span).
  int64_t span_bytes() const { return swizzle_.bits == 0 ? 0 : int64_t{16} << swizzle_.bits; }
  int64_t sub_tile_bytes() const;

  // The most elements along `dim`, a power of two, that stay one aligned access of at most max_bytes wherever it starts
  // at a multiple of itself; 1 if none.
  int64_t vector_width(int dim, int64_t max_bytes = 16) const;

  // New dim k is old dim order[k].
  AddressMap permute(const std::vector<int>& order) const;

  std::string text() const;  // "[64, 64]x2 (d0*128 + d1/1%64*2) swizzle(3,4,3)"
  friend bool operator==(const AddressMap&, const AddressMap&) = default;

 private:
  std::vector<int64_t> shape_;
  int64_t element_bytes_ = 1;
  std::vector<AddressTerm> terms_;
  Swizzle swizzle_;
  std::shared_ptr<const std::vector<int64_t>> places_;  // custom
  int64_t tile_bytes_ = 0, stage_stride_ = 0, alignment_ = 16;
};

AddressMap row_major_map(const std::vector<int64_t>& shape, int64_t element_bytes);
// Rows of the innermost dim are pad_bytes longer than their elements.
AddressMap padded_map(const std::vector<int64_t>& shape, int64_t element_bytes, int64_t pad_bytes);
// Rows in pieces of `span` bytes (128, 64 or 32; 0: the largest that divides the row), each piece's rows one after
// another (rounded up to 8 rows), pieces rows x span apart, 16-byte chunks XORed with the row: the order that TMA writes
// with a box of `span` bytes and that wgmma reads. Dims before the last two are whole tiles. INVALID where no span divides.
// With 64 banks two times as many rows lie beside each other before a chunk moves on: sixteen rows' chunks are on different banks.
Result<AddressMap> swizzled_map(const std::vector<int64_t>& shape, int64_t element_bytes, int64_t span = 0, int banks = 32);

// Row-major, each 16-byte chunk XORed with the number of its row of `row_bytes`, as far as that is a power of two from 32 on
// that divides the tile; plain row-major else. What a tile with views has: where a byte lies depends on its row-major place
// alone, so that any shape and element type of the tile's bytes has the same form.
AddressMap swizzled_rows_map(const std::vector<int64_t>& shape, int64_t element_bytes, int64_t row_bytes);

// The largest of 128, 64 and 32 that divides `row_bytes`; 0 if none does.
int64_t swizzle_span(int64_t row_bytes);

}  // namespace tilert
