// The tables of target.def, and reading a target's text. What the running CPU has is in host_cpu.cpp.
#include "target/target.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "support/refusal.h"
#include "target/host_cpu.h"

namespace tilert {
namespace {

// Feature names as bits, for the feature lists of the table.
namespace bits {
constexpr uint64_t none = 0;
#define TILERT_FEATURE(name, text) constexpr uint64_t name = uint64_t{1} << static_cast<int>(Feature::name);
#include "target/target.def"
}  // namespace bits

struct FeatureRow {
  const char* name;
  const char* text;
};
constexpr FeatureRow kFeatures[] = {
#define TILERT_FEATURE(name, text) {#name, text},
#include "target/target.def"
};

struct CudaRow {
  std::string_view text;
  int capability;
  int64_t shared_block_kib, shared_sm_kib, threads_sm, sms, l2_mib;
  uint64_t features;
};
struct HipRow {
  std::string_view text;
  int wave;
  int64_t shared_kib;
  int banks;
  int64_t registers_sm, registers_thread, unit, sms, l2_mib;
  uint64_t features;
};
struct CpuRow {
  std::string_view text;
  CpuArch arch;
  int vector_bits, vector_registers;
  int64_t l2_kib;
  uint64_t features;
};
struct CpuExtensionRow {
  std::string_view text;
  uint64_t feature;
  std::string_view llvm;
  CpuArch arch;
  int vector_bits;
};

namespace rows {
using namespace bits;
constexpr CudaRow kCuda[] = {
#define TILERT_CUDA_TARGET(text, capability, shared_block_kib, shared_sm_kib, threads_sm, sms, l2_mib, features) \
  {text, capability, shared_block_kib, shared_sm_kib, threads_sm, sms, l2_mib, features},
#include "target/target.def"
};
constexpr HipRow kHip[] = {
#define TILERT_HIP_TARGET(text, wave, shared_kib, banks, registers_sm, registers_thread, unit, sms, l2_mib, features) \
  {text, wave, shared_kib, banks, registers_sm, registers_thread, unit, sms, l2_mib, features},
#include "target/target.def"
};
constexpr CpuRow kCpu[] = {
#define TILERT_CPU_TARGET(text, arch, vector_bits, vector_registers, l2_kib, features) \
  {text, CpuArch::arch, vector_bits, vector_registers, l2_kib, features},
#include "target/target.def"
};
constexpr CpuExtensionRow kExtensions[] = {
#define TILERT_CPU_EXTENSION(text, feature, llvm, arch, bits) {text, feature, llvm, CpuArch::arch, bits},
#include "target/target.def"
};
}  // namespace rows

constexpr int64_t kKib = 1024, kMib = 1024 * 1024;
constexpr int64_t kCpuArenaBytes = 16 * kMib;  // scratch of one worker: far above any tile that fits its caches
constexpr int64_t kCpuDefaultThreads = 8;

// "sm_70": a GPU of before the table's first row.
bool is_older_gpu(std::string_view text) {
  int number = 0;
  if (!text.starts_with("sm_")) return false;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0 && number < rows::kCuda[0].capability;
}

Error unknown_target(std::string_view text) {
  const std::string known = fmt::format("known are {}, cpu and cpu:native", fmt::join(known_target_texts(), ", "));
  if (is_older_gpu(text))
    return refusal(fmt::format("target '{}' is older than {}, the first GPU that this version compiles for", text, rows::kCuda[0].text),
                   known);
  return refusal(fmt::format("unknown target '{}'", text), known);
}

std::vector<std::string_view> known_extensions() {
  std::vector<std::string_view> all;
  for (const CpuExtensionRow& row : rows::kExtensions) all.push_back(row.text);
  return all;
}

Target make_cuda(const CudaRow& row) {
  Target target;
  target.kind = TargetKind::cuda;
  target.text = row.text;
  target.features = row.features;
  target.device_class = {row.sms, row.shared_block_kib * kKib, row.l2_mib * kMib};
  target.capability = row.capability;
  target.warp_size = target.wave_lanes = 32;
  target.max_threads_per_block = 1024;
  target.max_threads_per_sm = row.threads_sm;
  target.registers_per_sm = 65536;
  target.max_registers_per_thread = 255;
  target.registers_unit = 256;
  target.shared_bytes_per_block = row.shared_block_kib * kKib;
  target.shared_bytes_per_sm = row.shared_sm_kib * kKib;
  target.shared_banks = 32;
  target.named_barriers = 16;
  return target;
}

Target make_hip(const HipRow& row) {
  Target target;
  target.kind = TargetKind::hip;
  target.text = row.text;
  target.features = row.features;
  target.device_class = {row.sms, row.shared_kib * kKib, row.l2_mib * kMib};
  target.warp_size = target.wave_lanes = row.wave;
  target.max_threads_per_block = 1024;
  target.max_threads_per_sm = row.wave == 64 ? 2048 : 1024;  // 8 waves of 64 or 16 of 32 on each of 4 or 2 SIMDs
  target.registers_per_sm = row.registers_sm;
  target.max_registers_per_thread = row.registers_thread;
  target.registers_unit = row.unit * row.wave;
  target.shared_bytes_per_block = row.shared_kib * kKib;
  target.shared_bytes_per_sm = row.shared_kib * kKib;
  target.shared_banks = row.banks;
  return target;
}

Target make_cpu(const CpuRow& row) {
  Target target;
  target.kind = TargetKind::cpu;
  target.text = fmt::format("cpu:{}", row.text);
  target.features = row.features;
  target.device_class = {kCpuDefaultThreads, kCpuArenaBytes, row.l2_kib * kKib};
  target.shared_bytes_per_block = kCpuArenaBytes;
  target.shared_bytes_per_sm = kCpuArenaBytes;
  target.arch = row.arch;
  target.vector_bits = row.vector_bits;
  target.vector_registers = row.vector_registers;
  target.llvm_cpu = row.arch == CpuArch::aarch64 ? "generic" : row.text;
  return target;
}

Status add_extension(Target& target, const CpuExtensionRow& extension, std::string_view whole) {
  if (extension.arch != target.arch || extension.vector_bits > target.vector_bits) {
    return refusal(fmt::format("target '{}': '+{}' needs {} and vectors of {} bits", whole, extension.text,
                               extension.arch == CpuArch::aarch64 ? "aarch64" : "x86-64", extension.vector_bits),
                   "leave it out, or name a processor that has them");
  }
  target.features |= extension.feature;
  target.text += fmt::format("+{}", extension.text);
  target.llvm_features += fmt::format("{}+{}", target.llvm_features.empty() ? "" : ",", extension.llvm);
  return {};
}

// "x86-64-v4+avx512bf16": the row, then the extensions in the table's order, whatever order they are written in.
Result<Target> parse_cpu(std::string_view spelled, std::string_view whole) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = spelled;;) {
    size_t plus = rest.find('+');
    parts.push_back(rest.substr(0, plus));
    if (plus == std::string_view::npos) break;
    rest.remove_prefix(plus + 1);
  }
  const CpuRow* row = std::ranges::find(rows::kCpu, parts[0], &CpuRow::text);
  if (row == std::end(rows::kCpu)) return unknown_target(whole);
  Target target = make_cpu(*row);
  for (size_t i = 1; i < parts.size(); i++) {
    if (std::ranges::find(rows::kExtensions, parts[i], &CpuExtensionRow::text) == std::end(rows::kExtensions)) {
      return refusal(fmt::format("target '{}': unknown CPU extension '{}'", whole, parts[i]),
                     fmt::format("known are {}", fmt::join(known_extensions(), ", ")));
    }
  }
  for (const CpuExtensionRow& extension : rows::kExtensions) {
    if (std::find(parts.begin() + 1, parts.end(), extension.text) != parts.end()) {
      TILERT_TRY(add_extension(target, extension, whole));
    }
  }
  return target;
}

}  // namespace

Result<Target> parse_target(std::string_view text) {
  if (text == "cpu" || text == "cpu:native") return parse_target(native_cpu_text());
  if (text.starts_with("cpu:")) return parse_cpu(text.substr(4), text);
  if (const CudaRow* row = std::ranges::find(rows::kCuda, text, &CudaRow::text); row != std::end(rows::kCuda)) return make_cuda(*row);
  if (const HipRow* row = std::ranges::find(rows::kHip, text, &HipRow::text); row != std::end(rows::kHip)) return make_hip(*row);
  return unknown_target(text);
}

std::string native_cpu_text() {
  std::string text = fmt::format("cpu:{}", host_cpu_row());
  for (const CpuExtensionRow& extension : rows::kExtensions) {
    if (host_cpu_has_extension(extension.text)) text += fmt::format("+{}", extension.text);
  }
  return text;
}

std::vector<std::string> known_target_texts() {
  std::vector<std::string> texts;
  for (const CudaRow& row : rows::kCuda) texts.emplace_back(row.text);
  for (const HipRow& row : rows::kHip) texts.emplace_back(row.text);
  for (const CpuRow& row : rows::kCpu) texts.push_back(fmt::format("cpu:{}", row.text));
  return texts;
}

const char* feature_text(Feature feature) { return kFeatures[static_cast<size_t>(feature)].text; }
const char* feature_name(Feature feature) { return kFeatures[static_cast<size_t>(feature)].name; }

std::string DeviceClass::text() const {
  return fmt::format("sms={},shared={},l2={}", sms, shared_bytes, l2_bytes);
}

Result<DeviceClass> parse_device_class(std::string_view text) {
  DeviceClass parsed;
  const std::array<std::pair<std::string_view, int64_t*>, 3> fields = {
      {{"sms=", &parsed.sms}, {",shared=", &parsed.shared_bytes}, {",l2=", &parsed.l2_bytes}}};
  std::string_view rest = text;
  for (const auto& [name, value] : fields) {
    bool ok = rest.starts_with(name);
    if (ok) {
      rest.remove_prefix(name.size());
      auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), *value);
      ok = error == std::errc() && *value >= 0;
      rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    }
    if (!ok) break;
  }
  if (rest.empty() && parsed.text() == text) return parsed;
  return make_error(Code::kInvalidArgument, "device class '{}' is not of the form 'sms=132,shared=232448,l2=52428800'", text);
}

}  // namespace tilert
