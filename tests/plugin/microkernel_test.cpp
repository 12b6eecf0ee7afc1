// Packed products and packing against plain loops in float64 and int64, for every row count, tail and layout; guard
// bytes around every operand.
#include "codegen/llvm_microkernel.h"

#include "plugin/run_text.h"
#include "support/dtype.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <random>

namespace tilert::codegen {
namespace {

using test::Machine;

using GemmFn = void(const void* a, int64_t lda, const void* b, int64_t stride, void* c, int64_t ldc, int64_t m,
                    int64_t n, int64_t k, bool accumulate);
using PackFn = void(const void* src, int64_t ld, int64_t outer, int64_t inner, void* dst, int64_t stride);

// A buffer whose elements start after a guard and are followed by one; aligned for any vector.
template <class T>
class Guarded {
 public:
  explicit Guarded(size_t count) : count_(count), bytes_(count * sizeof(T) + 2 * kGuard + 64, 0xa5) {
    const auto start = reinterpret_cast<uintptr_t>(bytes_.data());
    offset_ = (start + kGuard + 63) / 64 * 64 - start;
  }
  T* data() { return reinterpret_cast<T*>(bytes_.data() + offset_); }
  T& operator[](size_t i) { return data()[i]; }
  bool intact() const {
    for (size_t i = 0; i < bytes_.size(); ++i) {
      const bool inside = i >= offset_ && i < offset_ + count_ * sizeof(T);
      if (!inside && bytes_[i] != 0xa5) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kGuard = 256;
  size_t count_, offset_;
  std::vector<uint8_t> bytes_;
};

class GemmTextTest : public ::testing::TestWithParam<Machine> {
 protected:
  void build(const std::string& text) {
    object_ = test::build_or_skip(GetParam(), text);
    if (object_ == nullptr && !HasFailure()) GTEST_SKIP() << "compiled; this machine cannot run it";
  }
  template <class F>
  F* get(const std::string& name) {
    return test::function<F>(*object_, name);
  }
  const CpuIsa& isa() const { return GetParam().isa; }
  std::shared_ptr<LoadedObject> object_;
  std::mt19937 random_{7};
};

INSTANTIATE_TEST_SUITE_P(Machines, GemmTextTest, ::testing::ValuesIn(test::machines()), test::machine_name);

// One product: packs B by hand, runs, compares each element with float64 and checks what lies around C.
void check_f32(GemmFn* gemm, const MicroKernel& kernel, int64_t m, int64_t n, int64_t k, bool accumulate,
               std::mt19937& random) {
  SCOPED_TRACE(fmt::format("m {} n {} k {} accumulate {}", m, n, k, accumulate));
  const int64_t lda = k + 3, ldc = n + 5, columns = kernel.columns();
  const int64_t panels = (n + columns - 1) / columns, stride = kernel.panel_elements(k);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Guarded<float> a(static_cast<size_t>(m * lda)), b(static_cast<size_t>(panels * stride)), c(static_cast<size_t>(m * ldc));
  std::vector<float> full(static_cast<size_t>(k * n));
  for (int64_t i = 0; i < m * lda; ++i) a[static_cast<size_t>(i)] = uniform(random);
  for (auto& x : full) x = uniform(random);
  for (int64_t p = 0; p < panels; ++p)
    for (int64_t kk = 0; kk < k; ++kk)
      for (int64_t j = 0; j < columns; ++j)
        b[static_cast<size_t>(p * stride + kk * columns + j)] =
            p * columns + j < n ? full[static_cast<size_t>(kk * n + p * columns + j)] : 0.0f;
  std::vector<float> before(static_cast<size_t>(m * ldc));
  for (size_t i = 0; i < before.size(); ++i) c[i] = before[i] = uniform(random);
  gemm(a.data(), lda, b.data(), stride, c.data(), ldc, m, n, k, accumulate);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < ldc; ++j) {
      const float got = c[static_cast<size_t>(i * ldc + j)], old = before[static_cast<size_t>(i * ldc + j)];
      if (j >= n) {
        ASSERT_EQ(got, old) << "outside, row " << i << " column " << j;
        continue;
      }
      double sum = accumulate ? old : 0, magnitude = std::fabs(sum);
      for (int64_t kk = 0; kk < k; ++kk) {
        const double product = double{a[static_cast<size_t>(i * lda + kk)]} * full[static_cast<size_t>(kk * n + j)];
        sum += product;
        magnitude += std::fabs(product);
      }
      const double allowed = 4 * 0x1p-24 * std::sqrt(double(k) + 1) * magnitude + 1e-30;
      ASSERT_LE(std::fabs(got - sum), allowed) << "row " << i << " column " << j;
    }
  }
  EXPECT_TRUE(c.intact());
}

TEST_P(GemmTextTest, F32IsRightForEveryRowCountTailAndDepth) {
  build(test::expose(emit_gemm(isa(), GemmKind::f32), "tl_gemm_f32"));
  if (object_ == nullptr) return;
  const MicroKernel kernel = micro_kernel(isa(), GemmKind::f32);
  auto* gemm = get<GemmFn>("tl_gemm_f32");
  const int64_t columns = kernel.columns();
  for (int64_t m = 0; m <= 3 * kernel.rows + 1; ++m) check_f32(gemm, kernel, m, columns + 3, 9, m % 2 == 0, random_);
  for (int64_t n = 0; n <= 2 * columns + 1; ++n) check_f32(gemm, kernel, kernel.rows, n, 6, n % 2 == 0, random_);
  for (int64_t k : {0, 1, 2, 3, 4, 5, 7, 8, 64, 257})
    for (bool accumulate : {false, true}) check_f32(gemm, kernel, kernel.rows + 2, columns - 1, k, accumulate, random_);
}

TEST_P(GemmTextTest, F32BitsOfAnElementDoNotDependOnRowsAndColumns) {
  build(test::expose(emit_gemm(isa(), GemmKind::f32), "tl_gemm_f32"));
  if (object_ == nullptr) return;
  const MicroKernel kernel = micro_kernel(isa(), GemmKind::f32);
  auto* gemm = get<GemmFn>("tl_gemm_f32");
  const int64_t k = 37, columns = kernel.columns(), m = 2 * kernel.rows - 1;
  std::normal_distribution<float> normal;
  Guarded<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(kernel.panel_elements(k)));
  for (int64_t i = 0; i < m * k; ++i) a[static_cast<size_t>(i)] = normal(random_);
  for (int64_t i = 0; i < k * columns; ++i) b[static_cast<size_t>(i)] = normal(random_);
  Guarded<float> all(static_cast<size_t>(m * columns)), one(1);
  gemm(a.data(), k, b.data(), 0, all.data(), columns, m, columns, k, false);
  for (int64_t i = 0; i < m; ++i) {
    gemm(a.data() + i * k, k, b.data(), 0, one.data(), columns, 1, 1, k, false);
    EXPECT_EQ(one[0], all[static_cast<size_t>(i * columns)]) << i;
  }
}

TEST_P(GemmTextTest, CarriedBitsDoNotDependOnHowKIsCutNorOnRowsAndColumns) {
  build(test::expose(emit_gemm(isa(), GemmKind::carried), "tl_gemm_carried") + test::expose(emit_rows_gemm(isa()), "tl_rows_f32"));
  if (object_ == nullptr) return;
  const MicroKernel kernel = micro_kernel(isa(), GemmKind::carried);
  auto* gemm = get<GemmFn>("tl_gemm_carried");
  const int64_t k = 300, columns = kernel.columns(), m = 2 * kernel.rows - 1;
  std::normal_distribution<float> normal;
  Guarded<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(kernel.panel_elements(k)));
  for (int64_t i = 0; i < m * k; ++i) a[static_cast<size_t>(i)] = normal(random_);
  for (int64_t i = 0; i < k * columns; ++i) b[static_cast<size_t>(i)] = normal(random_);
  for (int64_t n : {columns, columns - 3}) {
    Guarded<float> all(static_cast<size_t>(m * n)), cut(static_cast<size_t>(m * n)), few(static_cast<size_t>(n));
    gemm(a.data(), k, b.data(), 0, all.data(), n, m, n, k, false);
    for (int64_t i = 0; i < m; ++i) {
      get<GemmFn>("tl_rows_f32")(a.data() + i * k, k, b.data(), columns, few.data(), n, 1, n, k, false);
      for (int64_t from = 0; from < k; from += 64)
        gemm(a.data() + i * k + from, k, b.data() + from * columns, 0, cut.data() + i * n, n, 1, n, std::min<int64_t>(64, k - from), from > 0);
      for (int64_t j = 0; j < n; ++j) {
        EXPECT_EQ(cut[static_cast<size_t>(i * n + j)], all[static_cast<size_t>(i * n + j)]) << i << " " << j;
        EXPECT_EQ(few[static_cast<size_t>(j)], all[static_cast<size_t>(i * n + j)]) << i << " " << j;
      }
    }
    EXPECT_TRUE(all.intact());
    EXPECT_TRUE(cut.intact());
  }
}

TEST_P(GemmTextTest, Int8IsExactAtTheExtremes) {
  build(test::expose(emit_gemm(isa(), GemmKind::i8), "tl_gemm_i8") +
        test::expose(emit_pack(isa(), DType::int8, Pack::a), "tl_pack_a_i8") +
        test::expose(emit_pack(isa(), DType::int8, Pack::b), "tl_pack_b_i8"));
  if (object_ == nullptr) return;
  const MicroKernel kernel = micro_kernel(isa(), GemmKind::i8);
  auto* gemm = get<GemmFn>("tl_gemm_i8");
  auto *pack_a = get<PackFn>("tl_pack_a_i8"), *pack_b = get<PackFn>("tl_pack_b_i8");
  const int64_t columns = kernel.columns();
  for (int64_t m : {1, 5, kernel.rows + 1, 2 * kernel.rows})
    for (int64_t n : {int64_t{1}, columns - 1, columns, columns + 2})
      for (int64_t k : {0, 1, 2, 7, 64, 513}) {
        SCOPED_TRACE(fmt::format("m {} n {} k {}", m, n, k));
        std::vector<int8_t> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
        for (auto* v : {&a, &b})
          for (auto& x : *v) x = static_cast<int8_t>(random_() % 3 == 0 ? -128 : random_() % 256);
        const int64_t lda = k + 1, stride = kernel.panel_elements(k), panels = (n + columns - 1) / columns;
        Guarded<int16_t> rows(static_cast<size_t>(m * lda)), packed(static_cast<size_t>(panels * stride));
        Guarded<int32_t> c(static_cast<size_t>(m * n));
        for (int64_t i = 0; i < m * n; ++i) c[static_cast<size_t>(i)] = static_cast<int32_t>(i);
        pack_a(a.data(), k, m, k, rows.data(), lda);
        pack_b(b.data(), n, k, n, packed.data(), stride);
        gemm(rows.data(), lda, packed.data(), stride, c.data(), n, m, n, k, true);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            int64_t sum = i * n + j;
            for (int64_t kk = 0; kk < k; ++kk) sum += int64_t{a[static_cast<size_t>(i * k + kk)]} * b[static_cast<size_t>(kk * n + j)];
            ASSERT_EQ(c[static_cast<size_t>(i * n + j)], sum) << i << ' ' << j;
          }
        EXPECT_TRUE(rows.intact() && packed.intact() && c.intact());
      }
}

TEST_P(GemmTextTest, FewRowsInPlaceAreRight) {
  build(test::expose(emit_rows_gemm(isa()), "tl_rows_f32"));
  if (object_ == nullptr) return;
  auto* gemm = get<GemmFn>("tl_rows_f32");
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t m = 0; m <= 9; ++m)
    for (int64_t n : {0, 1, 7, 16, 33, 130})
      for (int64_t k : {0, 1, 7, 8, 9, 100}) {
        SCOPED_TRACE(fmt::format("m {} n {} k {}", m, n, k));
        const int64_t lda = k + 1, ldb = n, ldc = n + 2;
        Guarded<float> a(static_cast<size_t>(m * lda)), b(static_cast<size_t>(k * ldb)), c(static_cast<size_t>(m * ldc));
        for (int64_t i = 0; i < m * lda; ++i) a[static_cast<size_t>(i)] = uniform(random_);
        for (int64_t i = 0; i < k * ldb; ++i) b[static_cast<size_t>(i)] = uniform(random_);
        for (int64_t i = 0; i < m * ldc; ++i) c[static_cast<size_t>(i)] = 7;
        const bool accumulate = (m + n + k) % 2 == 0;
        gemm(a.data(), lda, b.data(), ldb, c.data(), ldc, m, n, k, accumulate);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < ldc; ++j) {
            double sum = accumulate || j >= n ? 7 : 0;
            for (int64_t kk = 0; kk < k && j < n; ++kk) sum += double{a[static_cast<size_t>(i * lda + kk)]} * b[static_cast<size_t>(kk * ldb + j)];
            ASSERT_NEAR(c[static_cast<size_t>(i * ldc + j)], sum, 1e-4) << i << ' ' << j;
          }
        EXPECT_TRUE(c.intact());
      }
}

// The value of element i of a source buffer, and of packed ones, in float64.
double source_value(DType type, const uint8_t* bytes, int64_t i) {
  uint16_t half;
  float single;
  switch (type) {
    case DType::f16: return std::memcpy(&half, bytes + 2 * i, 2), f16_to_f32(half);
    case DType::bf16: return std::memcpy(&half, bytes + 2 * i, 2), bf16_to_f32(half);
    case DType::int8: return static_cast<int8_t>(bytes[i]);
    default: return std::memcpy(&single, bytes + 4 * i, 4), single;
  }
}

// Random finite bit patterns, subnormals included, exactly as many elements as are named: reading more hits a guard
// only where it changes results, so the counts run over all tails instead.
Guarded<uint8_t> random_source(DType type, int64_t count, std::mt19937& random) {
  Guarded<uint8_t> bytes(static_cast<size_t>(count * dtype_bytes(type)));
  for (int64_t i = 0; i < count * dtype_bytes(type); ++i) bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(random());
  for (int64_t i = 0; i < count; ++i) {
    if (std::isfinite(source_value(type, bytes.data(), i))) continue;
    std::memset(bytes.data() + i * dtype_bytes(type), 0, static_cast<size_t>(dtype_bytes(type)));
  }
  return bytes;
}

struct PackCase {
  DType type;
  Pack pack;
};

// What packed position (row of A or column of B, k) must hold.
void check_pack(PackFn* pack, const MicroKernel& kernel, PackCase which, int64_t outer, int64_t k, std::mt19937& random) {
  SCOPED_TRACE(fmt::format("outer {} k {}", outer, k));
  const bool is_b = which.pack == Pack::b || which.pack == Pack::b_transposed;
  const bool k_is_row = which.pack == Pack::b || which.pack == Pack::a_transposed;
  const int64_t ld = (k_is_row ? outer : k) + 2, rows = k_is_row ? k : outer;
  const int64_t group = kernel.group, columns = kernel.columns(), padded_k = (k + group - 1) / group * group;
  auto src = random_source(which.type, rows * ld, random);
  const int64_t stride = is_b ? kernel.panel_elements(k) : padded_k;
  const int64_t outers = is_b ? (outer + columns - 1) / columns : outer;
  Guarded<float> singles(static_cast<size_t>(outers * stride));
  Guarded<int16_t> shorts(static_cast<size_t>(outers * stride));
  const bool pairs = which.type == DType::int8;
  void* dst = pairs ? static_cast<void*>(shorts.data()) : singles.data();
  if (is_b) {
    pack(src.data(), ld, k, outer, dst, stride);
  } else {
    pack(src.data(), ld, outer, k, dst, stride);
  }
  for (int64_t o = 0; o < (is_b ? outers * columns : outer); ++o) {
    for (int64_t kk = 0; kk < padded_k; ++kk) {
      const int64_t at = is_b ? o / columns * stride + kk / group * columns * group + o % columns * group + kk % group
                              : o * stride + kk;
      const double got = pairs ? shorts[static_cast<size_t>(at)] : singles[static_cast<size_t>(at)];
      const bool inside = o < outer && kk < k;
      const double expected = inside ? source_value(which.type, src.data(), k_is_row ? kk * ld + o : o * ld + kk) : 0;
      ASSERT_EQ(got, expected) << "outer " << o << " k " << kk;
    }
  }
  EXPECT_TRUE(singles.intact() && shorts.intact());
}

TEST_P(GemmTextTest, PackingConvertsEveryElementAndPadsWithZeros) {
  const std::vector<PackCase> cases = [] {
    std::vector<PackCase> all;
    for (DType type : {DType::f32, DType::f16, DType::bf16, DType::int8})
      for (Pack pack : {Pack::b, Pack::b_transposed, Pack::a, Pack::a_transposed}) all.push_back({type, pack});
    return all;
  }();
  std::string text;
  for (const auto& c : cases) text += test::expose(emit_pack(isa(), c.type, c.pack), pack_name(c.type, c.pack));
  build(text);
  if (object_ == nullptr) return;
  for (const auto& c : cases) {
    SCOPED_TRACE(pack_name(c.type, c.pack));
    const MicroKernel kernel = micro_kernel(isa(), c.type == DType::int8 ? GemmKind::i8 : GemmKind::f32);
    const int64_t columns = kernel.columns();
    auto* pack = get<PackFn>(pack_name(c.type, c.pack));
    for (int64_t outer : {int64_t{0}, int64_t{1}, int64_t{5}, columns - 1, columns, columns + 1, 2 * columns + columns / 2})
      for (int64_t k : {0, 1, 2, 15, 16, 17, 64, 67}) check_pack(pack, kernel, c, outer, k, random_);
  }
}

TEST(SplitRows, CoversEveryCountWithKernelsThatExist) {
  for (const auto& machine : test::machines()) {
    const MicroKernel kernel = micro_kernel(machine.isa, GemmKind::f32);
    for (int rows = 1; rows < 2 * kernel.rows; ++rows) {
      int sum = 0;
      for (int part : split_rows(kernel, rows)) {
        EXPECT_THAT(kernel.row_counts, ::testing::Contains(part));
        sum += part;
      }
      EXPECT_EQ(sum, rows);
    }
  }
}

TEST(MicroKernelText, AccumulatorsLeaveRegistersForTheOperands) {
  for (const auto& machine : test::machines()) {
    for (GemmKind kind : {GemmKind::f32, GemmKind::i8}) {
      const MicroKernel kernel = micro_kernel(machine.isa, kind);
      EXPECT_LE(kernel.rows * kernel.vectors, machine.isa.registers - 4) << machine.name;
    }
  }
}

}  // namespace
}  // namespace tilert::codegen
