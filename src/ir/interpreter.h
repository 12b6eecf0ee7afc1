// Executes a program on host buffers: the oracle of every pass. Any stage before synchronization: tile programs, and
// lowered ones, whose statements run for all threads of a block one statement at a time (so that no barrier is needed
// and an asynchronous copy has landed when the next statement runs). Blocks run in order, x fastest; statements in
// order; points of a Parallel row-major; sums in order of k, products of floats added in f32 with no fused
// multiply-add, integers exactly and wrapped to the destination. It is an error, naming buffer and operation: to read
// an element of a tile that was never written, to leave a shared, fragment, var, local or register buffer, to touch in
// one point of a Parallel what another point writes, to write beyond the bytes of an argument.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"
#include "ir/report.h"

namespace tilert::ir {

struct HostArgument {
  void* data = nullptr;          // tensor
  int64_t bytes = 0;             // tensor: what data points to
  std::vector<int64_t> strides;  // tensor: elements; empty: what the program says. Not with views of the parameter
  uint64_t scalar = 0;           // scalar: bit pattern; bits beyond the dtype's width are not read
};

struct HostArguments {
  std::vector<HostArgument> parameters;  // one per Program::parameters
  std::vector<int64_t> dims;             // one per Program::dims; a dim bound when compiled must be given its value
};

// What reports left, in the order of their execution.
struct Reports {
  struct Entry {
    const Stmt* stmt;  // of the program that ran
    ReportEntry entry;
  };
  size_t most = kReportEntries;  // what comes after them is counted only
  std::vector<Entry> entries;
  uint64_t lost = 0;
};

struct InterpretOptions {
  int threads = 0;                            // of lowered kernels; 0: Kernel::threads
  int64_t max_statements = int64_t{1} << 36;  // executed, each lane's counted; more is an error
  int64_t max_elements = INT64_MAX;           // of regions that statements of tiles go over, and their multiply-adds
  int64_t max_tile_bytes = int64_t{1} << 30;
  Reports* reports = nullptr;  // null: nobody asks
};

// The program is verified. On an error the buffers hold what was written until then.
Status interpret(const Program& program, const HostArguments& arguments, const InterpretOptions& options = {});

}  // namespace tilert::ir
