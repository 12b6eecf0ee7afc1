// Lookup in the table of refusals.
#include "builder/refusals.h"

#include <algorithm>
#include <iterator>

#include "support/refusal.h"

namespace tilert::builder {
namespace {

struct RefusalRow {
  std::string_view name, what, alternative;
};
constexpr RefusalRow kRefusals[] = {
#define TILERT_FEATURE(name)
#define TILERT_REFUSAL(name, what, alternative) {#name, what, alternative},
#include "builder/refusals.def"
#undef TILERT_FEATURE
#undef TILERT_REFUSAL
};
constexpr std::string_view kFeatures[] = {
#define TILERT_FEATURE(name) #name,
#define TILERT_REFUSAL(name, what, alternative)
#include "builder/refusals.def"
#undef TILERT_FEATURE
#undef TILERT_REFUSAL
};

}  // namespace

Error refuse(Refusal which, std::string_view detail) {
  const RefusalRow& row = kRefusals[static_cast<size_t>(which)];
  return refusal(fmt::format("{}{}this version does not do {} [{}]", detail, detail.empty() ? "" : ": ", row.what, row.name),
                 row.alternative);
}

Status feature_status(std::string_view name) {
  if (std::find(std::begin(kFeatures), std::end(kFeatures), name) != std::end(kFeatures)) return {};
  for (size_t i = 0; i < std::size(kRefusals); ++i)
    if (kRefusals[i].name == name) return refuse(static_cast<Refusal>(i));
  return make_error(Code::kInvalidArgument, "'{}' is not the name of a feature", name);
}

}  // namespace tilert::builder
