// Every GPU pass gives a legal program of the same meaning: the interpreter gives the same before and after it, bit for bit on
// integers and small-integer data, within rounding where floats are added in another order. Programs that get warp roles
// (roles.h) are followed up to the plan: once they are lowered, producer and consumers run at the same time, which the
// device emulator's tests execute (tests/emulator, and the conformance cases on emulated devices).
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/evaluate.h"
#include "ir/interpreter.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/sample_programs.h"
#include "passes/order.h"
#include "passes/planned.h"
#include "passes/specialize.h"

namespace tilert::passes {
namespace {

using ir::HostArguments;
using ir::Program;

struct Example {
  std::string name;
  Program program;
  std::vector<int64_t> dims;
  double tolerance = 0;  // relative; 0: bit for bit
};

Program text(const std::string& source) {
  auto p = ir::parse("tir 1\n" + source, "example");
  EXPECT_TRUE(p) << (p ? "" : p.error().message);
  return p ? std::move(*p) : Program{};
}

const char kSoftmax[] = R"(
var %M dim index
var %x block index
var %i loop index
var %j loop index
var %k loop index
var %n loop index
var %v let f32
var %w let f32
var %p let f32
var %q let f32
dim %M
buffer @X global f16 [%M, 100] in argument 0
buffer @Y global f32 [%M, 100] out argument 1
buffer @t fragment f32 [16, 100]
buffer @m fragment f32 [16]
buffer @l fragment f32 [16]
parameter tensor @X "X"
parameter tensor @Y "Y"
kernel "softmax" (%x) grid [div(add(%M, 15), 16)] {
  1: alloc @t
  2: alloc @m
  3: alloc @l
  4: copy @X[mul(%x, 16):16, 0:100] -> @t[0:16, 0:100]
  5: reduce max @t[0:16, 0:100] -> @m[0:16] dim 1
  6: parallel (%i : 16, %j : 100) {
    7: let %v = load @t[%i, %j]
    8: let %w = load @m[%i]
    9: store @t[%i, %j] = exp(sub(%v, %w))
  }
  10: reduce sum @t[0:16, 0:100] -> @l[0:16] dim 1
  11: parallel (%k : 16, %n : 100) {
    12: let %p = load @t[%k, %n]
    13: let %q = load @l[%k]
    14: store @t[%k, %n] = div(%p, %q)
  }
  15: copy @t[0:16, 0:100] -> @Y[mul(%x, 16):16, 0:100]
}
)";

const char kShared[] = R"(
var %N dim index
var %x block index
var %i loop index
var %j loop index
var %v let i32
var %c let i32
dim %N
buffer @X global i32 [%N, 32] in argument 0
buffer @Y global i32 [32, %N] out argument 1
buffer @s shared i32 [32, 32]
buffer @t shared i32 [32, 32]
buffer @count var i32 []
parameter tensor @X "X"
parameter tensor @Y "Y"
kernel "transpose" (%x) grid [div(add(%N, 31), 32)] {
  1: alloc @s
  2: alloc @t
  3: alloc @count
  4: store @count[] = i32(3)
  5: copy @X[mul(%x, 32):32, 0:32] -> @s[0:32, 0:32] safe i32(7) valid [sub(%N, 1), _]
  6: let %c = load @count[]
  7: parallel (%i : 32, %j : 32) {
    8: let %v = load @s[%j, %i]
    9: store @t[%i, %j] = add(mul(%v, i32(2)), %c)
  }
  10: copy @t[0:32, 0:32] -> @Y[0:32, mul(%x, 32):32]
}
)";

// Gets roles where the target has them.
const char kRows[] = R"(
var %x block index
var %k loop index
buffer @A global bf16 [64, 128] in argument 0
buffer @B global bf16 [64, 128] in argument 1
buffer @C global f32 [64, 64] out argument 2
buffer @a shared bf16 [64, 64]
buffer @b shared bf16 [64, 64]
buffer @acc fragment f32 [64, 64]
parameter tensor @A "A"
parameter tensor @B "B"
parameter tensor @C "C"
kernel "rows" (%x) grid [1] {
  1: alloc @a
  2: alloc @b
  3: alloc @acc
  4: fill @acc[0:64, 0:64] = f32(0x0)
  8: for pipelined %k = 0 to 2 stages 2 {
    5: copy @A[0:64, mul(%k, 64):64] -> @a[0:64, 0:64]
    6: copy @B[0:64, mul(%k, 64):64] -> @b[0:64, 0:64]
    7: gemm @a[0:64, 0:64], @b[0:64, 0:64], @acc[0:64, 0:64] trans_b accumulate true
  }
  9: copy @acc[0:64, 0:64] -> @C[0:64, 0:64]
}
)";

// Trips that are passed over, in two ways; a copy before both that a trip without needs not make, and parts of trips.
const char kSomeTrips[] = R"(
var %x block index
var %k loop index
var %m let i32
var %q let index
buffer @A global bf16 [64, 512] in argument 0
buffer @B global bf16 [64, 512] in argument 1
buffer @C global f32 [64, 64] out argument 2
buffer @I global i32 [8] in argument 3
buffer @a shared bf16 [64, 64]
buffer @b shared bf16 [64, 64]
buffer @d shared bf16 [64, 64]
buffer @acc fragment f32 [64, 64]
parameter tensor @A "A"
parameter tensor @B "B"
parameter tensor @C "C"
parameter tensor @I "I"
kernel "rows" (%x) grid [1] {
  3: alloc @acc
  4: fill @acc[0:64, 0:64] = f32(0x0)
  8: for pipelined %k = 0 to 8 stages 2 {
    1: alloc @a
    5: copy @A[0:64, mul(%k, 64):64] -> @a[0:64, 0:64]
    let %m = load @I[%k]
    20: if lt(%m, i32(0)) {
    } else {
      21: if ne(mod(%k, 3), 1) {
        2: alloc @b
        6: copy @B[0:64, mul(%k, 64):64] -> @b[0:64, 0:64]
        7: gemm @a[0:64, 0:64], @b[0:64, 0:64], @acc[0:64, 0:64] trans_b accumulate true
        22: if lt(i32(1), %m) {
          23: alloc @d
          let %q = cast<index>(%m)
          24: copy @B[0:64, mul(%q, 64):64] -> @d[0:64, 0:64]
          25: gemm @a[0:64, 0:64], @d[0:64, 0:64], @acc[0:64, 0:64] trans_b accumulate true
        }
      }
    }
  }
  9: copy @acc[0:64, 0:64] -> @C[0:64, 0:64]
}
)";

// With hints that make points of the grid clusters of blocks, some of which lie beyond it.
Program clustered(Program program, int64_t blocks, int64_t parts = 1, bool persistent = false) {
  program.kernels[0].hints.all = {{ir::HintKind::cluster, blocks, false, {}}, {ir::HintKind::split_k, parts, false, {}}};
  program.kernels[0].persistent = persistent;
  return program;
}

std::vector<Example> examples() {
  std::vector<Example> all;
  for (DType dtype : {DType::f16, DType::bf16, DType::f32, DType::int8}) {
    const std::string name(dtype_text(dtype));
    all.push_back({"gemm " + name, ir::samples::gemm(dtype, 32, 32, 32), {50, 40, 72}});
    all.push_back({"large gemm " + name, ir::samples::gemm(dtype, 64, 64, 32), {64, 128, 96}});
    all.push_back({"odd gemm " + name, ir::samples::gemm(dtype, 48, 24, 16), {61, 24, 40}});
  }
  all.push_back({"gemm of 128-byte rows", text(kRows), {}});
  all.push_back({"gemm of some trips", text(kSomeTrips), {}});
  all.push_back({"gemm in clusters", clustered(ir::samples::gemm(DType::int8, 32, 32, 32), 4), {150, 72, 64}});
  all.push_back({"gemm of parts in clusters", clustered(ir::samples::gemm(DType::int8, 32, 32, 32), 2, 3), {90, 40, 160}});
  all.push_back({"gemm whose parts meet", clustered(ir::samples::gemm(DType::int8, 64, 32, 32), 1, 3, true), {90, 40, 160}});
  all.push_back({"persistent gemm in clusters", clustered(ir::samples::gemm(DType::f16, 32, 32, 32), 3, 1, true), {150, 72, 64}});
  all.push_back({"softmax", text(kSoftmax), {37}, 1e-5});
  all.push_back({"transpose", text(kShared), {45}});
  return all;
}

// A tensor for each parameter, of small integers; outputs start as a pattern that must survive where nothing is
// written.
struct Tensors {
  std::vector<std::vector<uint8_t>> data;
  HostArguments arguments;
};

Tensors tensors(const Program& program, const std::vector<int64_t>& dims) {
  std::mt19937 random(3);
  Tensors t;
  t.arguments.dims = dims;
  for (const ir::Parameter& parameter : program.parameters) {
    const ir::Buffer& b = program.buffer(parameter.buffer);
    int64_t elements = 1;
    for (ir::Expr e : b.shape) {
      if (e->is_constant()) elements *= e->as_int();
      for (size_t d = 0; d < dims.size(); ++d)
        if (e->is_variable() && program.dims[d].var == e->var()) elements *= dims[d];
    }
    const int size = dtype_bytes(b.dtype);
    t.data.emplace_back(static_cast<size_t>(elements * size), uint8_t{0x3c});
    if (b.direction == ir::Direction::out) continue;
    for (int64_t i = 0; i < elements; ++i)
      ir::store_element(b.dtype, &t.data.back()[static_cast<size_t>(i * size)],
                        ir::double_to_bits(b.dtype, static_cast<int>(random() % 7) - 3));
  }
  for (auto& d : t.data) t.arguments.parameters.push_back({d.data(), static_cast<int64_t>(d.size()), {}, 0});
  return t;
}

// The first difference between two results, or nothing.
std::string difference(const Program& program, const Tensors& want, const Tensors& got, double tolerance) {
  for (size_t p = 0; p < want.data.size(); ++p) {
    const DType dtype = program.buffer(program.parameters[p].buffer).dtype;
    const auto size = static_cast<size_t>(dtype_bytes(dtype));
    for (size_t i = 0; i < want.data[p].size(); i += size) {
      const double a = ir::bits_to_double(dtype, ir::load_element(dtype, &want.data[p][i]));
      const double b = ir::bits_to_double(dtype, ir::load_element(dtype, &got.data[p][i]));
      if (!(std::fabs(a - b) <= tolerance * std::fabs(a)))
        return fmt::format("parameter {}, element {}: {} instead of {}", p, i / size, b, a);
    }
  }
  return {};
}

class Meaning : public testing::TestWithParam<const char*> {};

TEST_P(Meaning, IsKeptByEveryPass) {
  const auto target = parse_target(GetParam());
  ASSERT_TRUE(target);
  const PassContext context{*target, target->device_class, true};
  int whole = 0, with_roles = 0;
  for (const Example& example : examples()) {
    Tensors want = tensors(example.program, example.dims);
    const Status reference = ir::interpret(example.program, want.arguments);
    ASSERT_TRUE(reference) << example.name << ": " << reference.error().message;
    ++whole;
    for (const Pass& pass : gpu_passes()) {
      auto module = specialize(example.program, std::vector<DimChoice>(example.dims.size()));
      ASSERT_TRUE(module) << example.name << ": " << module.error().message;
      auto after = run_gpu_passes(std::move(*module), context, pass.name);
      ASSERT_TRUE(after) << example.name << " after " << pass.name << ": " << after.error().message;
      if (planned_roles(*after) && pass.stage != ir::Stage::specialized) {
        ++with_roles, --whole;
        break;
      }
      Tensors got = tensors(example.program, example.dims);
      const Status status = ir::interpret(after->program, got.arguments, {.threads = planned_threads(*after)});
      EXPECT_TRUE(status) << example.name << " after " << pass.name << ": " << status.error().message;
      if (!status) break;
      const std::string found = difference(example.program, want, got, example.tolerance);
      EXPECT_EQ(found, "") << example.name << " after " << pass.name;
      if (!found.empty()) break;
    }
  }
  const bool has_roles = target->has(Feature::wgmma);
  EXPECT_EQ(with_roles > 0, has_roles) << with_roles;
  EXPECT_GE(whole, has_roles ? 6 : static_cast<int>(examples().size()));
}
INSTANTIATE_TEST_SUITE_P(Targets, Meaning, testing::Values("sm_80", "sm_89", "sm_90a", "sm_120a"));

}  // namespace
}  // namespace tilert::passes
