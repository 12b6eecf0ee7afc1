// A truth case: one small kernel over the primitives of device/cuda, its input, and which bits of its output are defined.
// Not here: how a side runs it (side.h), the cases themselves (cases_*.cpp and their tables).
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tilert::truth {

using Bytes = std::vector<uint8_t>;

// A tensor map over a case's input or output, as cuTensorMapEncodeTiled takes it; innermost dim first.
struct Map {
  int rank = 0;  // 0: the kernel gets no map
  int type = 0;  // CU_TENSOR_MAP_DATA_TYPE_*
  bool of_output = false;
  uint64_t offset = 0;  // bytes of the buffer before the tensor
  uint64_t dims[5] = {}, strides[4] = {};
  uint32_t box[5] = {}, steps[5] = {1, 1, 1, 1, 1};
  int swizzle = 0;  // 0 to 3: none, 32, 64, 128 bytes
  bool fill_nan = false;
};

// What of the output is defined: every bit, or all but which NaN a NaN is.
enum class Defined : uint8_t { bits, f32, f16, bf16 };

struct Case {
  std::string name;
  std::string text;  // from TL_KERNEL on; the kernel is called truth
  uint32_t grid[3] = {1, 1, 1}, cluster = 1, threads = 32, shared_bytes = 0;
  Bytes input, output;  // output: what it holds before the launch
  std::vector<int64_t> arguments;
  Map map;
  Defined defined = Defined::bits;
  Defined numbers = Defined::bits;  // the floats that the output holds, where only which NaN a NaN is may differ from vendor to vendor
  bool cooperative = false;  // all blocks at once
  bool refused = false;  // the launch must fail
  uint32_t per_thread = 0;  // words of the output that each thread wrote, thread after thread; 0: in another order
};

// The text of a kernel of that many threads: parameters map, in, out, arg.
std::string kernel(uint32_t threads, const std::string& body);

// All cases, in a fixed order, names unlike.
std::vector<Case> all_cases();
void add_scalar_cases(std::vector<Case>& out);
void add_memory_cases(std::vector<Case>& out);
void add_matrix_cases(std::vector<Case>& out);
void add_copy_cases(std::vector<Case>& out);
void add_product_cases(std::vector<Case>& out);
void add_atomic_cases(std::vector<Case>& out);

// The output with every NaN made the same where which one is not defined.
Bytes canonical(const Case& of, Bytes output);
// 128 bits as hexadecimal digits.
std::string digest(const Bytes& bytes);

// Numbers by a seed, the same everywhere.
class Random {
 public:
  // Seeded by a name, so that a new case changes no other.
  explicit Random(std::string_view name) {
    for (char c : name) state_ = (state_ ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  }
  uint32_t bits() {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return static_cast<uint32_t>((z ^ z >> 31) >> 32);
  }
  int within(int low, int high) { return low + static_cast<int>(bits() % static_cast<uint32_t>(high - low + 1)); }
  void fill(uint8_t* to, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(bits() >> 24);
  }

 private:
  uint64_t state_ = 0xcbf29ce484222325ull;
};

template <class T>
void put(Bytes& bytes, size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

}  // namespace tilert::truth
