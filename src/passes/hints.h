// What a program asks of the compiler beside its meaning, and what came of it.
#pragma once

#include <string>

#include "passes/module.h"

namespace tilert::passes {

// First of the passes. before: hints for any target; after: those for this target, the ones that name it first, and
// KernelPlan::hints lists them and what loops, copies and products ask for.
Result<Module> take_hints(Module module, const PassContext& context);

// Last of the passes: fills in the outcomes. UNSUPPORTED, with the reason, where one that must be met is not.
Result<Module> judge_hints(Module module, const PassContext& context);

// With the raster hint blocks visit the grid in groups of columns.
// before: block indices as the hardware counts them; after: indices computed from them at the top of the kernel.
Result<Module> raster(Module module, const PassContext& context);

// When the threads are known: KernelPlan::min_blocks, from the hints min_blocks and max_registers.
Result<Module> bound_registers(Module module, const PassContext& context);

// When the registers are known, for kernels without products whose hints do not say it, whose warps reduce rows together and
// whose tiles leave room for it: as many blocks on a multiprocessor as have 64 registers a thread, so that others load while one waits.
// before: lowered; after: KernelPlan::min_blocks, at least what it was.
Result<Module> recommend_blocks(Module module, const PassContext& context);

// The value of a kernel's hint, 0 where there is none. After take_hints.
int64_t hint_of(const ir::Kernel& kernel, ir::HintKind kind);

// "threads 256", "stages 3", "prefer tma".
std::string text_of(const HintOutcome& hint);

// The registers that a thread may have where `blocks` of `threads` share a multiprocessor.
int64_t registers_for(const Target& target, int64_t threads, int64_t blocks);

}  // namespace tilert::passes
