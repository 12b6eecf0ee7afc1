// The verifier's class; only verifier.cpp and verify_*.cpp include it. Every check returns false once an error is
// found.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/semantics.h"
#include "ir/verifier.h"
#include "support/refusal.h"

namespace tilert::ir {

inline constexpr size_t kMaxRank = 8;
inline constexpr int64_t kMaxElements = int64_t{1} << 31;  // of a region or a parallel loop

class Verifier {
 public:
  Verifier(const Program& program, Stage stage) : p_(program), stage_(stage) {}
  Status run();

 private:
  // Which points of the enclosing Parallel a value depends on: a bit per variable.
  using Dependence = uint32_t;
  static constexpr Dependence kLane = 1u << 31;    // in a loop over threads: may differ among the threads of a warp
  static constexpr Dependence kInside = 1u << 30;  // a let made inside it

  // declarations (verifier.cpp)
  bool declarations();
  bool variable(const Var& v);
  bool dim(const Dim& d);
  bool scope_has_place(BufferId id);
  bool buffer(BufferId id);
  bool global_buffer(const Buffer& b);
  bool table(const Buffer& b, const std::string& what);
  bool workspace(const Buffer& b);
  bool tile_buffer(const Buffer& b);
  bool view(const Buffer& b, const std::string& what);
  bool layout(const Buffer& b, const std::string& what);
  bool parameter(const Parameter& parameter, size_t number);
  bool hints(const Hints& hints);
  bool kernel(const Kernel& k);
  bool source_kernel(const Kernel& k);
  bool grid_syncs(const Kernel& k);  // verify_grid.cpp
  bool persistent(const Kernel& k);
  bool dependent(const Kernel& k);
  bool tile_cost(const Kernel& k, Expr e);
  bool launch_exprs(const std::vector<Expr>& list, const char* what);
  bool over_dims(Expr e, bool scalars, const std::string& what);
  bool supported(DType dtype, const std::string& what);

  // statements (verify_stmt.cpp)
  bool statements(const Block& b);  // whose definitions stay
  bool block(const Block& b);
  bool stmt(const Stmt& s);
  bool legal(const Stmt& s);
  bool check(const Alloc& n);
  bool check(const Copy& n);
  bool covers_bytes(const Region& r, const char* what);
  bool check(const Fill& n);
  bool check(const Gemm& n);
  bool check(const Reduce& n);
  bool check(const Fold& n);
  bool check(const Scan& n);
  bool check(const Pick& n);
  bool check(const Sort& n);
  bool tuple(const std::vector<Region>& src, const std::vector<Region>& dst, const Combine& combine, int dim, bool folds, const char* what);
  // Whether dst has src's extents but for `kept` along dim; kept 1: it may lack the dim.
  bool along(const Region& src, const Region& dst, int dim, int64_t kept, const char* what);
  bool check(const Reinterpret& n);
  bool lowered_or_whole(const Region& r);
  bool check(const Parallel& n);
  bool check(const For& n);
  bool check(const If& n);
  bool check(const While& n);
  bool check(const Jump& n);
  bool check(const Atomic& n);
  bool check(const GridSync& n);
  bool check(const Report& n);
  // verify_threads.cpp
  bool check(const ThreadOp& n);
  bool check_threads(const Parallel& n, const Kernel& k);
  bool loop_of_threads(const For& n);
  bool collective(const ThreadOp& n);
  bool named_barrier(const ThreadOp& n);
  bool shuffle(const ThreadOp& n);
  bool async_elements(const ThreadOp& n);
  // verify_async.cpp
  bool check(const AsyncOp& n);
  bool barrier_buffer(const Buffer& b, const std::string& what);
  bool barrier(const Access& a, const std::string& what);
  bool no_barrier(BufferId b, const char* what);
  bool tensor_copy(const AsyncOp& n);
  bool asynchronous(const Kernel& k);
  bool issued_product(const Gemm& n);
  bool check(const Roles& n);
  bool fits_role(const Stmt& s);
  bool roles_stand_last(const Kernel& k);
  bool one_role_arrives(const Kernel& k);
  bool products_in_flight(const Kernel& k);
  Dependence dependence_in_threads(Expr e) const;
  Dependence made_inside() const { return parallel_ && parallel_->threads ? kInside : 0; }
  bool check(const Let& n);
  bool check(const Store& n);
  bool check(const Inline& n);
  // verify_function.cpp
  bool functions();
  bool check(const CallDevice& n);
  bool operand(const DeviceOperand& given, const DeviceFunction& f, size_t number);
  bool writes_once(const CallDevice& n, const DeviceFunction& f);
  bool check(const Move& n);
  bool check(const Call& n);
  bool check(const Group& n);
  bool copy_options(const Copy& n);
  bool gemm_types(const Gemm& n);
  bool gemm_metadata(const Gemm& n, int64_t m, int64_t k);
  bool injective(const Access& a);
  void note_loop_writes(const Block& body);

  // operands (verify_operand.cpp)
  bool expr(Expr e, DType dtype, const char* what);
  bool typed(Expr e);
  bool visible(Expr e);
  bool define(VarId v, VarKind kind, Dependence dependence);
  bool region(const Region& r, const char* what);
  bool access(const Access& a, const char* what);
  bool names_buffer(BufferId b, const char* what);
  bool reads(BufferId b);
  bool writes(BufferId b);
  bool scope_is(BufferId b, std::initializer_list<Scope> allowed, const char* what);
  Dependence dependence(Expr e) const;
  Dependence dependence(const std::vector<Expr>& list) const;

  // What the points around are called in messages.
  std::string_view around() const { return parallel_->threads ? "a loop over threads" : "parallel"; }
  bool lowered() const { return stage_ >= Stage::lowered; }
  std::string name(BufferId b) const;
  std::string name_of_var(VarId v) const;
  static std::string shape_text(const std::vector<int64_t>& extents);
  bool fail(std::string message) { return fail_with(Code::kInvalidProgram, std::move(message)); }
  bool unsupported(std::string what, std::string_view instead) {
    Error error = refusal(std::move(what), instead, "; ");
    return fail_with(error.code, std::move(error.message));
  }
  bool fail_with(Code code, std::string message);

  const Program& p_;
  const Stage stage_;
  std::string kernel_;
  const Stmt* current_ = nullptr;
  std::optional<Error> error_;
  std::vector<char> typed_;          // by serial: nodes whose types were checked
  std::vector<char> defined_;        // variables in scope
  std::vector<char> ever_defined_;   // a let or loop variable is defined once
  std::vector<Dependence> depends_;  // variables
  std::vector<char> allocated_;      // buffers in scope
  std::vector<char> written_;        // buffers that something may have written
  const Parallel* parallel_ = nullptr;
  std::vector<char> private_;  // allocated inside the Parallel
  Dependence under_ = 0;       // of the conditions around, or passed on the way
  int loops_ = 0;              // around, within the Parallel where there is one
  // In a loop over threads: conditions around and whether they hold, while loops around, who meets at which barrier.
  std::vector<std::pair<Expr, bool>> conditions_;
  int whiles_ = 0;
  std::map<int64_t, uint32_t> barriers_;
  enum class Role : uint8_t { none, issuer, worker } role_ = Role::none;  // whose body is looked at
  const Kernel* in_kernel_ = nullptr;
};

}  // namespace tilert::ir
