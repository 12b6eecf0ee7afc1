// Context switch: by hand on x86-64, by ucontext elsewhere; the address sanitizer is told of every switch.
#include "emulator/core/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define TILERT_EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TILERT_EMULATOR_ASAN 1
#endif
#endif
#ifdef TILERT_EMULATOR_ASAN
extern "C" {
void __sanitizer_start_switch_fiber(void**, const void*, size_t);
void __sanitizer_finish_switch_fiber(void*, const void**, size_t*);
void __asan_unpoison_memory_region(const volatile void*, size_t);
}
#endif

namespace tilert::emulator {
namespace {

size_t page() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void start_switch([[maybe_unused]] void** fake, [[maybe_unused]] const void* stack, [[maybe_unused]] size_t bytes) {
#ifdef TILERT_EMULATOR_ASAN
  __sanitizer_start_switch_fiber(fake, stack, bytes);
#endif
}
void finish_switch([[maybe_unused]] void* fake, [[maybe_unused]] const void** stack, [[maybe_unused]] size_t* bytes) {
#ifdef TILERT_EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(fake, stack, bytes);
#endif
}

// A fiber that a report ended left its frames' marks on the stack.
void forget_frames([[maybe_unused]] uint8_t* stack, [[maybe_unused]] size_t bytes) {
#ifdef TILERT_EMULATOR_ASAN
  __asan_unpoison_memory_region(stack, bytes);
#endif
}

}  // namespace

uint8_t* StackPool::base(size_t index) {
  while (maps_.size() <= index) {
    void* map = mmap(nullptr, kBytes + page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return nullptr;
    mprotect(map, page(), PROT_NONE);
    maps_.push_back(static_cast<uint8_t*>(map));
  }
  return maps_[index] + page();
}

StackPool::~StackPool() {
  for (uint8_t* map : maps_) {
    forget_frames(map + page(), kBytes);  // what is mapped there next has none
    munmap(map, kBytes + page());
  }
}

int64_t StackPool::guard_of(const void* address) const {
  const auto* at = static_cast<const uint8_t*>(address);
  for (size_t i = 0; i < maps_.size(); ++i)
    if (at >= maps_[i] && at < maps_[i] + page()) return static_cast<int64_t>(i);
  return -1;
}

#if defined(__x86_64__)
extern "C" void tilert_emulator_switch(void** save, void* load);
// Callee-saved registers go to the stack that is left, and come from the one that is entered.
asm(R"(
.text
.p2align 4
.type tilert_emulator_switch,@function
.hidden tilert_emulator_switch
.globl tilert_emulator_switch
tilert_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tilert_emulator_switch,.-tilert_emulator_switch
.type tilert_emulator_start,@function
.hidden tilert_emulator_start
.globl tilert_emulator_start
tilert_emulator_start:
  movq %rbx, %rdi
  call tilert_emulator_enter
  ud2
.size tilert_emulator_start,.-tilert_emulator_start
)");
extern "C" void tilert_emulator_start();
extern "C" __attribute__((visibility("hidden"), used)) void tilert_emulator_enter(void* fiber) {
  static_cast<Fiber*>(fiber)->enter();
}

void Fiber::prepare(FiberHome& home, uint8_t* stack, size_t bytes, void (*entry)(void*), void* argument) {
  home_ = &home;
  stack_ = stack;
  bytes_ = bytes;
  entry_ = entry;
  argument_ = argument;
  fake_stack_ = nullptr;
  forget_frames(stack, bytes);
  auto** top = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(stack + bytes) & ~uintptr_t{15});
  *--top = nullptr;
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&tilert_emulator_start);  // entered with the stack aligned as before a call
  *--top = nullptr;  // rbp
  *--top = this;     // rbx
  for (int i = 0; i < 4; ++i) *--top = nullptr;
  stack_pointer_ = top;
}

void Fiber::resume() {
  home_->entering = true;
  start_switch(&home_->fake_stack, stack_, bytes_);
  tilert_emulator_switch(&home_->stack_pointer, stack_pointer_);
  finish_switch(home_->fake_stack, nullptr, nullptr);
}

void Fiber::suspend(bool last) {
  start_switch(last ? nullptr : &fake_stack_, home_->stack, home_->bytes);
  tilert_emulator_switch(&stack_pointer_, home_->stack_pointer);
  arrive();
}

void Fiber::hand_over(Fiber& to, bool last) {
  start_switch(last ? nullptr : &fake_stack_, to.stack_, to.bytes_);
  tilert_emulator_switch(&stack_pointer_, to.stack_pointer_);
  arrive();
}

Fiber::~Fiber() = default;
FiberHome::~FiberHome() = default;

#else
struct SwitchContext {
  ucontext_t place;
};

namespace {
// makecontext passes ints alone: the pointer goes in halves.
void start(unsigned high, unsigned low) {
  reinterpret_cast<Fiber*>(static_cast<uintptr_t>(high) << 32 | low)->enter();
}
}  // namespace

void Fiber::prepare(FiberHome& home, uint8_t* stack, size_t bytes, void (*entry)(void*), void* argument) {
  home_ = &home;
  stack_ = stack;
  bytes_ = bytes;
  entry_ = entry;
  argument_ = argument;
  fake_stack_ = nullptr;
  forget_frames(stack, bytes);
  if (!context_) context_ = new SwitchContext;
  if (!home.context) home.context = new SwitchContext;
  getcontext(&context_->place);
  context_->place.uc_stack.ss_sp = stack;
  context_->place.uc_stack.ss_size = bytes;
  context_->place.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);
  makecontext(&context_->place, reinterpret_cast<void (*)()>(&start), 2, static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
}

void Fiber::resume() {
  home_->entering = true;
  start_switch(&home_->fake_stack, stack_, bytes_);
  swapcontext(&home_->context->place, &context_->place);
  finish_switch(home_->fake_stack, nullptr, nullptr);
}

void Fiber::suspend(bool last) {
  start_switch(last ? nullptr : &fake_stack_, home_->stack, home_->bytes);
  swapcontext(&context_->place, &home_->context->place);
  arrive();
}

void Fiber::hand_over(Fiber& to, bool last) {
  start_switch(last ? nullptr : &fake_stack_, to.stack_, to.bytes_);
  swapcontext(&context_->place, &to.context_->place);
  arrive();
}

Fiber::~Fiber() { delete context_; }
FiberHome::~FiberHome() { delete context; }
#endif

void Fiber::enter() {
  fake_stack_ = nullptr;
  arrive();
  entry_(argument_);
}

// On its own stack again: who came from the scheduler notes where that lives.
void Fiber::arrive() {
#ifdef TILERT_EMULATOR_ASAN
  const void* stack = nullptr;
  size_t bytes = 0;
  finish_switch(fake_stack_, &stack, &bytes);
  if (home_->entering) home_->stack = stack, home_->bytes = bytes;
#endif
  home_->entering = false;
}

Fiber::Fiber(Fiber&& other) noexcept { *this = std::move(other); }

Fiber& Fiber::operator=(Fiber&& other) noexcept {
  stack_pointer_ = other.stack_pointer_;
  home_ = other.home_;
  std::swap(context_, other.context_);
  stack_ = other.stack_;
  bytes_ = other.bytes_;
  entry_ = other.entry_;
  argument_ = other.argument_;
  return *this;
}

}  // namespace tilert::emulator
