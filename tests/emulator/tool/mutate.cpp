// tilert_mutate: how much of what can go wrong in generated text the emulator sees. Each kernel of the conformance list (or
// of the cases that match) is changed in one place at a time; a mutant is caught when the case no longer passes, by its
// outcome under any schedule or by a race report. Prints the survivors and the score. A barrier, wait or commit whose loss
// leaves every outcome and, with every access marked, no race is redundant there: no two threads' accesses, and no copy
// under way, meet across it. Those are counted apart.
//   tilert_mutate [--filter TEXT] [--target sm_80|sm_90a] [--every N] [--least PERCENT] [--json FILE]
// --every N takes each N-th mutant; a score below --least is a failure. Not here: what mutants there are (mutants.h).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "conformance/runner.h"
#include "emulator/tool/mutants.h"

namespace tilert::conformance {
namespace {

constexpr const char* kOutcomes =
    "greedy,forward;greedy,backward,copies=early,products=early;greedy,forward,copies=early,tensor_copies=early;"
    "random,seed=7,tensor_copies=early;round_robin,backward,products=early";

struct Options {
  std::string filter, json;
  int ordinal = 1, every = 1;
  double least = 0;
};

struct Score {
  size_t mutants = 0, by_outcome = 0, by_race = 0, not_compiled = 0, unreached = 0, redundant = 0;
  nlohmann::ordered_json survivors = nlohmann::ordered_json::array();
};

class Tearing {
 public:
  Tearing(Machine& machine, const Options& options) : machine_(machine), emulator_(*machine.emulator()), options_(options) {}

  void tear(const Trial& trial) {
    const Scenario scenario = trial.row->make(trial.values);
    if (!scenario.refused.empty() || scenario.fails != TILERT_OK) return;
    use(false);
    const int before = emulator_.text_count();
    if (!machine_.run(scenario).ok) return static_cast<void>(std::printf("WRONG as it stands: %s\n", trial.text().c_str()));
    const int after = emulator_.text_count();
    for (int number = before; number < after; ++number)  // texts that no case before had
      if (done_.insert(emulator_.text(number)).second) tear_text(trial, scenario, number);
  }

  Score score;

 private:
  void use(bool races) {
    emulator_.set_schedules(races ? "greedy,backward" : kOutcomes);
    emulator_.set_races(races);
  }

  void tear_text(const Trial& trial, const Scenario& scenario, int number) {
    const std::string body = emulator_.text(number);
    // What no thread comes to cannot be seen: which statements does this case run?
    const std::string noted = emulator::with_notes(body);
    done_.insert(noted);
    const int notes = emulator_.add_text(noted.c_str());
    emulator_.replace(number, notes);
    if (const Outcome outcome = machine_.run(scenario); !outcome.ok)
      return static_cast<void>(std::printf("WRONG with notes: %s: %s\n", trial.text().c_str(), outcome.message.c_str()));
    std::vector<emulator::Mutant> mutants;
    for (emulator::Mutant& mutant : emulator::mutants_of(body)) {
      const bool runs = emulator_.reached(notes, mutant.line);
      if (!runs) ++score.unreached;
      else if (taken_++ % static_cast<size_t>(options_.every) == 0) mutants.push_back(std::move(mutant));
    }
    emulator_.replace(number, -1);
    std::vector<int> numbers;
    for (const emulator::Mutant& mutant : mutants) {
      done_.insert(mutant.body);
      numbers.push_back(emulator_.add_text(mutant.body.c_str()));
    }
    std::vector<bool> caught(mutants.size());
    for (bool races : {false, true}) {
      use(races);
      if (!races) emulator_.compile_pending();
      for (size_t i = 0; i < mutants.size(); ++i) {
        if (caught[i]) continue;
        emulator_.replace(number, numbers[i]);
        const Outcome outcome = machine_.run(scenario);
        if (outcome.ok) continue;
        caught[i] = true;
        if (outcome.message.find("does not compile") != std::string::npos) ++score.not_compiled;
        else ++(races ? score.by_race : score.by_outcome);
      }
    }
    emulator_.replace(number, -1);
    score.mutants += mutants.size();
    for (size_t i = 0; i < mutants.size(); ++i) {
      if (caught[i]) continue;
      const emulator::Mutant& m = mutants[i];
      if (is_redundant(m)) {
        ++score.redundant;
        continue;
      }
      std::printf("SURVIVES %s: %s line %d: %.160s -> %.160s\n", trial.text().c_str(), m.kind.c_str(), m.line, m.from.c_str(), m.to.c_str());
      score.survivors.push_back({{"case", trial.text()}, {"kind", m.kind}, {"line", m.line}, {"from", m.from}, {"to", m.to}});
    }
    std::fflush(stdout);
  }

  static bool is_redundant(const emulator::Mutant& m) {
    if (m.kind != "delete" && m.kind != "weaken") return false;
    for (const char* order : {"tl_barrier(", "tl_warp_sync(", "tl_named_barrier(", "tl_cp_async_wait<", "tl_cp_async_commit("})
      if (m.from.rfind(order, 0) == 0) return true;
    return false;
  }

  Machine& machine_;
  const tilert_emulator_table& emulator_;
  const Options& options_;
  std::set<std::string> done_;
  size_t taken_ = 0;
};

bool read_options(int argc, char** argv, Options& out) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--filter") out.filter = value;
    else if (name == "--json") out.json = value;
    else if (name == "--every") out.every = std::max(1, std::atoi(value.c_str()));
    else if (name == "--least") out.least = std::atof(value.c_str());
    else if (name == "--target") out.ordinal = value == "sm_90a" ? 0 : 1;
    else return false;
  }
  return argc % 2 == 1;
}

int run(const Options& options) {
  std::string why_not;
  const auto machine = Machine::open(Backend::emulated, why_not, options.ordinal);
  if (!machine) return std::fprintf(stderr, "%s\n", why_not.c_str()), 2;
  Tearing tearing(*machine, options);
  // A text is torn in the first case that has it: the last choices of a case, which run more of it, come first.
  std::vector<Trial> trials = all_trials();
  std::reverse(trials.begin(), trials.end());
  for (const Trial& trial : trials)
    if (!trial.row->heavy && trial.text().find(options.filter) != std::string::npos) tearing.tear(trial);
  const Score& s = tearing.score;
  const size_t counted = s.mutants - s.not_compiled - s.redundant, caught = s.by_outcome + s.by_race;
  const double percent = counted ? 100.0 * static_cast<double>(caught) / static_cast<double>(counted) : 100.0;
  std::printf("%zu mutants on %s: %zu caught by their outcome, %zu by a race report alone, %zu survive; score %.1f %% "
              "(besides: %zu redundant, %zu on lines that their case does not run)\n",
              counted, machine->target().c_str(), s.by_outcome, s.by_race, s.survivors.size(),
              percent, s.redundant, s.unreached);
  if (!options.json.empty())
    std::ofstream(options.json) << nlohmann::ordered_json({{"target", machine->target()}, {"mutants", counted}, {"by_outcome", s.by_outcome},
                                                           {"by_race", s.by_race}, {"redundant", s.redundant}, {"unreached", s.unreached}, {"survivors", s.survivors}}).dump(1) << "\n";
  return percent < options.least ? 1 : 0;
}

}  // namespace
}  // namespace tilert::conformance

int main(int argc, char** argv) {
  using namespace tilert::conformance;
  Options options;
  if (!read_options(argc, argv, options)) return std::fprintf(stderr, "options: see the head of tests/emulator/tool/mutate.cpp\n"), 2;
  return run(options);
}
