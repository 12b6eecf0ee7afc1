// Host signals of emulated accesses (guard pages, addresses of nobody): a report in place of the process's end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilert::emulator {

class Machine;

// While one lives, a segmentation fault or bus error inside a fiber of the machine ends the run with a report. Faults
// elsewhere go where they went before. May be nested and used on several host threads.
struct Faults {
  explicit Faults(Machine& machine);
  ~Faults();
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

 private:
  void* alternate_stack_ = nullptr;
};

// Buffers that exist, so that a report can say beside which one an address lies.
void note_buffer(const void* begin, size_t bytes, const std::string& name);
void forget_buffer(const void* begin);
// A list that threads fill in whatever order they come: a 64-bit count, and from 64 bytes on `entries` of 64 bytes.
void note_list(const void* begin, size_t entries);
// The lists inside a buffer: offset and entries. They are forgotten with it.
std::vector<std::pair<size_t, size_t>> lists_in(const void* begin, size_t bytes);
// "12 bytes beyond argument 2"; empty where nothing is near.
std::string near_buffer(const void* address);

}  // namespace tilert::emulator
