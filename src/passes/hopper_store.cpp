// Results of consumers through a staging tile and the tensor copy engine.
#include <fmt/format.h>

#include "passes/hopper.h"
#include "passes/roles.h"

namespace tilert::passes {

using namespace ir;

// Registers to swizzled shared memory, then each warpgroup's rows to global memory, 64 columns a box.
void RoleLowering::store(const Stmt& s, const Copy& copy) {
  const size_t map = roles_.stores.at(s.ordinal);
  const int64_t rows = roles_.maps[map].box[1], columns = copy.src.extents[1];
  const DType dtype = low_.program().buffer(copy.dst.buffer).dtype;
  note_tensor_copy(s, copy.dst.buffer, roles_.maps[map]);
  const BufferId staging = low_.staging_tile(dtype, {copy.src.extents[0], columns});
  low_.plan().roles.staging.insert(low_.plan().flat.at(staging));
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

void RoleLowering::fill_staging(const Copy& copy, BufferId staging, DType dtype, int64_t rows, int64_t columns) {
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
