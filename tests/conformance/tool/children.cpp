// Children that run trials and write a line of JSON for each to a pipe.
#include "conformance/tool/children.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

namespace tilert::conformance {
namespace {

using Json = nlohmann::json;

void write_line(int fd, const Json& json) {
  const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = write(fd, line.data() + done, line.size() - done);
    if (n <= 0) _exit(5);
    done += static_cast<size_t>(n);
  }
}

// In the child: from trial `first` on.
[[noreturn]] void work(const std::vector<Trial>& trials, size_t first, Backend backend, int fd) {
  std::string why_not;
  const std::unique_ptr<Machine> machine = Machine::open(backend, why_not);
  if (!machine) {
    write_line(fd, {{"why_not", why_not}});
    _exit(0);
  }
  write_line(fd, {{"device", machine->device_name()}, {"target", machine->target()}});
  for (size_t i = first; i < trials.size(); ++i) {
    write_line(fd, {{"begin", i}});
    const Outcome o = machine->run(trials[i].row->make(trials[i].values));
    write_line(fd, {{"end", i}, {"ok", o.ok}, {"apart", o.apart}, {"message", o.message}, {"worst", o.worst}, {"share", o.worst_share},
                    {"registers", o.registers}, {"spills", o.spill_bytes}, {"compile_ms", o.compile_ms}, {"digest", o.digest}});
    // After a fault on the device its context answers nothing any more.
    if (o.message.find("driver code") != std::string::npos) _exit(0);
  }
  write_line(fd, {{"done", true}});
  _exit(0);
}

// Lines from a pipe, each awaited for so many seconds.
class Lines {
 public:
  explicit Lines(int fd) : fd_(fd) {}
  enum class Got { line, end, timeout };
  Got next(std::string& line, int seconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    for (;;) {
      if (const size_t at = held_.find('\n'); at != std::string::npos) {
        line = held_.substr(0, at);
        held_.erase(0, at + 1);
        return Got::line;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      if (left.count() <= 0) return Got::timeout;
      pollfd wait{fd_, POLLIN, 0};
      if (poll(&wait, 1, static_cast<int>(left.count())) <= 0) continue;
      char buffer[4096];
      const ssize_t n = read(fd_, buffer, sizeof buffer);
      if (n <= 0) return Got::end;
      held_.append(buffer, static_cast<size_t>(n));
    }
  }

 private:
  int fd_;
  std::string held_;
};

Report report_of(const Json& json) {
  Report out;
  out.ran = true;
  out.outcome.ok = json["ok"];
  out.outcome.apart = json["apart"];
  out.outcome.message = json["message"];
  out.outcome.worst = json["worst"].is_number() ? json["worst"].get<double>() : 0;
  out.outcome.worst_share = json["share"].is_number() ? json["share"].get<double>() : 0;
  out.outcome.registers = json["registers"];
  out.outcome.spill_bytes = json["spills"];
  out.outcome.compile_ms = json["compile_ms"];
  out.outcome.digest = json["digest"];
  return out;
}

struct Child {
  pid_t pid = -1;
  int fd = -1;
};

Child start(const std::vector<Trial>& trials, size_t first, Backend backend) {
  int ends[2];
  if (pipe(ends)) return {};
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    work(trials, first, backend, ends[1]);
  }
  close(ends[1]);
  return {pid, ends[0]};
}

}  // namespace

std::vector<Report> run_in_children(const std::vector<Trial>& trials, Backend backend, int seconds, Machines& machine,
                                    const std::function<void(size_t, const Report&)>& told) {
  std::vector<Report> out(trials.size());
  size_t next = 0;
  while (next < trials.size()) {
    const Child child = start(trials, next, backend);
    Lines lines(child.fd);
    std::string line;
    bool done = false, begun = false;
    Lines::Got got;
    // The first line waits for the driver to start.
    while ((got = lines.next(line, seconds + (begun ? 0 : 60))) == Lines::Got::line) {
      const Json json = Json::parse(line, nullptr, false);
      if (json.contains("why_not")) machine.why_not = json["why_not"], done = true;
      if (json.contains("device")) machine.device = json["device"], machine.target = json["target"];
      if (json.contains("begin")) begun = true;
      if (json.contains("end")) {
        out[next] = report_of(json);
        told(next, out[next]);
        ++next;
        begun = false;
      }
      if (json.contains("done")) done = true;
    }
    if (got == Lines::Got::timeout) kill(child.pid, SIGKILL);
    int status = 0;
    waitpid(child.pid, &status, 0);
    close(child.fd);
    if (done) break;
    if (begun || got == Lines::Got::timeout || (WIFSIGNALED(status) && next < trials.size())) {
      out[next].ran = true;
      out[next].outcome.fail(got == Lines::Got::timeout ? "ran longer than " + std::to_string(seconds) + " s"
                                                        : "the process died with signal " + std::to_string(WTERMSIG(status)));
      told(next, out[next]);
      ++next;
    }
  }
  return out;
}

}  // namespace tilert::conformance
