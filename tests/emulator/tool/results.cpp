// Lines of JSON, sums, reasons.
#include "emulator/tool/results.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

namespace tilert::emulator {
namespace {

using Json = nlohmann::ordered_json;

void count(Sum& sum, const Verdict& verdict, bool explained) {
  if (verdict.caught()) ++sum.caught;
  else if (verdict.outcome == "redundant") ++sum.redundant;
  else if (verdict.outcome == "unreached") ++sum.unreached;
  else ++sum.survive, sum.unexplained += !explained;
}

void print(const std::string& name, const Sum& sum) {
  std::printf("%-24s %6zu caught, %4zu survive (%zu of them unexplained): %.2f %%; besides %zu redundant, %zu on lines that no case runs\n",
              name.c_str(), sum.caught, sum.survive, sum.unexplained, sum.percent(), sum.redundant, sum.unreached);
}

Json told(const Sum& sum) {
  return {{"percent", std::round(100 * sum.percent()) / 100}, {"caught", sum.caught}, {"survive", sum.survive}, {"unexplained", sum.unexplained},
          {"redundant", sum.redundant}, {"unreached", sum.unreached}};
}

// The first word of a statement that is a call; of others what they do.
std::string operation(const Verdict& verdict) {
  const size_t end = verdict.from.find_first_of("(<[ ");
  return verdict.kind + " " + (verdict.from.rfind("tl_", 0) == 0 && verdict.from.find(" = ") == std::string::npos &&
                               verdict.from.find("* const") == std::string::npos ? verdict.from.substr(0, end) : "of an access");
}

}  // namespace

std::string verdict_line(const Verdict& v) {
  return Json({{"case", v.trial}, {"arch", v.arch}, {"text", v.text}, {"number", v.number}, {"line", v.line}, {"kind", v.kind}, {"from", v.from},
               {"to", v.to}, {"outcome", v.outcome}, {"how", v.how}, {"milliseconds", v.milliseconds}})
             .dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool read_verdicts(const std::string& file, std::map<std::string, Verdict>& by_key) {
  std::ifstream in(file);
  if (!in) return false;
  for (std::string line; std::getline(in, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("milliseconds")) continue;
    Verdict v;
    v.trial = json["case"], v.arch = json["arch"], v.text = json["text"], v.number = json["number"], v.line = json["line"];
    v.kind = json["kind"], v.from = json["from"], v.to = json["to"], v.outcome = json["outcome"], v.how = json["how"];
    v.milliseconds = json["milliseconds"];
    by_key[v.key()] = v;
  }
  return true;
}

// Whether the line is the pattern's, where N stands for any number and ... for anything.
static bool fits(std::string_view pattern, std::string_view line) {
  const auto digit = [&](size_t at) { return at < line.size() && std::isdigit(static_cast<unsigned char>(line[at])); };
  size_t at = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern.substr(i, 3) == "...") {
      for (; at <= line.size(); ++at)
        if (fits(pattern.substr(i + 3), line.substr(at))) return true;
      return false;
    }
    if (pattern[i] == 'N' && digit(at)) {
      while (digit(at)) ++at;
    } else if (at >= line.size() || line[at++] != pattern[i]) {
      return false;
    }
  }
  return at == line.size();
}

// The words of a text.
static std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

bool Reason::holds(const Verdict& v) const {
  if (kind != (v.outcome == "unreached" ? v.outcome : v.kind) || !fits(line, v.from)) return false;
  const std::vector<std::string> asked = words_of(trial), has = words_of(v.trial);
  for (size_t i = 0; i < asked.size(); ++i) {
    const size_t equals = asked[i].find('=');
    if (equals == std::string::npos) {
      if (i >= has.size() || has[i] != asked[i]) return false;
      continue;
    }
    std::istringstream values(asked[i].substr(equals + 1));
    bool found = false;
    for (std::string value; std::getline(values, value, ',');)
      found |= std::find(has.begin(), has.end(), asked[i].substr(0, equals + 1) + value) != has.end();
    if (!found) return false;
  }
  return true;
}

const Reason* Reasons::of(const Verdict& verdict) const {
  if (verdict.outcome != "survives" && verdict.outcome != "unreached") return nullptr;
  for (const Reason& row : rows)
    if (row.holds(verdict)) return &row;
  return nullptr;
}

bool read_reasons(const std::string& file, Reasons& out) {
  std::ifstream in(file);
  if (!in) return false;
  for (std::string line; std::getline(in, line);) {
    const size_t kind = line.find(" | "), text = kind == std::string::npos ? kind : line.find(" | ", kind + 3), why = line.rfind(" | ");
    if (line.empty() || line[0] == '#' || text == std::string::npos || why == text) continue;
    out.rows.push_back({line.substr(0, kind), line.substr(kind + 3, text - kind - 3), line.substr(text + 3, why - text - 3), line.substr(why + 3)});
  }
  return true;
}

Sum print_sums(const std::map<std::string, Verdict>& by_key, const Reasons& reasons, const std::string& json) {
  std::map<std::string, Sum> by_arch, by_operation;
  std::map<std::string, size_t> explained;
  Sum all;
  for (const auto& [key, v] : by_key) {
    const Reason* const why = reasons.of(v);
    const bool known = why != nullptr;
    count(all, v, known);
    count(by_operation[operation(v)], v, known);
    for (const char* arch : {"sm_80", "sm_90a"})
      if (v.arch == arch || v.arch == "both") count(by_arch[arch], v, known);
    if (v.outcome != "survives" && v.outcome != "unreached") continue;
    const bool survives = v.outcome == "survives";
    if (known) ++explained[(survives ? "survive: " : "on lines that no case runs: ") + why->why];
    else std::printf("%s %s (%s): %s line %d: %.200s -> %.200s\n", survives ? "SURVIVES" : "NOT REACHED", v.trial.c_str(), v.arch.c_str(), v.kind.c_str(), v.line, v.from.c_str(), v.to.c_str());
  }
  for (const auto& [why, times] : explained) std::printf("%5zu %s\n", times, why.c_str());
  Json file = told(all);
  for (const auto& [name, sum] : by_operation) print(name, sum), file["operations"][name] = told(sum);
  for (const auto& [name, sum] : by_arch) print("texts for " + name, sum), file["targets"][name] = told(sum);
  for (const auto& [why, times] : explained) file["reasons"][why] = times;
  print("all", all);
  if (!json.empty()) std::ofstream(json) << file.dump(1) << "\n";
  return all;
}

}  // namespace tilert::emulator
