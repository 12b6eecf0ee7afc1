// What an AMD code object says of its kernels: the note "AMDGPU" of the ELF file, a MessagePack map. The bytes may be
// anything: every length is checked.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilert {

struct CodeObjectArgument {
  uint32_t offset = 0, bytes = 0;
  bool hidden = false;  // added by the compiler; the launch does not give it
};

struct CodeObjectKernel {
  std::string name;
  uint32_t vector_registers = 0, scalar_registers = 0, accumulators = 0;  // of a thread; of a wave; of a thread
  uint32_t scratch_bytes = 0;                                             // of a thread
  uint32_t spilled_vectors = 0, spilled_scalars = 0;
  uint32_t static_shared = 0;  // LDS bytes of a block, what the launch asks for dynamically not counted
  uint32_t wave = 0;           // 32 or 64
  uint32_t most_threads = 0;
  std::vector<CodeObjectArgument> arguments;
};

// CORRUPT where the bytes are no code object with metadata of version 3 or newer.
Result<std::vector<CodeObjectKernel>> read_code_object(std::string_view bytes);

}  // namespace tilert
