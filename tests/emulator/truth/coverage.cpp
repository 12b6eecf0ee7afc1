// Parts are those of the embedded device files ("//@ name"); asm and builtins are told from plain C++ by their words.
#include "emulator/truth/coverage.h"

#include <cctype>
#include <cstdio>
#include <map>
#include <set>

#include "device_files.h"

namespace tilert::truth {
namespace {

template <class F>
void for_each_word(std::string_view text, F&& f) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > i) f(text.substr(i, end - i));
    i = std::max(end, i + 1);
  }
}

bool is_special(std::string_view word) {
  static const std::set<std::string_view> kWords = {"asm", "threadIdx", "blockIdx", "gridDim", "blockDim", "clock64"};
  return kWords.count(word) || (word.substr(0, 2) == "__" && word != "__CUDA_ARCH__");
}

// Name of each part of device/cuda, and whether it holds more than C++.
std::map<std::string, bool> parts() {
  std::map<std::string, bool> out;
  for (const auto& file : device_files::kFiles)
    for (size_t at = file.name.ends_with(".cuh") ? file.text.find("//@ ") : file.text.npos; at != file.text.npos;) {
      const size_t line_end = file.text.find('\n', at), next = file.text.find("//@ ", line_end);
      std::string name;
      for_each_word(file.text.substr(at + 4, line_end - at - 4), [&](std::string_view word) {
        if (name.empty()) name = word;
      });
      bool& special = out[name];
      for_each_word(file.text.substr(line_end, next == file.text.npos ? next : next - line_end), [&](std::string_view word) { special |= is_special(word); });
      at = next;
    }
  return out;
}

}  // namespace

std::string missing_part(const Case& one) {
  static const std::map<std::string, bool> all = parts();
  std::string out;
  for_each_word(one.text, [&](std::string_view word) {
    if (word.rfind("tl_", 0) == 0 && !all.count(std::string(word)) && out.empty()) out = word;
  });
  return out;
}

int report_coverage(const std::vector<Case>& cases) {
  static const std::map<std::string, const char*> kExempt = {
#define TRUTH_EXEMPT(part, why) {#part, why},
#include "emulator/truth/exempt.def"
  };
  std::set<std::string> called;
  for (const Case& one : cases) for_each_word(one.text, [&](std::string_view word) { called.emplace(word); });
  const std::map<std::string, bool> all = parts();
  int wrong = 0;
  size_t covered = 0;
  for (const auto& [name, special] : all) {
    covered += called.count(name);
    if (!special || called.count(name) || kExempt.count(name) || name.rfind("TL_", 0) == 0) continue;  // TL_: a macro of others
    std::printf("%s has no truth case, nor a row of exempt.def\n", name.c_str());
    ++wrong;
  }
  for (const auto& [name, why] : kExempt)
    if (!all.count(name) || called.count(name)) std::printf("exempt.def excuses %s, which needs no excuse\n", name.c_str()), ++wrong;
  std::printf("%zu of %zu parts called by %zu cases, %zu excused\n", covered, all.size(), cases.size(), kExempt.size());
  return wrong ? 1 : 0;
}

}  // namespace tilert::truth
