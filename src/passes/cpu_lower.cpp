// The walk over a kernel's statements, control flow, and where tiles lie.
#include "passes/cpu_lower.h"

#include <algorithm>
#include <bit>

#include "arith/build.h"
#include "ir/async.h"
#include "ir/threads.h"
#include "ir/visit.h"
#include "passes/contract.h"
#include "passes/cpu_lowering.h"
#include "passes/expand.h"
#include "passes/hints.h"
#include "passes/packed_tiles.h"
#include "passes/persist.h"
#include "passes/specialize.h"
#include "passes/structure.h"
#include "passes/tables.h"
#include "support/refusal.h"

namespace tilert::passes {

using namespace ir;

namespace {
constexpr int64_t kPage = 4096;
constexpr int64_t kLine = 64;
int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }
}  // namespace

std::vector<Expr> element_strides(const Program& program, BufferId id) {
  const Buffer& b = program.buffer(id);
  if (b.scope == Scope::global) return b.strides;
  std::vector<Expr> strides(b.shape.size());
  int64_t stride = 1;
  for (size_t d = b.shape.size(); d-- > 0;) {
    strides[d] = program.arena->index(stride);
    stride *= b.shape[d]->as_int();
  }
  return strides;
}

Expr flat_offset(const Program& program, const Access& access) {
  Expr offset = program.arena->index(0);
  const std::vector<Expr> strides = element_strides(program, access.buffer);
  for (size_t d = 0; d < strides.size(); ++d) {
    offset = arith::add(*program.arena, offset, arith::mul(*program.arena, access.indices[d], strides[d]));
  }
  return offset;
}

std::vector<Expr> open_range_conditions(const Program& program, arith::Prover& prover, const Access& access) {
  std::vector<Expr> open;
  const Buffer& b = program.buffer(access.buffer);
  if (b.scope != Scope::global) return open;
  Arena& arena = *program.arena;
  for (size_t d = 0; d < b.shape.size(); ++d) {
    if (d == 0 && is_addressed(b)) {
      open.push_back(prover.simplify(arith::lt(arena, arena.index(0), access.indices[0])));
      continue;
    }
    const Expr low = arith::le(arena, arena.index(0), access.indices[d]), high = arith::lt(arena, access.indices[d], b.shape[d]);
    for (Expr condition : {low, high}) {
      const Expr simple = prover.simplify(condition);
      if (!simple->is_constant() || simple->as_int() == 0) open.push_back(simple);
    }
  }
  return open;
}

void CpuLowering::tile(BufferId id) {
  const Buffer& b = program_.buffer(id);
  if (b.scope != Scope::shared && b.scope != Scope::fragment) return;
  if (kernel_.scratch.count(id)) return;
  if (b.view_of != kNoBuffer) {
    tile(b.view_of);
    kernel_.scratch[id] = kernel_.scratch.at(b.view_of);
    return;
  }
  const int64_t bytes = ir::tile_bytes(program_, id);
  kernel_.scratch[id] = kernel_.tile_bytes;
  kernel_.tile_bytes = round_up(kernel_.tile_bytes + bytes, kLine);
}

BufferId CpuLowering::temporary(DType dtype, const std::vector<int64_t>& shape) {
  Buffer b;
  b.name = "temporary";
  b.dtype = dtype;
  b.scope = Scope::shared;
  for (int64_t extent : shape) b.shape.push_back(index(extent));
  const BufferId id = program_.add_buffer(std::move(b));
  tile(id);
  return id;
}

Region CpuLowering::whole(BufferId buffer) {
  Region r{buffer, {}, {}};
  for (Expr e : program_.buffer(buffer).shape) {
    r.offsets.push_back(index(0));
    r.extents.push_back(e->as_int());
  }
  return r;
}

int CpuLowering::power_of_two_lanes(Expr extent) const {
  if (!extent->is_constant() || extent->as_int() >= lanes_) return lanes_;
  return extent->as_int() < 2 ? 1 : static_cast<int>(std::bit_floor(static_cast<uint64_t>(extent->as_int())));
}

Result<CpuBlock> CpuLowering::lower(const Block& block) {
  CpuBlock out;
  for (const StmtPtr& stmt : block) TILERT_TRY(lower(stmt, out));
  return out;
}

Status CpuLowering::lower(const StmtPtr& stmt, Out& out) {
  const uint32_t outer = ordinal_;
  ordinal_ = stmt->ordinal;
  for (const BufferUse& use : buffer_uses(*stmt)) {
    if (std::holds_alternative<Let>(stmt->node) || std::holds_alternative<Store>(stmt->node) ||
        std::holds_alternative<Inline>(stmt->node) || std::holds_alternative<Atomic>(stmt->node) ||
        std::holds_alternative<CallDevice>(stmt->node))
      tile(use.buffer);
  }
  // No program of the tile language holds them here.
  const auto refused = [&](const char* what) -> Status {
    return make_error(Code::kInternal, "{}: {} cannot be compiled for a CPU; please report it with the program", describe(program_, *stmt),
                      what);
  };
  const auto plainly = [&]() -> Status {
    emit(out, stmt);
    return {};
  };
  Status status = std::visit(
      Overload{
          [&](const Alloc& n) -> Status {
            // An array of the block is one tile for all that the block runs; parallel declares its own.
            Scope& scope = program_.buffers[n.buffer].scope;
            if (scope == Scope::local) scope = Scope::shared;
            if (scope == Scope::scalar) kernel_.locals.emplace(n.buffer, 1);
            return {};
          },
          [&](const Copy& n) { return lower_copy(n, out); },
          [&](const Fill& n) { return lower_fill(n, out); },
          [&](const Gemm& n) { return lower_gemm(n, out); },
          [&](const Reduce& n) { return lower_reduce(n, out); },
          [&](const Reinterpret&) { return refused("a change of a fragment's shape, which a CPU does not need,"); },
          [&](const Parallel& n) { return lower_parallel(n, out); },
          [&](const For& n) { return lower_for(stmt, n, out); },
          [&](const If& n) { return lower_if(n, out); },
          [&](const While& n) { return lower_while(n, out); },
          [&](const Jump&) { return plainly(); },
          [&](const Atomic&) { return plainly(); },
          [&](const GridSync&) {
            kernel_.meets = true;
            return plainly();
          },
          [&](const Report&) { return plainly(); },
          [&](const Let&) { return plainly(); },
          [&](const Store&) { return plainly(); },
          [&](const Inline& n) -> Status {
            if (n.target != "llvm")
              return refusal(fmt::format("{}: inline source for '{}' cannot be compiled for a CPU", describe(program_, *stmt), n.target),
                             "give a text in \"llvm\"");
            emit(out, stmt);
            return {};
          },
          [&](const CallDevice&) { return plainly(); },
          [&](const Group& n) -> Status {
            for (const StmtPtr& inner : n.body) TILERT_TRY(lower(inner, out));
            return {};
          },
          [&](const Fold&) { return refused("a fold, which expand makes into loops,"); },
          [&](const Scan&) { return refused("a scan, which expand makes into loops,"); },
          [&](const Pick&) { return refused("a pick, which expand makes into loops,"); },
          [&](const Sort&) { return refused("a sort, which expand makes into loops,"); },
          [&](const ThreadOp&) { return refused("an operation of threads, which part_threads makes into loops,"); },
          [&](const Roles&) { return refused("roles, which part_async makes into loops,"); },
          [&](const AsyncOp&) { return Status(); },  // a wait: what it waits for has happened
          [&](const Move&) { return refused("a register move"); }, [&](const Call&) { return refused("a device primitive"); },
      },
      stmt->node);
  ordinal_ = outer;
  return status;
}

Status CpuLowering::lower_for(const StmtPtr&, const For& loop, Out& out) {
  TILERT_ASSIGN(const bool fused, fuse_product_loop(loop, out));
  return fused ? Status() : lower_plain_for(loop, out);
}

Status CpuLowering::lower_plain_for(const For& loop, Out& out) {
  CpuFor result{loop, {}};
  result.loop.body.clear();
  result.loop.begin = prover_.simplify(loop.begin);
  result.loop.end = prover_.simplify(loop.end);
  {
    arith::FactsScope scope(facts_);
    facts_.bound_loop(program_.var(loop.var), loop.begin, loop.end, loop.step);
    TILERT_ASSIGN(result.body, lower(loop.body));
  }
  emit(out, std::move(result));
  return {};
}

Status CpuLowering::lower_while(const While& loop, Out& out) {
  CpuWhile result{prover_.simplify(loop.condition), {}, {}};
  {
    arith::FactsScope scope(facts_);
    TILERT_ASSIGN(result.head, lower(loop.head));
    TILERT_ASSIGN(result.body, lower(loop.body));
  }
  emit(out, std::move(result));
  return {};
}

Status CpuLowering::lower_if(const If& n, Out& out) {
  const Expr condition = prover_.simplify(n.condition);
  CpuIf result{condition, {}, {}};
  if (!condition->is_constant() || condition->as_int() != 0) {
    arith::FactsScope scope(facts_);
    facts_.assume(condition);
    TILERT_ASSIGN(result.then_body, lower(n.then_body));
  }
  if (!condition->is_constant() || condition->as_int() == 0) {
    arith::FactsScope scope(facts_);
    facts_.assume_not(condition);
    TILERT_ASSIGN(result.else_body, lower(n.else_body));
  }
  emit(out, std::move(result));
  return {};
}

bool meets(const CpuStmt& stmt) {
  const auto any = [](const CpuBlock& block) { return std::any_of(block.begin(), block.end(), [](const CpuStmt& s) { return meets(s); }); };
  if (const auto* s = std::get_if<StmtPtr>(&stmt.node)) return std::holds_alternative<GridSync>((*s)->node);
  if (const auto* loop = std::get_if<CpuFor>(&stmt.node)) return any(loop->body);
  if (const auto* loop = std::get_if<CpuWhile>(&stmt.node)) return any(loop->head) || any(loop->body);
  const auto* branch = std::get_if<CpuIf>(&stmt.node);
  return branch && (any(branch->then_body) || any(branch->else_body));
}

namespace {

// Private arrays that would crowd a small stack stand in scratch, as tiles do; all where blocks meet.
void place_large_locals(const Program& program, CpuKernel& kernel) {
  const int64_t kMostOnStack = kernel.meets ? 0 : 1024;
  for (const auto& [id, lanes] : kernel.locals) {
    const Buffer& b = program.buffer(id);
    int64_t bytes = lanes * 8;  // of the widest register type
    for (Expr e : b.shape) bytes *= e->as_int();
    if (bytes <= kMostOnStack) continue;
    kernel.scratch[id] = kernel.tile_bytes;
    kernel.tile_bytes = round_up(kernel.tile_bytes + bytes, kLine);
  }
}

void hold_values(const CpuBlock& block, CpuKernel& kernel) {
  const auto hold = [&](VarId var) {
    if (var != kNoVar && kernel.held.emplace(var, kernel.tile_bytes).second) kernel.tile_bytes += 8;
  };
  for (const CpuStmt& stmt : block) {
    if (const auto* s = std::get_if<StmtPtr>(&stmt.node)) {
      if (const auto* let = std::get_if<Let>(&(*s)->node)) hold(let->var);
      if (const auto* atomic = std::get_if<Atomic>(&(*s)->node)) hold(atomic->old);
      if (const auto* call = std::get_if<CallDevice>(&(*s)->node)) hold(call->var);
    } else if (const auto* loop = std::get_if<CpuFor>(&stmt.node)) {
      if (meets(stmt)) hold(loop->loop.var);
      hold_values(loop->body, kernel);
    } else if (const auto* again = std::get_if<CpuWhile>(&stmt.node)) {
      hold_values(again->head, kernel);
      hold_values(again->body, kernel);
    } else if (const auto* branch = std::get_if<CpuIf>(&stmt.node)) {
      hold_values(branch->then_body, kernel);
      hold_values(branch->else_body, kernel);
    }
  }
}

// What a block has computed outlives a meeting in memory; how many blocks there are must be known from dims.
Status keep_state(const Program& program, size_t index, CpuKernel& kernel) {
  for (Expr extent : program.kernels[index].grid) {
    bool of_dims = true;
    for_each_node(extent, [&](Expr n) { of_dims &= !n->is_variable() || program.vars[n->var()].kind == VarKind::dim; });
    if (!of_dims)
      return refusal(fmt::format("kernel '{}': on a CPU, a grid whose blocks meet has extents of dims and constants",
                                 program.kernels[index].name),
                     "give the scalar that it depends on as a dim");
  }
  hold_values(kernel.body, kernel);
  return {};
}

BufferId add_state(Program& program, size_t index, int64_t tile_bytes) {
  Arena& a = *program.arena;
  Expr blocks = a.index(1);
  for (Expr extent : program.kernels[index].grid) blocks = arith::mul(a, blocks, arith::max(a, extent, 0));
  const Expr words = arith::mul(a, arith::ceildiv(a, arith::mul(a, blocks, 8), kPage), kPage);
  return program.add_workspace("blocks", DType::uint8, {arith::add(a, words, arith::mul(a, blocks, tile_bytes))}, false);
}

}  // namespace

Result<CpuProgram> cpu_lower(Module module, const PassContext& context, int lanes) {
  TILERT_ASSIGN(Module found, tables(std::move(module), context));
  TILERT_ASSIGN(Module taken, take_hints(std::move(found), context));
  ir::part_async(taken.program);
  ir::part_threads(taken.program);
  TILERT_ASSIGN(Module counted, persist(std::move(taken), context));
  TILERT_ASSIGN(Module expanded, expand(std::move(counted), context));
  TILERT_ASSIGN(Module unpacked, unpack_operands(std::move(expanded), context));
  TILERT_ASSIGN(Module structured, structure(std::move(unpacked), context));
  TILERT_ASSIGN(Module contracted, contract(std::move(structured), context));
  TILERT_ASSIGN(Module learned, learn_dims(std::move(contracted), context));
  TILERT_ASSIGN(Module judged, judge_hints(std::move(learned), context));
  CpuProgram out{std::move(judged), {}};
  for (size_t i = 0; i < out.module.program.kernels.size(); ++i) {
    const Block body = out.module.program.kernels[i].body;
    CpuKernel kernel;
    CpuLowering lowering(out, kernel, body, lanes, out.module.plans[i].fixed_order);
    TILERT_ASSIGN(kernel.body, lowering.lower(body));
    place_large_locals(out.module.program, kernel);
    if (kernel.meets) TILERT_TRY(keep_state(out.module.program, i, kernel));
    kernel.tile_bytes = round_up(kernel.tile_bytes, kPage);
    if (kernel.meets) kernel.state = add_state(out.module.program, i, kernel.tile_bytes);
    out.kernels.push_back(std::move(kernel));
  }
  return out;
}

}  // namespace tilert::passes
