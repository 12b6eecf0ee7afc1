// What the generator knows of a program that is half made: which buffers there are, which of their elements surely hold
// a value, how large a value can be. Sizes are bounded by construction, so that every float along the way is an integer
// that its dtype holds exactly (or, in some programs, infinite or undefined), and every order of evaluation gives the
// same bits. Integers may be of any size: they wrap, the same way everywhere.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/program.h"

namespace tilert::random {

using ir::BufferId;
using ir::Expr;
using ir::Op;
using ir::Scope;
using ir::VarId;

inline constexpr int64_t kHuge = int64_t{1} << 62;

inline int64_t bounded_add(int64_t a, int64_t b) { return a > kHuge - b ? kHuge : a + b; }
inline int64_t bounded_mul(int64_t a, int64_t b) {
  const __int128 product = static_cast<__int128>(a) * b;
  return product > kHuge ? kHuge : static_cast<int64_t>(product);
}

// The greatest |integer| up to which a dtype holds all of them, without 0 to be written to it at all.
inline int64_t exact_limit(DType dtype) {
  switch (dtype) {
    case DType::boolean: return 1;
    case DType::int4: return 8;
    case DType::int8: return 128;
    case DType::int16: return int64_t{1} << 15;
    case DType::int32: return int64_t{1} << 31;
    case DType::uint4: return 15;
    case DType::uint8: return 255;
    case DType::uint16: return 65535;
    case DType::uint32: return (int64_t{1} << 32) - 1;
    case DType::f16: return 2048;
    case DType::bf16: return 256;
    case DType::f32: return int64_t{1} << 24;
    case DType::f64: return int64_t{1} << 53;
    case DType::tf32: return 2048;
    case DType::e4m3:
    case DType::e4m3fnuz: return 16;
    case DType::e5m2:
    case DType::e5m2fnuz:
    case DType::e3m2: return 8;
    case DType::e2m3: return 7;
    case DType::e2m1: return 4;
    case DType::nf4: return 1;
    case DType::e8m0: return 0;  // powers of two only
    default: return kHuge;
  }
}

inline bool is_unsigned(DType dtype) { return dtype_class(dtype) == DTypeClass::unsigned_integer; }

// The greatest magnitude that elements of a type which saturates may have.
inline int64_t greatest(DType dtype) {
  switch (dtype) {
    case DType::e4m3: return 448;
    case DType::e4m3fnuz: return 240;
    case DType::e5m2:
    case DType::e5m2fnuz: return 57344;
    case DType::e3m2: return 28;
    case DType::e2m3: return 8;
    case DType::e2m1: return 6;
    case DType::e8m0: return 2;  // that data holds
    default: return exact_limit(dtype);
  }
}

struct Value {
  Expr e = nullptr;
  int64_t bound = 0;  // |e| is at most this
};

// One dim of a tensor parameter. In an output each block keeps to its home: `tile` elements from block index * tile on.
struct TensorDim {
  Expr size = nullptr;
  int64_t value = 0;  // under the case's sizes
  int grid = -1;      // which grid dim divides it, in outputs
};

struct Place {
  BufferId id = ir::kNoBuffer;
  BufferId memory = ir::kNoBuffer;  // the buffer whose memory it is
  DType dtype = DType::f32;
  Scope scope = Scope::shared;
  std::vector<int64_t> shape;   // of tiles
  std::vector<TensorDim> dims;  // of tensors
  ir::Direction direction = ir::Direction::none;
  int64_t cap = 0;       // |element| never exceeds this
  int64_t direct = 0;    // nor does a value that is written plainly exceed this
  int64_t growth = 0;    // what accumulations may still add
  int64_t trips = 1;     // of the loops around its declaration
  bool written = false;  // each element surely holds a value
  bool aliases = false;  // declared may_alias
  bool kept = false;     // the tile of a ring: loops do not write it
  bool home = false;     // a tensor that this kernel may write, and so reads only at home
  bool table = false;    // a table of pointers: dims[0] counts them
  bool is_tensor() const { return scope == Scope::global; }
  bool is_output() const { return is_tensor() && home && direction != ir::Direction::in; }
  size_t rank() const { return is_tensor() ? dims.size() : shape.size(); }
  size_t tensor_rank() const { return rank() - table; }  // without the dim that counts pointers
};

// An index variable and the values that it takes.
struct IndexVar {
  Expr e = nullptr;
  int64_t low = 0, high = 0;
};

struct GridDim {
  VarId var = ir::kNoVar;
  TensorDim size;
  int64_t tile = 1, count = 1;
};

inline int64_t product(const std::vector<int64_t>& extents) {
  int64_t n = 1;
  for (int64_t e : extents) n *= e;
  return n;
}

}  // namespace tilert::random
