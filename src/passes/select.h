// select: how each tile product is computed, and how many threads a block has. These fix owners and swizzles, so they come
// before layouts.
// before: gemm statements and hints; after: KernelPlan::threads and gemms are filled.
#pragma once

#include <string>

#include "layout/fragment_builders.h"
#include "passes/module.h"

namespace tilert::passes {

Result<Module> select(Module module, const PassContext& context);

// Plans each product of the kernel for plan.threads: who changes the number of threads calls it again.
Status plan_products(const ir::Program& program, const ir::Kernel& kernel, KernelPlan& plan, const PassContext& context);

// The dtype in which both operands of a product enter (ir/semantics.h).
DType operand_dtype(const ir::Program& program, const ir::Gemm& gemm);

// Who holds the accumulator of a planned product.
FragmentMap gemm_accumulator_map(const GemmPlan& plan, int threads, int warp_size);

// Multiply-add products: each thread computes rows x columns of the tile.
struct FmaShape {
  int64_t thread_rows, thread_columns;  // threads along each dim
  int64_t rows, columns;                // registers along each dim
};
FmaShape fma_shape(const GemmPlan& plan, int threads);

// The warpgroup instruction for the operands as they lie in their tiles; null: none.
const Atom* warpgroup_atom(const ir::Program& program, const ir::Gemm& gemm, const Target& target);

// The primitive of an mma.sync atom.
std::string mma_primitive(const Atom& atom);

// The last two extents of a region, which are a matrix.
std::pair<int64_t, int64_t> matrix_extents(const ir::Region& region);

}  // namespace tilert::passes
