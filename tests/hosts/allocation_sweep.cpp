// The sweep: children of the test that fail one allocation after the other, and what they tell.
#include "hosts/allocation_sweep.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "hosts/failing_malloc.h"

namespace tilert::hosts {
namespace {

constexpr int64_t kEach = 100, kSampled = 25;  // the first so many allocations, and how many of all later ones
constexpr int kMostFaults = 8;
constexpr unsigned kSeconds = 120;

// What a child tells while it runs.
struct Told {
  int64_t number, calls;
  Failing mode;
  int faults, failures;
  bool done;
  char text[kMostFaults][200];
};

const char* name_of(Failing mode) {
  return mode == Failing::one ? "alone" : mode == Failing::two ? "and the next" : "and all after it";
}

void fault(Told& told, const std::string& what) {
  const std::string text = "allocation " + std::to_string(told.number) + " of " + std::to_string(told.calls) + ", " +
                           name_of(told.mode) + ": " + what;
  if (told.faults < kMostFaults) text.copy(told.text[told.faults], sizeof told.text[0] - 1);
  ++told.faults;
}

int64_t step_from(int64_t number, int64_t calls) {
  if (number < kEach || std::getenv("TILERT_EVERY_ALLOCATION")) return 1;
  return std::max<int64_t>(1, (calls - kEach) / kSampled);
}

int64_t left_behind(const Act& act, Told& told, bool judge) {
  act.before();
  const int64_t held = bytes_in_use();
  arm(told.number, told.mode);
  const tilert_status status = act.act();
  told.calls = disarm();
  if (judge && status != TILERT_OK && status != TILERT_OUT_OF_MEMORY)
    fault(told, std::string("status ") + tilert_status_name(status));
  static std::string right;
  if (status != TILERT_OK && judge) ++told.failures;
  if (const tilert_status again = status == TILERT_OK ? status : act.act(); again != TILERT_OK)
    fault(told, std::string("with memory again ") + tilert_status_name(again));
  else if (std::string made = act.made(); right.empty())
    right = std::move(made);
  else if (made != right)
    fault(told, status == TILERT_OK ? "OK, and made something else" : "with memory again something else is made");
  act.after();
  return bytes_in_use() - held;
}

// From told.number and told.mode on.
void run(const Act& act, Told& told) {
  const int64_t first = told.number;
  const Failing mode = told.mode;
  told.number = -1;
  for (int i = 0; i < 3; ++i) left_behind(act, told, false);  // what the process keeps for good
  told.number = first, told.mode = mode;
  for (;;) {
    // What stays once may be kept for good; what stays each time is lost.
    if (left_behind(act, told, true) > 0 && left_behind(act, told, false) > 0)
      if (const int64_t bytes = left_behind(act, told, false); bytes > 0)
        fault(told, std::to_string(bytes) + " bytes are lost");
    if (told.number < told.calls) {
      told.number += step_from(told.number, told.calls);
    } else if (told.mode != Failing::from) {
      told.number = 0, told.mode = told.mode == Failing::one ? Failing::two : Failing::from;
    } else {
      break;
    }
  }
  told.done = true;
}

}  // namespace

void expect_statuses(const std::function<Act()>& make) {
  auto* told =
      static_cast<Told*>(mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(told, MAP_FAILED);
  *told = Told{};
  while (!told->done && told->faults < kMostFaults) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kSeconds);
      run(make(), *told);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (told->done) break;
    fault(*told,
          WIFSIGNALED(status) ? std::string("ends the process: ") + strsignal(WTERMSIG(status)) : "ends the process");
    if (told->number < 0) break;
    ++told->number;
  }
  for (int i = 0; i < std::min(told->faults, kMostFaults); ++i) ADD_FAILURE() << told->text[i];
  EXPECT_GT(told->failures, 0) << "no allocation failed: this test sees nothing";
  munmap(told, sizeof(Told));
}

}  // namespace tilert::hosts
