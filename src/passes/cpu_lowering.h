// The class behind cpu_lower, for its own source files: cpu_lower.cpp (walk, tiles, control), cpu_lower_copy.cpp,
// cpu_lower_gemm.cpp, cpu_lower_loops.cpp (element-wise loops and reductions).
#pragma once

#include <optional>
#include <set>

#include "arith/prover.h"
#include "passes/cpu_lower.h"

namespace tilert::passes {

// What an access to a global buffer needs proved so that it is in range: conditions that are not certain.
std::vector<ir::Expr> open_range_conditions(const ir::Program& program, arith::Prover& prover, const ir::Access& access);
// The position of an element in its buffer, in elements: global strides, or row-major.
ir::Expr flat_offset(const ir::Program& program, const ir::Access& access);
std::vector<ir::Expr> element_strides(const ir::Program& program, ir::BufferId buffer);

class CpuLowering {
 public:
  CpuLowering(CpuProgram& out, CpuKernel& kernel, const ir::Block& body, int lanes, bool fixed_order)
      : fixed_order_(fixed_order), kernel_body_(body), program_(out.module.program), arena_(*program_.arena), facts_(out.module.facts), prover_(arena_, facts_),
        kernel_(kernel), lanes_(lanes) {}

  Result<CpuBlock> lower(const ir::Block& block);

 private:
  using Out = CpuBlock;
  Status lower(const ir::StmtPtr& stmt, Out& out);
  Status lower_copy(const ir::Copy& copy, Out& out);
  Status lower_fill(const ir::Fill& fill, Out& out);
  Status lower_gemm(const ir::Gemm& gemm, Out& out);
  Status lower_reduce(const ir::Reduce& reduce, Out& out);
  Status lower_parallel(const ir::Parallel& parallel, Out& out);
  Status lower_for(const ir::StmtPtr& stmt, const ir::For& loop, Out& out);
  Status lower_plain_for(const ir::For& loop, Out& out);
  Status lower_while(const ir::While& loop, Out& out);
  Status lower_if(const ir::If& n, Out& out);

  // cpu_lower_copy.cpp
  struct Clip {
    std::vector<ir::Expr> begins, ends;  // per proper dim
    ir::Expr inside = nullptr;           // of the dims of extent 1: null when certain
    bool full = true;                    // provably nothing is clipped
  };
  Clip clip(const ir::Region& region, const std::vector<ir::Expr>& valid);
  ir::Access element(const ir::Region& region, const std::vector<ir::VarId>& vars);
  CpuLoops loops_over(const std::vector<ir::VarId>& vars, const Clip& clip, ir::Block body);
  void copy_region(const ir::Region& src, const ir::Region& dst, const Clip& from, const Clip& to, Out& out);
  void fill_region(const ir::Region& dst, const Clip& to, ir::Expr value, Out& out);
  std::vector<ir::VarId> fresh_vars(size_t count);

  // cpu_lower_gemm.cpp
  struct Source {  // a copy of a tensor's region into a tile that a product reads whole
    const ir::Copy* copy;
    size_t k_dim, other_dim;  // of the tensor
    ir::Access first;         // where the loop's first round starts
  };
  ir::Expr trips(const ir::For& loop, int64_t most);
  Result<bool> fuse_product_loop(const ir::For& loop, Out& out);
  bool stays_inside(const ir::Block& block, const ir::Gemm& gemm, const Source& a, const Source& b);
  bool leaves_as_it_came(const ir::Copy& copy, const Source& a, const Source& b);
  bool keeps_its_points(const ir::Parallel& parallel, ir::BufferId tile, const Source& a, const Source& b);
  bool ends_with(const ir::Buffer& tensor, const Source& a, const Source& b);
  const ir::Gemm* only_product(const ir::For& loop);
  std::optional<Source> product_source(const ir::For& loop, const ir::Region& operand, bool k_last);
  bool starts_inside(const Source& source, ir::Expr& inside);
  bool whole_tile(const ir::Region& region);
  bool used_outside(const ir::For& loop, ir::BufferId buffer);
  CpuMatrix matrix_of(const ir::Region& region, bool transposed);
  ir::Region converted(const ir::Region& region, DType dtype, Out& out);  // a copy of the tile in another dtype
  void lower_plain_product(const ir::Gemm& gemm, DType in, Out& out);

  // cpu_lower_loops.cpp
  int lanes_for(const ir::Parallel& parallel);
  bool vector_body(const ir::Block& body, ir::VarId lane, std::set<ir::VarId>& varying, std::set<ir::VarId>& inner,
                   std::set<ir::BufferId>& locals);

  ir::BufferId temporary(DType dtype, const std::vector<int64_t>& shape);
  ir::Region whole(ir::BufferId buffer);
  void tile(ir::BufferId buffer);  // gives it a place in scratch
  int power_of_two_lanes(ir::Expr extent) const;
  void emit(Out& out, decltype(CpuStmt::node) node) { out.push_back({std::move(node), ordinal_, {}}); }
  ir::Expr index(int64_t v) { return arena_.index(v); }

  const bool fixed_order_;
  const ir::Block& kernel_body_;
  ir::Program& program_;
  ir::Arena& arena_;
  arith::Facts& facts_;
  arith::Prover prover_;
  CpuKernel& kernel_;
  const int lanes_;
  uint32_t ordinal_ = 0;
};

}  // namespace tilert::passes
