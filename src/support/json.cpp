// How JSON values are kept and printed.
#include "support/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilert {
namespace {

// How many bytes the UTF-8 sequence at the beginning has; 0: it is none. Table 3-7 of the Unicode standard.
size_t sequence(std::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto rest = [&](size_t i) { return (at(i) & 0xc0) == 0x80; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return rest(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool second = first == 0xe0   ? at(1) >= 0xa0 && at(1) <= 0xbf
                        : first == 0xed ? at(1) >= 0x80 && at(1) <= 0x9f
                                        : rest(1);
    return second && rest(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool second = first == 0xf0   ? at(1) >= 0x90 && at(1) <= 0xbf
                        : first == 0xf4 ? at(1) >= 0x80 && at(1) <= 0x8f
                                        : rest(1);
    return second && rest(2) && rest(3) ? 4 : 0;
  }
  return 0;
}

void print_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const size_t bytes = sequence(text);
    const char c = text[0];
    if (bytes == 0)
      out += "\xef\xbf\xbd";
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += text.substr(0, bytes);
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  out += '"';
}

bool before(const std::pair<std::string, Json>& member, std::string_view key) { return member.first < key; }

}  // namespace

Json::Json(std::initializer_list<Member> members) : value_(Object{}) {
  for (const Member& m : members) (*this)[m.key] = m.value;
}

Json& Json::operator[](std::string_view key) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Object{};
  Object& all = members();
  auto at = std::lower_bound(all.begin(), all.end(), key, before);
  if (at == all.end() || at->first != key) at = all.emplace(at, std::string(key), Json());
  return at->second;
}

const Json* Json::find(std::string_view key) const {
  const auto* all = std::get_if<Object>(&value_);
  if (!all) return nullptr;
  const auto at = std::lower_bound(all->begin(), all->end(), key, before);
  return at != all->end() && at->first == key ? &at->second : nullptr;
}

void Json::push_back(Json element) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Array{};
  elements().push_back(std::move(element));
}

size_t Json::size() const {
  if (is_array()) return elements().size();
  return is_object() ? std::get<Object>(value_).size() : 0;
}

std::string Json::dump(int indent) const {
  std::string out;
  print(out, indent, 0);
  return out;
}

void Json::print(std::string& out, int indent, int depth) const {
  const auto line = [&](int deep) {
    if (indent >= 0) (out += '\n').append(static_cast<size_t>(indent * deep), ' ');
  };
  if (is_bool()) {
    out += as_bool() ? "true" : "false";
  } else if (is_integer()) {
    out += std::to_string(as_int());
  } else if (is_float()) {
    const std::string text =
        std::isfinite(as_float()) ? fmt::format("{}", as_float()) : "null";  // JSON has no other word for those
    out += text;
    if (text.find_first_not_of("-0123456789") == std::string::npos) out += ".0";
  } else if (is_string()) {
    print_string(out, as_string());
  } else if (is_array()) {
    out += '[';
    for (size_t i = 0; i < elements().size(); ++i) {
      if (i) out += ',';
      line(depth + 1);
      elements()[i].print(out, indent, depth + 1);
    }
    if (!empty()) line(depth);
    out += ']';
  } else if (is_object()) {
    out += '{';
    bool first = true;
    for (const auto& [key, value] : std::get<Object>(value_)) {
      if (!first) out += ',';
      first = false;
      line(depth + 1);
      print_string(out, key);
      out += indent >= 0 ? ": " : ":";
      value.print(out, indent, depth + 1);
    }
    if (!empty()) line(depth);
    out += '}';
  } else {
    out += "null";
  }
}

}  // namespace tilert
