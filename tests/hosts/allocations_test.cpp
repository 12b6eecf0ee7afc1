// A host without memory: whichever allocation of a call fails, alone or with all that follow it, the call returns a
// status, the process lives, nothing is left behind, and the same call on the same handles is right once there is
// memory again.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <sstream>

#include "capi/programs.h"
#include "hosts/allocation_sweep.h"
#include "tilert.hpp"

namespace tilert::hosts {
namespace {

namespace fs = std::filesystem;

// A status, and the error object given back.
template <class F>
tilert_status status_of(F&& call) {
  tilert_error* error = nullptr;
  const tilert_status status = call(&error);
  if (status != TILERT_OK && std::getenv("TILERT_SHOW")) std::fprintf(stderr, "%s\n", tilert_error_message(error));
  tilert_error_release(error);
  return status;
}

std::string text_of(const std::string& name) {
  std::ifstream in(std::string(TILERT_SOURCE_DIR) + "/bindings/programs/" + name + ".tir");
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

tilert_status parse(const std::string& text, tilert_program** program) {
  return status_of(
      [&](tilert_error** e) { return tilert_program_parse(text.data(), text.size(), "p", 0, program, e); });
}
tilert_program* parsed(const std::string& text) {
  tilert_program* program = nullptr;
  if (parse(text, &program) != TILERT_OK) _exit(3);
  return program;
}

std::string text_of(tilert_program* program) {
  const char* text = nullptr;
  size_t size = 0;
  if (tilert_program_text(program, &text, &size, nullptr) != TILERT_OK) return "no text";
  return std::string(text, size);
}

// A directory of this process, empty.
std::string scratch() {
  const fs::path memory = "/dev/shm", path = (fs::exists(memory) ? memory : fs::temp_directory_path()) /
                                             ("tilert_hosts_" + std::to_string(getpid()));
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

tilert_context* context(tilert_cache_mode mode, const char* cache, tilert_isolate isolate = TILERT_ISOLATE_NEVER) {
  tilert_context_options options{};
  options.struct_size = sizeof options;
  options.cache_mode = mode;
  options.cache_path = cache;
  options.isolate = isolate;
  options.nvrtc_path = TILERT_FAKE_NVRTC_DIR "/nvrtc_13_0.so";
  options.plugin_path = TILERT_BINARY_DIR "/lib/libtilert_llvm.so";
  options.helper_path = TILERT_BINARY_DIR "/bin/tilert_compile";
  tilert_context* made = nullptr;
  status_of([&](tilert_error** e) { return tilert_context_create(&options, &made, e); });
  return made;
}

tilert_status create(tilert_context* c, tilert_program* p, const char* target, tilert_kernel** kernel) {
  tilert_kernel_options options{};
  options.struct_size = sizeof options;
  options.target = target;
  return status_of([&](tilert_error** e) { return tilert_kernel_create(c, p, &options, kernel, e); });
}

template <class T, class F>
void drop(T*& handle, F release) {
  release(handle);
  handle = nullptr;
}

TEST(Allocations, ReadingAProgramMayFail) {
  expect_statuses([] {
    const std::string text = text_of("gemm_bias_gelu");
    static tilert_program* program = nullptr;
    return Act{.act = [text] { return parse(text, &program); },
               .after = [] { drop(program, tilert_program_release); },
               .made = [] { return text_of(program); }};
  });
}

TEST(Allocations, TextAndHashOfAProgramMayFail) {
  expect_statuses([] {
    const std::string text = text_of("hand_gemm");
    static tilert_program* program = nullptr;
    return Act{.before = [text] { program = parsed(text); },
               .act =
                   [] {
                     const char *out = nullptr, *hash = nullptr;
                     size_t size = 0;
                     const tilert_status status =
                         status_of([&](tilert_error** e) { return tilert_program_text(program, &out, &size, e); });
                     return status != TILERT_OK
                                ? status
                                : status_of([&](tilert_error** e) { return tilert_program_hash(program, &hash, e); });
                   },
               .after = [] { drop(program, tilert_program_release); }};
  });
}

TEST(Allocations, BuildingAProgramMayFail) {
  expect_statuses([] {
    static tl::Program program;
    return Act{.act =
                   [] {
                     try {
                       program = test::matmul(tl::f16, 64, 64, 32);
                       return tilert_status{TILERT_OK};
                     } catch (const tl::Exception& e) {
                       return e.error.status();
                     } catch (const std::bad_alloc&) {
                       return tilert_status{TILERT_OUT_OF_MEMORY};
                     }
                   },
               .after = [] { program = {}; },
               .made = [] { return text_of(program.get()); }};
  });
}

TEST(Allocations, InterpretingMayFail) {
  expect_statuses([] {
    static tilert_program* program = parsed(text_of("softmax"));
    static std::vector<float> x(4 * 100), y(4 * 100);
    return Act{.act = [] {
      tilert_argument arguments[2]{};
      for (int i = 0; i < 2; ++i)
        arguments[i].kind = TILERT_ARGUMENT_TENSOR, arguments[i].dtype = TILERT_F32,
        arguments[i].data = i ? y.data() : x.data();
      const int64_t rows = 4;
      return status_of([&](tilert_error** e) { return tilert_program_interpret(program, arguments, 2, &rows, 1, e); });
    }};
  });
}

// The source text and the explanation of a kernel for a target.
void expect_text_statuses(const char* program_name, const char* target) {
  expect_statuses([=] {
    static tilert_context* c = context(TILERT_CACHE_OFF, nullptr);
    static tilert_program* program = parsed(text_of(program_name));
    static tilert_kernel* kernel = nullptr;
    static tilert_variant* variant = nullptr;
    return Act{.act =
                   [=] {
                     const char* out = nullptr;
                     size_t size = 0;
                     tilert_status status = kernel ? TILERT_OK : create(c, program, target, &kernel);
                     if (status == TILERT_OK && !variant) status = tilert_kernel_variant(kernel, 0, &variant);
                     if (status == TILERT_OK)
                       status = status_of(
                           [&](tilert_error** e) { return tilert_variant_text(variant, "source", &out, &size, e); });
                     if (status == TILERT_OK)
                       status = status_of([&](tilert_error** e) {
                         return tilert_variant_explain(variant, TILERT_EXPLAIN_JSON, &out, &size, e);
                       });
                     return status;
                   },
               .after =
                   [] {
                     drop(variant, tilert_variant_release);
                     drop(kernel, tilert_kernel_release);
                   },
               .made =
                   [] {
                     const char* out = nullptr;
                     size_t size = 0;
                     if (tilert_variant_text(variant, "source", &out, &size, nullptr) != TILERT_OK)
                       return std::string("no text");
                     return std::string(out, size);
                   }};
  });
}
TEST(Allocations, GeneratingHopperSourceMayFail) { expect_text_statuses("gemm_bias_gelu", "sm_90a"); }
TEST(Allocations, GeneratingHipSourceMayFail) { expect_text_statuses("gemm_int8", "gfx942"); }
TEST(Allocations, GeneratingRowSourceMayFail) { expect_text_statuses("rmsnorm", "sm_80"); }

TEST(Allocations, RecommendingMayFail) {
  expect_statuses([] {
    static tilert_product product{};
    product.struct_size = sizeof product;
    product.m = 64, product.n = product.k = 512;
    product.a = product.b = product.c = TILERT_BF16;
    return Act{.act = [] {
      uint32_t count = 1;
      tilert_product_choice choice{};
      choice.struct_size = sizeof choice;
      return status_of([&](tilert_error** e) { return tilert_recommend_product(&product, &choice, &count, e); });
    }};
  });
}

TEST(Allocations, MakingAContextMayFail) {
  expect_statuses([] {
    static const std::string folder = scratch();
    static tilert_context* c = nullptr;
    return Act{.act =
                   [] {
                     c = context(TILERT_CACHE_DEFAULT, folder.c_str());
                     return tilert_status{c ? TILERT_OK : TILERT_OUT_OF_MEMORY};
                   },
               .after = [] { drop(c, tilert_context_release); }};
  });
}

// Compiles by a compiler that does nothing, into a cache on disk that is empty or has it.
void expect_compile_statuses(bool cached) {
  expect_statuses([=] {
    static const std::string folder = scratch();
    static tilert_program* program = parsed(text_of("scale"));
    static tilert_context* c = nullptr;
    static tilert_kernel* kernel = nullptr;
    if (cached) {
      c = context(TILERT_CACHE_DEFAULT, folder.c_str());
      if (create(c, program, "sm_90a", &kernel) != TILERT_OK || tilert_kernel_compile(kernel, nullptr) != TILERT_OK)
        _exit(3);
      drop(kernel, tilert_kernel_release);
      drop(c, tilert_context_release);
    }
    return Act{.before =
                   [=] {
                     if (!cached)
                       for (const auto& entry : fs::directory_iterator(folder)) fs::remove_all(entry);
                     c = context(TILERT_CACHE_DEFAULT, folder.c_str());
                     if (create(c, program, "sm_90a", &kernel) != TILERT_OK) _exit(3);
                   },
               .act = [] { return status_of([](tilert_error** e) { return tilert_kernel_compile(kernel, e); }); },
               .after =
                   [] {
                     drop(kernel, tilert_kernel_release);
                     drop(c, tilert_context_release);
                   }};
  });
}
TEST(Allocations, CompilingMayFail) { expect_compile_statuses(false); }
TEST(Allocations, FetchingFromTheDiskMayFail) { expect_compile_statuses(true); }

TEST(Allocations, OpeningADeviceMayFail) {
  expect_statuses([] {
    static constexpr const char* kDriver = TILERT_BINARY_DIR "/lib/libtilert_fake_cuda.so";
    void* const driver = dlopen(kDriver, RTLD_NOW);
    if (!driver) _exit(4);
    reinterpret_cast<void (*)()>(dlsym(driver, "fake_reset"))();  // a driver with devices
    static tilert_context* c = context(TILERT_CACHE_MEMORY, nullptr);
    static tilert_device* device = nullptr;
    return Act{
        .act =
            [] {
              tilert_device_options options{};
              options.struct_size = sizeof options;
              options.kind = TILERT_DEVICE_CUDA;
              options.binding = TILERT_BIND_PRIMARY;
              options.driver_path = kDriver;
              tilert_status status = TILERT_OK;
              if (!device)
                status = status_of([&](tilert_error** e) { return tilert_device_open(c, &options, &device, e); });
              tilert_device_info info{};
              info.struct_size = sizeof info;
              if (status == TILERT_OK) status = tilert_device_get_info(device, &info);
              return status == TILERT_OK ? status_of([](tilert_error** e) { return tilert_trim(device, nullptr, e); })
                                         : status;
            },
        .after = [] { drop(device, tilert_device_release); }};
  });
}

#ifdef TILERT_HAVE_LLVM
// Loading is LLVM's, in this process; LLVM does not return from a failed allocation of its own.
TEST(Allocations, CompilingForTheCpuInTheHelperMayFail) {
  expect_statuses([] {
    static tilert_program* program = parsed(text_of("scale"));
    static tilert_context* c = nullptr;
    static tilert_kernel* kernel = nullptr;
    return Act{.before =
                   [] {
                     c = context(TILERT_CACHE_OFF, nullptr, TILERT_ISOLATE_ALWAYS);
                     if (create(c, program, "cpu", &kernel) != TILERT_OK) _exit(3);
                   },
               .act = [] { return status_of([](tilert_error** e) { return tilert_kernel_compile(kernel, e); }); },
               .after =
                   [] {
                     drop(kernel, tilert_kernel_release);
                     drop(c, tilert_context_release);
                   }};
  });
}
#endif

}  // namespace
}  // namespace tilert::hosts
