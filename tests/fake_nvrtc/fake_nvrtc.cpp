// A library with NVRTC's C interface whose results a test scripts. Its cubins are no machine code: a mark, the target,
// and ".text.NAME" for each extern "C" __global__ function in the source, as a real cubin has it.
#include "fake_nvrtc.h"

#include <pthread.h>

#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Script {
  fake_nvrtc_script values{};
  std::string log;
  bool has_log = false;
};

struct Program {
  std::string source, target, log, cubin, ptx;
  std::vector<std::string> expressions;
  std::vector<std::string> lowered;
  int (*flow)(void*, void*) = nullptr;
  void* payload = nullptr;
};

std::mutex mutex;
Script script;
fake_nvrtc_record record{};

std::vector<std::string> entries(const std::string& source) {
  std::vector<std::string> names;
  for (size_t at = source.find("__global__"); at != std::string::npos; at = source.find("__global__", at + 1)) {
    size_t open = source.find('(', at);
    // __launch_bounds__(n) has a parenthesis of its own.
    if (open != std::string::npos && source.substr(at, open - at).find("__launch_bounds__") != std::string::npos)
      open = source.find('(', source.find(')', open));
    if (open == std::string::npos) break;
    size_t end = open;
    while (end > 0 && source[end - 1] == ' ') --end;
    size_t begin = end;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(source[begin - 1])) || source[begin - 1] == '_'))
      --begin;
    if (end > begin) names.push_back(source.substr(begin, end - begin));
  }
  // What the library generates says it by a macro.
  for (size_t at = source.find("\nTL_KERNEL("); at != std::string::npos; at = source.find("\nTL_KERNEL(", at + 1)) {
    const size_t begin = source.find(')', at) + 2;
    names.push_back(source.substr(begin, source.find('(', begin) - begin));
  }
  return names;
}

unsigned long stack_bytes() {
  pthread_attr_t attributes;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  pthread_attr_getstacksize(&attributes, &size);
  pthread_attr_destroy(&attributes);
  return size;
}

// True when the callback says stop.
bool spend_time(Program& program, const fake_nvrtc_script& values) {
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(values.sleep_ms);
  do {
    if (program.flow && !values.ignore_flow) {
      {
        std::lock_guard lock(mutex);
        ++record.flow_asked;
      }
      if (program.flow(program.payload, nullptr)) return true;
    }
    if (values.sleep_ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

void write_outputs(Program& program, const Script& current) {
  program.cubin =
      "\x7f"
      "FAKECUBIN " +
      program.target + '\0';
  program.ptx = "// fake PTX for " + program.target + "\n";
  std::string log;
  for (const std::string& name : entries(program.source)) {
    program.cubin += ".text." + name + '\0';
    program.ptx += ".visible .entry " + name + "(\n)\n{}\n";
    log += "ptxas info    : Compiling entry function '" + name + "' for '" + program.target +
           "'\nptxas info    : Function properties for " + name +
           "\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
           "ptxas info    : Used 24 registers, used 1 barriers, 16 bytes smem\n";
  }
  program.log = current.has_log ? current.log : log;
}

void set_script(const fake_nvrtc_script* values) {
  std::lock_guard lock(mutex);
  script = Script{};
  record = fake_nvrtc_record{0, record.live_programs, 0, "", "", 0};
  if (!values) return;
  script.values = *values;
  script.has_log = values->log != nullptr;
  if (values->log) script.log = values->log;
}

fake_nvrtc_record take_record() {
  std::lock_guard lock(mutex);
  return record;
}

int copy_out(const std::string& from, char* to) {
  std::memcpy(to, from.c_str(), from.size() + 1);
  return 0;
}

}  // namespace

FAKE_EXPORT const fake_nvrtc_control_table* fake_nvrtc_control(void) {
  static const fake_nvrtc_control_table table = {set_script, take_record};
  return &table;
}

FAKE_EXPORT int nvrtcVersion(int* major, int* minor) {
  *major = FAKE_MAJOR;
  *minor = FAKE_MINOR;
  return 0;
}

FAKE_EXPORT const char* nvrtcGetErrorString(int result) {
  switch (result) {
    case 0: return "NVRTC_SUCCESS";
    case 5: return "NVRTC_ERROR_INVALID_OPTION";
    case 6: return "NVRTC_ERROR_COMPILATION";
    case 7: return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
    default: return "NVRTC_ERROR unknown";
  }
}

FAKE_EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  *count = 6;
  return 0;
}

FAKE_EXPORT int nvrtcGetSupportedArchs(int* archs) {
  const int known[] = {80, 86, 89, 90, 100, 120};
  std::memcpy(archs, known, sizeof known);
  return 0;
}

FAKE_EXPORT int nvrtcCreateProgram(void** program, const char* source, const char* name, int, const char* const*,
                                   const char* const*) {
  std::lock_guard lock(mutex);
  if (script.values.create_result) return script.values.create_result;
  *program = new Program{source, {}, {}, {}, {}, {}, {}};
  ++record.live_programs;
  std::snprintf(record.last_source_name, sizeof record.last_source_name, "%s", name);
  return 0;
}

FAKE_EXPORT int nvrtcDestroyProgram(void** program) {
  std::lock_guard lock(mutex);
  delete static_cast<Program*>(*program);
  *program = nullptr;
  --record.live_programs;
  return 0;
}

FAKE_EXPORT int nvrtcCompileProgram(void* handle, int count, const char* const* options) {
  auto& program = *static_cast<Program*>(handle);
  Script current;
  {
    std::lock_guard lock(mutex);
    current = script;
    ++record.compiles;
    std::string all;
    for (int i = 0; i < count; ++i) all += std::string(options[i]) + "\n";
    std::snprintf(record.last_options, sizeof record.last_options, "%s", all.c_str());
    record.last_stack_bytes = stack_bytes();
  }
  std::string arch = count ? options[0] : "";
  program.target = arch.substr(arch.find('=') + 1);
  if (spend_time(program, current.values)) return 16;
  write_outputs(program, current);
  for (const std::string& expression : program.expressions) program.lowered.push_back("_Z" + expression);
  return current.values.compile_result;
}

FAKE_EXPORT int nvrtcGetPTXSize(void* handle, size_t* size) {
  *size = static_cast<Program*>(handle)->ptx.size() + 1;
  return 0;
}

FAKE_EXPORT int nvrtcGetPTX(void* handle, char* bytes) { return copy_out(static_cast<Program*>(handle)->ptx, bytes); }

#ifndef FAKE_WITHOUT_CUBIN
FAKE_EXPORT int nvrtcGetCUBINSize(void* handle, size_t* size) {
  std::lock_guard lock(mutex);
  *size = static_cast<Program*>(handle)->cubin.size();
  return script.values.cubin_result;
}

FAKE_EXPORT int nvrtcGetCUBIN(void* handle, char* bytes) {
  const std::string& cubin = static_cast<Program*>(handle)->cubin;
  std::memcpy(bytes, cubin.data(), cubin.size());
  return 0;
}
#endif

FAKE_EXPORT int nvrtcGetProgramLogSize(void* handle, size_t* size) {
  *size = static_cast<Program*>(handle)->log.size() + 1;
  return 0;
}

FAKE_EXPORT int nvrtcGetProgramLog(void* handle, char* bytes) {
  return copy_out(static_cast<Program*>(handle)->log, bytes);
}

FAKE_EXPORT int nvrtcAddNameExpression(void* handle, const char* expression) {
  static_cast<Program*>(handle)->expressions.emplace_back(expression);
  return 0;
}

FAKE_EXPORT int nvrtcGetLoweredName(void* handle, const char* expression, const char** name) {
  std::lock_guard lock(mutex);
  auto& program = *static_cast<Program*>(handle);
  for (size_t i = 0; i < program.expressions.size(); ++i)
    if (program.expressions[i] == expression) *name = program.lowered[i].c_str();
  return script.values.lowered_result;
}

#ifdef FAKE_FLOW
FAKE_EXPORT int nvrtcSetFlowCallback(void* handle, int (*callback)(void*, void*), void* payload) {
  auto& program = *static_cast<Program*>(handle);
  program.flow = callback;
  program.payload = payload;
  return 0;
}
#endif
