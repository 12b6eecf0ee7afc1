// Barriers and tensor copies as plain statements: what they mean, for who has no engine beside the one that computes. The
// device's own form of them is in passes/lower_async.cpp.
#pragma once

#include "ir/program.h"

namespace tilert::ir {

inline constexpr int64_t kMaxArrivals = 1024;  // of a phase of a barrier

bool has_async(const Program& program);  // barriers, or operations of them or of tensor copies

// before: barriers, operations on them, roles. after: a barrier's arrivals and bytes to come are elements of shared tiles, a
//         copy is made where it is issued, and issuers go on where the work waits. A wait stays, as a check: `barrier` is the
//         element that holds the parity of the phase under way, and nobody is left who could complete it.
void part_async(Program& program);

// Whether the wait is over, of the parity of the phase under way.
inline bool phase_is_past(int64_t waited_for, int64_t under_way) { return ((waited_for ^ under_way) & 1) != 0; }

}  // namespace tilert::ir
