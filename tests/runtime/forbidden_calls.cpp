// The interposed functions behind ForbiddenCalls: the program's own malloc, pthread locks and getenv.
#include "runtime/forbidden_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocation_count{0}, lock_count{0}, environment_count{0};

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void count(std::atomic<int>& counter) {
  if (counting.load(std::memory_order_relaxed)) counter.fetch_add(1, std::memory_order_relaxed);
}

// Seen by libraries too, whose operator new calls malloc: clang hides a definition where gcc keeps to the C library's declaration.
#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);

void* malloc(size_t size) noexcept {
  count(allocation_count);
  return __libc_malloc(size);
}
void* calloc(size_t number, size_t size) noexcept {
  count(allocation_count);
  return __libc_calloc(number, size);
}
void* realloc(void* memory, size_t size) noexcept {
  count(allocation_count);
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  count(allocation_count);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  count(allocation_count);
  *memory = __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}
void free(void* memory) noexcept {
  if (memory != nullptr) count(allocation_count);
  __libc_free(memory);
}
// Counts, and calls the C library's own function of that name.
#define TILERT_COUNTED_LOCK(name, T)                                       \
  int name(T* lock) {                                                      \
    using Lock = int (*)(T*);                                              \
    static std::atomic<Lock> real{nullptr};                                \
    Lock call = real.load(std::memory_order_relaxed);                      \
    if (call == nullptr) {                                                 \
      call = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, #name));              \
      real.store(call, std::memory_order_relaxed);                         \
    }                                                                      \
    count(lock_count);                                                     \
    return call(lock);                                                     \
  }
TILERT_COUNTED_LOCK(pthread_mutex_lock, pthread_mutex_t)
TILERT_COUNTED_LOCK(pthread_mutex_trylock, pthread_mutex_t)
TILERT_COUNTED_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
TILERT_COUNTED_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
TILERT_COUNTED_LOCK(pthread_rwlock_tryrdlock, pthread_rwlock_t)
TILERT_COUNTED_LOCK(pthread_rwlock_trywrlock, pthread_rwlock_t)
TILERT_COUNTED_LOCK(pthread_spin_lock, pthread_spinlock_t)
#undef TILERT_COUNTED_LOCK

static char* in_environment(const char* name) {
  count(environment_count);
  const size_t length = std::strlen(name);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  }
  return nullptr;
}
char* getenv(const char* name) noexcept { return in_environment(name); }
char* secure_getenv(const char* name) noexcept { return in_environment(name); }
}
#pragma GCC visibility pop
#endif

namespace tilert::runtime::testing {

ForbiddenCalls::ForbiddenCalls() {
  allocation_count = lock_count = environment_count = 0;
  counting = true;
}
ForbiddenCalls::~ForbiddenCalls() { counting = false; }
int ForbiddenCalls::allocations() const { return allocation_count; }
int ForbiddenCalls::locks() const { return lock_count; }
int ForbiddenCalls::environment_reads() const { return environment_count; }

}  // namespace tilert::runtime::testing
