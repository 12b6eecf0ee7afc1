// Finds sums that may stay in parts and gives them a fragment of their own.
#include "passes/partial_sums.h"

#include <optional>

#include "ir/visit.h"
#include "passes/region.h"

namespace tilert::passes {
namespace {

using namespace ir;

bool uses(const Stmt& s, BufferId buffer) {
  if (const auto* a = std::get_if<Alloc>(&s.node)) return a->buffer == buffer;
  for (const BufferUse& use : buffer_uses_deep(s))
    if (use.buffer == buffer) return true;
  return false;
}

// f[i] = f[i] * x, or x * f[i], with nothing else read of or written to f: every part may be scaled by itself.
bool only_scales(const Parallel& loop, BufferId f) {
  VarId read = kNoVar;
  std::vector<Expr> at;
  bool stored = false;
  for (const StmtPtr& s : loop.body) {
    const auto* let = std::get_if<Let>(&s->node);
    const auto* store = std::get_if<Store>(&s->node);
    // What the one returns and the other shows differs from part to part.
    if (std::holds_alternative<Atomic>(s->node) || std::holds_alternative<Report>(s->node) || std::holds_alternative<CallDevice>(s->node))
      return false;
    if (let && !let->value && let->read.buffer == f) {
      if (read != kNoVar) return false;
      read = let->var;
      at = let->read.indices;
    } else if (store && store->to.buffer == f) {
      const Expr v = store->value;
      if (stored || read == kNoVar || store->to.indices != at || v->op != Op::mul) return false;
      const bool left = v->operand[0]->is_variable() && v->operand[0]->var() == read;
      const bool right = v->operand[1]->is_variable() && v->operand[1]->var() == read;
      if (left == right || uses_var(v->operand[left ? 1 : 0], read)) return false;
      stored = true;
    } else if (uses(*s, f)) {
      return false;
    } else if (read != kNoVar) {
      bool elsewhere = false;
      for_each_expr(*s, [&](Expr e) { elsewhere |= uses_var(e, read); });
      if (elsewhere || (!let && !store)) return false;
    }
  }
  return stored;
}

// The one sum into f that the loop holds, where all else that it does with f is scaling.
bool keeps_parts(const Program& program, const For& loop, BufferId f) {
  int sums = 0;
  for (const StmtPtr& s : loop.body) {
    if (!uses(*s, f)) continue;
    if (const auto* r = std::get_if<Reduce>(&s->node)) {
      const bool sum = r->op == ReduceOp::sum || r->op == ReduceOp::abssum;
      if (!sum || !r->accumulate || r->dst.buffer != f || r->src.buffer == f || !is_whole(program, r->dst)) return false;
      ++sums;
    } else if (const auto* p = std::get_if<Parallel>(&s->node)) {
      if (!only_scales(*p, f)) return false;
    } else {
      return false;
    }
  }
  return sums == 1;
}

bool is_zero_fill(const Program& program, const Stmt& s, BufferId f) {
  const auto* fill = std::get_if<Fill>(&s.node);
  return fill && fill->dst.buffer == f && is_whole(program, fill->dst) && fill->value->is_constant() && fill->value->bits == 0;
}

Block rename(const Block& block, BufferId from, BufferId to) {
  return rewrite_block(block, [&](const StmtPtr& s) -> Block {
    Stmt copy = *s;
    const auto change = [&](BufferId& id) { if (id == from) id = to; };
    std::visit(Overload{[&](Fill& n) { change(n.dst.buffer); }, [&](Reduce& n) { change(n.dst.buffer); },
                        [&](Let& n) { change(n.read.buffer); }, [&](Store& n) { change(n.to.buffer); }, [](auto&) {}},
               copy.node);
    return {std::make_shared<const Stmt>(std::move(copy))};
  });
}

class Rewriter {
 public:
  Rewriter(Program& program, KernelPlan& plan) : program_(program), plan_(plan) {}

  void run(Block& block) {
    for (size_t at = 0; at < block.size(); ++at) {
      const StmtPtr s = block[at];
      const auto* loop = std::get_if<For>(&s->node);
      if (!loop) continue;
      for (const StmtPtr& inner : loop->body) {
        const auto* r = std::get_if<Reduce>(&inner->node);
        if (!r || !keeps(*loop, r->dst.buffer)) continue;
        const auto fill = zero_before(block, at, r->dst.buffer);
        if (fill) {
          split(block, *fill, at, r->dst.buffer);
          ++at;
          break;
        }
      }
    }
  }

 private:
  bool keeps(const For& loop, BufferId f) const {
    const Buffer& b = program_.buffer(f);
    const bool wide = b.dtype == DType::f32 || b.dtype == DType::int32 || b.dtype == DType::int64;
    return b.scope == Scope::fragment && wide && keeps_parts(program_, loop, f);
  }

  // The fill with zeros that f last met before the loop.
  std::optional<size_t> zero_before(const Block& block, size_t at, BufferId f) const {
    for (size_t i = at; i-- > 0;) {
      if (is_zero_fill(program_, *block[i], f)) return i;
      if (uses(*block[i], f)) return std::nullopt;
    }
    return std::nullopt;
  }

  void split(Block& block, size_t fill, size_t at, BufferId f) {
    Buffer parts = program_.buffer(f);
    parts.name = "parts";
    const BufferId p = program_.add_buffer(std::move(parts));
    plan_.partial.insert(p);
    const StmtPtr zero = rename({block[fill]}, f, p)[0], loop = rename({block[at]}, f, p)[0];
    Copy complete;
    for (Region* r : {&complete.src, &complete.dst}) {
      r->buffer = r == &complete.src ? p : f;
      for (Expr extent : program_.buffer(f).shape) {
        r->offsets.push_back(program_.arena->index(0));
        r->extents.push_back(extent->as_int());
      }
    }
    const uint32_t ordinal = block[at]->ordinal, location = block[at]->location;
    block[at] = loop;
    block.insert(block.begin() + static_cast<int64_t>(at) + 1, make_stmt(std::move(complete), ordinal, location));
    block[fill] = zero;
    block.insert(block.begin() + static_cast<int64_t>(fill), make_stmt(Alloc{p}, zero->ordinal, zero->location));
  }

  Program& program_;
  KernelPlan& plan_;
};

}  // namespace

Result<Module> partial_sums(Module module, const PassContext&) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k)
    Rewriter(module.program, module.plans[k]).run(module.program.kernels[k].body);
  return module;
}

}  // namespace tilert::passes
