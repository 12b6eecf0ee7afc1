// One call for every compiler: a request (source text, target, options) in, a binary out. CUDA C++, HIP C++ and LLVM
// IR are all text; what differs is the row of the registry that takes them. Source kernels of the user and generated
// kernels come the same way, under the same guard.
// Not here: how a given compiler is found and driven (nvrtc.h, llvm_*.h), what is cached (src/cache).
#pragma once

#include "support/result.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tilert {

enum class Language : uint32_t { cuda = 1, hip = 2, llvm_ir = 3 };
enum class BinaryKind : uint32_t { cubin = 1, ptx = 2, object = 3, code_object = 4 };

const char* language_name(Language language);
const char* binary_kind_name(BinaryKind kind);

// A file that exists only inside the request; `#include "name"` and `#include <name>` find it.
struct VirtualHeader {
  std::string name;
  std::string text;
  bool operator==(const VirtualHeader&) const = default;
};

// Everything a compiler is told, in one flat value that any process can take (see message.h).
struct CompileRequest {
  Language language = Language::cuda;
  BinaryKind output = BinaryKind::cubin;
  std::string target;                   // "sm_90a", "gfx942:sramecc+:xnack-", an LLVM triple with CPU and features
  std::string program_name = "kernel";  // what logs call the source; not part of a key
  std::string source;
  std::vector<VirtualHeader> headers;
  std::vector<std::string> options;           // beyond the fixed ones; each must be a row of options.def
  std::vector<std::string> name_expressions;  // C++ names whose lowered form is wanted: "scale<float, 4>"
  std::vector<std::string> entry_names;       // extern "C" entries that the caller will look up
  uint64_t deadline_ms = 0;                   // for the whole compile; 0: none. Not part of a key
  bool foreign = false;  // holds text that is not the library's own: it may expect the compiler's headers, and is not trusted
  bool operator==(const CompileRequest&) const = default;
};

// What the last stage of the compiler (ptxas) says about one entry.
struct KernelResources {
  std::string entry;
  uint32_t registers = 0;      // per thread
  uint32_t stack_bytes = 0;    // per thread
  uint32_t spill_stores = 0;   // bytes
  uint32_t spill_loads = 0;    // bytes
  uint32_t static_shared = 0;  // bytes per block, what the launch asks for dynamically not counted
  uint32_t barriers = 0;
  bool operator==(const KernelResources&) const = default;
};

struct LoweredName {
  std::string expression;
  std::string name;
  bool operator==(const LoweredName&) const = default;
};

struct Binary {
  BinaryKind kind = BinaryKind::cubin;
  std::string bytes;
  std::string log;                             // all the compiler said, warnings included
  std::string compiler;                        // its identity, "NVRTC 13.0": provenance, never part of a key
  std::vector<LoweredName> lowered_names;      // in the order of the request's name expressions
  std::vector<KernelResources> resources;      // one per entry; empty where the compiler does not tell
  std::vector<std::string> performance_notes;  // ptxas lines of the C75xx family and warnings of spills
  double compile_ms = 0;                       // in the compiler
  double total_ms = 0;                         // with the guard, the thread, and getting the bytes out

  // No spill, no stack frame, no performance note: what every generated kernel must be.
  bool is_clean() const;
  std::string why_not_clean() const;  // empty when clean
};

// When to stop. The deadline counts from the moment `compile` was called.
struct CompileControl {
  std::stop_token cancel;
  std::optional<std::chrono::steady_clock::time_point> deadline;

  bool cancelled() const { return cancel.stop_requested(); }
  bool expired() const { return deadline && std::chrono::steady_clock::now() >= *deadline; }
  bool should_stop() const { return cancelled() || expired(); }
};

// One compiler. Called from any number of threads at once, each on a stack of 16 MiB. The request has passed the guard.
class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual Language language() const = 0;
  virtual const std::string& identity() const = 0;  // name and version, no path
  virtual const std::string& location() const = 0;  // the file it was loaded from, for people
  // COMPILE with source and log attached, TIMEOUT, CANCELLED, UNSUPPORTED (target unknown to this compiler).
  virtual Result<Binary> compile(const CompileRequest& request, const CompileControl& control) = 0;
};

// Which compiles run in the helper, a process of their own: none, those of foreign text, all.
enum class Isolation { never, untrusted, always };

// The compilers of one context, by language, each opened on first use. Thread-safe.
class Compilers {
 public:
  using Factory = std::function<Result<std::shared_ptr<Compiler>>()>;

  void add(std::shared_ptr<Compiler> compiler);
  // `open` runs on the first compile of its language; its success is kept for good, its failure until `retry`.
  void add(Language language, Factory open);
  void retry(Language language);
  // What compiles instead of them where `isolation` says so; called on the thread of `compile`, any number at once. Not to be
  // changed while something compiles.
  using Isolated = std::function<Result<Binary>(const CompileRequest&, const CompileControl&)>;
  void isolate(Isolation isolation, Isolated helper);

  // UNAVAILABLE with the factory's words, or naming the language nobody registered.
  Result<std::shared_ptr<Compiler>> find(Language language) const;

  // Checks the request (check_request), then compiles on a thread of its own. Returns within the deadline even where
  // the compiler does not: its worker is then abandoned, and no more than kMaxAbandonedCompiles are allowed at a time.
  Result<Binary> compile(const CompileRequest& request, std::stop_token cancel = {}) const;

 private:
  struct Slot {
    Factory open;
    std::shared_ptr<Compiler> compiler;
    std::optional<Error> failure;
  };
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<Language, Slot>> slots_;
  Isolation isolation_ = Isolation::never;
  Isolated isolated_;
};

// What `compile` refuses before any compiler sees it: unknown options (options.h), text that would read files
// (source_guard.h), malformed names, an output that the language does not have.
Status check_request(const CompileRequest& request);

// Everything in the request that can change the bytes, the fixed options of its language included; equal texts mean
// equal binaries from one compiler. Needs no compiler. Feed it to the builder of the binary key.
std::string compile_key_text(const CompileRequest& request);

}  // namespace tilert
