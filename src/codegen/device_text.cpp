// Selects parts of the embedded device files. A part starts at a line '//@ names...' and is used when one of its names
// is; names are tl_* and TL_* identifiers.
#include "codegen/device_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "device_files.h"
#include "support/immortal.h"

namespace tilert::codegen {
namespace {

struct Part {
  std::string_view names, text;
  std::vector<size_t> uses;
};

struct Library {
  std::vector<Part> parts;
  std::map<std::string_view, size_t> by_name;
  std::set<std::string_view> missing;  // names that the other language has
};

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

template <class F>
void for_each_name(std::string_view text, F&& f) {
  for (size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(i, end - i);
    if (word.starts_with("tl_") || word.starts_with("TL_")) f(word);
    i = end;
  }
}

std::vector<Part> cut(std::string_view file) {
  std::vector<Part> out;
  size_t at = file.find("//@ ");
  while (at != std::string_view::npos) {
    const size_t line_end = file.find('\n', at);
    const size_t next = file.find("//@ ", line_end);
    out.push_back({file.substr(at + 4, line_end - at - 4), file.substr(line_end + 1, next == std::string_view::npos ? next : next - line_end - 1), {}});
    at = next;
  }
  return out;
}

std::vector<Part> parts_of(std::initializer_list<const char*> names) {
  std::vector<Part> out;
  for (const char* name : names)
    for (const auto& file : device_files::kFiles)
      if (file.name == name)
        for (Part& part : cut(file.text)) out.push_back(std::move(part));
  return out;
}

std::vector<Part> cuda_parts() {
  return parts_of({"types.cuh", "math.cuh", "fast.cuh", "wide.cuh", "small.cuh", "memory.cuh", "packed.cuh", "matrix.cuh", "hopper.cuh", "products.cuh",
                   "sync.cuh", "copies.cuh", "atomic.cuh", "report.cuh"});
}

// No asm, no builtin and no function of a library: C++ for every device.
bool is_plain(std::string_view text) {
  static const auto& foreign = immortal(std::set<std::string_view>{"asm", "memcpy", "exp", "exp2", "log", "log2", "sin", "cos", "tanh", "erf", "pow", "sqrt"});
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line = line.substr(0, line.find("//"));
    for (size_t i = 0; i < line.size();) {
      size_t end = i;
      while (end < line.size() && is_word(line[end])) ++end;
      const std::string_view word = line.substr(i, end - i);
      if (foreign.count(word) || (word.starts_with("__") && word != "__restrict__")) return false;
      i = std::max(end, i + 1);
    }
  }
  return true;
}

// In the order of CUDA's; what device/hip adds stands before the first of its parts that follows it and takes one's place.
std::vector<Part> hip_parts() {
  const std::vector<Part> own = parts_of({"types.hip", "math.hip", "wide.hip", "fast.hip", "memory.hip", "matrix.hip", "matrix_fp8.hip", "widen.hip", "sync.hip", "atomic.hip"});
  std::vector<char> placed(own.size());
  std::vector<Part> out;
  std::set<std::string_view> replaced;
  const std::vector<Part> cuda = cuda_parts();
  for (const Part& part : cuda) replaced.insert(part.names);
  for (const Part& part : cuda) {
    const auto found = std::find_if(own.begin(), own.end(), [&](const Part& p) { return p.names == part.names; });
    if (found == own.end()) {
      if (is_plain(part.text)) out.push_back(part);
      continue;
    }
    const auto at = static_cast<size_t>(found - own.begin());
    size_t first = at;
    while (first > 0 && !placed[first - 1] && !replaced.count(own[first - 1].names)) --first;
    for (size_t i = first; i <= at; ++i) out.push_back(own[i]), placed[i] = 1;
  }
  for (size_t i = 0; i < own.size(); ++i)
    if (!placed[i]) out.push_back(own[i]);
  return out;
}

Library build(std::vector<Part> parts) {
  Library library;
  library.parts = std::move(parts);
  for (size_t i = 0; i < library.parts.size(); ++i)
    for_each_name(library.parts[i].names, [&](std::string_view name) { library.by_name.emplace(name, i); });
  for (const Part& part : cuda_parts())
    for_each_name(part.names, [&](std::string_view name) { if (!library.by_name.count(name)) library.missing.insert(name); });
  for (Part& part : library.parts)
    for_each_name(part.text, [&](std::string_view name) {
      const auto found = library.by_name.find(name);
      if (found != library.by_name.end()) part.uses.push_back(found->second);
    });
  return library;
}

const Library& library_of(std::string_view language) {
  static const Library &cuda = immortal(build(cuda_parts())), &hip = immortal(build(hip_parts()));
  return language == "hip" ? hip : cuda;
}

// A flag for each part that `body` uses.
std::vector<char> used_parts(const Library& library, std::string_view body) {
  std::vector<char> used(library.parts.size());
  std::vector<size_t> todo;
  const auto want = [&](size_t index) {
    if (!used[index]) {
      used[index] = 1;
      todo.push_back(index);
    }
  };
  for_each_name(body, [&](std::string_view name) {
    const auto found = library.by_name.find(name);
    if (found != library.by_name.end()) want(found->second);
  });
  while (!todo.empty()) {
    const size_t index = todo.back();
    todo.pop_back();
    for (size_t next : library.parts[index].uses) want(next);
  }
  return used;
}

}  // namespace

std::string device_text(std::string_view language, std::string_view body) {
  const Library& library = library_of(language);
  const std::vector<char> used = used_parts(library, body);
  std::string text;
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i]) text += library.parts[i].text;
  return text;
}

std::string missing_primitive(std::string_view language, std::string_view body) {
  const Library& library = library_of(language);
  std::string found;
  const auto look = [&](std::string_view text) {
    for_each_name(text, [&](std::string_view name) { if (found.empty() && library.missing.count(name)) found = name; });
  };
  look(body);
  const std::vector<char> used = used_parts(library, body);
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i]) look(library.parts[i].text);
  return found;
}

}  // namespace tilert::codegen
