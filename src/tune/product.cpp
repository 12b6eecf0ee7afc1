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
constexpr int kMostElements = 50;  // of a matrix, as a power of 2: more is on no device, and times stay numbers

auto fields(const Choice& c) {
  return std::tuple(c.path, c.swapped, c.tile_m, c.tile_n, c.tile_k, c.consumers, c.threads, c.stages, c.cluster, c.split_k, c.raster, c.persistent);
}

// The types of sums of these operands: those of fragments that the language takes for them.
std::vector<DType> sums(const Product& p) {
  std::vector<DType> out;
  for (const DType sum : {DType::f32, DType::f64, DType::int32, DType::int64})
    if (ir::gemm_takes(operand_type(p), sum)) out.push_back(sum);
  return out;
}

std::string advice(const std::vector<DType>& sums) {
  std::string list;
  for (const DType sum : sums) list += fmt::format("{}{}", list.empty() ? "give " : " or ", dtype_text(sum));
  return list.empty() ? "give operands that are computed with, or cast" : list;
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
  const std::vector<DType> known = sums(p);
  if (std::find(known.begin(), known.end(), sum_type(p)) == known.end())
    return make_error(Code::kInvalidArgument, "products of {} and {} are not summed in {}: {}", dtype_text(p.a), dtype_text(p.b), dtype_text(sum_type(p)), advice(known));
  for (const auto& [rows, columns, name] : {std::tuple(p.m, p.k, "A"), std::tuple(p.k, p.n, "B"), std::tuple(p.m, p.n, "C")})
    if (rows > 0 && columns > (int64_t{1} << kMostElements) / rows)
      return make_error(Code::kInvalidArgument, "{} has {} x {} elements: give matrices of at most 2^{}", name, rows, columns, kMostElements);
  const auto leads = [](int64_t given, int64_t row) { return given == 0 || (given >= row && given <= kMostExtent); };
  if (!leads(p.lda, p.trans_a ? p.m : p.k) || !leads(p.ldb, p.trans_b ? p.k : p.n) || !leads(p.ldc, p.n))
    return make_error(Code::kInvalidArgument, "a leading dimension is shorter than its row, or above 2^40: lda {}, ldb {}, ldc {}; give 0 for rows side by side", p.lda, p.ldb, p.ldc);
  for (const auto& [name, given, type] : {std::tuple("lda", p.lda, p.a), std::tuple("ldb", p.ldb, p.b), std::tuple("ldc", p.ldc, p.c)})
    if (given % dtype_group(type) != 0)
      return make_error(Code::kInvalidArgument, "{} is {}: rows of {} start on a byte: give a multiple of {}", name, given, dtype_text(type), dtype_group(type));
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
