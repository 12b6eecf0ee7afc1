// The loop of a kernel with roles: which copies the producer can make, which products warpgroups can, and how the tiles between
// them lie: rows of 128, 64 or 32 bytes, swizzled, as both the copy engine and the products take them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/visit.h"
#include "ir/words.h"
#include "layout/fragment_builders.h"
#include "passes/cluster.h"
#include "passes/hints.h"
#include "passes/region.h"
#include "passes/role_planner.h"
#include "passes/select.h"
#include "passes/specialize.h"
#include "passes/tensor_box.h"
#include "support/round.h"

namespace tilert::passes {

using namespace ir;

namespace {

constexpr int64_t kAtomRows = 64;      // of a warpgroup product
constexpr int64_t kEngineBytes = 128;  // on which the engine starts to write
constexpr int64_t kSwizzleRepeat = 8;  // rows

}  // namespace

std::string RolePlanner::take_load(const Stmt& s, const Copy& c) {
  const Buffer &src = program_.buffer(c.src.buffer), &dst = program_.buffer(c.dst.buffer);
  if (src.scope != Scope::global || dst.scope != Scope::shared || src.dtype != dst.dtype) return "not a plain copy to a shared tile";
  if (!c.valid.empty() || (c.safe && c.safe->bits != 0)) return "it has bounds of its own";
  if (is_touched(s, c.src.buffer, true)) return "the kernel writes its source";
  if (!std::all_of(c.src.offsets.begin(), c.src.offsets.end(), [&](Expr e) { return values_->is_shared(e); }))
    return "its place depends on what only the consumers compute";
  if (c.prefer == CopyPrefer::sync || (c.prefer == CopyPrefer::async && c.must)) return "it is asked to be made another way";
  if (!is_whole(program_, c.dst) || dst.shape.size() != 2) return "it fills a part of its tile";
  if (asked_span(dst.layout.kind) < 0)
    return fmt::format("its tile is asked to be {}, and the tensor copy engine writes swizzled rows for products", word(dst.layout.kind));
  if (dst.view_of != kNoBuffer || !views_of(program_, c.dst.buffer).empty()) return "its tile has views, whose rows are others";
  if (!filled_.insert(c.dst.buffer).second) return "its tile is filled twice in a trip";
  return take_source(s, c.src);
}

// Who copies changes no order of sums: what a variant assumes of dims may say it.
std::string RolePlanner::take_source(const Stmt& s, const Region& source) {
  const arith::FactsScope scope(module_.facts);
  for (const DimFact& fact : module_.withheld) learn(fact, module_.facts);
  std::string reason = engine_takes(module_, source);
  if (reason.empty() || !only_unaligned(module_, source)) return reason;
  plan_.roles.by_threads[s.ordinal] = std::move(reason);
  return {};
}

// For the operands as they are; else for a of b's type: it is cast on its way through registers.
std::string RolePlanner::choose_instruction(const Gemm& g, GemmPlan& plan) const {
  const Buffer &a = program_.buffer(g.a.buffer), &b = program_.buffer(g.b.buffer), &c = program_.buffer(g.c.buffer);
  plan.atom = warpgroup_atom(program_, g, context_.target);
  plan.a_registers = a.scope == Scope::fragment;
  if (!plan.atom && !g.tf32 && !g.sparse() && operand_dtype(program_, g) == b.dtype)
    for (const Atom* atom : atoms_for(context_.target, b.dtype, b.dtype, c.dtype))
      if (atom->is_wgmma() && !plan.atom) plan.atom = atom, plan.a_registers = true;
  if (!plan.atom && a.dtype == DType::f32 && b.dtype == DType::f32 && !g.tf32)
    return "products of f32 keep all its bits, which warpgroup products do not: ask for tf32";
  if (!plan.atom) return fmt::format("no warpgroup product of {} and {} into {}", dtype_text(a.dtype), dtype_text(b.dtype), dtype_text(c.dtype));
  if (plan.k % plan.atom->k != 0)
    return fmt::format("its K tile of {} is no multiple of {}, which a warpgroup product of {} takes at a time", plan.k, plan.atom->k, dtype_text(plan.atom->a));
  return plan.a_registers && g.trans_a ? "operand a goes through registers, and is transposed: keep it as [m, k]" : "";
}

int RolePlanner::consumers_for(const GemmPlan& plan) const {
  const int64_t atoms = ceil_div(plan.m, kAtomRows), asked = hint_of(kernel_, HintKind::consumers);
  if (asked >= 1 && asked <= 3 && atoms % asked == 0) return static_cast<int>(asked);
  return usual_warpgroups(plan.m, plan.n);
}

std::string RolePlanner::take_product(const Stmt& s, const Gemm& g) {
  const Buffer &a = program_.buffer(g.a.buffer), &c = program_.buffer(g.c.buffer);
  if (!filled_.count(g.b.buffer) || (a.scope != Scope::fragment && !filled_.count(g.a.buffer))) return "an operand is not a tile that the loop copies";
  if (g.sparse() && (!filled_.count(g.a.buffer) || !filled_.count(g.metadata.buffer) || !is_whole(program_, g.metadata)))
    return "the sparse operand or its metadata is not a whole tile that the loop copies";
  if (c.scope != Scope::fragment || !is_whole(program_, g.a) || !is_whole(program_, g.b) || !is_whole(program_, g.c)) return "it takes a part of a tile";
  GemmPlan plan = plan_.gemms.at(s.ordinal);
  if (std::string reason = choose_instruction(g, plan); !reason.empty()) return reason;
  const int consumers = consumers_for(plan);
  if (plan_.roles.consumers != 0 && plan_.roles.consumers != consumers) return "products want different warpgroups";
  plan_.roles.consumers = consumers;
  plan.path = GemmPlan::Path::wgmma;
  plan.warps_m = consumers;
  plan.warps_n = 1;
  plan.a_ldmatrix = plan.b_ldmatrix = false;
  plan.reason.clear();
  plan_.roles.in_order |= plan.a_registers || plan_.roles.works;
  plan_.roles.works |= plan.a_registers;
  if (plan.a_registers && a.scope == Scope::shared) plan_.roles.plain_tiles.insert(g.a.buffer);
  if (std::string reason = plan.a_registers ? std::string() : take_operand(g.a, plan, true, g.trans_a); !reason.empty()) return reason;
  if (std::string reason = take_operand(g.b, plan, false, !g.trans_b); !reason.empty()) return reason;
  const AtomCounts counts = atom_counts(*plan.atom, plan.m, plan.n, plan.k, WarpGrid{consumers, 1, 1});
  if (g.sparse()) plan_.roles.plain_tiles.insert(g.metadata.buffer), reads_places_ = true;
  gemms_[s.ordinal] = plan;
  if (products_of_.insert(g.c.buffer).second) {
    const int64_t registers = counts.m * counts.n * counts.atom_n / 2;
    const auto& meeting = plan_.meeting.sums;
    accumulators_ += registers;
    if (std::count(meeting.begin(), meeting.end(), g.c.buffer)) meeting_bytes_ += 4 * registers * 128 * consumers;
  }
  return {};
}

// What the product needs of an operand's tile: rows up to what its instructions read, and a span that keeps pieces of the
// tile whole.
std::string RolePlanner::take_operand(const Region& region, const GemmPlan& plan, bool is_a, bool mn_major) {
  const Buffer& b = program_.buffer(region.buffer);
  const int64_t size = dtype_bytes(b.dtype), row_bytes = region.extents[1] * size, mn = is_a ? plan.m : plan.n;
  const AtomCounts counts = atom_counts(*plan.atom, plan.m, plan.n, plan.k, WarpGrid{plan.warps_m, 1, 1});
  const int64_t piece = is_a ? kAtomRows : counts.atom_n, read = is_a ? kAtomRows * counts.m * plan.warps_m : counts.n * counts.atom_n;
  if (mn_major && size != 2)
    return fmt::format("operand {} is not K-major, as warpgroup products of {} need it: keep its matrix transposed in memory", is_a ? 'a' : 'b',
                       dtype_text(plan.atom->a));
  if (mn_major && read != mn)
    return fmt::format("operand {} is not K-major, and its {} {} are no multiple of {}", is_a ? 'a' : 'b', mn, is_a ? "rows" : "columns", piece);
  int64_t unit = mn_major ? std::gcd(row_bytes, piece * size) : row_bytes;
  if (const int64_t asked = asked_span(b.layout.kind); asked > 0) {
    if (unit % asked != 0) return fmt::format("operand {}'s tile is asked to be {}, which its rows of {} bytes are not made of", is_a ? 'a' : 'b', word(b.layout.kind), row_bytes);
    unit = asked;
  }
  const int64_t span = swizzle_span(unit);
  if (span == 0) return fmt::format("operand {}'s tile has rows of {} bytes, no multiple of 32", is_a ? 'a' : 'b', unit);
  RoleTile& tile = plan_.roles.tiles[region.buffer];
  tile.span = tile.span == 0 ? span : std::min(tile.span, span);
  tile.rows = std::max({tile.rows, region.extents[0], mn_major ? 0 : read});
  if (plan.atom->a == DType::tf32) in_tf32_.insert(region.buffer);
  return {};
}

bool RolePlanner::alternates(const For& loop) const {
  if (!plan_.roles.works || plan_.roles.in_order || gemms_.size() != 1 || plan_.roles.consumers > 2 || loop.step < 1) return false;
  const auto found = std::find_if(loop.body.begin(), loop.body.end(), [](const StmtPtr& s) { return std::holds_alternative<Gemm>(s->node); });
  const auto& gemm = std::get<Gemm>((*found)->node);
  const BufferId sum = gemm.c.buffer;
  if (!gemm.accumulate || !gemm.accumulate->is_constant() || gemm.accumulate->bits != 0 || !views_of(program_, sum).empty()) return false;
  std::set<const Stmt*> inside;
  for_each_stmt(loop.body, [&](const Stmt& s) { inside.insert(&s); });
  bool elsewhere = false;
  for_each_stmt(kernel_.body, [&](const Stmt& s) {
    if (inside.count(&s) || std::holds_alternative<Alloc>(s.node)) return;
    for (const BufferUse& use : buffer_uses(s)) elsewhere |= use.buffer == sum;
  });
  const int64_t own = gemms_.begin()->second.m * gemms_.begin()->second.n / (128 * plan_.roles.consumers);
  return !elsewhere && accumulators_ + own <= kMostAccumulators;
}

// A tile that consumers read element by element lies as it is written: row-major.
std::string RolePlanner::take_plain(const Copy& c) {
  const Buffer& b = program_.buffer(c.dst.buffer);
  if (!plan_.roles.plain_tiles.count(c.dst.buffer)) return "nothing in the loop reads its tile";
  if (b.layout.kind != TileLayout::automatic) return "its tile is asked for a layout, and the tensor copy engine writes rows";
  if (c.dst.extents[0] > kMostOfBox || c.dst.extents[1] > kMostOfBox || c.dst.extents[1] * dtype_bytes(b.dtype) % 16 != 0)
    return "its tile is no box of the tensor copy engine";
  return {};
}

// Rows in whole repeats of the swizzle, else whole boxes; of a row-major tile (width 0) what starts where the engine writes.
SharedLoad RolePlanner::share_of(const Stmt& s, const Copy& copy, int64_t width) {
  const int64_t blocks = kernel_.cluster, rows = copy.dst.extents[0], columns = copy.dst.extents[1];
  const int64_t size = dtype_bytes(program_.buffer(copy.dst.buffer).dtype);
  SharedLoad share{rows, columns};
  const auto& at = copy.src.offsets;
  if (blocks == 1 || !plan_.meeting.sums.empty() || std::any_of(at.begin(), at.end(), [&](Expr e) { return depends_on(e, differing_); })) return share;
  const int64_t whole = width == 0 ? kEngineBytes / std::gcd(kEngineBytes, columns * size) : kSwizzleRepeat;
  if (rows % (blocks * whole) == 0 && box_rows(rows / blocks) != 0) share.rows = rows / blocks;
  else if (width == 0 ? rows == 1 && columns * size % (blocks * kEngineBytes) == 0 : columns % (blocks * width) == 0) share.columns = columns / blocks;
  else return share;
  plan_.roles.shared_loads[s.ordinal] = share;
  return share;
}

std::string RolePlanner::place_load(const Stmt& s, const Copy& copy) {
  const BufferId id = copy.dst.buffer;
  const auto tile = plan_.roles.tiles.find(id);
  if (tile == plan_.roles.tiles.end()) {
    if (std::string reason = take_plain(copy); !reason.empty()) return reason;
    if (plan_.roles.by_threads.count(s.ordinal)) return {};
    const SharedLoad share = share_of(s, copy, 0);
    plan_.roles.loads[s.ordinal] = plan_.roles.maps.size();
    plan_.roles.maps.push_back({copy.src.buffer, {share.columns, share.rows}, 0});
    return {};
  }
  if (plan_.roles.plain_tiles.count(id)) return "a product and element-wise work read its tile";
  if (box_rows(copy.dst.extents[0]) == 0) return fmt::format("its tile has {} rows, which are no boxes of at most {}", copy.dst.extents[0], kMostOfBox);
  if (plan_.roles.by_threads.count(s.ordinal)) {
    if (in_tf32_.count(id)) plan_.roles.rounded.insert(s.ordinal);
    return {};
  }
  const int64_t width = tile->second.span / dtype_bytes(program_.buffer(id).dtype);
  const int64_t rows = box_rows(share_of(s, copy, width).rows);
  plan_.roles.loads[s.ordinal] = plan_.roles.maps.size();
  plan_.roles.maps.push_back({copy.src.buffer, {width, rows}, static_cast<int>(tile->second.span), in_tf32_.count(id) != 0});
  return {};
}

std::string RolePlanner::place_loads(const For& loop) {
  std::string reason;
  for_each_load(program_, *trip_, [&](const StmtPtr& s, const Copy& copy, Expr) {
    if (!reason.empty()) return;
    if (std::string why = place_load(*s, copy); !why.empty()) reason = fmt::format("operation {}: {}", s->ordinal, why);
  });
  if (!reason.empty()) return reason;
  // What stands outside the loop would have to know in which slot they are, and when.
  std::set<uint32_t> inside;
  for_each_stmt(loop.body, [&](const Stmt& s) { inside.insert(s.ordinal); });
  for_each_stmt(kernel_.body, [&](const Stmt& s) {
    if (std::holds_alternative<Alloc>(s.node) || inside.count(s.ordinal)) return;
    for (const BufferUse& use : buffer_uses(s))
      if (filled_.count(use.buffer)) reason = fmt::format("operation {}: it uses a tile of the loop outside of it", s.ordinal);
  });
  return reason;
}

}  // namespace tilert::passes
