// A product of warpgroups from swizzled shared tiles, or registers and one, started: who starts it says when it is waited for.
#pragma once

#include <vector>

#include "passes/lower.h"

namespace tilert::passes {

class WarpgroupProduct {
 public:
  explicit WarpgroupProduct(Lower& low) : low_(low), arena_(low.arena()) {}

  // By the plan of the statement; a sparse a's places are those of its metadata, too. a_at and b_at: the places of the operands' leading dims, or the slot of a ring; more: whether
  // it adds, null: it does. packed: registers with operand a, four words for each step; kNoBuffer: it is read from its tile.
  void issue(const ir::Stmt& s, const ir::Gemm& gemm, const std::vector<ir::Expr>& a_at, const std::vector<ir::Expr>& b_at, ir::Expr more,
             ir::BufferId packed = ir::kNoBuffer);
  // Keeps what reads and writes the fragment from moving across.
  void hold(ir::BufferId fragment);

 private:
  // A product's operand as it lies in its tile: bytes of a swizzled row, of a column of such rows, of an element.
  struct Operand {
    ir::BufferId tile;
    bool mn_major;
    int64_t span, sub_tile, size;
  };
  Operand operand(const ir::Region& region, bool mn_major) const;
  // Of a sparse product whose metadata lies at those places of its leading dims: a word for each 64 rows and step along K.
  ir::BufferId metadata(const GemmPlan& plan, const ir::Gemm& gemm, const std::vector<ir::Expr>& at);
  ir::Expr descriptor(const Operand& operand, std::vector<ir::Expr> at, ir::Expr start);
  ir::Expr advance(ir::Expr base, const Operand& operand, int64_t step, int64_t mn);

  Lower& low_;
  ir::Arena& arena_;
};

}  // namespace tilert::passes
