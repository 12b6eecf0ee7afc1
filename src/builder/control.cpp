// Scopes: begin and end of loops and branches.
#include "builder/builder.h"
#include "ir/visit.h"
#include "ir/words.h"

namespace tilert::builder {
namespace {

constexpr size_t kMaxDepth = 64;
constexpr uint32_t kMaxParallelRank = 6;
constexpr uint32_t kMaxStages = 16;
constexpr int64_t kMaxPoints = int64_t{1} << 24;

}  // namespace

const Builder::OpenScope* Builder::enclosing(ScopeKind kind) const {
  for (size_t i = scopes_.size(); i-- > 0;)
    if (scopes_[i].kind == kind) return &scopes_[i];
  return nullptr;
}

Status Builder::need_kernel() const {
  if (scopes_.back().kind == ScopeKind::roles) return make_error(Code::kInvalidProgram, "this stands between roles: begin one with begin_role");
  if (scopes_.size() > 1) return {};
  return make_error(Code::kInvalidProgram, "this stands inside a kernel only: open one with begin_kernel");
}

Status Builder::need_statements() const {
  TILERT_TRY(need_kernel());
  if (!enclosing(ScopeKind::combine)) return {};
  return make_error(Code::kInvalidProgram, "this cannot stand inside combine, which takes values alone: end it first");
}

Status Builder::need_tile_level() const {
  TILERT_TRY(need_statements());
  if (!enclosing(ScopeKind::parallel)) return {};
  return make_error(Code::kInvalidProgram, "this cannot stand inside {}: move it out of the loop",
                    scope_name(*enclosing(ScopeKind::parallel)));
}

Builder::Lifetime Builder::here() const { return {static_cast<uint32_t>(scopes_.size() - 1), scopes_.back().serial}; }

Status Builder::check_alive(const Lifetime& life, std::string_view what, std::string_view name) const {
  if (life.depth < scopes_.size() && scopes_[life.depth].serial == life.serial) return {};
  return make_error(Code::kInvalidProgram, "{} is used after {} ended", what, name);
}

bool Builder::under_if(uint32_t depth) const {
  for (size_t i = depth + 1; i < scopes_.size(); ++i)
    if (scopes_[i].kind == ScopeKind::then || scopes_[i].kind == ScopeKind::otherwise || scopes_[i].kind == ScopeKind::repeat ||
        scopes_[i].kind == ScopeKind::issuer || scopes_[i].kind == ScopeKind::worker)
      return true;
  return false;
}

bool Builder::in_loop() const {
  for (const OpenScope& scope : scopes_)
    if (scope.kind == ScopeKind::serial || scope.kind == ScopeKind::pipelined || scope.kind == ScopeKind::head) return true;
  return false;
}

// Whether what is appended now may be passed over by a jump made inside the scope at `depth`, or inside the kernel.
bool Builder::passed_jump(uint32_t depth) const {
  bool found = false;
  for (size_t i = depth; i < scopes_.size(); ++i)
    ir::for_each_stmt(scopes_[i].body, [&](const ir::Stmt& s) { found |= std::holds_alternative<ir::Jump>(s.node); });
  return found;
}

// When the outermost loop is closed: what was in doubt because of jumps to come is an error if none came.
Status Builder::settle_doubt() {
  if (!doubt_ || in_loop()) return {};
  Error doubt = std::move(*doubt_);
  doubt_.reset();
  doubt_named_ = false;
  if (jumps_ > 0) return {};
  error_ = std::move(doubt);  // it names its own place
  return {};
}

Status Builder::open(ScopeKind kind) {
  if (scopes_.size() >= kMaxDepth) return make_error(Code::kInvalidProgram, "scopes nest more than {} deep", kMaxDepth);
  OpenScope scope;
  scope.kind = kind;
  scope.serial = next_scope_++;
  scope.location = location();
  scope.ordinal = next_ordinal_++;
  scopes_.push_back(std::move(scope));
  return {};
}

namespace {
constexpr const char* kScopeNames[] = {"program", "kernel", "parallel", "serial", "pipelined", "if", "else", "combine",
                                       "while", "while's body", "roles", "issuing role", "working role"};
}  // namespace

const char* Builder::scope_name(const OpenScope& scope) {
  return scope.threads ? "threads" : kScopeNames[static_cast<size_t>(scope.kind)];
}

std::string Builder::opened_at(const OpenScope& scope) const {
  const ir::Location& at = program_->locations[scope.location];
  std::string out = at.file.empty() ? "" : fmt::format("{}:{}", at.file, at.line);
  if (!at.label.empty()) out += fmt::format("{}'{}'", out.empty() ? "" : " ", at.label);
  return out.empty() ? out : " opened at " + out;
}

// The innermost scope is of this kind, and is left to the caller to take off.
Status Builder::close(ScopeKind kind, bool threads) {
  const ScopeKind mine = top().kind;
  if ((mine == kind && top().threads == threads) || (kind == ScopeKind::then && mine == ScopeKind::otherwise)) return {};
  const char* wanted = threads ? "threads" : kScopeNames[static_cast<size_t>(kind)];
  if (mine == ScopeKind::program) return make_error(Code::kInvalidProgram, "end of {}, but no scope is open", wanted);
  return make_error(Code::kInvalidProgram, "end of {}, but the innermost open scope is the {}{}", wanted, scope_name(top()),
                    opened_at(top()));
}

void Builder::append(ir::Stmt::Node node) {
  top().body.push_back(ir::make_stmt(std::move(node), next_ordinal_, location()));
  ++next_ordinal_;
}

Result<tilert_expr> Builder::add_variable(ir::VarKind kind, DType dtype, std::string name, Range range,
                                          ir::VarId* var) {
  *var = program_->add_var(kind, dtype, std::move(name));
  if (dtype == DType::index) ranges_[*var] = range;
  return add_expr(program_->var(*var), here());
}

Code Builder::begin_parallel(const tilert_expr* extents, uint32_t rank, tilert_expr* indices) {
  return run("parallel", [&]() -> Status {
    TILERT_TRY(need_statements());
    if (const OpenScope* loop = enclosing(ScopeKind::parallel))
      return make_error(Code::kInvalidProgram, "parallel inside {}", loop->threads ? "threads: move it out of the loop, or let a "
                        "serial loop take the elements of a thread" : "parallel: give one loop all the extents");
    if (rank < 1 || rank > kMaxParallelRank || !extents || !indices)
      return make_error(Code::kInvalidArgument, "rank is {}: give 1 to {} extents and room for their indices", rank,
                        kMaxParallelRank);
    std::vector<int64_t> sizes;
    int64_t points = 1;
    for (uint32_t i = 0; i < rank; ++i) {
      TILERT_ASSIGN(const int64_t size, constant_index(extents[i], fmt::format("extent {}", i)));
      if (size < 1 || size > kMaxPoints || (points *= size) > kMaxPoints)
        return make_error(Code::kInvalidProgram,
                          "extent {} is {}: extents are positive, and a loop has at most {} points", i, size,
                          kMaxPoints);
      sizes.push_back(size);
    }
    TILERT_TRY(open(ScopeKind::parallel));
    top().extents = sizes;
    for (uint32_t i = 0; i < rank; ++i) {
      ir::VarId var;
      TILERT_ASSIGN(indices[i],
                    add_variable(ir::VarKind::loop, DType::index, fmt::format("p{}", i), {0, sizes[i] - 1}, &var));
      top().vars.push_back(var);
    }
    return {};
  });
}

Code Builder::end_parallel() {
  return run("end of parallel", [&]() -> Status {
    TILERT_TRY(close(ScopeKind::parallel));
    OpenScope scope = std::move(scopes_.back());
    scopes_.pop_back();
    ir::Parallel loop{std::move(scope.vars), std::move(scope.extents), std::move(scope.body), contract_};
    top().body.push_back(ir::make_stmt(std::move(loop), scope.ordinal, scope.location));
    return {};
  });
}

Status Builder::do_begin_loop(ScopeKind kind, ir::For loop, tilert_expr* index) {
  Range range;
  const auto begin = constant_value(loop.begin), end = constant_value(loop.end);
  if (begin && end) {
    // The last value taken; a loop without trips bounds nothing.
    const __int128 distance =
        loop.step > 0 ? static_cast<__int128>(*end) - *begin : static_cast<__int128>(*begin) - *end;
    const __int128 stride = loop.step > 0 ? static_cast<__int128>(loop.step) : -static_cast<__int128>(loop.step);
    if (loop.kind == ir::ForKind::unrolled && distance > stride * ir::kMaxUnroll)
      return make_error(Code::kInvalidProgram, "a loop from {} to {} by {} is too long to unroll: at most {} "
                        "iterations, or use serial", *begin, *end, loop.step, ir::kMaxUnroll);
    if (distance > 0) {
      const auto last = static_cast<int64_t>(*begin + (distance - 1) / stride * loop.step);
      range = loop.step > 0 ? Range{*begin, last} : Range{last, *begin};
    }
  }
  TILERT_TRY(open(kind));
  ir::VarId var;
  TILERT_ASSIGN(*index, add_variable(ir::VarKind::loop, DType::index, "i", range, &var));
  loop.var = var;
  top().loop = std::move(loop);
  return {};
}

Code Builder::begin_serial(tilert_loop kind, tilert_expr begin, tilert_expr end, tilert_expr step, tilert_expr* index) {
  return run(kind == TILERT_LOOP_UNROLL ? "unroll" : "serial", [&]() -> Status {
    TILERT_TRY(need_statements());
    if (kind != TILERT_LOOP_SERIAL && kind != TILERT_LOOP_UNROLL)
      return make_error(Code::kInvalidArgument, "{} is not a kind of loop", kind);
    if (!index) return make_error(Code::kInvalidArgument, "index is NULL: give room for the loop's index");
    ir::For loop{ir::ForKind::serial, ir::kNoVar, nullptr, nullptr};
    loop.kind = kind == TILERT_LOOP_UNROLL ? ir::ForKind::unrolled : ir::ForKind::serial;
    loop.begin = program_->arena->index(0);
    if (!is_none(begin)) {
      TILERT_ASSIGN(loop.begin, index_value(begin, "begin"));
    }
    TILERT_ASSIGN(loop.end, index_value(end, "end"));
    if (!is_none(step)) {
      TILERT_ASSIGN(const ir::Expr by, index_value(step, "step"));
      const auto number = constant_value(by);
      if (!number || *number == 0)
        return make_error(Code::kInvalidProgram, "step {}: it is a constant, not 0",
                          number ? "is 0" : "is not a constant");
      loop.step = *number;
    }
    return do_begin_loop(ScopeKind::serial, std::move(loop), index);
  });
}

Code Builder::begin_pipelined(tilert_expr extent, uint32_t stages, tilert_expr* index) {
  return run("pipelined", [&]() -> Status {
    TILERT_TRY(need_tile_level());
    if (!index) return make_error(Code::kInvalidArgument, "index is NULL: give room for the loop's index");
    if (stages > kMaxStages)
      return make_error(Code::kInvalidArgument, "stages is {}: give 0 (recommended) to {}", stages, kMaxStages);
    ir::For loop{ir::ForKind::serial, ir::kNoVar, nullptr, nullptr};
    loop.kind = ir::ForKind::pipelined;
    loop.begin = program_->arena->index(0);
    loop.stages = static_cast<int>(stages);
    TILERT_ASSIGN(loop.end, index_value(extent, "the extent"));
    return do_begin_loop(ScopeKind::pipelined, std::move(loop), index);
  });
}

Code Builder::end_serial() {
  return run("end of serial", [&]() -> Status {
    TILERT_TRY(close(ScopeKind::serial));
    OpenScope scope = std::move(scopes_.back());
    scopes_.pop_back();
    scope.loop.body = std::move(scope.body);
    top().body.push_back(ir::make_stmt(std::move(scope.loop), scope.ordinal, scope.location));
    return settle_doubt();
  });
}

Code Builder::end_pipelined() {
  return run("end of pipelined", [&]() -> Status {
    TILERT_TRY(close(ScopeKind::pipelined));
    OpenScope scope = std::move(scopes_.back());
    scopes_.pop_back();
    scope.loop.body = std::move(scope.body);
    top().body.push_back(ir::make_stmt(std::move(scope.loop), scope.ordinal, scope.location));
    return settle_doubt();
  });
}

Code Builder::begin_while() {
  return run("while", [&]() -> Status {
    TILERT_TRY(need_kernel());
    return open(ScopeKind::head);
  });
}

Code Builder::begin_while_body(tilert_expr condition) {
  return run("while's body", [&]() -> Status {
    if (top().kind != ScopeKind::head)
      return make_error(Code::kInvalidProgram, "the innermost open scope is the {}, not a while that waits for its condition",
                        kScopeNames[static_cast<size_t>(top().kind)]);
    TILERT_ASSIGN(const ir::Expr test, typed(condition, DType::boolean, "the condition"));
    TILERT_TRY(open(ScopeKind::repeat));
    top().condition = test;
    return {};
  });
}

Code Builder::end_while() {
  return run("end of while", [&]() -> Status {
    if (top().kind == ScopeKind::head)
      return make_error(Code::kInvalidProgram, "this while has no condition: give it with begin_while_body");
    TILERT_TRY(close(ScopeKind::repeat));
    OpenScope body = std::move(scopes_.back());
    scopes_.pop_back();
    OpenScope head = std::move(scopes_.back());
    scopes_.pop_back();
    top().body.push_back(ir::make_stmt(ir::While{std::move(head.body), body.condition, std::move(body.body)}, head.ordinal,
                                       head.location));
    return settle_doubt();
  });
}

Code Builder::jump(ir::JumpKind kind) {
  const std::string_view name = ir::word(kind);
  return run(name, [&]() -> Status {
    TILERT_TRY(need_kernel());
    bool loop = false;
    for (size_t i = scopes_.size(); i-- > 0 && !loop;) {
      const ScopeKind scope = scopes_[i].kind;
      if (scope == ScopeKind::head)
        return make_error(Code::kInvalidProgram, "this stands in what computes a while's condition: leave the loop by the condition");
      if (scope == ScopeKind::parallel && kind == ir::JumpKind::finish)
        return make_error(Code::kInvalidProgram, "a {} ends with the loop's body: put the rest under an if",
                          scopes_[i].threads ? "thread of threads" : "point of parallel");
      if (scope == ScopeKind::parallel) break;
      loop = kind != ir::JumpKind::finish &&
             (scope == ScopeKind::serial || scope == ScopeKind::pipelined || scope == ScopeKind::repeat);
      if (scope == ScopeKind::repeat) --i;  // its head
    }
    if (!loop && kind != ir::JumpKind::finish) {
      const OpenScope* points = enclosing(ScopeKind::parallel);
      return make_error(Code::kInvalidProgram, "no loop is open here{}",
                        !points           ? ": use return, or put the rest under an if"
                        : points->threads ? " inside threads, none of which is a trip: put the rest under an if"
                                          : " inside parallel, whose points are no trips: put the rest under an if");
    }
    append(ir::Jump{kind});
    ++jumps_;
    return {};
  });
}

Code Builder::grid_sync() {
  return run("grid_sync", [&]() -> Status {
    TILERT_TRY(need_kernel());
    for (const OpenScope& scope : scopes_)
      if (scope.kind == ScopeKind::parallel || scope.kind == ScopeKind::combine)
        return make_error(Code::kInvalidProgram, "the blocks of a grid meet outside {}: end it first", scope_name(scope));
    if (kernel_.persistent)
      return make_error(Code::kInvalidProgram, "the kernel is persistent, and its blocks do different numbers of tiles: use a plain grid");
    append(ir::GridSync{});
    return {};
  });
}

Code Builder::begin_if(tilert_expr condition) {
  return run("if", [&]() -> Status {
    TILERT_TRY(need_statements());
    TILERT_ASSIGN(const ir::Expr test, typed(condition, DType::boolean, "the condition"));
    TILERT_TRY(open(ScopeKind::then));
    top().condition = test;
    return {};
  });
}

Code Builder::begin_else() {
  return run("else", [&]() -> Status {
    if (top().kind == ScopeKind::otherwise) return make_error(Code::kInvalidProgram, "this if has an else already");
    if (top().kind != ScopeKind::then) return make_error(Code::kInvalidProgram, "else without an open if");
    OpenScope& scope = top();
    scope.kind = ScopeKind::otherwise;
    scope.serial = next_scope_++;  // what the first branch made ends with it
    scope.then_body = std::move(scope.body);
    scope.body.clear();
    return {};
  });
}

Code Builder::end_if() {
  return run("end of if", [&]() -> Status {
    TILERT_TRY(close(ScopeKind::then));
    OpenScope scope = std::move(scopes_.back());
    scopes_.pop_back();
    ir::If branch{scope.condition, std::move(scope.body), {}};
    if (scope.kind == ScopeKind::otherwise) {
      branch.else_body = std::move(branch.then_body);
      branch.then_body = std::move(scope.then_body);
    }
    top().body.push_back(ir::make_stmt(std::move(branch), scope.ordinal, scope.location));
    return {};
  });
}

}  // namespace tilert::builder
