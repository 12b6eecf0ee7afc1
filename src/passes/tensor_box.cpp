// Rules of the engine, each in one place.
#include "passes/tensor_box.h"

#include "ir/visit.h"

namespace tilert::passes {

using namespace ir;

namespace {

std::string is_matrix(const Buffer& b) {
  if (is_table(b)) return "its tensor lies where a table says, which the tensor copy engine is not told";
  if (b.shape.size() != 2) return "its tensor is not a matrix";
  if (dtype_is_packed(b.dtype)) return "its elements share bytes";
  if (!b.strides[1]->is_constant() || b.strides[1]->as_int() != 1) return "its rows are not contiguous";
  return {};
}

// Which of two values is taken is no part of how far either goes.
bool goes_as_far_as(Expr e, const std::set<VarId>& vars) {
  if (e->is_variable()) return vars.count(e->var()) != 0;
  for (int i = e->op == Op::select ? 1 : 0; i < e->arity; ++i)
    if (goes_as_far_as(e->operand[i], vars)) return true;
  return false;
}

}  // namespace

std::set<VarId> unbounded_variables(const Program& program, const Kernel& kernel, const KernelPlan& plan) {
  std::set<VarId> found;
  for (VarId v = 0; v < program.vars.size(); ++v)
    if (program.vars[v].kind == VarKind::scalar) found.insert(v);
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    if (const auto* let = std::get_if<Let>(&s.node); let && (let->value ? goes_as_far_as(let->value, found) : !is_workspace(program.buffer(let->read.buffer)))) found.insert(let->var);
    if (const auto* loop = std::get_if<For>(&s.node); loop && loop->var != plan.tile_round && (goes_as_far_as(loop->begin, found) || goes_as_far_as(loop->end, found)))
      found.insert(loop->var);
    if (const auto* call = std::get_if<CallDevice>(&s.node)) found.insert(call->var);
    if (const auto* atomic = std::get_if<Atomic>(&s.node)) found.insert(atomic->old);
  });
  return found;
}

// A matrix whose rows lie on 16 bytes, and the region too: a corner between is an illegal instruction.
std::string engine_takes(const Module& module, const Region& r) {
  const Buffer& b = module.program.buffer(r.buffer);
  if (std::string reason = is_matrix(b); !reason.empty()) return reason;
  if (!module.facts.range(b.strides[0]).multiple_of(16 / dtype_bytes(b.dtype))) return "its rows do not start on 16 bytes";
  if (b.alignment < 16) return "its tensor does not start on 16 bytes";
  if (!module.facts.range(r.offsets[1]).multiple_of(16 / dtype_bytes(b.dtype))) return "its columns do not start on 16 bytes";
  return {};
}

bool only_unaligned(const Module& module, const Region& r) { return is_matrix(module.program.buffer(r.buffer)).empty(); }

int64_t asked_span(TileLayout layout) {
  switch (layout) {
    case TileLayout::automatic: return 0;
    case TileLayout::swizzle_128: return 128;
    case TileLayout::swizzle_64: return 64;
    case TileLayout::swizzle_32: return 32;
    case TileLayout::row_major:
    case TileLayout::padded:
    case TileLayout::custom: break;
  }
  return -1;
}

int64_t box_rows(int64_t rows) {
  constexpr int64_t kSwizzleRows = 8;  // after which the swizzle repeats
  if (rows <= kMostOfBox) return rows;
  for (int64_t n = kMostOfBox; n > 0; n -= kSwizzleRows)
    if (rows % n == 0) return n;
  return 0;
}

}  // namespace tilert::passes
