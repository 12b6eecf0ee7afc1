// The product for few rows: B stays in place, k is outermost in steps of eight, and the rows of C pass through registers
// once a step. Bound by reading B, it needs no packing and no panel.
#include "codegen/llvm_microkernel.h"

namespace tilert::codegen {
namespace {

constexpr int kStep = 8;
constexpr int kRowCounts[] = {4, 2, 1};

std::string kernel_name(int rows, int step) { return fmt::format("tl_rk_f32_{}_{}", rows, step); }

// C[rows x n] += A[rows x step] * B[step x n].
class RowsKernelWriter {
 public:
  RowsKernelWriter(const CpuIsa& isa, int rows, int step) : isa_(isa), rows_(rows), step_(step) {}

  std::string write() {
    t_.begin(fmt::format("define internal void @{}(ptr noalias readonly %a, i64 %lda, ptr noalias readonly %b, i64 %ldb, "
                         "ptr noalias %c, i64 %ldc, i64 %n) noinline nounwind", kernel_name(rows_, step_)));
    load_a();
    const std::string whole = t_.let("and i64 %n, {}", -isa_.lanes);
    emit_loop(t_, "0", whole, isa_.lanes, [&](const std::string& column) { columns(column, ""); });
    emit_loop(t_, whole, "%n", isa_.lanes, [&](const std::string& column) {
      const std::string left = t_.let("sub nsw i64 %n, {}", column);
      columns(column, lanes_below(t_, isa_.lanes, 0, t_.let("trunc i64 {} to i32", left)));
    });
    t_.put("ret void");
    t_.end();
    return t_.take();
  }

 private:
  void load_a() {
    for (int i = 0; i < rows_; ++i) {
      const std::string row = t_.let("getelementptr inbounds float, ptr %a, i64 {}", t_.let("mul nsw i64 %lda, {}", i));
      for (int s = 0; s < step_; ++s) {
        const std::string p = t_.let("getelementptr inbounds float, ptr {}, i64 {}", row, s);
        a_.push_back(splat(t_, isa_.lanes, "float", t_.let("load float, ptr {}, align 4", p)));
      }
    }
  }

  std::string load(const std::string& p, const std::string& mask) {
    const std::string v = vector_type(isa_.lanes, "float");
    if (mask.empty()) return t_.let("load {}, ptr {}, align 4", v, p);
    return t_.let("call {0} @llvm.masked.load.v{1}f32.p0(ptr {2}, i32 4, <{1} x i1> {3}, {0} zeroinitializer)", v,
                  isa_.lanes, p, mask);
  }

  void columns(const std::string& column, const std::string& mask) {
    const std::string v = vector_type(isa_.lanes, "float");
    std::vector<std::string> places, sums;
    for (int i = 0; i < rows_; ++i) {
      const std::string row = t_.let("getelementptr inbounds float, ptr %c, i64 {}", t_.let("mul nsw i64 %ldc, {}", i));
      places.push_back(t_.let("getelementptr inbounds float, ptr {}, i64 {}", row, column));
      sums.push_back(load(places.back(), mask));
    }
    for (int s = 0; s < step_; ++s) {
      const std::string row = t_.let("getelementptr inbounds float, ptr %b, i64 {}", t_.let("mul nsw i64 %ldb, {}", s));
      const std::string b = load(t_.let("getelementptr inbounds float, ptr {}, i64 {}", row, column), mask);
      for (int i = 0; i < rows_; ++i) {
        auto& sum = sums[static_cast<size_t>(i)];
        const std::string& a = a_[static_cast<size_t>(i * step_ + s)];
        if (isa_.fma) {
          sum = t_.let("call {0} @llvm.fma.v{1}f32({0} {2}, {0} {3}, {0} {4})", v, isa_.lanes, a, b, sum);
        } else {
          sum = t_.let("fadd {} {}, {}", v, sum, t_.let("fmul {} {}, {}", v, a, b));
        }
      }
    }
    for (int i = 0; i < rows_; ++i) {
      const auto& sum = sums[static_cast<size_t>(i)];
      const auto& place = places[static_cast<size_t>(i)];
      if (mask.empty()) {
        t_.put("store {} {}, ptr {}, align 4", v, sum, place);
      } else {
        t_.put("call void @llvm.masked.store.v{1}f32.p0({0} {2}, ptr {3}, i32 4, <{1} x i1> {4})", v, isa_.lanes, sum,
               place, mask);
      }
    }
  }

  const CpuIsa& isa_;
  const int rows_, step_;
  std::vector<std::string> a_;
  LlvmText t_;
};

// All rows for `step` values of k from %k.
void all_rows(LlvmText& t, const std::string& k, int step) {
  const std::string a = t.let("getelementptr inbounds float, ptr %a, i64 {}", k);
  const std::string b = t.let("getelementptr inbounds float, ptr %b, i64 {}", t.let("mul nsw i64 {}, %ldb", k));
  std::string from = "0";
  for (int rows : kRowCounts) {
    const std::string to = rows == 1 ? "%m" : t.let("and i64 %m, {}", -rows);
    emit_loop(t, from, to, rows, [&](const std::string& row) {
      const std::string a_row = t.let("getelementptr inbounds float, ptr {}, i64 {}", a, t.let("mul nsw i64 {}, %lda", row));
      const std::string c_row = t.let("getelementptr inbounds float, ptr %c, i64 {}", t.let("mul nsw i64 {}, %ldc", row));
      t.put("call void @{}(ptr {}, i64 %lda, ptr {}, i64 %ldb, ptr {}, i64 %ldc, i64 %n)", kernel_name(rows, step),
            a_row, b, c_row);
    });
    from = to;
  }
}

}  // namespace

std::string emit_rows_gemm(const CpuIsa& isa) {
  std::string text;
  for (int rows : kRowCounts) {
    text += RowsKernelWriter(isa, rows, kStep).write();
    text += RowsKernelWriter(isa, rows, 1).write();
  }
  LlvmText t;
  t.begin(
      "define internal void @tl_rows_f32(ptr noalias readonly %a, i64 %lda, ptr noalias readonly %b, i64 %ldb, "
      "ptr noalias %c, i64 %ldc, i64 %m, i64 %n, i64 %k, i1 %accumulate) noinline nounwind");
  emit_if(t, t.let("xor i1 %accumulate, true"), [&] {
    const std::string bytes = t.let("mul nsw i64 %n, 4");
    emit_loop(t, "0", "%m", 1, [&](const std::string& row) {
      const std::string p = t.let("getelementptr inbounds float, ptr %c, i64 {}", t.let("mul nsw i64 {}, %ldc", row));
      t.put("call void @llvm.memset.p0.i64(ptr {}, i8 0, i64 {}, i1 false)", p, bytes);
    });
  });
  const std::string whole = t.let("and i64 %k, {}", -kStep);
  emit_loop(t, "0", whole, kStep, [&](const std::string& k) { all_rows(t, k, kStep); });
  emit_loop(t, whole, "%k", 1, [&](const std::string& k) { all_rows(t, k, 1); });
  t.put("ret void");
  t.end();
  return text + t.take();
}

}  // namespace tilert::codegen
