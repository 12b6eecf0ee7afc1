// Capture, pinning, release, trim.
#include <gtest/gtest.h>

#include "runtime/fake_device.h"

namespace tilert::runtime {
namespace {

using namespace testing;

class Unload : public FakeCudaTest {
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
  uint32_t trim() {
    const auto count = device_->trim();
    EXPECT_TRUE(count) << (count ? "" : count.error().message);
    return count ? *count : 0;
  }
  std::shared_ptr<Device> device_;
  void* stream_ = nullptr;
};

TEST_F(Unload, ReleaseOnlyMarksAndTrimUnloads) {
  auto loaded = load(device_, saxpy());
  EXPECT_EQ(trim(), 0u) << "it is in use";
  FAKE(fake_forget_calls)();
  loaded.reset();
  EXPECT_EQ(FAKE(fake_calls)(nullptr), 0);
  EXPECT_EQ(FAKE(fake_loaded_modules)(), 1);
  EXPECT_EQ(device_->counts().released, 1u);
  EXPECT_EQ(trim(), 1u);
  EXPECT_EQ(FAKE(fake_loaded_modules)(), 0);
  EXPECT_EQ(trim(), 0u);
  EXPECT_EQ(FAKE(fake_context_depth)(), 0);
}

TEST_F(Unload, ALaunchUnderCapturePinsForGood) {
  auto loaded = load(device_, saxpy());
  FAKE(fake_set_capture)(stream_, 1);
  FAKE(fake_forget_calls)();
  EXPECT_EQ(saxpy_call(10, stream_).launch(*loaded), Code::kOk);
  EXPECT_EQ(FAKE(fake_calls)(nullptr), 2) << "capturing changes nothing about the calls";
  EXPECT_TRUE(loaded->pinned());
  FAKE(fake_set_capture)(stream_, 0);
  loaded.reset();
  EXPECT_EQ(trim(), 0u);
  EXPECT_EQ(FAKE(fake_loaded_modules)(), 1);
  EXPECT_EQ(device_->counts().pinned, 1u);
}

TEST_F(Unload, OnlyTheVariantThatWasCapturedIsPinned) {
  Artifact small = saxpy();
  small.dims[0] = {DimKind::range, "N", 0, 100};
  auto loaded = load(device_, {share(small), share(saxpy())});
  FAKE(fake_set_capture)(stream_, 1);
  EXPECT_EQ(saxpy_call(50, stream_).launch(*loaded), Code::kOk);
  loaded.reset();
  EXPECT_EQ(trim(), 1u);
  EXPECT_EQ(FAKE(fake_loaded_modules)(), 1);
}

TEST_F(Unload, UnpinIsTheCallersWord) {
  auto loaded = load(device_, saxpy());
  FAKE(fake_set_capture)(stream_, 1);
  EXPECT_EQ(saxpy_call(10, stream_).launch(*loaded), Code::kOk);
  loaded->unpin();
  EXPECT_FALSE(loaded->pinned());
  loaded.reset();
  EXPECT_EQ(trim(), 1u);
}

TEST_F(Unload, APinnedLoadedIsNotAskedAgain) {
  auto loaded = load(device_, saxpy());
  FAKE(fake_set_capture)(stream_, 1);
  EXPECT_EQ(saxpy_call(10, stream_).launch(*loaded), Code::kOk);
  FAKE(fake_forget_calls)();
  EXPECT_EQ(saxpy_call(10, stream_).launch(*loaded), Code::kOk);
  EXPECT_EQ(FAKE(fake_calls)(nullptr), 1);
}

TEST_F(Unload, TrimUnderACaptureOfAnotherThreadDoesNotEndIt) {
  load(device_, saxpy()).reset();
  FAKE(fake_set_global_capture)(1);
  EXPECT_EQ(trim(), 1u);
  EXPECT_FALSE(FAKE(fake_capture_broken)());
}

TEST_F(Unload, ReleasingInsideACaptureTouchesNoDriver) {
  auto loaded = load(device_, saxpy());
  FAKE(fake_set_global_capture)(1);
  FAKE(fake_forget_calls)();
  loaded.reset();
  EXPECT_EQ(FAKE(fake_calls)(nullptr), 0);
}

TEST_F(Unload, APrimaryContextStaysWhileACapturedGraphMayRun) {
  auto loaded = load(device_, saxpy());
  FAKE(fake_set_capture)(stream_, 1);
  EXPECT_EQ(saxpy_call(10, stream_).launch(*loaded), Code::kOk);
  loaded.reset();
  device_.reset();
  EXPECT_EQ(FAKE(fake_primary_retains)(0), 1);
}

TEST_F(Unload, AnyOrderOfReleaseIsLegal) {
  auto loaded = load(device_, saxpy());
  const Device* const raw = device_.get();
  device_.reset();
  EXPECT_EQ(&loaded->device(), raw) << "the Loaded holds its device";
  EXPECT_EQ(saxpy_call(10, stream_).launch(*loaded), Code::kOk);
  loaded.reset();
  EXPECT_EQ(FAKE(fake_primary_retains)(0), 0);
}

TEST_F(Unload, TrimReportsAFailingUnloadAndGoesOnWithTheOthers) {
  load(device_, saxpy()).reset();
  load(device_, saxpy()).reset();
  FAKE(fake_script)("cuModuleUnload", 999, 0, 1);
  const auto result = device_->trim();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kDriver);
  EXPECT_EQ(FAKE(fake_loaded_modules)(), 1) << "the second went";
  EXPECT_EQ(device_->counts().modules, 0u);
}

TEST_F(Unload, ADestroyedContextTookItsModulesAlong) {
  void* const given = FAKE(fake_make_context)(0);
  DeviceOptions options = Unload::options();
  options.binding = Binding::given;
  options.native = given;
  const auto device = open(options);
  auto loaded = load(device, saxpy());
  void* const stream = stream_of(device);
  FAKE(fake_destroy_context)(given);
  Call call = saxpy_call(10, stream);
  EXPECT_EQ(call.launch(*loaded), Code::kDriver);
  EXPECT_EQ(call.failure.driver_code, kCuContextIsDestroyed);
  loaded.reset();
  const auto trimmed = device->trim();
  ASSERT_TRUE(trimmed);
  EXPECT_EQ(*trimmed, 1u);
  EXPECT_EQ(FAKE(fake_calls)("cuModuleUnload"), 0);
}

TEST_F(Unload, TenThousandCyclesLeaveNothingBehind) {
  for (int i = 0; i < 10000; ++i) {
    load(device_, saxpy()).reset();
    if (i % 100 == 99) {
      ASSERT_EQ(trim(), 100u);
    }
  }
  EXPECT_EQ(device_->counts().modules, 0u);
  EXPECT_EQ(FAKE(fake_loaded_modules)(), 0);
}

}  // namespace
}  // namespace tilert::runtime
