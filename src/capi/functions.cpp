// The builder's C functions for device functions.
#include "capi/builder_calls.h"

using namespace tilert;
using builder::Builder;
using capi::on;
using capi::statement;

tilert_function tilert_builder_device_function(tilert_builder* handle, const tilert_device_function* in) noexcept {
  return on(handle, tilert_function{}, [&](Builder& b) {
    tilert_device_function function;
    if (!in) b.fail("device function", make_error(Code::kInvalidArgument, "function is NULL"));
    return in && capi::options(b, in, function, "tilert_device_function") ? b.device_function(function) : tilert_function{};
  });
}

tilert_status tilert_builder_call_device(tilert_builder* handle, tilert_function function, const tilert_operand* operands,
                                         uint32_t count, tilert_expr* result) noexcept {
  if (result) *result = {};
  return statement(handle, [&](Builder& b) { b.call_device(function, operands, count, result); });
}
