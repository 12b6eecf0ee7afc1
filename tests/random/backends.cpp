// Back ends.
#include "random/backends.h"

#include <algorithm>

#include "codegen/configuration.h"
#include "conformance/hip_machine.h"
#include "ir/evaluate.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/visit.h"
#include "passes/order.h"
#include "passes/planned.h"
#include "passes/specialize.h"
#include "random/launch.h"

namespace tilert::random {
namespace {

using conformance::Machine;
using conformance::Scenario;

// Of emulated launches: greedy and other orders, engines early or late; outcomes must agree.
constexpr const char* kSchedules =
    "greedy,forward;greedy,backward,copies=early,products=early;greedy,forward,copies=early,tensor_copies=early;"
    "random,seed=7,tensor_copies=early;round_robin,backward,products=early";

// ---- text ----

class Text : public Backend {
 public:
  std::string run(const Case& c, const Outputs&, Coverage&) override {
    const std::string text = ir::print(c.program);
    auto again = ir::parse(text, "text");
    if (!again) return "the parser refuses what the printer wrote: " + again.error().message;
    return ir::print(*again) == text ? "" : "printed, parsed and printed again, the text is another";
  }
};

// ---- passes ----

std::vector<passes::DimChoice> choices_of(const Case& c) {
  std::vector<passes::DimChoice> out(c.dims.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (c.bound[i]) out[i].value = c.dims[i];
    out[i].divisor = c.program.dims[i].divisible;
  }
  return out;
}

class Passes : public Backend {
 public:
  explicit Passes(const std::string& target) : target_(*parse_target(target)) {}

  std::string run(const Case& c, const Outputs& want, Coverage& coverage) override {
    std::string wrong = after(c, want, "insert_barriers", &coverage);
    if (wrong.empty()) return wrong;
    for (const passes::Pass& pass : passes::gpu_passes()) {  // which was the first?
      std::string first = after(c, want, pass.name, nullptr);
      if (!first.empty()) return first;
    }
    return wrong;
  }

 private:
  std::string after(const Case& c, const Outputs& want, const std::string& stage, Coverage* coverage) {
    const passes::PassContext context{target_, target_.device_class};
    auto module = passes::specialize(c.program, choices_of(c));
    if (!module) return "specialize: " + module.error().message;
    auto lowered = passes::run_gpu_passes(std::move(*module), context, stage);
    if (!lowered) return "refused by the passes up to " + stage + ": " + lowered.error().message;
    if (coverage) coverage->note_plans(target_.text, lowered->plans);
    const bool sides = passes::planned_roles(*lowered);
    if (sides && coverage) return after(c, want, "apply_rings", nullptr);
    if (sides && stage != "apply_rings") return {};  // roles run side by side: not for the interpreter
    for (size_t k = 0; k < lowered->program.kernels.size(); ++k)
      if (const int threads = passes::planned_threads(*lowered, k)) lowered->program.kernels[k].threads = threads;
    const Result<Outputs> got = interpret(c, lowered->program, make_data(c));
    if (!got) return "interpreted after " + stage + ": " + got.error().message;
    const std::string found = difference(c, want, *got);
    return found.empty() ? "" : "after " + stage + ": " + found;
  }

  Target target_;
};

// ---- generated source ----

// A kernel of the case for a target.
class Request {
 public:
  Request(const Case& c, tilert_context* context, const char* target)
      : scenario_(scenario_of(c)), request_(scenario_, target) {
    auto program = tl::Program::parse(ir::print(c.program));
    if (!program) {
      error_ = "parse: " + program.error().text();
      return;
    }
    tilert_error* error = nullptr;
    if (const tilert_status status = tilert_kernel_create(context, program->get(), &request_.options, &kernel_, &error))
      error_ = "kernel: " + tl::Error(status, error).text();
  }
  Request(const Request&) = delete;
  ~Request() { tilert_kernel_release(kernel_); }
  static Scenario scenario_of(const Case& c) {
    Scenario s;
    for (size_t i = 0; i < c.dims.size(); ++i)
      if (c.bound[i]) s.bind.emplace_back(c.program.vars[c.program.dims[i].var].name, c.dims[i]);
    return s;
  }
  const std::string& error() const { return error_; }
  tilert_kernel* kernel() const { return kernel_; }

 private:
  Scenario scenario_;
  conformance::KernelRequest request_;
  tilert_kernel* kernel_ = nullptr;
  std::string error_;
};

class Source : public Backend {
 public:
  Source(std::string target, bool compile) : target_(std::move(target)), compile_(compile) {}

  std::string run(const Case& c, const Outputs&, Coverage&) override {
    if (!context_ || ++runs_ % 256 == 0) context_ = std::make_unique<tl::Context>(*conformance::test_context());
    const Request request(c, context_->get(), target_.c_str());
    if (!request.error().empty()) return request.error();
    tilert_error* error = nullptr;
    if (compile_)
      if (const tilert_status status = tilert_kernel_compile(request.kernel(), &error)) {
        const tl::Error wrong(status, error);
        return wrong.text();
      }
    for (uint32_t i = 0; i < tilert_kernel_variant_count(request.kernel()); ++i) {
      tilert_variant* raw = nullptr;
      if (tilert_kernel_variant(request.kernel(), i, &raw)) return "there is no variant " + std::to_string(i);
      const tl::Variant variant(raw);
      if (auto text = variant.text(); !text) return "variant " + std::to_string(i) + ": " + text.error().text();
    }
    return {};
  }

 private:
  std::string target_;
  bool compile_;
  int runs_ = 0;
  std::unique_ptr<tl::Context> context_;
};

// ---- machines ----

Scenario scenario_of(const Case& c) {
  Scenario scenario = Request::scenario_of(c);
  scenario.programs.push_back(tl::Program::parse(ir::print(c.program)));
  return scenario;
}

class OnMachine : public Backend {
 public:
  explicit OnMachine(conformance::Backend kind, int ordinal = 0, bool races = false)
      : kind_(kind), ordinal_(ordinal), races_(races) {
    machine_ = Machine::open(kind_, why_not_, ordinal_);
    if (machine_ && races_ && machine_->emulator()->set_races(1) != 0) why_not_ = "this build cannot mark accesses";
  }
  std::string why_not() override { return why_not_; }

  // The emulator starts a compiler for each unit of kernels, which costs more than they do.
  void ahead(const std::vector<Case>& cases) override {
    const tilert_emulator_table* const emulator = machine_->emulator();
    if (!emulator) return;
    steer();
    for (const Case& c : cases) machine_->prepare_ahead(scenario_of(c));
    emulator->compile_pending();
  }

  std::string run(const Case& c, const Outputs& want, Coverage&) override {
    // What was loaded stays with its machine, so a new one now and then.
    if (++runs_ % 256 == 0) machine_ = Machine::open(kind_, why_not_, ordinal_);
    steer();
    Scenario scenario = scenario_of(c);
    scenario.launches.push_back(launch_of(c, want));
    scenario.told = told(c);
    scenario.lost = scenario.told.size() - std::min<size_t>(scenario.told.size(), ir::kReportEntries);
    const conformance::Outcome outcome = machine_->run(scenario);
    return outcome.ok ? "" : outcome.message;
  }

 private:
  // All machines of the process share one emulator.
  void steer() {
    if (!machine_->emulator()) return;
    machine_->emulator()->set_schedules(races_ ? "greedy,backward" : kSchedules);
    machine_->emulator()->set_races(races_);
  }
  conformance::Backend kind_;
  int ordinal_;
  bool races_;
  std::string why_not_;
  int runs_ = 0;
  std::unique_ptr<Machine> machine_;
};

// AMD's targets have less shared memory than that for which programs are made, and their lanes hold operands twice.
bool is_lacking(const std::string& refusal) {
  for (const char* room : {"bytes of shared memory a block, and gfx", "registers of each of 32 threads, which have 255"})
    if (refusal.find(room) != std::string::npos) return true;
  return false;
}

// An emulated AMD GPU, past runtime and driver: no plans of tiles, and nobody reads what was told.
class OnAmd : public Backend {
 public:
  OnAmd(std::string target, bool races) : target_(std::move(target)), races_(races) {
    machine_ = conformance::HipMachine::open(target_, why_not_);
    if (machine_ && races_ && machine_->emulator()->set_races(1) != 0) why_not_ = "this build cannot mark accesses";
  }
  std::string why_not() override { return why_not_; }

  void ahead(const std::vector<Case>& cases) override {
    steer();
    for (const Case& c : cases) machine_->prepare_ahead(scenario_of(c));
    machine_->emulator()->compile_pending();
  }

  std::string run(const Case& c, const Outputs& want, Coverage& coverage) override {
    steer();
    Scenario scenario = scenario_of(c);
    scenario.launches.push_back(launch_of(c, want));
    scenario.launches.back().plan = conformance::Launch::Plan::none;
    const conformance::Outcome outcome = machine_->run(scenario);
    if (outcome.ok && outcome.apart && !is_lacking(outcome.message)) return "refused: " + outcome.message;
    if (outcome.ok && outcome.apart) coverage.add("programs that are too much for " + target_);
    return outcome.ok ? "" : outcome.message;
  }

 private:
  void steer() {
    machine_->emulator()->set_schedules(races_ ? "greedy,backward" : "greedy,forward;random,seed=7;round_robin,backward");
    machine_->emulator()->set_races(races_);
  }
  std::string target_;
  bool races_;
  std::string why_not_;
  std::unique_ptr<conformance::HipMachine> machine_;
};

std::vector<BackendRow>& rows() {
  static std::vector<BackendRow> table = {
      {"text", true, [] { return std::make_unique<Text>(); }},
      {"source:sm_80", true, [] { return std::make_unique<Source>("sm_80", false); }},
      {"source:sm_90a", true, [] { return std::make_unique<Source>("sm_90a", false); }},
      {"passes:sm_80", true, [] { return std::make_unique<Passes>("sm_80"); }},
      {"passes:sm_90a", true, [] { return std::make_unique<Passes>("sm_90a"); }},
      {"cpu", true, [] { return std::make_unique<OnMachine>(conformance::Backend::cpu); }},
      {"nvrtc:sm_80", false, [] { return std::make_unique<Source>("sm_80", true); }},
      {"nvrtc:sm_90a", false, [] { return std::make_unique<Source>("sm_90a", true); }},
      {"emulated:sm_90a", false, [] { return std::make_unique<OnMachine>(conformance::Backend::emulated, 0); }},
      {"emulated:sm_80", false, [] { return std::make_unique<OnMachine>(conformance::Backend::emulated, 1); }},
      {"races:sm_90a", false, [] { return std::make_unique<OnMachine>(conformance::Backend::emulated, 0, true); }},
      {"races:sm_80", false, [] { return std::make_unique<OnMachine>(conformance::Backend::emulated, 1, true); }},
      {"emulated:gfx90a", false, [] { return std::make_unique<OnAmd>("gfx90a", false); }},
      {"emulated:gfx942", false, [] { return std::make_unique<OnAmd>("gfx942", false); }},
      {"emulated:gfx1100", false, [] { return std::make_unique<OnAmd>("gfx1100", false); }},
      {"emulated:gfx1201", false, [] { return std::make_unique<OnAmd>("gfx1201", false); }},
      {"races:gfx942", false, [] { return std::make_unique<OnAmd>("gfx942", true); }},
      {"races:gfx1100", false, [] { return std::make_unique<OnAmd>("gfx1100", true); }},
      {"cuda", false, [] { return std::make_unique<OnMachine>(conformance::Backend::cuda); }},
  };
  return table;
}

}  // namespace

std::string source_of(const Case& c, const std::string& target_and_stage) {
  const std::string target = target_and_stage.substr(0, target_and_stage.find('/'));
  const std::string stage = target == target_and_stage ? "source" : target_and_stage.substr(target.size() + 1);
  auto context = conformance::test_context();
  if (!context) return context.error().text();
  const Request request(c, context->get(), target.c_str());
  if (!request.error().empty()) return request.error();
  std::string out;
  for (uint32_t i = 0; i < tilert_kernel_variant_count(request.kernel()); ++i) {
    tilert_variant* raw = nullptr;
    if (tilert_kernel_variant(request.kernel(), i, &raw)) break;
    auto text = tl::Variant(raw).text(stage.c_str());
    out += text ? *text : text.error().text();
  }
  return out;
}

const std::vector<BackendRow>& all_backends() { return rows(); }

void add_backend(BackendRow row) { rows().push_back(std::move(row)); }

}  // namespace tilert::random
