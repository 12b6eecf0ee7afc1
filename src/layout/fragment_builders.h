// Builders of fragment maps: the default distribution, and the operands and accumulators of matrix instructions over a
// grid of warps or warpgroups. The instructions' own lane maps are rows of atoms.def.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/atoms.h"
#include "layout/fragment_map.h"

namespace tilert {

// A tile spread over `threads`: `vector` contiguous elements of the innermost dim per thread (reduced to a power of two
// that fits), neighbouring threads on neighbouring vectors, the rest in registers. Any shape; threads a multiple of
// warp_size (or below it). Threads that the tile has no use for hold copies. Valid, minimal padding within that form.
// `together` is a dim whose elements had better stay in one warp, because they are reduced; -1: none.
FragmentMap blocked_map(const std::vector<int64_t>& shape, int64_t threads, int64_t vector, int64_t warp_size, int together = -1);

// A tile of `shape` beside a known one that lacks its last dim: the known one's elements stay where they are, and the last
// dim goes over the threads that hold copies of them, `vector` contiguous elements to each (reduced to what fits), then the
// rest in registers. dims[d] is the tile's dim that the known one's dim d is; -1 for a dim of extent 1.
FragmentMap beside_map(const FragmentMap& known, const std::vector<int>& dims, const std::vector<int64_t>& shape, int64_t vector);

// Every thread holds the whole tile in registers.
FragmentMap replicated_map(const std::vector<int64_t>& shape, int64_t threads, int64_t warp_size);

// How a product is shared out. For mma.sync `m` x `n` warps, for wgmma `m` x `n` warpgroups; `k` is 1 unless the sum
// itself is split, then the accumulator is partial over the k groups. Index of a group: gm + m * (gn + n * gk).
struct WarpGrid {
  int64_t m = 1, n = 1, k = 1;
  int64_t groups() const { return m * n * k; }
};

// The accumulator [m, n] of a product of those extents. A group owns contiguous rows and columns: ceil(m / (atom.m *
// grid.m)) atoms along M, likewise along N; padded where that does not divide. Register order: the atom's registers, then
// atoms along N, then along M: register = atom_register + atom.c_registers * (in + atoms_n * im).
// For wgmma one instruction spans the group's columns, in pieces of `atom_n` (from wgmma_n), which must divide them.
FragmentMap accumulator_map(const Atom& atom, int64_t m, int64_t n, WarpGrid grid);
// Operands in registers: a [m, k] ([m, k / 2] of a sparse atom), b [k, n]. Register order: the atom's registers, then atoms along K, then along M or N.
// The groups that share an operand hold copies of it.
FragmentMap a_operand_map(const Atom& atom, int64_t m, int64_t k, WarpGrid grid);
FragmentMap b_operand_map(const Atom& atom, int64_t k, int64_t n, WarpGrid grid);

// How many atoms one group executes along each dim (the pieces of wgmma along N count as atoms of width atom_n).
struct AtomCounts {
  int64_t m = 1, n = 1, k = 1;
  int64_t atom_n = 8;  // columns of one instruction
};
AtomCounts atom_counts(const Atom& atom, int64_t m, int64_t n, int64_t k, WarpGrid grid);

}  // namespace tilert
