// The trips of a loop of a kernel with roles (roles.h) of which some are passed over, or do a part of what others do: what producer
// and consumers can both tell of a trip, each for itself, and the form in which the loop is planned and lowered.
//
// A value that both tell alike is made of the loop's variable, of what both have before the loop, and of reads of global memory that
// the kernel does not write: such a read gives the same whenever it is made, so the producer may make it trips ahead.
#pragma once

#include <functional>
#include <set>

#include "ir/program.h"
#include "passes/module.h"

namespace tilert::passes {

// Whether the statements may write memory of the tensor.
bool may_write(const ir::Program& program, const ir::Block& block, ir::BufferId tensor);
bool is_load(const ir::Program& program, const ir::Stmt& s);  // a copy of global memory to a shared tile
// Whether one stands in the statements, at any depth; and whether a product does.
bool holds_load(const ir::Program& program, const ir::Block& block);
bool holds_product(const ir::Block& block);

// What both roles can tell of a trip.
class TripValues {
 public:
  TripValues(const ir::Program& program, const ir::Kernel& kernel, const ir::For& loop);

  bool is_shared(ir::VarId let) const { return shared_.count(let) != 0; }
  bool is_shared(ir::Expr e) const;
  bool is_shared(const ir::Let& let) const;
  // The shared lets of the loop that the variables are made of.
  std::set<ir::VarId> lets_for(const std::set<ir::VarId>& needed) const;

 private:
  void add(const ir::Block& block);

  const ir::Program& program_;
  const ir::Kernel& kernel_;
  std::set<ir::VarId> own_, shared_;  // made in the loop; of these, those of both
  std::vector<std::pair<ir::VarId, std::set<ir::VarId>>> made_of_;  // shared lets, in order
};

// before: a pipelined loop { a; if (c) { copies, products } } in any order and depth of branches
// after:  { declarations; lets; if (c) { lets; if (d) { copies, products } } } where all but lets and declarations of a block is a
//         branch with a product that both roles can tell of: copies of tiles that it alone reads go into it, so that a trip that
//         is passed over takes no slot. In what is then a trip, lets of branches with copies stand before them.
// A loop without branches and lets is as it was.
void shape_loops(ir::Program& program, ir::Kernel& kernel);

// before: a tile's { a; if (c) { lets; b; pipelined loop to n; d } else { e }; f } with one such loop, in branches of any depth
// after:  { a; lets; if (c) { b }; pipelined loop to c ? n : its begin; if (c) { d } else { e }; f }; RolePlan::behind has the last branch
// Lets that the loop or d needs must be the same in front of the branch; where they are not, it is as it was.
void bring_loop_out(ir::Program& program, ir::Kernel& kernel, KernelPlan& plan);

// The branch that leads to the copies and products of a loop so shaped, or further to them; null: they are here.
const ir::If* way_in(const ir::Block& block);
// What a trip that is made does.
const ir::Block& trip_of(const ir::For& loop);

// The copies of a trip to shared tiles, in order, and the condition of each; null: it is always made.
using OfLoad = std::function<void(const ir::StmtPtr& s, const ir::Copy& copy, ir::Expr condition)>;
void for_each_load(const ir::Program& program, const ir::Block& trip, const OfLoad& f);

void variables_of(ir::Expr e, std::set<ir::VarId>& to);
void variables_of(const ir::Stmt& s, std::set<ir::VarId>& to);  // of its own expressions

}  // namespace tilert::passes
