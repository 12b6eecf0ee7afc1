// Atomic operations: what each thread's own cell holds before and after, sums of all threads on one cell.
#include "emulator/truth/case.h"
#include "emulator/truth/numbers.h"

namespace tilert::truth {
namespace {

struct Row {
  const char *operation, *type;
};
constexpr Row kRows[] = {
#define TRUTH_ATOMIC(operation, type) {#operation, #type},
#include "emulator/truth/atomics.def"
};

constexpr size_t kCells = 96;  // 32 for old values, 32 without, one for all threads

bool is_float(std::string_view type) { return type == "float" || type == "double" || type == "tl_f16" || type == "tl_bf16"; }
size_t size_of(std::string_view type) { return type == "tl_f16" || type == "tl_bf16" ? 2 : type == "tl_i64" || type == "tl_u64" || type == "double" ? 8 : 4; }

// A number of the type: any integer; floats of like magnitudes, so that sums round. `small`: a whole number.
uint64_t number(std::string_view type, bool small, Random& random) {
  const uint32_t bits = random.bits();
  const int value = random.within(-20, 20);
  if (!is_float(type)) return small ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(bits) << 32 | random.bits();
  if (type == "double") {
    const double whole = value;
    uint64_t out;
    std::memcpy(&out, &whole, 8);
    return small ? out : ((static_cast<uint64_t>(bits) << 32 | random.bits()) & 0x800fffffffffffff) | static_cast<uint64_t>(random.within(1000, 1050)) << 52;
  }
  if (small) return encode(type == "tl_f16" ? Number::f16 : type == "tl_bf16" ? Number::bf16 : Number::tf32, value);
  if (type == "tl_f16") return (bits & 0x83ff) | static_cast<uint32_t>(random.within(8, 24)) << 10;
  const uint32_t wide = (bits & 0x807fffff) | static_cast<uint32_t>(random.within(115, 135)) << 23;
  return type == "tl_bf16" ? wide >> 16 : wide;
}

// Input: cells as they are before, then an operand for each. Output: old values, then the cells; for each kind of memory.
Case atomic_case(const Row& row) {
  const std::string type = row.type, op = row.operation, cells = std::to_string(kCells);
  const size_t size = size_of(type);
  const bool sums = op == "add" && is_float(type);
  Case out;
  out.name = "atomic/" + op + "_" + (type.rfind("tl_", 0) == 0 ? type.substr(3) : type);
  out.shared_bytes = kCells * 8;
  out.input.resize(2 * kCells * size);
  out.output.resize(3 * (kCells + 32) * size, 0);
  Random random(out.name);
  for (size_t i = 0; i < 2 * kCells; ++i) {
    const uint64_t bits = number(type, i % kCells >= 64 && sums, random);
    std::memcpy(&out.input[i * size], &bits, size);
  }
  std::string body = "  const " + type + "* const x = reinterpret_cast<const " + type + "*>(in);\n  " + type + "* const r = reinterpret_cast<" + type + "*>(out);\n";
  for (int where = 0; where < 3; ++where) {
    const std::string w = std::to_string(where), cell = "c" + w, base = std::to_string(static_cast<size_t>(where) * (kCells + 32));
    body += "  " + type + "* const " + cell + " = " + (where ? "r + " + base + " + 32" : "reinterpret_cast<" + type + "*>(tl_arena + 0)") + ";\n"
        "  for (int i = tl_thread(); i < " + cells + "; i += 32) {\n    " + cell + "[i] = x[i];\n  }\n  tl_barrier();\n"
        "  r[" + base + " + tl_thread()] = tl_atomic_" + op + "<" + w + ", " + type + ">(" + cell + " + tl_thread(), x[" + cells + " + tl_thread()]);\n"
        "  tl_red_" + op + "<" + w + ", " + type + ">(" + cell + " + 32 + tl_thread(), x[" + cells + " + 32 + tl_thread()]);\n"
        "  tl_red_" + op + "<" + w + ", " + type + ">(" + cell + " + 64, x[" + cells + " + 64 + tl_thread()]);\n  tl_barrier();\n";
    if (!where) body += "  for (int i = tl_thread(); i < " + cells + "; i += 32) {\n    r[32 + i] = " + cell + "[i];\n  }\n";
  }
  out.text = kernel(32, body);
  return out;
}

}  // namespace

void add_atomic_cases(std::vector<Case>& out) {
  for (const Row& row : kRows) out.push_back(atomic_case(row));
}

}  // namespace tilert::truth
