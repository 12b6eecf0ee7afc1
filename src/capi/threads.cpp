// The builder's C functions for loops over threads.
#include "capi/builder_calls.h"

using namespace tilert;
using builder::Builder;
using capi::on;
using capi::statement;

tilert_status tilert_builder_begin_threads(tilert_builder* handle, tilert_expr* thread) noexcept {
  return statement(handle, [&](Builder& b) { b.begin_threads(thread); });
}
tilert_status tilert_builder_end_threads(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.end_threads(); });
}
tilert_expr tilert_builder_thread_id(tilert_builder* handle) noexcept {
  return on(handle, tilert_expr{}, [](Builder& b) { return b.thread_id(); });
}
tilert_expr tilert_builder_shuffle(tilert_builder* handle, tilert_shuffle kind, tilert_expr value, tilert_expr lane,
                                   uint32_t width) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.shuffle(kind, value, lane, width); });
}
tilert_expr tilert_builder_vote(tilert_builder* handle, tilert_vote kind, tilert_expr predicate) noexcept {
  return on(handle, tilert_expr{}, [&](Builder& b) { return b.vote(kind, predicate); });
}
tilert_status tilert_builder_sync_threads(tilert_builder* handle, uint32_t barrier, uint32_t threads) noexcept {
  return statement(handle, [&](Builder& b) { b.sync_threads(barrier, threads); });
}
tilert_status tilert_builder_fence(tilert_builder* handle, tilert_order_scope scope) noexcept {
  return statement(handle, [&](Builder& b) { b.fence(scope); });
}
tilert_status tilert_builder_copy_async(tilert_builder* handle, const tilert_region* source, const tilert_region* destination,
                                        uint32_t count) noexcept {
  return statement(handle, [&](Builder& b) { b.copy_async(source, destination, count); });
}
tilert_status tilert_builder_commit_copies(tilert_builder* handle) noexcept {
  return statement(handle, [](Builder& b) { b.commit_copies(); });
}
tilert_status tilert_builder_wait_copies(tilert_builder* handle, uint32_t pending) noexcept {
  return statement(handle, [&](Builder& b) { b.wait_copies(pending); });
}
