// What a launch refuses, and which variant it takes.
#include <gtest/gtest.h>

#include "runtime/fake_device.h"

namespace tilert::runtime {
namespace {

using namespace testing;

class LaunchCheck : public FakeCudaTest {
 protected:
  void SetUp() override {
    FakeCudaTest::SetUp();
    device_ = open();
    stream_ = stream_of(device_);
  }
  void TearDown() override {
    device_.reset();
    FakeCudaTest::TearDown();
  }
  // The call is refused before the driver hears of it.
  void expect_refused(const Loaded& loaded, Call call, Code code, int32_t argument, const char* words) {
    FAKE(fake_forget_calls)();
    EXPECT_EQ(call.on(stream_).launch(loaded), code) << call.message();
    EXPECT_EQ(call.failure.status, static_cast<tilert_status>(code));
    EXPECT_EQ(call.failure.argument, argument) << call.message();
    EXPECT_NE(call.message().find(words), std::string::npos) << call.message();
    EXPECT_EQ(FAKE(fake_calls)(nullptr), 0);
  }
  std::shared_ptr<Device> device_;
  void* stream_ = nullptr;
};

TEST_F(LaunchCheck, ArgumentsAreCountedAndTyped) {
  const auto loaded = load(device_, saxpy());
  Call few = saxpy_call(100);
  few.arguments.pop_back();
  expect_refused(*loaded, few, Code::kInvalidArgument, -1, "takes 3");
  Call kind = saxpy_call(100);
  std::swap(kind.arguments[1], kind.arguments[2]);
  expect_refused(*loaded, kind, Code::kInvalidArgument, 1, "'y'");
  Call dtype = saxpy_call(100);
  dtype.arguments[0].dtype = TILERT_F16;
  expect_refused(*loaded, dtype, Code::kShape, 0, "'x' is f32, the argument f16");
  Call wild = saxpy_call(100);
  wild.arguments[2].dtype = 12345;
  expect_refused(*loaded, wild, Code::kShape, 2, "'a'");
  Call null = saxpy_call(100);
  null.finish();
  null.info.arguments = nullptr;
  FAKE(fake_forget_calls)();
  EXPECT_EQ(launch(*loaded, null.info), Code::kInvalidArgument);
}

// Not what its pointers point to, but the table itself is looked at: it may be null where it has none.
TEST_F(LaunchCheck, ATableHasPointersOfItsOwnAlignment) {
  Artifact artifact = saxpy();
  artifact.params[0].kind = ParamKind::pointer_table;
  artifact.params[0].alignment = 256;
  artifact.params[0].dims[0].rule = StrideRule::free;
  const auto loaded = load(device_, std::move(artifact));
  expect_refused(*loaded, saxpy_call(100), Code::kInvalidArgument, 0, "'x' is a parameter of kind 3");
  const auto table = [](int64_t n, uint64_t at) {
    Call call = saxpy_call(n);
    call.arguments[0].kind = TILERT_ARGUMENT_POINTER_TABLE;
    call.arguments[0].data = at ? address(at) : nullptr;
    return call;
  };
  EXPECT_EQ(table(100, 0x10008).on(stream_).launch(*loaded), Code::kOk);
  EXPECT_EQ(table(0, 0).on(stream_).launch(*loaded), Code::kOk);
  expect_refused(*loaded, table(100, 0x10004), Code::kAlignment, 0, "'x'");
  expect_refused(*loaded, table(100, 0), Code::kInvalidArgument, 0, "'x'");
}

TEST_F(LaunchCheck, NoFailureStructIsFine) {
  const auto loaded = load(device_, saxpy());
  Call call = saxpy_call(100);
  call.finish();
  call.info.argument_count = 1;
  call.info.failure = nullptr;
  EXPECT_EQ(launch(*loaded, call.info), Code::kInvalidArgument);
}

TEST_F(LaunchCheck, RanksShapesAndStridesMustFit) {
  const auto loaded = load(device_, tma_gemm());
  Call rank = gemm_call(4, 64, 64);
  rank.arguments[0].ndim = 3;
  expect_refused(*loaded, rank, Code::kShape, 0, "'A' has rank 2, the argument 3");
  Call shape = gemm_call(4, 64, 64);
  shape.dims[0] = 5;
  expect_refused(*loaded, shape, Code::kShape, 0, "'A' has size 4 in dim 0; the dims say 5");
  Call negative = gemm_call(4, 64, -64);
  expect_refused(*loaded, negative, Code::kShape, 0, "0 or positive");
  Call size = gemm_call(4, 64, 64);
  size.arguments[0].shape = size.keep(std::vector<int64_t>{-4, 64});
  expect_refused(*loaded, size, Code::kShape, 0, "size -4");
  Call inner = gemm_call(4, 64, 64);
  inner.arguments[0].strides = inner.keep(std::vector<int64_t>{128, 2});
  expect_refused(*loaded, inner, Code::kShape, 0, "stride 2 in dim 1; the kernel takes 1");
  Call contiguous = gemm_call(4, 64, 64);
  contiguous.arguments[1].ndim = 2;
  contiguous.arguments[1].strides = contiguous.keep(std::vector<int64_t>{96, 1});
  expect_refused(*loaded, contiguous, Code::kShape, 1, "stride 96 in dim 0; the kernel takes 64");
}

// It would read zeros where its coordinates wrap.
TEST_F(LaunchCheck, ATensorThatTheCopyEngineCannotCountIsRefused) {
  const auto loaded = load(device_, tma_gemm());
  constexpr int64_t kMost = (int64_t{1} << 31) - 1024;
  Call beyond = gemm_call(4, kMost + 64, kMost + 64, stream_);
  EXPECT_EQ(beyond.launch(*loaded), Code::kShape);
  EXPECT_EQ(beyond.failure.argument, 0);
  EXPECT_NE(beyond.message().find("size 2147482688 in dim 1; the copy engine counts to 2147482624"), std::string::npos) << beyond.message();
  EXPECT_EQ(FAKE(fake_launch_count)(), 0);
  EXPECT_EQ(gemm_call(4, kMost, kMost, stream_).launch(*loaded), Code::kOk);
}

TEST_F(LaunchCheck, DimsAreCountedGivenOrFoundInShapes) {
  const auto loaded = load(device_, tma_gemm());
  Call count = gemm_call(4, 64, 64);
  count.dims.pop_back();
  expect_refused(*loaded, count, Code::kInvalidArgument, -1, "2 dims; the program has 3");
  Call below = gemm_call(4, 64, 64);
  below.dims[0] = -2;
  expect_refused(*loaded, below, Code::kShape, -1, "dim 'M' is -2");
  Call open_dim = gemm_call(4, 64, 64);
  open_dim.arguments[0].shape = nullptr;
  open_dim.dims[0] = -1;
  expect_refused(*loaded, open_dim, Code::kInvalidArgument, -1, "dim 'M' is neither given");
  Call inferred = gemm_call(130, 64, 64, stream_);
  inferred.dims.clear();
  EXPECT_EQ(inferred.launch(*loaded), Code::kOk) << inferred.message();
  EXPECT_EQ(launched().grid[1], 2u);
  EXPECT_EQ(launched().grid[0], 2u) << "N is the variant's constant";
  Call conflict = gemm_call(130, 64, 64);
  conflict.dims.clear();
  conflict.arguments[2].ndim = 2;
  conflict.arguments[2].shape = conflict.keep(std::vector<int64_t>{131, 256});
  expect_refused(*loaded, conflict, Code::kShape, 2, "'C' has size 131 in dim 0; the dims say 130");
}

TEST_F(LaunchCheck, NullIsLegalOnlyWithoutElements) {
  const auto loaded = load(device_, saxpy());
  Call null = saxpy_call(100);
  null.arguments[1].data = nullptr;
  expect_refused(*loaded, null, Code::kInvalidArgument, 1, "'y' is NULL");
  Call empty = saxpy_call(0, stream_);
  empty.arguments[0].data = empty.arguments[1].data = nullptr;
  FAKE(fake_forget_calls)();
  EXPECT_EQ(empty.launch(*loaded), Code::kOk);
  EXPECT_EQ(FAKE(fake_calls)(nullptr), 0) << "an empty grid is a successful no-op";
}

TEST_F(LaunchCheck, AlignmentNamesTheParameterOrTakesTheUnalignedVariant) {
  Artifact loose = saxpy();
  for (Param& param : loose.params) param.alignment = 4;
  const auto aligned = load(device_, saxpy());
  Call call = saxpy_call(100);
  call.arguments[1].data = address(0x20004);
  expect_refused(*aligned, call, Code::kAlignment, 1, "'y' is aligned to 4 bytes; the loaded kernel needs 16");
  loose.kernels[0].threads[0] = 64;
  const auto both = load(device_, {share(saxpy()), share(loose)});
  EXPECT_EQ(call.on(stream_).launch(*both), Code::kOk);
  EXPECT_EQ(launched(0).block[0], 64u);
  EXPECT_EQ(saxpy_call(100, stream_).launch(*both), Code::kOk);
  EXPECT_EQ(launched(1).block[0], 256u);
}

TEST_F(LaunchCheck, OneElementDimsMayHaveAnyStride) {
  const auto loaded = load(device_, tma_gemm());
  Call row = gemm_call(1, 64, 12345, stream_);  // 12345 is no multiple of 8, and does not matter
  EXPECT_EQ(row.launch(*loaded), Code::kOk) << row.message();
  EXPECT_EQ(parameter<int64_t>(launched(), 272), 4096) << "expressions read a stride that any guard likes";
}

TEST_F(LaunchCheck, BucketsPickTheVariantAndAMissIsNotReady) {
  std::vector<ArtifactPtr> variants;
  const Dim rules[] = {
      {DimKind::constant, "N", 1, 0}, {DimKind::divisible, "N", 512, 0}, {DimKind::range, "N", 2, 300}};
  for (uint32_t i = 0; i < 3; ++i) {
    Artifact artifact = saxpy();
    artifact.dims[0] = rules[i];
    artifact.kernels[0].threads[0] = 32 * (i + 1);
    variants.push_back(share(artifact));
  }
  const auto loaded = load(device_, variants);
  const struct {
    int64_t n;
    uint32_t threads;
  } rows[] = {{1, 32}, {512, 64}, {1024, 64}, {2, 96}, {300, 96}};
  int index = 0;
  for (const auto& [n, threads] : rows) {
    EXPECT_EQ(saxpy_call(n, stream_).launch(*loaded), Code::kOk) << n;
    EXPECT_EQ(launched(index++).block[0], threads) << n;
  }
  expect_refused(*loaded, saxpy_call(301), Code::kNotReady, -1,
                 "none of 3 loaded variants takes N=301; the last takes N");
}

TEST_F(LaunchCheck, ShapesThatContradictTheDimsAreNoMiss) {
  const auto loaded = load(device_, tma_gemm());
  Call call = gemm_call(4, 64, 64);
  call.dims = {4, 256, 65};  // no variant takes K = 65, but the tensor says 64
  expect_refused(*loaded, call, Code::kShape, 0, "'A' has size 64 in dim 1; the dims say 65");
}

TEST_F(LaunchCheck, SizesAndStridesBeyondAllMemoryWrapQuietly) {
  const auto loaded = load(device_, tma_gemm());
  Call call = gemm_call(int64_t{1} << 40, int64_t{1} << 40, int64_t{1} << 60);
  EXPECT_EQ(call.on(stream_).launch(*loaded), Code::kShape) << "the grid is too large";
  call.info.flags = TILERT_LAUNCH_DEBUG_POINTERS;
  EXPECT_NE(call.launch(*loaded), Code::kOk);
}

TEST_F(LaunchCheck, AGuardOnStridesIsAMiss) {
  const auto loaded = load(device_, tma_gemm());
  expect_refused(*loaded, gemm_call(4, 64, 68), Code::kNotReady, -1, "none of 1 loaded variants");
  EXPECT_EQ(gemm_call(4, 64, 72, stream_).launch(*loaded), Code::kOk);
}

TEST_F(LaunchCheck, GivenStridesAreExpressionsOfDims) {
  Artifact artifact = saxpy();
  BytecodeBuilder b;
  artifact.dims = {{DimKind::dynamic, "N", 0, 0}, {DimKind::dynamic, "P", 0, 0}};
  const Expr n = b.emit(b.dim(0)), one = b.emit(b.constant(1)), three = b.emit(b.constant(3));
  const TensorDim rows = sized(three, StrideRule::given, b.emit(b.dim(1)));
  artifact.params[0].dims = {rows, sized(n, StrideRule::given, one)};
  artifact.params[1].dims[0] = sized(n);
  Kernel& kernel = artifact.kernels[0];
  kernel.grid[0] = kernel.grid[1] = kernel.grid[2] = one;
  kernel.slots[3].expr = n;
  artifact.bytecode = b.take();
  const auto loaded = load(device_, artifact);
  const auto call = [&](int64_t n_value, int64_t pitch, std::vector<int64_t> strides) {
    Call c = saxpy_call(n_value, stream_);
    c.dims = {n_value, pitch};
    c.arguments[0].ndim = 2;
    if (!strides.empty()) c.arguments[0].strides = c.keep(std::move(strides));
    return c.launch(*loaded);
  };
  EXPECT_EQ(call(10, 16, {16, 1}), Code::kOk);
  EXPECT_EQ(call(10, 16, {12, 1}), Code::kShape);
  EXPECT_EQ(call(10, 10, {}), Code::kOk) << "dense rows, as the pitch says";
  EXPECT_EQ(call(10, 16, {}), Code::kShape) << "no strides means dense, which the pitch denies";
}

TEST_F(LaunchCheck, TheDeviceOfAnArgumentIsCheckedWhereItIsGiven) {
  const auto loaded = load(device_, saxpy());
  Call right = saxpy_call(100, stream_);
  right.arguments[0].device_type = TILERT_MEMORY_CUDA;
  EXPECT_EQ(right.launch(*loaded), Code::kOk);
  Call other = right;
  other.arguments[0].device_id = 1;
  expect_refused(*loaded, other, Code::kInvalidArgument, 0, "'x' lies on device cuda:1");
  Call host = right;
  host.arguments[0].device_type = TILERT_MEMORY_CPU;
  expect_refused(*loaded, host, Code::kInvalidArgument, 0, "'x' lies on device cpu:0");
}

TEST_F(LaunchCheck, DebugPointersAsksTheDriverAndFindsOverlaps) {
  const auto loaded = load(device_, saxpy());
  const auto debug = [&](Call call) {
    call.info.flags = TILERT_LAUNCH_DEBUG_POINTERS;
    const Code code = call.on(stream_).launch(*loaded);
    return std::pair(code, call.message());
  };
  FAKE(fake_set_memory)(address(0x10000), 0);
  EXPECT_NE(debug(saxpy_call(100)).second.find("'y' is no memory"), std::string::npos);
  FAKE(fake_set_memory)(address(0x20000), 1);
  EXPECT_NE(debug(saxpy_call(100)).second.find("'y' is memory of another device"), std::string::npos);
  FAKE(fake_set_memory)(address(0x20000), 0);
  EXPECT_EQ(debug(saxpy_call(100)).first, Code::kOk);
  Call overlap = saxpy_call(100);
  overlap.arguments[1].data = address(0x10000 + 96 * 4);
  EXPECT_NE(debug(overlap).second.find("'x' and 'y' overlap"), std::string::npos) << debug(overlap).second;
}

TEST_F(LaunchCheck, UnknownFlagsAndAttributesAndMisplacedRecordsAreRefused) {
  const auto loaded = load(device_, saxpy());
  Call flags = saxpy_call(100);
  flags.info.flags = 0x80;
  expect_refused(*loaded, flags, Code::kInvalidArgument, -1, "flags 0x80");
  Call record = saxpy_call(100);
  record.info.record = address(32);
  record.info.record_bytes = 256;
  expect_refused(*loaded, record, Code::kInvalidArgument, -1, "aligned to 64 bytes");
  record.info.record = nullptr;
  expect_refused(*loaded, record, Code::kInvalidArgument, -1, "NULL with record_bytes 0");
  Call attribute = saxpy_call(100);
  attribute.attribute(77, 1);
  expect_refused(*loaded, attribute, Code::kInvalidArgument, -1, "attribute 77");
  Call null = saxpy_call(100, stream_);
  null.finish();
  null.info.attribute_count = 2;
  null.info.attributes = nullptr;
  EXPECT_EQ(launch(*loaded, null.info), Code::kInvalidArgument);
}

TEST_F(LaunchCheck, TheWorkspaceIsMeasured) {
  Artifact artifact = saxpy();
  BytecodeBuilder b;
  artifact.workspace.bytes = Expr{static_cast<uint32_t>(artifact.bytecode.size()), 3};
  artifact.workspace.zero_bytes = Expr{artifact.workspace.bytes.begin + 1, 1};
  Instruction dim, four, mul;
  dim.op = Op::dim;
  four.value = 4;
  mul.op = Op::mul;
  for (const Instruction& each : {dim, four, mul}) artifact.bytecode.push_back(each);
  artifact.kernels[0].slots.push_back({SlotKind::workspace, 8, 0, {}});
  artifact.code = image("saxpy 8 8 4 4 8\n");
  const auto loaded = load(device_, artifact);
  const int64_t dims[] = {1000};
  const auto need = workspace(artifact, dims);
  ASSERT_TRUE(need);
  EXPECT_EQ(need->bytes, 4000u);
  EXPECT_EQ(need->zero_bytes, 4u);
  EXPECT_EQ(need->alignment, 256u);
  EXPECT_FALSE(workspace(artifact, {}));
  expect_refused(*loaded, saxpy_call(1000), Code::kInvalidArgument, -1, "workspace of 4000 bytes; 0");
  Call call = saxpy_call(1000);
  call.info.workspace = address(0x40010);
  call.info.workspace_bytes = 3999;
  expect_refused(*loaded, call, Code::kInvalidArgument, -1, "workspace of 4000 bytes; 3999");
  call.info.workspace_bytes = 4000;
  expect_refused(*loaded, call, Code::kAlignment, -1, "workspace is aligned to 16");
  call.info.workspace = address(0x40100);
  EXPECT_EQ(call.on(stream_).launch(*loaded), Code::kOk);
  EXPECT_EQ(parameter<uint64_t>(launched(), 24), 0x40100u);
}

TEST_F(LaunchCheck, AGridBeyondTheDriversLimitsIsRefused) {
  const auto loaded = load(device_, tma_gemm());
  Call call = gemm_call(int64_t{128} * 65536, 64, 64);
  expect_refused(*loaded, call, Code::kShape, -1, "65536 blocks along axis 1");
}

TEST_F(LaunchCheck, SubByteRowsStartOnAByte) {
  Artifact artifact = saxpy();
  BytecodeBuilder b;
  const Expr n = b.emit(b.dim(0)), one = b.emit(b.constant(1)), two = b.emit(b.constant(2));
  artifact.params[0] = tensor("x", DType::int4, {sized(two, StrideRule::free), sized(n, StrideRule::free)});
  artifact.params[1].dims[0] = sized(n);
  std::fill_n(artifact.kernels[0].grid, 3, one);
  artifact.kernels[0].slots[3].expr = n;
  artifact.bytecode = b.take();
  const auto loaded = load(device_, artifact);
  const auto call = [&](std::vector<int64_t> strides) {
    Call c = saxpy_call(7, stream_);
    c.arguments[0].dtype = TILERT_INT4;
    c.arguments[0].ndim = 2;
    if (!strides.empty()) c.arguments[0].strides = c.keep(std::move(strides));
    return c.launch(*loaded);
  };
  EXPECT_EQ(call({8, 1}), Code::kOk);
  EXPECT_EQ(call({9, 1}), Code::kShape);
  EXPECT_EQ(call({16, 2}), Code::kShape);
  EXPECT_EQ(call({}), Code::kShape) << "dense rows of 7 elements start inside a byte";
  Call plain = saxpy_call(7, stream_);
  plain.arguments[0].dtype = TILERT_INT4;
  EXPECT_EQ(plain.launch(*loaded), Code::kOk) << "nothing is said of it: its rows are padded";
}

}  // namespace
}  // namespace tilert::runtime
