// Loops over threads, and what threads do together. Where they may meet is the verifier's matter (ir/verify_threads.cpp).
#include "builder/builder.h"
#include "ir/words.h"

namespace tilert::builder {

Status Builder::need_threads() const {
  TILERT_TRY(need_statements());
  const OpenScope* loop = enclosing(ScopeKind::parallel);
  if (loop && loop->threads) return {};
  return make_error(Code::kInvalidProgram, "this stands inside threads only: open the loop with begin_threads");
}

Code Builder::begin_threads(tilert_expr* thread) {
  return run("threads", [&]() -> Status {
    TILERT_TRY(need_tile_level());
    if (!thread) return make_error(Code::kInvalidArgument, "thread is NULL: give room for the thread's number");
    const int64_t fixed = kernel_.hints.value(ir::HintKind::threads_fixed);
    if (fixed == 0)
      return make_error(Code::kInvalidProgram,
                        "the kernel's number of threads is open: fix it with the hint threads_fixed, or name elements with parallel");
    TILERT_TRY(open(ScopeKind::parallel));
    top().extents = {fixed};
    top().threads = true;
    ir::VarId var;
    TILERT_ASSIGN(*thread, add_variable(ir::VarKind::loop, DType::index, "thread", {0, fixed - 1}, &var));
    top().vars.push_back(var);
    return {};
  });
}

Code Builder::end_threads() {
  return run("end of threads", [&]() -> Status {
    TILERT_TRY(close(ScopeKind::parallel, true));
    OpenScope scope = std::move(scopes_.back());
    scopes_.pop_back();
    ir::Parallel loop{std::move(scope.vars), std::move(scope.extents), std::move(scope.body), contract_, true};
    top().body.push_back(ir::make_stmt(std::move(loop), scope.ordinal, scope.location));
    return {};
  });
}

tilert_expr Builder::thread_id() {
  return make<tilert_expr>("thread_id", [&]() -> Result<tilert_expr> {
    TILERT_TRY(need_threads());
    const OpenScope* loop = enclosing(ScopeKind::parallel);
    return add_expr(program_->var(loop->vars[0]), {static_cast<uint32_t>(loop - scopes_.data()), loop->serial});
  });
}

tilert_expr Builder::shuffle(tilert_shuffle kind, tilert_expr x, tilert_expr lane, uint32_t width) {
  return make<tilert_expr>("shuffle", [&]() -> Result<tilert_expr> {
    TILERT_TRY(need_threads());
    if (kind < TILERT_SHUFFLE_INDEX || kind > TILERT_SHUFFLE_XOR)
      return make_error(Code::kInvalidArgument, "{} is none of the shuffles index, up, down, xor", kind);
    TILERT_ASSIGN(const Value found, value(x, "the value"));
    if (!found.expr) return make_error(Code::kInvalidProgram, "the value is a literal, the same in every thread: give it a dtype");
    ir::ThreadOp op{static_cast<ir::ThreadOpKind>(kind - TILERT_SHUFFLE_INDEX)};
    op.value = found.expr;
    TILERT_ASSIGN(op.lane, index_value(lane, "the lane"));
    op.number = width == 0 ? 32 : width;
    TILERT_ASSIGN(const tilert_expr id, add_variable(ir::VarKind::let, found.expr->dtype, "got", {}, &op.var));
    append(std::move(op));
    drop_label();
    return id;
  });
}

tilert_expr Builder::vote(tilert_vote kind, tilert_expr predicate) {
  return make<tilert_expr>("vote", [&]() -> Result<tilert_expr> {
    TILERT_TRY(need_threads());
    if (kind < TILERT_VOTE_ALL || kind > TILERT_VOTE_BALLOT)
      return make_error(Code::kInvalidArgument, "{} is none of the votes all, any, ballot", kind);
    ir::ThreadOp op{static_cast<ir::ThreadOpKind>(static_cast<int>(ir::ThreadOpKind::all) + kind - TILERT_VOTE_ALL)};
    TILERT_ASSIGN(op.value, typed(predicate, DType::boolean, "what is voted on"));
    const DType gives = kind == TILERT_VOTE_BALLOT ? DType::uint32 : DType::boolean;
    TILERT_ASSIGN(const tilert_expr id, add_variable(ir::VarKind::let, gives, "vote", {}, &op.var));
    append(std::move(op));
    drop_label();
    return id;
  });
}

Code Builder::thread_statement(std::string_view name, const ir::ThreadOp& op) {
  return run(name, [&]() -> Status {
    TILERT_TRY(need_threads());
    append(op);
    return {};
  });
}

Code Builder::sync_threads(uint32_t barrier, uint32_t threads) {
  ir::ThreadOp op{ir::ThreadOpKind::sync};
  op.number = barrier;
  op.count = barrier == 0 ? 0 : threads;
  return thread_statement("sync_threads", op);
}

Code Builder::fence(tilert_order_scope scope) {
  ir::ThreadOp op{ir::ThreadOpKind::fence};
  op.scope = static_cast<ir::MemoryScope>(scope);
  if (scope >= TILERT_ORDER_DEVICE && scope <= TILERT_ORDER_SYSTEM) return thread_statement("fence", op);
  return run("fence", [&]() -> Status { return make_error(Code::kInvalidArgument, "scope {} is none of device, block, system", scope); });
}

Code Builder::copy_async(const tilert_region* source, const tilert_region* destination, uint32_t count) {
  return run("copy_async", [&]() -> Status {
    TILERT_TRY(need_threads());
    ir::ThreadOp op{ir::ThreadOpKind::copy};
    op.count = count;
    TILERT_ASSIGN(op.src, access(source, "the source"));
    TILERT_ASSIGN(op.dst, access(destination, "the destination"));
    if (ir::is_table(program_->buffers[op.src.buffer]) && op.src.indices.size() == 1)
      return make_error(Code::kInvalidProgram, "the source: tensors of the table {} have one element each: read it, and store what it is", text_of(op.src.buffer));
    std::vector<int64_t> extents(op.dst.indices.size(), 1);
    if (!extents.empty()) extents.back() = count;
    TILERT_TRY(check_bounds(op.dst.buffer, op.dst.indices, extents, "the destination"));
    TILERT_TRY(use(op.src.buffer, Use::read, "the source"));
    TILERT_TRY(use(op.dst.buffer, Use::write, "the destination"));
    TILERT_TRY(check_race(op.dst));
    append(std::move(op));
    return {};
  });
}

Code Builder::commit_copies() { return thread_statement("commit_copies", {ir::ThreadOpKind::commit}); }

Code Builder::wait_copies(uint32_t pending) {
  ir::ThreadOp op{ir::ThreadOpKind::wait};
  op.number = pending;
  return thread_statement("wait_copies", op);
}

}  // namespace tilert::builder
