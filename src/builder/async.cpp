// Barriers that count phases, and tensor copies. What they may name is the verifier's matter (ir/verify_async.cpp), but for
// what a region says by itself.
#include "builder/builder.h"
#include "ir/async.h"

namespace tilert::builder {
namespace {

constexpr uint32_t kMaxBarriers = 64;

}  // namespace

tilert_buffer Builder::barriers(uint32_t count, uint32_t arrivals, const tilert_buffer_options& options) {
  return make<tilert_buffer>("barriers", [&]() -> Result<tilert_buffer> {
    TILERT_TRY(need_tile_level());
    if (top().kind != ScopeKind::kernel)
      return make_error(Code::kInvalidProgram, "barriers are set up once: declare them outside of loops and branches");
    if (kernel_.persistent)
      return make_error(Code::kInvalidProgram, "the kernel is persistent, and a tile would find its barriers in any phase: loop over tiles yourself");
    if (count < 1 || count > kMaxBarriers) return make_error(Code::kInvalidArgument, "{} barriers in a row: 1 to {}", count, kMaxBarriers);
    if (arrivals < 1 || arrivals > ir::kMaxArrivals) return make_error(Code::kInvalidArgument, "a phase that completes with {} arrivals: 1 to {}", arrivals, ir::kMaxArrivals);
    if (options.layout != TILERT_LAYOUT_AUTO) return make_error(Code::kInvalidArgument, "barriers have no layout");
    ir::Buffer buffer{fmt::format("barriers{}", buffers_.size()), DType::uint64, ir::Scope::barrier, {program_->arena->index(count)}, {}};
    if (options.name) buffer.name = std::string(options.name, strnlen(options.name, 64));
    buffer.arrivals = arrivals;
    return allocate(std::move(buffer));
  });
}

// A row of one barrier is that barrier.
Result<ir::Access> Builder::barrier_of(const tilert_region* barrier) {
  TILERT_ASSIGN(Place found, place(barrier, "the barrier"));
  const ir::Buffer& buffer = program_->buffers[found.buffer];
  if (buffer.scope != ir::Scope::barrier) return make_error(Code::kInvalidProgram, "the barrier: {} is none; make some with barriers", text_of(found.buffer));
  const int64_t named = found.whole ? buffer.shape[0]->as_int() : found.extents.empty() ? 1 : found.extents[0];
  if (named != 1) return make_error(Code::kInvalidProgram, "the barrier: {} of {} are named: say which one", named, text_of(found.buffer));
  TILERT_TRY(check_bounds(found.buffer, found.offsets, {1}, "the barrier"));
  return ir::Access{found.buffer, std::move(found.offsets)};
}

Code Builder::async_op(std::string_view name, ir::AsyncOpKind kind, const tilert_region* barrier, int64_t number, const tilert_expr* phase) {
  return run(name, [&]() -> Status {
    TILERT_TRY(need_tile_level());
    ir::AsyncOp op{kind};
    op.number = number;
    if (kind <= ir::AsyncOpKind::wait) {
      TILERT_ASSIGN(op.barrier, barrier_of(barrier));
    }
    if (phase) {
      TILERT_ASSIGN(op.value, index_value(*phase, "the phase"));
    }
    append(std::move(op));
    return {};
  });
}

// ---- roles ----

Code Builder::begin_roles(const tilert_roles_options& options) {
  return run("roles", [&]() -> Status {
    TILERT_TRY(need_tile_level());
    if (top().kind != ScopeKind::kernel) return make_error(Code::kInvalidProgram, "roles stand in the kernel itself, outside of loops and branches");
    TILERT_TRY(open(ScopeKind::roles));
    top().roles.issuer_registers = static_cast<int>(std::min<uint32_t>(options.issuer_registers, 1024));
    top().roles.worker_registers = static_cast<int>(std::min<uint32_t>(options.worker_registers, 1024));
    return {};
  });
}

Code Builder::begin_role(tilert_role role) {
  return run("role", [&]() -> Status {
    if (role != TILERT_ROLE_ISSUE && role != TILERT_ROLE_WORK) return make_error(Code::kInvalidArgument, "{} is none of the roles issue, work", role);
    if (top().kind != ScopeKind::roles) return make_error(Code::kInvalidProgram, "a role outside of roles, or inside another one");
    if (top().works) return make_error(Code::kInvalidProgram, "the working role comes last, once");
    if (role == TILERT_ROLE_ISSUE && top().roles.issuers.size() >= ir::kMaxIssuers)
      return make_error(Code::kInvalidProgram, "more than {} issuing roles: each has a warp of one warpgroup", ir::kMaxIssuers);
    return open(role == TILERT_ROLE_WORK ? ScopeKind::worker : ScopeKind::issuer);
  });
}

Code Builder::end_role() {
  return run("end of role", [&]() -> Status {
    const bool works = top().kind == ScopeKind::worker;
    TILERT_TRY(close(works ? ScopeKind::worker : ScopeKind::issuer));
    OpenScope scope = std::move(scopes_.back());
    scopes_.pop_back();
    if (works) top().roles.work = std::move(scope.body), top().works = true;
    else top().roles.issuers.push_back(std::move(scope.body));
    return {};
  });
}

Code Builder::end_roles() {
  return run("end of roles", [&]() -> Status {
    TILERT_TRY(close(ScopeKind::roles));
    if (!top().works) return make_error(Code::kInvalidProgram, "roles without a working one: its threads are the kernel's");
    OpenScope scope = std::move(scopes_.back());
    scopes_.pop_back();
    top().body.push_back(ir::make_stmt(std::move(scope.roles), scope.ordinal, scope.location));
    return {};
  });
}

// The box has the extents of the tile's last two dims.
Code Builder::tensor_copy(const tilert_region* source, const tilert_region* destination, const tilert_region* barrier, bool loads) {
  return run(loads ? "load_tensor" : "store_tensor", [&]() -> Status {
    TILERT_TRY(need_tile_level());
    ir::AsyncOp op{loads ? ir::AsyncOpKind::load : ir::AsyncOpKind::store};
    TILERT_ASSIGN(Place from, place(source, "the source"));
    TILERT_ASSIGN(Place to, place(destination, "the destination"));
    Place &box = loads ? from : to, &tile = loads ? to : from;
    const ir::Buffer &tensor = program_->buffers[box.buffer], &shared = program_->buffers[tile.buffer];
    if (tensor.scope != ir::Scope::global || shared.scope != ir::Scope::shared)
      return make_error(Code::kInvalidProgram, "{} to {}: a tensor copy is between a parameter and a shared tile; others are made by copy", text_of(from.buffer), text_of(to.buffer));
    const size_t rank = shared.shape.size();
    if (tile.whole && rank != 2)
      return make_error(Code::kInvalidProgram, "the tile: {} has {} dims: say which of its matrices by offsets, the last two of them 0", text_of(tile.buffer), rank);
    if (tile.extents.empty())
      for (size_t d = 0; d < rank; ++d) tile.extents.push_back(d + 2 >= rank ? shared.shape[d]->as_int() : 1);
    if (box.extents.empty() || box.symbolic) TILERT_TRY(infer(box, tile, "the box"));
    TILERT_TRY(check_bounds(tile.buffer, tile.offsets, tile.extents, "the tile"));
    op.src = {from.buffer, std::move(from.offsets), std::move(from.extents)};
    op.dst = {to.buffer, std::move(to.offsets), std::move(to.extents)};
    if (loads) {
      TILERT_ASSIGN(op.barrier, barrier_of(barrier));
    }
    TILERT_TRY(use(op.src.buffer, Use::read, "the source"));
    TILERT_TRY(use(op.dst.buffer, Use::write, "the destination"));
    append(std::move(op));
    return {};
  });
}

}  // namespace tilert::builder
