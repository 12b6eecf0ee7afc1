// Bank conflicts by enumeration.
#include "layout/banks.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tilert {
namespace {

constexpr int64_t kBanks = 32, kWordBytes = 4, kPassBytes = kBanks * kWordBytes;

// Passes for the lanes that shared memory takes together: the most distinct words that one bank must give.
int64_t passes(std::span<const int64_t> addresses, int64_t access_bytes) {
  std::array<int64_t, kBanks * 4> words;
  size_t count = 0;
  for (int64_t address : addresses) {
    if (address < 0) continue;
    for (int64_t word = address / kWordBytes; word <= (address + access_bytes - 1) / kWordBytes; word++) {
      if (count < words.size()) words[count++] = word;
    }
  }
  std::sort(words.begin(), words.begin() + count);
  const auto end = std::unique(words.begin(), words.begin() + count);
  std::array<int64_t, kBanks> load{};
  for (auto word = words.begin(); word != end; ++word) load[static_cast<size_t>(*word % kBanks)]++;
  return std::ranges::max(load);
}

}  // namespace

BankCost bank_conflicts(std::span<const int64_t> lane_addresses, int64_t access_bytes) {
  const auto group = static_cast<size_t>(kPassBytes / std::max(access_bytes, kWordBytes));
  BankCost cost;
  for (size_t first = 0; first < lane_addresses.size(); first += group) {
    const auto lanes = lane_addresses.subspan(first, std::min(group, lane_addresses.size() - first));
    const int64_t needed = passes(lanes, access_bytes);
    cost.wavefronts += needed;
    cost.ideal += needed > 0;
  }
  return cost;
}

BankCost matrix_rows_conflicts(std::span<const int64_t> row_addresses) { return {passes(row_addresses, 16), 1}; }

BankCost ldmatrix_conflicts(const AddressMap& map, std::vector<int64_t> coords, int row_dim) {
  std::array<int64_t, 8> rows;
  for (int64_t& row : rows) {
    row = map.evaluate(coords);
    coords[static_cast<size_t>(row_dim)]++;
  }
  return matrix_rows_conflicts(rows);
}

BankCost fragment_conflicts(const FragmentMap& fragment, const AddressMap& memory, int64_t width, int64_t max_accesses) {
  const int64_t lanes = fragment.lanes(), registers = fragment.registers();
  std::vector<int64_t> addresses(static_cast<size_t>(lanes)), coords(fragment.shape().size());
  BankCost total;
  for (int64_t r = 0; r < registers && r / width < max_accesses; r += width) {
    for (int64_t lane = 0; lane < lanes; lane++) {
      fragment.evaluate_into(r, lane, coords.data());
      bool inside = true;
      for (size_t d = 0; d < coords.size(); d++) inside = inside && coords[d] < memory.shape()[d];
      addresses[static_cast<size_t>(lane)] = inside ? memory.evaluate(coords) : -1;
    }
    const BankCost one = bank_conflicts(addresses, width * memory.element_bytes());
    total.wavefronts += one.wavefronts;
    total.ideal += one.ideal;
  }
  return total;
}

int64_t fragment_vector_width(const FragmentMap& fragment, const AddressMap& memory, int64_t max_bytes) {
  const std::vector<PlacedDigit> registers = fragment.register_digits();
  if (registers.empty() || registers[0].digit.dim < 0 || registers[0].digit.stride != 1) return 1;
  const int64_t extent = registers[0].digit.extent;
  return std::min(memory.vector_width(registers[0].digit.dim, max_bytes), extent & -extent);
}

}  // namespace tilert
