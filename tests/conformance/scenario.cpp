// Scenarios: how launches and expectations are put together, and which choices of parameters cover all pairs.
#include "conformance/scenario.h"

#include <cmath>
#include <set>
#include <tuple>

namespace tilert::conformance {

Launch& Launch::input(tl::DType dtype, Reals data) {
  arguments.push_back({dtype, false, std::move(data), false, {}, {}, {}});
  return *this;
}
Launch& Launch::scalar(tl::DType dtype, Real value) {
  arguments.push_back({dtype, true, {value}, false, {}, {}, {}});
  return *this;
}
Launch& Launch::output(tl::DType dtype, std::vector<Want> want) {
  Reals sizes(want.size());
  arguments.push_back({dtype, false, std::move(sizes), true, std::move(want), {}, {}});
  return *this;
}
Launch& Launch::inout(tl::DType dtype, Reals data, std::vector<Want> want) {
  arguments.push_back({dtype, false, std::move(data), false, std::move(want), {}, {}});
  return *this;
}
Launch& Launch::placed(std::vector<int64_t> shape, std::vector<int64_t> strides) {
  arguments.back().shape = std::move(shape);
  arguments.back().strides = std::move(strides);
  return *this;
}

Launch& Launch::again(int argument) {
  Argument one = arguments[static_cast<size_t>(argument)];
  one.same_as = argument;
  arguments.push_back(std::move(one));
  return *this;
}
Launch& Launch::null() {
  arguments.back().null = true;
  return *this;
}

Launch& Launch::behind() {
  arguments.back().behind = true;
  return *this;
}
Launch& Launch::table(tl::DType dtype, std::vector<int> entries) {
  Argument one;
  one.dtype = dtype;
  one.table = true;
  one.data.resize(entries.size());
  one.entries = std::move(entries);
  arguments.push_back(std::move(one));
  return *this;
}

Launch& Scenario::launch(std::vector<int64_t> dims) {
  launches.push_back({std::move(dims), {}});
  return launches.back();
}

void Scenario::program(const std::function<void(tl::Builder&)>& body, const char* name) {
  tl::Builder builder(name);
  body(builder);
  programs.push_back(builder.try_finish());
}

int64_t Values::operator[](const char* axis) const {
  for (const auto& [name, value] : list_)
    if (name == axis) return value;
  return -1;
}

std::string Values::text() const {
  std::string out;
  for (const auto& [name, value] : list_) {
    if (!out.empty()) out += ' ';
    out += name + '=' + (name == "dtype" || name == "to" ? name_of(static_cast<tl::DType>(value)) : std::to_string(value));
  }
  return out;
}

// Greedy: the next choice takes, axis by axis, the value that meets most pairs not met yet.
std::vector<Values> pairwise(const std::vector<Axis>& axes) {
  if (axes.empty()) return {Values()};
  using Pair = std::tuple<size_t, size_t, size_t, size_t>;
  std::set<Pair> open;
  for (size_t a = 0; a < axes.size(); ++a)
    for (size_t b = a + 1; b < axes.size(); ++b)
      for (size_t i = 0; i < axes[a].values.size(); ++i)
        for (size_t j = 0; j < axes[b].values.size(); ++j) open.insert({a, b, i, j});
  std::vector<Values> out;
  size_t next_single = 0;
  while (!open.empty() || (axes.size() == 1 && next_single < axes[0].values.size())) {
    std::vector<size_t> chosen(axes.size(), 0);
    if (axes.size() == 1) {
      chosen[0] = next_single++;
    } else {
      const auto [a, b, i, j] = *open.begin();
      for (size_t axis = 0; axis < axes.size(); ++axis) {
        size_t best = axis == a ? i : axis == b ? j : out.size() % axes[axis].values.size(), met = 0;
        for (size_t v = 0; v < axes[axis].values.size() && axis != a && axis != b; ++v) {
          size_t count = 0;
          for (size_t other = 0; other < axes.size(); ++other) {
            const bool settled = other < axis || other == a || other == b;
            if (other == axis || !settled) continue;
            const size_t w = other == a ? i : other == b ? j : chosen[other];
            count += open.count(other < axis ? Pair{other, axis, w, v} : Pair{axis, other, v, w});
          }
          if (count > met) met = count, best = v;
        }
        chosen[axis] = best;
      }
      for (size_t x = 0; x < axes.size(); ++x)
        for (size_t y = x + 1; y < axes.size(); ++y) open.erase({x, y, chosen[x], chosen[y]});
    }
    std::vector<std::pair<std::string, int64_t>> list;
    for (size_t axis = 0; axis < axes.size(); ++axis) list.emplace_back(axes[axis].name, axes[axis].values[chosen[axis]]);
    out.emplace_back(std::move(list));
  }
  return out;
}

const std::vector<std::string>& refusal_on(const Scenario& scenario, const std::string& target) {
  using Needs = Scenario::Needs;
  const bool on_gpu = target.rfind("sm_", 0) == 0 || target.rfind("gfx", 0) == 0;
  const int number = target.rfind("sm_", 0) == 0 ? std::atoi(target.c_str() + 3) : 0;
  const bool has = !on_gpu || scenario.needs == Needs::nothing || (scenario.needs == Needs::tensor_copies && number >= 90) ||
                   (scenario.needs == Needs::warpgroup_products && number == 90);
  static const std::vector<std::string> kOfOldOnes{"which has none"};
  if (has || !scenario.refused.empty()) return scenario.refused;
  return scenario.needs == Needs::no_gpu && number < 90 ? kOfOldOnes : scenario.refused_without;
}

std::vector<Want> exactly(const Reals& values) {
  std::vector<Want> out;
  out.reserve(values.size());
  for (Real v : values) out.push_back({v, 0, false});
  return out;
}

std::vector<Want> exactly_signed(const Reals& values) {
  std::vector<Want> out = exactly(values);
  for (Want& want : out) want.sign = true;
  return out;
}

std::vector<Want> untouched(size_t count) { return std::vector<Want>(count, Want{0, 0, true}); }

std::vector<Want> nearly(tl::DType out_dtype, const Reals& values, const Reals& sizes, Real terms, Real accumulator) {
  std::vector<Want> out;
  out.reserve(values.size());
  if (accumulator == 0) accumulator = std::fmin(epsilon(tl::f32), epsilon(out_dtype));
  for (size_t i = 0; i < values.size(); ++i)
    out.push_back({values[i], epsilon(out_dtype) * std::fabs(values[i]) + 4 * accumulator * std::sqrt(terms) * sizes[i], false});
  return out;
}

std::vector<Want> within_ulps(tl::DType out_dtype, const Reals& values, Real ulps) {
  std::vector<Want> out;
  out.reserve(values.size());
  for (Real v : values) out.push_back({v, ulps * ulp(out_dtype, v), false});
  return out;
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case>* const list = [] {
    auto* cases = new std::vector<Case>;
    for (auto add : {add_copy_cases, add_region_cases, add_element_cases, add_scalar_cases, add_fast_cases, add_type_cases, add_packed_cases, add_packed_tile_cases,
                     add_index_cases, add_sparse_cases, add_scaled_cases,
                     add_reduce_cases, add_gemm_cases, add_operand_cases, add_warpgroup_cases, add_register_operand_cases, add_pipeline_cases, add_order_cases, add_function_cases, add_split_cases, add_fixed_cases, add_unaligned_cases, add_conditional_cases, add_cluster_cases, add_atomic_cases,
                     add_control_cases, add_ends_cases, add_thread_cases, add_thread_misuse_cases, add_async_cases, add_issued_cases, add_role_cases, add_indexed_cases, add_view_cases, add_layout_cases, add_table_cases,
                     add_host_cases, add_hint_cases, add_fold_cases, add_grid_cases, add_persistent_cases, add_report_cases,
                     add_kernel_cases, add_group_cases})
      add(*cases);
    return cases;
  }();
  return *list;
}

std::vector<Trial> all_trials() {
  std::vector<Trial> out;
  for (const Case& row : all_cases())
    for (Values& values : pairwise(row.axes)) out.push_back({&row, std::move(values)});
  return out;
}

std::vector<Trial> sampled_trials() {
  std::vector<Trial> out;
  for (const Case& row : all_cases()) {
    const std::vector<Values> choices = pairwise(row.axes);
    // The first choice of each row, and of rows with many a second one from the middle.
    out.push_back({&row, choices[0]});
    if (choices.size() > 16) out.push_back({&row, choices[choices.size() / 2]});
  }
  return out;
}

}  // namespace tilert::conformance
