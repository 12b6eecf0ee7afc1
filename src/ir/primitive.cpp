// The table of primitives.
#include "ir/primitive.h"

#include <iterator>

namespace tilert::ir {
namespace {

constexpr PrimitiveRow row(Primitive primitive, std::string_view name, std::string_view effects) {
  const size_t bar = effects.find('|');
  return {primitive, name, effects.substr(0, bar), effects.substr(bar + 1)};
}
constexpr PrimitiveRow kPrimitiveRows[] = {
#define TILERT_PRIMITIVE(name, effects) row(Primitive::name, #name, effects),
#include "ir/primitives.def"
#undef TILERT_PRIMITIVE
};

}  // namespace

const PrimitiveRow& primitive_row(Primitive primitive) { return kPrimitiveRows[static_cast<size_t>(primitive)]; }

const PrimitiveRow* primitive_from_name(std::string_view name) {
  for (const PrimitiveRow& r : kPrimitiveRows)
    if (r.name == name) return &r;
  return nullptr;
}

}  // namespace tilert::ir
