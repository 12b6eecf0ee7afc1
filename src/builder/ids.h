// Ids: the builder's serial number, and an index whose top bits hold the kind, so that an id of another builder or of
// another kind is recognized whatever the language it came through.
#pragma once

#include <cstdint>

#include "tilert.h"

namespace tilert::builder {

enum class IdKind : uint32_t { dim = 1, tensor = 2, scalar = 3, buffer = 4, expr = 5, function = 6 };
inline constexpr uint32_t kIdShift = 28;
inline constexpr uint32_t kMaxIds = (1u << kIdShift) - 1;

template <class Id>
struct IdTraits;
template <>
struct IdTraits<tilert_dim> {
  static constexpr IdKind kind = IdKind::dim;
};
template <>
struct IdTraits<tilert_tensor> {
  static constexpr IdKind kind = IdKind::tensor;
};
template <>
struct IdTraits<tilert_scalar> {
  static constexpr IdKind kind = IdKind::scalar;
};
template <>
struct IdTraits<tilert_buffer> {
  static constexpr IdKind kind = IdKind::buffer;
};
template <>
struct IdTraits<tilert_expr> {
  static constexpr IdKind kind = IdKind::expr;
};

template <>
struct IdTraits<tilert_function> {
  static constexpr IdKind kind = IdKind::function;
};

const char* id_kind_name(IdKind kind);

template <class Id>
Id make_id(uint32_t serial, uint32_t index) {
  return Id{serial, (static_cast<uint32_t>(IdTraits<Id>::kind) << kIdShift) | index};
}
template <class Id>
bool is_none(Id id) {
  return id.serial == 0 && id.index == 0;
}
template <class Id>
IdKind kind_of(Id id) {
  return static_cast<IdKind>(id.index >> kIdShift);
}
template <class Id>
uint32_t index_of(Id id) {
  return id.index & kMaxIds;
}

}  // namespace tilert::builder
