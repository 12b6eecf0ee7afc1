// Entry functions that take any bytes and must come back: what libFuzzer drives (fuzz_*), and what test_fuzz replays
// with the seeds and former crashers of seeds/. A broken promise ends the process with a line that says which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace tilert::fuzz {

void parse_program(const uint8_t* data, size_t size);   // program text: parsed, printed, parsed again, interpreted
void build_program(const uint8_t* data, size_t size);   // bytes as calls of the builder's C functions
void read_artifact(const uint8_t* data, size_t size);   // an artifact, as it is and behind a right checksum
void read_cache_row(const uint8_t* data, size_t size);  // a row of the cache, as it is and behind a right digest

inline void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// Of the builder's functions, by name, since the process began. Entries stay where they are: set them to zero, never erase them.
struct CallCount {
  size_t calls = 0;
  size_t came_off = 0;  // that did what they are for
};
std::map<std::string, CallCount>& builder_calls();

struct Target {
  const char* name;  // and folder of seeds
  void (*run)(const uint8_t*, size_t);
};
inline constexpr Target kTargets[] = {
    {"tir", parse_program}, {"builder", build_program}, {"artifact", read_artifact}, {"cache", read_cache_row}};

}  // namespace tilert::fuzz
