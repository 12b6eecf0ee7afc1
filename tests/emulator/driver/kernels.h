// The kernels that this process gave to NVRTC: texts, compiled when the first of them is launched, many in a unit.
#pragma once

#include <memory>
#include <string>

#include "emulator/unit/unit.h"

namespace tilert::emulator {

// The number of a source's text; the same for the same text.
size_t register_text(const KernelText& text);
// The kernel, compiled with all others that wait; `why` where it does not compile.
LoadedKernel registered_kernel(size_t text, const std::string& name, bool races, std::string& why);
KernelText registered_text(size_t text);
int compile_pending(bool races);

// An image as NVRTC hands it out and the driver takes it: target, names, source.
std::string make_image(const std::string& target, const std::string& source, const KernelText& text);
// False where the bytes are no such image.
bool read_image(const char* bytes, std::string& target, std::string& source);

}  // namespace tilert::emulator
