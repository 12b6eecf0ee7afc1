// Walks, rewrites and copies of programs.
#include "ir/program.h"

#include <gtest/gtest.h>

#include "ir/sample_programs.h"
#include "ir/visit.h"

namespace tilert::ir {
namespace {

TEST(Visit, NodesComeOperandsFirstAndOnce) {
  Arena arena;
  const Expr x = arena.variable(0, DType::index), two = arena.index(2);
  const Expr sum = arena.make(Op::add, {x, two}), product = arena.make(Op::mul, {sum, sum});
  std::vector<Expr> seen;
  for_each_node(product, [&](Expr e) { seen.push_back(e); });
  EXPECT_EQ(seen, (std::vector<Expr>{x, two, sum, product}));
}

TEST(Visit, AVeryDeepExpressionDoesNotExhaustTheStack) {
  Arena arena;
  const Expr x = arena.variable(0, DType::index);
  Expr e = x;
  for (int i = 0; i < 100000; ++i) e = arena.make(Op::add, {e, i % 2 ? x : arena.index(i)});
  EXPECT_TRUE(uses_var(e, 0));
  EXPECT_EQ(rewrite_expr(arena, e, [](Expr n) { return n; }), e);
  EXPECT_FALSE(uses_var(substitute(arena, e, {{0, arena.index(7)}}), 0));
}

TEST(Visit, SubstitutionKeepsTheIdentityOfWhatDoesNotChange) {
  Arena arena;
  const Expr x = arena.variable(0, DType::index), y = arena.variable(1, DType::index);
  const Expr e = arena.make(Op::add, {arena.make(Op::mul, {x, x}), arena.index(1)});
  EXPECT_EQ(substitute(arena, e, {{1, x}}), e);
  EXPECT_EQ(substitute(arena, e, {{0, y}}), arena.make(Op::add, {arena.make(Op::mul, {y, y}), arena.index(1)}));
}

TEST(Visit, UnchangedStatementsKeepTheirIdentityUnderRewrites) {
  Program p = samples::gemm(DType::f16, 32, 32, 32);
  const Block& body = p.kernels[0].body;
  EXPECT_EQ(rewrite_block(body, [](const StmtPtr& s) { return Block{s}; }), body);
  EXPECT_EQ(map_block_exprs(body, [](Expr e) { return e; }), body);
  const Block without =
      rewrite_block(body, [](const StmtPtr& s) { return std::holds_alternative<Gemm>(s->node) ? Block{} : Block{s}; });
  int gemms = 0, all = 0, kept = 0;
  for_each_stmt(body, [&](const Stmt& s) {
    gemms += std::holds_alternative<Gemm>(s.node);
    ++all;
  });
  for_each_stmt(without, [&](const Stmt&) { ++kept; });
  EXPECT_EQ(gemms, 1);
  EXPECT_EQ(kept, all - 1);
}

TEST(Visit, UsesTellReadsFromWrites) {
  Program p = samples::gemm(DType::f16, 32, 32, 32);
  for_each_stmt(p.kernels[0].body, [&](const Stmt& s) {
    if (const auto* copy = std::get_if<Copy>(&s.node)) {
      const auto uses = buffer_uses(s);
      ASSERT_EQ(uses.size(), 2u);
      EXPECT_EQ(uses[0].buffer, copy->src.buffer);
      EXPECT_TRUE(uses[0].read && !uses[0].write);
      EXPECT_TRUE(!uses[1].read && uses[1].write);
    }
    if (std::holds_alternative<For>(s.node)) {
      EXPECT_TRUE(buffer_uses(s).empty());
      EXPECT_EQ(buffer_uses_deep(s).size(), 5u);  // a, b global and shared, the accumulator
    }
  });
}

bool same_expr(Expr a, Expr b) { return a->hash == b->hash && a->op == b->op && a->dtype == b->dtype; }

TEST(Clone, HasAnArenaOfItsOwnAndTheSameIds) {
  const Program p = samples::gemm(DType::f16, 32, 32, 32);
  const Program q = clone(p);
  EXPECT_NE(p.arena, q.arena);
  ASSERT_EQ(p.vars.size(), q.vars.size());
  ASSERT_EQ(p.buffers.size(), q.buffers.size());
  for (size_t i = 0; i < p.buffers.size(); ++i) {
    EXPECT_EQ(p.buffers[i].name, q.buffers[i].name);
    for (size_t d = 0; d < p.buffers[i].shape.size(); ++d) {
      EXPECT_NE(p.buffers[i].shape[d], q.buffers[i].shape[d]);
      EXPECT_TRUE(same_expr(p.buffers[i].shape[d], q.buffers[i].shape[d]));
    }
  }
}

TEST(Clone, CanonicalDropsUnusedDeclarations) {
  const Program plain = samples::gemm(DType::f16, 32, 32, 32);
  Program cluttered = samples::gemm(DType::f16, 32, 32, 32);
  Dim unused{cluttered.add_var(VarKind::dim, DType::index, "unused")};
  cluttered.dims.insert(cluttered.dims.begin(), unused);
  Buffer buffer{"scratch", DType::f32, Scope::shared, {cluttered.arena->index(8)}};
  const BufferId scratch = cluttered.add_buffer(buffer);
  Block& body = cluttered.kernels[0].body;
  body.insert(body.begin(), make_stmt(Alloc{scratch}, 99));
  const Program a = clone(plain, true), b = clone(cluttered, true);
  EXPECT_EQ(a.vars.size(), b.vars.size());
  EXPECT_EQ(a.buffers.size(), b.buffers.size());
  EXPECT_EQ(a.dims.size(), b.dims.size());
  EXPECT_EQ(a.kernels[0].body.size(), b.kernels[0].body.size());
  EXPECT_EQ(a.arena->size(), b.arena->size());
}

TEST(Clone, CanonicalIsIdempotent) {
  const Program once = clone(samples::gemm(DType::f16, 32, 32, 32), true), twice = clone(once, true);
  EXPECT_EQ(once.arena->size(), twice.arena->size());
  EXPECT_EQ(once.vars.size(), twice.vars.size());
  for (size_t i = 0; i < once.buffers.size(); ++i)
    for (size_t d = 0; d < once.buffers[i].shape.size(); ++d) {
      EXPECT_TRUE(same_expr(once.buffers[i].shape[d], twice.buffers[i].shape[d]));
      EXPECT_EQ(once.buffers[i].shape[d]->serial, twice.buffers[i].shape[d]->serial);
    }
}

TEST(Describe, NamesFileLineAndLabelOrTheOrdinal) {
  Program p;
  p.locations.push_back({"matmul.cc", 41, "scores"});
  p.locations.push_back({"matmul.cc", 42, ""});
  EXPECT_EQ(describe(p, *make_stmt(Fill{}, 7, 1)), "matmul.cc:41 'scores'");
  EXPECT_EQ(describe(p, *make_stmt(Fill{}, 7, 2)), "matmul.cc:42");
  EXPECT_EQ(describe(p, *make_stmt(Fill{}, 7)), "operation 7");
}

TEST(Buffers, RowsOfPackedElementsStartOnAByte) {
  Program p;
  const VarId n = p.add_var(VarKind::dim, DType::index, "N");
  const auto rows = [&](DType dtype, Expr columns) {
    const BufferId b = p.add_buffer(Buffer{"a", dtype, Scope::global, {p.arena->index(2), p.arena->index(3), columns}});
    EXPECT_TRUE(has_default_strides(p.buffer(b)));
    return p.buffer(b).strides;
  };
  EXPECT_EQ(rows(DType::int4, p.arena->index(17))[1], p.arena->index(18));
  EXPECT_EQ(rows(DType::int4, p.arena->index(17))[0], p.arena->index(54));
  EXPECT_EQ(rows(DType::e2m3, p.arena->index(1))[1], p.arena->index(4));
  EXPECT_EQ(rows(DType::e4m3, p.arena->index(17))[1], p.arena->index(17));
  const Expr half = p.arena->make(Op::div, {p.arena->make(Op::add, {p.var(n), p.arena->index(1)}), p.arena->index(2)});
  EXPECT_EQ(rows(DType::e2m1, p.var(n))[1], p.arena->make(Op::mul, {half, p.arena->index(2)}));
}

TEST(Buffers, StridesDefaultToRowMajor) {
  Program p;
  const VarId n = p.add_var(VarKind::dim, DType::index, "N");
  const BufferId b =
      p.add_buffer(Buffer{"a", DType::f32, Scope::global, {p.arena->index(2), p.var(n), p.arena->index(3)}});
  const Buffer& buffer = p.buffer(b);
  EXPECT_EQ(buffer.strides[2], p.arena->index(1));
  EXPECT_EQ(buffer.strides[1], p.arena->index(3));
  EXPECT_EQ(buffer.strides[0], p.arena->make(Op::mul, {p.var(n), p.arena->index(3)}));
}

}  // namespace
}  // namespace tilert::ir
