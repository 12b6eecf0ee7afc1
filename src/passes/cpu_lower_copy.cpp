// Copies and fills as loops over what exists: regions are clipped to the tensor by run-time counts, so that no element
// is compared with a bound.
#include "arith/build.h"
#include "passes/cpu_lowering.h"

namespace tilert::passes {

using namespace ir;

std::vector<VarId> CpuLowering::fresh_vars(size_t count) {
  std::vector<VarId> vars;
  for (size_t i = 0; i < count; ++i) vars.push_back(program_.add_var(VarKind::loop, DType::index, "e"));
  return vars;
}

CpuLowering::Clip CpuLowering::clip(const Region& region, const std::vector<Expr>& valid) {
  Clip out;
  const Buffer& b = program_.buffer(region.buffer);
  for (size_t d = 0; d < region.extents.size(); ++d) {
    const int64_t extent = region.extents[d];
    if (d == 0 && is_addressed(b)) {
      out.full = false;
      out.inside = arith::lt(arena_, index(0), region.offsets[0]);
      continue;
    }
    Expr begin = index(0), end = index(extent);
    if (b.scope == Scope::global) {
      Expr bound = b.shape[d];
      // An end below 0 is none of the tensor; less than it, the difference below would wrap.
      if (d < valid.size() && valid[d]) bound = prover_.simplify(arith::max(arena_, arith::min(arena_, bound, valid[d]), 0));
      const Expr offset = region.offsets[d];
      begin = prover_.simplify(arith::max(arena_, arith::sub(arena_, index(0), offset), 0));
      end = prover_.simplify(arith::min(arena_, arith::sub(arena_, bound, offset), extent));
    }
    const bool certain = begin->is_constant() && begin->as_int() == 0 && end->is_constant() && end->as_int() == extent;
    out.full = out.full && certain;
    if (extent != 1) {
      out.begins.push_back(begin);
      out.ends.push_back(end);
    } else if (!certain) {
      out.inside = arith::logical_and(arena_, out.inside, arith::logical_and(arena_, arith::lt(arena_, begin, 1),
                                                                           arith::lt(arena_, index(0), end)));
    }
  }
  return out;
}

Access CpuLowering::element(const Region& region, const std::vector<VarId>& vars) {
  Access out{region.buffer, {}};
  size_t next = 0;
  for (size_t d = 0; d < region.extents.size(); ++d) {
    Expr at = region.offsets[d];
    if (region.extents[d] != 1) at = arith::add(arena_, at, program_.var(vars[next++]));
    out.indices.push_back(prover_.simplify(at));
  }
  return out;
}

CpuLoops CpuLowering::loops_over(const std::vector<VarId>& vars, const Clip& clip, Block body) {
  CpuLoops loops{vars, clip.begins, clip.ends, std::move(body), 1, false};
  if (!vars.empty()) loops.lanes = power_of_two_lanes(clip.ends.back());
  return loops;
}

void CpuLowering::fill_region(const Region& dst, const Clip& to, Expr value, Out& out) {
  const std::vector<VarId> vars = fresh_vars(to.begins.size());
  CpuLoops loops = loops_over(vars, to, {make_stmt(Store{element(dst, vars), value}, ordinal_)});
  if (!to.inside) return emit(out, std::move(loops));
  CpuIf guarded{to.inside, {}, {}};
  emit(guarded.then_body, std::move(loops));
  emit(out, std::move(guarded));
}

void CpuLowering::copy_region(const Region& src, const Region& dst, const Clip& from, const Clip& to, Out& out) {
  const std::vector<VarId> vars = fresh_vars(to.begins.size());
  Clip common = to;
  for (size_t d = 0; d < common.begins.size(); ++d) {
    common.begins[d] = prover_.simplify(arith::max(arena_, from.begins[d], to.begins[d]));
    common.ends[d] = prover_.simplify(arith::min(arena_, from.ends[d], to.ends[d]));
  }
  common.inside = arith::logical_and(arena_, from.inside, to.inside);
  const DType source = program_.buffer(src.buffer).dtype, target = program_.buffer(dst.buffer).dtype;
  // Values that only move keep every bit: 16-bit floats travel as integers.
  const bool raw = source == target && (source == DType::f16 || source == DType::bf16);
  const VarId value = program_.add_var(VarKind::let, raw ? DType::uint16 : source, "v");
  const Expr moved = raw ? program_.var(value) : arena_.cast(program_.var(value), target);
  Block body{make_stmt(Let{value, nullptr, element(src, vars)}, ordinal_),
             make_stmt(Store{element(dst, vars), moved}, ordinal_)};
  CpuLoops loops = loops_over(vars, common, std::move(body));
  if (!common.inside) return emit(out, std::move(loops));
  CpuIf guarded{common.inside, {}, {}};
  emit(guarded.then_body, std::move(loops));
  emit(out, std::move(guarded));
}

Status CpuLowering::lower_fill(const Fill& fill, Out& out) {
  tile(fill.dst.buffer);
  fill_region(fill.dst, clip(fill.dst, {}), prover_.simplify(fill.value), out);
  return {};
}

Status CpuLowering::lower_copy(const Copy& copy, Out& out) {
  tile(copy.src.buffer);
  tile(copy.dst.buffer);
  const Buffer& src = program_.buffer(copy.src.buffer);
  const DType target = program_.buffer(copy.dst.buffer).dtype, source = src.dtype;
  const bool from_global = src.scope == Scope::global;
  const Clip from = clip(copy.src, from_global ? copy.valid : std::vector<Expr>{});
  const Clip to = clip(copy.dst, from_global ? std::vector<Expr>{} : copy.valid);
  if (storage_of(program_, copy.src.buffer) == storage_of(program_, copy.dst.buffer) && !from_global) {
    // Within one tile all is read before anything is written.
    std::vector<int64_t> extents;
    for (int64_t e : copy.src.extents) extents.push_back(e);
    const Region middle = whole(temporary(source, extents));
    const Clip all = clip(middle, {});
    copy_region(copy.src, middle, from, all, out);
    copy_region(middle, copy.dst, all, to, out);
    return {};
  }
  if (!from.full) {
    Expr safe = copy.safe ? copy.safe : arena_.number(source, 0);
    Expr full = from.inside;
    for (size_t d = 0, next = 0; d < copy.src.extents.size(); ++d) {
      if (copy.src.extents[d] == 1) continue;
      full = arith::logical_and(arena_, full, arith::le(arena_, from.begins[next], 0));
      full = arith::logical_and(arena_, full, arith::le(arena_, index(copy.src.extents[d]), from.ends[next]));
      ++next;
    }
    CpuIf edge{prover_.simplify(arith::logical_not(arena_, full)), {}, {}};
    fill_region(copy.dst, to, prover_.simplify(arena_.cast(safe, target)), edge.then_body);
    emit(out, std::move(edge));
  }
  copy_region(copy.src, copy.dst, from, to, out);
  return {};
}

}  // namespace tilert::passes
