// Compiling in a process of its own, for hosts that want to outlive any compiler: tilert_compile, a small executable of
// ours, started for one compile and gone after it. A crash, an abort, a hang or a half answer of a compiler is an error
// here. Not here: how the process is started so that the host does not notice (child_process.h), what it does
// (helper_main.h).
#pragma once

#include "compiler/compiler.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilert {

// Where each compiler is looked for in the helper; empty: as in this process.
struct CompilerPlaces {
  std::string nvrtc, hiprtc, plugin;
  bool operator==(const CompilerPlaces&) const = default;
};

// The helper: `path` alone where it is given; else $TILERT_HELPER_PATH (ignored with raised privileges); else
// tilert_compile beside this library, then in tilert-0 (the SONAME's number) below it, then in ../bin, and as the plugin. Absolute paths only.
Result<std::string> find_helper(const std::string& path);

// Starts the helper at `path`, gives it the request, waits for its answer, and for its end. Deadline and cancel kill
// it. COMPILE where the compiler ended the process, with its last words as the log; UNAVAILABLE where there is no
// helper, it is of another release, or its answer is none; else what the compiler in it says. The request has passed
// the checks.
Result<Binary> compile_in_helper(const std::string& path, const CompilerPlaces& places, const CompileRequest& request,
                                 const CompileControl& control);

// What goes to the helper and comes back, each after its length in 8 bytes.
struct HelperJob {
  CompilerPlaces places;
  std::string key;  // digest of the request's key text: another release of the library makes another
  CompileRequest request;
};
std::string serialize(const HelperJob& job);
Result<HelperJob> parse_helper_job(std::string_view message);
std::string serialize_answer(const Result<Binary>& answer);
std::string serialize_signal(int number);  // what the helper says as it dies
struct HelperAnswer {
  Result<Binary> binary;
  int signal = 0;      // the compiler ended the helper by it
  bool valid = false;  // it is an answer of this release
};
HelperAnswer parse_answer(std::string_view message);

std::string request_digest(const CompileRequest& request);

}  // namespace tilert
