/* What compiled code may import, with addresses: the rows of helpers.def. */
#ifndef TILERT_LLVM_HELPERS_H
#define TILERT_LLVM_HELPERS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tilert_llvm_helper {
  const char *name;
  void (*address)(void);
} tilert_llvm_helper;

const tilert_llvm_helper *tilert_llvm_helpers(size_t *count);

#ifdef __cplusplus
}
#endif
#endif
