// NVRTC's interface: takes generated sources, checks their rules, hands out images that the emulated driver loads. What it
// cannot run (kernels in a user's own text, inline source) is refused with a log that says so.
#include <cstring>
#include <string>
#include <vector>

#include "emulator/driver/kernels.h"

using namespace tilert::emulator;

namespace {

struct Program {
  std::string source, image, log;
};

Program& program_of(void* handle) { return *static_cast<Program*>(handle); }

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
const char* nvrtcGetErrorString(int result) { return result == 0 ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION"; }
int nvrtcGetNumSupportedArchs(int* count) {
  *count = 7;
  return 0;
}
int nvrtcGetSupportedArchs(int* archs) {
  const int known[] = {75, 80, 86, 89, 90, 100, 120};
  std::memcpy(archs, known, sizeof known);
  return 0;
}
int nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*, const char* const*) {
  *program = new Program{source, {}, {}};
  return 0;
}
int nvrtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return 0;
}
int nvrtcCompileProgram(void* handle, int count, const char* const* options) {
  Program& program = program_of(handle);
  const KernelText text = kernel_text(program.source);
  if (text.entries.empty()) program.log = "the emulator runs kernels written over primitives; this source has none";
  else program.log = broken_rule(text);
  if (!program.log.empty()) return 6;
  std::string target = count ? options[0] : "";
  target = target.substr(target.find('=') + 1);
  register_text(text);
  program.image = make_image(target, program.source, text);
  for (const std::string& name : text.entries)
    program.log += "ptxas info    : Compiling entry function '" + name + "' for '" + target + "'\nptxas info    : Function properties for " +
                   name + "\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                   "ptxas info    : Used 1 registers, used 1 barriers\n";
  return 0;
}
int nvrtcGetPTXSize(void*, size_t* size) {
  *size = 1;
  return 0;
}
int nvrtcGetPTX(void*, char* bytes) {
  *bytes = '\0';
  return 0;
}
int nvrtcGetCUBINSize(void* handle, size_t* size) {
  *size = program_of(handle).image.size();
  return 0;
}
int nvrtcGetCUBIN(void* handle, char* bytes) {
  std::memcpy(bytes, program_of(handle).image.data(), program_of(handle).image.size());
  return 0;
}
int nvrtcGetProgramLogSize(void* handle, size_t* size) {
  *size = program_of(handle).log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(void* handle, char* bytes) {
  std::memcpy(bytes, program_of(handle).log.c_str(), program_of(handle).log.size() + 1);
  return 0;
}
int nvrtcAddNameExpression(void*, const char*) { return 0; }
int nvrtcGetLoweredName(void*, const char* expression, const char** name) {
  *name = expression;
  return 0;
}
}
