// The primitives of device/* that lowered code calls; their effects are in primitives.def.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilert::ir {

enum class Primitive : uint8_t {
#define TILERT_PRIMITIVE(name, effects) name,
#include "ir/primitives.def"
#undef TILERT_PRIMITIVE
};

struct PrimitiveRow {
  Primitive primitive;
  std::string_view name;
  std::string_view arguments;  // a letter each
  std::string_view kind;       // after '|'
};
const PrimitiveRow& primitive_row(Primitive primitive);
const PrimitiveRow* primitive_from_name(std::string_view name);

}  // namespace tilert::ir
