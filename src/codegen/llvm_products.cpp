// Block products: rounds of packing and of the register-blocked kernels (codegen/llvm_microkernel.h).
#include <algorithm>

#include "codegen/llvm_kernel.h"

namespace tilert::codegen {

using namespace ir;
using namespace passes;

namespace {

GemmKind kind_of(const CpuGemm& n) { return n.dtype == DType::int8 ? GemmKind::i8 : n.fixed_order ? GemmKind::carried : GemmKind::f32; }
int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }
// Rows a multiple of a page apart fall into the same cache sets.
constexpr int64_t kAliasingStride = 1024;
// Up to so many rows B is read where it lies: packing it would cost more than it saves.
constexpr int kFewRows = 8;

// The row length of packed A: never a multiple of a page.
int64_t packed_row(int64_t depth) { return round_up(depth, 2) + 16; }

}  // namespace

void LlvmKernel::measure_products(const CpuBlock& body) {
  for (const CpuStmt& s : body) {
    if (const auto* n = std::get_if<CpuFor>(&s.node)) measure_products(n->body);
    if (const auto* n = std::get_if<CpuWhile>(&s.node)) {
      measure_products(n->head);
      measure_products(n->body);
    }
    if (const auto* n = std::get_if<CpuIf>(&s.node)) {
      measure_products(n->then_body);
      measure_products(n->else_body);
    }
    const auto* n = std::get_if<CpuGemm>(&s.node);
    if (!n) continue;
    const MicroKernel kernel = micro_kernel(isa_, kind_of(*n));
    const int64_t panels = (n->most_n + kernel.columns() - 1) / kernel.columns();
    const int64_t element = kernel.panel_element_bytes();
    panel_bytes_ = std::max(panel_bytes_, round_up(panels * kernel.panel_elements(n->most_k) * element, 4096));
    row_bytes_ = std::max(row_bytes_, round_up(n->most_m * packed_row(n->most_k) * element, 4096));
  }
}

// The first element of the matrix at depth k: `k_is_row` where going deeper means going down the stored rows.
std::string LlvmKernel::matrix_at(const CpuMatrix& m, const std::string& k, bool k_is_row) {
  std::string at = scalar(m.offset);
  if (k != "0") {
    const std::string moved = k_is_row ? text_.let("mul nsw i64 {}, {}", k, scalar(m.stride)) : k;
    at = text_.let("add nsw i64 {}, {}", at, moved);
  }
  return pointer(m.buffer, at, start(m.buffer, m.address));
}

void LlvmKernel::product(const CpuGemm& n) {
  const MicroKernel kernel = micro_kernel(isa_, kind_of(n));
  callees_.products.insert(kernel.kind);
  const std::string counts[3] = {scalar(n.m), scalar(n.n), scalar(n.k)};
  const std::string accumulate = scalar(n.accumulate);
  const auto packed = [&] { product_rounds(n, kernel, counts, accumulate); };
  if (n.dtype != DType::f32 || n.a.transposed || n.b.transposed) return packed();
  const auto few = [&] {
    Scope scope(*this);
    callees_.rows = true;
    text_.put("call void @tl_rows_f32(ptr {}, i64 {}, ptr {}, i64 {}, ptr {}, i64 {}, i64 {}, i64 {}, i64 {}, i1 {})",
              matrix_at(n.a, "0", false), scalar(n.a.stride), matrix_at(n.b, "0", true), scalar(n.b.stride),
              matrix_at(n.c, "0", false), scalar(n.c.stride), counts[0], counts[1], counts[2], accumulate);
  };
  if (n.m->is_constant()) return n.m->as_int() <= kFewRows ? few() : packed();
  const std::string small = text_.let("icmp sle i64 {}, {}", counts[0], kFewRows);
  emit_if_else(text_, small, few, packed);
}

void LlvmKernel::product_rounds(const CpuGemm& n, const MicroKernel& kernel, const std::string counts[3],
                                const std::string& accumulate) {
  Scope whole(*this);
  const Pack pack_b = n.b.transposed ? Pack::b_transposed : Pack::b;
  callees_.packs.insert({n.dtype, pack_b});
  const int64_t panel_stride = kernel.panel_elements(n.most_k);
  const auto round = [&](const std::string& at) {
    Scope scope(*this);
    std::string depth = counts[2], again = accumulate;
    if (at != "0") {
      const std::string left = text_.let("sub nsw i64 {}, {}", counts[2], at);
      depth = text_.let("call i64 @llvm.smin.i64(i64 {}, i64 {})", left, n.most_k);
      const std::string later = text_.let("icmp ne i64 {}, 0", at);
      again = text_.let("or i1 {}, {}", later, accumulate);
    }
    text_.put("call void @{}(ptr {}, i64 {}, i64 {}, i64 {}, ptr %panels, i64 {})", pack_name(n.dtype, pack_b),
              matrix_at(n.b, at, !n.b.transposed), scalar(n.b.stride), depth, counts[1], panel_stride);
    const auto [rows, row_stride] = product_rows(n, counts, depth, at);
    text_.put("call void @tl_gemm_{}(ptr {}, i64 {}, ptr %panels, i64 {}, ptr {}, i64 {}, i64 {}, i64 {}, i64 {}, i1 {})",
              kind_text(kernel.kind), rows, row_stride, panel_stride, matrix_at(n.c, "0", false),
              scalar(n.c.stride), counts[0], counts[1], depth, again);
  };
  if (n.k->is_constant() && n.k->as_int() <= n.most_k) return round("0");
  emit_loop(text_, "0", counts[2], n.most_k, round);
}

// Where the rows of A are and how far apart: in place for f32 rows whose distance suits the cache, else packed.
std::pair<std::string, std::string> LlvmKernel::product_rows(const CpuGemm& n, const std::string counts[3],
                                                             const std::string& depth, const std::string& at) {
  const Pack pack = n.a.transposed ? Pack::a_transposed : Pack::a;
  const std::string stride = scalar(n.a.stride), source = matrix_at(n.a, at, n.a.transposed);
  const std::string packed_stride = std::to_string(packed_row(n.most_k));
  const auto packed = [&] {
    callees_.packs.insert({n.dtype, pack});
    text_.put("call void @{}(ptr {}, i64 {}, i64 {}, i64 {}, ptr %rows, i64 {})", pack_name(n.dtype, pack), source, stride,
              counts[0], depth, packed_stride);
  };
  if (n.dtype != DType::f32 || n.a.transposed) {
    packed();
    return {"%rows", packed_stride};
  }
  if (n.a.stride->is_constant() && n.a.stride->as_int() % kAliasingStride != 0) return {source, stride};
  const std::string low = text_.let("and i64 {}, {}", stride, kAliasingStride - 1);
  const std::string aliases = text_.let("icmp eq i64 {}, 0", low);
  emit_if(text_, aliases, packed);
  return {text_.let("select i1 {}, ptr %rows, ptr {}", aliases, source),
          text_.let("select i1 {}, i64 {}, i64 {}", aliases, packed_stride, stride)};
}

}  // namespace tilert::codegen
