// clone instead of fork: the host's memory is not copied and its atfork handlers do not run. The child is known by a
// pidfd, not by its number, which is another's once the host has waited for it.
#include "compiler/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x00001000
#endif

namespace tilert {
namespace {

constexpr int kPidfd = 3;  // P_PIDFD, which older headers lack
constexpr size_t kStartStackBytes = size_t{64} << 10;

struct Start {
  const char* path;
  char* const* arguments;
  char* const* environment;
  int channel, prints;
  pid_t parent;
  int error;
};

// Runs in the parent's memory, on a stack of its own, while the parent's thread stands still; nothing but system calls.
#if defined(__clang__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("address", "thread", "undefined")))
#endif
int run_child(void* argument) {
  auto& start = *static_cast<Start*>(argument);
  // What the host ignores would stay ignored; what it handles must not run here once signals are let in.
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &plain, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.parent) _exit(127);
  setpgid(0, 0);
  if (dup2(start.channel, 0) == 0 && dup2(start.prints, 1) == 1 && dup2(start.prints, 2) == 2)
    execve(start.path, start.arguments, start.environment);
  start.error = errno;
  _exit(127);
}

// Above the standard descriptors, which the host may have closed and the child gets anew.
Descriptor above_standard(int number) {
  Descriptor low(number);
  if (number < 0 || number > 2) return low;
  return Descriptor(fcntl(number, F_DUPFD_CLOEXEC, 3));
}

std::string last_error() { return std::generic_category().message(errno); }

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() { reset(); }

void Descriptor::reset() {
  if (number_ >= 0) close(number_);
  number_ = -1;
}

Result<ChildProcess> ChildProcess::start(const std::string& path, const std::vector<std::string>& environment) {
  int channel[2], prints[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0)
    return make_error(Code::kUnavailable, "no channel to the compile helper can be made: {}", last_error());
  Descriptor own = above_standard(channel[0]), others = above_standard(channel[1]);
  if (pipe2(prints, O_CLOEXEC) != 0)
    return make_error(Code::kUnavailable, "no channel to the compile helper can be made: {}", last_error());
  Descriptor heard = above_standard(prints[0]), said = above_standard(prints[1]);
  std::vector<char*> variables;
  for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);
  char* arguments[] = {const_cast<char*>(path.c_str()), nullptr};
  Start start{path.c_str(), arguments, variables.data(), others.get(), said.get(), getpid(), 0};
  const auto stack = std::make_unique<char[]>(kStartStackBytes);
  void* const top =
      reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(stack.get() + kStartStackBytes) & ~uintptr_t{63});
  // A handler of the host's that ran in the child would write into the host's memory.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int process = -1;
  const int pid = clone(run_child, top, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &start, &process);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid >= 0 && process < 0) return make_error(Code::kUnavailable, "the compile helper needs Linux 5.4 or newer");
  if (pid < 0)
    return make_error(Code::kUnavailable, "the compile helper {} cannot be started: {}", path,
                      std::generic_category().message(error));
  ChildProcess child{Descriptor(process), std::move(own), std::move(heard)};
  if (start.error != 0)
    return make_error(Code::kUnavailable, "the compile helper {} cannot be started: {}", path,
                      std::generic_category().message(start.error));
  return child;
}

ChildProcess::~ChildProcess() { end(0); }

ChildProcess::End ChildProcess::end(int patience_ms) {
  End end;
  if (process_.get() < 0) return end;
  pollfd ended{process_.get(), POLLIN, 0};
  if (poll(&ended, 1, patience_ms) <= 0) syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  siginfo_t info{};
  int waited = 0;
  while ((waited = waitid(static_cast<idtype_t>(kPidfd), static_cast<id_t>(process_.get()), &info, WEXITED)) < 0 &&
         errno == EINTR) {
  }
  process_.reset();
  end.known = waited == 0;
  (info.si_code == CLD_EXITED ? end.status : end.signal) = info.si_status;
  return end;
}

}  // namespace tilert
