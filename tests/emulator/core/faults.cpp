// The signal handler leaves the fiber by its own way: it goes on in a function that reports and never returns.
#include "emulator/core/faults.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <map>
#include <mutex>

#include "emulator/core/machine.h"

namespace tilert::emulator {
namespace {

constexpr size_t kAlternateBytes = 64 * 1024;

thread_local const void* fault_address = nullptr;
thread_local bool fault_by_bus = false;
thread_local uint8_t* spare_stack = nullptr;  // where the report is written when the fiber's own stack is full

std::mutex mutex;
int users = 0;
struct sigaction before_segv, before_bus;

struct Buffer {
  size_t bytes;
  std::string name;
};
std::map<uintptr_t, Buffer>& buffers() {
  static auto& map = *new std::map<uintptr_t, Buffer>;
  return map;
}

[[noreturn]] void report_fault() {
  Machine& machine = Machine::current();
  const void* const at = fault_address;
  std::string what;
  const std::string beside = near_buffer(at);
  if (machine.is_stack_guard(at)) what = "the host's stack of an emulated thread is full";
  else if (fault_by_bus) what = "an access that this host does not allow";
  else if (!beside.empty()) what = "an access " + beside;
  else what = "an access to memory of nobody";
  machine.fail(Fault::out_of_bounds, what);
}

void leave_fiber(ucontext_t& context) {
  const auto target = reinterpret_cast<uintptr_t>(&report_fault);
  const uintptr_t top = reinterpret_cast<uintptr_t>(spare_stack) + StackPool::kBytes;
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(target);
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(top - 64 - 8);
#elif defined(__aarch64__)
  context.uc_mcontext.pc = target;
  context.uc_mcontext.sp = top - 64;
#endif
}

void handle(int signal, siginfo_t* info, void* context) {
  if (Machine::inside()) {
    fault_address = info->si_addr;
    fault_by_bus = signal == SIGBUS;
    return leave_fiber(*static_cast<ucontext_t*>(context));
  }
  // Not ours: the way it was, and the instruction faults again.
  sigaction(signal, signal == SIGSEGV ? &before_segv : &before_bus, nullptr);
}

}  // namespace

Faults::Faults(Machine&) {
  if (!spare_stack) {
    void* map = mmap(nullptr, StackPool::kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    spare_stack = map == MAP_FAILED ? nullptr : static_cast<uint8_t*>(map);
  }
  stack_t now{};
  sigaltstack(nullptr, &now);
  if (now.ss_flags & SS_DISABLE) {
    alternate_stack_ = mmap(nullptr, kAlternateBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const stack_t own{alternate_stack_, 0, kAlternateBytes};
    sigaltstack(&own, nullptr);
  }
  const std::lock_guard lock(mutex);
  if (users++) return;
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
}

Faults::~Faults() {
  {
    const std::lock_guard lock(mutex);
    if (--users == 0) {
      sigaction(SIGSEGV, &before_segv, nullptr);
      sigaction(SIGBUS, &before_bus, nullptr);
    }
  }
  if (!alternate_stack_) return;
  stack_t off{};
  off.ss_flags = SS_DISABLE;
  sigaltstack(&off, nullptr);
  munmap(alternate_stack_, kAlternateBytes);
}

void note_buffer(const void* begin, size_t bytes, const std::string& name) {
  const std::lock_guard lock(mutex);
  buffers()[reinterpret_cast<uintptr_t>(begin)] = {bytes, name};
}

namespace {
std::map<uintptr_t, size_t>& lists() {
  static auto& map = *new std::map<uintptr_t, size_t>;
  return map;
}
}  // namespace

void note_list(const void* begin, size_t entries) {
  const std::lock_guard lock(mutex);
  lists()[reinterpret_cast<uintptr_t>(begin)] = entries;
}

std::vector<std::pair<size_t, size_t>> lists_in(const void* begin, size_t bytes) {
  const std::lock_guard lock(mutex);
  const auto first = reinterpret_cast<uintptr_t>(begin);
  std::vector<std::pair<size_t, size_t>> out;
  for (auto at = lists().lower_bound(first); at != lists().end() && at->first < first + bytes; ++at) out.emplace_back(at->first - first, at->second);
  return out;
}

void forget_buffer(const void* begin) {
  const std::lock_guard lock(mutex);
  const auto first = reinterpret_cast<uintptr_t>(begin);
  const auto found = buffers().find(first);
  if (found == buffers().end()) return;
  lists().erase(lists().lower_bound(first), lists().lower_bound(first + found->second.bytes));
  buffers().erase(found);
}

std::string near_buffer(const void* address) {
  constexpr uintptr_t kNear = 1 << 20;
  const auto at = reinterpret_cast<uintptr_t>(address);
  if (Machine::inside())
    for (const Block& block : Machine::current().blocks()) {
      const auto begin = reinterpret_cast<uintptr_t>(block.arena), end = begin + Machine::current().launch().shared_bytes;
      if (at >= begin - 4096 && at < begin) return std::to_string(begin - at) + " bytes before shared memory";
      if (at >= end && at < end + 8192) return std::to_string(at - end) + " bytes beyond the end of shared memory";
    }
  const std::lock_guard lock(mutex);
  auto next = buffers().upper_bound(at);
  std::string out;
  if (next != buffers().end() && next->first - at < kNear) out = std::to_string(next->first - at) + " bytes before " + next->second.name;
  if (next != buffers().begin()) {
    const auto& [begin, buffer] = *--next;
    const uintptr_t end = begin + buffer.bytes;
    if (at < end) return "inside " + buffer.name;
    if (at - end < kNear) out = std::to_string(at - end) + " bytes beyond " + buffer.name;
  }
  return out;
}

}  // namespace tilert::emulator
