// The list of texts and their units.
#include "emulator/driver/kernels.h"

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>

namespace tilert::emulator {
namespace {

constexpr size_t kPerUnit = 12;
constexpr char kMagic[] = "\x7f" "TILERT EMULATED KERNEL";

struct Entry {
  KernelText text;
  bool compiled[2] = {false, false};
  Unit::Placed placed[2];
};

struct List {
  std::recursive_mutex mutex;
  std::deque<Entry> entries;
  std::unordered_map<std::string, size_t> by_body;
  std::unordered_map<size_t, size_t> replaced;
};
List& list() {
  static auto& own = *new List;
  return own;
}

}  // namespace

size_t register_text(const KernelText& text) {
  const std::lock_guard lock(list().mutex);
  const auto [at, fresh] = list().by_body.try_emplace((text.hip ? "hip " : "") + text.body, list().entries.size());
  if (fresh) list().entries.push_back({text, {}, {}});
  return at->second;
}

const KernelText& registered_text(size_t text) {
  const std::lock_guard lock(list().mutex);
  return list().entries[text].text;
}

size_t text_count() {
  const std::lock_guard lock(list().mutex);
  return list().entries.size();
}

void replace_text(size_t text, size_t by) {
  const std::lock_guard lock(list().mutex);
  list().replaced[text] = by;
}

size_t text_to_run(size_t text) {
  const std::lock_guard lock(list().mutex);
  const auto found = list().replaced.find(text);
  return found == list().replaced.end() ? text : found->second;
}

namespace {

int compile_these(const std::vector<size_t>& numbers, bool races) {
  std::vector<KernelText> texts;
  for (size_t number : numbers) texts.push_back(list().entries[number].text);
  UnitOptions options;
  options.races = races;
  const std::vector<Unit::Placed> placed = Unit::compile_many(texts, kPerUnit, options);
  int failed = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    Entry& entry = list().entries[numbers[i]];
    entry.compiled[races] = true;
    entry.placed[races] = placed[i];
    failed += placed[i].unit == nullptr;
  }
  return failed;
}

}  // namespace

int compile_pending(bool races) {
  const std::lock_guard lock(list().mutex);
  std::vector<size_t> numbers;
  for (size_t i = 0; i < list().entries.size(); ++i)
    if (!list().entries[i].compiled[races]) numbers.push_back(i);
  return compile_these(numbers, races);
}

LoadedKernel registered_kernel(size_t text, const std::string& name, bool races, std::string& why) {
  const std::lock_guard lock(list().mutex);
  if (!list().entries[text].compiled[races]) compile_these({text}, races);
  const Unit::Placed& placed = list().entries[text].placed[races];
  why = placed.why;
  return placed.unit ? placed.unit->kernel(placed.index, name) : LoadedKernel();
}

std::string make_image(const std::string& target, const std::string& source, const KernelText& text) {
  std::string out = kMagic;
  const auto add = [&](const std::string& item) { out += '\0' + item; };
  add(target);
  for (const std::string& name : text.entries) add(".text." + name);
  add("");
  add(source);
  out += '\0';
  return out;
}

bool read_image(const char* bytes, std::string& target, std::string& source) {
  if (std::strcmp(bytes, kMagic) != 0) return false;
  const auto next = [&] { bytes += std::strlen(bytes) + 1; };
  next();
  target = bytes;
  do next();
  while (*bytes);
  next();
  source = bytes;
  return true;
}

}  // namespace tilert::emulator
