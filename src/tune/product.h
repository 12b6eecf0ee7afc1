// recommend: how a matrix product should be computed, from its sizes and a device's numbers, without trying: all candidates
// that the compiler can build, each with the time that the cost model predicts, best first. The same answer for the same
// question on every machine: nothing is measured, read or kept.
// Not here: programs (include/tilert/kernels/gemm.hpp makes them of a choice).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/dtype.h"
#include "support/result.h"
#include "target/target.h"

namespace tilert::tune {

// C[m, n] = A[m, k] B[k, n]. Leading dimensions in elements.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  DType a = DType::none, b = DType::none, c = DType::none;
  DType sum = DType::none;  // of the products; none: f32 of floats (f64 of f64), int32 of integers
  bool trans_a = false;     // A is stored as [k, m]
  bool trans_b = false;     // B is stored as [n, k]
  bool tf32 = false;        // f32 operands enter as tf32
  int64_t lda = 0, ldb = 0, ldc = 0;  // 0: rows are contiguous
  bool fixed_order = false;           // every candidate, whatever m is, gives the same bits
  int64_t epilogue_bytes = 0;         // read beside A and B for all of C: a residual, a bias
};

enum class Path : uint8_t {
  warpgroup = 1,  // a producer of tensor copies and consumer warpgroups (passes/roles.h)
  warp = 2,       // instructions of one warp, or multiply-adds
  vector = 3,     // few rows of A: each row of B is read once and reduced by a warp
};

// What a candidate's time is made of, mostly.
enum class Bound : uint8_t { tensor = 1, shared = 2, feed = 3, l2 = 4, memory = 5, latency = 6 };

struct Choice {
  Path path = Path::warp;
  int tile_m = 0, tile_n = 0, tile_k = 0;  // rows and columns of C, and of K, that a block takes at once
  int consumers = 0;                       // warpgroups of products; 0 but for Path::warpgroup
  int threads = 0;                         // of a block, without the producer's
  int stages = 0;
  int cluster = 1;     // blocks along M that share B's tile
  int split_k = 1;     // blocks that share a tile of C
  int raster = 0;      // columns of tiles that run together; 0: grid order
  bool swapped = false;     // B's side (the weights) are the rows of the instruction
  bool persistent = false;  // as many blocks as fit loop over the tiles
  Bound bound = Bound::tensor;
  double nanoseconds = 0;  // predicted

  // Whether both are the same program.
  bool same_program(const Choice& other) const;
};

// Every candidate, best first; equal times in the order of their fields. At least one where the product is one that tilert
// computes at all.
Result<std::vector<Choice>> recommend(const Product& product, const Target& target, const DeviceClass& device);

// The parts of it. Candidates have no time yet; `predict` gives it and what bounds it.
std::vector<Choice> candidates(const Product& product, const Target& target, const DeviceClass& device);
void predict(const Product& product, const Target& target, const DeviceClass& device, Choice& choice);

// Facts of a product and a choice that both parts use.
inline int64_t ceildiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
DType sum_type(const Product& product);
DType operand_type(const Product& product);  // in which both enter instructions of one warp
bool operands_held(const Product& product, const DeviceClass& device);  // A and B both, by L2
bool rows_on_16_bytes(const Product& product);  // of A and B both
int64_t a_row_start(const Product& product);    // bytes that each row starts on: a power of two up to a line, 128
int64_t b_row_start(const Product& product);
bool keeps_order(const Product& product);       // candidates are of one order of sums: asked for, and sums are rounded
bool a_k_major(const Product& product);
bool b_k_major(const Product& product);
// Whether the result goes through shared memory, from there by the tensor copy engine or by warps along its rows, and the bytes
// that its staging takes.
bool result_staged(const Product& product, const Choice& choice);
bool engine_stores(const Product& product, const Choice& choice);
int64_t staging_bytes(const Product& product, const Choice& choice);
// Whether the parts of a split product meet in the shared memory of a cluster (passes/split_k.h), and what of it they take.
bool meets_in_cluster(const Choice& choice);
int64_t meeting_bytes(const Choice& choice);
int64_t slot_bytes(const Product& product, const Choice& choice);
int64_t shared_bytes(const Product& product, const Choice& choice);  // of a block
int64_t accumulators(const Choice& choice);                          // registers of a thread
int64_t blocks_per_multiprocessor(const Product& product, const Target& target, const Choice& choice);
const char* bound_name(Bound bound);

}  // namespace tilert::tune
