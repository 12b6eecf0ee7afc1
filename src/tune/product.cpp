// The recommendation: candidates, priced and put in order; and the facts of a product that their rules ask for.
#include "tune/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "ir/semantics.h"
#include "support/refusal.h"

namespace tilert::tune {
namespace {

constexpr int64_t kMostExtent = int64_t{1} << 40;

auto fields(const Choice& c) {
  return std::tuple(c.path, c.swapped, c.tile_m, c.tile_n, c.tile_k, c.consumers, c.threads, c.stages, c.cluster, c.split_k, c.raster, c.persistent);
}

Status check(const Product& p) {
  for (const auto& [name, value] : {std::pair("m", p.m), std::pair("n", p.n), std::pair("k", p.k)})
    if (value < 0 || value > kMostExtent) return make_error(Code::kInvalidArgument, "{} is {}: give 0 to 2^40", name, value);
  for (const auto& [name, type] : {std::pair("a", p.a), std::pair("b", p.b), std::pair("c", p.c)})
    if (!dtype_is_known(type) || type == DType::index || type == DType::boolean)
      return make_error(Code::kInvalidArgument, "the dtype of {} is {}: give that of a tensor of numbers", name, static_cast<int>(type));
  if (p.sum != DType::none && !dtype_is_known(p.sum))
    return make_error(Code::kInvalidArgument, "the dtype of the sum is {}: give that of a number, or 0", static_cast<int>(p.sum));
  if (p.tf32 && (p.a != DType::f32 || p.b != DType::f32))
    return make_error(Code::kInvalidArgument, "tf32 is a mode of f32 operands, and these are {} and {}", dtype_text(p.a), dtype_text(p.b));
  if (!ir::gemm_takes(operand_type(p), sum_type(p)))
    return make_error(Code::kInvalidArgument, "products of {} and {} are not summed in {}", dtype_text(p.a), dtype_text(p.b), dtype_text(sum_type(p)));
  const auto leads = [](int64_t given, int64_t row) { return given == 0 || given >= row; };
  if (!leads(p.lda, p.trans_a ? p.m : p.k) || !leads(p.ldb, p.trans_b ? p.k : p.n) || !leads(p.ldc, p.n))
    return make_error(Code::kInvalidArgument, "a leading dimension is shorter than its row: lda {}, ldb {}, ldc {}", p.lda, p.ldb, p.ldc);
  if (p.epilogue_bytes < 0) return make_error(Code::kInvalidArgument, "epilogue_bytes is {}", p.epilogue_bytes);
  return {};
}

}  // namespace

bool Choice::same_program(const Choice& other) const { return fields(*this) == fields(other); }

Result<std::vector<Choice>> recommend(const Product& product, const Target& target, const DeviceClass& device) {
  TILERT_TRY(check(product));
  if (target.is_cpu())
    return refusal(fmt::format("no cost model for {}", target.text), "products on CPUs: give the tile yourself; 64 x 64 x 64 is usual");
  std::vector<Choice> all = candidates(product, target, device);
  for (Choice& c : all) predict(product, target, device, c);
  std::sort(all.begin(), all.end(), [](const Choice& x, const Choice& y) {
    return std::tuple(x.nanoseconds, fields(x)) < std::tuple(y.nanoseconds, fields(y));
  });
  return all;
}

DType operand_type(const Product& p) { return p.tf32 ? DType::tf32 : ir::gemm_operand_dtype(p.a, p.b); }

DType sum_type(const Product& p) {
  if (p.sum != DType::none) return p.sum;
  const DType operand = operand_type(p);
  return operand == DType::f64 ? DType::f64 : dtype_is_float(operand) ? DType::f32 : DType::int32;
}

bool keeps_order(const Product& p) { return p.fixed_order && dtype_is_float(sum_type(p)); }

bool a_k_major(const Product& p) { return !p.trans_a; }
bool b_k_major(const Product& p) { return p.trans_b; }

namespace {

int64_t row_start(int64_t given, int64_t row, DType type) {
  const int64_t bits = (given ? given : row) * dtype_bits(type);
  int64_t bytes = 128;
  while (bytes > 1 && bits % (8 * bytes) != 0) bytes /= 2;
  return bytes;
}

}  // namespace

int64_t a_row_start(const Product& p) { return row_start(p.lda, p.trans_a ? p.m : p.k, p.a); }
int64_t b_row_start(const Product& p) { return row_start(p.ldb, p.trans_b ? p.k : p.n, p.b); }
bool rows_on_16_bytes(const Product& p) { return a_row_start(p) >= 16 && b_row_start(p) >= 16; }

const char* bound_name(Bound bound) {
  switch (bound) {
    case Bound::tensor: return "tensor";
    case Bound::shared: return "shared memory";
    case Bound::feed: return "feed";
    case Bound::l2: return "L2";
    case Bound::memory: return "memory";
    case Bound::latency: return "latency";
  }
  return "?";
}

}  // namespace tilert::tune
