// Children and their pipes: a line a record, fields apart by tabs.
#include "random/campaign.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <sstream>

#include "random/generator.h"

namespace tilert::random {
namespace {

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\t') c = ' ';
  return text.substr(0, 2000);
}

// A child that runs `work` with a way to say lines, and the parent's end of it.
class Child {
 public:
  using Say = std::function<void(const std::string&)>;
  explicit Child(const std::function<void(const Say&)>& work) {
    int ends[2];
    if (pipe(ends)) return;
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      work([&](const std::string& line) {
        const std::string whole = line + "\n";
        for (size_t done = 0; done < whole.size();) {
          const ssize_t n = write(ends[1], whole.data() + done, whole.size() - done);
          if (n <= 0) _exit(5);
          done += static_cast<size_t>(n);
        }
      });
      _exit(0);
    }
    close(ends[1]);
    fd_ = ends[0];
  }
  Child(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
    if (fd_ >= 0) close(fd_);
  }

  // The next line; nothing at the end, or after so many seconds of silence.
  std::optional<std::string> line(int seconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    for (;;) {
      if (const size_t at = held_.find('\n'); at != std::string::npos) {
        std::string out = held_.substr(0, at);
        held_.erase(0, at + 1);
        return out;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      if (left.count() <= 0) return late_ = true, std::nullopt;
      pollfd wait{fd_, POLLIN, 0};
      if (poll(&wait, 1, static_cast<int>(left.count())) <= 0) continue;
      char buffer[4096];
      const ssize_t n = read(fd_, buffer, sizeof buffer);
      if (n <= 0) return std::nullopt;
      held_.append(buffer, static_cast<size_t>(n));
    }
  }
  // Why it ended; empty where it did so by itself.
  std::string end() {
    if (late_) return "ran too long";
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    if (WIFSIGNALED(status)) return "crashed with signal " + std::to_string(WTERMSIG(status));
    return WEXITSTATUS(status) ? "exited with " + std::to_string(WEXITSTATUS(status)) : "";
  }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  bool late_ = false;
  std::string held_;
};

using Clock = std::chrono::steady_clock;

// Where a child starts: seeds below `alone` are not prepared together, since that has ended a child.
struct Start {
  uint64_t first = 0, alone = 0;
  Clock::time_point until = Clock::time_point::max();
};

void work_on(const Campaign& campaign, const Start& start, const Child::Say& say) {
  Bench bench(campaign.backends);
  if (const std::string why_not = bench.why_not(); !why_not.empty()) return say("why_not\t" + why_not);
  const uint64_t end = campaign.first + campaign.count;
  uint64_t seed = start.first;
  while (seed < end && Clock::now() < start.until) {
    const uint64_t size = seed < start.alone ? 1 : std::min<uint64_t>(campaign.batch, end - seed);
    std::vector<Case> cases;
    for (uint64_t i = 0; i < size; ++i) cases.push_back(generate(seed + i));
    say("ahead\t" + std::to_string(seed));
    if (size > 1) bench.ahead(cases);
    Coverage coverage;
    for (const Case& c : cases) {
      if (Clock::now() >= start.until) break;
      say("begin\t" + std::to_string(seed++));
      if (const auto found = bench.check(c, coverage)) say("found\t" + found->backend + "\t" + one_line(found->message));
    }
    for (const auto& [what, times] : coverage.counts()) say("count\t" + std::to_string(times) + "\t" + one_line(what));
  }
  say("begin\t" + std::to_string(seed));
}

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, '\t');) out.push_back(field);
  out.resize(std::max<size_t>(out.size(), 3));
  return out;
}

}  // namespace

Bench::Bench(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const BackendRow* found = nullptr;
    for (const BackendRow& row : all_backends())
      if (row.name == name) found = &row;
    if (found)
      seats_.push_back({found, nullptr});
    else
      unknown_ = "there is no back end '" + name + "'";
  }
}

std::string Bench::why_not() {
  if (!unknown_.empty()) return unknown_;
  for (Seat& seat : seats_) {
    if (!seat.backend) seat.backend = seat.row->make();
    if (const std::string why = seat.backend->why_not(); !why.empty()) return seat.row->name + ": " + why;
  }
  return {};
}

std::optional<Finding> Bench::check(const Case& c, Coverage& coverage) {
  const Result<Outputs> want = reference(c);
  if (!want) return Finding{c.seed, "generator", want.error().message};
  if (const Status fair = judge(c, *want); !fair) return Finding{c.seed, "generator", fair.error().message};
  coverage.note_case(c);
  for (Seat& seat : seats_) {
    if (!seat.backend) seat.backend = seat.row->make();
    std::string wrong = seat.backend->run(c, *want, coverage);
    if (!wrong.empty()) return Finding{c.seed, seat.row->name, std::move(wrong)};
  }
  return std::nullopt;
}

void Bench::ahead(const std::vector<Case>& cases) {
  for (Seat& seat : seats_) {
    if (!seat.backend) seat.backend = seat.row->make();
    seat.backend->ahead(cases);
  }
}

std::vector<std::string> usual_backends() {
  std::vector<std::string> out;
  for (const BackendRow& row : all_backends())
    if (row.usual) out.push_back(row.name);
  return out;
}

// Told at once: a process that is ended while it looks for a smaller program has said what it found.
static void add(CampaignResult& to, Finding finding) {
  std::fprintf(stderr, "seed %llu%s%s: %s\n", static_cast<unsigned long long>(finding.seed), finding.backend.empty() ? "" : " on ", finding.backend.c_str(),
               finding.message.substr(0, 300).c_str());
  to.findings.push_back(std::move(finding));
}

CampaignResult run_campaign(const Campaign& campaign) {
  CampaignResult out;
  const uint64_t end = campaign.first + campaign.count;
  Start start{campaign.first, 0, Clock::time_point::max()};
  if (campaign.limit) start.until = Clock::now() + std::chrono::seconds(campaign.limit);
  const int patience = campaign.seconds + (campaign.batch > 1 ? 4 * static_cast<int>(campaign.batch) : 0);
  while (start.first < end && Clock::now() < start.until && out.findings.size() < campaign.max_findings) {
    Child child([&](const Child::Say& say) { work_on(campaign, start, say); });
    uint64_t at = start.first;
    bool enough = false, together = false;
    while (const auto line = child.line(patience)) {
      const std::vector<std::string> f = fields(*line);
      if (f[0] == "why_not") return out.why_not = f[1], out;
      if (f[0] == "ahead" || f[0] == "begin") at = std::stoull(f[1]), together = f[0] == "ahead";
      if (f[0] == "found") add(out, {at, f[1], f[2]});
      if (f[0] == "count") out.coverage.add(f[2], std::stoll(f[1]));
      if ((enough = out.findings.size() >= campaign.max_findings)) break;
    }
    out.done = at - campaign.first;
    if (enough) break;
    const std::string why = child.end();
    if (why.empty()) break;
    if (together && start.alone <= at) {  // one of a batch did it: now one by one
      start.first = at, start.alone = at + campaign.batch;
      continue;
    }
    add(out, {at, "", why, true});
    start.first = at + 1;
    out.done = start.first - campaign.first;
  }
  // Which back end did it?
  for (Finding& found : out.findings) {
    if (!found.crashed) continue;
    for (const std::string& name : campaign.backends) {
      const auto again = check_in_child(generate(found.seed), {name}, campaign.seconds);
      if (!again) continue;
      found = *again;
      found.crashed = true;
      break;
    }
  }
  return out;
}

std::optional<Finding> check_in_child(const Case& c, const std::vector<std::string>& backends, int seconds) {
  Child child([&](const Child::Say& say) {
    Bench bench(backends);
    Coverage coverage;
    if (const auto found = bench.check(c, coverage)) say("found\t" + found->backend + "\t" + one_line(found->message));
  });
  std::optional<Finding> out;
  while (const auto line = child.line(seconds)) {
    const std::vector<std::string> f = fields(*line);
    if (f[0] == "found") out = Finding{c.seed, f[1], f[2]};
  }
  if (const std::string why = child.end(); !why.empty()) out = Finding{c.seed, backends[0], why, true};
  return out;
}

}  // namespace tilert::random
