// A case: a program, sizes for its dims, and a seed of its data. As text it is a .tir file whose first comment holds
// the sizes and the seed, so that a person can run it again. Not here: how programs are made (generator.h), what is
// right (judge.h), how they are run (backends.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tilert::random {

struct Case {
  ir::Program program;
  std::vector<int64_t> dims;
  std::vector<bool> bound;  // dims given when compiled
  uint64_t seed = 0;        // of the data
};

Case copy_of(const Case& original);

std::string to_text(const Case& c);
Result<Case> from_text(const std::string& text);

// What data may be: small integers, exact in every dtype.
inline constexpr int64_t kDataBound = 3;

// A parameter's name tells what it holds, so that the text of a case is the whole of it:
//   A.. inputs of -3 to 3; B.. of -1, 0, 1; N.. of -3 to 3, infinities, NaN and -0 (floats); W.. integers of any size
//   O.. outputs, exact; E.. outputs of elementary functions, right within ulps
//   S<number>_<name>: the memory of the parameter <name> before it, which both declare to alias
enum class Data { small, unit, special, wide };
Data data_of(const std::string& name);
bool is_approximate(const std::string& name);
std::optional<std::string> alias_of(const std::string& name);
// For each parameter the earlier one whose memory it has, or -1.
std::vector<int> shared_memory(const Case& c);

// The bytes of each parameter: tensors in storage order, a scalar's bits in 8 bytes. Inputs depend on seed and name
// alone; outputs hold a pattern that no float has, or its complement.
std::vector<std::vector<uint8_t>> make_data(const Case& c, bool other_poison = false);

// Elements in storage order, side by side where their type is packed.
using Bytes = std::vector<uint8_t>;
size_t bytes_for(DType dtype, int64_t elements);
int64_t elements_in(DType dtype, const Bytes& bytes);
uint64_t element_at(DType dtype, const Bytes& bytes, int64_t i);
void put_element(DType dtype, Bytes& bytes, int64_t i, uint64_t bits);

// A size of a buffer, or any other expression of dims, under the case's sizes; scalars by their data.
int64_t value_of(const Case& c, ir::Expr expr);
int64_t elements_of(const Case& c, const ir::Buffer& tensor);  // that its strides reach

// A table of pointers. Its bytes here are those of its tensors one after another, each in room of its own, whether its pointer
// is null or not. Which are null hangs on seed and name.
struct Entries {
  int64_t elements = 0;  // of each tensor
  int64_t room = 0;      // elements from one to the next: whole 16 bytes
  std::vector<bool> there;
};
Entries entries_of(const Case& c, const ir::Buffer& table);

}  // namespace tilert::random
