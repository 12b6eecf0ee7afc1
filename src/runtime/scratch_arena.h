// Scratch memory for the blocks of CPU launches: page-aligned slots, made when a kernel is loaded, taken and given back
// without a lock. A slot belongs to one running chunk of blocks; there are more slots than threads that usually run.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "support/result.h"

namespace tilert::runtime {

class ScratchArena {
 public:
  // Slots for `width` pool threads and the callers beside them. Pages are not touched before they are used.
  static Result<std::shared_ptr<ScratchArena>> make(uint64_t slot_bytes, int width);
  ~ScratchArena();
  ScratchArena(const ScratchArena&) = delete;
  ScratchArena& operator=(const ScratchArena&) = delete;

  uint64_t slot_bytes() const { return slot_bytes_; }
  int slots() const { return slots_; }

  // One slot for as long as it lives; where all are taken, waits for one by yielding.
  class Slot {
   public:
    explicit Slot(ScratchArena* arena) : arena_(arena), index_(arena != nullptr ? arena->acquire() : 0) {}
    ~Slot() {
      if (arena_ != nullptr) arena_->release(index_);
    }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    void* data() const { return arena_ != nullptr ? arena_->base_ + uint64_t(index_) * arena_->stride_ : nullptr; }

   private:
    ScratchArena* arena_;
    int index_;
  };

 private:
  static constexpr int kWords = 8;
  ScratchArena() = default;
  int acquire();
  void release(int index);

  std::array<std::atomic<uint64_t>, kWords> taken_{};  // a bit per slot; bits beyond slots_ stay set
  uint8_t* base_ = nullptr;
  uint64_t slot_bytes_ = 0, stride_ = 0, mapped_ = 0;
  int slots_ = 0;
};

}  // namespace tilert::runtime
