// Finding the driver and its entry points, its errors, its scopes, and our copy of its types.
#include "runtime/cuda_driver.h"

#include <gtest/gtest.h>

#include "runtime/fake_device.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

namespace tilert::runtime {
namespace {

using namespace testing;

class CudaDriverTest : public FakeCudaTest {};

TEST_F(CudaDriverTest, AMissingLibraryNamesThePathTried) {
  const auto driver = cuda_driver("/nowhere/libcuda.so.1");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, Code::kUnavailable);
  EXPECT_NE(driver.error().message.find("/nowhere/libcuda.so.1"), std::string::npos) << driver.error().message;
}

TEST_F(CudaDriverTest, ARelativePathIsRefused) {
  const auto driver = cuda_driver("lib/libcuda.so.1");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, Code::kUnavailable);
}

TEST_F(CudaDriverTest, OpensOncePerPathAndProcess) {
  const std::string path = fresh_driver_path();
  const auto first = cuda_driver(path), second = cuda_driver(path);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(FAKE(fake_calls)("cuInit"), 1);
}

TEST_F(CudaDriverTest, AnOldDriverIsUnavailableWithItsVersion) {
  FAKE(fake_set_driver_version)(11080);
  const auto driver = cuda_driver(fresh_driver_path());
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, Code::kUnavailable);
  EXPECT_NE(driver.error().message.find("CUDA 11.8"), std::string::npos) << driver.error().message;
}

TEST_F(CudaDriverTest, AFailingStartIsReportedAndTriedAgainLater) {
  const std::string path = fresh_driver_path();
  FAKE(fake_script)("cuInit", 100, 0, 1);
  const auto driver = cuda_driver(path);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, Code::kUnavailable);
  EXPECT_NE(driver.error().message.find("(100)"), std::string::npos) << driver.error().message;
  EXPECT_TRUE(cuda_driver(path));
}

// Each entry point hidden in turn: a required one makes the driver unavailable by name, an optional one a null pointer.
TEST_F(CudaDriverTest, EachMissingEntryPointIsNamedOrOptional) {
  struct Row {
    const char* name;
    bool required;
  };
  constexpr bool r = true, o = false;
  const Row rows[] = {
#define TILERT_CUDA_ENTRY(name, symbol, version, need, parameters) {#name, need},
#include "runtime/cuda_driver.def"
#undef TILERT_CUDA_ENTRY
  };
  int optional = 0;
  for (const Row& row : rows) {
    FAKE(fake_reset)();
    FAKE(fake_hide)(row.name);
    const auto driver = cuda_driver(fresh_driver_path());
    EXPECT_EQ(static_cast<bool>(driver), !row.required) << row.name;
    optional += !row.required;
    if (driver) continue;
    EXPECT_EQ(driver.error().code, Code::kUnavailable);
    EXPECT_NE(driver.error().message.find(row.name), std::string::npos) << driver.error().message;
  }
  EXPECT_EQ(optional, 8);
}

TEST_F(CudaDriverTest, ACuda120DriverHasOnlyWhatItKnew) {
  FAKE(fake_set_driver_version)(12000);
  const auto driver = cuda_driver(fresh_driver_path());
  ASSERT_TRUE(driver);
  EXPECT_NE((*driver)->cuLaunchKernelEx, nullptr);
  EXPECT_NE((*driver)->cuTensorMapEncodeTiled, nullptr);
  EXPECT_EQ((*driver)->cuFuncGetParamInfo, nullptr);
  EXPECT_EQ((*driver)->cuCtxGetDevResource, nullptr);
}

TEST_F(CudaDriverTest, CodesBecomeErrorsWithNameAndNumber) {
  const auto driver = cuda_driver(fake::driver_path());
  ASSERT_TRUE(driver);
  EXPECT_TRUE((*driver)->check(kCuSuccess, "breathe"));
  const Error error = (*driver)->error(kCuInvalidImage, "load a module");
  EXPECT_EQ(error.code, Code::kDriver);
  EXPECT_EQ(error.message, "the CUDA driver failed to load a module: CUDA_ERROR_INVALID_IMAGE (200): scripted");
  EXPECT_EQ((*driver)->error(kCuOutOfMemory, "load").code, Code::kOutOfMemory);
}

TEST_F(CudaDriverTest, ScopesLeaveTheThreadAsTheyFoundIt) {
  const auto driver = cuda_driver(fake::driver_path());
  ASSERT_TRUE(driver);
  void* const mine = FAKE(fake_make_context)(0);
  void* const other = FAKE(fake_make_context)(1);
  FAKE(fake_set_current)(mine);
  {
    const CurrentContext same(**driver, static_cast<CuContext>(mine));
    EXPECT_EQ(FAKE(fake_calls)("cuCtxPushCurrent"), 0);
    const CurrentContext pushed(**driver, static_cast<CuContext>(other));
    EXPECT_EQ(FAKE(fake_current)(), other);
  }
  EXPECT_EQ(FAKE(fake_current)(), mine);
  EXPECT_EQ(FAKE(fake_context_depth)(), 1);
}

#ifdef CUDA_VERSION
TEST(CudaTypes, AgreeWithCudaH) {
  static_assert(sizeof(CuTensorMap) == sizeof(CUtensorMap) && alignof(CuTensorMap) <= alignof(CUtensorMap));
  static_assert(sizeof(CuLaunchAttribute) == sizeof(CUlaunchAttribute));
  static_assert(alignof(CuLaunchAttribute) == alignof(CUlaunchAttribute));
  static_assert(offsetof(CuLaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
  static_assert(sizeof(CuLaunchConfig) == sizeof(CUlaunchConfig));
  static_assert(offsetof(CuLaunchConfig, block) == offsetof(CUlaunchConfig, blockDimX));
  static_assert(offsetof(CuLaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
  static_assert(offsetof(CuLaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
  static_assert(offsetof(CuLaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
  static_assert(offsetof(CuLaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
  static_assert(sizeof(CuUuid) == sizeof(CUuuid) && sizeof(CuDevicePtr) == sizeof(CUdeviceptr));
  static_assert(sizeof(CuDevResource) >= sizeof(CUdevResource));
  static_assert(offsetof(CuDevResource, sm_count) == offsetof(CUdevResource, sm));
  EXPECT_EQ(kCuAttributeCluster, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(kCuAttributeCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(kCuAttributePdl, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  EXPECT_EQ(kCuAttributePriority, CU_LAUNCH_ATTRIBUTE_PRIORITY);
  EXPECT_EQ(kCuDeviceMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(kCuDeviceL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  EXPECT_EQ(kCuDeviceMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(kCuDeviceMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(kCuDeviceSharedPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(kCuFunctionMaxThreads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_EQ(kCuFunctionStaticSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  EXPECT_EQ(kCuFunctionLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  EXPECT_EQ(kCuFunctionRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS);
  EXPECT_EQ(kCuFunctionMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(kCuFunctionNonPortableCluster, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  EXPECT_EQ(kCuCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(kCuPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  EXPECT_EQ(kCuJitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(kCuJitErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_EQ(kCuResourceSm, CU_DEV_RESOURCE_TYPE_SM);
  EXPECT_EQ(kCuInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(kCuInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(kCuContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(static_cast<int>(Swizzle::b128), CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(static_cast<int>(Swizzle::b32), CU_TENSOR_MAP_SWIZZLE_32B);
  EXPECT_EQ(static_cast<int>(L2Promotion::b256), CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
}
#endif

}  // namespace
}  // namespace tilert::runtime
