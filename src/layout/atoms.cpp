// The table of atoms.def as values.
#include "layout/atoms.h"
#include "support/immortal.h"

#include <algorithm>

namespace tilert {
namespace {

constexpr int64_t kWgmmaColumns = 8;      // the step of wgmma's widths
constexpr int64_t kWgmmaMaxColumns = 256;
constexpr int64_t kWgmmaInt8Fine = 32;    // up to here int8 widths go in steps of 8, beyond in steps of 16

struct Row {
  std::string_view name;
  AtomScope scope;
  Feature feature;
  int64_t m, n, k;
  DType a, b, c;
  std::string_view a_text, b_text, c_text;
  bool sparse = false;
};

constexpr Row kRows[] = {
#define TILERT_ATOM(name, scope, feature, m, n, k, a, b, c, a_text, b_text, c_text) \
  {name, AtomScope::scope, Feature::feature, m, n, k, DType::a, DType::b, DType::c, a_text, b_text, c_text},
#define TILERT_SPARSE_ATOM(name, scope, feature, m, n, k, a, b, c, a_text, b_text, c_text) \
  {name, AtomScope::scope, Feature::feature, m, n, k, DType::a, DType::b, DType::c, a_text, b_text, c_text, true},
#include "layout/atoms.def"
};

// The table's text is the program's own; one that cannot be read gives an empty list, which the tests refuse.
std::vector<Digit> digits_of(std::string_view text, std::string_view dims) {
  auto digits = parse_digits(text, dims, 0);
  return digits ? *std::move(digits) : std::vector<Digit>{};
}

std::vector<Atom> make_atoms() {
  std::vector<Atom> list;
  for (const Row& row : kRows) {
    list.push_back({row.name, row.scope, row.feature, row.m, row.n, row.k, row.a, row.b, row.c, digits_of(row.a_text, "mk"),
                    digits_of(row.b_text, "kn"), digits_of(row.c_text, "mn"), row.sparse});
  }
  return list;
}

int64_t register_count(const std::vector<Digit>& digits) {
  int64_t count = 1;
  for (const Digit& digit : digits) {
    if (digit.place == Place::register_) count *= digit.extent;
  }
  return count;
}

}  // namespace

std::vector<Digit> Atom::c_digits(int64_t width) const {
  std::vector<Digit> digits = c_template;
  for (Digit& digit : digits) {
    if (digit.extent == 0) digit.extent = width / digit.stride;
  }
  return digits;
}

int64_t Atom::a_registers() const { return a_digits.empty() ? 0 : register_count(a_digits); }
int64_t Atom::b_registers() const { return b_digits.empty() ? 0 : register_count(b_digits); }
int64_t Atom::c_registers(int64_t width) const { return register_count(c_digits(width)); }

const std::vector<Atom>& atoms() {
  static const std::vector<Atom>& list = immortal(make_atoms());
  return list;
}

const Atom* find_atom(std::string_view name) {
  const auto found = std::ranges::find(atoms(), name, &Atom::name);
  return found == atoms().end() ? nullptr : &*found;
}

std::vector<const Atom*> atoms_for(const Target& target, DType a, DType b, DType c, bool sparse) {
  std::vector<const Atom*> found;
  for (const Atom& atom : atoms()) {
    if (target.has(atom.feature) && atom.a == a && atom.b == b && atom.c == c && atom.sparse == sparse) found.push_back(&atom);
  }
  std::ranges::stable_sort(found, [](const Atom* x, const Atom* y) {
    return std::pair(x->is_wgmma(), x->k) > std::pair(y->is_wgmma(), y->k);
  });
  return found;
}

bool wgmma_n_is_legal(const Atom& atom, int64_t n) {
  const bool in_step = n % kWgmmaColumns == 0 && n >= kWgmmaColumns && n <= kWgmmaMaxColumns;
  if (!in_step || dtype_is_float(atom.a) || n <= kWgmmaInt8Fine) return in_step;
  return n % (2 * kWgmmaColumns) == 0;
}

int64_t wgmma_n(const Atom& atom, int64_t columns) {
  for (int64_t n = std::min(columns, kWgmmaMaxColumns); n >= kWgmmaColumns; n--) {
    if (columns % n == 0 && wgmma_n_is_legal(atom, n)) return n;
  }
  return 0;
}

}  // namespace tilert
