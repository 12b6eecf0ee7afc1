// Warp matrix instructions: ldmatrix, stmatrix and mma.sync, by the lane maps of the PTX ISA.
#include <cstring>

#include "emulator/cuda/gpu.h"
#include "emulator/cuda/numbers.h"
#include "emulator/cuda/operand.h"
#include "emulator/cuda/primitives.h"

namespace tilert::emulator {

namespace {

struct Matrices {
  void* row;
  uint32_t* r;
  int count;
  bool transposed;
};

// Row i of matrix m is at the address of lane 8m + i; lane l gets elements 2(l % 4) and the next of row l / 4, or, when
// transposed, those of column l / 4.
template <bool store>
void move_matrices(Machine&, Group& group) {
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const auto& own = *static_cast<Matrices*>(group.arguments[lane]);
    for (int m = 0; m < own.count; ++m)
      for (uint32_t e = 0; e < 2; ++e) {
        const uint32_t row = own.transposed ? 2 * (lane % 4) + e : lane / 4, column = own.transposed ? lane / 4 : 2 * (lane % 4) + e;
        auto* const memory = static_cast<uint8_t*>(static_cast<Matrices*>(group.arguments[static_cast<uint32_t>(m) * 8 + row])->row) + 2 * column;
        auto* const half = reinterpret_cast<uint8_t*>(own.r + m) + 2 * e;
        if (store) std::memcpy(memory, half, 2);
        else std::memcpy(half, memory, 2);
      }
  }
}

void matrices(void* row, uint32_t* r, int count, int transposed, bool store, int line) {
  Gpu& gpu = at(line);
  static const char* const kNames[2][3] = {{"ldmatrix.x1", "ldmatrix.x2", "ldmatrix.x4"}, {"stmatrix.x1", "stmatrix.x2", "stmatrix.x4"}};
  const char* const name = kNames[store][count / 2];
  if (gpu.warp().count != 32) gpu.fail(Fault::protocol, std::string(name) + " in a warp that is not whole");
  if (gpu.lane() < static_cast<uint32_t>(8 * count)) gpu.shared(row, 16, 16, store ? "a row of stmatrix" : "a row of ldmatrix");
  if (gpu.races() && gpu.lane() < static_cast<uint32_t>(8 * count)) gpu.races()->access(row, 16, store, line);
  Matrices own{row, r, count, transposed != 0};
  gpu.meet_warp(name, static_cast<uint64_t>(line) << 1 | own.transposed, &own, store ? &move_matrices<true> : &move_matrices<false>);
}

struct Mma {
  void* d;
  const uint32_t *a, *b;
};

void accumulate(float& d, float x) { d += x; }
void accumulate(int32_t& d, int32_t x) { d = static_cast<int32_t>(static_cast<uint32_t>(d) + static_cast<uint32_t>(x)); }

// g = lane / 4, t = lane % 4, E elements a register: A register r: row g + 8 (r % 2), k = t E + e + 4 E (r / 2);
// B register r: column g, k = t E + e + 4 E r; D value v: row g + 8 (v / 2), column 2 t + v % 2.
template <class T, Number A, Number B, int K>
void multiply(Machine&, Group& group) {
  constexpr int per = 32 / number_bits(A), b_registers = K / (4 * per), a_registers = 2 * b_registers;
  alignas(64) T a[16][K], b[K][8], products[16][8];
  const auto bytes = [](const uint32_t* r) { return reinterpret_cast<const uint8_t*>(r); };
  for (int lane = 0; lane < 32; ++lane) {
    const auto& own = *static_cast<Mma*>(group.arguments[static_cast<size_t>(lane)]);
    const int g = lane / 4, t = lane % 4;
    for (int r = 0; r < a_registers; ++r) decode_run<A>(bytes(own.a + r), per, &a[g + 8 * (r % 2)][t * per + 4 * per * (r / 2)], 1);
    for (int r = 0; r < b_registers; ++r) decode_run<B>(bytes(own.b + r), per, &b[t * per + 4 * per * r][g], 8);
  }
  for (int i = 0; i < 16; ++i) {
    T sums[8] = {};
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < 8; ++j) sums[j] += a[i][k] * b[k][j];
    std::memcpy(products[i], sums, sizeof sums);
  }
  for (int lane = 0; lane < 32; ++lane) {
    T* const d = static_cast<T*>(static_cast<Mma*>(group.arguments[static_cast<size_t>(lane)])->d);
    for (int v = 0; v < 4; ++v) accumulate(d[v], products[lane / 4 + 8 * (v / 2)][2 * (lane % 4) + v % 2]);
  }
}

struct Row {
  const char* name;
  void (*run)(Machine&, Group&);
};
typedef float f32;
typedef int32_t s32;
constexpr Row kRows[] = {
#define EMULATOR_MMA(name, k, a, b, accumulator) {#name, &multiply<accumulator, Number::a, Number::b, k>},
#include "emulator/cuda/matrix.def"
};

}  // namespace

int mma_shape(const std::string& name) {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (name == kRows[i].name) return static_cast<int>(i);
  return -1;
}

}  // namespace tilert::emulator

using namespace tilert::emulator;

void tlemu_ldmatrix(uint32_t* r, const void* row, int count, int transposed, int line) {
  matrices(const_cast<void*>(row), r, count, transposed, false, line);
}
void tlemu_stmatrix(void* row, const uint32_t* r, int count, int transposed, int line) {
  matrices(row, const_cast<uint32_t*>(r), count, transposed, true, line);
}

void tlemu_mma(int shape, void* d, const uint32_t* a, const uint32_t* b, int line) {
  Gpu& gpu = at(line);
  if (gpu.warp().count != 32) gpu.fail(Fault::protocol, "a product in a warp that is not whole");
  Mma own{d, a, b};
  gpu.meet_warp("mma.sync", static_cast<uint64_t>(line) << 8 | static_cast<uint64_t>(shape), &own, kRows[shape].run);
}
