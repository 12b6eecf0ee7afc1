// Loading one variant's code: a driver module with its functions resolved and checked, or a CPU object.
// Internal to loaded.cpp; the ways are in load_cuda.cpp, device_hip.cpp and device_cpu.cpp.
#pragma once

#include "runtime/loaded.h"

namespace tilert::runtime {

// Fills variant.module, and the functions and attributes of variant.kernels. On failure nothing stays loaded.
Status load_cuda_module(Device& device, LoadedVariant& variant);
Status load_hip_module(Device& device, LoadedVariant& variant);
Status load_cpu_module(Device& device, LoadedVariant& variant);

}  // namespace tilert::runtime
