// The functions that a compiler's thread sanitizer calls before each plain access of a unit compiled with it: here they
// mark accesses of emulated threads. Not in a build that has the sanitizer itself.
#include "emulator/core/machine.h"
#include "emulator/core/races.h"

#if !defined(__SANITIZE_THREAD__)
namespace {

using tilert::emulator::Machine;

inline void note(const void* address, size_t bytes, bool write, const void* from) {
  if (!Machine::inside()) return;
  Machine& machine = Machine::current();
  if (!machine.races() || machine.on_own_stack(address)) return;
  const auto distance = reinterpret_cast<intptr_t>(from) - reinterpret_cast<intptr_t>(machine.launch().entry);
  machine.races()->access(address, bytes, write, distance < 0 ? static_cast<int>(distance) : -static_cast<int>(distance));
}

}  // namespace

#define FROM __builtin_return_address(0)
#define ACCESS(bytes)                                                                         \
  void __tsan_read##bytes(void* p) { note(p, bytes, false, FROM); }                           \
  void __tsan_write##bytes(void* p) { note(p, bytes, true, FROM); }                           \
  void __tsan_unaligned_read##bytes(void* p) { note(p, bytes, false, FROM); }                 \
  void __tsan_unaligned_write##bytes(void* p) { note(p, bytes, true, FROM); }                 \
  void __tsan_volatile_read##bytes(void* p) { note(p, bytes, false, FROM); }                  \
  void __tsan_volatile_write##bytes(void* p) { note(p, bytes, true, FROM); }

extern "C" {
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
void __tsan_init(void) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void) {}
void __tsan_read_range(void* p, unsigned long bytes) { note(p, bytes, false, FROM); }
void __tsan_write_range(void* p, unsigned long bytes) { note(p, bytes, true, FROM); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
  note(from, bytes, false, FROM);
  note(to, bytes, true, FROM);
  return __builtin_memcpy(to, from, bytes);
}
void* __tsan_memset(void* to, int value, unsigned long bytes) {
  note(to, bytes, true, FROM);
  return __builtin_memset(to, value, bytes);
}
void* __tsan_memmove(void* to, const void* from, unsigned long bytes) {
  note(from, bytes, false, FROM);
  note(to, bytes, true, FROM);
  return __builtin_memmove(to, from, bytes);
}
}
#endif
