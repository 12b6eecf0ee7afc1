// Recommendations: the cost model's question and its answers in their C form.
#include <algorithm>

#include "capi/guard.h"
#include "tune/product.h"

using namespace tilert;

namespace {

constexpr uint32_t kProductFlags = TILERT_PRODUCT_TRANS_A | TILERT_PRODUCT_TRANS_B | TILERT_PRODUCT_TF32 | TILERT_PRODUCT_FIXED_ORDER;

Result<tune::Product> product_of(const tilert_product& in) {
  if (in.flags & ~kProductFlags) return make_error(Code::kInvalidArgument, "unknown flags {:#x}: give those of TILERT_PRODUCT_*", in.flags & ~kProductFlags);
  const auto dtype = [](tilert_dtype d) { return d < 0 || d > 255 ? static_cast<DType>(255) : static_cast<DType>(d); };
  tune::Product out;
  out.m = in.m, out.n = in.n, out.k = in.k;
  out.a = dtype(in.a), out.b = dtype(in.b), out.c = dtype(in.c), out.sum = dtype(in.accumulator);
  out.trans_a = in.flags & TILERT_PRODUCT_TRANS_A;
  out.trans_b = in.flags & TILERT_PRODUCT_TRANS_B;
  out.tf32 = in.flags & TILERT_PRODUCT_TF32;
  out.fixed_order = in.flags & TILERT_PRODUCT_FIXED_ORDER;
  out.lda = in.lda, out.ldb = in.ldb, out.ldc = in.ldc;
  if (in.epilogue_bytes > uint64_t{1} << 60) return make_error(Code::kInvalidArgument, "epilogue_bytes is {}: give 0 to 2^60", in.epilogue_bytes);
  out.epilogue_bytes = static_cast<int64_t>(in.epilogue_bytes);
  return out;
}

Result<DeviceClass> class_of(const tilert_product& in, const Target& target) {
  if (!in.device_class) return target.device_class;
  tilert_device_class c;
  TILERT_TRY(capi::take(in.device_class, c, "tilert_device_class"));
  if (c.multiprocessors == 0 || c.shared_bytes == 0 || c.shared_bytes > uint64_t{1} << 40 || c.l2_bytes > uint64_t{1} << 40)
    return make_error(Code::kInvalidArgument, "a device class of {} multiprocessors, {} bytes of shared memory and {} of L2: give one or more of the first two and at most 2^40 bytes, as tilert_device_info has them",
                      c.multiprocessors, c.shared_bytes, c.l2_bytes);
  return DeviceClass{c.multiprocessors, static_cast<int64_t>(c.shared_bytes), static_cast<int64_t>(c.l2_bytes)};
}

tilert_product_choice choice_of(const tune::Product& product, const tune::Choice& c) {
  tilert_product_choice out{};
  out.path = static_cast<tilert_product_path>(c.path);
  out.tile_m = static_cast<uint32_t>(c.tile_m), out.tile_n = static_cast<uint32_t>(c.tile_n), out.tile_k = static_cast<uint32_t>(c.tile_k);
  out.consumers = static_cast<uint32_t>(c.consumers);
  out.threads = static_cast<uint32_t>(c.threads);
  out.stages = static_cast<uint32_t>(c.stages);
  out.cluster = static_cast<uint32_t>(c.cluster);
  out.split_k = static_cast<uint32_t>(c.split_k);
  out.raster = static_cast<uint32_t>(c.raster);
  out.flags = (c.swapped ? uint32_t{TILERT_CHOICE_SWAPPED} : 0) | (c.persistent ? uint32_t{TILERT_CHOICE_PERSISTENT} : 0);
  out.bound = static_cast<tilert_bound>(c.bound);
  out.shared_bytes = static_cast<uint32_t>(tune::shared_bytes(product, c));
  out.predicted = static_cast<uint64_t>(std::min(c.nanoseconds, 0x1p63));
  return out;
}

}  // namespace

tilert_status tilert_recommend_product(const tilert_product* in, tilert_product_choice* choices, uint32_t* count,
                                       tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    if (!in || !count) return make_error(Code::kInvalidArgument, "{} is NULL", in ? "count" : "product");
    tilert_product p;
    TILERT_TRY(capi::take(in, p, "tilert_product"));
    TILERT_ASSIGN(const tune::Product product, product_of(p));
    TILERT_ASSIGN(const Target target, parse_target(p.target ? p.target : "sm_90a"));
    TILERT_ASSIGN(const DeviceClass device, class_of(p, target));
    TILERT_ASSIGN(const std::vector<tune::Choice> all, tune::recommend(product, target, device));
    const auto known = static_cast<uint32_t>(all.size());
    if (!choices) {
      *count = known;
      return {};
    }
    const uint32_t written = std::min(*count, known), stride = written ? choices->struct_size : 0;
    if (stride % alignof(tilert_product_choice) != 0)
      return make_error(Code::kInvalidArgument, "tilert_product_choice.struct_size is {}: set it to sizeof(tilert_product_choice)", stride);
    for (uint32_t i = 0; i < written; ++i) {
      auto* const at = reinterpret_cast<tilert_product_choice*>(reinterpret_cast<char*>(choices) + size_t{i} * stride);
      at->struct_size = stride;
      TILERT_TRY(capi::put(at, choice_of(product, all[i]), "tilert_product_choice"));
    }
    *count = written;
    return {};
  });
}
