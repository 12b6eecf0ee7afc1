// A HIP runtime for tests: devices current per thread, modules, captures; it records launches and answers as scripted.
// Two of it are built, with the device struct of ROCm 5 and of ROCm 6. Opened by path as the library opens libamdhip64;
// a test steers it through the functions below.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

struct FakeHipLaunch {
  char kernel[64];
  uint32_t grid[3], block[3], shared_bytes;
  int32_t cooperative, device;  // the device that was current
  void* stream;
  void* parameters[4];  // the first, 8 bytes of each
};

struct FakeHipControl {
  void (*reset)(void);  // 2 devices, gfx90a with features and gfx1100; no modules, no scripts, no launches
  void (*script)(const char* entry, int code);          // the next call of `entry` does nothing and returns `code`
  int (*calls)(const char* entry);                      // since the reset
  int (*launch)(int index, struct FakeHipLaunch* out);  // 0 where there is none
  int (*modules)(void);                                 // loaded
  void (*capture)(int status);                          // of every stream
  void (*set_current)(int device);                      // of this thread
  int (*current)(void);
  void (*memory)(void* pointer, int device);
};

// Symbol of each fake: const FakeHipControl* fake_hip_control(void);
}
