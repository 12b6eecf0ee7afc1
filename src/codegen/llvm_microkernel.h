// Register-blocked products as LLVM IR text: micro-kernels, the loop over a tile that calls them, and the packing that
// feeds them. The text needs no declarations and no metadata; functions are internal, so that what a module does not
// call disappears. Not here: which tile goes to which thread, where scratch lies (the CPU lowering).
//
// Layouts. Element counts, not bytes, in every stride.
//   A rows    [M][lda], row-major. f32 in place; i8 as i16, packed by tl_pack_a_i8 (K padded to even with a zero).
//   B panels  [ceil(N / columns)][K / group][columns][group], zero padded in N (and in K for a group of 2); panel p
//             starts at b + p * panel_stride. Aligned to the vector width. f32: group 1; i8: pairs of i16, group 2.
//   C rows    [M][ldc], row-major, f32 or i32.
//
// Functions (i64 unless said otherwise; pointers to A, B and C must not overlap):
//   void @tl_gemm_f32(ptr a, lda, ptr b, panel_stride, ptr c, ldc, m, n, k, i1 accumulate)
//   void @tl_gemm_carried(...)  as tl_gemm_f32; with accumulate each sum goes on from what C holds, as tl_rows_f32's do, instead of
//       being added to it: the bits do not depend on how K is cut into calls either.
//   void @tl_gemm_i8 (ptr a, lda, ptr b, panel_stride, ptr c, ldc, m, n, k, i1 accumulate)
//       C[m x n] = or += A[m x k] * B. Any m, n, k >= 0; nothing outside C[m x n] is touched; k = 0 without accumulate
//       writes zeros. Strides: lda in elements of A's packed type (f32 or i16), panel_stride in elements of B's panel
//       type (f32 or i16). Sums run over k in ascending order in f32 (i32: exact, wrapping), so the bits of an element
//       do not depend on m, n or the row count of the micro-kernel that makes it.
//   void @tl_rows_f32(ptr a, lda, ptr b, ldb, ptr c, ldc, m, n, k, i1 accumulate)
//       The same product for few rows (m up to about 8) with B in place, row-major [K][ldb], f32: no packing, k
//       outermost in steps of 8. Any m is right, small m is fast.
//   Packing, for a source of f32, f16, bf16 (to f32) or i8 (to i16); T is the suffix of the source: f32 f16 bf16 i8.
//   void @tl_pack_b_T (ptr src, ld, k, n, ptr dst, panel_stride)      src[k][ld] row-major
//   void @tl_pack_bt_T(ptr src, ld, k, n, ptr dst, panel_stride)      src[n][ld]: the transposed operand
//   void @tl_pack_a_T (ptr src, ld, m, k, ptr dst, dst_ld)            src[m][ld] row-major
//   void @tl_pack_at_T(ptr src, ld, m, k, ptr dst, dst_ld)            src[k][ld]: the transposed operand
//       Reads exactly the m x k (k x n) elements named. dst of pack_a: rows of dst_ld elements, at least k rounded up
//       to the group.
#pragma once

#include "codegen/llvm_text.h"
#include "support/dtype.h"

#include <string>
#include <vector>

namespace tilert::codegen {

enum class GemmKind : uint8_t { f32, carried, i8 };  // f16 and bf16 are converted to f32 while they are packed

// How a kind of product is blocked on an ISA.
struct MicroKernel {
  GemmKind kind = GemmKind::f32;
  int rows = 0;       // the most rows of C in registers
  int vectors = 0;    // vectors of C per row
  int lanes = 0;      // elements of C per vector
  int group = 1;      // k elements that lie together in a panel
  int unroll = 4;     // groups per round of the inner loop, where registers are left to load ahead
  std::vector<int> row_counts;  // the kernels that exist, ascending; the last is `rows`

  int columns() const { return vectors * lanes; }
  // A kernel that fills the registers is written without unrolling: loads of later steps, moved ahead by the compiler,
  // would push sums out to memory [14 x 32 on AVX-512: 90 GFLOP/s unrolled by four, 155 plain].
  int unroll_of(int kernel_rows) const { return lanes == 16 && kernel_rows > 4 ? 1 : unroll; }
  bool floats() const { return kind != GemmKind::i8; }
  int panel_element_bytes() const { return floats() ? 4 : 2; }
  int64_t panel_elements(int64_t k) const { return (k + group - 1) / group * group * columns(); }
  int panel_alignment() const { return lanes * 4; }
};
MicroKernel micro_kernel(const CpuIsa& isa, GemmKind kind);
const char* kind_text(GemmKind kind);  // as the functions' names have it

// tl_gemm_<kind> with the micro-kernels @tl_mk_<kind>_<rows> that it calls.
std::string emit_gemm(const CpuIsa& isa, GemmKind kind);
std::string emit_report();                      // tilert_report (llvm_report.cpp)
std::string emit_rows_gemm(const CpuIsa& isa);  // tl_rows_f32

// One packing function each. `source`: f32, f16, bf16 (for GemmKind::f32) or int8 (for GemmKind::i8).
enum class Pack : uint8_t { b, b_transposed, a, a_transposed };
std::string emit_pack(const CpuIsa& isa, DType source, Pack pack);
std::string pack_name(DType source, Pack pack);  // "tl_pack_bt_f16"

// How `rows` rows of a tile are shared out among the kernels of `row_counts`: cheapest first fit, largest first.
std::vector<int> split_rows(const MicroKernel& kernel, int rows);

}  // namespace tilert::codegen
