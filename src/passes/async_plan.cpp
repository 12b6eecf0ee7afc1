// Maps and tiles of tensor copies, arrivals of barriers.
#include "passes/async_plan.h"

#include <fmt/format.h>

#include <numeric>

#include "ir/visit.h"
#include "ir/words.h"
#include "layout/fragment_builders.h"
#include "passes/hints.h"
#include "passes/select.h"
#include "passes/tensor_box.h"
#include "support/refusal.h"

namespace tilert::passes {

using namespace ir;

namespace {

constexpr int64_t kWarpgroup = 128;  // threads
constexpr int64_t kProductRows = 64;  // of a warpgroup product
constexpr int64_t kTileUnit = 128;  // bytes, of which the start of a box in shared memory is a multiple

class AsyncPlanner {
 public:
  AsyncPlanner(Module& module, const Kernel& kernel, KernelPlan& plan, const PassContext& context)
      : module_(module), program_(module.program), kernel_(kernel), plan_(plan), context_(context),
        roles_(kernel.body.empty() ? nullptr : std::get_if<Roles>(&kernel.body.back()->node)) {}

  Status run() {
    Status status = products();
    if (status && roles_) status = roles();
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      if (status) status = statement(s);
    });
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      const auto* g = std::get_if<Gemm>(&s.node);
      if (std::holds_alternative<AsyncOp>(s.node) || std::holds_alternative<Alloc>(s.node) || (g && g->issued)) return;
      for (const BufferUse& use : buffer_uses(s)) plan_.async.touched |= plan_.async.spans.count(use.buffer) != 0;
    });
    return status;
  }

 private:
  Status statement(const Stmt& s) {
    if (const auto* a = std::get_if<Alloc>(&s.node); a && program_.buffer(a->buffer).scope == Scope::barrier) return barriers(s, a->buffer);
    const auto* op = std::get_if<AsyncOp>(&s.node);
    if (!op || (op->kind != AsyncOpKind::load && op->kind != AsyncOpKind::store)) return {};
    if (!context_.target.has(Feature::tma)) return missing(s, "tensor copies");
    return tensor_copy(s, *op);
  }

  Status missing(const Stmt& s, std::string_view what, std::string_view instead = "use copy, in a pipelined loop where it is to run ahead, or copy_async") const {
    return refusal(fmt::format("{}: {} on {}, which has none", describe(program_, s), what, context_.target.text), instead);
  }

  // Products come first: they say how the tiles lie that copies fill, and how many threads there are where the program does not.
  Status products() {
    std::vector<const Stmt*> issued;
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      if (const auto* g = std::get_if<Gemm>(&s.node); g && g->issued) issued.push_back(&s);
    });
    if (issued.empty()) return {};
    if (!context_.target.has(Feature::wgmma)) return missing(*issued.front(), "an issued gemm, a warpgroup product,", "use gemm without the flag issue");
    if (!hint_of(kernel_, HintKind::threads) && !hint_of(kernel_, HintKind::threads_fixed)) {
      const int64_t rows = std::get<Gemm>(issued.front()->node).c.extents[0];
      plan_.threads = rows % (2 * kProductRows) == 0 ? 256 : rows == 3 * kProductRows ? 384 : 128;
      TILERT_TRY(plan_products(program_, kernel_, plan_, context_));  // those that are not issued
    }
    for (const Stmt* s : issued) TILERT_TRY(product(*s, std::get<Gemm>(s->node)));
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      if (std::holds_alternative<AsyncOp>(s.node) || std::holds_alternative<Alloc>(s.node)) return;
      for (const BufferUse& use : buffer_uses(s))
        if (use.write && plan_.async.spans.count(use.buffer)) plan_.async.by_threads.insert(use.buffer);
    });
    return {};
  }

  Status product(const Stmt& s, const Gemm& g) {
    GemmPlan& plan = plan_.gemms.at(s.ordinal);
    const auto refuse = [&](std::string what, std::string_view instead) { return refusal(fmt::format("{}: an issued gemm {}", describe(program_, s), what), instead); };
    const auto type = [&](const Region& r) { return dtype_text(program_.buffer(r.buffer).dtype); };
    if (g.sparse()) return refuse("of a sparse operand", "use gemm without the flag issue: kernels with roles start it ahead");
    plan.atom = warpgroup_atom(program_, g, context_.target);
    if (!plan.atom) return refuse(fmt::format("of {} and {} into {}, which no warpgroup product takes", type(g.a), type(g.b), type(g.c)), "use gemm without the flag issue");
    const int64_t warpgroups = plan_.threads / kWarpgroup;
    if (plan_.threads % kWarpgroup != 0 || plan.m % (kProductRows * warpgroups) != 0)
      return refuse(fmt::format("of {} rows by {} threads", plan.m, plan_.threads), fmt::format("give each {} threads a multiple of {} rows", kWarpgroup, kProductRows));
    if (plan.k % plan.atom->k != 0)
      return refuse(fmt::format("with a K tile of {}", plan.k), fmt::format("give it a multiple of {}, which a warpgroup product of {} takes at a time", plan.atom->k, dtype_text(plan.atom->a)));
    plan.path = GemmPlan::Path::wgmma;
    plan.warps_m = static_cast<int>(warpgroups), plan.warps_n = 1;
    plan.a_ldmatrix = plan.b_ldmatrix = false;
    plan.reason.clear();
    const AtomCounts counts = atom_counts(*plan.atom, plan.m, plan.n, plan.k, WarpGrid{warpgroups, 1, 1});
    if (counts.n * counts.atom_n != plan.n) return refuse(fmt::format("of {} columns", plan.n), "give it a multiple of 8, or of 16 for integers");
    plan_.async.sums.insert(g.c.buffer);
    TILERT_TRY(operand(s, g.a, g.trans_a, kProductRows));
    return operand(s, g.b, !g.trans_b, counts.atom_n);
  }

  // An operand's tile has swizzled rows, of a span that keeps the pieces whole which instructions read: `piece` rows, or columns
  // of an operand that is not K-major.
  Status operand(const Stmt& s, const Region& region, bool mn_major, int64_t piece) {
    const Buffer& b = program_.buffer(region.buffer);
    const int64_t size = dtype_bytes(b.dtype), row_bytes = region.extents.back() * size, asked = asked_span(b.layout.kind);
    const auto refuse = [&](std::string what, std::string_view instead) { return refusal(fmt::format("{}: the operand '{}' of an issued gemm {}", describe(program_, s), b.name, what), instead); };
    if (mn_major && size != 2) return refuse("is not K-major, as warpgroup products of its type need it", "keep its matrix transposed in memory");
    const int64_t unit = mn_major ? std::gcd(row_bytes, piece * size) : row_bytes, widest = swizzle_span(unit);
    if (asked < 0) return refuse(fmt::format("is asked to be {}, and its rows are swizzled", word(b.layout.kind)), "ask for a swizzle, or for nothing");
    if (widest == 0 || (asked > 0 && unit % asked != 0))
      return refuse(fmt::format("has rows of {} bytes, which are no swizzled pieces{}", unit, asked > 0 ? fmt::format(" of {}", asked) : ""), "give it rows of a multiple of 32 bytes");
    const auto [at, added] = plan_.async.spans.emplace(region.buffer, asked > 0 ? asked : widest);
    if (!added && (at->second > widest || unit % at->second != 0)) return refuse(fmt::format("lies in pieces of {} bytes for another one", at->second), "ask for a narrower swizzle");
    return {};
  }

  // Each warp arrives for itself once its threads have.
  Status barriers(const Stmt& s, BufferId id) {
    if (!context_.target.has(Feature::mbarrier_tx)) return missing(s, "barriers that count phases");
    bool by_issuer = false;
    if (roles_)
      for (const Block& body : roles_->issuers)
        for_each_stmt(body, [&](const Stmt& inner) {
          const auto* op = std::get_if<AsyncOp>(&inner.node);
          by_issuer |= op && op->kind <= AsyncOpKind::expect && op->barrier.buffer == id;
        });
    plan_.async.arrivals[id] = program_.buffer(id).arrivals * (by_issuer ? 1 : plan_.threads / context_.target.warp_size);
    return {};
  }

  // The kernel's threads are whole warpgroups, behind which one of issuers stands; between them registers change hands.
  Status roles() {
    const Stmt& s = *kernel_.body.back();
    if (!context_.target.has(Feature::tma) || !context_.target.has(Feature::setmaxnreg)) return missing(s, "roles with register handover", "write a pipelined loop, which the compiler overlaps");
    const int64_t all = plan_.threads + kWarpgroup;
    if (plan_.threads % kWarpgroup != 0 || all > context_.target.max_threads_per_block)
      return refusal(fmt::format("{}: roles beside {} threads", describe(program_, s), plan_.threads), fmt::format("give the kernel a multiple of {} threads, and {} less than {}", kWarpgroup, kWarpgroup, context_.target.max_threads_per_block));
    const int64_t start = registers_for(context_.target, all, 1) / 8 * 8;
    const int64_t wanted = kWarpgroup * roles_->issuer_registers + plan_.threads * roles_->worker_registers;
    if (roles_->issuer_registers && (wanted > all * start || roles_->issuer_registers > start || roles_->worker_registers < start))
      return refusal(fmt::format("{}: {} registers of issuers and {} of workers, of {} threads that start with {}", describe(program_, s), roles_->issuer_registers, roles_->worker_registers, all, start),
                     "let issuers give up what workers take, or give no registers");
    RolePlan& plan = plan_.roles;
    plan.on = true;
    plan.reason.clear();
    plan.consumers = static_cast<int>(plan_.threads / kWarpgroup);
    plan.producer_registers = roles_->issuer_registers, plan.consumer_registers = roles_->worker_registers;
    plan.thread = program_.add_var(VarKind::thread, DType::index, "role_thread");
    plan_.async.roles = true;
    return {};
  }

  Status tensor_copy(const Stmt& s, const AsyncOp& op) {
    const bool loads = op.kind == AsyncOpKind::load;
    const Region &box = loads ? op.src : op.dst, &tile = loads ? op.dst : op.src;
    if (const std::string reason = engine_takes(module_, box); !reason.empty())
      return refusal(fmt::format("{}: no tensor copy takes this region of '{}': {}", describe(program_, s), program_.buffer(box.buffer).name, reason),
                     "declare the dims and offsets as multiples of 16 bytes, or use copy");
    TILERT_ASSIGN(const int64_t span, row_span(s, tile.buffer));
    const Buffer& b = program_.buffer(tile.buffer);
    const int64_t rows = box.extents[0], columns = box.extents[1], size = dtype_bytes(b.dtype), height = box_rows(rows);
    if (height == 0)
      return refusal(fmt::format("{}: a tensor copy of {} rows, which are no boxes of at most {}", describe(program_, s), rows, kMostOfBox),
                     "give the tile a multiple of 8 rows");
    if (span == 0 && b.shape.size() > 2 && rows * columns * size % kTileUnit != 0)
      return refusal(fmt::format("{}: '{}' has matrices of {} bytes one after the other, and a tensor copy begins on {}", describe(program_, s),
                                 b.name, rows * columns * size, kTileUnit), "give them whole multiples of that");
    plan_.async.copies[s.ordinal] = plan_.roles.maps.size();
    plan_.roles.maps.push_back({box.buffer, {span ? span / size : columns, height}, static_cast<int>(span)});
    plan_.copies[s.ordinal] = {CopyPlan::Engine::tensor, plan_.roles.maps.back().box[0] * height * size};
    return {};
  }

  // As the program asks; else row-major where a box holds a row, and swizzled where it does not.
  Result<int64_t> row_span(const Stmt& s, BufferId tile) {
    if (const auto found = plan_.async.spans.find(tile); found != plan_.async.spans.end()) return found->second;
    const Buffer& b = program_.buffer(tile);
    const int64_t columns = b.shape.back()->as_int(), row_bytes = columns * dtype_bytes(b.dtype), asked = asked_span(b.layout.kind);
    if (asked < 0 && b.layout.kind != TileLayout::row_major)
      return refusal(fmt::format("{}: the tile '{}' is asked to be {}, and a tensor copy writes its rows plain or swizzled", describe(program_, s), b.name, word(b.layout.kind)),
                     "ask for row_major or a swizzle, or for none");
    const int64_t widest = swizzle_span(row_bytes);
    const bool row_major = asked < 0 || (asked == 0 && (columns <= kMostOfBox || widest == 0));
    if (row_major && (columns > kMostOfBox || row_bytes % 16 != 0))
      return refusal(fmt::format("{}: rows of {} elements, {} bytes, of the tile '{}' are no box of a tensor copy", describe(program_, s), columns, row_bytes, b.name),
                     fmt::format("give it rows of whole 16 bytes and at most {} elements, or a swizzle that divides them", kMostOfBox));
    if (asked > 0 && row_bytes % asked != 0)
      return refusal(fmt::format("{}: rows of {} bytes of the tile '{}' are not made of pieces of {}", describe(program_, s), row_bytes, b.name, asked),
                     "ask for a narrower swizzle, or for none");
    return plan_.async.spans[tile] = row_major ? 0 : asked > 0 ? asked : widest;
  }

  Module& module_;
  Program& program_;
  const Kernel& kernel_;
  KernelPlan& plan_;
  const PassContext& context_;
  const Roles* roles_;  // null: none
};

}  // namespace

bool is_asynchronous(const Program& program, const Kernel& kernel) {
  bool found = false;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* a = std::get_if<Alloc>(&s.node);
    const auto* g = std::get_if<Gemm>(&s.node);
    found |= std::holds_alternative<AsyncOp>(s.node) || std::holds_alternative<Roles>(s.node) || (g && g->issued) || (a && program.buffer(a->buffer).scope == Scope::barrier);
  });
  return found;
}

Result<Module> plan_async(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    const Kernel kernel = module.program.kernels[k];
    TILERT_TRY(AsyncPlanner(module, kernel, module.plans[k], context).run());
  }
  return module;
}

}  // namespace tilert::passes
