// One side of the comparison: a CUDA driver and an NVRTC, each found by path, that run the cases. The emulator's library is
// both. Not here: comparing (main.cpp), processes that survive a kernel that hangs (worker.h).
#pragma once

#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "emulator/truth/case.h"
#include "runtime/cuda_types.h"

struct tilert_emulator_table;

namespace tilert::truth {

using namespace runtime;  // the driver's types

struct Libraries {
  std::string driver = "libcuda.so.1", nvrtc;  // nvrtc empty: TILERT_NVRTC_PATH, then libnvrtc.so.13, .12
  unsigned lanes = 0;  // not 0: the emulator runs the cases as HIP text on waves of so many
};

// What came of one case: its output, or why there is none.
struct Outcome {
  Bytes output;
  std::string wrong;
};

class Side {
 public:
  // Empty, or what is missing. Opens device 0.
  std::string open(const Libraries& libraries);
  const std::string& name() const { return name_; }
  // Compiles what all cases need at once, where that is quicker.
  void prepare(const std::vector<Case>& cases);
  Outcome run(const Case& one);
  // The image of the case's source, for a target; or why there is none. Needs no device.
  std::string open_compiler(const Libraries& libraries);
  std::string compile(const Case& one, const std::string& target, std::string& image);

 private:
  struct Function {
    CuFunction handle = nullptr;
    std::string wrong;
  };
  const Function& function(const Case& one);
  std::string load(const Case& one, Function& out);
  std::string launch_wave(const Case& one, CuDevicePtr in, CuDevicePtr out, CuDevicePtr arguments) const;
  std::string launch(const Case& one, CuFunction function, CuDevicePtr in, CuDevicePtr out, CuDevicePtr arguments);
  std::string check(CuResult code, const std::string& what) const;

  struct Driver {
#define TRUTH_DRIVER(name, symbol, parameters) CuResult(*name) parameters = nullptr;
#include "emulator/truth/entries.def"
  } driver_;
  struct Nvrtc {
#define TILERT_NVRTC_FUNCTION(name, required, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
#define TILERT_NVRTC_RESULT(...)
#define TILERT_NVRTC_OPTION(...)
#include "compiler/nvrtc.def"
  } nvrtc_;
  const tilert_emulator_table* emulator_ = nullptr;
  std::string name_, target_;
  unsigned lanes_ = 0;
  std::map<std::string, Function> functions_;  // by text
};

// The whole source of a case: the device's parts that it uses, then its kernel.
std::string source(const Case& one, const char* language = "cuda");

}  // namespace tilert::truth
