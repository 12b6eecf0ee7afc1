// The text form of fragment maps: printing and reading digit lists.
#include <array>
#include <charconv>

#include "layout/fragment_map.h"

namespace tilert {
namespace {

constexpr std::array<std::string_view, 5> kPlaceNames = {"register", "lane", "warp", "warpgroup", "block"};

// A cursor over the text; every reader returns false at the first character it cannot take.
struct Reader {
  std::string_view rest;

  void skip_blanks() {
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  }
  bool take(std::string_view word) {
    if (!rest.starts_with(word)) return false;
    rest.remove_prefix(word.size());
    return true;
  }
  bool number(int64_t& value) {
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || value < 0) return false;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    return true;
  }
  bool place(Place& place) {
    for (size_t i = 0; i < kPlaceNames.size(); i++) {
      Reader copy = *this;
      if (!copy.take(kPlaceNames[i]) || !copy.take("(")) continue;
      place = static_cast<Place>(i);
      *this = copy;
      return true;
    }
    return false;
  }
  bool dim(std::string_view names, int& dim) {
    if (!names.empty()) {
      const size_t at = rest.empty() ? std::string_view::npos : names.find(rest.front());
      if (at == std::string_view::npos) return false;
      rest.remove_prefix(1);
      dim = static_cast<int>(at);
      return true;
    }
    int64_t value = 0;
    if (!take("d") || !number(value) || value > 64) return false;
    dim = static_cast<int>(value);
    return true;
  }
  // "4:n*2", "*:n*8", "2:rep", "2:part"
  bool digit(std::string_view names, int64_t fill, Digit& digit) {
    if (take("*")) digit.extent = fill;
    else if (!number(digit.extent) || digit.extent < 1) return false;
    if (!take(":")) return false;
    digit.stride = 0;
    digit.dim = kReplicated;
    if (take("rep")) return true;
    digit.dim = kPartial;
    if (take("part")) return true;
    return dim(names, digit.dim) && take("*") && number(digit.stride) && digit.stride >= 1;
  }
  bool digits(std::string_view names, int64_t fill, std::vector<Digit>& list) {
    skip_blanks();
    for (Place where{}; place(where); skip_blanks()) {
      while (!take(")")) {
        Digit next;
        next.place = where;
        if (!digit(names, fill, next)) return false;
        list.push_back(next);
        skip_blanks();
      }
    }
    return rest.empty();
  }
};

}  // namespace

std::string FragmentMap::text() const {
  std::string out = fmt::format("[{}]", fmt::join(shape_, ", "));
  std::optional<Place> open;
  for (const Digit& digit : digits_) {
    if (open != digit.place) out += fmt::format("{} {}(", open ? ")" : "", kPlaceNames[static_cast<size_t>(digit.place)]);
    else out += ' ';
    open = digit.place;
    if (digit.dim == kReplicated) out += fmt::format("{}:rep", digit.extent);
    else if (digit.dim == kPartial) out += fmt::format("{}:part", digit.extent);
    else out += fmt::format("{}:d{}*{}", digit.extent, digit.dim, digit.stride);
  }
  return open ? out + ")" : out;
}

Result<std::vector<Digit>> parse_digits(std::string_view text, std::string_view dim_names, int64_t fill) {
  std::vector<Digit> digits;
  Reader reader{text};
  if (reader.digits(dim_names, fill, digits)) return digits;
  return make_error(Code::kInvalidArgument, "layout '{}': cannot read '{}'; expected places such as 'lane(4:d1*2 8:d0*1)'",
                    text, reader.rest);
}

Result<FragmentMap> parse_fragment_map(std::string_view text) {
  Reader reader{text};
  std::vector<int64_t> shape;
  bool ok = reader.take("[");
  while (ok && !reader.take("]")) {
    ok = (shape.empty() || reader.take(", ")) && reader.number(shape.emplace_back());
  }
  if (!ok) return make_error(Code::kInvalidArgument, "layout '{}': expected a shape such as '[16, 8]'", text);
  TILERT_ASSIGN(auto digits, parse_digits(reader.rest));
  FragmentMap map(std::move(shape), std::move(digits));
  TILERT_TRY(map.check());
  return map;
}

}  // namespace tilert
