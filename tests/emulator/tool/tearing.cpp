// Every mutant runs first for its outcome under five schedules, in each case that has the text, then, if nothing was wrong,
// with all accesses marked.
#include "emulator/tool/tearing.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "conformance/hip_machine.h"
#include "support/sha256.h"

namespace tilert::conformance {
namespace {

constexpr const char* kOutcomes =
    "greedy,forward;greedy,backward,copies=early,products=early;greedy,forward,copies=early,tensor_copies=early;"
    "random,seed=7,tensor_copies=early;round_robin,backward,products=early";
constexpr const char* kMarked = "greedy,backward";
constexpr size_t kPart = 48;  // mutants

// An order between accesses: without it they race, or it orders nothing.
bool is_order(const emulator::Verdict& v) {
  if (v.kind == "shift") return false;
  for (const char* order : {"tl_barrier(", "tl_warp_sync(", "tl_named_barrier(", "tl_cp_async_wait<", "tl_cp_async_commit("})
    if (v.from.rfind(order, 0) == 0) return true;
  return false;
}

// As the emulator cuts a source: from the program's device functions or the first kernel on.
std::string kernels_of(const std::string& source) {
  const size_t kernel = source.find("\nTL_KERNEL(");
  return kernel == source.npos ? std::string() : source.substr(std::min(kernel, source.find("\nnamespace tl_user_")) + 1);
}

}  // namespace

struct Tearing::Open {
  emulator::Verdict verdict;
  bool caught = false;
  std::set<size_t> users;  // that come to its line
};

// Whether the text holds one of the filter's parts, which '|' sets apart; nothing is in every text.
static bool holds_any(const std::string& text, const std::string& filter) {
  for (size_t at = 0; at <= filter.size();) {
    const size_t end = std::min(filter.find('|', at), filter.size());
    if (text.find(filter.substr(at, end - at)) != std::string::npos) return true;
    at = end + 1;
  }
  return false;
}

std::unique_ptr<Tearing> Tearing::open(const std::vector<std::string>& targets, const std::string& filter, std::string& why_not) {
  std::unique_ptr<Tearing> out(new Tearing);
  for (const std::string& target : targets) {
    if (target.rfind("gfx", 0) == 0) out->machines_.push_back(HipMachine::open(target, why_not));
    else out->machines_.push_back(Machine::open(Backend::emulated, why_not, target == "sm_80"));
    if (!out->machines_.back()) return nullptr;
  }
  for (Trial& trial : all_trials())
    if (!trial.row->heavy && holds_any(trial.text(), filter)) out->trials_.push_back(std::move(trial));
  // The last choices of a case, which run more of its text, come first.
  std::reverse(out->trials_.begin(), out->trials_.end());
  out->read_texts();
  return out;
}

void Tearing::read_texts() {
  std::unordered_map<std::string, size_t> by_body;
  for (size_t m = 0; m < machines_.size(); ++m)
    for (size_t t = 0; t < trials_.size(); ++t) {
      const Scenario scenario = trials_[t].row->make(trials_[t].values);
      if (!scenario.refused.empty() || scenario.fails != TILERT_OK) continue;
      for (const std::string& source : machines_[m]->prepare_ahead(scenario)) {
        const std::string body = kernels_of(source);
        if (body.empty()) continue;
        const auto [at, fresh] = by_body.try_emplace(body, texts_.size());
        if (fresh) texts_.push_back({body, sha256_hex(body).substr(0, 12), {}, emulator::tear_text(body)});
        auto& users = texts_[at->second].users;
        if (users.empty() || users.back() != std::pair(m, t)) users.emplace_back(m, t);
      }
    }
  std::vector<size_t> order(texts_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return texts_[a].digest < texts_[b].digest; });
  for (size_t i : order)
    for (size_t begin = 0; begin < texts_[i].torn.mutants.size(); begin += kPart)
      parts_.push_back({i, begin, std::min(begin + kPart, texts_[i].torn.mutants.size())});
}

std::set<std::string> Tearing::digests() const {
  std::set<std::string> out;
  for (const TornText& text : texts_) out.insert(text.digest);
  return out;
}

std::string Tearing::arch(const TornText& text) const {
  const size_t first = text.users.front().first, last = text.users.back().first;
  return first == last ? machines_[first]->target() : "both";
}

bool Tearing::tear(const TornPart& part, const std::set<std::string>& done, const Ears& ears, std::string& why) {
  const TornText& text = texts_[part.text];
  const tilert_emulator_table& emulator = *machines_[0]->emulator();
  std::vector<Open> open;
  for (size_t i = part.begin; i < part.end; ++i) {
    const emulator::Mutant& m = text.torn.mutants[i];
    Open one;
    one.verdict = {trials_[text.users[0].second].text(), arch(text), text.digest, static_cast<int>(i), m.line, m.kind, m.from, m.to, "unreached", "", 0};
    if (!done.count(one.verdict.key())) open.push_back(std::move(one));
  }
  if (open.empty()) return true;
  // A body of HIP is known by what stands before it.
  const std::string head = machines_[text.users[0].first]->target().rfind("gfx", 0) == 0 ? "// amdgpu_flat_work_group_size\n" : "";
  const int number = emulator.add_text((head + text.body).c_str());
  emulator.replace(number, emulator.add_text((head + text.torn.body).c_str()));
  bool right = true;
  // A text that is the same for both devices runs the same: the first one's cases are enough.
  const size_t device = text.users.front().first;
  for (bool races : {false, true})
    for (size_t user = 0; right && user < text.users.size() && text.users[user].first == device; ++user)
      if (std::any_of(open.begin(), open.end(), [](const Open& one) { return !one.caught; }) && !ears.stop())
        right = run_user(text, user, races, open, ears, why);
  emulator.set_mutant(-1);
  emulator.replace(number, -1);
  for (Open& one : open)
    if (right && !one.caught && !ears.stop()) {
      if (one.verdict.outcome == "survives" && is_order(one.verdict)) one.verdict.outcome = "redundant";
      ears.ends(one.verdict);
    }
  return right;
}

bool Tearing::run_user(const TornText& text, size_t user, bool races, std::vector<Open>& open, const Ears& ears, std::string& why) {
  using Clock = std::chrono::steady_clock;
  EmulatedGpu& machine = *machines_[text.users[user].first];
  const tilert_emulator_table& emulator = *machine.emulator();
  const Trial& trial = trials_[text.users[user].second];
  const Scenario scenario = trial.row->make(trial.values);
  emulator.set_schedules(races ? kMarked : kOutcomes);
  emulator.set_races(races);
  emulator.set_mutant(-1);
  const auto before = Clock::now();
  if (const Outcome outcome = machine.run(scenario); !outcome.ok) {
    why = trial.text() + " on " + machine.target() + (races ? ", accesses marked: " : ": ") + outcome.message;
    return false;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - before).count();
  std::vector<Open*> reached;
  for (Open& one : open) {
    if (!races && emulator.asked(one.verdict.number)) one.users.insert(user);
    if (!one.caught && one.users.count(user)) reached.push_back(&one);
  }
  for (Open* one : reached) {
    if (ears.stop()) return true;
    emulator::Verdict& v = one->verdict;
    v.trial = trial.text();
    v.outcome = "hang";
    ears.begins(v, seconds);
    emulator.set_mutant(v.number);
    const auto start = Clock::now();
    const Outcome outcome = machine.run(scenario);
    v.milliseconds += static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
    v.outcome = outcome.ok ? "survives" : races ? "race" : "outcome";
    if (outcome.ok) continue;
    one->caught = true;
    v.how = outcome.message.substr(0, 300);
    ears.ends(v);
  }
  ears.begins({}, 0);
  return true;
}

}  // namespace tilert::conformance
