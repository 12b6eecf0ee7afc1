// What a launch asks of the driver: which calls, in which context, with which bytes.
#include <gtest/gtest.h>

#include "runtime/fake_device.h"

namespace tilert::runtime {
namespace {

using namespace testing;

class LaunchCuda : public FakeCudaTest {
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
  std::shared_ptr<Device> device_;
  void* stream_ = nullptr;
};

TEST_F(LaunchCuda, TheFirstLaunchIsOneDriverCallPlusTheCaptureQuery) {
  const auto loaded = load(device_, saxpy());
  FAKE(fake_forget_calls)();
  EXPECT_EQ(saxpy_call(1000, stream_).launch(*loaded), Code::kOk);
  EXPECT_EQ(FAKE(fake_calls)(nullptr), 2);
  EXPECT_EQ(FAKE(fake_calls)("cuStreamIsCapturing"), 1);
  EXPECT_EQ(FAKE(fake_calls)("cuLaunchKernel"), 1);
}

TEST_F(LaunchCuda, GridBlockAndParametersFollowTheRecipe) {
  const auto loaded = load(device_, saxpy());
  EXPECT_EQ(saxpy_call(1000, stream_).launch(*loaded), Code::kOk);
  const FakeLaunch launch = launched();
  EXPECT_STREQ(launch.kernel, "saxpy");
  EXPECT_EQ(launch.grid[0], 4u);
  EXPECT_EQ(launch.grid[1] * launch.grid[2], 1u);
  EXPECT_EQ(launch.block[0], 256u);
  EXPECT_EQ(launch.stream, stream_);
  EXPECT_EQ(launch.parameter_bytes, 24u);
  EXPECT_EQ(parameter<uint64_t>(launch, 0), 0x10000u);
  EXPECT_EQ(parameter<uint64_t>(launch, 8), 0x20000u);
  EXPECT_EQ(parameter<float>(launch, 16), 2.5f);
  EXPECT_EQ(parameter<int32_t>(launch, 20), 1000);
}

TEST_F(LaunchCuda, ScalarsOfEveryWidthArriveWithTheirBits) {
  Artifact artifact = saxpy();
  BytecodeBuilder b;
  const Expr one = b.emit(b.constant(1));
  artifact.dims.clear();
  artifact.params = {scalar("i8", DType::int8), scalar("u16", DType::uint16), scalar("i32", DType::int32),
                     scalar("f64", DType::f64), scalar("i64", DType::int64)};
  Kernel& kernel = artifact.kernels[0];
  std::fill_n(kernel.grid, 3, one);
  kernel.slots = {scalar_slot(0, 1),
                  scalar_slot(1, 2),
                  scalar_slot(2, 4),
                  scalar_slot(3, 8),
                  scalar_slot(4, 8),
                  expression_slot(b.emit(b.add(b.scalar(0), b.scalar(1))), 8),
                  expression_slot(b.emit(b.scalar(2)), 4)};
  artifact.code = image("saxpy 1 2 4 8 8 8 4\n");
  artifact.bytecode = b.take();
  const auto loaded = load(device_, artifact);
  Call call;
  call.scalar(DType::int8, int8_t{-3}).scalar(DType::uint16, uint16_t{65535}).scalar(DType::int32, int32_t{-7});
  call.scalar(DType::f64, 0.1).scalar(DType::int64, int64_t{-1}).on(stream_);
  call.arguments[0].bits |= 0xabcdef00;  // bytes beyond the type are not read
  EXPECT_EQ(call.launch(*loaded), Code::kOk) << call.message();
  const FakeLaunch launch = launched();
  EXPECT_EQ(parameter<int8_t>(launch, 0), -3);
  EXPECT_EQ(parameter<uint16_t>(launch, 2), 65535);
  EXPECT_EQ(parameter<int32_t>(launch, 4), -7);
  EXPECT_EQ(parameter<double>(launch, 8), 0.1);
  EXPECT_EQ(parameter<int64_t>(launch, 16), -1);
  EXPECT_EQ(parameter<int64_t>(launch, 24), 65532) << "signed scalars extend their sign, unsigned ones zeros";
  EXPECT_EQ(parameter<int32_t>(launch, 32), -7);
}

TEST_F(LaunchCuda, TensorMapsAreEncodedFromTheArguments) {
  const auto loaded = load(device_, tma_gemm());
  FAKE(fake_forget_calls)();
  Call call = gemm_call(300, 128, 192, stream_);
  EXPECT_EQ(call.launch(*loaded), Code::kOk) << call.message();
  EXPECT_EQ(FAKE(fake_calls)("cuTensorMapEncodeTiled"), 2);
  EXPECT_EQ(FAKE(fake_calls)(nullptr), 4) << "two descriptors, the capture query, the launch";
  const FakeLaunch launch = launched();
  const auto a = parameter<FakeTensorMap>(launch, 0), w = parameter<FakeTensorMap>(launch, 128);
  ASSERT_EQ(a.magic, static_cast<uint32_t>(kFakeTensorMapMagic));
  EXPECT_EQ(a.type, 9) << "bf16";
  EXPECT_EQ(a.rank, 2);
  EXPECT_EQ(a.address, 0x10000u);
  EXPECT_EQ(a.dims[0], 128u);
  EXPECT_EQ(a.dims[1], 300u);
  EXPECT_EQ(a.strides[0], 384u) << "bytes of the argument's row";
  EXPECT_EQ(a.box[0], 64);
  EXPECT_EQ(a.box[1], 128);
  EXPECT_EQ(a.element_strides[0], 1);
  EXPECT_EQ(a.swizzle, 3);
  EXPECT_EQ(a.l2, 3);
  EXPECT_EQ(a.interleave, 0);
  EXPECT_EQ(a.fill, 0) << "zeros";
  EXPECT_EQ(w.address, 0x20000u);
  EXPECT_EQ(w.dims[1], 256u);
  EXPECT_EQ(w.strides[0], 256u);
  EXPECT_EQ(parameter<uint64_t>(launch, 256), 0x30000u);
  EXPECT_EQ(parameter<int32_t>(launch, 264), 300);
  EXPECT_EQ(parameter<int64_t>(launch, 272), 192);
}

TEST_F(LaunchCuda, ClustersAndSharedMemoryReachTheDriver) {
  const auto loaded = load(device_, tma_gemm());
  EXPECT_EQ(gemm_call(300, 128, 128, stream_).launch(*loaded), Code::kOk);
  const FakeLaunch launch = launched();
  EXPECT_EQ(launch.cluster[0], 2u);
  EXPECT_EQ(launch.cluster[1] * launch.cluster[2], 1u);
  EXPECT_EQ(launch.shared_bytes, 200000u);
  EXPECT_EQ(launch.grid[0], 2u);
  EXPECT_EQ(launch.grid[1], 3u);
  EXPECT_FALSE(launch.pdl) << "not unless asked";
}

TEST_F(LaunchCuda, PdlIsSetOnlyWhereTheCodeWaits) {
  const auto waits = load(device_, tma_gemm());
  const auto plain = load(device_, saxpy());
  EXPECT_EQ(gemm_call(300, 128, 128, stream_).attribute(TILERT_ATTRIBUTE_PDL, 1).launch(*waits), Code::kOk);
  EXPECT_TRUE(launched(0).pdl);
  EXPECT_EQ(saxpy_call(10, stream_).attribute(TILERT_ATTRIBUTE_PDL, 1).launch(*plain), Code::kOk);
  EXPECT_FALSE(launched(1).pdl);
  EXPECT_EQ(gemm_call(300, 128, 128, stream_).attribute(TILERT_ATTRIBUTE_PDL, 0).launch(*waits), Code::kOk);
  EXPECT_FALSE(launched(2).pdl);
}

TEST_F(LaunchCuda, PdlIsLeftOutOfCooperativeLaunches) {
  const auto waits = load(device_, tma_gemm());
  EXPECT_EQ(gemm_call(300, 128, 128, stream_).attribute(TILERT_ATTRIBUTE_PDL, 1).attribute(TILERT_ATTRIBUTE_COOPERATIVE, 1).launch(*waits), Code::kOk);
  EXPECT_TRUE(launched(0).cooperative);
  EXPECT_FALSE(launched(0).pdl);
}

TEST_F(LaunchCuda, PdlIsCapturedButOnDevicesWhoseDriversLoseTheCapture) {
  for (int major : {9, 12}) {
    FAKE(fake_set_device_attribute)(0, kCuDeviceMajor, major);
    device_ = open();
    stream_ = stream_of(device_);
    Artifact artifact = tma_gemm();
    artifact.target = major == 9 ? "sm_90a" : "sm_120a";
    artifact.kernels[0].shared_bytes = 1024;
    const auto waits = load(device_, artifact);
    const int before = FAKE(fake_launch_count)();
    for (int capture : {0, 1, 0, 1}) {  // once captured, a module stays known to be
      FAKE(fake_set_capture)(stream_, capture);
      EXPECT_EQ(gemm_call(300, 128, 128, stream_).attribute(TILERT_ATTRIBUTE_PDL, 1).launch(*waits), Code::kOk);
    }
    FAKE(fake_set_capture)(stream_, 0);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(launched(before + i).pdl, major == 9 || i % 2 == 0) << major << ", launch " << i;
  }
}

TEST_F(LaunchCuda, PriorityAndCooperativeReachTheDriver) {
  Artifact artifact = saxpy();
  artifact.kernels[0].attributes = kKernelCooperative;
  const auto own = load(device_, artifact);
  const auto plain = load(device_, saxpy());
  EXPECT_EQ(saxpy_call(10, stream_).launch(*own), Code::kOk);
  EXPECT_TRUE(launched(0).cooperative);
  EXPECT_EQ(saxpy_call(10, stream_)
                .attribute(TILERT_ATTRIBUTE_PRIORITY, -3)
                .attribute(TILERT_ATTRIBUTE_COOPERATIVE, 1)
                .launch(*plain),
            Code::kOk);
  EXPECT_TRUE(launched(1).cooperative);
  EXPECT_TRUE(launched(1).has_priority);
  EXPECT_EQ(launched(1).priority, -3);
}

TEST_F(LaunchCuda, AGridWhoseBlocksMeetMustFitOnTheDevice) {
  Artifact artifact = saxpy();
  artifact.kernels[0].attributes = kKernelCooperative;
  const auto loaded = load(device_, artifact);
  Call call = saxpy_call(int64_t{1} << 30, stream_);
  EXPECT_EQ(call.launch(*loaded), Code::kUnsupported);
  const std::string fits = fmt::format("{} fit", loaded->table().variants[0]->kernels[0].resident);
  EXPECT_NE(std::string(call.failure.message).find(fits), std::string::npos) << call.failure.message;
  EXPECT_EQ(FAKE(fake_calls)("cuLaunchKernelEx"), 0);
}

TEST_F(LaunchCuda, APersistentKernelHasAsManyWholeClustersAsFitOrAreAllowed) {
  Artifact artifact = tma_gemm();
  Kernel& kernel = artifact.kernels[0];
  kernel.attributes = kKernelPersistent;
  std::swap(kernel.grid[0], kernel.grid[1]);
  kernel.grid[1] = kernel.grid[2];  // 1
  const auto loaded = load(device_, artifact);
  int launches = 0;
  for (const auto& [most, blocks] : {std::pair(5, 4u), {1, 2u}, {1000, 126u}}) {  // 7 groups of 18 multiprocessors in the fake
    EXPECT_EQ(gemm_call(128 * 500, 128, 128, stream_).attribute(TILERT_ATTRIBUTE_MAX_BLOCKS, most).launch(*loaded), Code::kOk);
    EXPECT_EQ(launched(launches++).grid[0], blocks) << most;
  }
  kernel.cluster[0] = 4;
  EXPECT_EQ(load(device_, artifact)->table().variants[0]->kernels[0].resident, 112) << "2 of 18 take none";
}

TEST_F(LaunchCuda, APersistentKernelHasAsManyBlocksAsFitOrAreAllowed) {
  Artifact artifact = saxpy();
  artifact.kernels[0].attributes = kKernelPersistent;
  const auto loaded = load(device_, artifact);
  const uint32_t threads = artifact.kernels[0].threads[0];
  EXPECT_EQ(saxpy_call(int64_t{1} << 30, stream_).launch(*loaded), Code::kOk);
  EXPECT_EQ(launched(0).grid[0], 2048 / threads * device_->facts().multiprocessors);
  EXPECT_EQ(saxpy_call(int64_t{1} << 30, stream_).attribute(TILERT_ATTRIBUTE_MAX_BLOCKS, 3).launch(*loaded), Code::kOk);
  EXPECT_EQ(launched(1).grid[0], 3u);
  EXPECT_EQ(saxpy_call(1, stream_).launch(*loaded), Code::kOk);
  EXPECT_EQ(launched(2).grid[0], 1u);
  EXPECT_EQ(launched(0).cooperative, 0);
}

TEST_F(LaunchCuda, WithoutLaunchExCooperativeHasItsOwnCallAndPriorityIsUnavailable) {
  FAKE(fake_hide)("cuLaunchKernelEx");
  DeviceOptions options = LaunchCuda::options();
  options.driver_path = fresh_driver_path();
  const auto device = open(options);
  const auto loaded = load(device, saxpy());
  void* const stream = stream_of(device);
  EXPECT_EQ(saxpy_call(10, stream).attribute(TILERT_ATTRIBUTE_COOPERATIVE, 1).launch(*loaded), Code::kOk);
  EXPECT_EQ(FAKE(fake_calls)("cuLaunchCooperativeKernel"), 1);
  EXPECT_EQ(saxpy_call(10, stream).attribute(TILERT_ATTRIBUTE_PRIORITY, 1).launch(*loaded), Code::kUnavailable);
}

TEST_F(LaunchCuda, KernelsOfOneProgramRunInOrderAndEmptyOnesAreSkipped) {
  Artifact artifact = saxpy();
  artifact.code = image("first 8\nsecond 8\nthird 8\n");
  BytecodeBuilder b;
  const Expr n = b.emit(b.dim(0)), one = b.emit(b.constant(1)), zero = b.emit(b.constant(0));
  artifact.kernels.clear();
  for (const char* name : {"first", "second", "third"}) {
    Kernel kernel;
    kernel.entry = name;
    std::fill_n(kernel.grid, 3, one);
    if (kernel.entry == "second") kernel.grid[1] = zero;
    kernel.slots = {pointer_slot(0)};
    artifact.kernels.push_back(kernel);
  }
  for (Param& param : artifact.params) {
    if (param.kind == ParamKind::tensor) param.dims[0].size = n;
  }
  artifact.bytecode = b.take();
  const auto loaded = load(device_, artifact);
  EXPECT_EQ(saxpy_call(10, stream_).launch(*loaded), Code::kOk);
  ASSERT_EQ(FAKE(fake_launch_count)(), 2);
  EXPECT_STREQ(launched(0).kernel, "first");
  EXPECT_STREQ(launched(1).kernel, "third");
}

TEST_F(LaunchCuda, EmptyTensorsGetADescriptorTheDriverTakes) {
  const auto loaded = load(device_, tma_gemm());
  Call call = gemm_call(128, 0, 0, stream_);  // K = 0: C becomes zero, nothing is loaded
  call.arguments[0].data = call.arguments[1].data = nullptr;
  EXPECT_EQ(call.launch(*loaded), Code::kOk) << call.message();
  EXPECT_EQ(parameter<FakeTensorMap>(launched(), 0).dims[0], 1u);
  EXPECT_EQ(launched().grid[1], 1u);
}

TEST_F(LaunchCuda, ARecordKeepsTheMapsOfTensorsThatStayWhereTheyAre) {
  const auto loaded = load(device_, tma_gemm()), again = load(device_, tma_gemm());
  const size_t maps = tma_gemm().kernels[0].tensor_maps.size();
  ASSERT_EQ(maps, 2u);
  alignas(64) unsigned char record[2 * TILERT_RECORD_ENTRY_BYTES] = {};
  // How many maps a launch encodes; what reaches the kernel is what a launch without a record hands over.
  const auto encoded = [&](const Loaded& which, Call call, size_t bytes) {
    EXPECT_EQ(call.launch(which), Code::kOk) << call.message();
    const FakeLaunch plain = launched(FAKE(fake_launch_count)() - 1);
    call.info.record = record;
    call.info.record_bytes = bytes;
    FAKE(fake_forget_calls)();
    EXPECT_EQ(call.launch(which), Code::kOk) << call.message();
    const FakeLaunch kept = launched(FAKE(fake_launch_count)() - 1);
    EXPECT_EQ(std::memcmp(plain.parameters, kept.parameters, plain.parameter_bytes), 0);
    return FAKE(fake_calls)("cuTensorMapEncodeTiled");
  };
  const Call first = gemm_call(300, 128, 192, stream_);
  EXPECT_EQ(encoded(*loaded, first, sizeof record), 2);
  EXPECT_EQ(encoded(*loaded, first, sizeof record), 0);
  Call moved = first;
  moved.arguments[1].data = address(0x90000);
  EXPECT_EQ(encoded(*loaded, moved, sizeof record), 1);
  EXPECT_EQ(encoded(*loaded, gemm_call(301, 128, 192, stream_), sizeof record), 2) << "one has more rows, one is back";
  EXPECT_EQ(encoded(*again, gemm_call(301, 128, 192, stream_), sizeof record), 2) << "the same artifact, loaded anew";
  EXPECT_EQ(encoded(*again, gemm_call(301, 128, 192, stream_), TILERT_RECORD_ENTRY_BYTES), 1) << "room for one";
  EXPECT_EQ(encoded(*again, gemm_call(301, 128, 192, stream_), TILERT_RECORD_ENTRY_BYTES - 1), 2);
}

TEST_F(LaunchCuda, ADescriptorThatTheEngineCannotTakeNamesTheParameter) {
  Artifact artifact = tma_gemm();
  artifact.guard = {};
  artifact.params[0].alignment = 2;
  const auto loaded = load(device_, artifact);
  Call stride = gemm_call(4, 64, 68, stream_);
  EXPECT_EQ(stride.launch(*loaded), Code::kAlignment);
  EXPECT_EQ(stride.failure.argument, 0);
  EXPECT_NE(stride.message().find("multiples of 16 bytes, this one is 136"), std::string::npos) << stride.message();
  Call base = gemm_call(4, 64, 64, stream_);
  base.arguments[0].data = address(0x10008);
  EXPECT_EQ(base.launch(*loaded), Code::kAlignment);
  FAKE(fake_script)("cuTensorMapEncodeTiled", 1, 1, 1);
  Call refused = gemm_call(4, 64, 64, stream_);
  EXPECT_EQ(refused.launch(*loaded), Code::kDriver);
  EXPECT_EQ(refused.failure.argument, 1);
  EXPECT_EQ(refused.failure.driver_code, 1);
  EXPECT_EQ(FAKE(fake_launch_count)(), 0);
}

TEST_F(LaunchCuda, DriverFailuresCarryTheirCode) {
  const auto loaded = load(device_, saxpy());
  FAKE(fake_script)("cuLaunchKernel", 719, 0, 1);
  Call call = saxpy_call(10, stream_);
  EXPECT_EQ(call.launch(*loaded), Code::kDriver);
  EXPECT_EQ(call.failure.driver_code, 719);
  EXPECT_NE(call.message().find("CUDA_ERROR_LAUNCH_FAILED (719)"), std::string::npos) << call.message();
  FAKE(fake_script)("cuStreamIsCapturing", 901, 0, 1);
  EXPECT_EQ(call.launch(*loaded), Code::kDriver);
  EXPECT_EQ(call.failure.driver_code, 901);
}

TEST_F(LaunchCuda, TheLegacyStreamIsThatOfTheBoundContext) {
  const auto loaded = load(device_, saxpy());
  void* const other = FAKE(fake_make_context)(1);
  for (void* const current : {static_cast<void*>(nullptr), other, static_cast<void*>(device_->context())}) {
    FAKE(fake_set_current)(current);
    const int depth = FAKE(fake_context_depth)();
    FAKE(fake_forget_calls)();
    EXPECT_EQ(saxpy_call(10, nullptr).launch(*loaded), Code::kOk);
    EXPECT_EQ(launched().context, static_cast<void*>(device_->context()));
    EXPECT_EQ(FAKE(fake_current)(), current);
    EXPECT_EQ(FAKE(fake_context_depth)(), depth);
  }
}

TEST_F(LaunchCuda, AThreadWithAnotherContextLaunchesOnItsStreamAllTheSame) {
  const auto loaded = load(device_, saxpy());
  void* const other = FAKE(fake_make_context)(1);
  FAKE(fake_set_current)(other);
  FAKE(fake_forget_calls)();
  EXPECT_EQ(saxpy_call(10, stream_).launch(*loaded), Code::kOk);
  EXPECT_EQ(FAKE(fake_calls)(nullptr), 2) << "a driver that takes it is asked nothing more";
  FAKE(fake_require_current)(1);
  EXPECT_EQ(saxpy_call(10, stream_).launch(*loaded), Code::kOk) << "one that minds gets the bound context";
  EXPECT_EQ(FAKE(fake_launch_count)(), 2);
  EXPECT_EQ(FAKE(fake_current)(), other);
  EXPECT_EQ(FAKE(fake_context_depth)(), 1);
}

TEST_F(LaunchCuda, AStreamOfAnotherContextIsTheDriversError) {
  const auto loaded = load(device_, saxpy());
  void* const foreign = FAKE(fake_make_stream)(FAKE(fake_make_context)(1));
  Call call = saxpy_call(10, foreign);
  EXPECT_EQ(call.launch(*loaded), Code::kDriver);
  EXPECT_EQ(call.failure.driver_code, kCuInvalidHandle);
  EXPECT_EQ(FAKE(fake_context_depth)(), 0);
}

TEST_F(LaunchCuda, ExportHandsOutWhatALaunchWouldPass) {
  const auto loaded = load(device_, tma_gemm());
  EXPECT_EQ(gemm_call(300, 128, 192, stream_).launch(*loaded), Code::kOk);
  EXPECT_FALSE(loaded->pinned());
  Call call = gemm_call(300, 128, 192, stream_);
  tilert_launch_record record{};
  EXPECT_EQ(export_launch(*loaded, call.finish(), record), Code::kOk) << call.message();
  EXPECT_EQ(record.parameter_bytes, 280u);
  EXPECT_EQ(record.parameter_count, 5u);
  EXPECT_EQ(record.kernel_count, 1u);
  EXPECT_TRUE(loaded->pinned());
  alignas(64) uint8_t bytes[280];
  uint32_t offsets[5] = {};
  record.parameters = bytes;
  record.parameter_offsets = offsets;
  record.parameter_offset_count = 5;
  EXPECT_EQ(export_launch(*loaded, call.finish(), record), Code::kOk) << call.message();
  const FakeLaunch launch = launched();
  EXPECT_EQ(std::memcmp(bytes, launch.parameters, 268), 0) << "but for the padding";
  EXPECT_EQ(record.grid[1], launch.grid[1]);
  EXPECT_EQ(record.block[0], 384u);
  EXPECT_EQ(record.cluster[0], 2u);
  EXPECT_EQ(record.shared_bytes, 200000u);
  EXPECT_NE(record.function, nullptr);
  EXPECT_EQ(offsets[1], 128u);
  EXPECT_EQ(offsets[4], 272u);
  record.parameter_bytes = 279;
  EXPECT_EQ(export_launch(*loaded, call.finish(), record), Code::kInvalidArgument);
  record.kernel_index = 1;
  EXPECT_EQ(export_launch(*loaded, call.finish(), record), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tilert::runtime
