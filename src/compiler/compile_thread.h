// Compilers run on threads of their own: they need deep stacks, and one that does not come back must not take its
// caller along.
// Not here: which compiler runs.
#pragma once

#include "compiler/compiler.h"

#include <functional>
#include <memory>

namespace tilert {

inline constexpr size_t kCompileStackBytes = size_t{16} << 20;
// Workers that outlived their deadline and still run; beyond that many nothing more is compiled.
inline constexpr int kMaxAbandonedCompiles = 8;
// What a compiler that can be interrupted gets to come back after its deadline or a cancel.
inline constexpr std::chrono::milliseconds kCancelGrace{100};

// Runs `work` on a new thread and waits: for it to end, or until `control` says stop and kCancelGrace has passed; then
// the thread is left behind and TIMEOUT or CANCELLED returned. So `work` must own all that it touches.
// UNAVAILABLE when too many workers are left behind or no thread can be made.
Result<Binary> run_on_compile_thread(const CompileControl& control, std::function<Result<Binary>()> work);

int abandoned_compiles();  // still running

// TIMEOUT or CANCELLED, whichever `control` says.
Error stop_error(const CompileControl& control);

}  // namespace tilert
