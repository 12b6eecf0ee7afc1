// Runs scenarios on an emulated AMD GPU: the text is made by the passes and the code generator and run with the launch's buffers,
// past runtime and driver. Launches that are about these (plans, what was told, failures) are not for it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/generated.h"
#include "conformance/runner.h"
#include "target/target.h"

namespace tilert::conformance {

class HipMachine : public EmulatedGpu {
 public:
  // Null and a reason.
  static std::unique_ptr<HipMachine> open(const std::string& target, std::string& why_not);

  // Apart, with the reason as its message, where the scenario is not for this machine or the program is refused.
  Outcome run(const Scenario& scenario) override;
  std::vector<std::string> prepare_ahead(const Scenario& scenario) override;
  const tilert_emulator_table* emulator() const override { return emulator_; }
  std::string target() const override { return target_.text; }

 private:
  struct Text {
    codegen::GeneratedProgram generated;
    int number = -1;
    std::string refused, wrong;
  };
  const Text& text_of(const Scenario& scenario, const tl::Program& program);
  bool is_for_text(const Scenario& scenario) const;
  void run_launch(const Text& text, const Scenario& scenario, const Launch& launch, Outcome& out, std::vector<Bytes>& after);

  Target target_;
  CudaMemory memory_;
  const tilert_emulator_table* emulator_ = nullptr;
  std::map<std::string, Text> texts_;  // by bound dims and program
};

}  // namespace tilert::conformance
