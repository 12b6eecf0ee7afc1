// The one table of language features that this version refuses by name (refusals.def), and how a refusal reads.
#pragma once

#include <string_view>

#include "support/result.h"

namespace tilert::builder {

enum class Refusal : uint8_t {
#define TILERT_FEATURE(name)
#define TILERT_REFUSAL(name, what, alternative) name##_,
#include "builder/refusals.def"
#undef TILERT_FEATURE
#undef TILERT_REFUSAL
};

// UNSUPPORTED: "<detail: >this version does not do <what>: <alternative>".
Error refuse(Refusal refusal, std::string_view detail = {});

// Success for a feature that is done, its refusal for one that is not, INVALID_ARGUMENT for a name that is neither.
Status feature_status(std::string_view name);

}  // namespace tilert::builder
