// Atomic instructions by name: threads run one at a time, so that nothing comes between reading and writing. To the race
// reports such an access is none.
#include <cstring>
#include <string>
#include <string_view>

#include "emulator/core/faults.h"
#include "emulator/cuda/gpu.h"
#include "emulator/cuda/numbers.h"
#include "emulator/cuda/primitives.h"

namespace tilert::emulator {
namespace {

template <class T>
T value_at(const void* bits) {
  T value;
  std::memcpy(&value, bits, sizeof value);
  return value;
}

template <class T>
uint64_t integer(std::string_view op, const void* old, const void* operand) {
  const T a = value_at<T>(old), x = value_at<T>(operand);
  const T result = op.starts_with("add") ? static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(x))
                   : op.starts_with("max") ? std::max(a, x)
                   : op.starts_with("min") ? std::min(a, x)
                   : op.starts_with("and") ? a & x
                   : op.starts_with("or")  ? a | x
                   : op.starts_with("xor") ? a ^ x
                                           : x;
  return static_cast<uint64_t>(result);
}

// What the instruction leaves in memory.
uint64_t combined(std::string_view op, const void* old, const void* operand) {
  if (op == "add.f32") return bits_of_float(value_at<float>(old) + value_at<float>(operand));
  if (op == "add.f64") {
    const double sum = value_at<double>(old) + value_at<double>(operand);
    return value_at<uint64_t>(&sum);
  }
  if (op == "add.noftz.f16")
    return float_to_f16(f16_to_float(value_at<uint16_t>(old)) + f16_to_float(value_at<uint16_t>(operand)));
  if (op == "add.noftz.bf16")
    return float_to_bf16(bf16_to_float(value_at<uint16_t>(old)) + bf16_to_float(value_at<uint16_t>(operand)));
  if (op.ends_with("s32")) return integer<int32_t>(op, old, operand);
  if (op.ends_with("s64")) return integer<int64_t>(op, old, operand);
  return op.ends_with("64") ? integer<uint64_t>(op, old, operand) : integer<uint32_t>(op, old, operand);
}

}  // namespace
}  // namespace tilert::emulator

using namespace tilert::emulator;

void tlemu_fence(void) {
  Gpu& gpu = Gpu::current();
  if (gpu.races()) gpu.races()->acquired();
}

void tlemu_report_ring(const void* ring, int entries) { note_list(ring, static_cast<size_t>(entries)); }

void tlemu_atomic(const char* op, const void* at, void* old, const void* operand, const void* expected, int bytes, int where) {
  Gpu& gpu = Gpu::current();
  const auto size = static_cast<size_t>(bytes);
  const std::string name = std::string("the place of the atomic ") + op;
  if (where == 0) gpu.shared(at, size, size, name.c_str());
  else if (reinterpret_cast<uintptr_t>(at) % size) gpu.fail(Fault::misaligned, name + " must be aligned to " + std::to_string(bytes) + " bytes");
  else if (gpu.on_own_stack(at) || gpu.arena_offset(at, nullptr) >= 0) gpu.fail(Fault::out_of_bounds, name + " is not in global memory");
  gpu.self().touched |= where != 0;
  uint64_t before = 0, after = 0;
  std::memcpy(&before, at, size);
  const std::string_view what = op;
  if (what == "ld.acquire") tlemu_fence();
  const bool stores = !what.starts_with("ld.") && (!expected || std::memcmp(&before, expected, size) == 0);
  if (stores && (expected || what == "st")) std::memcpy(&after, operand, size);
  else if (stores) after = combined(what, &before, operand);
  if (stores) std::memcpy(const_cast<void*>(at), &after, size);
  if (old) std::memcpy(old, &before, size);
}
