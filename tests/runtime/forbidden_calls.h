// Counts calls that a launch must not make, in every thread, while it lives: allocation,
// mutexes and shared mutexes, the environment.
// In builds with a sanitizer, which has these functions for itself, nothing is counted and kCounting is false.
#pragma once

namespace tilert::runtime::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCounting = false;
#else
inline constexpr bool kCounting = true;
#endif

class ForbiddenCalls {
 public:
  ForbiddenCalls();
  ~ForbiddenCalls();
  int allocations() const;
  int locks() const;
  int environment_reads() const;
};

}  // namespace tilert::runtime::testing
