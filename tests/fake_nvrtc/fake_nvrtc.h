/* What a test tells a fake NVRTC to do, and what it then can ask. Each fake library exports fake_nvrtc_control(). */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fake_nvrtc_script {
  int create_result;  /* what nvrtcCreateProgram returns; 0 is success */
  int compile_result; /* what nvrtcCompileProgram returns */
  int lowered_result; /* what nvrtcGetLoweredName returns */
  int cubin_result;   /* what nvrtcGetCUBINSize returns */
  const char* log;    /* the program's log; null: a ptxas log of clean kernels */
  int sleep_ms;       /* how long a compile takes */
  int ignore_flow;    /* nonzero: the flow callback is never asked */
} fake_nvrtc_script;

typedef struct fake_nvrtc_record {
  int compiles;            /* calls of nvrtcCompileProgram */
  int live_programs;       /* created and not destroyed */
  int flow_asked;          /* calls of the flow callback */
  char last_options[4096]; /* of the last compile, separated by new lines */
  char last_source_name[256];
  unsigned long last_stack_bytes; /* of the thread that compiled last */
} fake_nvrtc_record;

typedef struct fake_nvrtc_control_table {
  void (*set)(const fake_nvrtc_script* script); /* copied; null: the default script */
  fake_nvrtc_record (*take)(void);              /* the record so far */
} fake_nvrtc_control_table;

/* Symbol of each fake library: const fake_nvrtc_control_table* fake_nvrtc_control(void); */

#ifdef __cplusplus
}
#endif
