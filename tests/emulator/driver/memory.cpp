// Allocations by mmap, in the order in which they were made.
#include "emulator/driver/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "emulator/core/faults.h"

namespace tilert::emulator {
namespace {

constexpr uint8_t kCanary = 0x5c;
constexpr size_t kAlignment = 16;

struct Allocation {
  uint8_t *map, *begin;
  size_t map_bytes, bytes;
  uint8_t* end() const { return map + map_bytes - page(); }  // of what may be touched
  static size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
  uint8_t* front() const { return begin - std::min<size_t>(static_cast<size_t>(begin - map), 256); }
};

std::mutex mutex;
std::map<void*, Allocation>& allocations() {
  static auto& map = *new std::map<void*, Allocation>;
  return map;
}
size_t serial = 0;

}  // namespace

void* allocate_device(size_t bytes) {
  const size_t page = Allocation::page(), touched = (bytes + 256 + page - 1) / page * page;
  void* const map = mmap(nullptr, touched + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  Allocation out{static_cast<uint8_t*>(map), nullptr, touched + page, bytes};
  mprotect(out.end(), page, PROT_NONE);
  out.begin = out.end() - (bytes + kAlignment - 1) / kAlignment * kAlignment;
  std::memset(out.front(), kCanary, static_cast<size_t>(out.begin - out.front()));
  std::memset(out.begin, 0xff, bytes);
  std::memset(out.begin + bytes, kCanary, static_cast<size_t>(out.end() - out.begin) - bytes);
  const std::lock_guard lock(mutex);
  allocations()[out.begin] = out;
  note_buffer(out.begin, bytes, "allocation " + std::to_string(serial++) + " of " + std::to_string(bytes) + " bytes");
  return out.begin;
}

bool release_device(void* address) {
  const std::lock_guard lock(mutex);
  const auto found = allocations().find(address);
  if (found == allocations().end()) return false;
  forget_buffer(address);
  munmap(found->second.map, found->second.map_bytes);
  allocations().erase(found);
  if (allocations().empty()) serial = 0;  // a test's buffers are numbered from 0
  return true;
}

bool is_device(const void* address) {
  const std::lock_guard lock(mutex);
  auto next = allocations().upper_bound(const_cast<void*>(address));
  if (next == allocations().begin()) return false;
  --next;
  return static_cast<const uint8_t*>(address) < next->second.end();
}

std::string fallen_canary() {
  const std::lock_guard lock(mutex);
  size_t number = 0;
  for (const auto& [begin, a] : allocations()) {
    for (const uint8_t* at = a.front(); at < a.begin; ++at)
      if (*at != kCanary) return "wrote " + std::to_string(a.begin - at) + " bytes before " + near_buffer(a.begin).substr(7);
    for (const uint8_t* at = a.begin + a.bytes; at < a.end(); ++at)
      if (*at != kCanary) return "wrote " + std::to_string(at - a.begin - static_cast<int64_t>(a.bytes)) + " bytes beyond " + near_buffer(a.begin).substr(7);
    ++number;
  }
  return {};
}

Snapshot take_snapshot() {
  const std::lock_guard lock(mutex);
  Snapshot out;
  for (const auto& [begin, a] : allocations()) out.emplace_back(a.begin, a.begin + a.bytes);
  return out;
}

void restore(const Snapshot& snapshot) {
  const std::lock_guard lock(mutex);
  size_t i = 0;
  for (const auto& [begin, a] : allocations()) {
    const auto& saved = snapshot[i++];
    std::copy(saved.begin(), saved.end(), a.begin);
  }
}

namespace {

// The entries of a list in the order of their bytes; of one that has no room for all, which are there is the schedule's.
void sort_list(std::vector<uint8_t>& bytes, size_t offset, size_t entries) {
  constexpr size_t kEntry = 64;
  uint64_t count;
  std::memcpy(&count, bytes.data() + offset, sizeof count);
  const auto first = bytes.begin() + static_cast<ptrdiff_t>(offset + kEntry);
  if (count > entries) {
    std::fill_n(first, entries * kEntry, uint8_t{0});
    return;
  }
  std::vector<std::string> sorted;
  for (size_t i = 0; i < count; ++i) sorted.emplace_back(first + static_cast<ptrdiff_t>(i * kEntry), first + static_cast<ptrdiff_t>((i + 1) * kEntry));
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < count; ++i) std::copy(sorted[i].begin(), sorted[i].end(), first + static_cast<ptrdiff_t>(i * kEntry));
}

}  // namespace

std::string difference(const Snapshot& snapshot) {
  const std::lock_guard lock(mutex);
  size_t i = 0;
  for (const auto& [begin, a] : allocations()) {
    const std::vector<uint8_t>& was = snapshot[i++];
    const auto lists = lists_in(a.begin, a.bytes);
    if (lists.empty() && std::equal(was.begin(), was.end(), a.begin)) continue;
    std::vector<uint8_t> before = was, now(a.begin, a.begin + a.bytes);
    for (const auto& [offset, entries] : lists) {
      sort_list(before, offset, entries);
      sort_list(now, offset, entries);
    }
    for (size_t b = 0; b < a.bytes; ++b)
      if (before[b] != now[b]) return "byte " + std::to_string(b) + " " + near_buffer(a.begin);
  }
  return {};
}

}  // namespace tilert::emulator
