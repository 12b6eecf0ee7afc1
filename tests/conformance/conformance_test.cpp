// Each case of the list on each back end of this machine, as one test: all its choices of parameters. A GPU that is not
// here is skipped by name, and so is the CPU in a build without its plugin; and what the comparison itself refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "conformance/runner.h"

namespace tilert::conformance {
namespace {

struct Row {
  Backend backend;
  size_t index;
};

void PrintTo(const Row& row, std::ostream* out) { *out << all_cases()[row.index].number << " " << all_cases()[row.index].name; }

std::vector<Row> rows(Backend backend) {
  std::vector<Row> out;
  for (size_t i = 0; i < all_cases().size(); ++i) out.push_back({backend, i});
  return out;
}

// The machine of this process, or why there is none.
Machine* machine(Backend backend, std::string& why_not) {
  static std::string reasons[3];
  static std::unique_ptr<Machine> machines[3];
  const auto at = static_cast<size_t>(backend);
  if (!machines[at] && reasons[at].empty()) machines[at] = Machine::open(backend, reasons[at]);
  why_not = reasons[at];
  return machines[at].get();
}

// Whether its absence is a fault and not the machine's nature.
bool is_due(Backend backend) {
#ifdef TILERT_HAVE_LLVM
  if (backend == Backend::cpu) return true;
#endif
  return backend == Backend::interpreter;
}

class Conformance : public testing::TestWithParam<Row> {};

TEST_P(Conformance, GivesWhatTheCaseSays) {
  std::string why_not;
  Machine* const here = machine(GetParam().backend, why_not);
  if (!here && is_due(GetParam().backend)) FAIL() << why_not;
  if (!here) GTEST_SKIP() << why_not;
  const Case& row = all_cases()[GetParam().index];
  if (row.heavy) GTEST_SKIP() << "is for a device: tilert_conformance runs it there";
  size_t ran = 0;
  for (const Values& values : pairwise(row.axes)) {
    const Outcome outcome = here->run(row.make(values));
    ran += !outcome.apart;
    EXPECT_TRUE(outcome.ok) << "case " << row.number << " " << row.name << " " << values.text() << ":\n" << outcome.message;
  }
  if (ran == 0) GTEST_SKIP() << "not for this back end";
}

std::string test_name(const testing::TestParamInfo<Row>& info) {
  return "case_" + all_cases()[info.param.index].number + "_" + all_cases()[info.param.index].name;
}

INSTANTIATE_TEST_SUITE_P(Interpreter, Conformance, testing::ValuesIn(rows(Backend::interpreter)), test_name);
INSTANTIATE_TEST_SUITE_P(Cpu, Conformance, testing::ValuesIn(rows(Backend::cpu)), test_name);
INSTANTIATE_TEST_SUITE_P(Cuda, Conformance, testing::ValuesIn(rows(Backend::cuda)), test_name);

// What comparing says of one element of an output that held `poison` and now holds `bits`.
std::string verdict(tl::DType dtype, Want want, uint64_t poison, uint64_t bits) {
  Argument argument{dtype, false, {0}, true, {want}, {}, {}};
  Bytes before(bytes_of(dtype)), after(bytes_of(dtype));
  std::memcpy(before.data(), &poison, before.size());
  std::memcpy(after.data(), &bits, after.size());
  Outcome out;
  compare(argument, 0, before, after, out);
  return out.ok ? "" : out.message;
}

TEST(Comparison, AnElementThatHoldsThePoisonIsNotWritten) {
  EXPECT_EQ(verdict(tl::f32, {NAN}, 0xffa5a5a5, 0x7fc00000), "");
  EXPECT_NE(verdict(tl::f32, {NAN}, 0xffa5a5a5, 0xffa5a5a5), "");
  EXPECT_NE(verdict(tl::i8, {-91}, 0xa5, 0xa5), "");
  EXPECT_EQ(verdict(tl::i8, {0, 0, true}, 0xa5, 0xa5), "");
  EXPECT_NE(verdict(tl::i8, {0, 0, true}, 0xa5, 0), "");
}

TEST(Comparison, ABoolIsZeroOrOne) {
  EXPECT_EQ(verdict(tl::boolean, {1}, 0xa5, 1), "");
  EXPECT_NE(verdict(tl::boolean, {1}, 0xa5, 0), "");
  EXPECT_NE(verdict(tl::boolean, {1}, 0xa5, 2), "");
  EXPECT_NE(verdict(tl::boolean, {2}, 0xa5, 2), "");
}

TEST(Comparison, TheSignOfAZeroCountsWhereTheCaseSaysSo) {
  EXPECT_EQ(verdict(tl::f32, {0, 0, false, true}, 1, 0), "");
  EXPECT_NE(verdict(tl::f32, {0, 0, false, true}, 1, 0x80000000), "");
  EXPECT_EQ(verdict(tl::f32, {0}, 1, 0x80000000), "");
  EXPECT_NE(verdict(tl::bf16, {-Real{0}, 0, false, true}, 1, 0), "");
}

TEST(Pairs, EveryPairOfValuesOfTwoAxesIsMet) {
  const std::vector<Axis> axes = {{"a", {1, 2, 3}}, {"b", {1, 2, 3, 4}}, {"c", {1, 2}}, {"d", {5, 6, 7}}};
  const std::vector<Values> chosen = pairwise(axes);
  EXPECT_LT(chosen.size(), 20u);
  for (size_t x = 0; x < axes.size(); ++x)
    for (size_t y = x + 1; y < axes.size(); ++y)
      for (int64_t v : axes[x].values)
        for (int64_t w : axes[y].values) {
          bool met = false;
          for (const Values& c : chosen) met |= c[axes[x].name.c_str()] == v && c[axes[y].name.c_str()] == w;
          EXPECT_TRUE(met) << axes[x].name << "=" << v << " " << axes[y].name << "=" << w;
        }
}

}  // namespace
}  // namespace tilert::conformance
