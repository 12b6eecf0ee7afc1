// Sparse warp products (mma.sp): A has two of each four elements along K (tf32: one of two), metadata says which. Where both are
// said to stand in one place, which the instruction leaves open, the second does.
#include <cstring>
#include <type_traits>

#include "emulator/cuda/gpu.h"
#include "emulator/cuda/matrix.h"
#include "emulator/cuda/numbers.h"
#include "emulator/cuda/operand.h"
#include "emulator/cuda/primitives.h"

namespace tilert::emulator {
namespace {

typedef float f32;
typedef int32_t s32;
struct Row {
  Number type;
  int k;
  bool integer;
};
constexpr Row kRows[] = {
#define EMULATOR_MMA_SP(name, k, a, b, accumulator) {Number::a, k, std::is_same_v<accumulator, s32>},
#include "emulator/cuda/matrix.def"
};

uint32_t element(uint32_t word, int bits, int e) { return bits == 32 ? word : word >> (e * bits) & ((1u << bits) - 1); }

template <class T>
void sum(WarpRoom& room, Number type, int k) {
  const int bits = number_bits(type), per = 32 / bits;
  for (int i = 0; i < 16; ++i) {
    T sums[8] = {};
    for (int s = 0; s < k / 2; ++s) {
      const int at = sparse_place(room.metadata, bits, i, s);
      if (at < 0) continue;
      const T x = static_cast<T>(number_value(type, element(room.a[s / per][i], bits, s % per)));
      for (int j = 0; j < 8; ++j) sums[j] += x * static_cast<T>(number_value(type, element(room.b[at / per][j], bits, at % per)));
    }
    std::memcpy(room.d[i], sums, sizeof sums);
  }
}

void multiply(Machine& machine, Group& group) {
  WarpRoom& room = static_cast<Gpu&>(machine).rooms[group.members[0]->warp];
  const Row& row = kRows[group.tag & 0xff];
  if (row.integer) sum<int32_t>(room, row.type, row.k);
  else sum<float>(room, row.type, row.k);
}

}  // namespace
}  // namespace tilert::emulator

using namespace tilert::emulator;

// A's registers lie as those of the dense product of half the depth, B's as those of two of them (matrix.cpp).
void tlemu_mma_sp(int shape, void* d, const uint32_t* a, const uint32_t* b, uint32_t metadata, int line) {
  Gpu& gpu = at(line);
  if (gpu.warp().count != 32) gpu.fail(Fault::protocol, "a product in a warp that is not whole");
  const uint32_t lane = gpu.lane(), g = lane / 4, t = lane % 4;
  WarpRoom& room = gpu.rooms[gpu.self().warp];
  for (uint32_t r = 0; r < 4; ++r) {
    room.a[t + 4 * (r / 2)][g + 8 * (r % 2)] = a[r];
    room.b[t + 4 * r][g] = b[r];
  }
  room.metadata[lane] = metadata;
  gpu.meet_warp("mma.sp.sync", static_cast<uint64_t>(line) << 8 | static_cast<uint64_t>(shape), nullptr, &multiply);
  for (uint32_t v = 0; v < 4; ++v) {
    const uint32_t* const from = &room.d[g + 8 * (v / 2)][2 * t + v % 2];
    if (kRows[shape].integer) {
      static_cast<uint32_t*>(d)[v] += *from;
    } else {
      float x;
      std::memcpy(&x, from, 4);
      static_cast<float*>(d)[v] += x;
    }
  }
}
