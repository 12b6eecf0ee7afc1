// Texts of kernels: the part of a generated source that is the kernels' own, the rules it keeps, the device's parts and
// their host twins, and the composition of a unit that a host compiler takes.
// Not here: compiling and loading (unit.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilert::emulator {

struct KernelText {
  bool hip = false;                  // over device/hip, else device/cuda
  std::string body;                  // from the program's device functions or the first TL_KERNEL on
  int first_line = 1;                // of the body in the source that it comes from
  std::vector<std::string> entries;  // names of its kernels
};

// Cuts a source as generated (device parts, then kernels). No entries: it holds no kernel written over primitives.
KernelText kernel_text(std::string_view source);

// Empty, or the first rule for generated kernels that the text breaks, with its line: no asm, no builtin of the device,
// no include or macro, nothing called but primitives and the program's device functions, which are plain C++ over primitives.
std::string broken_rule(const KernelText& text);

// The operation that a line belongs to: the nearest comment "// 7: product" at or above it, without its slashes.
std::string place_in(const KernelText& text, int line);

// One part of a device file ("//@ names").
struct Part {
  std::vector<std::string> names;
  std::string text;
};
std::vector<Part> device_parts();  // of CUDA, in the order in which sources have them
std::vector<Part> hip_parts();     // of device/hip
std::vector<Part> twin_parts();
std::vector<Part> hip_twin_parts();
// Whether the part can stand in a host text as it is: no asm, and no builtin of the device but those that host.h has.
bool is_host_text(const Part& part);
// Names that are neither; empty where every part has its host form.
std::vector<std::string> parts_without_host_form();

// The prelude of every unit: all parts in their host form. HIP's: a twin of hip/ or cuda/ where there is one, else the part of
// device/hip where it is host text, else that of device/cuda.
std::string prelude_text(bool hip);
// Many kernels of one language in one unit; entries are tlemu_entry_<index>_<name>.
std::string unit_text(const std::vector<KernelText>& texts);

}  // namespace tilert::emulator
