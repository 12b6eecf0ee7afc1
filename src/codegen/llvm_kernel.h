// The writer of one kernel's entry, for its own source files: llvm_kernel.cpp (frame, control, expressions),
// llvm_loops.cpp (element loops, accesses, reductions), llvm_products.cpp (block products).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "arith/prover.h"
#include "codegen/generated.h"
#include "codegen/llvm_microkernel.h"
#include "codegen/llvm_values.h"
#include "ir/visit.h"
#include "passes/cpu_lower.h"

namespace tilert::codegen {

// What a module's kernels call, written once each.
struct LlvmCallees {
  std::set<MathUse> math;
  std::set<std::pair<DType, Pack>> packs;
  std::set<GemmKind> products;
  bool rows = false;
  bool reports = false;
  std::set<uint32_t> functions;  // of the program's own
};

// The function's definitions in LLVM IR, renamed so that they meet no others; what it declares and `declared` does not name
// yet goes there. INVALID_PROGRAM where they are not what its declaration says.
Result<std::string> llvm_function_text(const ir::DeviceFunction& function, std::set<std::string>& declared);  // llvm_function.cpp
std::string llvm_function_name(const ir::DeviceFunction& function, std::string_view name);
std::string llvm_value_type(DType dtype);  // as a device function takes and gives it

class LlvmKernel {
 public:
  LlvmKernel(passes::CpuProgram& program, size_t index, const CpuIsa& isa, LlvmCallees& callees)
      : program_(program.module.program), arena_(*program_.arena), facts_(program.module.facts), prover_(arena_, facts_),
        kernel_(program.kernels[index]), source_(program_.kernels[index]), index_(index), isa_(isa), callees_(callees),
        values_(text_, isa) {}

  std::string run(GeneratedKernel& out);

 private:
  using Expr = ir::Expr;

  // llvm_kernel.cpp
  void parameters(GeneratedKernel& out);
  void regions(GeneratedKernel& out);
  void memory();
  void tiles(const std::string& area);
  void blocks();
  void block(const passes::CpuBlock& body);
  void statement(const passes::CpuStmt& stmt);
  void loop(const passes::CpuFor& n);
  void while_loop(const passes::CpuWhile& n);
  void branch(const passes::CpuIf& n);
  void repeat(ir::Expr condition, const std::function<void()>& head, const std::function<void()>& body);
  void counted_loop(const ir::For& loop, const std::function<void()>& body);
  void stepped_loop(const ir::For& loop, const std::function<void()>& body);
  bool counts_rounds(const ir::For& loop);
  bool ends_in_64_bits(const ir::For& loop);
  std::string has_next(const ir::For& loop, const std::string& now, const std::string& end);

  // llvm_grid.cpp
  void block_that_meets(const std::string& number, const std::vector<std::string>& extents);
  void loop_that_meets(const passes::CpuFor& n);
  void meet();
  int count_meetings(const passes::CpuBlock& body) const;
  void forget();
  void hold(ir::VarId var);  // into memory, where it is held
  std::string load_held(ir::VarId var);
  std::string held_place(ir::VarId var);

  // Expressions: scalar() with a vector loop's variable at its first lane, vector() for all lanes.
  std::string scalar(Expr e);
  std::string vector(Expr e, int lanes);
  std::string value(Expr e, int lanes) { return lanes == 1 ? scalar(e) : vector(e, lanes); }
  std::string compute(Expr e, int lanes);
  bool varies(Expr e) const;
  bool is_tame(Expr e);
  // The variable's value from here on. What was computed from a former one is forgotten.
  void bind(ir::VarId var, const std::string& scalar) {
    if (!scalars_.insert_or_assign(var, scalar).second)
      for (auto& frame : cache_) std::erase_if(frame, [&](const auto& entry) { return ir::uses_var(entry.first.first, var); });
  }

  // llvm_loops.cpp
  void loops(const passes::CpuLoops& n, size_t depth);
  void vector_loop(const passes::CpuLoops& n, const std::string& begin, const std::string& end);
  void scalar_loop(const passes::CpuLoops& n, const std::string& begin, const std::string& end);
  std::vector<Expr> open_conditions(const ir::Block& body, ir::VarId lane);
  void element_block(const ir::Block& body, int lanes, bool checked);
  void element_statement(const ir::Stmt& stmt, int lanes, bool checked);
  void let(const ir::Let& n, int lanes, bool checked);
  void inline_source(const ir::Inline& n);
  // llvm_call.cpp
  void call_device(const ir::CallDevice& n);
  std::string call_function(const ir::CallDevice& n);
  std::string operand(const ir::DeviceOperand& operand, DType dtype);
  void report(const ir::Report& n);  // llvm_report.cpp
  void atomic(const ir::Atomic& n);  // llvm_atomic.cpp
  std::string atomic_update(const ir::Atomic& n, DType dtype, const std::string& place);
  std::string atomic_rounds(const ir::Atomic& n, DType dtype, const std::string& place, const std::string& operand);
  void store(const ir::Store& n, int lanes, bool checked);
  std::string conditions(const ir::Access& access, bool checked);  // an i1; empty: certainly inside
  std::string read(const ir::Access& access, DType dtype, int lanes);
  void write(const ir::Access& access, DType dtype, int lanes, const std::string& value);
  // llvm_packed.cpp: elements of less than a byte, one after the other.
  bool is_packed(ir::BufferId buffer) const;
  std::vector<std::string> lane_offsets(const ir::Access& access, int lanes);
  std::string read_packed(const ir::Access& access, DType dtype, int lanes);
  void write_packed(const ir::Access& access, DType dtype, int lanes, const std::string& value);
  std::vector<std::string> lane_pointers(const ir::Access& access, int lanes);
  std::string pointer(ir::BufferId buffer, const std::string& element, const std::string& first);
  std::string start(ir::BufferId buffer, ir::Expr address);
  std::vector<std::string> lane_starts(const ir::Access& access, int lanes);
  std::string base(ir::BufferId buffer) const;
  // Numbered among those in use: what a program declares besides leaves no trace.
  std::string tile_name(ir::BufferId id) const { return fmt::format("%tile{}", std::distance(kernel_.scratch.begin(), kernel_.scratch.find(id))); }
  std::string local_name(ir::BufferId id) const { return fmt::format("%local{}", std::distance(kernel_.locals.begin(), kernel_.locals.find(id))); }
  bool is_local(ir::BufferId buffer) const { return kernel_.locals.count(buffer) != 0; }
  DType local_dtype(DType d) const;
  std::string local_pointer(const ir::Access& access);
  void row_reduce(const passes::CpuRowReduce& n, size_t depth);
  void reduce_row(const passes::CpuRowReduce& n);

  // llvm_products.cpp
  void measure_products(const passes::CpuBlock& body);
  void product(const passes::CpuGemm& n);
  void product_rounds(const passes::CpuGemm& n, const MicroKernel& kernel, const std::string counts[3], const std::string& accumulate);
  std::pair<std::string, std::string> product_rows(const passes::CpuGemm& n, const std::string counts[3], const std::string& depth,
                                                   const std::string& at);
  std::string matrix_at(const passes::CpuMatrix& matrix, const std::string& k, bool k_is_row);

  // Values made inside a scope are not seen outside of it.
  struct Scope {
    explicit Scope(LlvmKernel& kernel) : kernel_(kernel), facts_(kernel.facts_) { kernel_.cache_.emplace_back(); }
    ~Scope() { kernel_.cache_.pop_back(); }
    LlvmKernel& kernel_;
    arith::FactsScope facts_;
  };
  using Key = std::pair<Expr, int>;
  struct KeyHash { size_t operator()(const Key& k) const { return k.first->hash * 31 + static_cast<size_t>(k.second); } };

  ir::Program& program_;
  ir::Arena& arena_;
  arith::Facts& facts_;
  arith::Prover prover_;
  const passes::CpuKernel& kernel_;
  const ir::Kernel& source_;
  const size_t index_;
  const CpuIsa& isa_;
  LlvmCallees& callees_;
  LlvmText text_;
  LlvmValues values_;
  std::vector<std::unordered_map<Key, std::string, KeyHash>> cache_;
  std::unordered_map<ir::VarId, std::string> scalars_, vectors_;
  std::set<ir::BufferId> regions_;  // of the workspace
  std::set<ir::VarId> varying_;
  ir::VarId lane_ = ir::kNoVar;     // the variable of the vector loop around
  int64_t panel_bytes_ = 0, row_bytes_ = 0;
  std::string own_, word_, ended_;  // of a block that meets: its tiles, where it goes on, the end of its round
  int meetings_ = 0;
};

}  // namespace tilert::codegen
