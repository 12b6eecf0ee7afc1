// What tilert_compile does: one job from its standard input, a socket; one answer into it; its end.
#pragma once

#include <string>
#include <string_view>

namespace tilert {

// The answer to a job's bytes: compiled here, or why not.
std::string answer_job(std::string_view message);

int helper_main();

}  // namespace tilert
