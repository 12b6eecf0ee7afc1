// Which compiler options a request may carry, and which every compile gets: the tables of options.def.
// Not here: macro definitions as text (source_guard.h looks at what they expand to).
#pragma once

#include "compiler/compiler.h"

#include <string>
#include <vector>

namespace tilert {

// INVALID_ARGUMENT naming the option, what is wrong with it, and the options that exist.
Status check_options(Language language, const std::vector<std::string>& options);

// The fixed options of the language that no option of the request replaces, then the request's, in their order. What a
// compiler is given, apart from the target.
std::vector<std::string> effective_options(Language language, const std::vector<std::string>& options);

}  // namespace tilert
