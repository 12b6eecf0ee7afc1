// Clocks and marks.
#include "emulator/core/races.h"

#include <algorithm>
#include <cstdlib>

#include "emulator/core/faults.h"
#include "emulator/core/machine.h"

namespace tilert::emulator {
namespace {

constexpr uintptr_t kPage = 256;

void join_times(std::vector<uint32_t>& to, const std::vector<uint32_t>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

}  // namespace

void Clock::join(const Clock& other) {
  join_times(seen, other.seen);
  join_times(fenced, other.fenced);
}

Races::Races(Machine& machine) : machine_(machine) {}

void Races::begin_launch() {
  global_.clear();
  cluster_ = 0;
}

void Races::begin_cluster(size_t threads) {
  if (++cluster_ == 0) cluster_ = 1;
  acquired_ = false;
  components_ = static_cast<uint32_t>(threads);
  words_.clear();
  clocks_.assign(threads, {});
  for (size_t t = 0; t < threads; ++t) {
    clocks_[t].seen.assign(threads, 0);
    clocks_[t].fenced.assign(threads, 0);
    clocks_[t].seen[t] = 1;
  }
  shared_.resize(machine_.blocks().size());
  for (auto& block : shared_) block.assign(machine_.launch().shared_bytes, {});
}

uint32_t Races::number(const Thread& thread) const { return thread.number; }

void Races::join(const std::vector<Thread*>& members) {
  static thread_local Clock all;
  all.seen.assign(components_, 0);
  all.fenced.assign(components_, 0);
  for (const Thread* member : members) all.join(clocks_[number(*member)]);
  for (const Thread* member : members) {
    clocks_[number(*member)] = all;
    ++clocks_[number(*member)].seen[number(*member)];
  }
}

void Races::release(const Thread& thread, Clock& to) {
  to.join(clocks_[number(thread)]);
  ++clocks_[number(thread)].seen[number(thread)];
}

void Races::acquire(const Thread& thread, const Clock& from) { clocks_[number(thread)].join(from); }

// All that the thread knows of is now visible to engines, for it and for who learns of it.
void Races::proxy_fence(const Thread& thread) {
  Clock& clock = clocks_[number(thread)];
  join_times(clock.fenced, clock.seen);
}

void Races::tell(const Thread& thread, uint32_t component, uint32_t time) { tell(clocks_[number(thread)], component, time); }

void Races::tell(Clock& clock, uint32_t component, uint32_t time) {
  if (clock.seen.size() <= component) clock.seen.resize(component + 1);
  clock.seen[component] = std::max(clock.seen[component], time);
}

Races::Byte* Races::bytes_at(const void* address, size_t bytes, bool& global) {
  Block* holder = nullptr;
  const int64_t offset = machine_.arena_offset(address, &holder);
  global = offset < 0;
  if (!global) {
    if (holder->running == 0 && Machine::inside())
      machine_.fail(Fault::protocol, "an access to the shared memory of " + machine_.describe(*holder) + ", whose threads have ended");
    auto& block = shared_[holder->rank];
    if (static_cast<uint64_t>(offset) + bytes <= block.size()) return &block[static_cast<size_t>(offset)];
    if (Machine::inside())
      machine_.fail(Fault::protocol, "an access at byte " + std::to_string(offset) + " of shared memory, of which the block has " +
                                         std::to_string(block.size()));
    return nullptr;
  }
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto& page = global_[at / kPage];
  if (!page) page = std::make_unique<Byte[]>(kPage);
  return &page[at % kPage];
}

std::string Races::place(int site) const {
  if (site >= 0) return machine_.place(site);
  return "host code at entry + " + std::to_string(-static_cast<int64_t>(site));
}

std::string Races::describe(const Mark& mark, const char* did) const {
  std::string who = "an asynchronous engine";
  if (mark.who < machine_.threads().size()) who = machine_.describe(machine_.threads()[mark.who]);
  return who + " " + did + " at " + place(mark.site);
}

std::string Races::note(Byte& byte, const Clock& clock, uint32_t component, uint32_t time, bool write, Proxy proxy, int site, bool global) {
  if (global && byte.cluster != cluster_) {
    const bool other_wrote = byte.cluster && byte.write.time, other_read = byte.cluster && byte.reads[0].time;
    if (!acquired_ && (other_wrote || (write && other_read))) return "another block also uses it, without an order: it was written or read at " + place(other_wrote ? byte.write.site : byte.reads[0].site);
    byte = Byte();
    byte.cluster = cluster_;
  }
  if (byte.coming) return "a copy under way will write it, of " + place(byte.coming_site);
  const auto known = [&](const Mark& mark) { return mark.time == 0 || mark.who == component || at(clock.seen, mark.who) >= mark.time; };
  if (!known(byte.write)) return describe(byte.write, "wrote it");
  if (proxy == Proxy::async && byte.write.time && byte.proxy == Proxy::generic && at(clock.fenced, byte.write.who) < byte.write.time && !global)
    return describe(byte.write, "wrote it") + ", with no proxy_fence before the asynchronous access";
  if (write) {
    for (const Mark& read : byte.reads) {
      if (!known(read)) return describe(read, "reads it");
      const bool ordinary = read.time && read.who < machine_.threads().size();
      if (proxy == Proxy::async && ordinary && !global && at(clock.fenced, read.who) < read.time)
        return describe(read, "read it") + ", with no proxy_fence before the asynchronous write";
    }
    byte.write = {time, static_cast<uint16_t>(component), site};
    byte.proxy = proxy;
    for (Mark& read : byte.reads) read = {};
    return {};
  }
  Mark* place_for = nullptr;
  for (Mark& read : byte.reads)
    if (read.time == 0 || read.who == component || at(clock.seen, read.who) >= read.time) {
      place_for = &read;
      break;
    }
  if (!place_for) place_for = &byte.reads[turn_++ % 3];
  *place_for = {time, static_cast<uint16_t>(component), site};
  return {};
}

void Races::access(const void* address, size_t bytes, bool write, int site) {
  Thread& thread = machine_.self();
  const uint32_t component = number(thread);
  const Clock& clock = clocks_[component];
  const auto* at = static_cast<const uint8_t*>(address);
  for (size_t i = 0; i < bytes;) {
    bool global = false;
    const size_t run = std::min(bytes - i, static_cast<size_t>(kPage - reinterpret_cast<uintptr_t>(at + i) % kPage));
    Byte* const marks = bytes_at(at + i, run, global);
    thread.touched |= global && !machine_.is_parameter(at + i);
    if (!marks) return;  // beyond the block's memory: the canary or the page says so
    for (size_t b = 0; b < run; ++b) {
      std::string wrong = note(marks[b], clock, component, clock.seen[component], write, Proxy::generic, site, global);
      if (wrong.empty()) continue;
      const int64_t offset = machine_.arena_offset(at + i + b);
      const std::string where = offset >= 0 ? "byte " + std::to_string(offset) + " of shared memory" : "a byte of " + near_buffer(at + i + b);
      machine_.fail(Fault::race, std::string(write ? "writes " : "reads ") + where + (site < 0 ? " (" + place(site) + ")" : "") + "; " + wrong);
    }
    i += run;
  }
}

std::string Races::engine_access(const Clock& clock, const void* address, size_t bytes, bool write, Proxy proxy, uint32_t component,
                                 uint32_t time, int site) {
  const auto* at = static_cast<const uint8_t*>(address);
  for (size_t i = 0; i < bytes;) {
    bool global = false;
    const size_t run = std::min(bytes - i, static_cast<size_t>(kPage - reinterpret_cast<uintptr_t>(at + i) % kPage));
    Byte* const marks = bytes_at(at + i, run, global);
    if (!marks) return {};
    for (size_t b = 0; b < run; ++b) {
      std::string wrong = note(marks[b], clock, component, time, write, proxy, site, global);
      if (wrong.empty()) continue;
      const int64_t offset = machine_.arena_offset(at + i + b);
      return std::string(write ? "writes " : "reads ") +
             (offset >= 0 ? "byte " + std::to_string(offset) + " of shared memory" : "a byte of " + near_buffer(at + i + b)) + "; " + wrong;
    }
    i += run;
  }
  return {};
}

void Races::expect(const void* address, size_t bytes, uint32_t component, int site) {
  bool global = false;
  Byte* const marks = bytes_at(address, bytes, global);
  for (size_t b = 0; marks && !global && b < bytes; ++b) {
    marks[b].coming = 1;
    marks[b].coming_from = static_cast<uint16_t>(component);
    marks[b].coming_site = site;
  }
}

void Races::landed(const void* address, size_t bytes, uint32_t component, uint32_t time, int site, Proxy proxy) {
  bool global = false;
  Byte* const marks = bytes_at(address, bytes, global);
  for (size_t b = 0; marks && !global && b < bytes; ++b) {
    marks[b] = Byte();
    marks[b].write = {time, static_cast<uint16_t>(component), site};
    marks[b].proxy = proxy;
  }
}

}  // namespace tilert::emulator
