// ElementWise: the lowering of one element-wise loop (lower_parallel.cpp). An object of one use.
#pragma once

#include <map>

#include "layout/same_owner.h"
#include "passes/lower.h"

namespace tilert::passes {

// Bounds of a copy's global side beyond the tensor's own, and what is read outside.
struct ElementBounds {
  ir::BufferId buffer = ir::kNoBuffer;
  std::vector<ir::Expr> valid;
  ir::Expr safe = nullptr;
  ir::Eviction eviction = ir::Eviction::normal;  // of the accesses of `buffer`
};

class ElementWise {
 public:
  // `map` distributes the loop's points: dim d is loop.vars[d].
  ElementWise(Lower& lower, const ir::Parallel& loop, const FragmentMap& map, std::string comment, ElementBounds bounds);
  Status run();
  // The widest vectors that all its contiguous memory accesses allow, whatever the map; 1 if there are none.
  int64_t widest();
  bool hinted() const { return hinted_; }    // some access carries the eviction priority, after run
  int64_t vector() const { return vector_; }  // elements that its memory accesses move at once, after run

 private:
  struct MatchKey {
    ir::BufferId buffer;
    std::vector<ir::Expr> indices;
    bool operator<(const MatchKey& o) const { return std::tie(buffer, indices) < std::tie(o.buffer, o.indices); }
  };

  void match_fragments();
  void match(const ir::Access& access, bool write);
  void stage_mismatched();
  void reload_written();
  void plan_vectors();
  const ir::Access* moved(const ir::Stmt& s) const;
  int64_t access_width(size_t position, int64_t limit);
  bool moves_whole(const ir::Access& access, int64_t width, ir::Scope scope);
  // Whether the body reads memory that it writes: copies of an iteration would read what the first of them wrote.
  bool updates_memory() const;
  Status check_locals() const;
  void loop_over_registers();
  void set_coordinates(ir::Expr reg);
  ir::Expr inside_extents();
  ir::Expr value(ir::Expr e);
  // Null entries (bounds that a copy does not give) stay null.
  std::vector<ir::Expr> values(const std::vector<ir::Expr>& exprs);
  ir::Expr bounds_condition(const ir::Access& access, const std::vector<ir::Expr>& indices);
  ir::Expr safe_value(const ir::Access& access);
  void move_vector(ir::Access dst, ir::Access src);
  ir::Expr below(ir::Expr index, ir::Expr end);
  bool loads_inside(const ir::Access& access, ir::Expr safe) const;
  void load_vectors();
  void store_vectors();
  void block(const ir::Block& body);
  void statement(const ir::StmtPtr& s);
  ir::Access fragment_access(const ir::Access& access);
  void let(const ir::Stmt* s, const ir::Let& l);
  void store(const ir::Stmt* s, const ir::Store& st);
  // lower_threads.cpp
  void thread_op(const ir::ThreadOp& n);
  void shuffle(const ir::ThreadOp& n);
  void vote(const ir::ThreadOp& n);
  void copy_elements(const ir::ThreadOp& n);
  bool copies_whole(const ir::ThreadOp& n) const;
  void wait_for_copies();
  // lower_early.cpp
  void find_early();
  bool is_late(const std::vector<ir::Expr>& indices) const;
  void read_early();
  void call_device(const ir::CallDevice& n);  // lower_call.cpp
  // lower_atomic.cpp
  bool acts_once() const;
  ir::Expr owner();  // true on the thread whose effects on memory count; null: on each
  int64_t most_added(const ir::Atomic& n) const;
  void atomic(const ir::Stmt* s, const ir::Atomic& n);
  // Emits a statement that gives the value of `var`, one of its fields (kNoVar: nobody asks): 0 where the condition does not hold.
  template <class Node>
  void give(ir::Expr condition, Node& node, ir::VarId& var, const char* name) {
    const ir::VarId asked = var;
    if (asked == ir::kNoVar || !condition) return low_.when(condition, [&] { low_.emit(node); });
    const DType dtype = low_.program().vars[asked].dtype;
    const ir::BufferId box = low_.scalar(dtype, name);
    low_.store({box, {}}, low_.arena().constant(dtype, 0));
    low_.when(condition, [&] {
      var = low_.program().add_var(ir::VarKind::let, dtype, name);
      low_.emit(node);
      low_.store({box, {}}, low_.program().var(var));
    });
    low_.emit(ir::Let{asked, nullptr, {box, {}}});
  }
  void report(const ir::Report& n);
  void add_vector(const ir::Atomic& n, const ir::Access& at, ir::BufferId box);

  Lower& low_;
  const ir::Parallel& loop_;
  const FragmentMap map_;
  std::string comment_;
  ElementBounds bounds_;
  std::map<MatchKey, OwnerMatch> matches_;
  std::map<ir::BufferId, ir::BufferId> staged_;    // fragments that go through shared memory, and where
  std::set<ir::BufferId> written_;
  struct Vector {
    const ir::Stmt* stmt;
    ir::BufferId box;  // its registers
  };
  Vector* vector_of(const ir::Stmt* s);
  std::vector<Vector> vectors_;                    // reads and writes moved as vectors, in program order
  int64_t vector_ = 1;
  bool hinted_ = false;
  bool once_ = false;                              // only the first of the threads that hold copies runs the body
  std::set<ir::VarId> defined_, late_;             // variables of the body; those that no vector's place may use
  std::vector<const ir::Let*> early_;              // the others, in order
  std::unordered_map<ir::VarId, ir::Expr> env_;    // the loop's variables in this iteration
  ir::Expr register_ = nullptr, inner_ = nullptr;
};

}  // namespace tilert::passes
