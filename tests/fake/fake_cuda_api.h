// Opens the fake driver as the library will, and resolves its control functions. A test program includes this.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "fake/fake_cuda.h"

namespace fake {

inline std::string driver_path() { return std::string(TILERT_BINARY_DIR) + "/lib/libtilert_fake_cuda.so"; }

inline void* driver_symbol(const char* name) {
  static void* const library = dlopen(driver_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const address = library != nullptr ? dlsym(library, name) : nullptr;
  if (address == nullptr) {
    std::fprintf(stderr, "the fake driver %s has no %s\n", driver_path().c_str(), name);
    std::abort();
  }
  return address;
}

// FAKE(fake_reset)() calls fake_reset of the library.
template <class F>
F* resolve(const char* name) {
  return reinterpret_cast<F*>(driver_symbol(name));
}
#define FAKE(name) (::fake::resolve<decltype(name)>(#name))

}  // namespace fake
