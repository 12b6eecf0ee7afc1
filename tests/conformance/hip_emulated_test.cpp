// Trials of the list as HIP C++, run on emulated waves of 64 and 32 lanes: the text is made with the launch's dims and run with its
// buffers, past runtime and driver. What is refused is refused by name.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "arith/simplify.h"
#include "capi/handles.h"
#include "conformance/runner.h"
#include "ir/visit.h"
#include "jit/generate.h"

namespace tilert::conformance {
namespace {

constexpr const char* kHipSchedules = "greedy,forward;random,seed=7;round_robin,backward";
constexpr const char* kHipOrder = "greedy,backward";
constexpr uint64_t kMostBlocks = 5;  // of a persistent kernel

// One text, for one launch.
struct HipText {
  codegen::GeneratedProgram generated;
  int number = -1;
  std::string refused, wrong;
};

HipText make_text(const Scenario& scenario, const tl::Program& program, const Launch& launch, const Target& target, const tilert_emulator_table& emulator) {
  HipText out;
  const ir::Program& of = *program.get()->program;
  std::vector<passes::DimChoice> dims(of.dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d < launch.dims.size()) dims[d].value = launch.dims[d];
    for (const auto& [name, value] : scenario.bind)
      if (name == of.vars[of.dims[d].var].name) dims[d].value = value;
  }
  Result<codegen::GeneratedProgram> generated = jit::generate(of, dims, target, target.device_class);
  if (!generated) {
    (generated.error().code == Code::kUnsupported ? out.refused : out.wrong) = generated.error().message;
    return out;
  }
  out.generated = std::move(*generated);
  out.number = emulator.add_text(out.generated.source.c_str());
  return out;
}

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

std::string run_kernels(const HipText& text, const Scenario& scenario, const Launch& launch, const Target& target, const tilert_emulator_table& emulator,
                        const std::vector<uint8_t*>& places, Memory& memory) {
  Known known(text.generated, scenario, launch);
  uint8_t* workspace = nullptr;
  if (text.generated.workspace.bytes) {
    const size_t bytes = known(text.generated.workspace.bytes);
    workspace = memory.take(bytes);
    std::memset(workspace, 0, bytes);
  }
  for (const codegen::GeneratedKernel& kernel : text.generated.kernels) {
    if (kernel.planner) continue;
    std::vector<uint64_t> values;
    for (const codegen::KernelParameter& p : kernel.parameters) {
      uint64_t value = 0;
      if (p.kind == codegen::KernelParameter::Kind::value) value = known(p.value);
      if (p.kind == codegen::KernelParameter::Kind::workspace) value = reinterpret_cast<uint64_t>(workspace + known(text.generated.workspace.offsets.at(p.buffer)));
      if (p.kind == codegen::KernelParameter::Kind::pointer)
        value = reinterpret_cast<uint64_t>(place_of(launch, places, static_cast<size_t>(text.generated.program.buffer(p.buffer).parameter)));
      values.push_back(value);
    }
    std::vector<void*> parameters;
    for (uint64_t& value : values) parameters.push_back(&value);
    tilert_emulator_launch of{};
    of.text = text.number;
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

// What each argument holds afterwards goes to `after`.
void run_launch(const HipText& text, const Scenario& scenario, const Launch& launch, const Target& target, const tilert_emulator_table& emulator, CudaMemory& cuda,
                Outcome& out, std::vector<Bytes>& after) {
  Memory memory(cuda);
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
  if (const std::string wrong = run_kernels(text, scenario, launch, target, emulator, places, memory); !wrong.empty()) return out.fail(wrong);
  for (size_t i = 0; i < places.size(); ++i) {
    Argument stored = launch.arguments[i];
    if (stored.table) stored.dtype = tl::i64;
    after.emplace_back(places[i] ? Bytes(places[i], places[i] + before[i].size()) : before[i]);
    if (stored.same_as < 0 && places[i]) compare(stored, i, before[i], after[i], out);
    if (stored.table) after[i].clear();
  }
}

struct HipEmulated {
  const char* target;
  bool races;
  size_t part;  // every so many of the sample
};
void PrintTo(const HipEmulated& part, std::ostream* out) { *out << part.target << (part.races ? " races" : " outcomes"); }

class EmulatedAmd : public testing::TestWithParam<HipEmulated> {};

// Neither about the runtime nor about other targets.
bool is_for_text(const Scenario& scenario, const char* target) {
  bool plain = refusal_on(scenario, target).empty() && scenario.fails == TILERT_OK && !scenario.debug && scenario.language.empty() && scenario.told.empty();
  for (const Launch& launch : scenario.launches) plain &= launch.plan == Launch::Plan::none && !launch.overlaps;
  return plain;
}

TEST_P(EmulatedAmd, GivesWhatTheCasesSay) {
  const std::string path = TILERT_BINARY_DIR "/lib/libtilert_emulator.so";
  CudaMemory cuda;
  ASSERT_EQ(cuda.open(path, 0), "");
  void* const found = dlsym(dlopen(path.c_str(), RTLD_NOW), "tilert_emulator_control");
  const tilert_emulator_table& emulator = *reinterpret_cast<const tilert_emulator_table* (*)()>(found)();
  ASSERT_TRUE(emulator.set_schedules(GetParam().races ? kHipOrder : kHipSchedules));
  if (emulator.set_races(GetParam().races) != 0) GTEST_SKIP() << "this build's own thread sanitizer has the hooks";
  const Target target = *parse_target(GetParam().target);
  const char* const only = std::getenv("TILERT_EMULATED_CASES");
  std::vector<Trial> trials = only ? all_trials() : sampled_trials();
  std::erase_if(trials, [&](const Trial& t) { return t.row->heavy || (only && t.text().find(only) == std::string::npos); });
  if (!only && GetParam().part > 1) {
    size_t number = 0;
    std::erase_if(trials, [&](const Trial&) { return number++ % GetParam().part != 0; });
  }
  std::vector<std::vector<HipText>> texts(trials.size());
  int refused = 0, ran = 0;
  for (size_t t = 0; t < trials.size(); ++t) {
    const Scenario scenario = trials[t].row->make(trials[t].values);
    if (!is_for_text(scenario, GetParam().target)) continue;
    for (const auto& program : scenario.programs)
      for (const Launch& launch : scenario.launches) texts[t].push_back(make_text(scenario, *program, launch, target, emulator));
  }
  EXPECT_EQ(emulator.compile_pending(), 0);
  for (size_t t = 0; t < trials.size(); ++t) {
    if (texts[t].empty()) continue;
    const Scenario scenario = trials[t].row->make(trials[t].values);
    Outcome out;
    std::vector<std::vector<Bytes>> first;
    bool is_refused = false;
    for (size_t p = 0, next = 0; p < scenario.programs.size() && out.ok; ++p)
      for (size_t l = 0; l < scenario.launches.size() && out.ok; ++l) {
        const HipText& text = texts[t][next++];
        if (!text.wrong.empty()) out.fail(text.wrong);
        if (!text.refused.empty() && !is_refused && std::getenv("TILERT_HIP_REFUSED")) std::cout << trials[t].text() << ": " << text.refused << "\n";
        if (is_refused |= !text.refused.empty(); is_refused || !out.ok) continue;
        std::vector<Bytes> after;
        run_launch(text, scenario, scenario.launches[l], target, emulator, cuda, out, after);
        if (p == 0) first.push_back(std::move(after));
        else if (out.ok && scenario.same_bits && after != first[l]) out.fail("program " + std::to_string(p) + " gives other bits than program 0");
      }
    EXPECT_TRUE(out.ok) << trials[t].text() << " on " << GetParam().target << ":\n" << out.message;
    (is_refused ? refused : ran) += 1;
  }
  if (!only) EXPECT_GE(ran, 6 * refused);
}

INSTANTIATE_TEST_SUITE_P(Gpu, EmulatedAmd,
                         testing::Values(HipEmulated{"gfx90a", false, 4}, HipEmulated{"gfx942", false, 1}, HipEmulated{"gfx942", true, 3}, HipEmulated{"gfx950", false, 4},
                                         HipEmulated{"gfx1100", false, 1}, HipEmulated{"gfx1201", true, 3}),
                         [](const auto& info) { return std::string(info.param.target) + (info.param.races ? "_races" : "_outcomes"); });

}  // namespace
}  // namespace tilert::conformance
