// What a conformance case is: a row of the list (number, claim, parameters, a function), and what that function makes
// for one choice of parameters: programs, launches with their data, and what each output element must be.
// Not here: how a scenario is run (runner.h), the rows (cases_*.cpp).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/numbers.h"
#include "tilert.hpp"

namespace tilert::conformance {

// What an element must hold afterwards: a value within a tolerance (NaN: any NaN), or what it held before.
struct Want {
  Real value = 0;
  Real tolerance = 0;
  bool untouched = false;
  bool sign = false;  // of a zero: -0 is not +0
  bool either = false;  // or `other`, within the same tolerance
  Real other = 0;
};

// An argument of a launch. `data` is storage order; outputs are poisoned before the launch, inputs must keep their bytes.
struct Argument {
  tl::DType dtype = tl::f32;
  bool scalar = false;
  Reals data;
  bool poisoned = false;         // an output: `data` only gives its size
  std::vector<Want> want;        // of an output or inout; empty: must keep its bytes
  std::vector<int64_t> shape, strides;  // passed where not empty
  bool null = false;                    // its address is NULL
  size_t leading = 0;                   // of an input: zeros before `data`
  // Memory that only a table points to: no argument of the launch.
  bool behind = false;
  // A table of pointers to these arguments of the list, in order; -1: NULL. `data` only gives the number of its bytes.
  bool table = false;
  std::vector<int> entries;
  int same_as = -1;                     // the memory of that earlier argument, which says what it must hold
};

struct Launch {
  std::vector<int64_t> dims;  // by index of declaration
  std::vector<Argument> arguments;
  int64_t max_blocks = 0;  // of persistent kernels; 0: as many as fit
  bool overlaps = false;   // the grid before it, where the kernel's code waits for it
  enum class Plan { none, on_host, on_device } plan = Plan::none;  // made for this launch; both must be the same

  Launch& input(tl::DType dtype, Reals data);
  Launch& scalar(tl::DType dtype, Real value);
  Launch& output(tl::DType dtype, std::vector<Want> want);
  Launch& inout(tl::DType dtype, Reals data, std::vector<Want> want);
  // Of the last argument.
  Launch& placed(std::vector<int64_t> shape, std::vector<int64_t> strides);
  // The memory of an earlier argument once more.
  Launch& again(int argument);
  // The address of the last argument is not given.
  Launch& null();
  // The last argument is memory that tables point to.
  Launch& behind();
  // A table of pointers to tensors of the type; which arguments they are: those that are behind it.
  Launch& table(tl::DType dtype, std::vector<int> entries);
};

struct Scenario {
  // Each runs every launch; all must give the same bits where `same_bits`.
  std::vector<tl::Result<tl::Program>> programs;
  std::vector<Launch> launches;
  bool same_bits = false;
  // Refused: building or compiling must fail, and its message hold all of these.
  std::vector<std::string> refused;
  // Instructions that not every GPU has, or tiles that none takes: one without is to refuse the program with these words. Others
  // run it.
  enum class Needs { nothing, tensor_copies, warpgroup_products, no_gpu } needs = Needs::nothing;
  std::vector<std::string> refused_without;
  // Launches that must fail with `fails` before anything runs, and with these words.
  tilert_status fails = TILERT_OK;
  std::vector<std::string> words;
  bool of_variants = false;  // about what was compiled: the interpreter has no say
  std::vector<std::pair<std::string, int64_t>> bind;  // dims given when compiled
  // What print and assert have told after each launch since the program was made, sorted: "[x, y, z] text", without places.
  std::vector<std::string> told;
  uint64_t lost = 0;  // for how many of these the ring had no room
  bool debug = false;  // compiled with TILERT_KERNEL_DEBUG; the interpreter, which stops there, has no say
  std::string language;  // of the source text in the programs: only back ends of this language run it

  Launch& launch(std::vector<int64_t> dims = {});
  // Builds a program with `body` and adds it.
  void program(const std::function<void(tl::Builder&)>& body, const char* name = "p");
};

// The chosen value of each axis, by name.
class Values {
 public:
  Values() = default;
  explicit Values(std::vector<std::pair<std::string, int64_t>> list) : list_(std::move(list)) {}
  int64_t operator[](const char* axis) const;
  tl::DType dtype(const char* axis = "dtype") const { return static_cast<tl::DType>((*this)[axis]); }
  std::string text() const;  // "N=63 dtype=f16"

 private:
  std::vector<std::pair<std::string, int64_t>> list_;
};

struct Axis {
  std::string name;
  std::vector<int64_t> values;
};

struct Case {
  std::string number;  // of docs/conformance.md
  std::string name;    // an identifier
  std::vector<Axis> axes;
  Scenario (*make)(const Values&);
  bool heavy = false;  // in memory or time: run on a device alone, by tilert_conformance
};

// One case with one choice of parameters.
struct Trial {
  const Case* row = nullptr;
  Values values;
  std::string text() const { return "case " + row->number + " " + row->name + " " + values.text(); }
};

inline Axis dtypes(std::initializer_list<tl::DType> list) {
  Axis axis{"dtype", {}};
  for (tl::DType d : list) axis.values.push_back(static_cast<int64_t>(d));
  return axis;
}

const std::vector<Case>& all_cases();
std::vector<Trial> all_trials();
// About 60 of them, of every row that compiles, for checks on every target.
std::vector<Trial> sampled_trials();
// Choices of parameters that hold every pair of values of two axes at least once; the same on every machine.
std::vector<Values> pairwise(const std::vector<Axis>& axes);

// What the message of a refusal on the target must hold ("" and CPUs: of building); empty: it is not refused.
const std::vector<std::string>& refusal_on(const Scenario& scenario, const std::string& target);

// Expectations.
std::vector<Want> exactly(const Reals& values);
std::vector<Want> exactly_signed(const Reals& values);  // zeros with their sign
std::vector<Want> untouched(size_t count);
// |error| <= eps(out) * |reference| + 4 * eps(f32) * sqrt(terms) * size, size being the sum of the terms' magnitudes.
// `accumulator`: where not 0, in place of eps(f32): of tensor cores that keep fewer bits of sums.
std::vector<Want> nearly(tl::DType out, const Reals& values, const Reals& sizes, Real terms, Real accumulator = 0);
std::vector<Want> within_ulps(tl::DType out, const Reals& values, Real ulps);

// Filled by cases_*.cpp.
void add_copy_cases(std::vector<Case>& to);
void add_region_cases(std::vector<Case>& to);
void add_element_cases(std::vector<Case>& to);
void add_scalar_cases(std::vector<Case>& to);
void add_fast_cases(std::vector<Case>& to);
void add_type_cases(std::vector<Case>& to);
void add_packed_cases(std::vector<Case>& to);
void add_packed_tile_cases(std::vector<Case>& to);
void add_index_cases(std::vector<Case>& to);
void add_reduce_cases(std::vector<Case>& to);
void add_gemm_cases(std::vector<Case>& to);
void add_sparse_cases(std::vector<Case>& to);
void add_scaled_cases(std::vector<Case>& to);
void add_operand_cases(std::vector<Case>& to);
void add_warpgroup_cases(std::vector<Case>& to);
void add_pipeline_cases(std::vector<Case>& to);
void add_order_cases(std::vector<Case>& to);
void add_function_cases(std::vector<Case>& to);
void add_split_cases(std::vector<Case>& to);
void add_fixed_cases(std::vector<Case>& to);
void add_cluster_cases(std::vector<Case>& to);
void add_unaligned_cases(std::vector<Case>& to);
void add_conditional_cases(std::vector<Case>& to);
void add_register_operand_cases(std::vector<Case>& to);
void add_atomic_cases(std::vector<Case>& to);
void add_control_cases(std::vector<Case>& to);
void add_ends_cases(std::vector<Case>& to);
void add_thread_cases(std::vector<Case>& to);
void add_thread_misuse_cases(std::vector<Case>& to);
void add_async_cases(std::vector<Case>& to);
void add_issued_cases(std::vector<Case>& to);
void add_role_cases(std::vector<Case>& to);
void add_indexed_cases(std::vector<Case>& to);
void add_view_cases(std::vector<Case>& to);
void add_layout_cases(std::vector<Case>& to);
void add_table_cases(std::vector<Case>& to);
void add_host_cases(std::vector<Case>& to);
void add_hint_cases(std::vector<Case>& to);
void add_fold_cases(std::vector<Case>& to);
void add_grid_cases(std::vector<Case>& to);
void add_persistent_cases(std::vector<Case>& to);
void add_report_cases(std::vector<Case>& to);
void add_kernel_cases(std::vector<Case>& to);
void add_group_cases(std::vector<Case>& to);

}  // namespace tilert::conformance
