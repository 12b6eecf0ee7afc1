// tilert_mutate: how much of what can go wrong in generated text the emulator sees. Each kernel of the conformance list (or
// of the cases that match) is changed in one place at a time; a mutant is caught when a case that has the text no longer
// passes, by its outcome under any schedule or by a race report. A barrier, wait or commit whose loss leaves every outcome
// and, with every access marked, no race is redundant there: no two accesses meet across it. Those are counted apart.
//   tilert_mutate [--target sm_80|sm_90a|both|amd|gfx...] [--filter TEXT[|TEXT]] [--every N] [--shard I/N] [--jobs N] [--minutes N]
//                 [--limit SECONDS] [--out FILE] [--reasons FILE] [--least PERCENT] [--json FILE]
//   tilert_mutate --texts FOLDER [--target ...] [--filter ...]   writes the texts, a file each, named by digest; runs nothing
//   tilert_mutate --merge FILE [--merge FILE]... [--reasons FILE] [--least PERCENT] [--json FILE]
// Verdicts go to --out, a line of JSON each; a mutant that is in it already is not run again, so that a run that was cut
// short by --minutes (status 3) is taken up by the same command; a run of the whole list drops those of texts that are no
// longer generated. --every N takes each N-th part of the list (a part: up to 48 mutants of one text), --shard I/N the I-th
// of N. A mutant that runs much longer than the case unchanged, or longer than --limit, hangs, and is caught. Status 1: a
// score below --least, or a survivor that the reasons do not name. --json gets the sums. Not here: what mutants there are
// (mutants.h), how they are judged (tearing.h), sums (results.h).
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <thread>

#include "emulator/tool/tearing.h"

namespace tilert::conformance {
namespace {

constexpr int kMostJobs = 256, kLongest = 8000;
constexpr double kPatience = 10;  // seconds: a machine may be busy
enum Status { kGood = 0, kBad = 1, kBroken = 2, kUnfinished = 3 };

struct MutateOptions {
  std::string filter, out, reasons, json, texts;
  std::vector<std::string> merge;
  std::vector<std::string> targets = {"sm_80", "sm_90a"};
  size_t every = 1, shard = 0, shards = 1;
  int jobs = 0, limit = 60;
  double least = 0, minutes = 1e6;
};

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// What parent and workers share.
struct Slot {
  std::atomic<double> since;  // when the run under way began; 0: none is
  std::atomic<double> most;   // seconds that it may take
  size_t part;                // the one that the worker has taken
  char line[kLongest];        // the verdict if it never ends
};
struct Shared {
  std::atomic<size_t> next;   // part to take
  std::atomic<bool> unfinished;
  Slot slots[kMostJobs];
};

class Pool {
 public:
  explicit Pool(const MutateOptions& options) : options_(options), end_(seconds_now() + 60 * options.minutes) {}

  int run() {
    void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return kBroken;
    shared_ = new (memory) Shared{};
    std::error_code ignored;
    std::string folder = (std::filesystem::temp_directory_path(ignored) / "tilert_mutate.XXXXXX").string();
    if (!mkdtemp(folder.data())) return kBroken;
    setenv("TMPDIR", folder.c_str(), 1);  // of workers, which may be killed
    const int jobs = std::min(kMostJobs, options_.jobs > 0 ? options_.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
    if (const pid_t child = fork(); child == 0) _exit(sweep());
    else waitpid(child, nullptr, 0);
    for (int i = 0; i < jobs; ++i) start(i, SIZE_MAX);
    int status = kGood;
    while (!workers_.empty()) {
      watch(status);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::filesystem::remove_all(folder, ignored);
    return status != kGood ? status : shared_->unfinished ? kUnfinished : kGood;
  }

 private:
  // Takes verdicts about texts that are no longer generated out of the file.
  int sweep() const {
    std::map<std::string, emulator::Verdict> before;
    std::string why, left;
    if (!options_.filter.empty() || options_.targets.size() < 2 || !emulator::read_verdicts(options_.out, before) || before.empty()) return kGood;
    const auto tearing = Tearing::open(options_.targets, options_.filter, why);
    if (!tearing) return kBroken;
    const std::set<std::string> digests = tearing->digests();
    for (const auto& [key, verdict] : before)
      if (digests.count(verdict.text)) left += emulator::verdict_line(verdict);
    std::ofstream(options_.out) << left;
    return kGood;
  }

  // `part`: one that a worker before left half done.
  void start(int slot, size_t part) {
    shared_->slots[slot].since = 0;
    shared_->slots[slot].line[0] = '\0';
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      _exit(work(slot, part));
    }
    workers_[child] = slot;
  }

  void watch(int& status) {
    for (const auto& [child, slot] : workers_) {
      const double since = shared_->slots[slot].since;
      if (since > 0 && seconds_now() - since > shared_->slots[slot].most) kill(child, SIGKILL);
    }
    int how = 0;
    const pid_t child = waitpid(-1, &how, WNOHANG);
    if (child <= 0) return;
    const int slot = workers_[child];
    workers_.erase(child);
    Slot& left = shared_->slots[slot];
    if (WIFEXITED(how)) {
      status = std::max(status, WEXITSTATUS(how));
    } else if (left.since > 0 && left.line[0]) {  // died of a mutant
      std::string line = left.line;
      if (WTERMSIG(how) != SIGKILL) line.replace(line.find("\"hang\""), 6, "\"crash\"");
      append(line);
      start(slot, left.part);
    } else {
      std::fprintf(stderr, "a worker died of signal %d\n", WTERMSIG(how));
      status = kBroken;
    }
  }

  int work(int number, size_t part) {
    Slot& slot = shared_->slots[number];
    std::string why;
    const auto tearing = Tearing::open(options_.targets, options_.filter, why);
    if (!tearing) return std::fprintf(stderr, "%s\n", why.c_str()), kBroken;
    std::map<std::string, emulator::Verdict> before;
    emulator::read_verdicts(options_.out, before);
    std::set<std::string> done;
    for (const auto& [key, verdict] : before) done.insert(key);
    Tearing::Ears ears;
    ears.begins = [&](const emulator::Verdict& verdict, double seconds) {
      slot.since = 0;
      if (verdict.text.empty()) return;
      std::snprintf(slot.line, sizeof slot.line, "%s", emulator::verdict_line(verdict).c_str());
      slot.most = std::min<double>(options_.limit, kPatience + 2 * seconds);
      slot.since = seconds_now();
    };
    ears.ends = [&](const emulator::Verdict& verdict) {
      slot.since = 0;
      append(emulator::verdict_line(verdict));
    };
    ears.stop = [&] { return seconds_now() > end_; };
    int status = kGood;
    for (; (part = part == SIZE_MAX ? take(tearing->parts().size()) : part) < tearing->parts().size(); part = SIZE_MAX) {
      slot.part = part;
      if (ears.stop()) break;
      if (tearing->tear(tearing->parts()[part], done, ears, why)) continue;
      std::fprintf(stderr, "WRONG as it stands: %s\n", why.c_str());
      status = kBroken;
    }
    if (ears.stop()) shared_->unfinished = true;
    return status;
  }

  // The next part that is this run's.
  size_t take(size_t parts) {
    for (size_t i = shared_->next++; i < parts; i = shared_->next++)
      if (i % options_.shards == options_.shard && i / options_.shards % options_.every == 0) return i;
    return parts;
  }

  void append(const std::string& line) const {
    const int file = open(options_.out.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0 || write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::fprintf(stderr, "cannot write %s\n", options_.out.c_str());
    if (file >= 0) close(file);
  }

  const MutateOptions& options_;
  const double end_;
  Shared* shared_ = nullptr;
  std::map<pid_t, int> workers_;
};

bool read_mutate_options(int argc, char** argv, MutateOptions& out) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    const double number = std::atof(value.c_str());
    if (name == "--filter") out.filter = value;
    else if (name == "--out") out.out = value;
    else if (name == "--merge") out.merge.push_back(value);
    else if (name == "--reasons") out.reasons = value;
    else if (name == "--json") out.json = value;
    else if (name == "--texts") out.texts = value;
    else if (name == "--every") out.every = static_cast<size_t>(std::max(1.0, number));
    else if (name == "--shard") {
      if (std::sscanf(value.c_str(), "%zu/%zu", &out.shard, &out.shards) != 2 || out.shard >= out.shards) return false;
    } else if (name == "--jobs") out.jobs = static_cast<int>(number);
    else if (name == "--limit") out.limit = static_cast<int>(number);
    else if (name == "--minutes") out.minutes = number;
    else if (name == "--least") out.least = number;
    else if (name == "--target" && value == "both") out.targets = {"sm_80", "sm_90a"};
    else if (name == "--target" && value == "amd") out.targets = {"gfx942", "gfx1100"};
    else if (name == "--target" && (value == "sm_90a" || value == "sm_80" || value.rfind("gfx", 0) == 0)) out.targets = {value};
    else return false;
  }
  return argc % 2 == 1;
}

int write_texts(const MutateOptions& options) {
  std::string why;
  const auto tearing = Tearing::open(options.targets, options.filter, why);
  if (!tearing) return std::fprintf(stderr, "%s\n", why.c_str()), kBroken;
  for (const TornText& text : tearing->texts()) std::ofstream(options.texts + "/" + text.digest + ".cu") << text.body;
  return kGood;
}

int run(MutateOptions options) {
  std::error_code ignored;
  const bool keeps = !options.out.empty();
  int status = kGood;
  if (options.merge.empty()) {
    if (!keeps) options.out = (std::filesystem::temp_directory_path(ignored) / ("tilert_mutate." + std::to_string(getpid()))).string();
    status = Pool(options).run();
    options.merge = {options.out};
  }
  std::map<std::string, emulator::Verdict> verdicts;
  for (const std::string& file : options.merge)
    if (!emulator::read_verdicts(file, verdicts)) std::fprintf(stderr, "there is no %s\n", file.c_str());
  if (!keeps && options.merge.front() == options.out) std::filesystem::remove(options.out, ignored);
  emulator::Reasons reasons;
  if (!options.reasons.empty() && !emulator::read_reasons(options.reasons, reasons)) return std::fprintf(stderr, "there is no %s\n", options.reasons.c_str()), kBroken;
  const emulator::Sum sum = emulator::print_sums(verdicts, reasons, options.json);
  if (status == kUnfinished) std::printf("unfinished: the same command goes on\n");
  if (status != kGood) return status;
  return verdicts.empty() || sum.percent() < options.least || (!options.reasons.empty() && sum.unexplained) ? kBad : kGood;
}

}  // namespace
}  // namespace tilert::conformance

int main(int argc, char** argv) {
  using namespace tilert::conformance;
  MutateOptions options;
  if (!read_mutate_options(argc, argv, options)) return std::fprintf(stderr, "options: see the head of tests/emulator/tool/mutate.cpp\n"), 2;
  return options.texts.empty() ? run(options) : write_texts(options);
}
