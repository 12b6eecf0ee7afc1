/* C beside the Go binding: see shim.h. */
#include "shim.h"

#include <string.h>
#include <time.h>

#include "_cgo_export.h"

tilert_launch_failure tlgo_no_memory = {sizeof(tilert_launch_failure), TILERT_OUT_OF_MEMORY, -1, -1, 0, 0,
                                        "no memory for the report of a launch that failed"};

static tilert_launch_failure* report(tilert_status status, const tilert_launch_failure* failure) {
  if (status == TILERT_OK) return NULL;
  tilert_launch_failure* out = malloc(sizeof *out);
  if (!out) return &tlgo_no_memory;
  *out = *failure;
  out->status = status;
  return out;
}

/* The header of a failure alone: its message is written by who fails. */
static void ready(tilert_launch_failure* failure) {
  failure->struct_size = sizeof *failure;
  failure->status = TILERT_OK;
  failure->argument = failure->dim = -1;
  failure->driver_code = 0;
  failure->reserved = 0;
  failure->message[0] = 0;
}

tilert_launch_failure* tlgo_launch(uintptr_t call, uintptr_t stream) {
  tilert_launch_info info = ((const tlgo_call*)call)->info;
  tilert_launch_failure failure;
  ready(&failure);
  info.stream = (void*)stream;
  info.failure = &failure;
  return report(tilert_launch(&info), &failure);
}

tilert_launch_failure* tlgo_plan_launch(uintptr_t call, uintptr_t stream) {
  tilert_launch_info info = ((const tlgo_call*)call)->info;
  tilert_launch_failure failure;
  ready(&failure);
  info.stream = (void*)stream;
  info.failure = &failure;
  return report(tilert_plan_launch(&info), &failure);
}

tilert_launch_failure* tlgo_launch_export(uintptr_t call, uintptr_t stream, tilert_launch_record* record) {
  tilert_launch_info info = ((const tlgo_call*)call)->info;
  tilert_launch_failure failure;
  ready(&failure);
  info.stream = (void*)stream;
  info.failure = &failure;
  return report(tilert_launch_export(&info, record), &failure);
}

int64_t tlgo_launch_repeat(uintptr_t call, uintptr_t stream, int64_t count) {
  tilert_launch_info info = ((const tlgo_call*)call)->info;
  tilert_launch_failure failure;
  ready(&failure);
  info.stream = (void*)stream;
  info.failure = &failure;
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int64_t i = 0; i < count; ++i)
    if (tilert_launch(&info) != TILERT_OK) return -1;
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (end.tv_sec - begin.tv_sec) * INT64_C(1000000000) + (end.tv_nsec - begin.tv_nsec);
}

/* The pointers come to their arguments, which are C memory of this call alone. */
static void place(tlgo_call* call, TLGO_POINTERS) {
  unsigned char* const all[TLGO_MOST_GO_TENSORS] = {p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15};
  tilert_argument* arguments = (tilert_argument*)call->info.arguments;
  for (int32_t i = 0; i < call->placed_count; ++i) arguments[call->placed[i]].data = all[i];
}

tilert_launch_failure* tlgo_launch_placed(uintptr_t call, uintptr_t stream, uintptr_t workspace, TLGO_POINTERS) {
  tlgo_call* c = (tlgo_call*)call;
  place(c, p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15);
  c->info.workspace = (void*)workspace;
  return tlgo_launch(call, stream);
}

static void on_diagnostic(void* user, const tilert_diagnostic* entry) {
  tlgoDiagnostic((uintptr_t)user, (tilert_diagnostic*)entry);
}

tilert_status tlgo_interpret(tilert_program* program, uintptr_t call, uintptr_t user, tilert_error** error, TLGO_POINTERS) {
  tlgo_call* c = (tlgo_call*)call;
  place(c, p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15);
  if (user == 0)
    return tilert_program_interpret(program, c->info.arguments, c->info.argument_count, c->info.dims, c->info.dim_count, error);
  return tilert_program_interpret_diagnosed(program, c->info.arguments, c->info.argument_count, c->info.dims,
                                            c->info.dim_count, on_diagnostic, (void*)user, error);
}

tilert_status tlgo_diagnostics(tilert_loaded* loaded, const unsigned char* workspace, uint64_t bytes, uintptr_t user,
                               tilert_error** error) {
  return tilert_diagnostics_read(loaded, workspace, bytes, on_diagnostic, (void*)user, error);
}

static void on_event(void* user, const tilert_event* event) { tlgoEvent((uintptr_t)user, (tilert_event*)event); }

void tlgo_listen(tilert_context_options* options, uintptr_t user) {
  options->on_event = on_event;
  options->on_event_user = (void*)user;
}

static void parallel_for(void* user, uint32_t count, void (*body)(void* arg, uint32_t index), void* arg) {
  tlgoParallelFor((uintptr_t)user, count, (uintptr_t)body, (uintptr_t)arg);
}

void tlgo_execute(tilert_executor* executor, uintptr_t user) {
  executor->parallel_for = parallel_for;
  executor->user = (void*)user;
}

void tlgo_body(uintptr_t body, uintptr_t arg, uint32_t index) {
  ((void (*)(void*, uint32_t))body)((void*)arg, index);
}
