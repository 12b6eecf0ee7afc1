// Runs scenarios on a back end and says what came out. Outputs are poisoned first, canaries stand on both sides of each
// buffer, and inputs must keep their bytes.
// Not here: what the scenarios are (scenario.h), which of them a program runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/cuda_memory.h"
#include "conformance/scenario.h"
#include "emulator/driver/control.h"

namespace tilert::conformance {

enum class Backend { interpreter, cpu, cuda, emulated };
const char* backend_name(Backend backend);

struct Outcome {
  bool ok = true;
  bool apart = false;       // not for this back end: nothing ran
  std::string message;      // the first thing that was wrong
  double worst = 0;         // greatest |got - wanted|
  double worst_share = 0;   // the same as a share of its tolerance
  uint32_t registers = 0, spill_bytes = 0;  // the greatest of its kernels
  double compile_ms = 0;
  std::string digest;       // SHA-256 of the generated sources in order; empty for the interpreter

  void fail(std::string why) {
    if (ok) message = std::move(why);
    ok = false;
  }
};

// An emulated GPU of either vendor.
class EmulatedGpu {
 public:
  virtual ~EmulatedGpu() = default;
  virtual Outcome run(const Scenario& scenario) = 0;
  // Compiles what the scenario will launch, so that the emulator takes the kernels of many scenarios at a time. The
  // generated sources.
  virtual std::vector<std::string> prepare_ahead(const Scenario& scenario) = 0;
  virtual const tilert_emulator_table* emulator() const = 0;
  virtual std::string target() const = 0;
};

// Every back end that the runtime launches on, the emulator among them, and the interpreter.
class Machine : public EmulatedGpu {
 public:
  // Null and a reason where this machine lacks the back end. Emulated: the device of that ordinal (emulator/driver).
  static std::unique_ptr<Machine> open(Backend backend, std::string& why_not, int ordinal = 0);

  Outcome run(const Scenario& scenario) override;
  std::vector<std::string> prepare_ahead(const Scenario& scenario) override;
  // Of the emulated back end: its table of functions.
  const tilert_emulator_table* emulator() const override { return emulator_; }
  Backend backend() const { return backend_; }
  std::string device_name() const;
  std::string target() const override;

 private:
  struct Prepared {
    tl::Program program;
    tilert_kernel* kernel = nullptr;
    tl::Loaded loaded;
    std::vector<tl::Diagnostic> interpreted;  // what the interpreter was told
    std::vector<tl::Variant> variants;
    Bytes workspace;
    uint64_t workspace_bytes = 0, device_workspace = 0;
  };
  // What the variants ask for, zeroed and poisoned when it is made; launches that fit into it take it as it was left.
  bool make_workspace(const Launch& launch, Prepared& prepared, tilert_launch_info& info, std::string& message);
  // Writes the plan of tiles that the launch asks for into the workspace.
  bool make_plan(const Launch& launch, Prepared& prepared, const tilert_launch_info& info, std::string& message);
  void check_told(const Scenario& scenario, const Prepared& prepared, Outcome& out);
  void release_workspace(Prepared& prepared);
  void run_refused(const Scenario& scenario, Outcome& out);
  bool prepare(const Scenario& scenario, const tl::Program& program, Prepared& to, Outcome& out);
  void note_variants(tilert_kernel* kernel, Outcome& out, std::vector<std::string>& sources);
  // The bytes that each argument holds afterwards go to `after`.
  void run_launch(const Scenario& scenario, const Launch& launch, Prepared& prepared, Outcome& out,
                  std::vector<Bytes>& after);
  bool on_device() const { return backend_ == Backend::cuda || backend_ == Backend::emulated; }
  std::string open_device(int ordinal);
  tilert_status start(const Launch& launch, Prepared& prepared, const std::vector<void*>& places, std::string& message);

  Backend backend_ = Backend::interpreter;
  tl::Context context_{static_cast<tilert_context*>(nullptr)};  // the interpreter needs none
  tl::Device device_;
  CudaMemory cuda_;
  const tilert_emulator_table* emulator_ = nullptr;
};

// Bits that element `i` is not to hold: of floats a signalling NaN, which no arithmetic makes; of bools what is none; of other
// types, which may be wanted in every pattern, the complement of what is wanted there.
uint64_t poison_of(const Argument& argument, size_t i);

// Compares what an argument holds with what it must hold.
void compare(const Argument& argument, size_t index, const Bytes& before, const Bytes& after, Outcome& out);

// Options with the scenario's bound dims, for tilert_kernel_create.
struct KernelRequest {
  std::vector<tilert_dim_binding> dims;
  tilert_kernel_options options{};
  KernelRequest(const Scenario& scenario, const char* target);
};

// What `look` says of the program's variants for the target, the first that it says anything of; or why there are none, behind
// "refused: " where that is a refusal. `compiles`: they are compiled first.
std::string each_variant(tilert_context* context, const Scenario& scenario, const tl::Program& program, const char* target, bool compiles,
                         const std::function<std::string(const tl::Variant&)>& look);

// A library that was built with this program, or lies beside it; empty where neither is.
std::string library_path(const std::string& name);

// A context whose kernels stay in memory and whose plugin is the one built here; NVRTC at `nvrtc`, where given.
tl::Result<tl::Context> test_context(const std::string& nvrtc = {});

}  // namespace tilert::conformance
