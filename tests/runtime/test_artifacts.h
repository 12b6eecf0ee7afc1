// Artifacts that the tests of this room load and launch, made by hand as the compiler would make them.
#pragma once

#include <string>

#include "runtime/artifact.h"

namespace tilert::runtime::testing {

inline std::vector<uint8_t> image(const std::string& kernels, const std::string& target = "sm_90a") {
  const std::string text = "fake " + target + "\n" + kernels;
  std::vector<uint8_t> bytes(text.begin(), text.end());
  bytes.push_back(0);
  return bytes;
}

inline TensorDim sized(Expr size, StrideRule rule = StrideRule::contiguous, Expr stride = {}) {
  return {size, rule, stride};
}

inline Param tensor(const char* name, DType dtype, std::vector<TensorDim> dims, Access access = Access::in) {
  Param param;
  param.name = name;
  param.dtype = dtype;
  param.dims = std::move(dims);
  param.access = access;
  return param;
}

inline Param scalar(const char* name, DType dtype) {
  Param param;
  param.kind = ParamKind::scalar;
  param.name = name;
  param.dtype = dtype;
  return param;
}

inline Slot pointer_slot(uint16_t index) { return {SlotKind::pointer, 8, index, {}}; }
inline Slot scalar_slot(uint16_t index, uint8_t bytes) { return {SlotKind::scalar, bytes, index, {}}; }
inline Slot expression_slot(Expr expr, uint8_t bytes) { return {SlotKind::expression, bytes, 0, expr}; }
inline Slot map_slot(uint16_t index) { return {SlotKind::tensor_map, kTensorMapBytes, index, {}}; }

// y[N] = a * x[N] + y[N]: parameters x, y, a; kernel (x, y, a, N as i32), 256 threads.
inline Artifact saxpy() {
  BytecodeBuilder b;
  Artifact artifact;
  artifact.target = "sm_90a";
  artifact.code = image("saxpy 8 8 4 4\n");
  artifact.dims = {{DimKind::dynamic, "N", 0, 0}};
  const Expr n = b.emit(b.dim(0)), one = b.emit(b.constant(1));
  artifact.params = {tensor("x", DType::f32, {sized(n)}), tensor("y", DType::f32, {sized(n)}, Access::inout),
                     scalar("a", DType::f32)};
  Kernel kernel;
  kernel.entry = "saxpy";
  kernel.grid[0] = b.emit(b.ceildiv(b.dim(0), b.constant(256)));
  kernel.grid[1] = kernel.grid[2] = one;
  kernel.threads[0] = 256;
  kernel.slots = {pointer_slot(0), pointer_slot(1), scalar_slot(2, 4), expression_slot(n, 4)};
  artifact.kernels = {kernel};
  artifact.bytecode = b.take();
  artifact.configuration = "{\"threads\":256}";
  artifact.provenance = {"test", 1, "fake"};
  return artifact;
}

// C[M, N] = A[M, K] B[N, K], bf16, through tensor maps: A's rows have a free stride, read at launch.
// Dims M dynamic, N = 256, K a multiple of 64. Tiles of 128 x 128 x 64, clusters of 2 blocks, PDL.
inline Artifact tma_gemm() {
  BytecodeBuilder b;
  Artifact artifact;
  artifact.target = "sm_90a";
  artifact.code = image("gemm 128 128 8 4 8\n");
  artifact.dims = {{DimKind::dynamic, "M", 0, 0}, {DimKind::constant, "N", 256, 0}, {DimKind::divisible, "K", 64, 0}};
  const Expr m = b.emit(b.dim(0)), n = b.emit(b.dim(1)), k = b.emit(b.dim(2)), one = b.emit(b.constant(1));
  artifact.params = {tensor("A", DType::bf16, {sized(m, StrideRule::free), sized(k)}),
                     tensor("B", DType::bf16, {sized(n), sized(k)}),
                     tensor("C", DType::bf16, {sized(m), sized(n)}, Access::out)};
  artifact.guard = b.emit(b.binary(Op::eq, b.floormod(b.stride(0, 0), b.constant(8)), b.constant(0)));
  TensorMapRecipe a;
  a.param = 0;
  a.dtype = DType::bf16;
  a.rank = 2;
  a.dims[0] = k;
  a.dims[1] = m;
  a.strides[1] = b.emit(b.mul(b.stride(0, 0), b.constant(2)));
  a.box[0] = 64;
  a.box[1] = 128;
  a.swizzle = Swizzle::b128;
  a.l2 = L2Promotion::b256;
  TensorMapRecipe w = a;
  w.param = 1;
  w.dims[1] = n;
  w.strides[1] = b.emit(b.mul(b.dim(2), b.constant(2)));
  Kernel kernel;
  kernel.entry = "gemm";
  kernel.grid[0] = b.emit(b.ceildiv(b.dim(1), b.constant(128)));
  kernel.grid[1] = b.emit(b.ceildiv(b.dim(0), b.constant(128)));
  kernel.grid[2] = one;
  kernel.threads[0] = 384;
  kernel.cluster[0] = 2;
  kernel.shared_bytes = 200000;
  kernel.features = kNeedsLaunchEx | kNeedsTensorMap;
  kernel.attributes = kKernelPdl;
  kernel.slots = {map_slot(0), map_slot(1), pointer_slot(2), expression_slot(m, 4),
                  expression_slot(b.emit(b.stride(0, 0)), 8)};
  kernel.tensor_maps = {a, w};
  artifact.kernels = {kernel};
  artifact.bytecode = b.take();
  return artifact;
}

inline ArtifactPtr share(Artifact artifact) { return std::make_shared<const Artifact>(std::move(artifact)); }

}  // namespace tilert::runtime::testing
