// Steering the emulated GPU from a program that opens it by path, as driver and as NVRTC: the one function
// tilert_emulator_control gives a table. Not here: the driver's and NVRTC's own functions, which are theirs.
#pragma once

extern "C" {

// A launch of a text that add_text was given, of whole memory of the emulated driver.
struct tilert_emulator_launch {
  int text;
  const char* name;
  unsigned grid[3], threads, shared_bytes;
  unsigned lanes;  // of a warp
  int together;    // its blocks meet
  void** parameters;
};

struct tilert_emulator_table {
  // Under which schedules each launch runs: texts of Schedule, separated by ';'. Outputs must not differ between them.
  // 1: understood.
  int (*set_schedules)(const char* list);
  // Accesses are checked for races as well: kernels are compiled with hooks. 0, or 1 where this build cannot.
  int (*set_races)(int on);
  // What went wrong in this thread's last launch; empty where nothing did. Valid until its next launch.
  const char* (*report)(void);
  // Compiles every kernel that was given to NVRTC and is not compiled, in units of many; 0, or how many failed.
  int (*compile_pending)(void);
  // Texts of kernels by number, in the order in which they were first given; another text in place of one (-1: itself).
  int (*text_count)(void);
  const char* (*text)(int number);  // valid until the process ends
  int (*add_text)(const char* body);
  void (*replace)(int number, int by);
  // Texts may ask tlemu_mutant(id) at places that one run in many changes: the id that is answered yes (-1: none), and
  // whether threads have asked for an id since it was last set (of units without race reports).
  void (*set_mutant)(int id);
  int (*asked)(int id);
  // Sum over all launches of this process.
  void (*counts)(unsigned long long* launches, unsigned long long* switches, double* seconds);
  // 0, or 1 and report() says what went wrong.
  int (*run)(const struct tilert_emulator_launch* launch);
};

const tilert_emulator_table* tilert_emulator_control(void);
}
