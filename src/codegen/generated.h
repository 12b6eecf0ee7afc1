// GeneratedProgram: what every back end's code generator hands on: source text and what a launch needs to know, still in
// the program's own expressions (jit turns them into the artifact's bytecode).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tilert::codegen {

enum class Language : uint8_t { cuda, hip, llvm_ir };

// How the tensor map (TMA descriptor) of a tensor is encoded at launch. Innermost dim first.
struct TensorMap {
  ir::BufferId buffer;
  std::vector<ir::Expr> dims;      // elements
  std::vector<ir::Expr> strides;   // elements, of dims 1..rank-1 (dim 0 has stride 1)
  std::vector<int64_t> box;        // elements
  int swizzle = 0;                 // bytes: 0, 32, 64, 128
  bool tf32 = false;               // f32 elements are rounded to tf32 on the way, half to even
};

// One parameter of the kernel function, in order.
struct KernelParameter {
  enum class Kind : uint8_t { pointer, value, tensor_map, workspace, blocks } kind;  // blocks: of the planned kernel's launch, int32
  ir::BufferId buffer = ir::kNoBuffer;  // pointer, workspace: the region whose address it is
  ir::Expr value = nullptr;             // value: over dims, scalars and strides; passed as its dtype (index: int64)
  TensorMap map;                        // tensor_map
};

// The symbol of a program's k-th kernel, where it is not a source kernel with a name of its own.
inline std::string entry_name(size_t kernel) { return "tilert_kernel_" + std::to_string(kernel); }

struct GeneratedKernel {
  std::string entry;
  std::vector<ir::Expr> grid;    // three extents, x first; over dims and scalars
  int threads = 1;               // per block (CPU: 1)
  std::vector<ir::Expr> block, cluster_exprs;  // source kernels: in place of threads and cluster, where not empty
  ir::Expr shared_expr = nullptr;              // source kernels: in place of shared_bytes
  int cluster[3] = {1, 1, 1};
  bool cooperative = false;      // its blocks meet: all are there at once. CPU: the last parameter is where they keep their state
  bool dependent = false;        // the text waits for the grids before this one: it may start before they have ended
  bool persistent = false;       // its one extent is the most blocks; fewer do the same work
  bool planner = false;          // writes the list of tiles of the kernel that has `tile_cost`; not part of a launch
  ir::Expr tile_cost = nullptr, tile_locality = nullptr;  // over dims and tile_vars, indices of tile_extents
  std::vector<ir::VarId> tile_vars;
  std::vector<ir::Expr> tile_extents;
  int64_t shared_bytes = 0;      // CUDA: dynamic shared memory; CPU: scratch of one worker
  std::vector<KernelParameter> parameters;
};

// What a launch's workspace holds (workspace.h). Sizes in bytes, over dims; null where no kernel has any.
struct WorkspaceLayout {
  std::map<ir::BufferId, ir::Expr> offsets;
  ir::Expr bytes = nullptr, zero_bytes = nullptr;
};

struct GeneratedProgram {
  Language language;
  std::string target;            // "sm_90a", "cpu:x86-64-v3", ...
  std::string source;
  std::vector<GeneratedKernel> kernels;
  WorkspaceLayout workspace;
  std::vector<std::pair<std::string, std::string>> headers;  // source kernels: virtual headers
  std::vector<std::string> options;                          // source kernels: of the compiler
  ir::Program program;           // owns the expressions above; parameters and dims in the caller's order
  ir::Expr guard = nullptr;      // bool over dims and strides: when this variant may be launched; null: always
  std::string configuration;     // the resolved configuration as JSON
};

}  // namespace tilert::codegen
