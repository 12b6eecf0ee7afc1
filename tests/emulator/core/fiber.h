// Fibers: one execution context per emulated GPU thread, switched by hand, and their stacks with guard pages.
// Not here: who runs when (machine.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilert::emulator {

struct SwitchContext;  // where a suspended fiber, or the scheduler, goes on

// Stacks of one size, each below a page that must not be touched; kept for the next block.
class StackPool {
 public:
  static constexpr size_t kBytes = 256 * 1024;
  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  uint8_t* base(size_t index);  // lowest byte of a stack; makes stacks up to `index`
  // The stack whose guard page holds the address; -1: none.
  int64_t guard_of(const void* address) const;

 private:
  std::vector<uint8_t*> maps_;
};

// Where fibers come from and go back to: the scheduler of one host thread.
struct FiberHome {
  void* stack_pointer = nullptr;      // of the suspended scheduler (x86-64)
  SwitchContext* context = nullptr;   // elsewhere
  bool entering = false;              // the scheduler has just resumed a fiber
  void* fake_stack = nullptr;         // the address sanitizer's, as below
  const void* stack = nullptr;
  size_t bytes = 0;
  FiberHome() = default;
  ~FiberHome();
  FiberHome(const FiberHome&) = delete;
  FiberHome& operator=(const FiberHome&) = delete;
};

class Fiber {
 public:
  Fiber() = default;
  Fiber(Fiber&&) noexcept;
  Fiber& operator=(Fiber&&) noexcept;
  ~Fiber();

  // Makes it ready to run `entry(argument)` from the start; entry never returns.
  void prepare(FiberHome& home, uint8_t* stack, size_t bytes, void (*entry)(void*), void* argument);
  // Called by the scheduler: runs the fiber, and those that it hands over to, until one suspends.
  void resume();
  // Called inside the fiber: back to the scheduler. `last`: it will never be resumed.
  void suspend(bool last);
  // Called inside the fiber: straight to another one, which costs half of the way over the scheduler.
  void hand_over(Fiber& to, bool last);
  const uint8_t* stack() const { return stack_; }
  void enter();  // internal: first words on its own stack

 private:
  void arrive();

  void* stack_pointer_ = nullptr;     // of the suspended fiber (x86-64)
  SwitchContext* context_ = nullptr;  // elsewhere
  FiberHome* home_ = nullptr;
  uint8_t* stack_ = nullptr;
  size_t bytes_ = 0;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* fake_stack_ = nullptr;        // the address sanitizer's
};

}  // namespace tilert::emulator
