// The parent reads outcomes from a pipe. Where the child ends or says nothing for too long, the case that it was at is
// wrong and a new child starts behind it.
#include "emulator/truth/worker.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace tilert::truth {
namespace {

bool write_all(int to, const void* from, size_t bytes) {
  const char* at = static_cast<const char*>(from);
  while (bytes) {
    const ssize_t done = write(to, at, bytes);
    if (done <= 0) return false;
    at += done;
    bytes -= static_cast<size_t>(done);
  }
  return true;
}

bool send(int to, const void* from, size_t bytes) {
  const uint64_t count = bytes;
  return write_all(to, &count, sizeof count) && write_all(to, from, bytes);
}

// False where the time is over or the other end is gone.
bool read_all(int from, void* to, size_t bytes, int seconds) {
  char* at = static_cast<char*>(to);
  while (bytes) {
    pollfd ready{from, POLLIN, 0};
    if (poll(&ready, 1, seconds * 1000) <= 0) return false;
    const ssize_t done = read(from, at, bytes);
    if (done <= 0) return false;
    at += done;
    bytes -= static_cast<size_t>(done);
  }
  return true;
}

template <class Buffer>
bool receive(int from, Buffer& to, int seconds) {
  uint64_t count = 0;
  if (!read_all(from, &count, sizeof count, seconds)) return false;
  to.resize(count);
  return read_all(from, to.data(), count, seconds);
}

[[noreturn]] void work(int to, const Libraries& libraries, const std::vector<Case>& cases, size_t first) {
  Side side;
  const std::string wrong = side.open(libraries);
  bool good = send(to, wrong.data(), wrong.size()) && send(to, side.name().data(), side.name().size()) && wrong.empty();
  if (good) side.prepare(cases);
  for (size_t i = first; i < cases.size() && good; ++i) {
    const Outcome outcome = side.run(cases[i]);
    good = send(to, outcome.wrong.data(), outcome.wrong.size()) && send(to, outcome.output.data(), outcome.output.size());
    // After a fault a context takes no further call.
    good = good && outcome.wrong.find("cannot run") == std::string::npos;
  }
  close(to);
  std::_Exit(0);
}

struct Child {
  pid_t process = -1;
  int pipe = -1;
  ~Child() {
    if (process <= 0) return;
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
    close(pipe);
  }
};

bool start(Child& child, const Libraries& libraries, const std::vector<Case>& cases, size_t first) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  child.process = fork();
  if (child.process == 0) {
    close(ends[0]);
    work(ends[1], libraries, cases, first);
  }
  close(ends[1]);
  child.pipe = ends[0];
  return child.process > 0;
}

}  // namespace

Results run_all(const Libraries& libraries, const std::vector<Case>& cases, int seconds) {
  Results out;
  while (out.outcomes.size() < cases.size()) {
    Child child;
    if (!start(child, libraries, cases, out.outcomes.size())) return {"", "no process for the cases", {}};
    std::string wrong, name;
    if (!receive(child.pipe, wrong, 10 * seconds) || !receive(child.pipe, name, 10 * seconds)) return {"", "the process ended while it opened the libraries", {}};
    if (!wrong.empty()) return {name, wrong, {}};
    out.device = name;
    bool first = true;
    while (out.outcomes.size() < cases.size()) {
      Outcome outcome;
      const bool whole = receive(child.pipe, outcome.wrong, first ? 10 * seconds : seconds) && receive(child.pipe, outcome.output, seconds);
      if (!whole) outcome = {{}, "the process ended, or took too long"};
      first = false;
      const bool last = !whole || outcome.wrong.find("cannot run") != std::string::npos;
      out.outcomes.push_back(std::move(outcome));
      if (last) break;
    }
  }
  return out;
}

}  // namespace tilert::truth
