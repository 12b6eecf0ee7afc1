// Facts: what is known of the integers of a program: ranges of variables, conditions that hold where one stands, and
// from them the range of any expression, by one recursive analysis. Overflow-aware: int32 wraps, so its sums are
// unknown unless proved to fit; index arithmetic is exact.
// Not here: rewriting (simplify.h), questions in words (prover.h).
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "arith/affine.h"
#include "arith/range.h"
#include "ir/program.h"

namespace tilert::arith {

class Facts {
 public:
  explicit Facts(ir::Arena& arena);
  // With what a program states of its dims: 0 <= dim < 2^40, their values, and their promised divisors.
  explicit Facts(const ir::Program& program);

  // The same for a variable of dtype index by its id.
  void set_range(ir::VarId var, int64_t low, int64_t high);
  void set_multiple(ir::VarId var, int64_t modulus, int64_t remainder = 0);
  // What a variable's definition says: it holds wherever the variable exists, so it outlives the current scope.
  void define(ir::Expr var, const Range& range);
  // low <= var <= high, in the current scope.
  void bound(ir::Expr var, int64_t low, int64_t high);
  // begin <= var < end, or end < var <= begin where the step is negative: as a loop's variable.
  void bound_loop(ir::Expr var, ir::Expr begin, ir::Expr end, int64_t step = 1);
  // value mod modulus = remainder.
  void congruent(ir::Expr value, int64_t modulus, int64_t remainder = 0);
  // A condition that holds in the current scope.
  void assume(ir::Expr condition);
  void assume_not(ir::Expr condition);

  void push();
  void pop();

  // Every value that the integer, index or bool expression can have.
  Range range(ir::Expr e) const;
  // The range of the form's sum, not wrapped; fits(range(form), form.dtype) proves that nothing wraps.
  Range range(const Affine& form) const;
  // The form of e as exact integers (of dtype index, over e's own terms), where that sum provably does not wrap.
  std::optional<Affine> exact(ir::Expr e) const;
  // Whether an exact form is certainly >= 0: from ranges, or one known inequality.
  bool at_least_zero(const Affine& exact) const;
  // A condition known as such; +1 true, -1 false, 0 unknown.
  int known(ir::Expr condition) const;

  // Grows whenever something is learned or a scope ends: what was derived before may be stale.
  ir::Arena& arena() const { return arena_; }
  uint64_t version() const { return version_; }

 private:
  struct Frame {
    std::unordered_map<ir::Expr, Range> learned;
    std::unordered_map<ir::Expr, bool> conditions;
    std::vector<Affine> inequalities;  // each >= 0
    mutable std::unordered_map<ir::Expr, Range> memo;
  };

  void learn(ir::Expr e, const Range& range);
  void learn_order(ir::Expr a, ir::Expr b, int64_t distance);  // b - a >= distance
  void learn_order_leaf(ir::Expr a, ir::Expr b, int64_t distance);
  void learn_equal(ir::Expr a, ir::Expr b);
  void changed();
  Range analyze(ir::Expr e) const;
  Range analyze_integer(ir::Expr e) const;
  Range analyze_bits(ir::Expr e) const;

  ir::Arena& arena_;
  std::vector<Frame> frames_;
  uint64_t version_ = 1;
};

// A scope of facts for as long as it lives.
class FactsScope {
 public:
  explicit FactsScope(Facts& facts) : facts_(facts) { facts_.push(); }
  ~FactsScope() { facts_.pop(); }
  FactsScope(const FactsScope&) = delete;
  FactsScope& operator=(const FactsScope&) = delete;

 private:
  Facts& facts_;
};

}  // namespace tilert::arith
