// The CUDA driver's types as its binary interface has them, under our own names: no CUDA header is needed to build.
// Sizes and values are checked against cuda.h in a test, where that header is present.
// Not here: entry points (cuda_driver.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilert::runtime {

struct CuContextObject;
struct CuModuleObject;
struct CuFunctionObject;
struct CuStreamObject;

using CuResult = int32_t;
using CuDevice = int32_t;
using CuContext = CuContextObject*;
using CuModule = CuModuleObject*;
using CuFunction = CuFunctionObject*;
using CuStream = CuStreamObject*;
using CuDevicePtr = uint64_t;

inline constexpr CuResult kCuSuccess = 0;
inline constexpr CuResult kCuInvalidValue = 1;
inline constexpr CuResult kCuOutOfMemory = 2;
inline constexpr CuResult kCuNotInitialized = 3;
inline constexpr CuResult kCuDeinitialized = 4;
inline constexpr CuResult kCuInvalidImage = 200;
inline constexpr CuResult kCuInvalidContext = 201;
inline constexpr CuResult kCuNoBinaryForGpu = 209;
inline constexpr CuResult kCuInvalidHandle = 400;
inline constexpr CuResult kCuNotFound = 500;
inline constexpr CuResult kCuContextIsDestroyed = 709;

struct CuUuid {
  uint8_t bytes[16];
};

// Encoded at addresses that are multiples of 64; later headers declare 128, which nothing needs.
struct alignas(64) CuTensorMap {
  uint64_t opaque[16];
};

inline constexpr int32_t kCuAttributeCluster = 4;
inline constexpr int32_t kCuAttributeCooperative = 2;
inline constexpr int32_t kCuAttributePdl = 6;
inline constexpr int32_t kCuAttributePriority = 8;

union alignas(8) CuLaunchAttributeValue {
  char pad[64];
  int32_t flag;  // cooperative, PDL, priority
  uint32_t cluster[3];
};

struct CuLaunchAttribute {
  int32_t id;
  char pad[4];
  CuLaunchAttributeValue value;
};

struct CuLaunchConfig {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  CuStream stream;
  CuLaunchAttribute* attributes;
  uint32_t attribute_count;
};

inline constexpr int32_t kCuDeviceMultiprocessors = 16;
inline constexpr int32_t kCuDeviceL2Bytes = 38;
inline constexpr int32_t kCuDeviceMajor = 75;
inline constexpr int32_t kCuDeviceMinor = 76;
inline constexpr int32_t kCuDeviceSharedPerBlockOptin = 97;

inline constexpr int32_t kCuFunctionMaxThreads = 0;
inline constexpr int32_t kCuFunctionStaticSharedBytes = 1;
inline constexpr int32_t kCuFunctionLocalBytes = 3;
inline constexpr int32_t kCuFunctionRegisters = 4;
inline constexpr int32_t kCuFunctionMaxDynamicSharedBytes = 8;
inline constexpr int32_t kCuFunctionNonPortableCluster = 14;

inline constexpr int32_t kCuCaptureNone = 0;
inline constexpr int32_t kCuCaptureModeRelaxed = 2;

inline constexpr int32_t kCuPointerContext = 1;
inline constexpr int32_t kCuPointerDeviceOrdinal = 9;

inline constexpr int32_t kCuJitErrorLogBuffer = 5;
inline constexpr int32_t kCuJitErrorLogBytes = 6;

// What cuCtxGetDevResource fills; the tail leaves room for what later drivers write.
inline constexpr int32_t kCuResourceSm = 1;
struct CuDevResource {
  int32_t type;
  uint8_t padding[92];
  uint32_t sm_count;
  uint8_t tail[412];
};

}  // namespace tilert::runtime
