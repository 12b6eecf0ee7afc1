// A case as a launch of the conformance runner: its data, what each element must be, what tables point to.
#pragma once

#include "conformance/scenario.h"
#include "random/judge.h"

namespace tilert::random {

conformance::Launch launch_of(const Case& c, const Outputs& want);

}  // namespace tilert::random
