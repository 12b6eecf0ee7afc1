// Results of consumers through a staging tile and the tensor copy engine.
#include <fmt/format.h>

#include <algorithm>

#include "passes/cluster.h"
#include "passes/element_wise.h"
#include "passes/hopper.h"
#include "passes/layouts.h"
#include "passes/roles.h"
#include "passes/select.h"
#include "support/round.h"

namespace tilert::passes {

using namespace ir;

// Whether a fragment's elements are where those of a product are: each warpgroup's rows with itself.
bool RoleLowering::lies_as_sums(BufferId fragment) const {
  const auto found = low_.plan().fragments.find(fragment);
  if (found == low_.plan().fragments.end() || low_.plan().partial.count(fragment)) return false;
  const auto& gemms = low_.plan().gemms;
  return std::any_of(gemms.begin(), gemms.end(), [&](const auto& g) {
    return g.second.path == GemmPlan::Path::wgmma && gemm_accumulator_map(g.second, low_.plan().threads, low_.context().target.warp_size) == found->second;
  });
}

void RoleLowering::meet_warpgroup() {
  low_.call(Primitive::named_barrier, {value_arg(arith::add(arena_, warpgroup(), kWarpgroupBarrier)), value_arg(low_.index(128))});
}

bool RoleLowering::is_staged(const Stmt& s) const {
  const auto* copy = std::get_if<Copy>(&s.node);
  return copy && roles_.stores.count(s.ordinal) && lies_as_sums(copy->src.buffer);
}

bool RoleLowering::stages(const Stmt& s) const {
  const If* inside = guard_branch(s, low_.plan());
  return is_staged(s) || (inside && std::any_of(inside->then_body.begin(), inside->then_body.end(), [&](const StmtPtr& inner) { return is_staged(*inner); }));
}

bool RoleLowering::is_stored_by_rows(const Stmt& s) const {
  const auto* copy = std::get_if<Copy>(&s.node);
  return copy && roles_.row_stores.count(s.ordinal) && lies_as_sums(copy->src.buffer);
}

// The copy of the tile before may still read it.
void RoleLowering::wait_for_staging() {
  low_.when(leads_warpgroup(), [&] { low_.call(Primitive::tma_store_wait_read, {text_arg("0")}); });
  meet_warpgroup();
  staging_is_free_ = true;
}

// Registers to swizzled shared memory, then each warpgroup's rows to global memory, a span of columns a box.
Status RoleLowering::store(const Stmt& s, const Copy& copy) {
  const TensorMapPlan& map = roles_.maps[roles_.stores.at(s.ordinal)];
  const int64_t rows = map.box[1], columns = copy.src.extents[1];
  const DType dtype = low_.program().buffer(copy.dst.buffer).dtype;
  const BufferId staging = low_.staging_tile(dtype, {copy.src.extents[0], columns}, map.swizzle);
  if (tiles_ && !staging_is_free_) wait_for_staging();
  staging_is_free_ = false;
  TILERT_TRY(fill_staging(s, copy, staging, rows));
  low_.call(Primitive::proxy_fence, {});
  meet_warpgroup();
  low_.group(fmt::format("{}: copy, out", s.ordinal), [&] {
    low_.when(leads_warpgroup(), [&] {
      const Expr row = arith::mul(arena_, warpgroup(), rows);
      for (int64_t column = 0; column < columns; column += map.box[0])
        low_.call(Primitive::tma_store_2d,
                  {text_arg(fmt::format("map{}", roles_.stores.at(s.ordinal))), address_arg(low_.shared_access(staging, {row, low_.index(column)})),
                   value_arg(low_.engine_place(arith::add(arena_, copy.dst.offsets[1], column))),
                   value_arg(low_.engine_place(arith::add(arena_, copy.dst.offsets[0], row)))});
      low_.call(Primitive::tma_store_commit, {});
    });
  });
  note_tensor_copy(s, copy.dst.buffer, map);
  return {};
}

// The trip `step` of a loop over a warp's 16 of each 64 rows: `lane_rows` of them, each moved by neighbouring lanes.
Parallel RoleLowering::rows_loop(const Copy& copy, BufferId staging, int64_t lane_rows, Expr step) {
  Program& program = low_.program();
  const int64_t share = copy.src.extents[0] / roles_.consumers, in_warp = 16 / lane_rows;
  Parallel loop;
  loop.vars = {program.add_var(VarKind::loop, DType::index, "i"), program.add_var(VarKind::loop, DType::index, "j")};
  loop.extents = {4 * roles_.consumers * lane_rows, copy.src.extents[1]};
  const Expr i = program.var(loop.vars[0]), j = program.var(loop.vars[1]), warp = arith::floordiv(arena_, i, lane_rows);
  const auto plus = [&](Expr x, Expr y) { return arith::add(arena_, x, y); };
  const Expr first = plus(arith::mul(arena_, arith::floordiv(arena_, warp, 4), share), arith::mul(arena_, arith::mod(arena_, warp, 4), 16));
  const Expr within = plus(arith::mul(arena_, arith::floordiv(arena_, step, in_warp), 64), arith::mul(arena_, arith::mod(arena_, step, in_warp), lane_rows));
  const Expr row = plus(plus(first, within), arith::mod(arena_, i, lane_rows));
  const DType dtype = program.buffer(staging).dtype;
  const VarId x = program.add_var(VarKind::let, dtype, "x");
  loop.body.push_back(make_stmt(Let{x, nullptr, {staging, {row, j}}}));
  loop.body.push_back(make_stmt(Store{{copy.dst.buffer, {plus(copy.dst.offsets[0], row), plus(copy.dst.offsets[1], j)}}, program.var(x)}));
  return loop;
}

// Rows that the engine cannot write: each warp stages its own and stores them along the rows, which touches a third of the
// memory's sectors that the accumulators' order would.
Status RoleLowering::store_rows(const Stmt& s, const Copy& copy) {
  const int64_t rows = copy.src.extents[0], columns = copy.src.extents[1], share = rows / roles_.consumers;
  const BufferId staging = low_.staging_tile(low_.program().buffer(copy.dst.buffer).dtype, {rows, columns}, roles_.row_stores.at(s.ordinal));
  low_.plan().roles.warp_staging.insert(low_.plan().flat.at(staging));
  if (tiles_) low_.call(Primitive::warp_sync, {});  // its other lanes may still read the tile before
  TILERT_TRY(fill_staging(s, copy, staging, share));
  low_.call(Primitive::warp_sync, {});
  const Parallel whole = rows_loop(copy, staging, 1, low_.index(0));
  const int64_t width = ElementWise(low_, whole, FragmentMap(whole.extents, {}), {}, {}).widest();
  int64_t lanes = 32;
  while (lanes > 2 && lanes / 2 * width >= columns) lanes /= 2;
  const int64_t lane_rows = 32 / lanes;
  const std::vector<Digit> digits = {{Place::register_, width, 1, 1}, {Place::register_, ceil_div(columns, lanes * width), 1, lanes * width},
                                     {Place::lane, lanes, 1, width}, {Place::lane, lane_rows, 0, 1}, {Place::warp, 4, 0, lane_rows},
                                     {Place::warpgroup, roles_.consumers, 0, 4 * lane_rows}};
  Status status;
  low_.group(fmt::format("{}: copy, rows out", s.ordinal), [&] {
    low_.serial(share / 4 / lane_rows, [&](Expr step) {
      const Parallel loop = rows_loop(copy, staging, lane_rows, step);
      status = ElementWise(low_, loop, FragmentMap(loop.extents, digits), "neighbouring lanes", {}).run();
    });
  });
  low_.plan().copies[s.ordinal] = {CopyPlan::Engine::registers, width * dtype_bytes(low_.program().buffer(staging).dtype)};
  return status;
}

// 16-bit elements by matrices of 8x8, where the tile is made of 16 columns of whole instructions; others in pairs.
Status RoleLowering::fill_staging(const Stmt& s, const Copy& copy, BufferId staging, int64_t rows) {
  const DType from = low_.program().buffer(copy.src.buffer).dtype, to = low_.program().buffer(staging).dtype;
  const int64_t columns = copy.src.extents[1];
  const std::string comment = fmt::format("{}: copy, to its staging", s.ordinal);
  const bool casts = from == DType::f32 && (to == DType::bf16 || to == DType::f16);
  if ((casts || (from == to && dtype_bytes(to) == 2)) && rows % 64 == 0 && columns % 16 == 0) {
    low_.group(comment, [&] { fill_by_matrices(copy, staging, rows, casts); });
    return {};
  }
  Copy in = copy;
  in.dst = {staging, {low_.index(0), low_.index(0)}, copy.src.extents};
  return ElementWise(low_, copy_loop(low_.program(), in).loop, low_.fragment_map(copy.src.buffer), comment, {}).run();
}

void RoleLowering::fill_by_matrices(const Copy& copy, BufferId staging, int64_t rows, bool casts) {
  const BufferId regs = low_.fragment_registers(copy.src.buffer), packed = low_.registers(DType::uint32, 4, "packed");
  const DType dtype = low_.program().buffer(staging).dtype;
  const int64_t columns = copy.src.extents[1];
  const Expr lane = arith::mod(arena_, low_.thread(), 32);
  const Expr warp = arith::mod(arena_, arith::floordiv(arena_, low_.thread(), 32), 4);
  const Expr first = low_.let_preamble(
      arith::add(arena_, arith::mul(arena_, warpgroup(), rows), arith::add(arena_, arith::mul(arena_, warp, 16), arith::mod(arena_, lane, 16))), "row");
  const Expr half = low_.let_preamble(arith::mul(arena_, arith::floordiv(arena_, lane, 16), 8), "half");
  low_.unrolled(rows / 64, [&](Expr im) {
    low_.unrolled(columns / 16, [&](Expr j) {
      const CallArg words = registers_arg(packed, low_.index(0), 4);
      const CallArg elements = registers_arg(regs, arith::add(arena_, arith::mul(arena_, j, 8), arith::mul(arena_, im, columns / 2)), 8);
      if (casts) low_.call(Primitive::cast_pack, {text_arg(dtype == DType::bf16 ? "tl_bf16" : "tl_f16"), words, elements});
      else low_.call(Primitive::pack_regs, {words, elements});
      const Access to = low_.shared_access(staging, {arith::add(arena_, first, arith::mul(arena_, im, 64)), arith::add(arena_, arith::mul(arena_, j, 16), half)});
      low_.call(Primitive::stmatrix_x4, {address_arg(to), words});
    });
  });
}

BufferId Lower::staging_tile(DType dtype, const std::vector<int64_t>& shape, int64_t span) {
  Buffer b;
  b.name = "staging";
  b.dtype = dtype;
  b.scope = Scope::shared;
  for (int64_t extent : shape) b.shape.push_back(index(extent));
  const BufferId id = program().add_buffer(std::move(b));
  plan_.shared.emplace(id, *swizzled_map(shape, dtype_bytes(dtype), span));
  declare_shared(id);
  plan_.roles.staging.insert(plan_.flat.at(id));
  return id;
}

}  // namespace tilert::passes
