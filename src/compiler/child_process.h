// A child process that a library starts in a host that knows nothing of it: the host's memory, handlers, descriptors
// and output stay out of it, and whatever the host does with its children (waits for all, ignores SIGCHLD) does no
// harm. Not here: what is said to it (helper.h).
#pragma once

#include "support/result.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace tilert {

// A descriptor, closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return number_; }
  void reset();

 private:
  int number_;
};

// Started by `start`, and gone for good with this object: killed where it still runs, and waited for.
class ChildProcess {
 public:
  // Runs `path` with that environment alone. Its standard input is the other end of `channel` (a socket, both ways);
  // what it prints arrives at `prints`. It dies with the calling thread, and is the first of a process group of its
  // own, so that a terminal's signals pass it by. UNAVAILABLE before Linux 5.4.
  static Result<ChildProcess> start(const std::string& path, const std::vector<std::string>& environment);
  ChildProcess(ChildProcess&& other) noexcept = default;
  ~ChildProcess();

  int channel() const { return channel_.get(); }
  int prints() const { return prints_.get(); }
  int process() const { return process_.get(); }  // a pidfd: readable once it has ended
  struct End {
    int signal = 0, status = 0;
    bool known = false;  // not where the host waits for all its children, or ignores them
  };
  // Waits for its end, at most about `patience_ms`, then kills it.
  End end(int patience_ms);

 private:
  ChildProcess(Descriptor process, Descriptor channel, Descriptor prints)
      : process_(std::move(process)), channel_(std::move(channel)), prints_(std::move(prints)) {}
  Descriptor process_, channel_, prints_;
};

}  // namespace tilert
