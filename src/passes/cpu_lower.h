// The CPU way down: from a specialized tile program to loops over elements and block products over rows and panels.
// Tiles (shared and fragment alike) become row-major arrays in the scratch of the thread that runs the block.
// Decided here: what is a product of which operands, which loops are fused into one long product, which loop is done in
// vectors, where each tile lies. Not here: instructions (src/codegen/llvm_program.h).
#pragma once

#include <map>
#include <variant>
#include <vector>

#include "passes/module.h"

namespace tilert::passes {

struct CpuStmt;
using CpuBlock = std::vector<CpuStmt>;

// Loops over elements, the last one in vectors of `lanes`; the body holds Let, Store, Atomic, Report, If, serial
// For, While, Jump and Alloc only.
struct CpuLoops {
  std::vector<ir::VarId> vars;
  std::vector<ir::Expr> begins, ends;
  ir::Block body;
  int lanes = 1;
  bool checked = true;  // global accesses may be out of range; else they are known to be inside
};

// dst = op over `var` from 0 to extent of src, row by row; src is contiguous along var.
struct CpuRowReduce {
  ir::ReduceOp op;
  std::vector<ir::VarId> vars;     // the kept dims
  std::vector<ir::Expr> extents;
  ir::VarId var;
  int64_t extent;
  ir::Access src, dst;             // src's last index is var
  bool accumulate;
};

// Rows of a matrix in a buffer: element (i, j) lies at offset + i * stride + j (transposed: + j * stride + i).
struct CpuMatrix {
  ir::BufferId buffer = ir::kNoBuffer;
  ir::Expr offset = nullptr, stride = nullptr;
  bool transposed = false;
  ir::Expr address = nullptr;  // of a tensor of a table
};

// c[m, n] = a[m, k] * b[k, n] (+ c). m, n, k are run-time counts, >= 0, with constant upper bounds for m and n.
struct CpuGemm {
  CpuMatrix a, b, c;
  ir::Expr m, n, k, accumulate;
  int64_t most_m, most_n, most_k;  // most_k: the k of one round of packing
  DType dtype;                     // of a and b in their buffers: f32, f16, bf16 or int8
  bool fixed_order = false;        // each round of k goes on with the sums of those before it: few rows do so anyway
};

struct CpuFor {
  ir::For loop;  // its body is empty
  CpuBlock body;
};
struct CpuWhile {
  ir::Expr condition;  // evaluated after `head`, before `body`
  CpuBlock head, body;
};
struct CpuIf {
  ir::Expr condition;
  CpuBlock then_body, else_body;
};

struct CpuStmt {
  // StmtPtr: Let, Store, Atomic, GridSync, Report, Jump, Inline or CallDevice of the block.
  std::variant<CpuLoops, CpuRowReduce, CpuGemm, CpuFor, CpuWhile, CpuIf, ir::StmtPtr> node;
  uint32_t ordinal = 0;
  std::string comment;
};

struct CpuKernel {
  CpuBlock body;
  std::map<ir::BufferId, int64_t> scratch;  // byte offset of each tile
  int64_t tile_bytes = 0;                   // of all tiles, a multiple of the page size
  std::map<ir::BufferId, int> locals;       // var and local buffers, with the lanes that each holds
  // Blocks that meet: each stops at a grid_sync and goes on there in the next round, so that tiles, variables and what it
  // has computed (`held`: byte offsets among the tiles) lie in `state`: a word for each block, then their tiles.
  bool meets = false;
  ir::BufferId state = ir::kNoBuffer;       // of the workspace
  std::map<ir::VarId, int64_t> held;
  std::vector<std::string> notes;           // what was fused, and why not
};

struct CpuProgram {
  Module module;
  std::vector<CpuKernel> kernels;
};

// `lanes`: f32 elements of a vector. UNSUPPORTED names what the CPU does not have.
Result<CpuProgram> cpu_lower(Module module, const PassContext& context, int lanes);

// Whether blocks meet in it.
bool meets(const CpuStmt& stmt);

inline constexpr int64_t kCpuProductDepth = 256;  // k of one round: a panel of B stays in L1, rows of A in L2

}  // namespace tilert::passes
