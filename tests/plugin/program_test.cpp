// Tile programs compiled for CPUs against the interpreter.
#include "cpu_run.h"
#include "arith/random_expr.h"
#include "ir/sample_programs.h"

namespace tilert::test {
namespace {

using namespace ir;
using samples::Hand;

class OnCpu : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, OnCpu, testing::Values("cpu:x86-64", "cpu:x86-64-v3", "cpu:native"),
                         [](const auto& info) { return std::to_string(info.index); });

TEST_P(OnCpu, ProductLoopsOfRaggedShapesAreExactOnSmallIntegers) {
  const int64_t shapes[][3] = {{1, 1, 1}, {7, 5, 3}, {65, 33, 300}, {128, 96, 64}, {0, 4, 4}, {3, 40, 0}, {20, 17, 530}};
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::int8}) {
    const Program p = samples::gemm(dtype, 64, 48, 32);
    for (const auto& s : shapes)
      for (bool bound : {true, false}) {
        SCOPED_TRACE(fmt::format("{} {}x{}x{}", dtype_text(dtype), s[0], s[1], s[2]));
        check(p, make_arguments(p, {s[0], s[1], s[2]}, 3), GetParam(), bound, 0);
      }
  }
}

// The error rule of products: 4 eps sqrt(K) (|A| |B|) an element, where the last factor is the product of magnitudes.
TEST_P(OnCpu, ProductsOfFractionsStayWithinRounding) {
  const int64_t k = 700;
  const Program p = samples::gemm(DType::f32, 32, 64, 16);
  const CpuArguments arguments = make_arguments(p, {50, 70, k}, 5, false);
  CpuArguments expected = arguments, got = arguments, sizes = arguments;
  for (auto& tensor : sizes.tensors)
    for (size_t at = 3; at < tensor.size(); at += 4) tensor[at] &= 0x7f;  // drops the sign of each f32
  ASSERT_TRUE(interpret(p, expected) && interpret(p, sizes));
  auto compiled = compile_for(p, std::vector<passes::DimChoice>(p.dims.size()), GetParam());
  ASSERT_TRUE(compiled) << compiled.error().message;
  launch(*compiled, got);
  const auto element = [](const CpuArguments& a, size_t at) {
    return ir::bits_to_double(DType::f32, ir::load_element(DType::f32, a.tensors[2].data() + at));
  };
  for (size_t at = 0; at < expected.tensors[2].size(); at += 4) {
    const double bound = 4 * 0x1p-23 * std::sqrt(static_cast<double>(k)) * element(sizes, at);
    ASSERT_LE(std::fabs(element(expected, at) - element(got, at)), bound) << "element " << at / 4;
  }
}

// One product of tiles, copied in and out, in every orientation.
Program tile_product(DType a, DType b, DType c, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, bool accumulate) {
  Hand h;
  const auto tensor = [&](const char* name, DType d, int64_t rows, int64_t columns, Direction way) {
    return h.tensor(name, d, {h.i(rows), h.i(columns)}, way);
  };
  const BufferId ta = trans_a ? tensor("A", a, k, m, Direction::in) : tensor("A", a, m, k, Direction::in);
  const BufferId tb = trans_b ? tensor("B", b, n, k, Direction::in) : tensor("B", b, k, n, Direction::in);
  const BufferId tc = tensor("C", c, m, n, Direction::inout);
  for (BufferId id : {ta, tb, tc}) h.p.buffers[id].strides = {h.p.buffers[id].shape[1], h.i(1)};
  h.kernel("product", {h.i(1)});
  Block body;
  const auto copied = [&](BufferId t, Scope scope) {
    const BufferId tile = h.tile(body, "tile", h.p.buffer(t).dtype, scope, {h.p.buffer(t).shape[0]->as_int(), h.p.buffer(t).shape[1]->as_int()});
    h.add(body, Copy{h.whole(t), h.whole(tile)});
    return tile;
  };
  const BufferId as = copied(ta, Scope::shared), bs = copied(tb, Scope::fragment), cs = copied(tc, Scope::fragment);
  h.add(body, Gemm{h.whole(as), h.whole(bs), h.whole(cs), trans_a, trans_b, h.p.arena->boolean(accumulate)});
  h.add(body, Copy{h.whole(cs), h.whole(tc)});
  h.p.kernels[0].body = body;
  return std::move(h.p);
}

TEST_P(OnCpu, TileProductsTakeEveryOrientationAndMix) {
  const DType mixes[][3] = {{DType::f32, DType::f32, DType::f32},  {DType::f16, DType::f16, DType::f32}, {DType::f32, DType::bf16, DType::f32},
                            {DType::f16, DType::f16, DType::f16},  {DType::int8, DType::int8, DType::int32},
                            {DType::int32, DType::int32, DType::int32}, {DType::int8, DType::f16, DType::f32}};
  const int64_t shapes[][3] = {{5, 7, 3}, {33, 40, 70}, {16, 64, 300}};
  int n = 0;
  for (const auto& d : mixes)
    for (const auto& s : shapes)
      for (int way = 0; way < 4; ++way) {
        const bool accumulate = n++ % 3 != 0;
        SCOPED_TRACE(fmt::format("{} {} {} way {} {}x{}x{}", dtype_text(d[0]), dtype_text(d[1]), dtype_text(d[2]), way, s[0], s[1], s[2]));
        const Program p = tile_product(d[0], d[1], d[2], way & 1, way & 2, s[0], s[1], s[2], accumulate);
        check(p, make_arguments(p, {}, 9), GetParam(), true, 0);
      }
}

// out[i, j] = an expression of one element of each input, at points beyond the tensors' ends too.
Program random_points(unsigned seed, DType to) {
  Hand h;
  const Expr rows = h.dim("R"), columns = h.dim("C");
  Block points, body;
  arith::test::Generator g(*h.p.arena, seed);
  g.variables.clear();
  h.kernel("points", {h.ceildiv(columns, 24), h.ceildiv(rows, 4)});
  const Expr x = h.p.var(h.p.kernels[0].block_vars[0]), y = h.p.var(h.p.kernels[0].block_vars[1]);
  const VarId i = h.loop("i"), j = h.loop("j");
  const Expr row = h.add_exprs(h.mul(y, 4), h.p.var(i)), column = h.add_exprs(h.mul(x, 24), h.p.var(j));
  const DType kinds[] = {DType::index, DType::int32, DType::int8, DType::boolean, DType::f32, DType::f16, DType::int64, DType::bf16};
  for (DType d : kinds) {
    if (d == DType::index) {
      g.variables.push_back(column);
      g.variables.push_back(h.p.var(i));
      continue;
    }
    const BufferId t = h.tensor("T", d, {rows, columns}, Direction::in);
    h.p.buffers[t].strides = {columns, h.i(1)};
    g.variables.push_back(h.let(points, "v", t, {row, column}));
    if (seed % 3 == 0) g.variables.push_back(h.let(points, "w", t, {row, h.add_exprs(column, h.i(-3))}));
    if (seed % 5 == 0) g.variables.push_back(h.let(points, "u", t, {h.p.var(i), h.i(0)}));
  }
  const BufferId out = h.tensor("O", to, {rows, columns}, Direction::out);
  h.p.buffers[out].strides = {columns, h.i(1)};
  Block last{make_stmt(Store{Access{out, {row, column}}, g.expr(to, 4)}, 90)};
  if (seed % 4 == 0) last = {make_stmt(If{g.expr(DType::boolean, 2), last, {}}, 91)};
  points.insert(points.end(), last.begin(), last.end());
  Parallel parallel{{i, j}, {4, 24}, points};
  parallel.contract = false;
  h.add(body, parallel);
  h.p.kernels[0].body = body;
  return std::move(h.p);
}

TEST_P(OnCpu, RandomPointsMeanWhatTheInterpreterSays) {
  const DType kinds[] = {DType::f32, DType::int32, DType::int8, DType::boolean, DType::f16, DType::int64, DType::bf16};
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Program p = random_points(seed, kinds[seed % 7]);
    CpuArguments arguments = make_arguments(p, {7, 61}, seed);
    arith::test::Generator g(*p.arena, seed + 1000);
    for (size_t t = 0; t < arguments.tensors.size(); ++t) {
      const DType d = p.buffer(p.parameters[t].buffer).dtype;
      for (size_t at = 0; at < arguments.tensors[t].size(); at += static_cast<size_t>(dtype_bytes(d)))
        ir::store_element(d, arguments.tensors[t].data() + at, g.value(d));
    }
    check(p, arguments, GetParam(), seed % 2, 0);
    if (HasFailure()) break;
  }
}

TEST_P(OnCpu, ReductionsOverEitherDim) {
  const ReduceOp ops[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min, ReduceOp::max_nan, ReduceOp::absmax, ReduceOp::abssum, ReduceOp::bit_xor};
  for (DType d : {DType::f32, DType::f16, DType::int32})
    for (ReduceOp op : ops)
      for (int dim : {0, 1})
        for (bool accumulate : {false, true}) {
          if (dtype_is_float(d) == (op == ReduceOp::bit_xor)) continue;
          Hand h;
          const BufferId in = h.tensor("I", d, {h.i(9), h.i(43)}, Direction::in), out = h.tensor("O", d, {h.i(dim ? 9 : 43)}, Direction::inout);
          h.p.buffers[in].strides = {h.i(43), h.i(1)};
          h.p.buffers[out].strides = {h.i(1)};
          h.kernel("reduce", {h.i(1)});
          Block body;
          const BufferId tile = h.tile(body, "tile", d, Scope::fragment, {9, 43}), row = h.tile(body, "row", d, Scope::fragment, {dim ? 9 : 43});
          h.add(body, Copy{h.whole(in), h.whole(tile)});
          h.add(body, Copy{h.whole(out), h.whole(row)});
          h.add(body, Reduce{op, h.whole(tile), h.whole(row), dim, accumulate});
          h.add(body, Copy{h.whole(row), h.whole(out)});
          h.p.kernels[0].body = body;
          SCOPED_TRACE(fmt::format("{} op {} dim {}", dtype_text(d), static_cast<int>(op), dim));
          CpuArguments arguments = make_arguments(h.p, {}, 1);
          if (op == ReduceOp::prod)
            for (size_t at = 0; at < arguments.tensors[0].size(); at += static_cast<size_t>(dtype_bytes(d)))
              ir::store_element(d, arguments.tensors[0].data() + at, at % 3 ? h.p.arena->number(d, 1)->bits : h.p.arena->number(d, -1)->bits);
          check(h.p, arguments, GetParam(), true, 0);
        }
}

// Softmax of rows, in blocks of 4 rows and 40 columns at most.
TEST_P(OnCpu, RowSoftmaxOfAnyWidth) {
  Hand h;
  const Expr m = h.dim("M"), n = h.dim("N");
  const BufferId in = h.tensor("X", DType::f32, {m, n}, Direction::in), out = h.tensor("Y", DType::f16, {m, n}, Direction::out);
  for (BufferId id : {in, out}) h.p.buffers[id].strides = {n, h.i(1)};
  h.kernel("softmax", {h.ceildiv(m, 4)});
  const Expr row = h.mul(h.p.var(h.p.kernels[0].block_vars[0]), 4);
  Block body;
  const BufferId x = h.tile(body, "x", DType::f32, Scope::fragment, {4, 40}), top = h.tile(body, "m", DType::f32, Scope::fragment, {4});
  const BufferId sum = h.tile(body, "l", DType::f32, Scope::fragment, {4});
  const float infinity = std::numeric_limits<float>::infinity();
  h.add(body, Copy{Region{in, {row, h.i(0)}, {4, 40}}, h.whole(x), h.p.arena->f32(-infinity)});
  h.add(body, Reduce{ReduceOp::max, h.whole(x), h.whole(top), 1, false});
  const VarId i = h.loop("i"), j = h.loop("j");
  const auto point = [&](auto make) {
    Block points;
    const Expr v = h.let(points, "v", x, {h.p.var(i), h.p.var(j)});
    h.add(points, Store{Access{x, {h.p.var(i), h.p.var(j)}}, make(points, v)});
    h.add(body, Parallel{{i, j}, {4, 40}, points});
  };
  point([&](Block& points, Expr v) {
    const Expr best = h.let(points, "b", top, {h.p.var(i)});
    return h.p.arena->make(Op::exp, {h.p.arena->make(Op::sub, {v, best})});
  });
  h.add(body, Reduce{ReduceOp::sum, h.whole(x), h.whole(sum), 1, false});
  point([&](Block& points, Expr v) {
    return h.p.arena->make(Op::div, {v, h.let(points, "s", sum, {h.p.var(i)})});
  });
  h.add(body, Copy{h.whole(x), Region{out, {row, h.i(0)}, {4, 40}}});
  h.p.kernels[0].body = body;
  for (int64_t width : {1, 7, 33, 40})
    for (bool bound : {true, false}) check(h.p, make_arguments(h.p, {9, width}, 2, false), GetParam(), bound, 1e-3);
}

// Loops that count down, conditions, variables, clipped copies with a safe value, and a scalar parameter.
TEST_P(OnCpu, ControlFlowVariablesAndClippedCopies) {
  Hand h;
  const Expr n = h.dim("N");
  const BufferId in = h.tensor("X", DType::int32, {n, n}, Direction::in), out = h.tensor("Y", DType::int32, {n, n}, Direction::inout);
  for (BufferId id : {in, out}) h.p.buffers[id].strides = {n, h.i(1)};
  const Expr scale = h.scalar("scale", DType::int32);
  h.kernel("control", {h.i(3), h.i(2)});
  const Expr x = h.p.var(h.p.kernels[0].block_vars[0]), y = h.p.var(h.p.kernels[0].block_vars[1]);
  Arena& arena = *h.p.arena;
  Block body, loop, then_body, points;
  const BufferId tile = h.tile(body, "t", DType::int32, Scope::shared, {8, 8}), total = h.tile(body, "total", DType::int32, Scope::scalar, {});
  h.add(body, Store{Access{total, {}}, arena.constant(DType::int32, 1)});
  const VarId k = h.loop("k");
  const Expr kv = h.p.var(k);
  h.add(loop, Copy{Region{in, {arena.make(Op::sub, {h.mul(y, 8), kv}), h.mul(x, 8)}, {8, 8}}, h.whole(tile), arena.constant(DType::int32, 5),
                   {arena.make(Op::add, {kv, h.i(6)}), nullptr}});
  h.add(then_body, Fill{Region{tile, {h.i(2), h.i(1)}, {3, 7}}, arena.constant(DType::int32, static_cast<uint64_t>(-4))});
  h.add(loop, If{arena.make(Op::lt, {h.i(2), kv}), then_body, {}});
  const Expr corner = h.let(loop, "c", tile, {arena.make(Op::mod, {kv, h.i(8)}), h.i(3)});
  const Expr so_far = h.let(loop, "s", total, {});
  h.add(loop, Store{Access{total, {}}, arena.make(Op::add, {arena.make(Op::mul, {so_far, scale}), corner})});
  h.add(body, For{ForKind::serial, k, h.i(7), h.i(-1), -3, 0, loop});
  const VarId i = h.loop("i"), j = h.loop("j");
  const Expr v = h.let(points, "v", tile, {h.p.var(j), h.p.var(i)});
  const Expr t = h.let(points, "t", total, {});
  h.add(points, Store{Access{out, {h.add_exprs(h.mul(y, 8), h.p.var(i)), h.add_exprs(h.mul(x, 8), h.p.var(j))}}, arena.make(Op::add, {v, t})});
  h.add(body, Parallel{{i, j}, {8, 8}, points});
  h.p.kernels[0].body = body;
  for (int64_t size : {0, 1, 13, 24}) {
    CpuArguments arguments = make_arguments(h.p, {size}, 4);
    arguments.scalars[2] = 3;
    for (bool bound : {true, false}) check(h.p, arguments, GetParam(), bound, 0);
  }
}

TEST(CpuText, TheSameProgramGivesTheSameText) {
  const auto text = [] {
    const Program p = samples::gemm(DType::f16, 64, 48, 32);
    const Target target = *parse_target("cpu:x86-64-v3");
    return codegen::generate_llvm(*passes::specialize(p, std::vector<passes::DimChoice>(3)), {target, target.device_class})->source;
  };
  EXPECT_EQ(text(), text());
}

}  // namespace
}  // namespace tilert::test
