// The micro-kernels and the loops over panels and rows that call them.
#include "codegen/llvm_microkernel.h"

#include <algorithm>

namespace tilert::codegen {
namespace {


// The types of one product, as the IR spells them.
struct Types {
  std::string element, accumulator, a, b;
  int a_bytes;  // what one broadcast loads: an f32, or a pair of i16
};

Types types_of(const MicroKernel& kernel) {
  if (kernel.floats()) {
    const std::string v = vector_type(kernel.lanes, "float");
    return {"float", v, "float", v, 4};
  }
  return {"i32", vector_type(kernel.lanes, "i32"), "i32", vector_type(2 * kernel.lanes, "i16"), 4};
}

// accumulator + a * b for one vector. i8: pairs of i16 products, summed exactly in i32.
std::string multiply_add(LlvmText& t, const CpuIsa& isa, const MicroKernel& kernel, const std::string& a,
                         const std::string& b, const std::string& accumulator) {
  const int lanes = kernel.lanes;
  if (kernel.floats()) {
    if (isa.fma)
      return t.let("call <{0} x float> @llvm.fma.v{0}f32(<{0} x float> {1}, <{0} x float> {2}, <{0} x float> {3})",
                   lanes, a, b, accumulator);
    const std::string product = t.let("fmul <{} x float> {}, {}", lanes, a, b);
    return t.let("fadd <{} x float> {}, {}", lanes, accumulator, product);
  }
  std::string sums;
  if (isa.family == CpuIsa::Family::x86) {
    const char* name = lanes == 16 ? "avx512.pmaddw.d.512" : lanes == 8 ? "avx2.pmadd.wd" : "sse2.pmadd.wd";
    sums = t.let("call <{0} x i32> @llvm.x86.{1}(<{2} x i16> {3}, <{2} x i16> {4})", lanes, name, 2 * lanes, a, b);
  } else {
    const std::string wide_a = t.let("sext <{0} x i16> {1} to <{0} x i32>", 2 * lanes, a);
    const std::string wide_b = t.let("sext <{0} x i16> {1} to <{0} x i32>", 2 * lanes, b);
    const std::string product = t.let("mul <{} x i32> {}, {}", 2 * lanes, wide_a, wide_b);
    std::vector<int> even, odd;
    for (int i = 0; i < lanes; ++i) even.push_back(2 * i), odd.push_back(2 * i + 1);
    const auto half = [&](const std::vector<int>& mask) {
      return t.let("shufflevector <{0} x i32> {1}, <{0} x i32> poison, {2}", 2 * lanes, product, shuffle_mask(mask));
    };
    const std::string low = half(even), high = half(odd);
    sums = t.let("add <{} x i32> {}, {}", lanes, low, high);
  }
  return t.let("add <{} x i32> {}, {}", lanes, accumulator, sums);
}

// One micro-kernel under construction: @tl_mk_<kind>_<rows>(a, lda, b, c, ldc, groups, accumulate, n).
class KernelWriter {
 public:
  KernelWriter(const CpuIsa& isa, const MicroKernel& kernel, int rows)
      : isa_(isa), kernel_(kernel), types_(types_of(kernel)), rows_(rows) {}

  std::string write() {
    t_.begin(fmt::format(
        "define internal void @tl_mk_{}_{}(ptr noalias readonly %a, i64 %lda, ptr noalias readonly %b, "
        "ptr noalias %c, i64 %ldc, i64 %groups, i1 %accumulate, i64 %n) noinline nounwind",
        kind_text(kernel_.kind), rows_));
    row_offsets();
    std::vector<Carried> sums = first_sums();
    const int unroll = kernel_.unroll_of(rows_);
    std::string whole = "0";
    if (unroll > 1) {
      whole = t_.let("and i64 %groups, {}", -unroll);
      emit_loop(t_, "0", whole, unroll, sums,
                [&](const std::string& k, std::vector<Carried>& inner) { steps(k, unroll, inner); });
    }
    emit_loop(t_, whole, "%groups", 1, sums,
              [&](const std::string& k, std::vector<Carried>& inner) { steps(k, 1, inner); });
    store(sums);
    t_.put("ret void");
    t_.end();
    return t_.take();
  }

 private:
  // Bytes from row 0 to row i. Rows are reached as base + {1, 2, 4, 8} * stride, which an address of x86 can hold, so
  // fourteen rows need seven registers.
  void row_offsets() {
    const int64_t a_element = kernel_.floats() ? 4 : 2;
    offsets_.resize(static_cast<size_t>(rows_));
    for (int i = 1; i < rows_; ++i) {
      offsets_[static_cast<size_t>(i)] =
          i % 2 == 0 ? t_.let("shl i64 {}, 1", offsets_[static_cast<size_t>(i / 2)])
                     : t_.let("mul i64 %lda, {}", i * a_element);
    }
  }

  // Zeros; where sums are carried on, what C holds.
  std::vector<Carried> first_sums() {
    std::vector<Carried> sums(static_cast<size_t>(rows_ * kernel_.vectors), {types_.accumulator, "zeroinitializer"});
    if (kernel_.kind != GemmKind::carried) return sums;
    const std::string box = t_.let("alloca [{} x {}], align 64", sums.size(), types_.accumulator);
    const auto place = [&](size_t i) { return t_.let("getelementptr inbounds {}, ptr {}, i64 {}", types_.accumulator, box, i); };
    for (size_t i = 0; i < sums.size(); ++i) t_.put("store {} zeroinitializer, ptr {}, align 16", types_.accumulator, place(i));
    emit_if(t_, "%accumulate", [&] {
      by_columns([&](const std::string& count) {
        for (size_t i = 0; i < sums.size(); ++i) {
          const int j = static_cast<int>(i) % kernel_.vectors;
          const std::string mask = count.empty() ? "" : lanes_below(t_, kernel_.lanes, j * kernel_.lanes, count);
          t_.put("store {} {}, ptr {}, align 16", types_.accumulator, load_c(c_at(static_cast<int>(i) / kernel_.vectors, j), mask), place(i));
        }
      });
    });
    for (size_t i = 0; i < sums.size(); ++i) sums[i].value = t_.let("load {}, ptr {}, align 16", types_.accumulator, place(i));
    return sums;
  }

  std::string c_at(int row, int vector) {
    const std::string at = t_.let("add nsw i64 {}, {}", t_.let("mul nsw i64 %ldc, {}", row), vector * kernel_.lanes);
    return t_.let("getelementptr inbounds i32, ptr %c, i64 {}", at);
  }

  // `work` for the columns that there are: their number, "" for all.
  template <class Work>
  void by_columns(Work work) {
    const std::string fits = t_.let("call i64 @llvm.smin.i64(i64 %n, i64 {})", kernel_.columns());
    const std::string count = t_.let("trunc i64 {} to i32", fits);
    if (isa_.masked) return work(count);
    const std::string full = t_.let("icmp eq i32 {}, {}", count, kernel_.columns());
    emit_if_else(t_, full, [&] { work(""); }, [&] { work(count); });
  }

  void steps(const std::string& group, int count, std::vector<Carried>& sums) {
    const std::string a = t_.let("getelementptr inbounds i32, ptr %a, i64 {}", group);
    const std::string first = t_.let("mul nsw i64 {}, {}", group, kernel_.columns());
    const std::string b = t_.let("getelementptr inbounds i32, ptr %b, i64 {}", first);
    for (int step = 0; step < count; ++step) {
      std::vector<std::string> panel;
      for (int j = 0; j < kernel_.vectors; ++j) {
        const std::string p =
            t_.let("getelementptr inbounds i32, ptr {}, i64 {}", b, step * kernel_.columns() + j * kernel_.lanes);
        panel.push_back(t_.let("load {}, ptr {}, align {}", types_.b, p, kernel_.panel_alignment()));
      }
      for (int i = 0; i < rows_; ++i) {
        const std::string x = broadcast(a, i, step);
        for (int j = 0; j < kernel_.vectors; ++j) {
          auto& sum = sums[static_cast<size_t>(i * kernel_.vectors + j)].value;
          sum = multiply_add(t_, isa_, kernel_, x, panel[static_cast<size_t>(j)], sum);
        }
      }
    }
  }

  std::string broadcast(const std::string& a, int row, int step) {
    std::string p = a;
    if (row > 0) p = t_.let("getelementptr inbounds i8, ptr {}, i64 {}", a, offsets_[static_cast<size_t>(row)]);
    if (step > 0) p = t_.let("getelementptr inbounds i8, ptr {}, i64 {}", p, step * types_.a_bytes);
    const std::string x = t_.let("load {}, ptr {}, align {}", types_.a, p, kernel_.floats() ? 4 : 2);
    const std::string all = splat(t_, kernel_.lanes, types_.a, x);
    if (kernel_.floats()) return all;
    return t_.let("bitcast <{} x i32> {} to {}", kernel_.lanes, all, types_.b);
  }

  void store(const std::vector<Carried>& sums) {
    by_columns([&](const std::string& count) { store_rows(sums, count); });
  }

  // Adds to C or overwrites it; `count`: columns there are, "" for all.
  void store_rows(const std::vector<Carried>& sums, const std::string& count) {
    if (kernel_.kind == GemmKind::carried) return store_each(sums, count, "false");
    if (!count.empty() && isa_.masked) return store_each(sums, count, "%accumulate");
    emit_if_else(t_, "%accumulate", [&] { store_each(sums, count, "true"); }, [&] { store_each(sums, count, "false"); });
  }

  void store_each(const std::vector<Carried>& sums, const std::string& count, const std::string& accumulate) {
    std::vector<std::string> masks, old_masks;
    for (int j = 0; j < kernel_.vectors && !count.empty(); ++j) {
      masks.push_back(lanes_below(t_, kernel_.lanes, j * kernel_.lanes, count));
      old_masks.push_back(accumulate[0] != '%' ? masks.back()
                                               : t_.let("select i1 {}, <{} x i1> {}, <{} x i1> zeroinitializer",
                                                        accumulate, kernel_.lanes, masks.back(), kernel_.lanes));
    }
    for (int i = 0; i < rows_; ++i) {
      const std::string row = t_.let("mul nsw i64 %ldc, {}", i);
      for (int j = 0; j < kernel_.vectors; ++j) {
        const std::string at = t_.let("add nsw i64 {}, {}", row, j * kernel_.lanes);
        const std::string p = t_.let("getelementptr inbounds i32, ptr %c, i64 {}", at);
        std::string value = sums[static_cast<size_t>(i * kernel_.vectors + j)].value;
        if (accumulate != "false") value = add(value, load_c(p, count.empty() ? "" : old_masks[static_cast<size_t>(j)]));
        store_c(value, p, count.empty() ? "" : masks[static_cast<size_t>(j)]);
      }
    }
  }

  std::string add(const std::string& a, const std::string& b) {
    return t_.let("{} {} {}, {}", kernel_.floats() ? "fadd" : "add", types_.accumulator, b, a);
  }

  std::string load_c(const std::string& p, const std::string& mask) {
    const std::string& v = types_.accumulator;
    if (mask.empty()) return t_.let("load {}, ptr {}, align 4", v, p);
    return t_.let("call {0} @llvm.masked.load.v{1}{2}.p0(ptr {3}, i32 4, <{1} x i1> {4}, {0} zeroinitializer)", v,
                  kernel_.lanes, mangled(), p, mask);
  }

  void store_c(const std::string& value, const std::string& p, const std::string& mask) {
    const std::string& v = types_.accumulator;
    if (mask.empty()) return t_.put("store {} {}, ptr {}, align 4", v, value, p);
    t_.put("call void @llvm.masked.store.v{1}{2}.p0({0} {5}, ptr {3}, i32 4, <{1} x i1> {4})", v, kernel_.lanes,
           mangled(), p, mask, value);
  }

  const char* mangled() const { return kernel_.floats() ? "f32" : "i32"; }

  const CpuIsa& isa_;
  const MicroKernel& kernel_;
  const Types types_;
  const int rows_;
  std::vector<std::string> offsets_;
  LlvmText t_;
};

// The driver @tl_gemm_<kind>: panels outside, so that one stays in the first cache while the rows pass by.
class DriverWriter {
 public:
  explicit DriverWriter(const MicroKernel& kernel) : kernel_(kernel) {}

  std::string write() {
    t_.begin(fmt::format(
        "define internal void @tl_gemm_{}(ptr noalias readonly %a, i64 %lda, ptr noalias readonly %b, "
        "i64 %panel_stride, ptr noalias %c, i64 %ldc, i64 %m, i64 %n, i64 %k, i1 %accumulate) noinline nounwind",
        kind_text(kernel_.kind)));
    const std::string up = t_.let("add nsw i64 %n, {}", kernel_.columns() - 1);
    const std::string panels = t_.let("sdiv i64 {}, {}", up, kernel_.columns());
    std::string groups = "%k";
    if (kernel_.group > 1) groups = t_.let("sdiv i64 {}, {}", t_.let("add nsw i64 %k, {}", kernel_.group - 1), kernel_.group);
    whole_ = whole_rows();
    rest_ = t_.let("sub nsw i64 %m, {}", whole_);
    emit_loop(t_, "0", panels, 1, [&](const std::string& panel) { one_panel(panel, groups); });
    t_.put("ret void");
    t_.end();
    return t_.take();
  }

 private:
  // Rows that full kernels take: so many that the rest, if there is one, is more than one kernel's rows and can be
  // halved; a rest of one or two rows would run at a fraction of the rate.
  std::string whole_rows() {
    const std::string before = t_.let("sub nsw i64 %m, {}", kernel_.rows);
    const std::string most = t_.let("sdiv i64 {}, {}", before, kernel_.rows);
    const std::string some = t_.let("call i64 @llvm.smax.i64(i64 {}, i64 0)", most);
    const std::string balanced = t_.let("mul nsw i64 {}, {}", some, kernel_.rows);
    const std::string exact = t_.let("icmp eq i64 {}, 0", t_.let("srem i64 %m, {}", kernel_.rows));
    return t_.let("select i1 {}, i64 %m, i64 {}", exact, balanced);
  }

  void one_panel(const std::string& panel, const std::string& groups) {
    const std::string skip = t_.let("mul nsw i64 {}, %panel_stride", panel);
    const std::string element = kernel_.panel_element_bytes() == 4 ? "i32" : "i16";
    const std::string b = t_.let("getelementptr inbounds {}, ptr %b, i64 {}", element, skip);
    const std::string column = t_.let("mul nsw i64 {}, {}", panel, kernel_.columns());
    const std::string c = t_.let("getelementptr inbounds i32, ptr %c, i64 {}", column);
    const std::string n = t_.let("sub nsw i64 %n, {}", column);
    const auto call = [&](int rows, const std::string& row) {
      const std::string a_row = t_.let("mul nsw i64 {}, %lda", row), c_row = t_.let("mul nsw i64 {}, %ldc", row);
      const std::string a = t_.let("getelementptr inbounds {}, ptr %a, i64 {}", element, a_row);
      const std::string to = t_.let("getelementptr inbounds i32, ptr {}, i64 {}", c, c_row);
      t_.put("call void @tl_mk_{}_{}(ptr {}, i64 %lda, ptr {}, ptr {}, i64 %ldc, i64 {}, i1 %accumulate, i64 {})",
             kind_text(kernel_.kind), rows, a, b, to, groups, n);
    };
    emit_loop(t_, "0", whole_, kernel_.rows, [&](const std::string& row) { call(kernel_.rows, row); });
    rest(call);
  }

  template <class Call>
  void rest(Call call) {
    const std::string done = t_.fresh_label("rows_done");
    std::string cases;
    std::vector<std::string> labels;
    for (int r = 1; r < 2 * kernel_.rows; ++r) {
      labels.push_back(t_.fresh_label("rows"));
      cases += fmt::format(" i64 {}, label %{}", r, labels.back());
    }
    t_.put("switch i64 {}, label %{} [{} ]", rest_, done, cases);
    for (int r = 1; r < 2 * kernel_.rows; ++r) {
      t_.label(labels[static_cast<size_t>(r - 1)]);
      int64_t at = 0;
      for (int part : split_rows(kernel_, r)) {
        call(part, t_.let("add nsw i64 {}, {}", whole_, at));
        at += part;
      }
      t_.put("br label %{}", done);
    }
    t_.label(done);
  }

  const MicroKernel& kernel_;
  std::string whole_, rest_;
  LlvmText t_;
};

}  // namespace

MicroKernel micro_kernel(const CpuIsa& isa, GemmKind kind) {
  MicroKernel kernel;
  kernel.kind = kind;
  kernel.lanes = isa.lanes;
  kernel.group = kind == GemmKind::i8 ? 2 : 1;
  if (isa.lanes == 16 && isa.registers >= 32) {
    kernel.rows = 14, kernel.vectors = 2, kernel.row_counts = {1, 2, 3, 4, 6, 8, 10, 12, 14};
  } else if (isa.lanes == 4 && isa.registers >= 32) {
    kernel.rows = 8, kernel.vectors = 3, kernel.row_counts = {1, 2, 3, 4, 6, 8};
  } else {
    kernel.rows = 6, kernel.vectors = 2, kernel.row_counts = {1, 2, 3, 4, 5, 6};
  }
  return kernel;
}

// A kernel's cost is its rows, and at least four: fewer leave the multipliers waiting for each other's sums.
std::vector<int> split_rows(const MicroKernel& kernel, int rows) {
  std::vector<double> best(static_cast<size_t>(rows) + 1, 0);
  std::vector<int> choice(static_cast<size_t>(rows) + 1, 0);
  for (int r = 1; r <= rows; ++r) {
    best[static_cast<size_t>(r)] = 1e9;
    for (int part : kernel.row_counts) {
      if (part > r) break;
      const double cost = std::max(part, 4) + 0.5 + best[static_cast<size_t>(r - part)];
      if (cost <= best[static_cast<size_t>(r)]) best[static_cast<size_t>(r)] = cost, choice[static_cast<size_t>(r)] = part;
    }
  }
  std::vector<int> parts;
  for (int left = rows; left > 0; left -= parts.back()) parts.push_back(choice[static_cast<size_t>(left)]);
  std::sort(parts.rbegin(), parts.rend());
  return parts;
}

const char* kind_text(GemmKind kind) {
  switch (kind) {
    case GemmKind::f32: return "f32";
    case GemmKind::carried: return "carried";
    case GemmKind::i8: return "i8";
  }
  return "?";
}

std::string emit_gemm(const CpuIsa& isa, GemmKind kind) {
  const MicroKernel kernel = micro_kernel(isa, kind);
  std::string text;
  for (int rows : kernel.row_counts) text += KernelWriter(isa, kernel, rows).write();
  return text + DriverWriter(kernel).write();
}

}  // namespace tilert::codegen
