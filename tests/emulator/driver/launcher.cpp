// Runs, compares the outcomes of schedules, keeps the last report.
#include "emulator/driver/launcher.h"

#include <chrono>
#include <cstring>
#include <mutex>

#include "emulator/cuda/gpu.h"
#include "emulator/cuda/primitives.h"
#include "emulator/driver/control.h"
#include "emulator/driver/kernels.h"
#include "emulator/driver/memory.h"

namespace tilert::emulator {
namespace {

std::mutex mutex;  // of what follows
std::vector<Schedule> schedules = usual_schedules();
bool races = false;
unsigned long long launches = 0, switches = 0;
double seconds = 0;

thread_local std::string last_report;

std::string run_once(const DriverLaunch& of, const LoadedKernel& kernel, const KernelText& text, const Schedule& schedule, bool with_races) {
  static thread_local const std::unique_ptr<Gpu> own(new Gpu);  // on the heap: thread-local memory is scarce
  Gpu& gpu = *own;
  alignas(64) uint8_t bytes[4096] = {};
  for (size_t i = 0; i < kernel.sizes.size(); ++i) std::memcpy(bytes + kernel.offsets[i], of.parameters[i], kernel.sizes[i]);
  Launch launch;
  launch.kernel = of.name;
  launch.entry = kernel.entry;
  launch.parameters = bytes;
  std::memcpy(launch.grid, of.grid, sizeof launch.grid);
  std::memcpy(launch.block, of.block, sizeof launch.block);
  std::memcpy(launch.cluster, of.cluster, sizeof launch.cluster);
  launch.shared_bytes = of.shared_bytes;
  launch.lanes = of.lanes;
  launch.together = of.together;
  launch.dependent = of.dependent;
  launch.races = with_races;
  launch.place = [&text](int line) { return place_in(text, line); };
  const auto start = std::chrono::steady_clock::now();
  const Report report = gpu.run(launch, schedule);
  {
    const std::lock_guard lock(mutex);
    ++launches;
    switches += report.switches;
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::string wrong = report.text;
  if (report.ok())
    if (const std::string canary = fallen_canary(); !canary.empty()) wrong = "out of bounds: kernel " + of.name + " " + canary;
  return wrong.empty() ? wrong : wrong + " [schedule " + schedule.text() + "]";
}

}  // namespace

std::string run_everywhere(const DriverLaunch& launch) {
  std::vector<Schedule> chosen;
  bool with_races = false;
  {
    const std::lock_guard lock(mutex);
    chosen = schedules;
    with_races = races;
  }
  std::string why;
  const size_t number = text_to_run(launch.text);
  const LoadedKernel kernel = registered_kernel(number, launch.name, with_races, why);
  if (!kernel.entry) return "unsupported: kernel " + launch.name + " does not compile on the host: " + why;
  if (kernel.bytes > 4096) return "unsupported: kernel " + launch.name + " takes more than 4096 bytes of parameters";
  const KernelText& text = registered_text(number);
  const Snapshot before = chosen.size() > 1 ? take_snapshot() : Snapshot();
  Snapshot first;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (i > 0) restore(before);
    const std::string wrong = run_once(launch, kernel, text, chosen[i], with_races);
    if (!wrong.empty()) return wrong;
    if (i == 0 && chosen.size() > 1) first = take_snapshot();
    if (i == 0) continue;
    if (const std::string where = difference(first); !where.empty())
      return "race: kernel " + launch.name + " leaves other bits under another schedule, the first at " + where + " [schedules " +
             chosen[0].text() + " and " + chosen[i].text() + "]";
  }
  return {};
}

void keep_report(const std::string& text) { last_report = text; }

namespace {

int set_schedules(const char* list) {
  std::vector<Schedule> out;
  std::string_view text = list;
  while (!text.empty()) {
    const size_t end = text.find(';');
    Schedule schedule;
    if (!parse_schedule(text.substr(0, end), schedule)) return 0;
    out.push_back(schedule);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  if (out.empty()) return 0;
  const std::lock_guard lock(mutex);
  schedules = std::move(out);
  return 1;
}
int set_races(int on) {
#if defined(__SANITIZE_THREAD__)
  return on != 0;
#else
  const std::lock_guard lock(mutex);
  races = on != 0;
  return 0;
#endif
}
const char* report() { return last_report.c_str(); }
int compile_all() {
  bool with_races = false;
  {
    const std::lock_guard lock(mutex);
    with_races = races;
  }
  return compile_pending(with_races);
}
int count_texts() { return static_cast<int>(text_count()); }
const char* text(int number) { return registered_text(static_cast<size_t>(number)).body.c_str(); }
int add_text(const char* body) { return static_cast<int>(register_text(kernel_text(body))); }
void replace(int number, int by) { replace_text(static_cast<size_t>(number), static_cast<size_t>(by < 0 ? number : by)); }
std::vector<char> asked_ids;
int mutant = -1;
void set_mutant(int id) {
  mutant = id;
  asked_ids.clear();
}
int asked(int id) { return id >= 0 && static_cast<size_t>(id) < asked_ids.size() && asked_ids[static_cast<size_t>(id)]; }
void counts(unsigned long long* l, unsigned long long* s, double* t) {
  const std::lock_guard lock(mutex);
  *l = launches;
  *s = switches;
  *t = seconds;
}
int run(const tilert_emulator_launch* of) {
  DriverLaunch launch{static_cast<size_t>(of->text), of->name, {of->grid[0], of->grid[1], of->grid[2]}, {of->threads, 1, 1}, {1, 1, 1}, of->shared_bytes};
  launch.lanes = of->lanes;
  launch.together = of->together != 0;
  launch.parameters = of->parameters;
  last_report = run_everywhere(launch);
  return !last_report.empty();
}

}  // namespace
}  // namespace tilert::emulator

int tlemu_mutant(int id) {
  using namespace tilert::emulator;
  if (static_cast<size_t>(id) >= asked_ids.size()) asked_ids.resize(static_cast<size_t>(id) + 64);
  asked_ids[static_cast<size_t>(id)] = 1;
  return id == mutant;
}

const tilert_emulator_table* tilert_emulator_control(void) {
  using namespace tilert::emulator;
  static const tilert_emulator_table table = {set_schedules, set_races, report, compile_all, count_texts, text, add_text, replace, set_mutant, asked, counts, run};
  return &table;
}
