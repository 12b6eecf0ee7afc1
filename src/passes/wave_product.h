// What products of AMD's waves need beside those of warps: tiles with K together in memory, operands that lanes read themselves.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "layout/fragment_builders.h"
#include "passes/lower.h"

namespace tilert::passes {

// The place of a shared tile that products read with K along its first dim alone: turned, so that a lane reads 16 bytes of K.
std::optional<AddressMap> turned_tile_map(const ir::Program& program, const ir::Kernel& kernel, ir::BufferId tile, const std::vector<int64_t>& shape,
                                          int banks);

// An operand in a shared tile of the instruction's type.
struct LaneOperand {
  const ir::Region& region;
  bool k_last;                                                        // along its last dim, else along that before
  std::function<std::vector<ir::Expr>(ir::Expr line, ir::Expr k)> at;  // row of A, or column of B
};

// Each lane's elements of step kk of `count` instructions, packed to words from register `start` on: in pieces of 16 bytes where the
// tile has them along K.
// `first`: the warp's first line, of which an instruction has `lines`.
void load_lane_words(Lower& low, const Atom& atom, const LaneOperand& operand, ir::BufferId to, ir::Expr start, ir::Expr kk, ir::Expr first, int64_t count, int64_t lines);

// A fragment of `rows` x `k` elements as a tile that lanes read steps of.
Result<ir::Region> rows_in_tile(Lower& low, ir::BufferId fragment, DType dtype, int64_t rows, int64_t k);

// A product by packed words, step by step of the instruction's depth, within the registers that the kernel leaves.
struct WaveProduct {
  Lower& low;
  const Atom& atom;
  const AtomCounts& counts;
  ir::BufferId sums;
  int64_t a_words, b_words;  // of one instruction's operands
  // Bring the operands of step kk to the registers from `start` on: of all rows; of `count` instructions' columns from `first` on.
  std::function<void(ir::BufferId to, ir::Expr start, ir::Expr kk)> load_a;
  std::function<void(ir::BufferId to, ir::Expr start, ir::Expr kk, ir::Expr first, int64_t count)> load_b;

  void run();

 private:
  void steps();
  void multiply(ir::Expr im, ir::Expr in, ir::BufferId a, ir::Expr a_at, ir::BufferId b, ir::Expr b_at);
};

// f64: a lane's elements of a step are numbers side by side in the operands' fragments.
void multiply_numbers(Lower& low, const Atom& atom, const AtomCounts& counts, ir::BufferId sums, ir::BufferId a, ir::BufferId b);

// Packs elements to 32-bit registers: which primitive.
ir::Primitive packing_of(DType type);

}  // namespace tilert::passes
