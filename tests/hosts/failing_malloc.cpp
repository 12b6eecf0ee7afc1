// malloc and its kin over those of the C library.
#include "hosts/failing_malloc.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* p);
}

namespace tilert::hosts {

static std::atomic<bool> armed{false};
static std::atomic<int64_t> calls{0}, failing_call{-1}, in_use{0};
static std::atomic<Failing> failing_mode{Failing::one};

static bool fails() {
  if (!armed.load(std::memory_order_relaxed)) return false;
  const int64_t call = calls.fetch_add(1, std::memory_order_relaxed),
                number = failing_call.load(std::memory_order_relaxed);
  const Failing mode = failing_mode.load(std::memory_order_relaxed);
  if (number < 0 || call < number || (mode != Failing::from && call - number > (mode == Failing::two))) return false;
  errno = ENOMEM;
  return true;
}

static void* counted(void* made) {
  if (made) in_use.fetch_add(static_cast<int64_t>(malloc_usable_size(made)), std::memory_order_relaxed);
  return made;
}
static void uncounted(void* p) {
  if (p) in_use.fetch_sub(static_cast<int64_t>(malloc_usable_size(p)), std::memory_order_relaxed);
}

void arm(int64_t number, Failing mode) {
  failing_call = number;
  failing_mode = mode;
  calls = 0;
  armed = true;
}
int64_t disarm() {
  armed = false;
  return calls;
}
int64_t bytes_in_use() { return in_use; }

}  // namespace tilert::hosts

// The C library's own, behind the question whether this call fails.
#define TILERT_INTERPOSED __attribute__((visibility("default")))
extern "C" {
TILERT_INTERPOSED void* malloc(size_t size) {
  return tilert::hosts::fails() ? nullptr : tilert::hosts::counted(__libc_malloc(size));
}
TILERT_INTERPOSED void* calloc(size_t count, size_t size) {
  return tilert::hosts::fails() ? nullptr : tilert::hosts::counted(__libc_calloc(count, size));
}
TILERT_INTERPOSED void* memalign(size_t alignment, size_t size) {
  return tilert::hosts::fails() ? nullptr : tilert::hosts::counted(__libc_memalign(alignment, size));
}
TILERT_INTERPOSED void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
TILERT_INTERPOSED int posix_memalign(void** out, size_t alignment, size_t size) {
  void* const made = memalign(alignment, size);
  if (!made) return ENOMEM;
  *out = made;
  return 0;
}
TILERT_INTERPOSED void free(void* p) {
  tilert::hosts::uncounted(p);
  __libc_free(p);
}
TILERT_INTERPOSED void* realloc(void* old, size_t size) {
  if (tilert::hosts::fails()) return nullptr;
  const size_t before = old ? malloc_usable_size(old) : 0;
  void* const made = __libc_realloc(old, size);
  if (made || size == 0) tilert::hosts::in_use.fetch_sub(static_cast<int64_t>(before));
  return tilert::hosts::counted(made);
}
}
