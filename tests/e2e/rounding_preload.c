// Preloaded into a process: its main thread starts in the rounding mode that TILERT_TEST_ROUNDING names, and flushes
// subnormal numbers where TILERT_TEST_FLUSH is set.
#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

__attribute__((constructor)) static void set_mode(void) {
  const char* mode = getenv("TILERT_TEST_ROUNDING");
  if (!mode) return;
  if (!strcmp(mode, "up")) fesetround(FE_UPWARD);
  if (!strcmp(mode, "down")) fesetround(FE_DOWNWARD);
  if (!strcmp(mode, "zero")) fesetround(FE_TOWARDZERO);
#if defined(__x86_64__)
  if (getenv("TILERT_TEST_FLUSH")) _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}
