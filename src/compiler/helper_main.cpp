// The helper's side: nothing of the host's is kept open, nothing is printed, nothing is left to destructors.
#include "compiler/helper_main.h"

#include "compiler/flat.h"
#include "compiler/helper.h"
#include "compiler/hip.h"
#include "compiler/llvm_compiler.h"
#include "compiler/nvrtc.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace tilert {
namespace {

constexpr uint64_t kMostJobBytes = uint64_t{1} << 30;

bool receive(int channel, char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t count = recv(channel, bytes, size, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool send_all(int channel, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(channel, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// Descriptors that the host did not mark to be closed came along; compilers shall not have them.
void close_all_but(int kept) {
  std::vector<int> open;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const int number = std::atoi(entry.path().filename().c_str());
    if (number > 2 && number != kept) open.push_back(number);
  }
  for (const int number : open) close(number);
}

// A compiler's abort is told before the process ends: the host may have taken the status from whoever asks for it. What
// is sent is made beforehand; a stack that has overflowed has no room for a handler, and the wait tells that signal.
int channel_of_signals = -1;
std::string answers_of_signals[32];

void tell_signal(int number) {
  if (number < 32) {
    const std::string& answer = answers_of_signals[number];
    [[maybe_unused]] const ssize_t sent = send(channel_of_signals, answer.data(), answer.size(), MSG_NOSIGNAL);
  }
  _exit(3);
}

void tell_signals(int channel) {
  channel_of_signals = channel;
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS}) {
    const std::string answer = serialize_signal(number);
    flat::append_u64(answers_of_signals[number], answer.size());
    answers_of_signals[number] += answer;
    struct sigaction action {};
    action.sa_handler = tell_signal;
    action.sa_flags = SA_RESETHAND;
    sigaction(number, &action, nullptr);
  }
}

void add_compilers(Compilers& compilers, const CompilerPlaces& places) {
  compilers.add(Language::cuda, [path = places.nvrtc] { return open_nvrtc({path, {}}); });
  compilers.add(Language::hip, [path = places.hiprtc] { return open_hip({path, true}); });
  compilers.add(Language::llvm_ir, [path = places.plugin] { return open_llvm(path); });
}

}  // namespace

std::string answer_job(std::string_view message) {
  const Result<HelperJob> job = parse_helper_job(message);
  if (!job) return serialize_answer(job.error());
  if (job->key != request_digest(job->request))
    return serialize_answer(
        make_error(Code::kUnavailable,
                   "the compile helper is of another release than the library that started it; install "
                   "both from one release"));
  Compilers compilers;
  add_compilers(compilers, job->places);
  return serialize_answer(compilers.compile(job->request));
}

int helper_main() {
  const int channel = fcntl(0, F_DUPFD_CLOEXEC, 3);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (channel < 0 || nothing < 0 || dup2(nothing, 0) != 0) return 2;
  close_all_but(channel);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // a compiler's abort is an answer, not a file
  tell_signals(channel);
  std::string size(8, '\0');
  if (!receive(channel, size.data(), size.size())) return 2;
  const uint64_t bytes = flat::load_u64(size);
  if (bytes > kMostJobBytes) return 2;
  std::string message(bytes, '\0');
  if (!receive(channel, message.data(), message.size())) return 2;
  const std::string answer = answer_job(message);
  std::string frame;
  flat::append_u64(frame, answer.size());
  return send_all(channel, frame + answer) ? 0 : 2;
}

}  // namespace tilert
