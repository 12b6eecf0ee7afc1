// Selects parts of the embedded device files. A part starts at a line '//@ names...' and is used when one of its names
// is; names are tl_* and TL_* identifiers.
#include "codegen/device_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include "device_files.h"
#include "support/immortal.h"

namespace tilert::codegen {
namespace {

struct Part {
  std::string_view text;
  std::vector<size_t> uses;
};

struct Library {
  std::vector<Part> parts;
  std::map<std::string_view, size_t> by_name;
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

void cut(std::string_view file, Library& library) {
  size_t at = file.find("//@ ");
  while (at != std::string_view::npos) {
    const size_t line_end = file.find('\n', at);
    const size_t next = file.find("//@ ", line_end);
    const size_t index = library.parts.size();
    for_each_name(file.substr(at, line_end - at), [&](std::string_view name) { library.by_name.emplace(name, index); });
    library.parts.push_back({file.substr(line_end + 1, next == std::string_view::npos ? next : next - line_end - 1), {}});
    at = next;
  }
}

Library build() {
  Library library;
  for (const char* name : {"types.cuh", "math.cuh", "fast.cuh", "wide.cuh", "small.cuh", "memory.cuh", "packed.cuh", "matrix.cuh", "hopper.cuh", "products.cuh",
                           "sync.cuh", "copies.cuh", "atomic.cuh", "report.cuh"})
    for (const auto& file : device_files::kFiles)
      if (file.name == name) cut(file.text, library);
  for (Part& part : library.parts)
    for_each_name(part.text, [&](std::string_view name) {
      const auto found = library.by_name.find(name);
      if (found != library.by_name.end()) part.uses.push_back(found->second);
    });
  return library;
}

}  // namespace

std::string device_text(std::string_view, std::string_view body) {
  static const Library& library = immortal(build());
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
  std::string text;
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i]) text += library.parts[i].text;
  return text;
}

}  // namespace tilert::codegen
