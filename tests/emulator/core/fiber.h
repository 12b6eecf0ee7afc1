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

class Fiber {
 public:
  Fiber() = default;
  Fiber(Fiber&&) noexcept;
  Fiber& operator=(Fiber&&) noexcept;
  ~Fiber();

  // Makes it ready to run `entry(argument)` from the start; entry never returns.
  void prepare(uint8_t* stack, size_t bytes, void (*entry)(void*), void* argument);
  // Called by the scheduler: runs the fiber until it suspends.
  void resume();
  // Called inside the fiber: back to the scheduler. `last`: it will never be resumed.
  void suspend(bool last);
  const uint8_t* stack() const { return stack_; }
  void enter();  // internal: first words on its own stack

 private:
  void* stack_pointer_ = nullptr;     // of the suspended fiber (x86-64)
  void* scheduler_pointer_ = nullptr;
  SwitchContext* context_ = nullptr;        // elsewhere
  uint8_t* stack_ = nullptr;
  size_t bytes_ = 0;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* fake_stack_ = nullptr;        // the address sanitizer's, both
  void* scheduler_fake_stack_ = nullptr;
  const void* scheduler_stack_ = nullptr;
  size_t scheduler_bytes_ = 0;
};

}  // namespace tilert::emulator
