// Lowering of a kernel whose warps have roles (roles.h), as a class in seven files: hopper_kernel.cpp has the frame and the
// producer, hopper_copy.cpp the copies that its threads make, hopper_product.cpp the products, hopper_work.cpp what is done to their
// elements in each trip, hopper_trip.cpp trips whose products wait for other work too, hopper_meet.cpp how the parts of a split
// loop's sums meet, hopper_store.cpp the results' way out.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "passes/lower.h"
#include "passes/role_trips.h"

namespace tilert::passes {

// Where a role stands in the ring: the slot and the parity of its phase.
struct RingPlace {
  ir::BufferId slot, parity;
};

class RoleLowering {
 public:
  RoleLowering(Lower& low, const ir::Kernel& kernel);

  Status run();

 private:
  // ---- the frame (hopper_kernel.cpp) ----
  const ir::Stmt& loop_stmt() const;
  const ir::For& loop() const;
  const ir::Block& trip() const { return trip_of(loop()); }  // of which conditions may let some pass over
  bool is_common(const ir::Stmt& s) const;
  bool is_of_ring(ir::BufferId tile) const;
  // Shared tiles are declared where both roles see them; those that the loop fills have a slot for each stage.
  void declare_tiles();
  ir::CallArg barrier_arg(ir::BufferId barriers, ir::Expr slot) { return address_arg({barriers, {slot}}); }
  void initialize_barriers();
  RingPlace enter_ring(int64_t parity);
  std::pair<ir::Expr, ir::Expr> read_place(const RingPlace& place);
  void advance(const RingPlace& place, ir::Expr slot, ir::Expr parity);
  // The loop, its conditions, and in what is a trip then, the body. Behind each condition the lets of those that the role makes.
  void loop_over(const std::set<ir::VarId>& lets, const std::function<void()>& body);
  void enter_trip(const ir::Block& block, const std::set<ir::VarId>& lets, const std::function<void()>& body);
  // What a role does for each tile: once, or in the loop over tiles, with what both roles compute for themselves there, but for
  // the lets that it computes `later`.
  Status over_tiles(const std::unordered_set<ir::VarId>& later, const std::function<Status()>& tile);

  // ---- producer: one thread issues the engine's copies ----
  Status produce(ir::Expr thread, int64_t consumers);
  void issue_copies(ir::Expr slot);
  ir::Expr slot_bytes();
  void note_tensor_copy(const ir::Stmt& s, ir::BufferId to, const TensorMapPlan& map);
  void load(const ir::Stmt& s, const ir::Copy& copy, ir::Expr slot);

  // ---- copies by all threads of the producer (hopper_copy.cpp) ----
  struct Pieces {
    int64_t unit, across, count, rounds;  // elements of a piece, pieces of a row and of the tile, rounds of all threads
  };
  int64_t producer_arrivals() const;      // at a full barrier, in each phase
  ir::Expr enter_copies(ir::Expr thread, int64_t consumers);
  void copy_by_threads(ir::Expr slot, ir::Expr copier);
  bool flies() const;
  int64_t slots_ahead() const;
  int64_t async_piece(const ir::Stmt& s, const ir::Copy& copy) const;
  Pieces pieces_of(const ir::Copy& copy, int64_t unit) const;
  // `f` for each piece of this thread, `together` ones in a row: its number among these, row and column in the tile.
  using OfPiece = std::function<void(ir::Expr i, ir::Expr row, ir::Expr column, ir::Expr exists)>;
  void each_piece(const Pieces& pieces, int64_t together, ir::Expr batch, ir::Expr copier, const OfPiece& f);
  void fly(const ir::Copy& copy, const Pieces& pieces, ir::Expr slot, ir::Expr copier);
  void carry(const ir::Stmt& s, const ir::Copy& copy, ir::Expr slot, ir::Expr copier);
  void land(ir::Expr slot);
  void land_next(int64_t younger);
  void land_all();
  void arrive(ir::Expr slot);

  // ---- consumers ----
  Status consume();
  Status consume_tile();
  Status around_loop(const ir::StmtPtr& s);
  void give_back(ir::Expr slot, ir::Expr condition, int64_t threads);
  // Between a tile's products and the next one's nobody multiplies, so what can be done elsewhere is: lets that the loop does not
  // need are computed while its last product is under way, where staging is waited for too; sums are not cleared, the first
  // product writes over them.
  std::unordered_set<ir::VarId> lets_after_loop() const;
  std::unordered_map<ir::BufferId, const ir::Stmt*> sums_from_zero() const;  // and what clears them
  Status before_last_wait();
  ir::Expr leads_warpgroup() { return arith::eq(arena_, arith::mod(arena_, low_.thread(), 128), 0); }
  ir::Expr warpgroup() { return low_.let_preamble(arith::floordiv(arena_, low_.thread(), 128), "warpgroup"); }

  // ---- products (hopper_product.cpp) ----
  Status multiply_loop();
  void release(ir::BufferId before);
  void hold(ir::BufferId fragment);
  void multiply(const ir::Stmt& s, const ir::Gemm& gemm, ir::Expr slot, ir::BufferId packed = ir::kNoBuffer);  // operand a

  // ---- element-wise work of a trip (hopper_work.cpp) ----
  // A read of the work that waits for no product: from the ring while the trip's products run, from a tensor a trip earlier still.
  struct EarlyRead {
    ir::Parallel loop;         // reads it for the coordinates that it depends on, into `values`
    FragmentMap map;
    ir::BufferId values;
    ir::BufferId following = ir::kNoBuffer;  // of a tensor: the next trip's
  };
  struct Work {
    ir::StmtPtr loop;
    std::vector<EarlyRead> reads;
  };
  Status work_loop();
  // With two sums in turn: the product of a trip runs while the one before is worked on.
  struct Alternation {
    const ir::Stmt* product;
    std::vector<Work> works;
    bool reads_late;         // some work reads the ring behind the product
    ir::BufferId sums[2], slots[2];
  };
  Status alternate_loop(const std::vector<Work>& works);
  bool takes_turns() const { return roles_.alternates && roles_.consumers == 2; }
  void meet_turn(ir::Primitive how, ir::Expr whose);
  void issue(const Alternation& all, int sum);
  Status finish(const Alternation& all, int sum, ir::Expr trip, const char* left);
  // Runs f with a variable of that value, of which all is known that is of the loop's.
  Status at_trip(ir::Expr value, const std::function<Status(ir::Expr)>& f);
  std::vector<Work> split_works();
  bool reads_ring(const std::vector<Work>& works) const;
  Status each_read(const std::vector<Work>& works, const std::function<Status(const EarlyRead&)>& f) const;
  Status read_ahead(const std::vector<Work>& works, ir::Expr slot, ir::Expr trip);
  void keep_following(const std::vector<Work>& works);
  Work split_work(const ir::StmtPtr& s);
  std::optional<EarlyRead> early_read(const ir::Parallel& loop, const FragmentMap& map, const ir::Let& let, std::vector<ir::Expr>* place);
  Status read_early(const EarlyRead& read, ir::BufferId to, ir::Expr slot, ir::Expr trip);
  void give_slot_back(ir::Expr slot);
  ir::StmtPtr with_slot(const ir::StmtPtr& s, ir::Expr slot) const;

  // ---- a trip's statements in their order (hopper_trip.cpp) ----
  bool is_load(const ir::Stmt& s) const { return roles_.loads.count(s.ordinal) || roles_.by_threads.count(s.ordinal); }
  Status in_order_loop();
  Status in_order(const ir::Block& block, ir::Expr slot);
  Status branch_in_order(const ir::If& branch, ir::Expr slot);
  bool is_made_before(const ir::Stmt& s) const;
  Status multiply_in_order(const ir::Stmt& s, const ir::Gemm& gemm, ir::Expr slot);
  // Operand a in packed registers, four for each of the product's steps; kNoBuffer: it is read from its tile.
  Result<ir::BufferId> packed_operand(const ir::Gemm& gemm, const GemmPlan& plan, ir::Expr slot);
  // Waits for the products under way; then their registers may be used.
  void settle();

  // ---- parts of sums that meet in the last block of a cluster (hopper_meet.cpp) ----
  bool meets() const { return !low_.plan().meeting.sums.empty(); }
  void declare_meeting();
  void initialize_meeting();
  void enter_meeting();
  ir::Expr meeting_parity();
  void meet();
  void leave_meeting();
  void hand_on(ir::Expr parity);
  void add_up(ir::Expr parity);
  void add_parts(ir::BufferId sum, ir::BufferId parts);
  int64_t part_elements(ir::BufferId sum);

  // ---- stores (hopper_store.cpp) ----
  bool lies_as_sums(ir::BufferId fragment) const;
  bool is_staged(const ir::Stmt& s) const;          // leaves through shared memory and the copy engine
  bool is_stored_by_rows(const ir::Stmt& s) const;  // through shared memory and warps' stores
  bool stages(const ir::Stmt& s) const;  // is staged, or holds one that is
  void wait_for_staging();
  void meet_warpgroup();
  Status store(const ir::Stmt& s, const ir::Copy& copy);
  Status store_rows(const ir::Stmt& s, const ir::Copy& copy);
  ir::Parallel rows_loop(const ir::Copy& copy, ir::BufferId staging, int64_t lane_rows, ir::Expr step);
  Status fill_staging(const ir::Stmt& s, const ir::Copy& copy, ir::BufferId staging, int64_t rows);
  void fill_by_matrices(const ir::Copy& copy, ir::BufferId staging, int64_t rows, bool casts);

  Lower& low_;
  ir::Arena& arena_;
  const RolePlan& roles_;
  const ir::Kernel& kernel_;
  const ir::Block& body_;  // of a tile
  const ir::Stmt* tiles_;  // the loop over them; null: one
  const int sharing_;      // blocks of a cluster that share copies
  RingPlace place_{};  // of the consumers
  std::unordered_set<ir::VarId> late_;
  std::unordered_map<ir::BufferId, const ir::Stmt*> from_zero_;
  bool staging_is_free_ = false;
  std::vector<ir::BufferId> sums_under_way_, operands_under_way_;  // fragments; packed registers
  ir::BufferId full_ = ir::kNoBuffer, empty_ = ir::kNoBuffer;
  std::vector<ir::BufferId> parts_;  // of each sum that meets: those of the other blocks
  ir::BufferId come_ = ir::kNoBuffer, taken_ = ir::kNoBuffer, meeting_parity_ = ir::kNoBuffer;
  ir::BufferId landed_ = ir::kNoBuffer, pending_ = ir::kNoBuffer;  // the producer's: the next slot to tell of, how many are to tell of
};

}  // namespace tilert::passes
