// The rows of machines.def, by target.
#include "tune/machine.h"

namespace tilert::tune {

double Machine::rate(DType operand, bool tf32) const {
  const int bits = dtype_bits(operand);
  double tensor = 0;
  if (operand == DType::f64) tensor = mma64;
  else if (tf32) tensor = mma_tf32;
  else if (bits == 16) tensor = mma16;
  else if (bits == 8) tensor = mma8;
  if (tensor > 0) return tensor;
  return operand == DType::f64 ? fma32 / 2 : fma32;
}

const Machine* machine_of(const Target& target) {
  static constexpr Machine kMachines[] = {
#define TILERT_MACHINE(target, clock, memory, l2, mma16, mma8, tf32, mma64, fma32, warp) \
  {target, clock, memory, l2, mma16, mma8, tf32, mma64, fma32, warp},
#include "tune/machines.def"
  };
  for (const Machine& m : kMachines)
    if (m.target == target.text) return &m;
  return nullptr;
}

}  // namespace tilert::tune
