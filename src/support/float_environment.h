// The floating-point mode in which compiled code runs: round to nearest even, subnormals kept, no traps. Whatever the
// calling thread had set is back afterwards.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tilert {

class FloatEnvironment {
 public:
#if defined(__x86_64__)
  FloatEnvironment() : saved_(_mm_getcsr()) {
    if (saved_ != kDefault) _mm_setcsr(kDefault);
  }
  ~FloatEnvironment() {
    if (saved_ != kDefault) _mm_setcsr(saved_);
  }

 private:
  static constexpr uint32_t kDefault = 0x1f80;  // all exceptions masked, round to nearest, no FTZ, no DAZ
  const uint32_t saved_;
#elif defined(__aarch64__)
  FloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    if (saved_ != 0) asm volatile("msr fpcr, %0" ::"r"(uint64_t{0}));
  }
  ~FloatEnvironment() {
    if (saved_ != 0) asm volatile("msr fpcr, %0" ::"r"(saved_));
  }

 private:
  uint64_t saved_ = 0;
#else
#error "the floating-point control of this machine is not known here"
#endif

 public:
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;
};

}  // namespace tilert
