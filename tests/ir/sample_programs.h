// Small programs that the tests of the IR share, written on the IR itself: no builder.
#pragma once

#include "ir/program.h"

namespace tilert::ir::samples {

// A little hand that numbers statements and declares things.
struct Hand {
  Program p;
  uint32_t last = 0;

  Expr i(int64_t value) { return p.arena->index(value); }
  Expr dim(const char* name) {
    const VarId v = p.add_var(VarKind::dim, DType::index, name);
    p.dims.push_back(Dim{v});
    return p.var(v);
  }
  BufferId tensor(const char* name, DType dtype, std::vector<Expr> shape, Direction direction) {
    Buffer b{name, dtype, Scope::global, std::move(shape)};
    b.direction = direction;
    b.parameter = static_cast<int32_t>(p.parameters.size());
    const BufferId id = p.add_buffer(std::move(b));
    p.parameters.push_back({Parameter::Kind::tensor, name, id, kNoVar});
    return id;
  }
  Expr scalar(const char* name, DType dtype) {
    const VarId v = p.add_var(VarKind::scalar, dtype, name);
    p.parameters.push_back({Parameter::Kind::scalar, name, kNoBuffer, v});
    return p.var(v);
  }
  BufferId tile(Block& body, const char* name, DType dtype, Scope scope, const std::vector<int64_t>& shape) {
    Buffer b{name, dtype, scope, {}};
    for (int64_t extent : shape) b.shape.push_back(i(extent));
    const BufferId id = p.add_buffer(std::move(b));
    add(body, Alloc{id});
    return id;
  }
  template <class T>
  void add(Block& body, T node) {
    body.push_back(make_stmt(std::move(node), ++last));
  }
  Region whole(BufferId b) {
    Region r{b, {}, {}};
    for (Expr e : p.buffer(b).shape) {
      r.offsets.push_back(i(0));
      r.extents.push_back(e->as_int());
    }
    return r;
  }
  Expr ceildiv(Expr a, int64_t b) { return p.arena->make(Op::div, {p.arena->make(Op::add, {a, i(b - 1)}), i(b)}); }
  Expr mul(Expr a, int64_t b) { return p.arena->make(Op::mul, {a, i(b)}); }
  Expr add_exprs(Expr a, Expr b) { return p.arena->make(Op::add, {a, b}); }
  VarId loop(const char* name) { return p.add_var(VarKind::loop, DType::index, name); }
  Expr let(Block& body, const char* name, BufferId b, std::vector<Expr> at) {
    const VarId v = p.add_var(VarKind::let, p.buffer(b).dtype, name);
    add(body, Let{v, nullptr, Access{b, std::move(at)}});
    return p.var(v);
  }
  Kernel& kernel(const char* name, std::vector<Expr> grid) {
    Kernel k;
    k.name = name;
    const char* const names[] = {"x", "y", "z"};
    for (size_t d = 0; d < grid.size(); ++d)
      k.block_vars.push_back(p.add_var(VarKind::block_index, DType::index, names[d]));
    k.grid = std::move(grid);
    p.kernels.push_back(std::move(k));
    return p.kernels.back();
  }
};

// C = max(A * B, 0): A [M, K], B [K, N] of `dtype`, C [M, N] f32 (int32 for integers).
inline Program gemm(DType dtype, int64_t bm, int64_t bn, int64_t bk) {
  Hand h;
  h.p.name = "gemm";
  const DType sum = dtype_is_float(dtype) ? DType::f32 : DType::int32;
  const Expr m = h.dim("M"), n = h.dim("N"), k = h.dim("K");
  const BufferId a = h.tensor("A", dtype, {m, k}, Direction::in), b = h.tensor("B", dtype, {k, n}, Direction::in);
  const BufferId c = h.tensor("C", sum, {m, n}, Direction::out);
  Kernel& kernel = h.kernel("gemm", {h.ceildiv(n, bn), h.ceildiv(m, bm)});
  const Expr x = h.p.var(kernel.block_vars[0]), y = h.p.var(kernel.block_vars[1]);
  Block body, inner, points;
  const BufferId as = h.tile(body, "as", dtype, Scope::shared, {bm, bk}),
                 bs = h.tile(body, "bs", dtype, Scope::shared, {bk, bn});
  const BufferId acc = h.tile(body, "acc", sum, Scope::fragment, {bm, bn});
  h.add(body, Fill{h.whole(acc), h.p.arena->constant(sum, 0)});
  const VarId step = h.loop("k");
  h.add(inner, Copy{Region{a, {h.mul(y, bm), h.mul(h.p.var(step), bk)}, {bm, bk}}, h.whole(as)});
  h.add(inner, Copy{Region{b, {h.mul(h.p.var(step), bk), h.mul(x, bn)}, {bk, bn}}, h.whole(bs)});
  h.add(inner, Gemm{h.whole(as), h.whole(bs), h.whole(acc), false, false, h.p.arena->boolean(true)});
  h.add(body, For{ForKind::pipelined, step, h.i(0), h.ceildiv(k, bk), 1, 3, inner});
  const VarId i = h.loop("i"), j = h.loop("j");
  const Expr value = h.let(points, "v", acc, {h.p.var(i), h.p.var(j)});
  h.add(points,
        Store{Access{acc, {h.p.var(i), h.p.var(j)}}, h.p.arena->make(Op::max, {value, h.p.arena->constant(sum, 0)})});
  h.add(body, Parallel{{i, j}, {bm, bn}, points});
  h.add(body, Copy{h.whole(acc), Region{c, {h.mul(y, bm), h.mul(x, bn)}, {bm, bn}}});
  h.p.kernels[0].body = body;
  return std::move(h.p);
}

}  // namespace tilert::ir::samples
