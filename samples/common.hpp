// What the samples share: a machine to run on (the CPU, or a GPU with `cuda` as argument), memory there, random
// numbers, bf16, and the check against float64. Not part of the library.
#pragma once

#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tilert.hpp"

namespace sample {

inline uint16_t to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline float from_bf16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}
inline double value_of(float x) { return x; }
inline double value_of(uint16_t x) { return from_bf16(x); }
inline double value_of(int8_t x) { return x; }
inline double value_of(int32_t x) { return x; }

// Memory operations of the CUDA driver, found at run time as the library finds it.
struct Driver {
  int (*alloc)(uint64_t*, size_t) = nullptr;
  int (*upload)(uint64_t, const void*, size_t) = nullptr;
  int (*download)(void*, uint64_t, size_t) = nullptr;
  int (*set_current)(void*) = nullptr;
  int (*retain_primary)(void**, int) = nullptr;
  bool open() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return false;
    const auto find = [&](auto& function, const char* name) {
      void* found = dlsym(library, name);
      std::memcpy(&function, &found, sizeof found);
    };
    find(alloc, "cuMemAlloc_v2");
    find(upload, "cuMemcpyHtoD_v2");
    find(download, "cuMemcpyDtoH_v2");
    find(set_current, "cuCtxSetCurrent");
    find(retain_primary, "cuDevicePrimaryCtxRetain");
    return alloc && upload && download && set_current && retain_primary;
  }
};

class Machine {
 public:
  Machine(int argc, char** argv) {
    const std::string where = argc > 1 ? argv[1] : "cpu";
    cuda_ = where == "cuda";
    interpret_ = where == "interpret";
    if (interpret_) return;
    device = cuda_ ? context.cuda() : context.cpu();
    void* primary = nullptr;
    if (cuda_ && (!driver_.open() || driver_.retain_primary(&primary, 0) || driver_.set_current(primary)))
      throw std::runtime_error("the CUDA driver cannot be used");
    std::printf("on %s (%s)\n", device.info().name, device.info().target);
  }
  // Compiles or fetches, loads, launches. A host that launches more than once keeps the Loaded.
  void launch(const tl::Program& program, std::initializer_list<tl::Argument> arguments,
              std::initializer_list<tl::DimValue> dims) const {
    if (interpret_) return tl::interpret(program, arguments, dims);
    const tl::Kernel kernel = context.kernel(program);
    const tl::Loaded loaded = kernel.prepare(device);
    loaded.launch(nullptr, arguments, dims);
  }
  // Where a launch finds this data: the vector itself on the CPU.
  template <class T>
  T* put(std::vector<T>& data) {
    if (!cuda_) return data.data();
    uint64_t address = 0;
    if (driver_.alloc(&address, data.size() * sizeof(T)) ||
        driver_.upload(address, data.data(), data.size() * sizeof(T)))
      throw std::runtime_error("no device memory");
    return reinterpret_cast<T*>(address);
  }
  template <class T>
  void get(std::vector<T>& data, T* from) {
    if (cuda_ && driver_.download(data.data(), reinterpret_cast<uint64_t>(from), data.size() * sizeof(T)))
      throw std::runtime_error("the kernel failed");
  }
  tl::Context context;
  tl::Device device;

 private:
  bool cuda_ = false, interpret_ = false;
  Driver driver_;
};

// Uniform in [-1, 1), the same on every machine.
class Random {
 public:
  double operator()() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(static_cast<int64_t>(state_) >> 11) / 4503599627370496.0;
  }
  std::vector<float> floats(size_t n) {
    return make<float>(n, [&] { return static_cast<float>((*this)()); });
  }
  std::vector<uint16_t> bf16s(size_t n) {
    return make<uint16_t>(n, [&] { return to_bf16(static_cast<float>((*this)())); });
  }
  std::vector<int8_t> int8s(size_t n) {
    return make<int8_t>(n, [&] { return static_cast<int8_t>((*this)() * 127); });
  }

 private:
  template <class T, class F>
  static std::vector<T> make(size_t n, F f) {
    std::vector<T> out(n);
    for (T& x : out) x = f();
    return out;
  }
  uint64_t state_ = 1;
};

// Collects |got - wanted| against its tolerance; prints the verdict.
class Check {
 public:
  void add(double got, double wanted, double tolerance) {
    ++count_;
    const double error = std::fabs(got - wanted);
    if (error > worst_) worst_ = error;
    if (!(error <= tolerance)) ++wrong_;
  }
  int report(const char* name) const {
    std::printf("%s: %zu values against float64, worst error %.3g, %zu beyond tolerance: %s\n", name, count_, worst_,
                wrong_, wrong_ == 0 && count_ != 0 ? "right" : "WRONG");
    return wrong_ == 0 && count_ != 0 ? 0 : 1;
  }

 private:
  size_t count_ = 0, wrong_ = 0;
  double worst_ = 0;
};
inline constexpr double kBf16 = 1.0 / 128, kF32 = 1.0 / 8388608;  // eps

// Runs a sample's body; 2, and why, where it could not run.
template <class F>
int run(F body) {
  try {
    return body();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}

}  // namespace sample
