// A CUDA driver for tests: a shared library with the driver's symbols, that keeps the driver's rules (contexts per
// thread, modules per context, captures), records calls and answers as scripted. Opened by path, as the library opens
// libcuda; a test opens the same file and steers it through the functions below (fake_cuda_api.h resolves them).
//
// A module image is text: "fake sm_90a\n" and then one line per kernel: its name, and the bytes of each parameter.
//   "fake sm_90a\nadd 8 8 8 4\nscale 8 128\n"
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

struct FakeLaunch {
  char kernel[64];
  uint32_t grid[3], block[3], cluster[3];
  uint32_t shared_bytes;
  int32_t cooperative, pdl, has_priority, priority;
  void* stream;
  void* context;  // current when it was called
  uint32_t parameter_bytes;
  uint8_t parameters[4096];  // in the layout of the device ABI
};

// What the fake's cuTensorMapEncodeTiled leaves in the 128 bytes of a descriptor.
struct FakeTensorMap {
  uint32_t magic;  // kFakeTensorMapMagic
  uint8_t type, rank, swizzle, l2, interleave, fill;
  uint8_t element_strides[5];
  uint64_t address;
  uint64_t strides[4];
  uint32_t dims[5];
  uint16_t box[5];
};
enum { kFakeTensorMapMagic = 0x70616d74 };

// Everything as at the start: 2 devices of compute capability 9.0, no modules, no scripts, no calls.
void fake_reset(void);
void fake_set_driver_version(int version);
void fake_set_device_count(int count);
void fake_set_device_attribute(int ordinal, int attribute, int value);
void fake_set_context_multiprocessors(void* context, int count);  // what cuCtxGetDevResource says
void fake_hide(const char* entry);                                // cuGetProcAddress finds it no longer
// After `skip` calls of `entry`, the next `count` of them do nothing and return `code`.
void fake_script(const char* entry, int code, int skip, int count);
// Calls of `entry` since the last reset; NULL: of all. Without recording, calls are counted, launches are not kept.
int fake_calls(const char* entry);
void fake_forget_calls(void);
void fake_record(int on);
int fake_launch_count(void);
int fake_launch(int index, struct FakeLaunch* out);  // 0 where there is none
void* fake_make_context(int ordinal);
void fake_destroy_context(void* context);
void* fake_make_stream(void* context);
void fake_set_current(void* context);  // of the calling thread
void* fake_current(void);
int fake_context_depth(void);  // of the calling thread's stack
void fake_set_capture(void* stream, int status);
void fake_set_global_capture(int on);                    // another thread captures in global mode
int fake_capture_broken(void);                           // something forbidden was called meanwhile
void fake_require_current(int on);                       // launches demand that the stream's context is current
void fake_set_memory(const void* pointer, int ordinal);  // this pointer is memory of that device
int fake_loaded_modules(void);
int fake_primary_retains(int ordinal);
int fake_violations(char* text, size_t size);  // broken rules: launches of unloaded modules, unbalanced contexts, ...
int fake_function_attribute(const char* kernel, int attribute);  // as set; -1: not set
}
