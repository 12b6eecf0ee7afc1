// AddressMap: evaluation, sizes, vector width, builders.
#include "layout/address_map.h"

#include <algorithm>
#include <bit>

#include "support/round.h"

namespace tilert {
namespace {

constexpr int64_t kPlainAlignment = 128;  // what an unswizzled TMA tile needs; more than any vector access does
constexpr int64_t kSwizzleRows = 8;       // rows after which the XOR pattern repeats
constexpr int64_t kSpans[] = {128, 64, 32};

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Rows of `row_bytes`, dims before the last row-major over them.
AddressMap rows_map(const std::vector<int64_t>& shape, int64_t element_bytes, int64_t row_bytes) {
  std::vector<AddressTerm> terms;
  int64_t stride = row_bytes;
  for (int d = static_cast<int>(shape.size()) - 1; d >= 0; d--) {
    const bool innermost = d + 1 == static_cast<int>(shape.size());
    terms.insert(terms.begin(), {d, 1, 0, innermost ? element_bytes : stride});
    if (!innermost) stride *= shape[static_cast<size_t>(d)];
  }
  return AddressMap(shape, element_bytes, std::move(terms));
}

// Whether each n elements lie side by side, from a multiple of n on.
bool lies_in_runs(const std::vector<int64_t>& places, int64_t n) {
  for (size_t i = 0; i < places.size(); i++) {
    const auto within = static_cast<int64_t>(i) % n;
    if (within == 0 ? places[i] % n != 0 : places[i] != places[i - 1] + 1) return false;
  }
  return true;
}

}  // namespace

AddressMap::AddressMap(std::vector<int64_t> shape, int64_t element_bytes, std::vector<AddressTerm> terms, Swizzle swizzle)
    : shape_(std::move(shape)), element_bytes_(element_bytes), terms_(std::move(terms)), swizzle_(swizzle) {
  int64_t last = 0;
  for (const AddressTerm& term : terms_) {
    const int64_t pieces = ceil_div(std::max<int64_t>(shape_[static_cast<size_t>(term.dim)], 1), term.divisor);
    last += (term.modulus == 0 ? pieces - 1 : std::min(pieces, term.modulus) - 1) * term.stride;
  }
  alignment_ = std::max(kPlainAlignment, swizzle_.period());
  tile_bytes_ = round_up(last + element_bytes_, swizzle_.period());
  stage_stride_ = round_up(tile_bytes_, alignment_);
}

AddressMap AddressMap::custom(std::vector<int64_t> shape, int64_t element_bytes, std::vector<int64_t> places) {
  AddressMap map(std::move(shape), element_bytes, {});
  map.tile_bytes_ = places.empty() ? 0 : (*std::ranges::max_element(places) + 1) * element_bytes;
  map.stage_stride_ = round_up(map.tile_bytes_, map.alignment_);
  map.places_ = std::make_shared<const std::vector<int64_t>>(std::move(places));
  return map;
}

int64_t AddressMap::evaluate(std::span<const int64_t> coords, int64_t stage) const {
  int64_t address = stage * stage_stride_;
  if (places_) {
    int64_t element = 0;
    for (size_t d = 0; d < shape_.size(); d++) element = element * shape_[d] + coords[d];
    return address + (*places_)[static_cast<size_t>(element)] * element_bytes_;
  }
  for (const AddressTerm& term : terms_) {
    int64_t value = coords[static_cast<size_t>(term.dim)] / term.divisor;
    if (term.modulus != 0) value %= term.modulus;
    address += value * term.stride;
  }
  return swizzle_.apply(address);
}

int64_t AddressMap::evaluate(std::initializer_list<int64_t> coords, int64_t stage) const {
  return evaluate(std::span<const int64_t>(coords.begin(), coords.size()), stage);
}

int64_t AddressMap::sub_tile_bytes() const {
  int64_t rows = 1;
  for (const AddressTerm& term : terms_) {
    if (term.divisor > 1) return term.stride;
    if (term.stride == span_bytes()) rows = shape_[static_cast<size_t>(term.dim)];
  }
  return span_bytes() == 0 ? tile_bytes_ : round_up(rows, kSwizzleRows) * span_bytes();
}

int64_t AddressMap::vector_width(int dim, int64_t max_bytes) const {
  const int64_t extent = shape_[static_cast<size_t>(dim)];
  const int64_t limit = std::min<int64_t>(max_bytes, int64_t{1} << swizzle_.base);
  auto fits = [&](int64_t n) {
    if (n * element_bytes_ > limit || extent % n != 0) return false;
    if (places_) return dim + 1 == static_cast<int>(shape_.size()) && lies_in_runs(*places_, n);
    bool contiguous = false;
    for (const AddressTerm& term : terms_) {
      if (shape_[static_cast<size_t>(term.dim)] == 1) continue;
      const bool unit = term.dim == dim && term.divisor == 1 && term.stride == element_bytes_;
      if (unit && (term.modulus == 0 || term.modulus % n == 0)) contiguous = true;
      else if (term.stride % (n * element_bytes_) != 0 || (term.dim == dim && term.divisor % n != 0)) return false;
    }
    return contiguous;
  };
  int64_t width = 1;
  while (fits(width * 2)) width *= 2;
  return width;
}

AddressMap AddressMap::permute(const std::vector<int>& order) const {
  AddressMap result = *this;
  for (size_t k = 0; k < order.size(); k++) result.shape_[k] = shape_[static_cast<size_t>(order[k])];
  for (AddressTerm& term : result.terms_) {
    term.dim = static_cast<int>(std::ranges::find(order, term.dim) - order.begin());
  }
  return result;
}

std::string AddressMap::text() const {
  std::string out = fmt::format("[{}]x{} (", fmt::join(shape_, ", "), element_bytes_);
  if (places_) return out + "custom)";
  for (size_t i = 0; i < terms_.size(); i++) {
    const AddressTerm& term = terms_[i];
    out += fmt::format("{}d{}", i == 0 ? "" : " + ", term.dim);
    if (term.divisor != 1) out += fmt::format("/{}", term.divisor);
    if (term.modulus != 0) out += fmt::format("%{}", term.modulus);
    out += fmt::format("*{}", term.stride);
  }
  out += ')';
  if (swizzle_.bits != 0) out += fmt::format(" swizzle({},{},{})", swizzle_.bits, swizzle_.base, swizzle_.shift);
  return out;
}

AddressMap row_major_map(const std::vector<int64_t>& shape, int64_t element_bytes) {
  return padded_map(shape, element_bytes, 0);
}

AddressMap padded_map(const std::vector<int64_t>& shape, int64_t element_bytes, int64_t pad_bytes) {
  return rows_map(shape, element_bytes, (shape.empty() ? 1 : shape.back()) * element_bytes + pad_bytes);
}

AddressMap swizzled_rows_map(const std::vector<int64_t>& shape, int64_t element_bytes, int64_t row_bytes) {
  AddressMap plain = row_major_map(shape, element_bytes);
  if (row_bytes < kSpans[2] || !std::has_single_bit(static_cast<uint64_t>(row_bytes))) return plain;
  const int chunk_bits = std::countr_zero(static_cast<uint64_t>(row_bytes)) - 4;
  const Swizzle swizzle{std::min(chunk_bits, 3), 4, std::max(chunk_bits, 3)};
  if (plain.tile_bytes() % swizzle.period() != 0) return plain;
  return AddressMap(shape, element_bytes, plain.terms(), swizzle);
}

int64_t swizzle_span(int64_t row_bytes) {
  const int64_t* span = std::ranges::find_if(kSpans, [&](int64_t span) { return row_bytes % span == 0; });
  return span == std::end(kSpans) ? 0 : *span;
}

Result<AddressMap> swizzled_map(const std::vector<int64_t>& shape, int64_t element_bytes, int64_t span, int banks) {
  const int64_t row_bytes = (shape.empty() ? 1 : shape.back()) * element_bytes;
  if (span == 0) span = swizzle_span(row_bytes);
  if (std::ranges::find(kSpans, span) == std::end(kSpans) || row_bytes % span != 0) {
    return make_error(Code::kInvalidArgument, "rows of {} bytes cannot be swizzled {}: no such span of 128, 64 or 32 bytes",
                      row_bytes, span == 0 ? std::string("at all") : fmt::format("in pieces of {}", span));
  }
  const int last = static_cast<int>(shape.size()) - 1;
  const int64_t rows = last >= 1 ? shape[static_cast<size_t>(last) - 1] : 1;
  const int64_t sub_tile = round_up(rows, kSwizzleRows) * span, per_span = span / element_bytes;
  const int64_t pieces = row_bytes / span;
  std::vector<AddressTerm> terms;
  if (pieces > 1) terms = {{last, per_span, 0, sub_tile}, {last, 1, per_span, element_bytes}};
  else terms = {{last, 1, 0, element_bytes}};
  if (last >= 1) terms.insert(terms.begin(), {last - 1, 1, 0, span});
  int64_t tile = sub_tile * pieces;
  for (int d = last - 2; d >= 0; d--) {
    terms.insert(terms.begin(), {d, 1, 0, tile});
    tile *= shape[static_cast<size_t>(d)];
  }
  const int bits = span == 128 ? 3 : span == 64 ? 2 : 1;
  return AddressMap(shape, element_bytes, std::move(terms), Swizzle{bits, 4, banks == 64 ? 4 : 3});
}

}  // namespace tilert
