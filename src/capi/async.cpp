// The builder's C functions for barriers and tensor copies.
#include "capi/builder_calls.h"

using namespace tilert;
using builder::Builder;
using capi::on;
using capi::statement;
using ir::AsyncOpKind;

tilert_buffer tilert_builder_barriers(tilert_builder* handle, uint32_t count, uint32_t arrivals,
                                      const tilert_buffer_options* options) noexcept {
  return on(handle, tilert_buffer{}, [&](Builder& b) {
    tilert_buffer_options taken;
    return capi::options(b, options, taken, "tilert_buffer_options") ? b.barriers(count, arrivals, taken) : tilert_buffer{};
  });
}
tilert_status tilert_builder_arrive(tilert_builder* handle, const tilert_region* barrier) noexcept {
  return statement(handle, [&](Builder& b) { b.async_op("arrive", AsyncOpKind::arrive, barrier, 0, nullptr); });
}
tilert_status tilert_builder_arrive_expect(tilert_builder* handle, const tilert_region* barrier, uint32_t bytes) noexcept {
  return statement(handle, [&](Builder& b) { b.async_op("arrive_expect", AsyncOpKind::expect, barrier, bytes, nullptr); });
}
tilert_status tilert_builder_wait_barrier(tilert_builder* handle, const tilert_region* barrier, tilert_expr phase) noexcept {
  return statement(handle, [&](Builder& b) { b.async_op("wait_barrier", AsyncOpKind::wait, barrier, 0, &phase); });
}
tilert_status tilert_builder_load_tensor(tilert_builder* handle, const tilert_region* source, const tilert_region* destination,
                                         const tilert_region* barrier) noexcept {
  return statement(handle, [&](Builder& b) { b.tensor_copy(source, destination, barrier, true); });
}
tilert_status tilert_builder_store_tensor(tilert_builder* handle, const tilert_region* source,
                                          const tilert_region* destination) noexcept {
  return statement(handle, [&](Builder& b) { b.tensor_copy(source, destination, nullptr, false); });
}
tilert_status tilert_builder_commit_stores(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.async_op("commit_stores", AsyncOpKind::commit, nullptr, 0, nullptr); });
}
tilert_status tilert_builder_wait_stores(tilert_builder* handle, uint32_t pending, tilert_stores_state state) noexcept {
  return statement(handle, [&](Builder& b) {
    if (state != TILERT_STORES_WRITTEN && state != TILERT_STORES_READ)
      return b.fail("wait_stores", make_error(Code::kInvalidArgument, "{} is none of the states written, read", state));
    b.async_op("wait_stores", state == TILERT_STORES_READ ? AsyncOpKind::read : AsyncOpKind::written, nullptr, pending, nullptr);
  });
}
tilert_status tilert_builder_commit_products(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.async_op("commit_products", AsyncOpKind::close, nullptr, 0, nullptr); });
}
tilert_status tilert_builder_wait_products(tilert_builder* handle, uint32_t pending) noexcept {
  return statement(handle, [&](Builder& b) { b.async_op("wait_products", AsyncOpKind::multiplied, nullptr, pending, nullptr); });
}

tilert_status tilert_builder_begin_roles(tilert_builder* handle, const tilert_roles_options* options) noexcept {
  return statement(handle, [&](Builder& b) {
    tilert_roles_options taken;
    if (capi::options(b, options, taken, "tilert_roles_options")) b.begin_roles(taken);
  });
}
tilert_status tilert_builder_begin_role(tilert_builder* handle, tilert_role role) noexcept {
  return statement(handle, [&](Builder& b) { b.begin_role(role); });
}
tilert_status tilert_builder_end_role(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.end_role(); });
}
tilert_status tilert_builder_end_roles(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.end_roles(); });
}
