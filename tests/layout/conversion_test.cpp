// Conversion plans executed on labelled data: every logical element arrives, whatever the plan chose.
#include "layout/conversion.h"

#include <gtest/gtest.h>

#include "layout/atoms.h"
#include "layout/fragment_builders.h"
#include "layout/simulate.h"

namespace tilert {
namespace {

using namespace test;

void expect_converts(const FragmentMap& from, const FragmentMap& to, const ConversionPlan& plan) {
  ASSERT_NE(plan.kind, ConversionKind::impossible) << plan.reason;
  const int64_t parts = part_count(from);
  const Data moved = run_conversion(plan, make_data(from));
  for_each_slot(to, [&](int64_t r, int64_t t, const std::vector<int64_t>& coords) {
    if (!inside(coords, to.shape())) return;
    const int64_t expected = to.is_partial() ? value_of(coords, part_of(to, t)) : total_of(coords, parts);
    ASSERT_EQ(moved[static_cast<size_t>(t)][static_cast<size_t>(r)], expected) << from.text() << "\n" << to.text();
  });
  if (plan.kind == ConversionKind::shared) {
    ASSERT_EQ(plan.shared_bytes, plan.staging.bytes(plan.parts));
    ASSERT_GT(plan.cost_cycles, 0);
  }
}

// Moves meaning between places: digits of equal extent trade what they are bound to.
FragmentMap traded(Random& random, const FragmentMap& map, int trades) {
  std::vector<Digit> digits;
  for (const Digit& digit : map.digits()) {  // cut twos apart so that there is something to trade
    int64_t rest = digit.extent, stride = digit.stride;
    for (; rest % 2 == 0; rest /= 2, stride *= 2) digits.push_back({digit.place, 2, digit.dim, stride});
    digits.push_back({digit.place, rest, digit.dim, stride});
  }
  for (int i = 0; i < trades; i++) {
    Digit& a = digits[static_cast<size_t>(pick(random, 0, static_cast<int>(digits.size()) - 1))];
    Digit& b = digits[static_cast<size_t>(pick(random, 0, static_cast<int>(digits.size()) - 1))];
    const bool copies_in_registers = (a.place == Place::register_ || b.place == Place::register_) && (a.dim < 0 || b.dim < 0);
    if (a.extent != b.extent || copies_in_registers) continue;
    std::swap(a.dim, b.dim);
    std::swap(a.stride, b.stride);
  }
  return FragmentMap(map.shape(), digits);
}

TEST(Conversion, EveryRandomPairArrivesWhole) {
  Random random(21);
  std::map<ConversionKind, int> kinds;
  for (int round = 0; round < 1500; round++) {
    FragmentMap from = random_map(random, {.powers_of_two = round % 3 == 0});
    FragmentMap to = renumbered(random, traded(random, from, round % 4));
    ASSERT_TRUE(to.is_valid());
    ConversionPlan plan = plan_conversion(from, to, 4);
    expect_converts(from, to, plan);
    kinds[plan.kind]++;
    if (HasFatalFailure()) return;
  }
  for (ConversionKind kind : {ConversionKind::none, ConversionKind::registers, ConversionKind::shuffles, ConversionKind::shared}) {
    EXPECT_GT(kinds[kind], 50) << static_cast<int>(kind);
  }
}

TEST(Conversion, UnrelatedMapsOfOneShapeArriveWhole) {
  const Atom& atom = *find_atom("mma_m16n8k16_bf16");
  for (int64_t m : {16, 48, 97}) {
    for (int64_t n : {8, 24, 64}) {
      std::vector<FragmentMap> maps = {accumulator_map(atom, m, n, {2, 2}), accumulator_map(atom, m, n, {4, 1}),
                                             a_operand_map(atom, m, n, {2, 2}),   b_operand_map(atom, m, n, {1, 4}),
                                             blocked_map({m, n}, 128, 8, 32),
                                             accumulator_map(*find_atom("wgmma_m64k16_bf16"), m, n, {})};
      if (m * n <= 400) maps.push_back(replicated_map({m, n}, 128, 32));
      for (const FragmentMap& from : maps) {
        for (const FragmentMap& to : maps) {
          expect_converts(from, to, plan_conversion(from, to, 2));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Conversion, PartsAreAddedUpOnTheWay) {
  Random random(22);
  std::map<ConversionKind, int> kinds;
  for (int round = 0; round < 600; round++) {
    FragmentMap whole = random_map(random);
    std::vector<Digit> digits = whole.digits();
    bool any = false;
    for (Digit& digit : digits) {
      if (digit.dim != kReplicated || pick(random, 0, 3) == 0) continue;
      digit.dim = kPartial;
      any = true;
    }
    if (!any) continue;
    FragmentMap from(whole.shape(), digits);
    FragmentMap to = renumbered(random, traded(random, from.completed(), round % 3));
    ConversionPlan plan = plan_conversion(from, to, 4);
    expect_converts(from, to, plan);
    kinds[plan.kind]++;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(kinds[ConversionKind::shared], 50);
  EXPECT_GT(kinds[ConversionKind::none], 20);
}

TEST(Conversion, EqualMapsNeedNothing) {
  Random random(23);
  for (int round = 0; round < 200; round++) {
    FragmentMap map = random_map(random);
    ConversionPlan plan = plan_conversion(map, map, 4);
    ASSERT_EQ(plan.kind, ConversionKind::none) << map.text();
    ASSERT_EQ(plan.cost_cycles, 0);
    ASSERT_EQ(plan.shuffle_count(), 0);
  }
}

TEST(Conversion, TheAccumulatorOf16BitIsTheNextOperandUpToRegisterOrder) {
  for (const char* name : {"mma_m16n8k16_bf16", "wgmma_m64k16_bf16"}) {
    const Atom& atom = *find_atom(name);
    const int64_t rows = 2 * atom.m;
    const WarpGrid grid{.m = 2};
    FragmentMap c = accumulator_map(atom, rows, 64, grid), a = a_operand_map(atom, rows, 64, grid);
    ConversionPlan plan = plan_conversion(c, a, 2);
    EXPECT_EQ(plan.kind, ConversionKind::none) << plan.reason;
  }
  const Atom& int8 = *find_atom("mma_m16n8k32_s8");  // of 8-bit operands it is not
  ConversionPlan plan = plan_conversion(accumulator_map(int8, 16, 64, {}), a_operand_map(int8, 16, 64, {}), 1);
  EXPECT_NE(plan.kind, ConversionKind::none);
  EXPECT_NE(plan.kind, ConversionKind::registers);
}

TEST(Conversion, LanesTradeByOneShufflePerRegister) {
  FragmentMap from({32}, {{Place::lane, 32, 0, 1}});
  FragmentMap to({32}, {{Place::lane, 4, 0, 8}, {Place::lane, 8, 0, 1}});
  ConversionPlan plan = plan_conversion(from, to, 4);
  ASSERT_EQ(plan.kind, ConversionKind::shuffles);
  EXPECT_EQ(plan.shuffle_count(), 1);
  expect_converts(from, to, plan);
}

TEST(Conversion, PartsStayApartWhereBothSidesKeepThem) {
  FragmentMap from({4, 2}, {{Place::register_, 4, 0, 1}, {Place::register_, 2, 1, 1}, {Place::lane, 32, kPartial, 0}});
  FragmentMap to({4, 2}, {{Place::register_, 2, 1, 1}, {Place::register_, 4, 0, 1}, {Place::lane, 32, kPartial, 0}});
  ConversionPlan plan = plan_conversion(from, to, 4);
  ASSERT_EQ(plan.kind, ConversionKind::registers);
  expect_converts(from, to, plan);
}

TEST(Conversion, WhatCannotBeIsImpossibleWithAReason) {
  FragmentMap whole({8}, {{Place::register_, 8, 0, 1}, {Place::lane, 32, kReplicated, 0}});
  FragmentMap parts({8}, {{Place::register_, 8, 0, 1}, {Place::lane, 32, kPartial, 0}});
  FragmentMap longer({16}, {{Place::register_, 16, 0, 1}, {Place::lane, 32, kReplicated, 0}});
  FragmentMap wider({8}, {{Place::register_, 8, 0, 1}, {Place::lane, 32, kReplicated, 0}, {Place::warp, 2, kReplicated, 0}});
  for (const auto& [from, to] : {std::pair(whole, parts), std::pair(whole, longer), std::pair(whole, wider)}) {
    ConversionPlan plan = plan_conversion(from, to, 4);
    EXPECT_EQ(plan.kind, ConversionKind::impossible);
    EXPECT_FALSE(plan.reason.empty());
  }
}

}  // namespace
}  // namespace tilert
