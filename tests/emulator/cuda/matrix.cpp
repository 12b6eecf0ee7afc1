// Warp matrix instructions: ldmatrix, stmatrix and mma.sync, by the lane maps of the PTX ISA.
#include <cmath>
#include <cstring>

#include "emulator/cuda/gpu.h"
#include "emulator/cuda/matrix.h"
#include "emulator/cuda/numbers.h"
#include "emulator/cuda/operand.h"
#include "emulator/cuda/primitives.h"

namespace tilert::emulator {

namespace {

WarpRoom& room_of(Machine& machine, const Group& group) { return static_cast<Gpu&>(machine).rooms[group.members[0]->warp]; }

template <bool store>
void move_rows(Machine& machine, Group& group) {
  WarpRoom& room = room_of(machine, group);
  for (int lane = 0; lane < 32; ++lane) {
    if (!room.row_at[lane]) continue;
    if (store) std::memcpy(room.row_at[lane], room.stored[lane], 16);
    else std::memcpy(room.loaded[lane], room.row_at[lane], 16);
  }
}

// Row i of matrix m is at the address of lane 8m + i; lane l has elements 2(l % 4) and the next of row l / 4, or, when
// transposed, those of column l / 4.
template <bool store>
void exchange(WarpRoom& room, uint32_t lane, uint32_t* r, int count, bool transposed) {
  for (int m = 0; m < count; ++m) {
    uint16_t(*const rows)[8] = (store ? room.stored : room.loaded) + 8 * m;
    const uint32_t row = transposed ? 2 * (lane % 4) : lane / 4, column = transposed ? lane / 4 : 2 * (lane % 4);
    uint16_t &low = rows[row][column], &high = transposed ? rows[row + 1][column] : rows[row][column + 1];
    if (store) low = static_cast<uint16_t>(r[m]), high = static_cast<uint16_t>(r[m] >> 16);
    else r[m] = static_cast<uint32_t>(high) << 16 | low;
  }
}

void matrices(void* row, uint32_t* r, int count, bool transposed, bool store, int line) {
  Gpu& gpu = at(line);
  static const char* const kNames[2][3] = {{"ldmatrix.x1", "ldmatrix.x2", "ldmatrix.x4"}, {"stmatrix.x1", "stmatrix.x2", "stmatrix.x4"}};
  const char* const name = kNames[store][count / 2];
  if (gpu.warp().count != 32) gpu.fail(Fault::protocol, std::string(name) + " in a warp that is not whole");
  const uint32_t lane = gpu.lane();
  const bool names_row = lane < static_cast<uint32_t>(8 * count);
  if (names_row) gpu.shared(row, 16, 16, store ? "a row of stmatrix" : "a row of ldmatrix");
  if (gpu.races() && names_row) gpu.races()->access(row, 16, store, line);
  WarpRoom& room = gpu.rooms[gpu.self().warp];
  room.row_at[lane] = names_row ? row : nullptr;
  if (store) exchange<true>(room, lane, r, count, transposed);
  gpu.meet_warp(name, static_cast<uint64_t>(line) << 1 | transposed, nullptr, store ? &move_rows<true> : &move_rows<false>);
  if (!store) exchange<false>(room, lane, r, count, transposed);
}

// One element of each of `width` registers that lie next to each other, as numbers.
template <Number type, int width, class T>
void decode_across(const uint32_t* registers, int element, T* out) {
  constexpr int bits = number_bits(type);
  for (int i = 0; i < width; ++i) out[i] = static_cast<T>(decode_number<type>(registers[i] >> (element * bits % 32) & (bits == 32 ? ~0u : (1u << bits % 32) - 1)));
}

// The sums over k, in its order, of each row of A and column of B.
template <class T, Number A, Number B, int K>
void multiply(Machine& machine, Group& group) {
  constexpr int per = 32 / number_bits(A);
  WarpRoom& room = room_of(machine, group);
  alignas(64) T a[K][16], b[K][8];
  for (int k = 0; k < K; ++k) {
    decode_across<A, 16>(room.a[k / per], k % per, a[k]);
    decode_across<B, 8>(room.b[k / per], k % per, b[k]);
  }
  for (int i = 0; i < 16; ++i) {
    T sums[8] = {};
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < 8; ++j) sums[j] += a[k][i] * b[k][j];
    std::memcpy(room.d[i], sums, sizeof sums);
  }
}

void accumulate(float& d, float x) { d += x; }
void accumulate(int32_t& d, int32_t x) { d = static_cast<int32_t>(static_cast<uint32_t>(d) + static_cast<uint32_t>(x)); }

template <class T>
void take(const WarpRoom& room, uint32_t lane, void* d) {
  for (uint32_t v = 0; v < 4; ++v) {
    T x;
    std::memcpy(&x, &room.d[lane / 4 + 8 * (v / 2)][2 * (lane % 4) + v % 2], 4);
    accumulate(static_cast<T*>(d)[v], x);
  }
}

// Each sum takes its four products in the order of K, each rounded once.
void multiply_wide(Machine& machine, Group& group) {
  WarpRoom& room = room_of(machine, group);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 4; ++k) room.wide_d[i][j] = std::fma(room.wide_a[i][k], room.wide_b[j][k], room.wide_d[i][j]);
}

struct Row {
  const char* name;
  int b_registers;  // A has twice as many
  void (*run)(Machine&, Group&);
  void (*take)(const WarpRoom&, uint32_t lane, void* d);
};
typedef float f32;
typedef int32_t s32;
constexpr Row kRows[] = {
#define EMULATOR_MMA(name, k, a, b, accumulator) \
  {#name, k * number_bits(Number::a) / 128, &multiply<accumulator, Number::a, Number::b, k>, &take<accumulator>},
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
  matrices(const_cast<void*>(row), r, count, transposed != 0, false, line);
}
void tlemu_stmatrix(void* row, const uint32_t* r, int count, int transposed, int line) {
  matrices(row, const_cast<uint32_t*>(r), count, transposed != 0, true, line);
}

// Lane l = 4 g + t: A's register r is row g + 8 (r % 2), elements of K from register t + 4 (r / 2) of the row on; B's is
// column g, register t + 4 r; D's value v is row g + 8 (v / 2), column 2 t + v % 2.
void tlemu_mma(int shape, void* d, const uint32_t* a, const uint32_t* b, int line) {
  Gpu& gpu = at(line);
  if (gpu.warp().count != 32) gpu.fail(Fault::protocol, "a product in a warp that is not whole");
  const Row& row = kRows[shape];
  const uint32_t lane = gpu.lane(), g = lane / 4, t = lane % 4;
  WarpRoom& room = gpu.rooms[gpu.self().warp];
  for (uint32_t r = 0; r < static_cast<uint32_t>(row.b_registers); ++r) {
    room.a[t + 4 * r][g] = a[2 * r];
    room.a[t + 4 * r][g + 8] = a[2 * r + 1];
    room.b[t + 4 * r][g] = b[r];
  }
  gpu.meet_warp("mma.sync", static_cast<uint64_t>(line) << 8 | static_cast<uint64_t>(shape), nullptr, row.run);
  row.take(room, lane, d);
}

// Lane l = 4 g + t: A's row g and B's column g, K t; sums of row g, columns 2 t and 2 t + 1.
void tlemu_mma_f64(double* d, const double* a, const double* b, int line) {
  Gpu& gpu = at(line);
  if (gpu.warp().count != 32) gpu.fail(Fault::protocol, "a product in a warp that is not whole");
  const uint32_t lane = gpu.lane(), g = lane / 4, t = lane % 4;
  WarpRoom& room = gpu.rooms[gpu.self().warp];
  room.wide_a[g][t] = *a;
  room.wide_b[g][t] = *b;
  for (uint32_t v = 0; v < 2; ++v) room.wide_d[g][2 * t + v] = d[v];
  gpu.meet_warp("mma.sync on f64", static_cast<uint64_t>(line), nullptr, &multiply_wide);
  for (uint32_t v = 0; v < 2; ++v) d[v] = room.wide_d[g][2 * t + v];
}
