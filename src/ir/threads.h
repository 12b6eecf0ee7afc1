// Loops over threads as ordinary element-wise loops: what the operations of threads mean, for who has no threads.
// The device's own form of them is in passes/lower_threads.cpp.
#pragma once

#include "ir/program.h"

namespace tilert::ir {

inline constexpr int64_t kWarpLanes = 32;  // of the language, on every target

// Operations that all threads of a warp, or of a block, come to together.
inline bool is_collective(ThreadOpKind kind) { return kind <= ThreadOpKind::sync; }
inline bool is_shuffle(ThreadOpKind kind) { return kind <= ThreadOpKind::shuffle_xor; }
inline bool is_vote(ThreadOpKind kind) { return kind >= ThreadOpKind::all && kind <= ThreadOpKind::ballot; }
bool has_collective(const Block& block);
bool has_threads(const Program& program);  // a loop over threads

// The thread whose value a shuffle gives `thread`: the named one of its group of `number` lanes, itself where none has that name.
Expr shuffle_source(Arena& arena, const ThreadOp& shuffle, Expr thread);
// The value of an expression of the thread's number and constants for that thread; nothing where it hangs on more.
std::optional<uint64_t> value_for_thread(Expr e, VarId thread, int64_t number);
// What a vote gives, of the 32 bits of its warp's ballot.
Expr vote_result(Arena& arena, ThreadOpKind kind, Expr ballot);

// before: Parallel over threads with operations of threads. after: plain Parallel loops, one for what lies between two
//         collective operations; values that cross one stand in shared tiles with an element for each thread. Copies are
//         made where they are issued.
void part_threads(Program& program);

}  // namespace tilert::ir
