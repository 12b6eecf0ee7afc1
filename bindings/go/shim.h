/* C beside the Go binding: what cgo cannot say, and one crossing where it would make several. No public name lives here. */
#ifndef TILERT_GO_SHIM_H_
#define TILERT_GO_SHIM_H_

#include <stdlib.h>
#include <tilert.h>

/* Go memory may be named by arguments of a call alone, so tensors in it travel as arguments, so many at most. */
enum { TLGO_MOST_GO_TENSORS = 16 };
#define TLGO_POINTERS                                                                                                   \
  unsigned char *p0, unsigned char *p1, unsigned char *p2, unsigned char *p3, unsigned char *p4, unsigned char *p5,     \
      unsigned char *p6, unsigned char *p7, unsigned char *p8, unsigned char *p9, unsigned char *p10, unsigned char *p11, \
      unsigned char *p12, unsigned char *p13, unsigned char *p14, unsigned char *p15

/* A launch bound once: in C memory, read by any number of launches at a time. */
typedef struct tlgo_call {
  tilert_launch_info info;
  /* Arguments whose data are Go memory: their numbers, in the order of the pointers that come with a call. */
  int32_t placed[TLGO_MOST_GO_TENSORS];
  int32_t placed_count;
} tlgo_call;

/* NULL, or the failure, in memory that the caller frees unless it is tlgo_no_memory. Numbers, not pointers: cgo then has
 * nothing to look after. */
tilert_launch_failure* tlgo_launch(uintptr_t call, uintptr_t stream);
tilert_launch_failure* tlgo_plan_launch(uintptr_t call, uintptr_t stream);
tilert_launch_failure* tlgo_launch_export(uintptr_t call, uintptr_t stream, tilert_launch_record* record);
/* `count` launches from C: what the ones from Go are compared with. Nanoseconds of all of them, negative on failure. */
int64_t tlgo_launch_repeat(uintptr_t call, uintptr_t stream, int64_t count);
extern tilert_launch_failure tlgo_no_memory;

/* A call whose arguments name Go memory, and which belongs to one caller. */
tilert_launch_failure* tlgo_launch_placed(uintptr_t call, uintptr_t stream, uintptr_t workspace, TLGO_POINTERS);
/* The interpreter on such a call. `user` 0: nobody listens to diagnostics. */
tilert_status tlgo_interpret(tilert_program* program, uintptr_t call, uintptr_t user, tilert_error** error, TLGO_POINTERS);

/* Callbacks: `user` is a number that Go gave, a cgo.Handle. */
void tlgo_listen(tilert_context_options* options, uintptr_t user);
void tlgo_execute(tilert_executor* executor, uintptr_t user);
void tlgo_body(uintptr_t body, uintptr_t arg, uint32_t index);
tilert_status tlgo_diagnostics(tilert_loaded* loaded, const unsigned char* workspace, uint64_t bytes, uintptr_t user, tilert_error** error);

/* An address as a pointer and back: addresses of devices are numbers in Go. */
static inline void* tlgo_pointer(uintptr_t address) { return (void*)address; }
static inline uintptr_t tlgo_address(const void* pointer) { return (uintptr_t)pointer; }

/* Retaining and releasing by one form. */
typedef void (*tlgo_count)(void*);
#define TLGO_KIND(name)                                                               \
  static inline void tlgo_retain_##name(void* p) { tilert_##name##_retain(p); }       \
  static inline void tlgo_release_##name(void* p) { tilert_##name##_release(p); }
TLGO_KIND(program)
TLGO_KIND(context)
TLGO_KIND(device)
TLGO_KIND(kernel)
TLGO_KIND(variant)
TLGO_KIND(loaded)
TLGO_KIND(job)

#endif
