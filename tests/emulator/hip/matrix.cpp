// Products of a wave, mfma and wmma, by AMD's lane maps (matrix.def).
#include <cmath>
#include <cstring>
#include <vector>

#include "emulator/cuda/gpu.h"
#include "emulator/cuda/matrix.h"
#include "emulator/cuda/operand.h"
#include "emulator/cuda/primitives.h"

namespace tilert::emulator {
namespace {

enum class Form : uint8_t { cdna, cdna_f64, rdna3, rdna4 };

struct Lane {
  void* d;
  const void *a, *b;
};

Lane& lane_of(Group& group, size_t lane) { return *static_cast<Lane*>(group.arguments[lane]); }

// Element e of an operand's registers.
template <Number type, class T>
T element(const void* registers, int e) {
  uint32_t raw = 0;
  constexpr int bytes = number_bits(type) / 8;
  std::memcpy(&raw, static_cast<const uint8_t*>(registers) + e * bytes, bytes);
  return static_cast<T>(decode_number<type>(raw));
}

struct Spot {
  int row, k;
};
// Where element e of lane l stands, of A; B's has its column for a row.
template <Form form, int MN, int K>
Spot operand_spot(int l, int e) {
  constexpr int lanes = form == Form::cdna || form == Form::cdna_f64 ? 64 : 32;
  constexpr int each = form == Form::rdna3 ? K : K * MN / lanes;
  return {l % MN, form == Form::rdna3 ? e : l / MN * each + e};
}
template <Form form, int MN>
int sum_row(int l, int v) {
  switch (form) {
    case Form::cdna: return MN == 32 ? 8 * (v / 4) + 4 * (l / 32) + v % 4 : 4 * (l / 16) + v;
    case Form::cdna_f64: return 4 * v + l / 16;
    case Form::rdna3: return 2 * v + l / 16;
    case Form::rdna4: return 8 * (l / 16) + v;
  }
  return 0;
}

void add_product(float& sum, float a, float b) { sum += a * b; }
void add_product(int32_t& sum, int32_t a, int32_t b) { sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(a * b)); }
void add_product(double& sum, double a, double b) { sum = std::fma(a, b, sum); }

template <Form form, int MN, int K, Number A, Number B, class T>
void multiply(Machine& machine, Group& group) {
  constexpr int lanes = form == Form::cdna || form == Form::cdna_f64 ? 64 : 32;
  constexpr int each = form == Form::rdna3 ? K : K * MN / lanes;
  static_assert(K * MN * sizeof(T) <= sizeof(WarpRoom::wave_a));
  WarpRoom& room = static_cast<Gpu&>(machine).rooms[group.members[0]->warp];
  auto* const a = reinterpret_cast<T(*)[MN]>(room.wave_a);
  auto* const b = reinterpret_cast<T(*)[MN]>(room.wave_b);
  for (int l = 0; l < lanes; ++l) {
    const Lane& own = lane_of(group, static_cast<size_t>(l));
    for (int e = 0; e < each; ++e) {
      const Spot at = operand_spot<form, MN, K>(l, e);
      T x, y;
      if constexpr (form == Form::cdna_f64) x = static_cast<const double*>(own.a)[e], y = static_cast<const double*>(own.b)[e];
      else x = element<A, T>(own.a, e), y = element<B, T>(own.b, e);
      if (form == Form::rdna3 && l >= 16 && (std::memcmp(&a[at.k][at.row], &x, sizeof x) != 0 || std::memcmp(&b[at.k][at.row], &y, sizeof y) != 0))
        return machine.record(Fault::protocol, group.members[static_cast<size_t>(l)], "a product whose operands differ between the halves of the wave");
      a[at.k][at.row] = x;
      b[at.k][at.row] = y;
    }
  }
  for (int l = 0; l < lanes; ++l) {
    T* const d = static_cast<T*>(lane_of(group, static_cast<size_t>(l)).d);
    for (int v = 0; v < MN * MN / lanes; ++v) {
      const int row = sum_row<form, MN>(l, v);
      T sum = d[v];
      for (int k = 0; k < K; ++k) add_product(sum, a[k][row], b[k][l % MN]);
      d[v] = sum;
    }
  }
}

struct Row {
  const char* name;
  uint32_t lanes;
  void (*run)(Machine&, Group&);
};
// Of f64 the operands are numbers.
namespace number_types {
constexpr Number f64 = Number::f32;
#define EMULATOR_NUMBER(name, bits, decode) constexpr Number name = Number::name;
#include "emulator/cuda/types.def"
}  // namespace number_types
constexpr Row kRows[] = {
#define EMULATOR_WAVE(name, mn, k, form, a, b, accumulator)                             \
  {#name, Form::form == Form::cdna || Form::form == Form::cdna_f64 ? 64u : 32u,        \
   &multiply<Form::form, mn, k, number_types::a, number_types::b, accumulator>},
#include "emulator/hip/matrix.def"
};

}  // namespace
}  // namespace tilert::emulator

using namespace tilert::emulator;

int tlemu_lane(void) { return static_cast<int>(Gpu::current().lane()); }

void tlemu_wave_product(int shape, void* d, const void* a, const void* b, int line) {
  Gpu& gpu = at(line);
  const Row& row = kRows[shape];
  if (gpu.lanes() != row.lanes || gpu.warp().count != row.lanes)
    gpu.fail(Fault::protocol, std::string(row.name) + " in a wave of " + std::to_string(gpu.warp().count) + " lanes");
  Lane own{d, a, b};
  gpu.meet_warp(row.name, static_cast<uint64_t>(line) << 8 | static_cast<uint64_t>(shape), &own, row.run);
}
