// Target: what the code is made for, and what that architecture can do; DeviceClass: how much of it there is.
// Both are values with a text form that is part of request keys. Nothing here asks a device: see src/runtime for that.
// Every choice of the compiler reads these two and nothing else about the machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tilert {

enum class TargetKind : uint8_t { cuda, hip, cpu };
enum class CpuArch : uint8_t { none, x86_64, aarch64 };

// One per TILERT_FEATURE row of target.def.
enum class Feature : uint8_t {
#define TILERT_FEATURE(name, text) name,
#include "target/target.def"
};

// How much there is of an architecture: the part of a device that choices may read, with no clocks and no load.
struct DeviceClass {
  int64_t sms = 0;           // multiprocessors; on the CPU the threads that work on one launch
  int64_t shared_bytes = 0;  // the most that one block may have; on the CPU its scratch arena
  int64_t l2_bytes = 0;

  std::string text() const;  // "sms=132,shared=232448,l2=52428800"
  friend bool operator==(const DeviceClass&, const DeviceClass&) = default;
};

Result<DeviceClass> parse_device_class(std::string_view text);

// Where the tensor copy engine, which counts elements of a dim in 32 bits with a sign, is beyond every tensor that launches give it: a whole
// number of lines before what it cannot count.
inline constexpr int64_t kEngineEnd = (int64_t{1} << 31) - 1024;

struct Target {
  TargetKind kind = TargetKind::cpu;
  std::string text;  // explicit and complete: "sm_90a", "gfx942", "cpu:x86-64-v3+avxvnni"; equal texts are equal targets
  uint64_t features = 0;
  DeviceClass device_class;  // the default of this target

  // GPUs. A warp is what AMD calls a wave, a multiprocessor a compute unit, shared memory LDS.
  int capability = 0;  // CUDA: 90 for sm_90a
  int warp_size = 1;   // lanes that step together; 1 on the CPU
  int wave_lanes = 1;  // the same; passes place kernels whose blocks end within a wave of 64 in warps of half of it (passes/order.h)
  int64_t max_threads_per_block = 1;
  int64_t max_threads_per_sm = 1;
  int64_t registers_per_sm = 0;
  int64_t max_registers_per_thread = 0;
  int64_t registers_unit = 0;          // of a warp, given out together
  int64_t shared_bytes_per_block = 0;  // the most a block may ask for
  int64_t shared_bytes_per_sm = 0;
  int shared_banks = 0;  // of 4 bytes
  int named_barriers = 0;

  // CPU.
  CpuArch arch = CpuArch::none;
  int vector_bits = 0;
  int vector_registers = 0;
  std::string llvm_cpu;       // "x86-64-v3"; "generic" on aarch64
  std::string llvm_features;  // "+avxvnni", comma separated; may be empty

  bool has(Feature feature) const { return (features >> static_cast<int>(feature)) & 1; }
  bool is_cuda() const { return kind == TargetKind::cuda; }
  bool is_hip() const { return kind == TargetKind::hip; }
  bool is_cpu() const { return kind == TargetKind::cpu; }
  const char* language() const { return is_cpu() ? "llvm" : is_hip() ? "hip" : "cuda"; }  // of the text that is made for it
};

// Reads "sm_90a", "gfx942", "cpu", "cpu:x86-64-v3", "cpu:x86-64-v4+avx512bf16", "cpu:native". "cpu" and "cpu:native" are resolved
// here, against the machine that runs this; the result's text names the row and extensions. An unknown target is
// UNSUPPORTED and the message lists those known.
Result<Target> parse_target(std::string_view text);

std::string native_cpu_text();                 // "cpu:x86-64-v3": the best row and extensions of the running machine
std::vector<std::string> known_target_texts();  // every row, in the table's order
const char* feature_text(Feature feature);     // "asynchronous warpgroup products, ..."
const char* feature_name(Feature feature);     // "wgmma"

}  // namespace tilert
