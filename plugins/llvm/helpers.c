/* The addresses behind helpers.def. In C, because C++ gives the names of <math.h> overloads. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sincosf */
#endif
#include "helpers.h"

#include <math.h>
#include <string.h>

static const tilert_llvm_helper kHelpers[] = {
#define TILERT_HELPER(name) {#name, (void (*)(void))name},
#include "helpers.def"
#undef TILERT_HELPER
};

const tilert_llvm_helper *tilert_llvm_helpers(size_t *count) {
  *count = sizeof kHelpers / sizeof kHelpers[0];
  return kHelpers;
}
