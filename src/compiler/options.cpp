// Matching options against the table.
#include "compiler/options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>

namespace tilert {
namespace {

enum class Rule { none, range, choice, identifier, definition, numbers };

struct OptionRow {
  Language language;
  std::string_view spelling;
  Rule rule;
  std::string_view arguments;
};

struct FixedRow {
  Language language;
  std::string_view text;
  std::string_view replaced_by;
};

constexpr OptionRow kOptions[] = {
#define TILERT_COMPILE_OPTION(language, spelling, rule, arguments) \
  {Language::language, spelling, Rule::rule, arguments},
#define TILERT_FIXED_OPTION(language, text, replaced_by)
#include "compiler/options.def"
};

constexpr FixedRow kFixed[] = {
#define TILERT_COMPILE_OPTION(language, spelling, rule, arguments)
#define TILERT_FIXED_OPTION(language, text, replaced_by) {Language::language, text, replaced_by},
#include "compiler/options.def"
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool is_identifier(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

bool parse_number(std::string_view text, long& value) {
  if (text.empty() || text.size() > 9 || !std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool in_range(std::string_view text, std::string_view range) {
  size_t dots = range.find("..");
  long value = 0, low = 0, high = 0;
  return parse_number(text, value) && parse_number(range.substr(0, dots), low) &&
         parse_number(range.substr(dots + 2), high) && value >= low && value <= high;
}

bool is_choice(std::string_view text, std::string_view choices) {
  std::vector<std::string_view> all = split(choices, '|');
  return std::find(all.begin(), all.end(), text) != all.end();
}

bool is_number_list(std::string_view text) {
  long value = 0;
  if (text.empty() || text.back() == ',') return false;
  std::vector<std::string_view> parts = split(text, ',');
  return std::all_of(parts.begin(), parts.end(), [&](std::string_view part) { return parse_number(part, value); });
}

// NAME or NAME=value: one line of printable text without the characters of the preprocessor.
bool is_definition(std::string_view text) {
  size_t equal = text.find('=');
  std::string_view value = equal == std::string_view::npos ? "" : text.substr(equal + 1);
  bool plain =
      std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~' && c != '#' && c != '\\'; });
  return is_identifier(text.substr(0, equal)) && plain && value.find("%:") == std::string_view::npos;
}

bool fits(const OptionRow& row, std::string_view rest) {
  switch (row.rule) {
    case Rule::none: return rest.empty();
    case Rule::range: return in_range(rest, row.arguments);
    case Rule::choice: return is_choice(rest, row.arguments);
    case Rule::identifier: return is_identifier(rest);
    case Rule::definition: return is_definition(rest);
    case Rule::numbers: return is_number_list(rest);
  }
  return false;
}

std::string describe(const OptionRow& row) {
  switch (row.rule) {
    case Rule::none: return std::string(row.spelling);
    case Rule::range:
    case Rule::choice: return fmt::format("{}{}", row.spelling, row.arguments);
    case Rule::identifier: return fmt::format("{}NAME", row.spelling);
    case Rule::definition: return fmt::format("{}NAME[=value]", row.spelling);
    case Rule::numbers: return fmt::format("{}N[,N...]", row.spelling);
  }
  return {};
}

Error refuse(Language language, const std::string& option, const OptionRow* near) {
  if (near) {
    return make_error(Code::kInvalidArgument, "the compiler option `{}` is malformed: the form is {}", option,
                      describe(*near));
  }
  std::vector<std::string> known;
  for (const OptionRow& row : kOptions)
    if (row.language == language) known.push_back(describe(row));
  return make_error(Code::kInvalidArgument, "the compiler option `{}` is not among those allowed for {}: {}", option,
                    language_name(language), fmt::join(known, " "));
}

}  // namespace

Status check_options(Language language, const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    const OptionRow* near = nullptr;
    bool found = false;
    for (const OptionRow& row : kOptions) {
      std::string_view text(option);
      if (row.language != language || text.substr(0, row.spelling.size()) != row.spelling) continue;
      near = &row;
      found = found || fits(row, text.substr(row.spelling.size()));
    }
    if (!found) return refuse(language, option, near);
  }
  return {};
}

std::vector<std::string> effective_options(Language language, const std::vector<std::string>& options) {
  std::vector<std::string> all;
  for (const FixedRow& row : kFixed) {
    if (row.language != language) continue;
    std::vector<std::string_view> replacing = split(row.replaced_by, '|');
    bool replaced = std::any_of(options.begin(), options.end(), [&](std::string_view option) {
      return std::any_of(replacing.begin(), replacing.end(),
                         [&](std::string_view start) { return option.substr(0, start.size()) == start; });
    });
    if (!replaced) all.emplace_back(row.text);
  }
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

}  // namespace tilert
