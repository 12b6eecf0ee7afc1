// Questions about regions that several passes ask.
#pragma once

#include <algorithm>
#include <string>

#include "ir/program.h"
#include "ir/semantics.h"
#include "ir/visit.h"

namespace tilert::passes {

// Whether a region is all of its buffer, known while compiling.
inline bool is_whole(const ir::Program& program, const ir::Region& region) {
  const ir::Buffer& buffer = program.buffer(region.buffer);
  for (size_t d = 0; d < region.extents.size(); ++d)
    if (!region.offsets[d]->is_constant() || region.offsets[d]->as_int() != 0 || !buffer.shape[d]->is_constant() ||
        region.extents[d] != buffer.shape[d]->as_int())
      return false;
  return true;
}

// All of a tile, whose shape is constant.
inline ir::Region whole_region(const ir::Program& program, ir::BufferId tile) {
  ir::Region out{tile, {}, {}};
  for (ir::Expr extent : program.buffer(tile).shape) {
    out.offsets.push_back(program.arena->index(0));
    out.extents.push_back(extent->as_int());
  }
  return out;
}

// The first ordinal that no statement of the program has.
inline uint32_t next_ordinal(const ir::Program& program) {
  uint32_t next = 1;
  for (const ir::Kernel& kernel : program.kernels)
    ir::for_each_stmt(kernel.body, [&](const ir::Stmt& s) { next = std::max(next, s.ordinal + 1); });
  return next;
}

// Two global buffers may be the same memory (ir::may_share); two tiles are when one holds the other's elements.
inline bool may_overlap(const ir::Program& program, ir::BufferId a, ir::BufferId b) {
  const ir::Buffer &x = program.buffer(a), &y = program.buffer(b);
  return ir::storage_of(program, a) == ir::storage_of(program, b) ||
         (x.scope == ir::Scope::global && y.scope == ir::Scope::global && ir::may_share(x, y));
}

// Whether the statement writes every element of the fragment, and reads none.
inline bool overwrites(const ir::Program& program, const ir::Stmt& s, ir::BufferId fragment) {
  const auto whole = [&](const ir::Region& r) { return r.buffer == fragment && is_whole(program, r); };
  if (const auto* fill = std::get_if<ir::Fill>(&s.node)) return whole(fill->dst);
  if (const auto* copy = std::get_if<ir::Copy>(&s.node)) return whole(copy->dst) && copy->src.buffer != fragment;
  if (const auto* gemm = std::get_if<ir::Gemm>(&s.node))
    return whole(gemm->c) && gemm->accumulate->is_constant() && !gemm->accumulate->bits;
  if (const auto* reduce = std::get_if<ir::Reduce>(&s.node)) return whole(reduce->dst) && !reduce->accumulate;
  if (const auto* made = std::get_if<ir::Reinterpret>(&s.node)) return whole(made->dst);
  return false;
}

// Where a body's only pipelined loop stands, outside other loops; empty, or why there is not one.
inline std::string find_pipelined(const ir::Block& body, size_t* at) {
  *at = body.size();
  for (size_t i = 0; i < body.size(); ++i) {
    const auto* loop = std::get_if<ir::For>(&body[i]->node);
    if (!loop || loop->kind != ir::ForKind::pipelined) continue;
    if (*at != body.size()) return "it has more than one pipelined loop";
    *at = i;
  }
  return *at == body.size() ? "it has no pipelined loop outside of other loops and branches" : "";
}

// Whether the block waits for what other blocks write: nothing behind an acquire or a grid_sync may be read before it.
// Counters of the workspace are the passes' own, who know what is read behind them.
inline bool orders_blocks(const ir::Program& program, const ir::Block& body) {
  bool found = false;
  ir::for_each_stmt(body, [&](const ir::Stmt& s) {
    const auto* a = std::get_if<ir::Atomic>(&s.node);
    found |= (a && ir::acquires(a->order) && !ir::is_workspace(program.buffer(a->to.buffer))) || std::holds_alternative<ir::GridSync>(s.node);
  });
  return found;
}

}  // namespace tilert::passes
