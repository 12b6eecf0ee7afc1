// The builder's C functions for views and layouts.
#include "capi/builder_calls.h"

using tilert::builder::Builder;
using tilert::capi::on;
using tilert::capi::statement;

tilert_buffer tilert_builder_view(tilert_builder* handle, tilert_buffer tile, tilert_dtype dtype, const tilert_expr* shape,
                                  uint32_t rank) noexcept {
  return on(handle, tilert_buffer{}, [&](Builder& b) { return b.view(tile, dtype, shape, rank); });
}
tilert_status tilert_builder_layout_indices(tilert_builder* handle, tilert_buffer tile, tilert_expr* indices) noexcept {
  return statement(handle, [&](Builder& b) { b.layout_indices(tile, indices); });
}
tilert_status tilert_builder_annotate_layout(tilert_builder* handle, tilert_buffer tile, tilert_layout layout, tilert_expr place,
                                             uint32_t flags) noexcept {
  return statement(handle, [&](Builder& b) { b.annotate_layout(tile, layout, place, flags); });
}
tilert_tensor tilert_builder_tensor_reshape(tilert_builder* handle, tilert_tensor tensor, const tilert_expr* shape,
                                            uint32_t rank) noexcept {
  return on(handle, tilert_tensor{}, [&](Builder& b) { return b.tensor_reshape(tensor, shape, rank); });
}
tilert_tensor tilert_builder_tensor_transpose(tilert_builder* handle, tilert_tensor tensor, const uint32_t* order,
                                              uint32_t rank) noexcept {
  return on(handle, tilert_tensor{}, [&](Builder& b) { return b.tensor_transpose(tensor, order, rank); });
}
