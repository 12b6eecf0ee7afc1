// The kernels that this process gave to NVRTC: texts, compiled when asked for (many in a unit) or launched.
#pragma once

#include <memory>
#include <string>

#include "emulator/unit/unit.h"

namespace tilert::emulator {

// The number of a source's text; the same for the same text.
size_t register_text(const KernelText& text);
// The kernel, compiled by itself where it is not yet; `why` where it does not compile.
LoadedKernel registered_kernel(size_t text, const std::string& name, bool races, std::string& why);
const KernelText& registered_text(size_t text);  // lives until the process ends
int compile_pending(bool races);  // all that are not compiled; how many failed
size_t text_count();
// Launches of a text run another from now on.
void replace_text(size_t text, size_t by);
size_t text_to_run(size_t text);

// An image as NVRTC hands it out and the driver takes it: target, names, source.
std::string make_image(const std::string& target, const std::string& source, const KernelText& text);
// False where the bytes are no such image.
bool read_image(const char* bytes, std::string& target, std::string& source);

}  // namespace tilert::emulator
