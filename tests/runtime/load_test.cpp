// Loading variants into a CUDA context: checks, attributes, failures, variants added later.
#include <gtest/gtest.h>

#include "runtime/fake_device.h"

namespace tilert::runtime {
namespace {

using namespace testing;

class LoadTest : public FakeCudaTest {
 protected:
  static Error refused(const std::shared_ptr<Device>& device, const Artifact& artifact) {
    auto loaded = device->load(std::vector<ArtifactPtr>{share(artifact)});
    EXPECT_FALSE(loaded);
    return loaded ? Error{} : std::move(loaded).error();
  }
};

TEST_F(LoadTest, ResolvesEverythingThatALaunchNeeds) {
  const auto device = open();
  const auto loaded = load(device, tma_gemm());
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(FAKE(fake_loaded_modules)(), 1);
  EXPECT_EQ(FAKE(fake_function_attribute)("gemm", kCuFunctionMaxDynamicSharedBytes), 200000);
  EXPECT_EQ(FAKE(fake_calls)("cuFuncLoad"), 1) << "lazy loading would stall the first launch";
  EXPECT_EQ(loaded->table().variants[0]->kernels[0].registers, 64u);
  EXPECT_EQ(FAKE(fake_current)(), nullptr);
  EXPECT_EQ(FAKE(fake_context_depth)(), 0);
}

TEST_F(LoadTest, TheCallersContextIsTheSameAfterwards) {
  const auto device = open();
  void* const mine = FAKE(fake_make_context)(1);
  FAKE(fake_set_current)(mine);
  const auto loaded = load(device, saxpy());
  EXPECT_EQ(FAKE(fake_current)(), mine);
  EXPECT_EQ(FAKE(fake_context_depth)(), 1);
}

TEST_F(LoadTest, ACaptureOfAnotherThreadGoesOn) {
  const auto device = open();
  FAKE(fake_set_global_capture)(1);
  const auto loaded = load(device, saxpy());
  ASSERT_NE(loaded, nullptr);
  EXPECT_FALSE(FAKE(fake_capture_broken)());
  EXPECT_EQ(FAKE(fake_calls)("cuThreadExchangeStreamCaptureMode"), 2) << "the mode is set and set back";
}

TEST_F(LoadTest, ADriverThatRefusesDuringCaptureMeansNotReady) {
  const auto device = open();
  FAKE(fake_script)("cuModuleLoadDataEx", 900, 0, 1);
  EXPECT_EQ(refused(device, saxpy()).code, Code::kNotReady);
}

TEST_F(LoadTest, ABadImageCarriesTheDriversLog) {
  const auto device = open();
  Artifact artifact = saxpy();
  artifact.code = {'x', 0};
  const Error error = refused(device, artifact);
  EXPECT_EQ(error.code, Code::kDriver);
  EXPECT_NE(error.message.find("CUDA_ERROR_INVALID_IMAGE (200)"), std::string::npos) << error.message;
  EXPECT_EQ(error.log, "line 1: not a fake image");
}

TEST_F(LoadTest, PtxIsTerminatedForTheDriver) {
  const auto device = open();
  Artifact artifact = saxpy();
  artifact.kind = CodeKind::ptx;
  artifact.target = "sm_80";
  artifact.code.pop_back();  // no NUL in the artifact
  EXPECT_NE(load(device, artifact), nullptr);
}

TEST_F(LoadTest, AMissingEntryIsCorruptAndNothingStaysLoaded) {
  const auto device = open();
  Artifact artifact = saxpy();
  artifact.kernels[0].entry = "other";
  const Error error = refused(device, artifact);
  EXPECT_EQ(error.code, Code::kCorrupt);
  EXPECT_NE(error.message.find("'other'"), std::string::npos);
  EXPECT_EQ(FAKE(fake_loaded_modules)(), 0);
}

TEST_F(LoadTest, AStaleBinaryWithOtherParametersIsCorrupt) {
  const auto device = open();
  for (const char* kernels : {"saxpy 8 8 4\n", "saxpy 8 8 4 4 8\n", "saxpy 8 8 8 4\n", "saxpy 4 8 4 4\n"}) {
    Artifact artifact = saxpy();
    artifact.code = image(kernels);
    EXPECT_EQ(refused(device, artifact).code, Code::kCorrupt) << kernels;
  }
  EXPECT_EQ(FAKE(fake_loaded_modules)(), 0);
}

TEST_F(LoadTest, AForeignTargetIsRefusedBeforeTheDriverSeesIt) {
  const auto device = open();
  Artifact artifact = saxpy();
  artifact.target = "sm_100a";
  FAKE(fake_forget_calls)();
  const Error error = refused(device, artifact);
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_NE(error.message.find("sm_100a"), std::string::npos);
  EXPECT_EQ(FAKE(fake_calls)(nullptr), 0);
  artifact.kind = CodeKind::cpu_object;
  EXPECT_EQ(refused(device, artifact).code, Code::kInvalidArgument);
}

TEST_F(LoadTest, AnEntryPointThatTheKernelNeedsIsNamed) {
  for (const char* entry : {"cuLaunchKernelEx", "cuTensorMapEncodeTiled"}) {
    FAKE(fake_reset)();
    FAKE(fake_hide)(entry);
    DeviceOptions options = LoadTest::options();
    options.driver_path = fresh_driver_path();
    const auto device = open(options);
    const Error error = refused(device, tma_gemm());
    EXPECT_EQ(error.code, Code::kUnavailable);
    EXPECT_NE(error.message.find(entry), std::string::npos) << error.message;
    EXPECT_NE(load(device, saxpy()), nullptr) << "a plain kernel does not need it";
  }
}

TEST_F(LoadTest, OldDriversLoadPlainKernels) {
  FAKE(fake_set_driver_version)(12000);
  DeviceOptions options = LoadTest::options();
  options.driver_path = fresh_driver_path();
  const auto device = open(options);
  EXPECT_NE(load(device, saxpy()), nullptr);
  EXPECT_NE(load(device, tma_gemm()), nullptr);
}

TEST_F(LoadTest, TooMuchSharedMemoryOrTooManyThreadsAreRefused) {
  const auto device = open();
  Artifact artifact = tma_gemm();
  artifact.kernels[0].shared_bytes = 300000;
  EXPECT_EQ(refused(device, artifact).code, Code::kUnsupported);
  FAKE(fake_script)("cuFuncSetAttribute", 1, 0, 1);
  EXPECT_EQ(refused(device, tma_gemm()).code, Code::kDriver);
  EXPECT_EQ(FAKE(fake_loaded_modules)(), 0);
}

TEST_F(LoadTest, AClusterOfMoreThanEightBlocksIsAllowedExplicitly) {
  const auto device = open();
  Artifact artifact = tma_gemm();
  artifact.kernels[0].cluster[0] = 16;
  ASSERT_NE(load(device, artifact), nullptr);
  EXPECT_EQ(FAKE(fake_function_attribute)("gemm", kCuFunctionNonPortableCluster), 1);
}

// Each driver call of loading fails in turn: an error, nothing left loaded, the context as it was.
TEST_F(LoadTest, EveryFailingCallIsReportedAndLeavesNothing) {
  for (const char* entry : {"cuCtxGetCurrent", "cuCtxPushCurrent", "cuModuleLoadDataEx", "cuModuleGetFunction",
                            "cuFuncLoad", "cuFuncGetAttribute", "cuFuncSetAttribute", "cuFuncGetParamInfo"}) {
    FAKE(fake_reset)();
    const auto device = open();
    FAKE(fake_script)(entry, 999, 0, 1);
    const Error error = refused(device, tma_gemm());
    EXPECT_EQ(error.code, Code::kDriver) << entry;
    EXPECT_EQ(FAKE(fake_loaded_modules)(), 0) << entry;
    EXPECT_EQ(FAKE(fake_context_depth)(), 0) << entry;
    EXPECT_NE(load(device, tma_gemm()), nullptr) << "the device is as good as before: " << entry;
  }
}

TEST_F(LoadTest, OutOfMemoryKeepsItsCode) {
  const auto device = open();
  FAKE(fake_script)("cuModuleLoadDataEx", kCuOutOfMemory, 0, 1);
  EXPECT_EQ(refused(device, saxpy()).code, Code::kOutOfMemory);
}

TEST_F(LoadTest, AnInvalidArtifactIsRefused) {
  const auto device = open();
  Artifact artifact = saxpy();
  artifact.kernels[0].slots[0].index = 99;
  EXPECT_EQ(refused(device, artifact).code, Code::kCorrupt);
  EXPECT_FALSE(device->load({}));
  EXPECT_FALSE(device->load(std::vector<ArtifactPtr>{nullptr}));
}

TEST_F(LoadTest, VariantsOfDifferentProgramsAreRefusedTogether) {
  const auto device = open();
  const auto loaded = device->load(std::vector<ArtifactPtr>{share(saxpy()), share(tma_gemm())});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kInternal);
  EXPECT_EQ(device->counts().released, 1u) << "what was loaded by the failed call waits for trim";
}

TEST_F(LoadTest, VariantsAddedLaterAreSeenByTheNextLaunch) {
  const auto device = open();
  Artifact small = saxpy();
  small.dims[0] = {DimKind::range, "N", 0, 1000};
  const auto first = share(small);
  const auto loaded = load(device, {first});
  void* const stream = stream_of(device);
  EXPECT_EQ(saxpy_call(5000, stream).launch(*loaded), Code::kNotReady);
  ASSERT_TRUE(loaded->add(std::vector<ArtifactPtr>{first, share(saxpy())}));
  EXPECT_EQ(loaded->table().variants.size(), 2u) << "the first is loaded already";
  EXPECT_EQ(saxpy_call(5000, stream).launch(*loaded), Code::kOk);
  EXPECT_EQ(FAKE(fake_loaded_modules)(), 2);
}

}  // namespace
}  // namespace tilert::runtime
