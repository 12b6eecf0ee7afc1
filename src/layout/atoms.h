// Atoms: the matrix instructions, one row of atoms.def each: extents, dtypes, and who holds which element of A, B and C.
// What a target has is asked of target.h; the instructions' text is device/cuda's; which atom is taken is tune's choice.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "layout/fragment_map.h"
#include "support/dtype.h"
#include "target/target.h"

namespace tilert {

enum class AtomScope : uint8_t { warp, warpgroup };

struct Atom {
  std::string_view name;       // "mma_m16n8k16_f16_f32"; the device primitive is "tl_" + name
  AtomScope scope = AtomScope::warp;
  Feature feature = Feature::mma_f16;
  int64_t m = 0, n = 0, k = 0;  // n 0: any width that wgmma_n_is_legal accepts
  DType a = DType::none, b = DType::none, c = DType::none;
  std::vector<Digit> a_digits, b_digits;  // dims (m, a_k()) and (k, n); empty where the operand cannot be in registers
  std::vector<Digit> c_template;          // dims (m, n); a digit of extent 0 stands for n / 8

  bool sparse = false;  // a has k / 2 columns (ir/semantics.h)

  int64_t a_k() const { return sparse ? k / 2 : k; }
  bool a_in_registers() const { return !a_digits.empty(); }
  bool b_in_registers() const { return !b_digits.empty(); }
  // The accumulator's digits, dims (m, n), for an instruction `width` columns wide (ignored where n is fixed).
  std::vector<Digit> c_digits(int64_t width = 0) const;
  int64_t a_registers() const;  // elements per thread, not 32-bit registers
  int64_t b_registers() const;
  int64_t c_registers(int64_t width = 0) const;
  bool is_wgmma() const { return scope == AtomScope::warpgroup; }
};

const std::vector<Atom>& atoms();
const Atom* find_atom(std::string_view name);
// The atoms that `target` has for these dtypes, best first (wgmma, then larger k).
std::vector<const Atom*> atoms_for(const Target& target, DType a, DType b, DType c, bool sparse = false);

// Widths that one wgmma can have: multiples of 8 up to 256; for int8 8, 16, 24, 32, then multiples of 16.
bool wgmma_n_is_legal(const Atom& atom, int64_t n);
// The widest legal instruction that divides `columns` (padded to 8 or 16 by the caller); 0 if none.
int64_t wgmma_n(const Atom& atom, int64_t columns);

// Warpgroups that share the rows of a tile of products evenly, where nobody asks for a number; three start with 128 registers a
// thread, too few for wider products.
inline int usual_warpgroups(int64_t rows, int64_t columns) {
  const int64_t atoms = (rows + 63) / 64;
  return atoms % 2 == 0 ? 2 : atoms == 3 && columns <= 192 ? 3 : 1;
}

}  // namespace tilert
