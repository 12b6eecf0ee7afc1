// The library's side of the helper: finding it, talking to it, and the words for how it can end.
#include "compiler/helper.h"

#include "compiler/child_process.h"
#include "compiler/compile_thread.h"
#include "compiler/flat.h"
#include "compiler/llvm_plugin.h"
#include "support/dynamic_library.h"
#include "support/files.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace tilert {
namespace {

constexpr const char* kHelperFile = "tilert_compile";
constexpr const char* kHelperVariable = "TILERT_HELPER_PATH";
constexpr uint64_t kMostAnswerBytes = uint64_t{1} << 31;
constexpr size_t kMostPrintedBytes = size_t{64} << 10;

// The little that a compile may depend on: where libraries and temporary files are. Nothing in a process with raised
// privileges. Languages are C's, and comgr's own cache, which ours makes useless, stays off.
std::vector<std::string> helper_environment() {
  std::vector<std::string> variables = {"LC_ALL=C", "AMD_COMGR_CACHE=0"};
  for (const char* name :
       {"LD_LIBRARY_PATH", "TMPDIR", "TILERT_NVRTC_PATH", "TILERT_HIPRTC_PATH", "TILERT_LLVM_PLUGIN"})
    if (auto value = environment(name)) variables.push_back(std::string(name) + "=" + *value);
  return variables;
}

// What has come from the helper so far, and what is still to be sent.
class Exchange {
 public:
  Exchange(ChildProcess& child, std::string to_send) : child_(child), to_send_(std::move(to_send)) {
    for (int fd : {child_.channel(), child_.prints()}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  }

  // Until the answer is whole, the helper's end of the channel closed, or `control` says stop.
  void run(const CompileControl& control) {
    const Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    const std::stop_callback on_cancel(control.cancel, [&] {
      const uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = write(wake.get(), &one, sizeof one);
    });
    for (bool ended = false; !ended && !closed_ && !whole() && !control.should_stop();) {
      pollfd events[] = {{child_.channel(), static_cast<short>(POLLIN | (sent_ == to_send_.size() ? 0 : POLLOUT)), 0},
                         {child_.prints(), POLLIN, 0},
                         {wake.get(), POLLIN, 0},
                         {child_.process(), POLLIN, 0}};
      if (prints_closed_) events[1].fd = -1;
      if (poll(events, 4, patience(control)) < 0 && errno != EINTR) return;
      // A process that the host forked meanwhile may keep the helper's end of the channel open: its death counts as
      // well.
      ended = (events[3].revents & POLLIN) != 0;
      send_some();
      receive_some();
      hear_some();
    }
    hear_some();
  }

  // The last of it is kept.
  void hear_some() {
    char bytes[4096];
    ssize_t count = 0;
    while (!prints_closed_ && (count = read(child_.prints(), bytes, sizeof bytes)) > 0) {
      printed_.append(bytes, static_cast<size_t>(count));
      if (printed_.size() > kMostPrintedBytes) printed_.erase(0, printed_.size() - kMostPrintedBytes);
    }
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) prints_closed_ = true;
  }

  bool whole() const {
    return received_.size() >= 8 && received_.size() - 8 >= flat::load_u64(std::string_view(received_).substr(0, 8));
  }
  std::string_view answer() const { return std::string_view(received_).substr(8); }
  size_t received() const { return received_.size(); }
  const std::string& printed() const { return printed_; }

 private:
  static int patience(const CompileControl& control) {
    if (!control.deadline) return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*control.deadline - std::chrono::steady_clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 60000));
  }

  // A helper that died early takes nothing more: what it said before is still read.
  void send_some() {
    while (sent_ < to_send_.size()) {
      const ssize_t count = send(child_.channel(), to_send_.data() + sent_, to_send_.size() - sent_, MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN && errno != EINTR) sent_ = to_send_.size();
      if (count <= 0) return;
      sent_ += static_cast<size_t>(count);
    }
  }

  void receive_some() {
    char bytes[65536];
    while (true) {
      const ssize_t count = recv(child_.channel(), bytes, sizeof bytes, 0);
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) closed_ = true;
      if (count <= 0) return;
      received_.append(bytes, static_cast<size_t>(count));
      if (received_.size() > kMostAnswerBytes) closed_ = true;
      if (closed_) return;
    }
  }

  ChildProcess& child_;
  std::string to_send_, received_, printed_;
  size_t sent_ = 0;
  bool closed_ = false, prints_closed_ = false;
};

Error compiler_died(const CompileRequest& request, int signal) {
  return make_error(Code::kCompile,
                    "{}: the compiler of {} ended its process, which was the helper's, with signal {} ({}) for {}",
                    request.program_name, language_name(request.language), signal, strsignal(signal), request.target);
}

Error no_answer(const std::string& path, const CompileRequest& request, const ChildProcess::End& end,
                const Exchange& exchange) {
  if (end.signal == SIGKILL)
    return make_error(Code::kUnavailable,
                      "{}: the compile helper {} was killed while it compiled for {}; memory may have run out",
                      request.program_name, path, request.target);
  if (end.signal != 0) return compiler_died(request, end.signal);
  return make_error(
      Code::kUnavailable,
      "{}: the compile helper {} ended {} after {} bytes of an answer that is none; install helper and library from "
      "one release",
      request.program_name, path, end.known ? fmt::format("with status {}", end.status) : "by itself or killed",
      exchange.received());
}

// The compiler's source and last words go with the error.
Error with_words(Error error, const CompileRequest& request, const Exchange& exchange) {
  error.source = request.source;
  if (!error.log.empty() || exchange.printed().empty()) return error;
  error.log = exchange.printed();
  error.message += "\n" + error.log;
  return error;
}

}  // namespace

Result<std::string> find_helper(const std::string& path) {
  std::vector<std::string> paths;
  if (!path.empty()) {
    paths.push_back(path);
  } else if (auto named = environment(kHelperVariable)) {
    paths.push_back(*named);
  } else {
    TILERT_ASSIGN(const std::string here, own_directory());
    for (const char* place : {"/", "/" TILERT_PRIVATE_DIRECTORY "/", "/../bin/",
                              "/../" TILERT_LIBRARY_DIRECTORY "/" TILERT_PRIVATE_DIRECTORY "/"}) paths.push_back(here + place + kHelperFile);
  }
  std::string tried;
  for (const std::string& candidate : paths) {
    if (candidate.front() != '/')
      tried += fmt::format("\n  {}: refused, a path must be absolute", candidate);
    else if (access(candidate.c_str(), X_OK) == 0)
      return candidate;
    else
      tried += fmt::format("\n  {}: {}", candidate, std::generic_category().message(errno));
  }
  return make_error(Code::kUnavailable,
                    "the compile helper was not found; tried:{}\nInstall tilert_compile beside the library, name it by "
                    "helper_path or {}, "
                    "or do not isolate",
                    tried, kHelperVariable);
}

Result<Binary> compile_in_helper(const std::string& path, const CompilerPlaces& places, const CompileRequest& request,
                                 const CompileControl& control) {
  if (control.should_stop()) return stop_error(control);
  HelperJob job{places, request_digest(request), request};
  job.request.deadline_ms = 0;  // the deadline is kept on this side, whatever the compiler does
  if (job.places.plugin.empty()) job.places.plugin = llvm_plugin_place();
  const std::string message = serialize(job);
  std::string frame;
  flat::append_u64(frame, message.size());
  TILERT_ASSIGN(ChildProcess child, ChildProcess::start(path, helper_environment()));
  Exchange exchange(child, frame + message);
  exchange.run(control);
  if (!exchange.whole()) {
    if (control.should_stop()) return stop_error(control);
    const ChildProcess::End end = child.end(1000);
    return with_words(no_answer(path, request, end, exchange), request, exchange);
  }
  HelperAnswer answer = parse_answer(exchange.answer());
  if (!answer.valid)
    return make_error(
        Code::kUnavailable,
        "{}: the answer of the compile helper {} is none of this release; install helper and library from one",
        request.program_name, path);
  if (answer.signal != 0) {
    child.end(1000);
    exchange.hear_some();
    return with_words(compiler_died(request, answer.signal), request, exchange);
  }
  if (answer.binary) return std::move(answer.binary);
  Error error = answer.binary.error();
  error.source = request.source;
  return error;
}

}  // namespace tilert
