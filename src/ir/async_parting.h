// The class behind part_async; only async.cpp and async_roles.cpp include it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/async.h"
#include "ir/visit.h"

namespace tilert::ir {

class AsyncParting {
 public:
  explicit AsyncParting(Program& program) : p_(program) {}

  Block run(const Block& body);

 private:
  // Of each barrier of a row: arrivals and bytes that its phase still waits for, and the phase's parity.
  struct State {
    BufferId arrivals, bytes, parity;
  };

  // ---- barriers and copies (async.cpp) ----
  Arena& arena() { return *p_.arena; }
  Expr number(int64_t v) { return arena().constant(DType::int64, static_cast<uint64_t>(v)); }
  void emit(Stmt::Node node) { out_.push_back(make_stmt(std::move(node), at_->ordinal, at_->location)); }
  Block collect(const std::function<void()>& f);
  Expr let(Access from);
  Expr read(BufferId from, const Access& barrier) { return let({from, barrier.indices}); }
  void add(BufferId to, const Access& barrier, int64_t more);
  BufferId tile(const Buffer& barriers, const char* name, int64_t value);
  BufferId scalar(const char* name, DType dtype);
  void declare(BufferId id);
  void complete(const State& state, const Access& barrier);
  Expr is_past(const AsyncOp& wait);
  void operation(const AsyncOp& n);
  Block statement(const StmtPtr& s);

  // ---- roles (async_roles.cpp) ----
  // A stretch of an issuer between two places where it may have to wait.
  struct Stretch {
    std::optional<AsyncOp> wait;  // before it
    Block body;                   // without waits; loop variables and lets of other stretches are in `kept`
    Expr condition = nullptr;     // where it goes on: null: at `next`
    size_t next = 0, other = 0;
  };
  struct Issuer {
    std::vector<Stretch> stretches;
    std::map<VarId, BufferId> kept;  // what one stretch gives to others
    BufferId place = kNoBuffer;      // the next one; their number: it is through
  };
  void roles(const Roles& n);
  void flatten(Issuer& issuer, const Block& body, size_t& at);
  size_t add_stretch(Issuer& issuer);
  void keep(Issuer& issuer, VarId var, Expr value, size_t at);
  void go_on(const Issuer& issuer);
  void advance(const AsyncOp* until);

  Program& p_;
  std::map<BufferId, State> states_;
  std::vector<Issuer> issuers_;
  BufferId moved_ = kNoBuffer;  // whether an issuer has gone on
  const Stmt* at_ = nullptr;
  Block out_;
};

}  // namespace tilert::ir
