// The launch on the CPU: parameters as 8-byte slots, ranges of blocks on the device's executor, to completion.
#include <algorithm>

#include "runtime/launch_state.h"
#include "runtime/scratch_arena.h"
#include "support/thread_pool.h"

namespace tilert::runtime {
namespace {

struct CpuJob {
  CpuEntry entry;
  const uint64_t* parameters;
  const int64_t* grid;
  ScratchArena* scratch;

  static void run(void* context, int64_t begin, int64_t end, int) {
    const auto& job = *static_cast<const CpuJob*>(context);
    const ScratchArena::Slot slot(job.scratch);
    job.entry(job.parameters, begin, end, job.grid, slot.data());
  }
};

// Rounds of blocks that meet: each runs until it waits for the others or is at its end, which its word in the workspace
// tells.
Code run_rounds(const LaunchState& state, const PreparedKernel& kernel, const Work& work, uint64_t blocks_state) {
  auto* const words = reinterpret_cast<int64_t*>(blocks_state);
  std::fill_n(words, work.count, 0);
  for (;;) {
    state.loaded.device().executor()->run(work);
    const int64_t ended = std::count(words, words + work.count, -1);
    if (ended == work.count) return Code::kOk;
    if (ended == 0 && std::all_of(words, words + work.count, [&](int64_t word) { return word == words[0]; })) continue;
    return refuse(state.info, Code::kInvalidArgument, -1, -1,
                  "kernel '{}': its blocks do not come to the same grid_sync: {} of {} have ended, and others wait", kernel.kernel->entry,
                  ended, work.count);
  }
}

Code run_kernel(const LaunchState& state, const PreparedKernel& kernel) {
  Grid grid;
  if (const Code code = evaluate_grid(state, kernel, &grid); code != Code::kOk) return code;
  if (grid.blocks == 0) return Code::kOk;
  uint64_t parameters[kMaxKernelParams];
  for (size_t i = 0; i < kernel.slots.size(); ++i) parameters[i] = slot_value(state, kernel.slots[i]);
  ScratchArena* const scratch = kernel.kernel->shared_bytes > 0 ? state.variant->scratch.get() : nullptr;
  CpuJob job{kernel.entry, parameters, grid.extent, scratch};
  Work work;
  work.run = CpuJob::run;
  work.context = &job;
  work.count = grid.blocks;
  work.nanoseconds = static_cast<uint64_t>(std::max<int64_t>(state.value(kernel.work), 0));
  if ((kernel.kernel->attributes & kKernelCooperative) != 0)
    return run_rounds(state, kernel, work, parameters[kernel.slots.size() - 1]);
  state.loaded.device().executor()->run(work);
  return Code::kOk;
}

}  // namespace

Code launch_cpu(const LaunchState& state) {
  if (state.info.stream != nullptr) {
    return refuse(state.info, Code::kInvalidArgument, -1, -1,
                  "the stream of a CPU launch is NULL: it runs to completion");
  }
  for (const PreparedKernel& kernel : state.variant->kernels) {
    if (const Code code = run_kernel(state, kernel); code != Code::kOk) return code;
  }
  return Code::kOk;
}

}  // namespace tilert::runtime
