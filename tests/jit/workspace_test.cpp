// Regions of the workspace: their places in the artifact, and their addresses as parameters.
#include <gtest/gtest.h>

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "jit/artifact_builder.h"
#include "jit/generate.h"
#include "runtime/launch.h"

namespace tilert::jit {
namespace {

constexpr const char* kProgram = R"(tir 1
program "counts"
var %N dim index
var %x block index
var %old let i32
dim %N
buffer @out global i32 [%N] out argument 0
buffer @list global f32 [%N, 3] inout
buffer @counter global i32 [1] inout zeroed
parameter tensor @out "out"
kernel "counts" (%x) grid [%N] {
  1: let %old = load @counter[0]
  2: store @counter[0] = add(%old, i32(1))
  3: store @list[%x, 1] = f32(0x3f800000)
  4: store @out[%x] = %old
}
)";

ir::Program program() {
  Result<ir::Program> parsed = ir::parse(kProgram);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *std::move(parsed);
}

runtime::Artifact artifact_for(const char* target) {
  const ir::Program source = program();
  const std::vector<passes::DimChoice> dims(1);
  const Target parsed = *parse_target(target);
  Result<codegen::GeneratedProgram> generated = generate(source, dims, parsed, parsed.device_class);
  EXPECT_TRUE(generated) << generated.error().message;
  Result<runtime::Artifact> made = build_artifact(source, *generated, dims);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

TEST(Workspace, ARegionIsPrintedAndParsed) {
  const ir::Program p = program();
  const Result<ir::Program> again = ir::parse(ir::print(p));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ir::print(*again), ir::print(p));
  EXPECT_TRUE(again->buffers[2].zeroed);
}

TEST(Workspace, OnlyPassesMakeRegions) {
  EXPECT_TRUE(ir::verify(program(), ir::Stage::specialized));
  const Status refused = ir::verify(program(), ir::Stage::tile);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("'list' belongs to no tensor parameter"), std::string::npos) << refused.error().message;
}

TEST(Workspace, OnlyPassesMakePlanners) {
  constexpr const char* kText = R"(tir 1
var %x block index
buffer @out global i32 [8] out argument 0
parameter tensor @out "out"
kernel "k" (%x) grid [8] planner {
  1: store @out[%x] = i32(1)
}
)";
  const Result<ir::Program> parsed = ir::parse(kText);
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Result<ir::Program> again = ir::parse(ir::print(*parsed));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->kernels[0].planner);
  const Status refused = ir::verify(*parsed, ir::Stage::tile);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("made by passes"), std::string::npos) << refused.error().message;
}

// Zeroed regions first; sizes grow with the dims.
TEST(Workspace, RegionsLieApartOnEveryBackEnd) {
  for (const char* target : {"cpu", "sm_80", "sm_90a"}) {
    const runtime::Artifact artifact = artifact_for(target);
    std::vector<runtime::Slot> slots;
    for (const runtime::Slot& s : artifact.kernels[0].slots)
      if (s.kind == runtime::SlotKind::workspace) slots.push_back(s);
    ASSERT_EQ(slots.size(), 2u) << target;
    for (const int64_t n : {0, 1, 22, 1000}) {
      const Result<runtime::WorkspaceNeed> need = runtime::workspace(artifact, std::vector<int64_t>{n});
      ASSERT_TRUE(need);
      EXPECT_EQ(need->zero_bytes, 256u) << target;
      EXPECT_EQ(need->bytes, 256u + (static_cast<uint64_t>(n) * 12 + 255) / 256 * 256) << target;
      EXPECT_EQ(need->alignment, 256u);
    }
    // In the order of declaration: the list lies behind the counter, whose address is the workspace's.
    runtime::BytecodeInputs inputs;
    const int64_t n = 5;
    inputs.dims = &n;
    ASSERT_TRUE(slots[0].expr);
    EXPECT_EQ(runtime::evaluate(artifact.bytecode.data(), slots[0].expr, inputs), 256);
    EXPECT_FALSE(slots[1].expr);
  }
}

TEST(Workspace, AProgramWithoutRegionsNeedsNone) {
  ir::Program source = program();
  source.kernels[0].body = {source.kernels[0].body[3]};
  source.kernels[0].body[0] = ir::make_stmt(ir::Store{{0, {source.var(1)}}, source.arena->constant(DType::int32, 7)}, 4);
  for (ir::Buffer& b : source.buffers) b.zeroed = false;  // what is zeroed is there whether it is used or not
  const std::vector<passes::DimChoice> dims(1);
  const Target target = *parse_target("sm_80");
  Result<codegen::GeneratedProgram> generated = generate(source, dims, target, target.device_class);
  ASSERT_TRUE(generated) << generated.error().message;
  const Result<runtime::Artifact> artifact = build_artifact(source, *generated, dims);
  ASSERT_TRUE(artifact);
  EXPECT_FALSE(artifact->workspace.bytes);
  EXPECT_FALSE(artifact->workspace.zero_bytes);
}

}  // namespace
}  // namespace tilert::jit
