// RolePlanner: whether one kernel can have roles (roles.h), and what each gets. roles.cpp has the kernel's shape, the lets that
// both roles make, stores and the budget; role_statements.cpp the loop's conditions and work; role_operands.cpp its copies and products
// and how their tiles lie.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "ir/program.h"
#include "passes/module.h"
#include "passes/role_trips.h"

namespace tilert::passes {

inline constexpr int64_t kMostAccumulators = 200;  // registers of a consumer's thread, one or two warpgroups of them

class RolePlanner {
 public:
  RolePlanner(Module& module, const ir::Kernel& kernel, KernelPlan& plan, const PassContext& context);

  Status run();

 private:
  // ---- the kernel (roles.cpp). A text is why not; empty: nothing against it. ----
  std::string decide();
  std::string take_loop(const ir::Stmt& loop);
  std::string share_lets(const ir::Stmt& loop);
  bool writes_global_memory(const ir::Stmt& s) const;
  // Whether another statement writes (or also reads) memory of the tensor: copies of the engine are not in order with it.
  bool is_touched(const ir::Stmt& s, ir::BufferId tensor, bool writes_only) const;
  void take_store(const ir::Stmt& s, const ir::Copy& copy);
  bool engine_stores(const ir::Copy& copy);
  int64_t stage_results(int64_t room, int64_t slot);
  std::string budget(const ir::For& loop);
  void take_stores(const ir::Block& block);
  std::string why_not_clustered() const;

  // ---- a trip's statements (role_statements.cpp) ----
  // The branches that lead to what a trip does, which both roles take alike.
  std::string take_way(const ir::For& loop);
  std::string take_statement(const ir::Stmt& s);
  std::string take_branch(const ir::Stmt& s, const ir::If& branch);
  std::string take_branch_tiles(const ir::Block& block) const;
  std::string take_condition(ir::Expr condition) const;  // of copies
  // What each role makes for itself in a trip.
  void share_trip_lets(const ir::For& loop);
  std::string take_let(const ir::Let& let);
  // What consumers do in a trip beside its products: on fragments, with what tiles of the ring and tensors hold.
  std::string take_work(const ir::Stmt& s);
  std::string take_points(const ir::Parallel& loop);
  std::string note_work(ir::BufferId id, bool write);

  // ---- copies and products of the loop (role_operands.cpp) ----
  std::string take_load(const ir::Stmt& s, const ir::Copy& copy);
  std::string take_source(const ir::Stmt& s, const ir::Region& source);
  std::string take_product(const ir::Stmt& s, const ir::Gemm& gemm);
  std::string take_plain(const ir::Copy& copy);
  // Whether a second sum has room beside the loop's only one, which each trip makes anew and nothing else uses.
  bool alternates(const ir::For& loop) const;
  std::string choose_instruction(const ir::Gemm& gemm, GemmPlan& plan) const;
  int consumers_for(const GemmPlan& plan) const;
  std::string take_operand(const ir::Region& region, const GemmPlan& plan, bool is_a, bool mn_major);
  // Boxes and maps of the loop's copies, once all products have said how they read the tiles.
  std::string place_loads(const ir::For& loop);
  std::string place_load(const ir::Stmt& s, const ir::Copy& copy);
  // A copy's part for each block of a cluster, of a tile in boxes of so many columns; all of it where they do not share it.
  SharedLoad share_of(const ir::Stmt& s, const ir::Copy& copy, int64_t width);

  Module& module_;
  ir::Program& program_;
  const ir::Kernel& kernel_;
  const ir::Block& body_;  // of a tile
  KernelPlan& plan_;
  const PassContext& context_;
  std::optional<TripValues> values_;
  const ir::Block* trip_ = nullptr;  // in the loop, where it has one
  std::set<ir::VarId> producer_needs_;  // variables
  std::map<uint32_t, GemmPlan> gemms_;
  std::set<ir::BufferId> filled_, products_of_, in_tf32_, worked_on_;
  // A copy to global memory that may go through a staging tile of so many bytes, from there by the engine or by rows.
  struct StagedResult {
    uint32_t ordinal;
    TensorMapPlan map;
    int64_t bytes;
    bool by_engine;
  };
  std::vector<StagedResult> results_;
  int64_t accumulators_ = 0;
  int64_t meeting_bytes_ = 0;      // of a part of the sums that meet in a cluster
  std::set<ir::VarId> differing_;  // between blocks of a cluster
  bool reads_places_ = false;  // consumers read metadata of sparse products
};

}  // namespace tilert::passes
