// Reading, writing, comparing.
#include "emulator/truth/record.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tilert::truth {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string base64(const Bytes& bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) word = word << 8 | (i + k < bytes.size() ? bytes[i + k] : 0u);
    for (size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : kDigits[word >> (18 - 6 * k) & 63];
  }
  return out;
}

Bytes from_base64(const std::string& text) {
  Bytes out;
  uint32_t word = 0;
  int bits = 0;
  for (char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) break;
    word = word << 6 | static_cast<uint32_t>(digit);
    if ((bits += 6) >= 8) out.push_back(static_cast<uint8_t>(word >> (bits -= 8)));
  }
  return out;
}

std::string word_text(const Case& of, const Bytes& bytes, size_t at) {
  uint32_t word = 0;
  std::memcpy(&word, &bytes[at], std::min<size_t>(4, bytes.size() - at));
  float number;
  std::memcpy(&number, &word, 4);
  char text[64];
  if (of.defined == Defined::f32) std::snprintf(text, sizeof text, "%08x (%g)", word, static_cast<double>(number));
  else std::snprintf(text, sizeof text, "%08x", word);
  return text;
}

}  // namespace

Record record_of(const std::vector<Case>& cases, const Results& results) {
  Record out;
  out.device = results.device;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Outcome& outcome = results.outcomes[i];
    Recorded one;
    one.known = true;
    one.wrong = outcome.wrong;
    if (cases[i].refused) {
      const bool refused = one.wrong.find("cannot ") == 0;
      one.wrong = refused ? "" : one.wrong.empty() ? "runs, and should be refused" : one.wrong;
      one.digest = refused ? "refused" : "";
    } else if (one.wrong.empty()) {
      one.digest = digest(canonical(cases[i], outcome.output));
      one.output = outcome.output;
    }
    out.cases.push_back(std::move(one));
  }
  return out;
}

std::string read_record(const std::string& path, const std::vector<Case>& cases, const std::set<std::string>& skipped, Record& out) {
  std::ifstream in(path);
  if (!in) return "cannot read " + path;
  const Json file = Json::parse(in, nullptr, false);
  if (file.is_discarded() || !file.contains("cases")) return path + " is no record of truth cases";
  out.device = file.value("device", "");
  std::set<std::string> names = skipped;
  for (const Case& one : cases) {
    names.insert(one.name);
    Recorded recorded;
    if (file["cases"].contains(one.name)) {
      const Json& row = file["cases"][one.name];
      recorded.known = true;
      if (row.is_null()) recorded.unseen = true;
      else if (row.is_string()) recorded.digest = row;
      else recorded.wrong = row.value("wrong", ""), recorded.output = from_base64(row.value("bytes", ""));
      if (!recorded.output.empty()) recorded.digest = digest(canonical(one, recorded.output));
    }
    out.cases.push_back(std::move(recorded));
  }
  for (const auto& [name, row] : file["cases"].items())
    if (!names.count(name)) out.unknown.push_back(name);
  return {};
}

std::string write_record(const std::string& path, const std::vector<Case>& cases, const Record& record, bool with_bytes) {
  Json file;
  file["device"] = record.device;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Recorded& one = record.cases[i];
    if (!one.known) continue;
    Json& row = file["cases"][cases[i].name];
    if (one.unseen) row = nullptr;
    else if (!one.wrong.empty()) row["wrong"] = one.wrong;
    else if (with_bytes && !cases[i].refused) row["bytes"] = base64(one.output);
    else row = one.digest;
  }
  std::ofstream out(path);
  out << file.dump(1) << "\n";
  return out.good() ? std::string() : "cannot write " + path;
}

std::string difference(const Case& of, const Recorded& a, const Recorded& b, size_t most) {
  if (!a.known || !b.known) return "is not in the record";
  if (a.unseen || b.unseen) return {};
  if (!a.wrong.empty()) return a.wrong;
  if (!b.wrong.empty()) return "the other side: " + b.wrong;
  if (a.digest == b.digest) return {};
  if (a.output.empty() || b.output.empty()) return "other bits (digests alone: a record with --raw shows where)";
  const Bytes x = canonical(of, a.output), y = canonical(of, b.output);
  std::string out;
  size_t differing = 0;
  for (size_t at = 0; at < std::min(x.size(), y.size()); at += 4) {
    const size_t count = std::min<size_t>(4, x.size() - at), word = at / 4;
    if (std::memcmp(&x[at], &y[at], count) == 0 || ++differing > most) continue;
    out += "\n    word " + std::to_string(word);
    if (of.per_thread) out += " (thread " + std::to_string(word / of.per_thread) + ", value " + std::to_string(word % of.per_thread) + ")";
    out += ": " + word_text(of, x, at) + ", the other side " + word_text(of, y, at);
  }
  return std::to_string(differing) + " of " + std::to_string((x.size() + 3) / 4) + " words differ" + out;
}

}  // namespace tilert::truth
