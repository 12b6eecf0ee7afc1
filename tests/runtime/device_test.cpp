// Opening CUDA devices in every way, their facts, failures, targets, fork.
#include "runtime/device.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/fake_device.h"

namespace tilert::runtime {
namespace {

using namespace testing;

class DeviceTest : public FakeCudaTest {
 protected:
  // The error of opening with these options, which must fail.
  static Error refused(DeviceOptions options) {
    auto device = Device::open(std::move(options));
    EXPECT_FALSE(device);
    return device ? Error{} : std::move(device).error();
  }
};

TEST_F(DeviceTest, PrimaryOfAnOrdinalTellsItsFactsAndIsReleased) {
  FAKE(fake_set_device_attribute)(1, kCuDeviceMajor, 8);
  FAKE(fake_set_device_attribute)(1, kCuDeviceMinor, 6);
  DeviceOptions options = DeviceTest::options();
  options.ordinal = 1;
  {
    const auto device = open(options);
    ASSERT_NE(device, nullptr);
    EXPECT_FALSE(device->is_cpu());
    EXPECT_EQ(device->facts().name, "Fake GPU 1");
    EXPECT_EQ(device->facts().target, "sm_86");
    EXPECT_EQ(device->facts().ordinal, 1);
    EXPECT_EQ(device->facts().multiprocessors, 132u);
    EXPECT_EQ(device->facts().shared_bytes, 232448u);
    EXPECT_EQ(device->facts().l2_bytes, uint64_t{50} << 20);
    EXPECT_EQ(device->facts().driver_version, 12040);
    EXPECT_EQ(FAKE(fake_primary_retains)(1), 1);
  }
  EXPECT_EQ(FAKE(fake_primary_retains)(1), 0);
}

TEST_F(DeviceTest, PrimaryOfAUuid) {
  DeviceOptions options = DeviceTest::options();
  options.uuid.emplace();
  options.uuid->fill(0xa1);
  const auto device = open(options);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->facts().ordinal, 1);
  options.uuid->fill(0x11);
  EXPECT_EQ(refused(options).code, Code::kUnavailable);
}

TEST_F(DeviceTest, AnOrdinalThatIsNotThereIsUnavailableWithTheCount) {
  DeviceOptions options = DeviceTest::options();
  options.ordinal = 5;
  const Error error = refused(options);
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_NE(error.message.find("sees 2"), std::string::npos) << error.message;
  FAKE(fake_set_device_count)(0);
  options.ordinal = 0;
  EXPECT_EQ(refused(options).code, Code::kUnavailable);
}

TEST_F(DeviceTest, TheCurrentContextIsBoundAndStaysCurrent) {
  void* const mine = FAKE(fake_make_context)(1);
  FAKE(fake_set_current)(mine);
  DeviceOptions options = DeviceTest::options();
  options.binding = Binding::current;
  const auto device = open(options);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->context(), static_cast<CuContext>(mine));
  EXPECT_EQ(device->facts().ordinal, 1);
  EXPECT_EQ(FAKE(fake_current)(), mine);
  EXPECT_EQ(FAKE(fake_context_depth)(), 1);
  EXPECT_EQ(FAKE(fake_primary_retains)(1), 0);
}

TEST_F(DeviceTest, NoCurrentContextIsTheCallersMistake) {
  DeviceOptions options = DeviceTest::options();
  options.binding = Binding::current;
  EXPECT_EQ(refused(options).code, Code::kInvalidArgument);
  options.binding = Binding::given;
  EXPECT_EQ(refused(options).code, Code::kInvalidArgument);
  options.binding = static_cast<Binding>(9);
  EXPECT_EQ(refused(options).code, Code::kInvalidArgument);
  options.kind = static_cast<DeviceKind>(9);
  EXPECT_EQ(refused(options).code, Code::kInvalidArgument);
}

TEST_F(DeviceTest, AGivenContextIsBoundWithoutBecomingCurrent) {
  void* const given = FAKE(fake_make_context)(0);
  FAKE(fake_set_context_multiprocessors)(given, 16);
  DeviceOptions options = DeviceTest::options();
  options.binding = Binding::given;
  options.native = given;
  const auto device = open(options);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->facts().multiprocessors, 16u) << "a green context has fewer multiprocessors than its device";
  EXPECT_EQ(FAKE(fake_current)(), nullptr);
  EXPECT_EQ(FAKE(fake_context_depth)(), 0);
}

TEST_F(DeviceTest, WithoutDevResourceTheDeviceTellsItsMultiprocessors) {
  FAKE(fake_hide)("cuCtxGetDevResource");
  DeviceOptions options = DeviceTest::options();
  options.driver_path = fresh_driver_path();
  const auto device = open(options);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->facts().multiprocessors, 132u);
}

// Each driver call of opening fails in turn: an error, no crash, no context left behind or retained.
TEST_F(DeviceTest, EveryFailingCallIsReported) {
  for (const char* entry :
       {"cuDeviceGetCount", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuDeviceGetName", "cuDeviceGetAttribute"}) {
    FAKE(fake_reset)();
    FAKE(fake_script)(entry, 999, 0, 1);
    const Error error = refused(options());
    EXPECT_EQ(error.code, Code::kDriver) << entry;
    EXPECT_NE(error.message.find("(999)"), std::string::npos) << error.message;
    EXPECT_EQ(FAKE(fake_primary_retains)(0), 0) << entry;
    EXPECT_EQ(FAKE(fake_context_depth)(), 0) << entry;
  }
}

TEST_F(DeviceTest, ADriverThatIsGoneAtTheEndIsNoError) {
  auto device = open();
  FAKE(fake_script)("cuDevicePrimaryCtxRelease", kCuDeinitialized, 0, 1);
  device.reset();
  EXPECT_EQ(FAKE(fake_calls)("cuDevicePrimaryCtxRelease"), 1);
}

TEST(Target, FitsByTheRulesOfCubinsAndPtx) {
  const auto fits = [](CodeKind kind, const char* target, int major, int minor) {
    return why_target_does_not_fit(kind, target, major, minor).empty();
  };
  EXPECT_TRUE(fits(CodeKind::cubin, "sm_80", 8, 0));
  EXPECT_TRUE(fits(CodeKind::cubin, "sm_80", 8, 6));
  EXPECT_FALSE(fits(CodeKind::cubin, "sm_86", 8, 0));
  EXPECT_FALSE(fits(CodeKind::cubin, "sm_80", 9, 0));
  EXPECT_TRUE(fits(CodeKind::ptx, "sm_80", 9, 0));
  EXPECT_FALSE(fits(CodeKind::ptx, "sm_90", 8, 9));
  EXPECT_TRUE(fits(CodeKind::cubin, "sm_90a", 9, 0));
  EXPECT_FALSE(fits(CodeKind::ptx, "sm_90a", 10, 0));
  EXPECT_FALSE(fits(CodeKind::cubin, "sm_120a", 12, 1));
  EXPECT_TRUE(fits(CodeKind::cubin, "sm_120f", 12, 1));
  EXPECT_FALSE(fits(CodeKind::cubin, "sm_100f", 12, 0));
  EXPECT_FALSE(fits(CodeKind::cubin, "x86-64-v3", 9, 0));
  EXPECT_FALSE(fits(CodeKind::cubin, "sm_90x", 9, 0));
}

// Runs `body` in a child and gives its exit status.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(DeviceTest, AfterForkOldHandlesAnswerForkedAndTouchNoDriver) {
  auto device = open();
  auto loaded = load(device, saxpy());
  void* const stream = stream_of(device);
  FAKE(fake_forget_calls)();
  EXPECT_EQ(in_child([&] {
              if (saxpy_call(100, stream).launch(*loaded) != Code::kForked) return 1;
              const auto more = device->load(std::vector<ArtifactPtr>{share(saxpy())});
              if (more || more.error().code != Code::kForked) return 2;
              const auto trimmed = device->trim();
              if (trimmed || trimmed.error().code != Code::kForked) return 3;
              loaded.reset();
              device.reset();
              if (FAKE(fake_calls)(nullptr) != 0) return 4;
              return Device::open(options()) ? 0 : 5;  // a new handle works, as far as the driver does
            }),
            0);
  EXPECT_EQ(saxpy_call(100, stream).launch(*loaded), Code::kOk);
}

}  // namespace
}  // namespace tilert::runtime
