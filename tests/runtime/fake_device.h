// What the tests on the fake driver share: opening devices and loading on it, and calls made piece by piece.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fake/fake_cuda_api.h"
#include "runtime/launch.h"
#include "runtime/test_artifacts.h"

namespace tilert::runtime::testing {

// The same file under another name: the library opens each name anew and fills its table again.
inline std::string fresh_driver_path() {
  static int opened = 0;
  std::string path = std::string(TILERT_BINARY_DIR) + "/lib";
  for (int i = 0; i <= opened; ++i) path += "/.";
  ++opened;
  return path + "/libtilert_fake_cuda.so";
}

class FakeCudaTest : public ::testing::Test {
 protected:
  void SetUp() override { FAKE(fake_reset)(); }
  void TearDown() override {
    char text[1024] = "";
    EXPECT_EQ(FAKE(fake_violations)(text, sizeof text), 0) << text;
  }

  static DeviceOptions options() {
    DeviceOptions options;
    options.kind = DeviceKind::cuda;
    options.driver_path = fake::driver_path();
    return options;
  }
  static std::shared_ptr<Device> open(DeviceOptions options = FakeCudaTest::options()) {
    auto device = Device::open(std::move(options));
    EXPECT_TRUE(device) << (device ? "" : device.error().message);
    return device ? *device : nullptr;
  }
  static LoadedPtr load(const std::shared_ptr<Device>& device, std::vector<ArtifactPtr> variants) {
    auto loaded = device->load(variants);
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    return loaded ? *loaded : nullptr;
  }
  static LoadedPtr load(const std::shared_ptr<Device>& device, const Artifact& artifact) {
    return load(device, std::vector<ArtifactPtr>{share(artifact)});
  }
  static void* stream_of(const std::shared_ptr<Device>& device) { return FAKE(fake_make_stream)(device->context()); }
  static FakeLaunch launched(int index = 0) {
    FakeLaunch launch{};
    EXPECT_EQ(FAKE(fake_launch)(index, &launch), 1) << "no launch " << index;
    return launch;
  }
};

inline void* address(uintptr_t value) { return reinterpret_cast<void*>(value); }

template <class T>
T parameter(const FakeLaunch& launch, uint32_t offset) {
  T value;
  std::memcpy(&value, launch.parameters + offset, sizeof value);
  return value;
}

// One launch, put together piece by piece.
struct Call {
  std::vector<std::shared_ptr<std::vector<int64_t>>> lists;  // copies of a call share them
  std::vector<tilert_argument> arguments;
  std::vector<int64_t> dims;
  std::vector<tilert_launch_attribute> attributes;
  tilert_launch_failure failure{};
  tilert_launch_info info{};

  const int64_t* keep(std::vector<int64_t> list) {
    return lists.emplace_back(std::make_shared<std::vector<int64_t>>(std::move(list)))->data();
  }
  Call& tensor(DType dtype, void* data, std::vector<int64_t> shape = {}, std::vector<int64_t> strides = {}) {
    tilert_argument argument{};
    argument.kind = TILERT_ARGUMENT_TENSOR;
    argument.dtype = static_cast<tilert_dtype>(dtype);
    argument.data = data;
    argument.ndim = static_cast<int32_t>(shape.size());
    if (!shape.empty()) argument.shape = keep(std::move(shape));
    if (!strides.empty()) argument.strides = keep(std::move(strides));
    arguments.push_back(argument);
    return *this;
  }
  template <class T>
  Call& scalar(DType dtype, T value) {
    tilert_argument argument{};
    argument.kind = TILERT_ARGUMENT_SCALAR;
    argument.dtype = static_cast<tilert_dtype>(dtype);
    std::memcpy(&argument.bits, &value, sizeof value);
    arguments.push_back(argument);
    return *this;
  }
  Call& attribute(uint32_t id, int64_t value) {
    attributes.push_back({id, 0, value});
    return *this;
  }
  Call& on(void* stream) {
    info.stream = stream;
    return *this;
  }
  const tilert_launch_info& finish() {
    info.struct_size = sizeof info;
    info.arguments = arguments.data();
    info.argument_count = static_cast<uint32_t>(arguments.size());
    info.dims = dims.empty() ? nullptr : dims.data();
    info.dim_count = static_cast<uint32_t>(dims.size());
    info.attributes = attributes.data();
    info.attribute_count = static_cast<uint32_t>(attributes.size());
    info.failure = &failure;
    std::strcpy(failure.message, "(nothing was refused)");
    return info;
  }
  Code launch(const Loaded& loaded) { return runtime::launch(loaded, finish()); }
  std::string message() const { return failure.message; }
};

inline Call saxpy_call(int64_t n, void* stream = nullptr) {
  Call call;
  call.tensor(DType::f32, address(0x10000)).tensor(DType::f32, address(0x20000)).scalar(DType::f32, 2.5f).on(stream);
  call.dims = {n};
  return call;
}

inline Call gemm_call(int64_t m, int64_t k, int64_t row_stride, void* stream = nullptr) {
  Call call;
  call.tensor(DType::bf16, address(0x10000), {m, k}, {row_stride, 1});
  call.tensor(DType::bf16, address(0x20000)).tensor(DType::bf16, address(0x30000)).on(stream);
  call.dims = {m, 256, k};
  return call;
}

}  // namespace tilert::runtime::testing
