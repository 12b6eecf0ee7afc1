// The twenty programs that every binding builds, and how each is run. README.md beside this folder has the same as a table.
#ifndef TILERT_PROGRAMS_H_
#define TILERT_PROGRAMS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tilert.hpp"

namespace programs {

using Sizes = std::vector<std::pair<std::string, int64_t>>;

// A tensor of the run: contiguous where strides are empty.
struct Tensor {
  std::vector<int64_t> shape, strides;
  Tensor(std::initializer_list<int64_t> sizes, std::initializer_list<int64_t> steps = {}) : shape(sizes), strides(steps) {}
};

struct Case {
  const char* name;
  tl::Program (*build)();
  Sizes bound;                        // dims that have their value when compiled
  Sizes dims;                         // dims of the launch
  std::vector<Tensor> tensors;        // in the order of the tensor parameters
  std::vector<tl::Argument> scalars;  // in the order of the scalar parameters
};

// products.cpp
tl::Program gemm_bias_gelu();
tl::Program gemm_int8();
tl::Program gemm_scaled();
tl::Program gemm_sparse();
tl::Program experts();
tl::Program hand_gemm();
// rows.cpp
tl::Program scale();
tl::Program softmax();
tl::Program rmsnorm();
tl::Program transposed();
tl::Program strided_copy();
tl::Program embed();
tl::Program ranked();
// elements.cpp
tl::Program histogram();
tl::Program branches();
tl::Program casts();
tl::Program leaky();
tl::Program checked();
tl::Program warp_sums();
tl::Program unpacked();

const std::vector<Case>& all();  // cases.cpp

}  // namespace programs

#endif  // TILERT_PROGRAMS_H_
