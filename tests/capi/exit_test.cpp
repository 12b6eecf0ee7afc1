// A process that ends while its threads are inside the library ends well.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "programs.h"

#ifdef TILERT_HAVE_LLVM

namespace {

[[noreturn]] void end_amid_compiles() {
  tilert_context_options options{};
  options.cache_mode = TILERT_CACHE_OFF;
  options.plugin_path = TILERT_BINARY_DIR "/lib/libtilert_llvm.so";
  static const auto& context = *new tl::Context(*tl::Context::create(options));
  for (int t = 0; t < 4; ++t)
    std::thread([t] {
      for (int i = 0;; ++i)
        if (auto kernel = context.try_kernel(tilert::test::scale(tl::f32, 16 * (1 + (t * 50 + i) % 200)), "cpu"))
          (void)kernel->try_compile();
    }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  std::exit(0);
}

TEST(Exit, AmidCompilesOfOtherThreadsIsAnOrdinaryExit) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizers' own end does not stand running threads";
#endif
  for (int round = 0; round < 8; ++round) {
    const pid_t child = fork();
    if (child == 0) end_amid_compiles();
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "round " << round << " ends with " << status;
  }
}

}  // namespace

#endif
