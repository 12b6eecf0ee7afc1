// Races: which accesses to shared and global memory have an order between them. Each thread carries a vector clock; each
// byte remembers its last write and some of its last reads. Two accesses of which one writes, with no order, are a race;
// so is an asynchronous access to what ordinary code wrote, or write over what it read, with no proxy fence on the way, and any access to bytes that a
// copy under way will write. Engines have clocks of their own: what they do is ordered by the wait for it.
// Not here: where accesses come from (hooks.cpp, the instructions).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilert::emulator {

class Machine;
struct Thread;
struct Block;

// What a thread, a barrier or an engine knows of all others: their times, and up to which time their ordinary writes are
// visible to asynchronous engines (by proxy fences).
struct Clock {
  std::vector<uint32_t> seen, fenced;
  void join(const Clock& other);
};

enum class Proxy : uint8_t { generic, async };

class Races {
 public:
  explicit Races(Machine& machine);

  void begin_launch();
  void begin_cluster(size_t threads);

  // By the calling fiber. `site`: a line of the kernel's text, or minus the distance of a host address from its entry.
  void access(const void* address, size_t bytes, bool write, int site);
  // Threads that have met at a barrier: each has seen what all did.
  void join(const std::vector<Thread*>& members);
  void release(const Thread& thread, Clock& to);   // what the thread did is known to who acquires `to`
  void acquire(const Thread& thread, const Clock& from);
  // The same through a word of memory.
  void release(const Thread& thread, const void* word) { release(thread, words_[word]); }
  void acquire(const Thread& thread, const void* word) { acquire(thread, words_[word]); }
  void proxy_fence(const Thread& thread);
  // The block under way has acquired: what blocks before it wrote has an order. Which of them released is not looked at.
  void acquired() { acquired_ = true; }
  bool knows(const Thread& thread, uint32_t component, uint32_t time) const { return at(clocks_[number(thread)].seen, component) >= time; }
  Clock clock(const Thread& thread) const { return clocks_[number(thread)]; }
  uint32_t time(const Thread& thread) const { return clocks_[number(thread)].seen[number(thread)]; }

  // Engines. A component's times are given by the engine: what it did at time t is ordered before who knows t.
  uint32_t add_component() { return components_++; }
  void tell(const Thread& thread, uint32_t component, uint32_t time);
  static void tell(Clock& clock, uint32_t component, uint32_t time);
  // An access that an engine makes on behalf of who issued it with `clock`. Empty, or the race in words.
  std::string engine_access(const Clock& clock, const void* address, size_t bytes, bool write, Proxy proxy, uint32_t component,
                            uint32_t time, int site);
  // Bytes of shared memory that a copy of the component will write: to be touched by nobody. Then: no longer.
  void expect(const void* address, size_t bytes, uint32_t component, int site);
  void landed(const void* address, size_t bytes, uint32_t component, uint32_t time, int site, Proxy proxy);

 private:
  struct Mark {
    uint32_t time = 0;  // 0: none
    uint16_t who = 0;   // component
    int site = 0;
  };
  struct Byte {
    Mark write;
    Mark reads[3];
    uint16_t cluster = 0;   // whose marks these are, of global memory (numbered from 1, wrapping)
    Proxy proxy = Proxy::generic;
    uint8_t coming = 0;     // a copy under way will write it
    uint16_t coming_from = 0;
    int coming_site = 0;
  };

  static uint32_t at(const std::vector<uint32_t>& times, uint32_t component) { return component < times.size() ? times[component] : 0; }
  uint32_t number(const Thread& thread) const;
  Byte* bytes_at(const void* address, size_t bytes, bool& global);
  // Empty, or what is wrong with an access by `component` at `time` of who knows `clock`.
  std::string note(Byte& byte, const Clock& clock, uint32_t component, uint32_t time, bool write, Proxy proxy, int site, bool global);
  std::string describe(const Mark& mark, const char* did) const;
  std::string place(int site) const;

  Machine& machine_;
  std::vector<Clock> clocks_;  // by thread of the cluster
  uint32_t components_ = 0;
  uint32_t turn_ = 0;          // for replacing reads
  uint16_t cluster_ = 0;
  std::unordered_map<const void*, Clock> words_;  // what was released through each
  bool acquired_ = false;
  std::vector<std::vector<Byte>> shared_;  // by block
  std::unordered_map<uintptr_t, std::unique_ptr<Byte[]>> global_;  // by page of 256 bytes
};

}  // namespace tilert::emulator
