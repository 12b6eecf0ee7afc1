// same_owner: does each thread already hold what an access F[e(0), e(1), ...] in a parallel loop needs, and in which
// register? The algebra on which lowering of element-wise loops stands. Nothing here moves data: see conversion.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/fragment_map.h"

namespace tilert {

// One dim of an accessed fragment: a loop variable (dim of the loop's map), or a constant coordinate.
struct AccessDim {
  int loop_dim = -1;     // -1: `constant`
  int64_t constant = 0;
};

enum class AccessMode : uint8_t {
  read,
  read_parts,  // each thread reads or scales its own part of an unfinished reduction
  write,       // every holder of an element must be written
  write_parts, // each thread writes its own part (scaling an unfinished sum)
};

// A register digit of the loop's map (after splitting): register index of the loop, and the step of F's register index.
struct RegisterStep {
  int64_t extent = 1;
  int64_t position = 1;  // loop register = sum of value * position
  int dim = 0;           // the loop dim that the digit moves, and by how much
  int64_t stride = 0;
  int64_t step = 0;      // F's register = base + sum of value * step
  friend bool operator==(const RegisterStep&, const RegisterStep&) = default;
};

struct OwnerMatch {
  bool matches = false;
  std::string reason;  // why not, naming the dim and digit
  int64_t base = 0;
  std::vector<RegisterStep> steps;  // low to high

  // F's register for a register of the loop's map.
  int64_t fragment_register(int64_t loop_register) const;
};

// `loop` maps hardware to iterations, `fragment` to elements; access has one entry per dim of the fragment. Sound: where
// it matches, every thread holds in the given register the element of each of its iterations inside the loop's logical
// extents (an iteration beyond them may name any register below fragment.registers()). A write matches only if all
// holders of every element written are written by it. Replicas match where the loop does not distribute over them.
// The thread counts must be equal. Where radices do not nest it says no, never yes.
OwnerMatch same_owner(const FragmentMap& loop, const FragmentMap& fragment, const std::vector<AccessDim>& access,
                      AccessMode mode);

// Splits the steps of several matches of one loop map to common breakpoints, so that one nest of register loops serves
// all of them. nullopt where the radices do not nest. Each result's steps have the same extents and positions.
std::optional<std::vector<OwnerMatch>> common_steps(const std::vector<OwnerMatch>& matches);

}  // namespace tilert
