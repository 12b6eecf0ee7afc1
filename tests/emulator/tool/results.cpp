// Lines of JSON, sums, reasons.
#include "emulator/tool/results.h"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

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

std::string reason_key(const Verdict& verdict) {
  std::string out = verdict.trial.substr(0, verdict.trial.find(' ', verdict.trial.find(' ', 5) + 1)) + " | " + verdict.kind + " | ";
  for (size_t i = 0; i < verdict.from.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(verdict.from[i]))) out += verdict.from[i];
    else if (i == 0 || !std::isdigit(static_cast<unsigned char>(verdict.from[i - 1]))) out += 'N';
  }
  return out;
}

bool read_reasons(const std::string& file, Reasons& out) {
  std::ifstream in(file);
  if (!in) return false;
  for (std::string line; std::getline(in, line);) {
    const size_t at = line.rfind(" | ");
    if (!line.empty() && line[0] != '#' && at != std::string::npos) out.why[line.substr(0, at)] = line.substr(at + 3);
  }
  return true;
}

Sum print_sums(const std::map<std::string, Verdict>& by_key, const Reasons& reasons, const std::string& json) {
  std::map<std::string, Sum> by_arch, by_operation;
  std::map<std::string, size_t> explained;
  Sum all;
  for (const auto& [key, v] : by_key) {
    const auto why = reasons.why.find(reason_key(v));
    const bool known = why != reasons.why.end();
    count(all, v, known);
    count(by_operation[operation(v)], v, known);
    for (const char* arch : {"sm_80", "sm_90a"})
      if (v.arch == arch || v.arch == "both") count(by_arch[arch], v, known);
    if (v.outcome != "survives") continue;
    if (known) ++explained[why->second];
    else std::printf("SURVIVES %s (%s): %s line %d: %.200s -> %.200s\n", v.trial.c_str(), v.arch.c_str(), v.kind.c_str(), v.line, v.from.c_str(), v.to.c_str());
  }
  for (const auto& [why, times] : explained) std::printf("%5zu survive: %s\n", times, why.c_str());
  Json file = told(all);
  for (const auto& [name, sum] : by_operation) print(name, sum), file["operations"][name] = told(sum);
  for (const auto& [name, sum] : by_arch) print("texts for " + name, sum), file["targets"][name] = told(sum);
  for (const auto& [why, times] : explained) file["reasons"][why] = times;
  print("all", all);
  if (!json.empty()) std::ofstream(json) << file.dump(1) << "\n";
  return all;
}

}  // namespace tilert::emulator
