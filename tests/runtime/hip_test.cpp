// AMD GPUs on a fake HIP runtime: what is asked of it when opening, loading and launching, and what of its answers
// becomes an error.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include "fake/fake_hip.h"
#include "runtime/fake_device.h"

namespace tilert::runtime {
namespace {

using namespace testing;
using ::testing::HasSubstr;

std::string little(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> 8 * i & 0xff));
  return bytes;
}
std::string packed(const std::string& text) { return static_cast<char>(0xa0 | text.size()) + text; }
std::string packed(uint8_t number) { return std::string("\xcc") + static_cast<char>(number); }

// An ELF file whose metadata names one kernel with arguments of these bytes, and one that the compiler adds.
std::vector<uint8_t> code_object(const std::string& kernel, const std::vector<uint8_t>& arguments,
                                 uint8_t registers = 24) {
  std::string list(1, static_cast<char>(0x90 | (arguments.size() + 1)));
  uint8_t offset = 0;
  for (const uint8_t bytes : arguments) {
    offset = static_cast<uint8_t>((offset + bytes - 1) / bytes * bytes);
    list += "\x83" + packed(".offset") + packed(offset) + packed(".size") + packed(bytes) + packed(".value_kind") +
            packed("by_value");
    offset = static_cast<uint8_t>(offset + bytes);
  }
  list += "\x83" + packed(".offset") + packed(uint8_t{64}) + packed(".size") + packed(uint8_t{8}) +
          packed(".value_kind") + packed("hidden_none");
  const std::string one = "\x84" + packed(".name") + packed(kernel) + packed(".vgpr_count") + packed(registers) +
                          "\xb8" + ".max_flat_workgroup_size" + "\xcd\x01" + std::string(1, '\0') + packed(".args") +
                          list;
  const std::string metadata = "\x81" + packed("amdhsa.kernels") + "\x91" + one;
  std::string note =
      little(7, 4) + little(metadata.size(), 4) + little(32, 4) + std::string("AMDGPU\0\0", 8) + metadata;
  std::string file = std::string(
                         "\x7f"
                         "ELF\x02\x01",
                         6) +
                     std::string(10, '\0') + little(3, 2) + little(224, 2) + std::string(20, '\0');
  file += little(64, 8) + std::string(10, '\0') + little(64, 2) + little(1, 2) + little(0, 2);
  file.resize(64, '\0');
  file += little(0, 4) + little(7, 4) + std::string(16, '\0') + little(128, 8) + little(note.size(), 8) +
          std::string(24, '\0');
  file.resize(128, '\0');
  file += note;
  return {file.begin(), file.end()};
}

Artifact saxpy_for_amd() {
  Artifact artifact = saxpy();
  artifact.kind = CodeKind::code_object;
  artifact.target = "gfx90a";
  artifact.code = code_object("saxpy", {8, 8, 4, 4});
  return artifact;
}

class Hip : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    path_ = std::string(TILERT_BINARY_DIR) + "/lib/libtilert_fake_hip" + std::to_string(GetParam()) + ".so";
    void* const library = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    fake_ = reinterpret_cast<const FakeHipControl* (*)()>(dlsym(library, "fake_hip_control"))();
    fake_->reset();
  }
  DeviceOptions options(int ordinal = 0) const {
    DeviceOptions options;
    options.kind = DeviceKind::hip;
    options.driver_path = path_;
    options.ordinal = ordinal;
    return options;
  }
  std::shared_ptr<Device> open(int ordinal = 0) const {
    auto device = Device::open(options(ordinal));
    EXPECT_TRUE(device) << (device ? "" : device.error().message);
    return device ? *device : nullptr;
  }
  static Result<LoadedPtr> load(const std::shared_ptr<Device>& device, Artifact artifact) {
    const std::vector<ArtifactPtr> variants = {share(artifact)};
    return device->load(variants);
  }
  static Error load_error(const std::shared_ptr<Device>& device, Artifact artifact) {
    auto loaded = load(device, std::move(artifact));
    EXPECT_FALSE(loaded);
    return loaded ? Error{} : loaded.error();
  }

  std::string path_;
  const FakeHipControl* fake_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Rocm, Hip, ::testing::Values(5, 6));

TEST_P(Hip, ADeviceTellsItsChipWithoutFeaturesAndLeavesTheCurrentOneAlone) {
  fake_->set_current(1);
  const auto device = open(0);
  EXPECT_EQ(device->facts().target, "gfx90a");
  EXPECT_EQ(device->facts().name, "Fake MI210");
  EXPECT_EQ(device->facts().multiprocessors, 104u);
  EXPECT_EQ(device->facts().shared_bytes, 65536u);
  EXPECT_EQ(device->facts().l2_bytes, uint64_t{8} << 20);
  EXPECT_TRUE(device->is_hip());
  EXPECT_FALSE(device->is_cpu());
  DeviceOptions current = options();
  current.binding = Binding::current;
  EXPECT_EQ((*Device::open(current))->facts().target, "gfx1100");
  EXPECT_EQ(fake_->current(), 1);
}

TEST_P(Hip, DevicesThatAreNotThereAndBindingsThatHipLacksAreRefused) {
  EXPECT_THAT(Device::open(options(2)).error().message, HasSubstr("this process sees 2"));
  DeviceOptions given = options();
  given.binding = Binding::given;
  given.native = this;
  EXPECT_THAT(Device::open(given).error().message, HasSubstr("HIP has no contexts"));
  DeviceOptions missing = options();
  missing.driver_path = "/nowhere/libamdhip64.so.6";
  EXPECT_THAT(Device::open(missing).error().message, HasSubstr("/nowhere/libamdhip64.so.6"));
}

TEST_P(Hip, ALaunchIsOneCallPlusTheCaptureQueryWithTheBytesOfTheRecipe) {
  const auto device = open();
  const auto loaded = load(device, saxpy_for_amd());
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->table().variants[0]->kernels[0].registers, 24u);
  const int before = fake_->calls("hipGetDevice");
  EXPECT_EQ(saxpy_call(1000, address(0x5000)).launch(**loaded), Code::kOk);
  EXPECT_EQ(fake_->calls("hipGetDevice"), before);
  EXPECT_EQ(fake_->calls("hipModuleLaunchKernel"), 1);
  EXPECT_EQ(fake_->calls("hipStreamIsCapturing"), 1);
  FakeHipLaunch launch{};
  ASSERT_EQ(fake_->launch(0, &launch), 1);
  EXPECT_STREQ(launch.kernel, "saxpy");
  EXPECT_EQ(launch.grid[0], 4u);
  EXPECT_EQ(launch.block[0], 256u);
  EXPECT_EQ(launch.stream, address(0x5000));
  EXPECT_EQ(launch.parameters[0], address(0x10000));
  EXPECT_EQ(launch.parameters[1], address(0x20000));
  EXPECT_EQ(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(launch.parameters[3])), 1000u);
}

TEST_P(Hip, TheNullStreamIsThatOfTheKernelsDevice) {
  const auto device = open();
  const auto loaded = load(device, saxpy_for_amd());
  ASSERT_TRUE(loaded);
  fake_->set_current(1);
  EXPECT_EQ(saxpy_call(1000, nullptr).launch(**loaded), Code::kOk);
  FakeHipLaunch launch{};
  ASSERT_EQ(fake_->launch(0, &launch), 1);
  EXPECT_EQ(launch.device, 0);
  EXPECT_EQ(fake_->current(), 1);
}

TEST_P(Hip, AFailedLaunchNamesTheRuntimesCode) {
  const auto device = open();
  const auto loaded = load(device, saxpy_for_amd());
  ASSERT_TRUE(loaded);
  fake_->script("hipModuleLaunchKernel", 719);
  Call call = saxpy_call(1000, address(0x5000));
  EXPECT_EQ(call.launch(**loaded), Code::kDriver);
  EXPECT_THAT(call.message(), HasSubstr("hipErrorLaunchFailure (719)"));
  EXPECT_EQ(call.failure.driver_code, 719);
}

TEST_P(Hip, WhatWasLaunchedUnderCaptureIsNotUnloadedByTrim) {
  const auto device = open();
  {
    const auto captured = load(device, saxpy_for_amd());
    const auto plain = load(device, saxpy_for_amd());
    ASSERT_TRUE(captured && plain);
    fake_->capture(1);
    EXPECT_EQ(saxpy_call(1000, address(0x5000)).launch(**captured), Code::kOk);
    fake_->capture(0);
    EXPECT_EQ(saxpy_call(1000, address(0x5000)).launch(**plain), Code::kOk);
    EXPECT_TRUE((*captured)->pinned());
  }
  fake_->set_current(1);
  EXPECT_EQ(*device->trim(), 1u);
  EXPECT_EQ(fake_->modules(), 1);
  EXPECT_EQ(fake_->current(), 1);
}

TEST_P(Hip, ALoadUnderCaptureIsNotReady) {
  const auto device = open();
  fake_->script("hipModuleLoadData", 900);
  EXPECT_EQ(load_error(device, saxpy_for_amd()).code, Code::kNotReady);
  fake_->script("hipModuleLoadData", 2);
  EXPECT_EQ(load_error(device, saxpy_for_amd()).code, Code::kOutOfMemory);
}

TEST_P(Hip, StaleAndForeignBinariesAreNotLoaded) {
  const auto device = open();
  Artifact other = saxpy_for_amd();
  other.target = "gfx942";
  EXPECT_EQ(load_error(device, other).code, Code::kUnsupported);
  EXPECT_EQ(load_error(device, saxpy()).code, Code::kInvalidArgument);
  for (const std::vector<uint8_t>& arguments : {std::vector<uint8_t>{8, 8, 4}, {8, 8, 8, 4}, {8, 8, 4, 4, 4}}) {
    Artifact stale = saxpy_for_amd();
    stale.code = code_object("saxpy", arguments);
    EXPECT_EQ(load_error(device, stale).code, Code::kCorrupt);
  }
  Artifact renamed = saxpy_for_amd();
  renamed.code = code_object("saxpi", {8, 8, 4, 4});
  EXPECT_THAT(load_error(device, renamed).message, HasSubstr("no kernel 'saxpy'"));
  Artifact garbage = saxpy_for_amd();
  garbage.code = {1, 2, 3};
  EXPECT_EQ(load_error(device, garbage).code, Code::kCorrupt);
  EXPECT_EQ(fake_->modules(), 0) << "nothing stays of a load that failed";
}

TEST_P(Hip, CooperativeLaunchesNeedTheRuntimesFunction) {
  const auto device = open();
  const auto loaded = load(device, saxpy_for_amd());
  ASSERT_TRUE(loaded);
  Call call = saxpy_call(1000, address(0x5000));
  call.attribute(TILERT_ATTRIBUTE_COOPERATIVE, 1);
  EXPECT_EQ(call.launch(**loaded), GetParam() >= 6 ? Code::kOk : Code::kUnavailable);
  Call urgent = saxpy_call(1000, address(0x5000));
  urgent.attribute(TILERT_ATTRIBUTE_PRIORITY, 1);
  EXPECT_EQ(urgent.launch(**loaded), Code::kInvalidArgument);
}

TEST_P(Hip, PointersAreCheckedByTheirKindAndUnderTheDebugFlag) {
  const auto device = open();
  const auto loaded = load(device, saxpy_for_amd());
  ASSERT_TRUE(loaded);
  Call cuda = saxpy_call(1000, address(0x5000));
  cuda.arguments[0].device_type = TILERT_MEMORY_CUDA;
  EXPECT_EQ(cuda.launch(**loaded), Code::kInvalidArgument);
  EXPECT_THAT(cuda.message(), HasSubstr("lies on device cuda:0, the kernel is loaded on rocm:0"));
  for (const int32_t kind : {TILERT_MEMORY_ROCM, TILERT_MEMORY_ROCM_HOST}) {
    Call call = saxpy_call(1000, address(0x5000));
    call.arguments[0].device_type = kind;
    EXPECT_EQ(call.launch(**loaded), Code::kOk) << call.message();
  }
  Call probed = saxpy_call(1000, address(0x5000));
  probed.info.flags = TILERT_LAUNCH_DEBUG_POINTERS;
  fake_->memory(address(0x10000), 0);
  fake_->memory(address(0x20000), 1);
  EXPECT_EQ(probed.launch(**loaded), Code::kInvalidArgument);
  EXPECT_THAT(probed.message(), HasSubstr("runs on HIP device 0"));
}

}  // namespace
}  // namespace tilert::runtime
