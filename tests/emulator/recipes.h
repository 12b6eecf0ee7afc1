// What the tests of whole kernels share: tensor maps, small problems, and injected faults that must be caught with a report
// that names an operation.
#pragma once

#include <gtest/gtest.h>

#include "emulator/cuda/numbers.h"
#include "emulator/cuda/tensor_map.h"
#include "emulator/kit.h"

namespace tilert::emulator {

// A dense bf16 tensor, innermost dim first, in boxes with the 128-byte swizzle.
inline MapBytes bf16_map(void* data, const std::vector<uint32_t>& dims, const std::vector<uint16_t>& box) {
  TensorMap map;
  std::memset(static_cast<void*>(&map), 0, sizeof map);
  map.magic = TensorMap::kMagic;
  map.type = 9;
  map.rank = static_cast<uint8_t>(dims.size());
  map.swizzle = 3;
  map.element_bytes = 2;
  map.address = reinterpret_cast<uintptr_t>(data);
  uint64_t stride = 2;
  for (size_t d = 0; d < dims.size(); ++d) {
    map.dims[d] = dims[d];
    map.box[d] = box[d];
    map.element_strides[d] = 1;
    if (d > 0) map.strides[d - 1] = stride;
    stride *= dims[d];
  }
  MapBytes out;
  std::memcpy(out.bytes, &map, sizeof map);
  return out;
}

// A bf16 tensor that ends at a page that must not be touched, with its values as floats.
struct Bf16Buffer {
  Kit::Guarded bytes;
  std::vector<float> values;
  Bf16Buffer(size_t count, const std::string& name) : bytes(count * 2, name), values(count) {}
  void set(size_t i, float value) {
    const uint16_t bits = float_to_bf16(value);
    static_cast<uint16_t*>(bytes.data())[i] = bits;
    values[i] = bf16_to_float(bits);
  }
  float stored(size_t i) const { return bf16_to_float(static_cast<const uint16_t*>(bytes.data())[i]); }
  void poison() { std::memset(bytes.data(), 0xff, values.size() * 2); }
};

// One place of a text changed.
struct TextFault {
  const char *name, *from, *to;
  // Part of a report of some schedule, of the text as it is or with marked accesses; null: no rule is broken, only the
  // outcome is wrong.
  const char* says;
  bool by_marks = false;  // only marked accesses show it: the outcome is that of the right text on the host
};
inline void PrintTo(const TextFault& fault, std::ostream* out) { *out << fault.name; }

inline std::string with_fault(std::string text, const TextFault& fault) {
  const size_t at = text.find(fault.from);
  EXPECT_NE(at, std::string::npos) << fault.name;
  if (at != std::string::npos) text.replace(at, std::strlen(fault.from), fault.to);
  return text;
}

// `run(kit, schedule)`: empty, or what went wrong. Some usual schedule must show the fault by its outcome or a report, and
// a report must name the operation.
template <class Run>
void expect_caught(const std::string& text, const TextFault& fault, Run&& run) {
  std::string said;
  size_t caught = 0;
  if (!fault.by_marks) {
    Kit kit(with_fault(text, fault));
    for (const Schedule& schedule : usual_schedules()) {
      const std::string wrong = run(kit, schedule);
      caught += !wrong.empty();
      said += wrong + " [" + schedule.text() + "]\n";
    }
    EXPECT_GE(caught, 1u) << fault.name;
  }
#if !defined(__SANITIZE_THREAD__)
  if (!fault.says) return;
  if (fault.by_marks || said.find(fault.says) == std::string::npos) {
    UnitOptions options;
    options.races = true;
    Kit kit(with_fault(text, fault), options);
    for (const Schedule& schedule : usual_schedules()) said += run(kit, schedule) + " [marked, " + schedule.text() + "]\n";
  }
  EXPECT_NE(said.find(fault.says), std::string::npos) << said;
  EXPECT_NE(said.find("line "), std::string::npos) << said;
#endif
}

}  // namespace tilert::emulator
