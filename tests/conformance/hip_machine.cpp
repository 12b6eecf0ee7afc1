// The way from a scenario to outcomes, without a driver: the launch's expressions are computed here.
#include "conformance/hip_machine.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "arith/simplify.h"
#include "capi/handles.h"
#include "ir/printer.h"
#include "ir/visit.h"
#include "jit/generate.h"

namespace tilert::conformance {
namespace {

constexpr uint64_t kMostBlocks = 5;  // of a persistent kernel
constexpr size_t kMostTexts = 4096;  // kept

// Memory of the emulated driver.
class Memory {
 public:
  explicit Memory(CudaMemory& of) : of_(of) {}
  ~Memory() {
    for (uint64_t address : all_) of_.release(address);
  }
  uint8_t* take(size_t bytes) {
    uint64_t address = 0;
    of_.allocate(std::max<size_t>(bytes, 1), address);
    all_.push_back(address);
    return reinterpret_cast<uint8_t*>(address);
  }

 private:
  CudaMemory& of_;
  std::vector<uint64_t> all_;
};

// Values of expressions with every dim and scalar known.
class Known {
 public:
  Known(const codegen::GeneratedProgram& of, const Scenario& scenario, const Launch& launch) : arena_(*of.program.arena), facts_(arena_), simplify_(arena_, facts_) {
    for (size_t d = 0; d < of.program.dims.size(); ++d) {
      int64_t value = d < launch.dims.size() ? launch.dims[d] : 0;
      for (const auto& [name, bound] : scenario.bind)
        if (name == of.program.vars[of.program.dims[d].var].name) value = bound;
      values_[of.program.dims[d].var] = arena_.index(value);
    }
    for (size_t i = 0, at = 0; i < of.program.parameters.size(); ++i, ++at) {
      while (at < launch.arguments.size() && launch.arguments[at].behind) ++at;
      const ir::Parameter& p = of.program.parameters[i];
      if (p.kind == ir::Parameter::Kind::scalar && at < launch.arguments.size())
        values_[p.var] = arena_.constant(of.program.vars[p.var].dtype, encode(launch.arguments[at].dtype, launch.arguments[at].data[0]));
    }
  }
  uint64_t operator()(ir::Expr e) {
    const ir::Expr value = simplify_(ir::substitute(arena_, e, values_));
    if (!value->is_constant()) unknown = true;
    return value->is_constant() ? value->bits : 0;
  }
  bool unknown = false;

 private:
  ir::Arena& arena_;
  arith::Facts facts_;
  arith::Simplifier simplify_;
  std::unordered_map<ir::VarId, ir::Expr> values_;
};

// Of the parameter of that number, memory that only tables point to aside.
uint8_t* place_of(const Launch& launch, const std::vector<uint8_t*>& places, size_t parameter) {
  for (size_t at = 0; at < places.size(); ++at)
    if (!launch.arguments[at].behind && parameter-- == 0) return places[at];
  return nullptr;
}

std::string run_kernels(const codegen::GeneratedProgram& generated, int number, const Scenario& scenario, const Launch& launch, const Target& target, const tilert_emulator_table& emulator,
                        const std::vector<uint8_t*>& places, Memory& memory) {
  Known known(generated, scenario, launch);
  uint8_t* workspace = nullptr;
  if (generated.workspace.bytes) {
    const size_t bytes = known(generated.workspace.bytes);
    workspace = memory.take(bytes);
    std::memset(workspace, 0, bytes);
  }
  for (const codegen::GeneratedKernel& kernel : generated.kernels) {
    if (kernel.planner) continue;
    std::vector<uint64_t> values;
    for (const codegen::KernelParameter& p : kernel.parameters) {
      uint64_t value = 0;
      if (p.kind == codegen::KernelParameter::Kind::value) value = known(p.value);
      if (p.kind == codegen::KernelParameter::Kind::workspace) value = reinterpret_cast<uint64_t>(workspace + known(generated.workspace.offsets.at(p.buffer)));
      if (p.kind == codegen::KernelParameter::Kind::pointer)
        value = reinterpret_cast<uint64_t>(place_of(launch, places, static_cast<size_t>(generated.program.buffer(p.buffer).parameter)));
      values.push_back(value);
    }
    std::vector<void*> parameters;
    for (uint64_t& value : values) parameters.push_back(&value);
    tilert_emulator_launch of{};
    of.text = number;
    of.name = kernel.entry.c_str();
    bool empty = false;
    for (size_t d = 0; d < 3; ++d) {
      of.grid[d] = static_cast<unsigned>(known(kernel.grid[d]));
      empty |= of.grid[d] == 0;
    }
    if (kernel.persistent) of.grid[0] = static_cast<unsigned>(std::min<uint64_t>(of.grid[0], launch.max_blocks ? static_cast<uint64_t>(launch.max_blocks) : kMostBlocks));
    of.threads = static_cast<unsigned>(kernel.threads);
    of.shared_bytes = static_cast<unsigned>(kernel.shared_bytes);
    of.lanes = static_cast<unsigned>(target.warp_size);
    of.together = kernel.cooperative;
    of.parameters = parameters.data();
    if (known.unknown) return "an expression of the launch is not known";
    if (!empty && emulator.run(&of) != 0) return emulator.report();
  }
  return {};
}

}  // namespace

std::unique_ptr<HipMachine> HipMachine::open(const std::string& target, std::string& why_not) {
  std::unique_ptr<HipMachine> out(new HipMachine);
  const auto row = parse_target(target);
  if (!row) return why_not = row.error().message, nullptr;
  out->target_ = *row;
  const std::string path = library_path("libtilert_emulator.so");
  if (why_not = out->memory_.open(path, 0); !why_not.empty()) return nullptr;
  void* const found = dlsym(dlopen(path.c_str(), RTLD_NOW), "tilert_emulator_control");
  out->emulator_ = reinterpret_cast<const tilert_emulator_table* (*)()>(found)();
  return out;
}

bool HipMachine::is_for_text(const Scenario& scenario) const {
  bool plain = refusal_on(scenario, target_.text).empty() && scenario.fails == TILERT_OK && !scenario.debug && scenario.told.empty() &&
               (scenario.language.empty() || scenario.language == "hip");
  for (const Launch& launch : scenario.launches) plain &= launch.plan == Launch::Plan::none && !launch.overlaps;
  return plain;
}

const HipMachine::Text& HipMachine::text_of(const Scenario& scenario, const tl::Program& program) {
  const ir::Program& of = *program.get()->program;
  std::vector<passes::DimChoice> dims(of.dims.size());
  std::string key;
  for (size_t d = 0; d < dims.size(); ++d) {
    dims[d].divisor = of.dims[d].divisible;
    for (const auto& [name, value] : scenario.bind)
      if (name == of.vars[of.dims[d].var].name) dims[d].value = value;
    key += dims[d].value ? std::to_string(*dims[d].value) + " " : "? ";
  }
  if (texts_.size() > kMostTexts) texts_.clear();
  const auto [at, fresh] = texts_.try_emplace(key + ir::print(of));
  if (!fresh) return at->second;
  Text& out = at->second;
  Result<codegen::GeneratedProgram> generated = jit::generate(of, dims, target_, target_.device_class);
  if (!generated) {
    (generated.error().code == Code::kUnsupported ? out.refused : out.wrong) = generated.error().message;
    return out;
  }
  out.generated = std::move(*generated);
  out.number = emulator_->add_text(out.generated.source.c_str());
  return out;
}

std::vector<std::string> HipMachine::prepare_ahead(const Scenario& scenario) {
  std::vector<std::string> sources;
  if (!is_for_text(scenario)) return sources;
  for (const auto& program : scenario.programs) {
    if (!program) continue;
    const Text& text = text_of(scenario, *program);
    if (text.number >= 0) sources.push_back(text.generated.source);
  }
  return sources;
}

Outcome HipMachine::run(const Scenario& scenario) {
  Outcome out;
  out.apart = !is_for_text(scenario);
  std::vector<std::vector<Bytes>> first;
  for (size_t p = 0; p < scenario.programs.size() && out.ok && !out.apart; ++p) {
    if (!scenario.programs[p]) out.fail("does not build: " + scenario.programs[p].error().text());
    for (size_t l = 0; l < scenario.launches.size() && out.ok; ++l) {
      const Text& text = text_of(scenario, *scenario.programs[p]);
      if (!text.wrong.empty()) out.fail(text.wrong);
      if (out.apart = !text.refused.empty(); out.apart) out.message = text.refused;
      if (out.apart || !out.ok) break;
      std::vector<Bytes> after;
      run_launch(text, scenario, scenario.launches[l], out, after);
      if (!out.ok) out.message += " (program " + std::to_string(p) + ", launch " + std::to_string(l) + ")";
      if (p == 0) first.push_back(std::move(after));
      else if (out.ok && scenario.same_bits && after != first[l]) out.fail("program " + std::to_string(p) + " gives other bits than program 0");
    }
  }
  return out;
}

// What each argument holds afterwards goes to `after`.
void HipMachine::run_launch(const Text& text, const Scenario& scenario, const Launch& launch, Outcome& out, std::vector<Bytes>& after) {
  Memory memory(memory_);
  std::vector<Bytes> before;
  std::vector<uint8_t*> places;
  for (const Argument& a : launch.arguments) {
    const tl::DType dtype = a.table ? tl::i64 : a.dtype;
    const size_t leading = a.leading * bytes_of(dtype);
    Bytes bytes(bytes_for(dtype, a.data.size()), 0);
    for (size_t i = 0; i < a.data.size(); ++i) a.poisoned ? put_bits(bytes, i, dtype, poison_of(a, i)) : put(bytes, i, dtype, a.data[i]);
    for (size_t e = 0; e < a.entries.size(); ++e) {
      const auto address = a.entries[e] < 0 ? 0 : reinterpret_cast<uint64_t>(places[static_cast<size_t>(a.entries[e])]);
      std::memcpy(bytes.data() + e * sizeof address, &address, sizeof address);
    }
    bytes.insert(bytes.begin(), leading, 0);
    places.push_back(a.same_as >= 0 ? places[static_cast<size_t>(a.same_as)] : a.null ? nullptr : memory.take(bytes.size()));
    if (a.same_as < 0 && !a.null && !bytes.empty()) std::memcpy(places.back(), bytes.data(), bytes.size());
    before.push_back(std::move(bytes));
  }
  if (const std::string wrong = run_kernels(text.generated, text.number, scenario, launch, target_, *emulator_, places, memory); !wrong.empty()) return out.fail(wrong);
  for (size_t i = 0; i < places.size(); ++i) {
    Argument stored = launch.arguments[i];
    if (stored.table) stored.dtype = tl::i64;
    after.emplace_back(places[i] ? Bytes(places[i], places[i] + before[i].size()) : before[i]);
    if (stored.same_as < 0 && places[i]) compare(stored, i, before[i], after[i], out);
    if (stored.table) after[i].clear();
  }
}

}  // namespace tilert::conformance
