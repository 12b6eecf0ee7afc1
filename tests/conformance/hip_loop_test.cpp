// The loops of products and of attention for AMD GPUs, in the assembly of clang 19: no scratch, the products that a step needs, wide
// reads, loads in flight while products run, and the matrix unit's share of what is issued.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "conformance/hip_assembly.h"
#include "conformance/runner.h"

namespace tilert::conformance {
namespace {

struct LoopCase {
  const char* target;
  tl::DType dtype;
  int rows, columns, k;
  bool k_last_of_b;
  int products;  // instructions of one wave along a step of k
  double least;  // share; 0: not asked
};

tl::Program product_program(const LoopCase& c) {
  tl::Builder b("product");
  const int n = 4096;
  auto x = b.input("x", c.dtype, {n, n}), w = b.input("w", c.dtype, {n, n}), y = b.output("y", tl::f32, {n, n});
  b.grid({n / c.columns, n / c.rows}, [&](tl::Index column, tl::Index row) {
    auto a = b.shared(c.dtype, {c.rows, c.k}), v = c.k_last_of_b ? b.shared(c.dtype, {c.columns, c.k}) : b.shared(c.dtype, {c.k, c.columns});
    auto acc = b.fragment(tl::f32, {c.rows, c.columns});
    b.clear(acc);
    b.pipelined(n / c.k, tl::stages(2), [&](tl::Index k) {
      b.copy(x(row * c.rows, k * c.k), a);
      if (c.k_last_of_b) b.copy(w(column * c.columns, k * c.k), v);
      else b.copy(w(k * c.k, column * c.columns), v);
      if (c.k_last_of_b) b.gemm(a, v, acc, tl::trans_b);
      else b.gemm(a, v, acc);
    });
    b.copy(acc, y(row * c.rows, column * c.columns));
  });
  return b.finish();
}

// Causal flash attention with tiles of `rows` queries and `columns` keys of `width` elements.
tl::Program attention_program(int rows, int columns, int width) {
  tl::Builder b("attention");
  auto length = b.dim("S"), heads = b.dim("H");
  auto q_of = b.input("Q", tl::bf16, {heads, length, width}), k_of = b.input("K", tl::bf16, {heads, length, width});
  auto v_of = b.input("V", tl::bf16, {heads, length, width}), o_of = b.output("O", tl::bf16, {heads, length, width});
  auto scale = b.scalar("scale", tl::f32);
  b.grid({tl::ceildiv(length, rows), heads}, [&](tl::Index y, tl::Index z) {
    auto q = b.shared(tl::bf16, {rows, width}), k = b.shared(tl::bf16, {columns, width}), v = b.shared(tl::bf16, {columns, width});
    auto s = b.fragment(tl::f32, {rows, columns}), p = b.fragment(tl::f32, {rows, columns}), o = b.fragment(tl::f32, {rows, width});
    auto m = b.fragment(tl::f32, {rows}), before = b.fragment(tl::f32, {rows}), l = b.fragment(tl::f32, {rows}), f = b.fragment(tl::f32, {rows});
    b.copy(q_of(z, y * rows, 0), q);
    b.clear(o);
    b.clear(l);
    b.fill(m, -tl::inf);
    b.pipelined(tl::ceildiv(tl::min(length, y * rows + rows), columns), tl::stages(2), [&](tl::Index j) {
      b.copy(k_of(z, j * columns, 0), k);
      b.gemm(q, k, s, tl::trans_b | tl::overwrite);
      b.parallel({rows, columns}, [&](auto r, auto c) { s(r, c) = tl::select(j * columns + c <= y * rows + r, s(r, c), -tl::inf); });
      b.copy(m, before);
      b.reduce(tl::max, s, m, 1, tl::accumulate);
      b.parallel({rows, columns}, [&](auto r, auto c) { p(r, c) = tl::exp2(s(r, c) * scale - m(r) * scale); });
      b.parallel({rows}, [&](auto r) {
        f(r) = tl::exp2((before(r) - m(r)) * scale);
        l(r) *= f(r);
      });
      b.reduce(tl::sum, p, l, 1, tl::accumulate);
      b.parallel({rows, width}, [&](auto r, auto c) { o(r, c) *= f(r); });
      b.copy(v_of(z, j * columns, 0), v);
      b.gemm(p, v, o);
    });
    b.parallel({rows, width}, [&](auto r, auto c) { o(r, c) /= l(r); });
    b.copy(o, o_of(z, y * rows, 0));
  });
  return b.finish();
}

// The assembly of the only variant; what is wrong fails the test.
std::string assembly_of(const tl::Program& program, const char* target) {
  auto context = test_context();
  if (!context) return ADD_FAILURE() << context.error().text(), "";
  tilert_kernel_options options{};
  options.struct_size = sizeof options;
  options.target = target;
  tilert_kernel* kernel = nullptr;
  tilert_variant* raw = nullptr;
  if (tilert_kernel_create(context->get(), program.get(), &options, &kernel, nullptr) != TILERT_OK) return ADD_FAILURE() << "no kernel", "";
  if (tilert_kernel_variant(kernel, 0, &raw) != TILERT_OK) return ADD_FAILURE() << "no variant", "";
  std::string assembly;
  EXPECT_EQ(hip_fault(tl::Variant(raw).text().value(), target, &assembly), "");
  tilert_kernel_release(kernel);
  return assembly;
}

size_t find_part(const std::vector<std::string>& text, const char* part, size_t from = 0) {
  while (from < text.size() && text[from].find(part) == std::string::npos) ++from;
  return from;
}

const LoopCase kLoops[] = {
    {"gfx90a", tl::f16, 128, 128, 32, false, 32, .75},  {"gfx90a", tl::f16, 128, 128, 64, false, 64, .75},
    {"gfx90a", tl::bf16, 128, 128, 64, true, 64, .75},  {"gfx90a", tl::f16, 256, 256, 32, false, 64, .75},
    {"gfx90a", tl::bf16, 256, 256, 32, true, 64, .75},  {"gfx942", tl::f16, 128, 128, 32, false, 32, .75},
    {"gfx942", tl::f16, 128, 128, 64, false, 64, .75},  {"gfx942", tl::bf16, 128, 128, 64, true, 64, .75},
    {"gfx942", tl::f16, 256, 256, 32, true, 64, .75},   {"gfx942", tl::bf16, 256, 256, 32, false, 64, .75},
    {"gfx1100", tl::f16, 128, 128, 32, false, 16, .7},  {"gfx1100", tl::bf16, 128, 128, 64, false, 32, .7},
    {"gfx1100", tl::f16, 256, 256, 32, false, 32, .7},  {"gfx1100", tl::bf16, 256, 256, 32, true, 32, .7},
    {"gfx1201", tl::f16, 128, 128, 64, false, 32, 0},   {"gfx1201", tl::bf16, 256, 256, 32, true, 32, 0},
};

class AmdLoops : public testing::TestWithParam<LoopCase> {};

TEST_P(AmdLoops, KeepTheMatrixUnitBusy) {
  if (const std::string missing = missing_hip_tool(); !missing.empty()) GTEST_SKIP() << "no " << missing << " on this machine";
  const LoopCase& c = GetParam();
  const ProductLoop loop = product_loop(assembly_of(product_program(c), c.target), c.target);
  const bool cdna = std::string(c.target).starts_with("gfx9");
  const auto is_product = [](const std::string& line) { return line.starts_with("v_mfma") || line.starts_with("v_wmma"); };
  const auto count = std::count_if(loop.text.begin(), loop.text.end(), is_product);
  ASSERT_GT(count, 0);
  // CDNA's loops have two trips side by side.
  EXPECT_EQ(count, c.products * (cdna ? 2 : 1));
  // All reads of shared memory are of 16 bytes.
  for (const std::string& line : loop.text) {
    const bool reads = line.starts_with("ds_read") || line.starts_with("ds_load");
    if (reads) EXPECT_TRUE(line.starts_with("ds_read_b128") || line.starts_with("ds_load_b128")) << line;
    EXPECT_EQ(line.find("scratch"), line.npos) << line;
    EXPECT_FALSE(line.starts_with("ds_write_b8") || line.starts_with("ds_write_b16") || line.starts_with("ds_store_b8") || line.starts_with("ds_store_b16")) << line;
  }
  // A trip's loads are issued in front of its first product, and nothing waits for them before its last one.
  const auto first = std::find_if(loop.text.begin(), loop.text.end(), is_product);
  const auto last = first + (std::find_if(first, loop.text.end(), [](const std::string& l) { return l.starts_with("ds_write") || l.starts_with("ds_store"); }) - first);
  const auto loads = std::count_if(loop.text.begin(), first, [](const std::string& l) { return l.starts_with("global_load"); });
  EXPECT_GT(loads, 0);
  const auto load = std::find_if(loop.text.begin(), first, [](const std::string& l) { return l.starts_with("global_load"); });
  const auto end = std::find_if(first, last, [](const std::string& l) { return l.starts_with("v_perm"); });
  auto final_product = end;
  while (final_product != first && !is_product(*final_product)) --final_product;
  for (auto line = load; line != final_product; ++line) EXPECT_EQ(line->find("vmcnt"), line->npos) << *line << ": waits for loads in front of products";
  if (c.least > 0) {
    std::cout << c.target << " " << c.rows << "x" << c.columns << "x" << c.k << ": " << loop.matrix_cycles << " of " << loop.matrix_cycles + loop.other_cycles
              << " cycles, " << static_cast<int>(1000 * loop.share() + .5) / 10. << " %\n";
    EXPECT_GE(loop.share(), c.least);
  }
}
INSTANTIATE_TEST_SUITE_P(Clang, AmdLoops, testing::ValuesIn(kLoops), [](const auto& info) {
  const LoopCase& c = info.param;
  return std::string(c.target) + "_" + std::to_string(c.rows) + "x" + std::to_string(c.columns) + "x" + std::to_string(c.k) + "_" + std::to_string(info.index);
});

TEST(Clang, AttentionTakesNoScratchMemory) {
  if (const std::string missing = missing_hip_tool(); !missing.empty()) GTEST_SKIP() << "no " << missing << " on this machine";
  for (const char* target : {"gfx90a", "gfx942", "gfx1100", "gfx1201"}) {
    for (const auto& [rows, columns, width] : {std::array{64, 64, 64}, std::array{64, 64, 128}, std::array{128, 64, 64}, std::array{128, 32, 128}}) {
      SCOPED_TRACE(testing::Message() << target << " " << rows << "x" << columns << "x" << width);
      const ProductLoop loop = product_loop(assembly_of(attention_program(rows, columns, width), target), target);
      EXPECT_LT(find_part(loop.text, std::string(target).starts_with("gfx9") ? "ds_read_b128" : "ds_load_b128"), loop.text.size());
    }
  }
}

}  // namespace
}  // namespace tilert::conformance
