// insert_barriers: block barriers where memory (shared, or a tensor that is written) is handed from one thread to another.
// before: lowered groups in program order, whose accesses to shared memory may conflict across threads; asynchronous
//         copies with their commits and waits. after: a barrier stands between any two conflicting groups.
// What a wait completes becomes visible to other threads at the next barrier. An asynchronous copy that is still under
// way conflicts with nothing: the ring keeps its slot free until the wait (passes/ring.h). The same holds of a ring's copy
// that threads make themselves, where rows do not start on whole words.
#pragma once

#include "passes/module.h"

namespace tilert::passes {

Result<Module> insert_barriers(Module module, const PassContext& context);

}  // namespace tilert::passes
