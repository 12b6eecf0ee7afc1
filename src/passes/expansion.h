// Expansion: what the expansions of passes/expand.h share: making tiles, loops and element accesses. Of one statement.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "arith/build.h"
#include "passes/module.h"

namespace tilert::passes {

// Whether products of warps on the target take the sparse one as it is.
bool takes_sparse(const Target& target, const ir::Program& program, const ir::Gemm& n);

class Expansion {
 public:
  // `threads`: about how many run a block; 1 on CPUs.
  Expansion(ir::Program& program, const ir::Stmt& stmt, int threads, uint32_t& next_ordinal)
      : program_(program), stmt_(stmt), threads_(threads), next_ordinal_(next_ordinal) {}

  void fold(const ir::Fold& n);
  void scan(const ir::Scan& n);
  void pick(const ir::Pick& n);
  void sort(const ir::Sort& n);
  void sparse_product(const ir::Gemm& n);

  ir::Block take() { return std::move(blocks_.front()); }

 private:
  using Exprs = std::vector<ir::Expr>;
  using Extents = std::vector<int64_t>;
  using Body = std::function<void(const Exprs& point)>;
  // A dim cut into chunks of `length` elements, one a thread: an odd length keeps threads on different banks.
  struct Chunks {
    int64_t count = 1, length = 1, extent = 1;
  };

  ir::Arena& arena() { return *program_.arena; }
  ir::Expr index(int64_t value) { return arena().index(value); }
  bool on_cpu() const { return threads_ == 1; }
  Chunks chunks_of(int64_t lines, int64_t extent) const;

  template <class T>
  void emit(T node) { blocks_.back().push_back(ir::make_stmt(std::move(node), next_ordinal_++, stmt_.location)); }
  ir::Block collect(const std::function<void()>& f);
  ir::BufferId tile(ir::Scope scope, DType dtype, const Extents& shape, const char* name);
  void parallel(const Extents& extents, const Body& body);
  void serial(int64_t trips, const std::function<void(ir::Expr)>& body);
  void when(ir::Expr condition, const std::function<void()>& body);

  ir::Expr read(ir::BufferId buffer, Exprs at);
  void store(ir::BufferId buffer, Exprs at, ir::Expr value);
  ir::Expr let(ir::Expr value);
  // The element of a region at a point of it; a destination that lacks the dim has none there.
  Exprs place(const ir::Region& region, const Exprs& point) const;
  static Extents resized(Extents extents, int dim, int64_t extent) { return extents[static_cast<size_t>(dim)] = extent, extents; }
  static Exprs with(Exprs point, int dim, ir::Expr at);
  static Exprs without(Exprs point, int dim);
  Exprs place_of_line(const ir::Region& region, const Exprs& point, int dim) const;
  ir::Region whole(ir::BufferId buffer);
  // left combined with right, component by component.
  Exprs combined(const ir::Combine& combine, const Exprs& left, const Exprs& right);
  Exprs combined_in_order(const ir::Combine& combine, const Exprs& before, const Exprs& after, bool reverse);
  Exprs read_all(const std::vector<ir::BufferId>& buffers, const Exprs& at);
  void store_all(const std::vector<ir::BufferId>& buffers, const Exprs& at, const Exprs& values);
  std::vector<ir::BufferId> tiles_of(const ir::Combine& combine, ir::Scope scope, const Extents& shape, const char* name);

  void scan_chunks(const ir::Scan& n, const Chunks& chunks);
  void scan_elements(const ir::Scan& n);
  void scan_totals(const ir::Scan& n, std::vector<ir::BufferId>& totals, const Extents& shape, int64_t needed);
  void sort_few(const ir::Sort& n);
  void sort_all(const ir::Sort& n);
  void store_sorted(const ir::Sort& n, const Exprs& point, ir::Expr key, ir::Expr place_in_line);
  void store_taken(const ir::Region& dst, int dim, ir::Expr at, const std::function<ir::Expr(const Exprs&)>& value);

  ir::Program& program_;
  const ir::Stmt& stmt_;
  const int threads_;
  uint32_t& next_ordinal_;
  std::vector<ir::Block> blocks_{1};
};

}  // namespace tilert::passes
