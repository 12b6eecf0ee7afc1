// Products: which operands go straight into the block product, which are converted first, and loops whose whole body is
// one product of tiles copied from tensors, which become a single product over their whole depth.
#include "arith/affine.h"
#include "arith/build.h"
#include "ir/semantics.h"
#include "ir/visit.h"
#include "passes/cpu_lowering.h"
#include "support/refusal.h"

namespace tilert::passes {

using namespace ir;

namespace {

constexpr int64_t kMostElements = int64_t{1} << 41;  // more than any dim has

bool is_16_bit_float(DType d) { return d == DType::f16 || d == DType::bf16; }

int64_t rows_of(const Region& r) { return r.extents[r.extents.size() - 2]; }
int64_t columns_of(const Region& r) { return r.extents.back(); }

bool overlaps(const Program& program, const Region& a, const Region& b) {
  return storage_of(program, a.buffer) == storage_of(program, b.buffer);
}

}  // namespace

CpuMatrix CpuLowering::matrix_of(const Region& region, bool transposed) {
  const std::vector<Expr> strides = element_strides(program_, region.buffer);
  return {region.buffer, prover_.simplify(flat_offset(program_, {region.buffer, region.offsets})),
          prover_.simplify(strides[strides.size() - 2]), transposed};
}

Region CpuLowering::converted(const Region& region, DType dtype, Out& out) {
  const Region copy = whole(temporary(dtype, region.extents));
  copy_region(region, copy, clip(region, {}), clip(copy, {}), out);
  return copy;
}

// c[i, j] = the sum over k of a * b, in the integers of c or f64: for products that no matrix kernel takes.
void CpuLowering::lower_plain_product(const Gemm& g, DType in, Out& out) {
  const DType sum = program_.buffer(g.c.buffer).dtype;
  const int64_t m = rows_of(g.c), n = columns_of(g.c), k = g.trans_a ? rows_of(g.a) : columns_of(g.a);
  const std::vector<VarId> v = fresh_vars(3);
  const auto at = [&](const Region& r, VarId row, VarId column) {
    Access a{r.buffer, r.offsets};
    const size_t rank = r.offsets.size();
    a.indices[rank - 2] = arith::add(arena_, a.indices[rank - 2], program_.var(row));
    a.indices[rank - 1] = arith::add(arena_, a.indices[rank - 1], program_.var(column));
    return a;
  };
  Buffer local;
  local.dtype = sum;
  local.scope = Scope::scalar;
  const BufferId acc = program_.add_buffer(std::move(local));
  const auto let = [&](DType d, Access from, Block& body) {
    const VarId id = program_.add_var(VarKind::let, d, "v");
    body.push_back(make_stmt(Let{id, nullptr, std::move(from)}, ordinal_));
    return program_.var(id);
  };
  Block body{make_stmt(Alloc{acc}, ordinal_)}, inner, last;
  body.push_back(make_stmt(Store{{acc, {}}, arena_.number(sum, 0)}, ordinal_));
  const Expr a = let(program_.buffer(g.a.buffer).dtype, g.trans_a ? at(g.a, v[2], v[0]) : at(g.a, v[0], v[2]), inner);
  const Expr b = let(program_.buffer(g.b.buffer).dtype, g.trans_b ? at(g.b, v[1], v[2]) : at(g.b, v[2], v[1]), inner);
  const Expr so_far = let(sum, {acc, {}}, inner);
  const auto cast = [&](Expr e) { return arena_.cast(arena_.cast(e, in), sum); };
  inner.push_back(make_stmt(Store{{acc, {}}, arena_.make(Op::add, {so_far, arena_.make(Op::mul, {cast(a), cast(b)})})}, ordinal_));
  body.push_back(make_stmt(For{ForKind::serial, v[2], index(0), index(k), 1, 0, inner}, ordinal_));
  const Expr total = let(sum, {acc, {}}, body);
  Block plus{make_stmt(Store{at(g.c, v[0], v[1]), total}, ordinal_)};
  if (!g.accumulate->is_constant() || g.accumulate->as_int() != 0) {
    // Reads c only where the product accumulates.
    Block add;
    const Expr old = let(sum, at(g.c, v[0], v[1]), add);
    add.push_back(make_stmt(Store{at(g.c, v[0], v[1]), arena_.make(Op::add, {old, total})}, ordinal_));
    plus = {make_stmt(If{g.accumulate, add, plus}, ordinal_)};
  }
  body.insert(body.end(), plus.begin(), plus.end());
  const CpuLoops loops{{v[0], v[1]}, {index(0), index(0)}, {index(m), index(n)}, body, power_of_two_lanes(index(n)), false};
  kernel_.locals[acc] = loops.lanes;
  emit(out, loops);
}

Status CpuLowering::lower_gemm(const Gemm& original, Out& out) {
  Gemm g = original;
  g.accumulate = prover_.simplify(g.accumulate);
  for (BufferId id : {g.a.buffer, g.b.buffer, g.c.buffer}) tile(id);
  const auto dtype = [&](const Region& r) { return program_.buffer(r.buffer).dtype; };
  // In tf32 the operands' copies are f32 that hold rounded values.
  for (Region* operand : {&g.a, &g.b})
    if (g.tf32) *operand = converted(*operand, DType::tf32, out);
  const DType in = g.tf32 ? DType::f32 : gemm_operand_dtype(dtype(g.a), dtype(g.b)), sum = dtype(g.c);
  // The product writes while it reads: an operand in c's own tile is taken aside.
  if (overlaps(program_, g.a, g.c)) g.a = converted(g.a, dtype(g.a), out);
  if (overlaps(program_, g.b, g.c)) g.b = converted(g.b, dtype(g.b), out);
  const bool floats = (in == DType::f32 || is_16_bit_float(in)) && (sum == DType::f32 || is_16_bit_float(sum));
  if (!floats && !(in == DType::int8 && dtype(g.a) == in && dtype(g.b) == in && sum == DType::int32)) {
    if (!gemm_takes(in, sum))
      return refusal(fmt::format("operation {}: a product of {} into {} cannot be compiled for a CPU", ordinal_, dtype_text(in),
                                 dtype_text(sum)),
                     "add up in f32, f64, int32 or int64");
    lower_plain_product(g, in, out);
    return {};
  }
  if (dtype(g.a) != in && !g.tf32) g.a = converted(g.a, in, out);
  if (dtype(g.b) != in && !g.tf32) g.b = converted(g.b, in, out);
  Region c = g.c;
  if (floats && sum != DType::f32) c = converted(g.c, DType::f32, out);
  const int64_t m = rows_of(g.c), n = columns_of(g.c), k = g.trans_a ? rows_of(g.a) : columns_of(g.a);
  CpuGemm product{matrix_of(g.a, g.trans_a), matrix_of(g.b, g.trans_b), matrix_of(c, false), index(m), index(n), index(k),
                  g.accumulate, m, n, std::min(k, kCpuProductDepth), in, fixed_order_};
  emit(out, std::move(product));
  if (c.buffer != g.c.buffer) copy_region(c, g.c, clip(c, {}), clip(g.c, {}), out);
  return {};
}

// Whether anything but the loop's own body names the buffer.
bool CpuLowering::used_outside(const For& loop, BufferId buffer) {
  const auto count = [&](const Block& block) {
    int uses = 0;
    for_each_stmt(block, [&](const Stmt& s) {
      if (std::holds_alternative<Alloc>(s.node)) return;
      for (const BufferUse& use : buffer_uses(s)) uses += storage_of(program_, use.buffer) == storage_of(program_, buffer);
    });
    return uses;
  };
  return count(kernel_body_) != count(loop.body);
}

bool CpuLowering::whole_tile(const Region& r) {
  const Buffer& b = program_.buffer(r.buffer);
  for (size_t d = 0; d < r.extents.size(); ++d)
    if (!r.offsets[d]->is_constant() || r.offsets[d]->as_int() != 0 || r.extents[d] != b.shape[d]->as_int()) return false;
  return true;
}

// The copy that fills the operand, if it brings consecutive depths of a tensor, round by round.
std::optional<CpuLowering::Source> CpuLowering::product_source(const For& loop, const Region& operand, bool k_last) {
  const Copy* copy = nullptr;
  for (const StmtPtr& s : loop.body)
    if (const auto* c = std::get_if<Copy>(&s->node); c && c->dst.buffer == operand.buffer) copy = copy ? nullptr : c;
  if (!copy) return std::nullopt;
  const Buffer& tensor = program_.buffer(copy->src.buffer);
  if (tensor.scope != Scope::global || copy->safe || tensor.dtype != program_.buffer(operand.buffer).dtype) return std::nullopt;
  for (Expr v : copy->valid)
    if (v) return std::nullopt;
  if (!whole_tile(copy->dst) || !whole_tile(operand) || operand.extents.size() != 2) return std::nullopt;
  std::vector<size_t> proper;
  for (size_t d = 0; d < copy->src.extents.size(); ++d) {
    if (copy->src.extents[d] != 1) proper.push_back(d);
    else if (uses_var(copy->src.offsets[d], loop.var)) return std::nullopt;
  }
  if (proper.size() != 2) return std::nullopt;
  Source s{copy, proper[k_last ? 1 : 0], proper[k_last ? 0 : 1], {copy->src.buffer, copy->src.offsets}};
  const Expr unit = element_strides(program_, copy->src.buffer)[proper[1]];
  if (!unit->is_constant() || unit->as_int() != 1) return std::nullopt;
  const auto linear = arith::linear_in(arena_, copy->src.offsets[s.k_dim], loop.var);
  if (!linear || !linear->stride->is_constant() || linear->stride->as_int() != copy->src.extents[s.k_dim]) return std::nullopt;
  if (uses_var(copy->src.offsets[s.other_dim], loop.var)) return std::nullopt;
  const std::unordered_map<VarId, Expr> start{{loop.var, loop.begin}};
  for (Expr& e : s.first.indices) e = prover_.simplify(substitute(arena_, e, start));
  return s;
}

// Adds to `inside` what must hold of the dims that are not counted; false where a counted dim may start before 0.
bool CpuLowering::starts_inside(const Source& s, Expr& inside) {
  const Buffer& t = program_.buffer(s.first.buffer);
  for (size_t d = 0; d < t.shape.size(); ++d) {
    if (d == 0 && is_addressed(t)) {
      inside = arith::logical_and(arena_, inside, arith::lt(arena_, index(0), s.first.indices[0]));
      continue;
    }
    const bool counted = d == s.k_dim || d == s.other_dim;
    const Expr low = prover_.simplify(arith::le(arena_, index(0), s.first.indices[d]));
    if (low->is_constant() ? low->as_int() == 0 : counted) return false;
    inside = arith::logical_and(arena_, inside, low->is_constant() ? nullptr : low);
    if (!counted) inside = arith::logical_and(arena_, inside, arith::lt(arena_, s.first.indices[d], t.shape[d]));
  }
  if (inside) inside = prover_.simplify(inside);
  return true;
}

// The loop's product, if its body is two copies and one accumulating product of what they brought.
const Gemm* CpuLowering::only_product(const For& loop) {
  const Gemm* gemm = nullptr;
  int copies = 0;
  for (const StmtPtr& s : loop.body) {
    if (std::holds_alternative<Copy>(s->node) && !gemm) ++copies;
    else if (const auto* g = std::get_if<Gemm>(&s->node); g && !gemm) gemm = g;
    else if (!std::holds_alternative<Alloc>(s->node)) return nullptr;
  }
  if (!gemm || copies != 2 || loop.step != 1 || gemm->tf32) return nullptr;
  const Expr accumulate = prover_.simplify(gemm->accumulate);
  if (!accumulate->is_constant() || accumulate->as_int() == 0) return nullptr;
  for (Expr e : gemm->c.offsets)
    if (uses_var(e, loop.var)) return nullptr;
  const auto tile_of = [&](const Region& r) { return storage_of(program_, r.buffer); };
  const BufferId a = tile_of(gemm->a), b = tile_of(gemm->b), c = tile_of(gemm->c);
  if (a == b || a == c || b == c || used_outside(loop, a) || used_outside(loop, b)) return nullptr;
  return gemm;
}

// Whether the last dims of a tensor end where the operands' tensors end: what lies beyond is dropped.
bool CpuLowering::ends_with(const Buffer& tensor, const Source& a, const Source& b) {
  const size_t rank = tensor.shape.size();
  const auto along = [&](size_t d, const Source& s) {
    return prover_.simplify(tensor.shape[d]) == prover_.simplify(program_.buffer(s.first.buffer).shape[s.other_dim]);
  };
  return tensor.scope == Scope::global && rank >= 2 && along(rank - 2, a) && along(rank - 1, b);
}

// The tile leaves for its own place in such a tensor.
bool CpuLowering::leaves_as_it_came(const Copy& copy, const Source& a, const Source& b) {
  if (!whole_tile(copy.src) || !ends_with(program_.buffer(copy.dst.buffer), a, b)) return false;
  const size_t rank = copy.dst.extents.size();
  const auto along = [&](size_t d, const Source& s) {
    return copy.dst.extents[d] == s.copy->src.extents[s.other_dim] &&
           prover_.simplify(copy.dst.offsets[d]) == s.first.indices[s.other_dim];
  };
  return along(rank - 2, a) && along(rank - 1, b);
}

// An element-wise loop that takes each element of the tile to itself, or to its own place in such a tensor.
bool CpuLowering::keeps_its_points(const Parallel& parallel, BufferId tile, const Source& a, const Source& b) {
  bool keeps = parallel.vars.size() == 2;
  const auto same_point = [&](const Access& at) {
    for (size_t d = 0; d < 2 && keeps; ++d) keeps = at.indices[d] == program_.var(parallel.vars[d]);
  };
  const auto own_place = [&](const Access& at) {
    const size_t rank = at.indices.size();
    keeps = keeps && ends_with(program_.buffer(at.buffer), a, b);
    for (size_t d = 0; d < 2 && keeps; ++d) {
      const Source& s = d == 0 ? a : b;
      const Expr own = arith::add(arena_, s.first.indices[s.other_dim], program_.var(parallel.vars[d]));
      keeps = prover_.simplify(at.indices[rank - 2 + d]) == prover_.simplify(own);
    }
  };
  for_each_stmt(parallel.body, [&](const Stmt& s) {
    if (const auto* store = std::get_if<Store>(&s.node)) {
      store->to.buffer == tile ? same_point(store->to) : own_place(store->to);
    } else if (const auto* let = std::get_if<Let>(&s.node)) {
      if (!let->value && let->read.buffer == tile) same_point(let->read);
      else if (!let->value && storage_of(program_, let->read.buffer) == tile) keeps = false;
    } else {
      keeps &= std::holds_alternative<If>(s.node);
    }
  });
  return keeps;
}

// Whether no statement of the block can tell what rows and columns of the product beyond its operands' tensors hold.
bool CpuLowering::stays_inside(const Block& block, const Gemm& gemm, const Source& a, const Source& b) {
  const BufferId c = storage_of(program_, gemm.c.buffer);
  return std::all_of(block.begin(), block.end(), [&](const StmtPtr& s) {
    const std::vector<BufferUse> uses = buffer_uses_deep(*s);
    if (std::none_of(uses.begin(), uses.end(), [&](const BufferUse& use) { return storage_of(program_, use.buffer) == c; })) return true;
    if (std::holds_alternative<Alloc>(s->node) || std::holds_alternative<Fill>(s->node)) return true;
    if (const auto* other = std::get_if<Gemm>(&s->node)) return other == &gemm;
    if (const auto* loop = std::get_if<For>(&s->node)) return stays_inside(loop->body, gemm, a, b);
    if (const auto* branch = std::get_if<If>(&s->node))
      return stays_inside(branch->then_body, gemm, a, b) && stays_inside(branch->else_body, gemm, a, b);
    if (const auto* copy = std::get_if<Copy>(&s->node)) return copy->src.buffer == c && leaves_as_it_came(*copy, a, b);
    const auto* parallel = std::get_if<Parallel>(&s->node);
    return parallel && keeps_its_points(*parallel, c, a, b);
  });
}

// How often a loop with step 1 that begins at 0 or above runs, or `most`, where it may be more than 64 bits can tell.
Expr CpuLowering::trips(const For& loop, int64_t most) {
  const Expr span = arith::sub(arena_, loop.end, loop.begin);
  if ((facts_.range(loop.end) - facts_.range(loop.begin)).within(-most, most)) return span;
  return arith::select(arena_, arith::lt(arena_, loop.begin, loop.end), arith::min(arena_, span, most), arena_.index(0));
}

// for k in begin..end { copy A(.., k * depth + a0) -> a; copy B -> b; gemm(a, b, c) }, where nothing else looks at a
// and b, is c += A * B over all k at once, clipped to what exists: outside, both operands are zero. Rows of A and columns
// of B that do not exist are zero too, but zero times what is not finite is not: where c's elements there are looked at,
// the product is fused for whole tiles only.
Result<bool> CpuLowering::fuse_product_loop(const For& loop, Out& out) {
  const Gemm* gemm = only_product(loop);
  if (!gemm) return false;
  const auto a = product_source(loop, gemm->a, !gemm->trans_a), b = product_source(loop, gemm->b, gemm->trans_b);
  if (!a || !b) return false;
  const Buffer &ta = program_.buffer(a->first.buffer), &tb = program_.buffer(b->first.buffer);
  const DType sum = program_.buffer(gemm->c.buffer).dtype;
  const bool i8 = ta.dtype == DType::int8 && tb.dtype == DType::int8 && sum == DType::int32;
  const bool floats = ta.dtype == tb.dtype && (ta.dtype == DType::f32 || is_16_bit_float(ta.dtype)) && sum == DType::f32;
  if (!i8 && !floats) return false;
  // Where one tensor ends the other must end too: what lies beyond could not be left out else.
  if (prover_.simplify(ta.shape[a->k_dim]) != prover_.simplify(tb.shape[b->k_dim])) return false;
  if (a->first.indices[a->k_dim] != b->first.indices[b->k_dim]) return false;
  Expr inside = nullptr;
  if (!starts_inside(*a, inside) || !starts_inside(*b, inside)) return false;
  const auto count = [&](const Source& s, size_t dim, Expr extent) {
    const Expr rest = arith::sub(arena_, program_.buffer(s.first.buffer).shape[dim], s.first.indices[dim]);
    return prover_.simplify(arith::max(arena_, arith::min(arena_, rest, extent), 0));
  };
  const auto matrix = [&](const Source& s, bool transposed) {
    const std::vector<Expr> strides = element_strides(program_, s.first.buffer);
    return CpuMatrix{s.first.buffer, prover_.simplify(flat_offset(program_, s.first)),
                     prover_.simplify(strides[std::min(s.k_dim, s.other_dim)]), transposed,
                     is_addressed(program_.buffer(s.first.buffer)) ? s.first.indices[0] : nullptr};
  };
  const int64_t depth = a->copy->src.extents[a->k_dim];
  const int64_t m = a->copy->src.extents[a->other_dim], n = b->copy->src.extents[b->other_dim];
  const Expr total = arith::mul(arena_, trips(loop, (kMostElements - 1) / depth + 1), depth);
  const Expr rows = count(*a, a->other_dim, index(m)), columns = count(*b, b->other_dim, index(n));
  const bool seen = floats && !stays_inside(kernel_body_, *gemm, *a, *b);
  if (seen) {
    const Expr all = arith::logical_and(arena_, arith::le(arena_, index(m), rows), arith::le(arena_, index(n), columns));
    inside = prover_.simplify(arith::logical_and(arena_, inside, all));
  }
  tile(gemm->c.buffer);
  CpuGemm product{matrix(*a, gemm->trans_a), matrix(*b, gemm->trans_b), matrix_of(gemm->c, false), rows, columns,
                  count(*a, a->k_dim, total), arena_.boolean(true), m, n, kCpuProductDepth, ta.dtype, fixed_order_};
  kernel_.notes.push_back(fmt::format("loop {}: one product over its whole depth, in rounds of {}", ordinal_, kCpuProductDepth));
  if (!inside || (inside->is_constant() && inside->as_int() != 0)) {
    emit(out, std::move(product));
    return true;
  }
  CpuIf guarded{inside, {}, {}};
  emit(guarded.then_body, std::move(product));
  // An operand that is nowhere is zero, and zero times what is not finite is not.
  if (floats) TILERT_TRY(lower_plain_for(loop, guarded.else_body));
  emit(out, std::move(guarded));
  return true;
}

}  // namespace tilert::passes
