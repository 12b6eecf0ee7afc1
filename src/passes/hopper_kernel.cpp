// Lowering of kernels whose warps have roles: the frame, the producer's and the consumers' loops, and stores through the
// tensor copy engine. What stands outside the loop is lowered as anywhere else, for the consumers' threads.
#include <fmt/format.h>

#include <algorithm>

#include "ir/visit.h"
#include "layout/fragment_builders.h"
#include "passes/lower.h"
#include "passes/persist.h"
#include "passes/roles.h"
#include "passes/select.h"

namespace tilert::passes {

using namespace ir;

namespace {

// Where a role stands in the ring: the slot and the parity of its phase.
struct RingPlace {
  BufferId slot, parity;
};

class RoleLowering {
 public:
  RoleLowering(Lower& low, const Kernel& kernel)
      : low_(low), arena_(low.arena()), roles_(low.plan().roles), kernel_(kernel), body_(tile_body(kernel, low.plan())),
        tiles_(tile_loop(kernel, low.plan())) {}

  Status run() {
    declare_tiles();
    for (const StmtPtr& s : kernel_.body)
      if (tiles_ ? s.get() != tiles_ : is_common(*s)) TILERT_TRY(low_.statement(s));
    initialize_barriers();
    const Expr thread = low_.program().var(roles_.thread);
    const int64_t consumers = low_.plan().threads;
    Status first, second;
    Block producer = low_.collect([&] { first = produce(thread, consumers); });
    Block consumer = low_.collect([&] { second = consume(); });
    low_.emit(If{arith::le(arena_, low_.index(consumers), thread), std::move(producer), std::move(consumer)});
    TILERT_TRY(std::move(first));
    return second;
  }

 private:
  const For& loop() const {
    for (const StmtPtr& s : body_)
      if (s->ordinal == roles_.loop) return std::get<For>(s->node);
    return std::get<For>(body_.front()->node);  // plan_roles found it
  }

  bool is_common(const Stmt& s) const {
    const auto* let = std::get_if<Let>(&s.node);
    return let && roles_.common.count(let->var);
  }

  bool is_of_ring(BufferId tile) const {
    return std::any_of(loop().body.begin(), loop().body.end(), [&](const StmtPtr& s) {
      const auto* copy = std::get_if<Copy>(&s->node);
      return copy && copy->dst.buffer == tile;
    });
  }

  // Shared tiles are declared where both roles see them; those that the loop fills have a slot for each stage.
  void declare_tiles() {
    const auto declare = [&](const Block& block) {
      for (const StmtPtr& s : block) {
        const auto* a = std::get_if<Alloc>(&s->node);
        if (!a || low_.program().buffer(a->buffer).scope != Scope::shared) continue;
        if (is_of_ring(a->buffer)) low_.program().buffers[a->buffer].stages = roles_.stages;
        low_.declare_shared(a->buffer);
      }
    };
    declare(body_);
    declare(loop().body);
    full_ = low_.scratch(DType::uint64, roles_.stages, "full");
    empty_ = low_.scratch(DType::uint64, roles_.stages, "empty");
  }

  CallArg barrier_arg(BufferId barriers, Expr slot) { return address_arg({barriers, {slot}}); }

  void initialize_barriers() {
    low_.group("barriers of the ring", [&] {
      low_.when(arith::eq(arena_, low_.program().var(roles_.thread), 0), [&] {
        low_.unrolled(roles_.stages, [&](Expr i) {
          low_.call(Primitive::mbarrier_init, {barrier_arg(full_, i), value_arg(low_.index(1))});
          low_.call(Primitive::mbarrier_init, {barrier_arg(empty_, i), value_arg(low_.index(roles_.consumers))});
        });
        low_.call(Primitive::mbarrier_init_fence, {});
      });
    });
    low_.call(Primitive::barrier, {});
  }

  RingPlace enter_ring(int64_t parity) {
    const RingPlace place{low_.scalar(DType::index, "slot"), low_.scalar(DType::index, "parity")};
    low_.store({place.slot, {}}, low_.index(0));
    low_.store({place.parity, {}}, low_.index(parity));
    return place;
  }

  std::pair<Expr, Expr> read_place(const RingPlace& place) {
    const Expr slot = low_.read({place.slot, {}}, "slot"), parity = low_.read({place.parity, {}}, "parity");
    low_.facts().define(slot, arith::Range::between(0, roles_.stages - 1));
    low_.facts().define(parity, arith::Range::between(0, 1));
    return {slot, parity};
  }

  void advance(const RingPlace& place, Expr slot, Expr parity) {
    const Expr next = arith::add(arena_, slot, 1);
    const Expr wraps = arith::eq(arena_, next, roles_.stages);
    low_.store({place.slot, {}}, arith::select(arena_, wraps, low_.index(0), next));
    low_.store({place.parity, {}}, arith::select(arena_, wraps, arith::sub(arena_, low_.index(1), parity), parity));
  }

  void loop_over(const std::function<void()>& body) {
    For f = loop();
    f.kind = ForKind::serial;
    const arith::FactsScope scope(low_.facts());
    low_.bound_loop(f);
    f.body = low_.collect(body);
    low_.emit(std::move(f));
  }

  // What a role does for each tile: once, or in the loop over tiles, with what both roles compute for themselves there.
  Status over_tiles(const std::function<Status()>& tile) {
    if (!tiles_) return tile();
    Status status;
    For f = std::get<For>(tiles_->node);
    const arith::FactsScope scope(low_.facts());
    low_.bound_loop(f);
    f.body = low_.collect([&] {
      for (const StmtPtr& s : body_)
        if (status && is_common(*s)) status = low_.statement(s);
      if (status) status = tile();
    });
    low_.emit(std::move(f));
    return status;
  }

  // ---- producer: one thread issues all copies ----

  Status produce(Expr thread, int64_t consumers) {
    if (roles_.producer_registers) low_.call(Primitive::setmaxnreg_dec, {text_arg(std::to_string(roles_.producer_registers))});
    Status status;
    low_.when(arith::eq(arena_, thread, consumers), [&] {
      const RingPlace place = enter_ring(1);  // the first wait on an empty slot passes
      status = over_tiles([&]() -> Status {
        loop_over([&] {
          const auto [slot, parity] = read_place(place);
          low_.call(Primitive::mbarrier_wait, {barrier_arg(empty_, slot), value_arg(parity)});
          low_.call(Primitive::mbarrier_expect, {barrier_arg(full_, slot), value_arg(low_.index(slot_bytes()))});
          for (const StmtPtr& s : loop().body)
            if (const auto* copy = std::get_if<Copy>(&s->node)) load(*s, *copy, slot);
          advance(place, slot, parity);
        });
        return {};
      });
    });
    return status;
  }

  int64_t slot_bytes() const {
    int64_t bytes = 0;
    for (const StmtPtr& s : loop().body)
      if (const auto* copy = std::get_if<Copy>(&s->node)) bytes += low_.plan().shared.at(copy->dst.buffer).tile_bytes();
    return bytes;
  }

  void note_tensor_copy(const Stmt& s, BufferId to, const TensorMapPlan& map) {
    const int64_t size = dtype_bytes(low_.program().buffer(to).dtype);
    low_.plan().copies[s.ordinal] = {CopyPlan::Engine::tensor, map.box[0] * map.box[1] * size};
  }

  void load(const Stmt& s, const Copy& copy, Expr slot) {
    const size_t map = roles_.loads.at(s.ordinal);
    const int64_t width = roles_.maps[map].box[0];
    note_tensor_copy(s, copy.dst.buffer, roles_.maps[map]);
    for (int64_t column = 0; column < copy.dst.extents[1]; column += width) {
      const Access to = low_.shared_access(copy.dst.buffer, {slot, low_.index(0), low_.index(column)});
      low_.call(Primitive::tma_load_2d,
                {address_arg(to), text_arg(fmt::format("map{}", map)), barrier_arg(full_, slot),
                 value_arg(low_.simplify(arith::add(arena_, copy.src.offsets[1], column))), value_arg(low_.simplify(copy.src.offsets[0]))});
    }
  }

  // ---- consumers ----

  Status consume() {
    if (roles_.consumer_registers) low_.call(Primitive::setmaxnreg_inc, {text_arg(std::to_string(roles_.consumer_registers))});
    if (tiles_) place_ = enter_ring(0);  // the ring goes on from tile to tile
    TILERT_TRY(over_tiles([&] { return consume_tile(); }));
    if (!roles_.stores.empty())  // shared memory must outlive the copies that read it
      low_.when(leads_warpgroup(), [&] { low_.call(Primitive::tma_store_wait_read, {text_arg("0")}); });
    return {};
  }

  Status consume_tile() {
    for (const StmtPtr& s : body_) {
      if (s->ordinal == roles_.loop && std::holds_alternative<For>(s->node)) {
        multiply_loop();
      } else if (is_common(*s)) {
        continue;
      } else if (const auto* a = std::get_if<Alloc>(&s->node); a && low_.program().buffer(a->buffer).scope == Scope::shared) {
        continue;
      } else if (roles_.stores.count(s->ordinal) && std::holds_alternative<Copy>(s->node)) {
        store(*s, std::get<Copy>(s->node));
      } else {
        TILERT_TRY(low_.statement(s));
      }
    }
    return {};
  }

  Expr leads_warpgroup() { return arith::eq(arena_, arith::mod(arena_, low_.thread(), 128), 0); }
  Expr warpgroup() { return low_.let_preamble(arith::floordiv(arena_, low_.thread(), 128), "warpgroup"); }

  // A slot is released one iteration late, when the product that read it is known to be done.
  void multiply_loop() {
    if (!tiles_) place_ = enter_ring(0);
    const BufferId before = low_.scalar(DType::index, "before");
    low_.store({before, {}}, low_.index(-1));
    loop_over([&] {
      const auto [slot, parity] = read_place(place_);
      low_.call(Primitive::mbarrier_wait, {barrier_arg(full_, slot), value_arg(parity)});
      for (const StmtPtr& s : loop().body)
        if (const auto* gemm = std::get_if<Gemm>(&s->node)) multiply(*s, *gemm, slot);
      low_.call(Primitive::wgmma_wait, {text_arg("1")});
      release(before);
      low_.store({before, {}}, slot);
      advance(place_, slot, parity);
    });
    low_.call(Primitive::wgmma_wait, {text_arg("0")});
    for (const StmtPtr& s : loop().body)
      if (const auto* gemm = std::get_if<Gemm>(&s->node)) hold(gemm->c.buffer);
    if (tiles_) release(before);
  }

  void release(BufferId before) {
    const Expr last = low_.read({before, {}}, "before");
    low_.when(arith::logical_and(arena_, arith::le(arena_, low_.index(0), last), leads_warpgroup()),
              [&] { low_.call(Primitive::mbarrier_arrive, {barrier_arg(empty_, last)}); });
  }

  void hold(BufferId fragment) {
    low_.call(Primitive::wgmma_hold, {registers_arg(low_.fragment_registers(fragment), low_.index(0), low_.fragment_map(fragment).registers())});
  }

  Expr descriptor(BufferId tile, Expr slot, Expr row) {
    const BufferId box = low_.registers(DType::uint64, 1, "descriptor");
    low_.call(Primitive::wgmma_descriptor, {registers_arg(box, low_.index(0), 1), address_arg(low_.shared_access(tile, {slot, row, low_.index(0)}))});
    return low_.read({box, {low_.index(0)}}, "descriptor");
  }

  // Descriptor of the tile's k-step: 32 bytes within a sub-tile of 128-byte rows, then the next sub-tile.
  Expr advance_k(Expr base, BufferId tile, int64_t step, int64_t rows) {
    const int64_t bytes = step / 4 * low_.plan().shared.at(tile).sub_tile_bytes() + step % 4 * 32 + rows * 128;
    return arith::add(arena_, base, bytes / 16);
  }

  void multiply(const Stmt& s, const Gemm& gemm, Expr slot) {
    const GemmPlan& plan = low_.plan().gemms.at(s.ordinal);
    const AtomCounts counts = atom_counts(*plan.atom, plan.m, plan.n, plan.k, WarpGrid{plan.warps_m, plan.warps_n, 1});
    const BufferId c = low_.fragment_registers(gemm.c.buffer);
    low_.emit(Group{fmt::format("{}: product", s.ordinal), low_.collect([&] {
      const Expr a = descriptor(gemm.a.buffer, slot, arith::mul(arena_, warpgroup(), counts.m * 64));
      const Expr b = descriptor(gemm.b.buffer, slot, low_.index(0));
      const Expr again = gemm.accumulate ? arena_.cast(low_.simplify(gemm.accumulate), DType::index) : low_.index(1);
      hold(gemm.c.buffer);
      low_.call(Primitive::wgmma_fence, {});
      for (int64_t k = 0; k < counts.k; ++k)
        for (int64_t im = 0; im < counts.m; ++im)
          low_.call(Primitive::wgmma_ss,
                    {text_arg(std::to_string(plan.n)), text_arg(plan.atom->a == DType::bf16 ? "tl_bf16" : "tl_f16"),
                     registers_arg(c, low_.index(im * plan.n / 2), plan.n / 2), value_arg(advance_k(a, gemm.a.buffer, k, im * 64)),
                     value_arg(advance_k(b, gemm.b.buffer, k, 0)), value_arg(k == 0 ? again : low_.index(1))});
      low_.call(Primitive::wgmma_commit, {});
      hold(gemm.c.buffer);
    })});
  }

  // Registers to swizzled shared memory, then each warpgroup's rows to global memory, 64 columns a box.
  void store(const Stmt& s, const Copy& copy) {
    const size_t map = roles_.stores.at(s.ordinal);
    const int64_t rows = roles_.maps[map].box[1], columns = copy.src.extents[1];
    const DType dtype = low_.program().buffer(copy.dst.buffer).dtype;
    note_tensor_copy(s, copy.dst.buffer, roles_.maps[map]);
    const BufferId staging = low_.staging_tile(dtype, {copy.src.extents[0], columns});
    if (tiles_) {  // the copy of the tile before may still read it
      low_.when(leads_warpgroup(), [&] { low_.call(Primitive::tma_store_wait_read, {text_arg("0")}); });
      low_.call(Primitive::named_barrier, {value_arg(arith::add(arena_, warpgroup(), kWarpgroupBarrier)), value_arg(low_.index(128))});
    }
    low_.group(fmt::format("{}: copy, to its staging", s.ordinal), [&] { fill_staging(copy, staging, dtype, rows, columns); });
    low_.call(Primitive::proxy_fence, {});
    low_.call(Primitive::named_barrier, {value_arg(arith::add(arena_, warpgroup(), kWarpgroupBarrier)), value_arg(low_.index(128))});
    low_.group(fmt::format("{}: copy, out", s.ordinal), [&] {
      low_.when(leads_warpgroup(), [&] {
        const Expr row = arith::mul(arena_, warpgroup(), rows);
        for (int64_t column = 0; column < columns; column += 64)
          low_.call(Primitive::tma_store_2d,
                    {text_arg(fmt::format("map{}", map)), address_arg(low_.shared_access(staging, {row, low_.index(column)})),
                     value_arg(low_.simplify(arith::add(arena_, copy.dst.offsets[1], column))),
                     value_arg(low_.simplify(arith::add(arena_, copy.dst.offsets[0], row)))});
        low_.call(Primitive::tma_store_commit, {});
      });
    });
  }

  void fill_staging(const Copy& copy, BufferId staging, DType dtype, int64_t rows, int64_t columns) {
    const BufferId regs = low_.fragment_registers(copy.src.buffer), packed = low_.registers(DType::uint32, 4, "packed");
    const Expr lane = arith::mod(arena_, low_.thread(), 32);
    const Expr warp = arith::mod(arena_, arith::floordiv(arena_, low_.thread(), 32), 4);
    const Expr first = low_.let_preamble(
        arith::add(arena_, arith::mul(arena_, warpgroup(), rows), arith::add(arena_, arith::mul(arena_, warp, 16), arith::mod(arena_, lane, 16))), "row");
    const Expr half = low_.let_preamble(arith::mul(arena_, arith::floordiv(arena_, lane, 16), 8), "half");
    low_.unrolled(rows / 64, [&](Expr im) {
      low_.unrolled(columns / 16, [&](Expr j) {
        const Expr reg = arith::add(arena_, arith::mul(arena_, j, 8), arith::mul(arena_, im, columns / 2));
        low_.call(Primitive::cast_pack, {text_arg(dtype == DType::bf16 ? "tl_bf16" : "tl_f16"), registers_arg(packed, low_.index(0), 4), registers_arg(regs, reg, 8)});
        const Access to = low_.shared_access(staging, {arith::add(arena_, first, arith::mul(arena_, im, 64)), arith::add(arena_, arith::mul(arena_, j, 16), half)});
        low_.call(Primitive::stmatrix_x4, {address_arg(to), registers_arg(packed, low_.index(0), 4)});
      });
    });
  }

  Lower& low_;
  Arena& arena_;
  const RolePlan& roles_;
  const Kernel& kernel_;
  const Block& body_;  // of a tile
  const Stmt* tiles_;  // the loop over them; null: one
  RingPlace place_{};  // of the consumers
  BufferId full_ = kNoBuffer, empty_ = kNoBuffer;
};

}  // namespace

Status Lower::kernel_with_roles(const Kernel& kernel) { return RoleLowering(*this, kernel).run(); }

void Lower::declare_shared(BufferId tile) {
  const Buffer b = program().buffer(tile);
  const AddressMap& map = plan_.shared.at(tile);
  const bool packed = is_packed(program(), tile);  // then all that there is are views of bytes
  const DType unit = packed ? DType::uint8 : b.dtype;
  const BufferId flat = scratch(unit, map.bytes(b.stages) / dtype_bytes(unit), "tile");
  lowered_[tile] = plan_.flat[tile] = flat;
  program().buffers[flat].alignment = map.alignment();
  std::vector<BufferId> views = views_of(program(), tile);
  if (packed) views.push_back(tile);
  for (BufferId view : views) {
    if (!plan_.shared.count(view)) continue;
    const DType dtype = program().buffer(view).dtype;
    const int64_t bits = is_packed(program(), view) ? dtype_bits(dtype) : 8 * dtype_bytes(dtype);
    lowered_[view] = scratch(dtype, plan_.shared.at(view).bytes(b.stages) * 8 / bits, "view");
    program().buffers[lowered_[view]].view_of = flat;
  }
}

BufferId Lower::staging_tile(DType dtype, const std::vector<int64_t>& shape) {
  Buffer b;
  b.name = "staging";
  b.dtype = dtype;
  b.scope = Scope::shared;
  for (int64_t extent : shape) b.shape.push_back(index(extent));
  const BufferId id = program().add_buffer(std::move(b));
  plan_.shared.emplace(id, *swizzled_map(shape, dtype_bytes(dtype), 128));
  declare_shared(id);
  return id;
}

}  // namespace tilert::passes
