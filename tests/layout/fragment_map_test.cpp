// Claims about FragmentMap's canonical form, evaluation, inverse and algebra, by enumeration on random maps.
#include "layout/fragment_map.h"

#include <gtest/gtest.h>

#include "layout/random_maps.h"

namespace tilert {
namespace {

using namespace test;

constexpr int kRounds = 300;

TEST(FragmentMap, ValidMapsHoldEveryPaddedElementInEquallyManySlots) {
  Random random(1);
  for (int round = 0; round < kRounds; round++) {
    FragmentMap map = random_map(random);
    ASSERT_TRUE(map.is_valid()) << map.text();
    const auto count = count_holders(map);
    const int64_t elements = product(map.padded_shape());
    ASSERT_EQ(static_cast<int64_t>(count.size()), elements) << map.text();
    for (const auto& [coords, holders] : count) {
      ASSERT_TRUE(inside(coords, map.padded_shape()));
      ASSERT_EQ(holders, map.registers() * map.threads() / elements) << map.text();
    }
  }
}

// Element by element: the same holder has the same row-major element.
TEST(FragmentMap, AReshapedMapKeepsEachElementWhereItIs) {
  const std::vector<std::pair<const char*, std::vector<int64_t>>> rows = {
      {"[16, 8] register(2:d1*1 2:d0*8) lane(4:d1*2 8:d0*1)", {128}},
      {"[16, 8] register(2:d1*1 2:d0*8) lane(4:d1*2 8:d0*1)", {4, 4, 8}},
      {"[16, 8] register(2:d1*1 2:d0*8) lane(4:d1*2 8:d0*1)", {8, 16}},
      {"[576] register(18:d0*1) lane(32:d0*18)", {32, 18}},
      {"[24, 24] register(3:d1*1 6:d0*4) lane(8:d1*3 4:d0*1)", {576}},
      {"[6, 32] register(6:d0*1) lane(32:d1*1)", {2, 3, 32}},
      {"[4, 32] register(4:d0*1) lane(32:d1*1) warp(2:rep)", {128}},
  };
  for (const auto& [text, shape] : rows) {
    const auto map = parse_fragment_map(text);
    ASSERT_TRUE(map) << text;
    const auto other = map->reshaped(shape);
    ASSERT_TRUE(other) << text;
    ASSERT_TRUE(other->is_valid());
    const auto linear = [](const std::vector<int64_t>& extents, const std::vector<int64_t>& at) {
      int64_t element = 0;
      for (size_t d = 0; d < extents.size(); d++) element = element * extents[d] + at[d];
      return element;
    };
    for (int64_t r = 0; r < map->registers(); r++)
      for (int64_t t = 0; t < map->threads(); t++)
        ASSERT_EQ(linear(map->shape(), map->evaluate(r, t)), linear(shape, other->evaluate(r, t))) << text << " " << other->text();
  }
}

TEST(FragmentMap, AnExpandedMapHasThePartsOfEachElementInItsThread) {
  for (const char* text : {"[16, 8] register(2:d1*1 2:d0*8) lane(4:d1*2 8:d0*1)", "[64] lane(32:d0*1) warp(2:d0*32)"}) {
    const auto map = parse_fragment_map(text);
    const FragmentMap parts = map->expanded(4);
    const auto back = parts.contracted(4);
    ASSERT_TRUE(parts.is_valid()) << parts.text();
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, *map);
    for (int64_t r = 0; r < parts.registers(); r++)
      for (int64_t t = 0; t < map->threads(); t++) {
        std::vector<int64_t> at = map->evaluate(r / 4, t);
        at.back() = at.back() * 4 + r % 4;
        ASSERT_EQ(parts.evaluate(r, t), at) << text;
      }
  }
  EXPECT_FALSE(parse_fragment_map("[64] lane(32:d0*1) warp(2:d0*32)")->contracted(2));
}

TEST(FragmentMap, WhatCrossesABorderOrIsPaddedHasNoReshapedForm) {
  EXPECT_FALSE(parse_fragment_map("[576] register(18:d0*1) lane(32:d0*18)")->reshaped({24, 24}));  // runs of 18 in rows of 24
  EXPECT_FALSE(parse_fragment_map("[15, 8] register(2:d1*1 2:d0*8) lane(4:d1*2 8:d0*1)")->reshaped({120}));
}

TEST(FragmentMap, HoldersAreExactlyTheSlotsThatEvaluateToTheElement) {
  Random random(2);
  for (int round = 0; round < kRounds / 3; round++) {
    FragmentMap map = random_map(random);
    std::map<std::vector<int64_t>, std::vector<Holder>> expected;
    for_each_slot(map, [&](int64_t r, int64_t t, const std::vector<int64_t>& coords) { expected[coords].push_back({r, t}); });
    for (auto& [coords, holders] : expected) {
      std::sort(holders.begin(), holders.end());
      ASSERT_EQ(map.holders(coords), holders) << map.text();
    }
    std::vector<int64_t> outside = map.padded_shape();
    EXPECT_TRUE(map.holders(outside).empty());
  }
}

TEST(FragmentMap, CoordinatesAreRegisterOffsetPlusThreadTerms) {
  Random random(3);
  for (int round = 0; round < kRounds / 3; round++) {
    FragmentMap map = random_map(random);
    for_each_slot(map, [&](int64_t r, int64_t t, const std::vector<int64_t>& coords) {
      for (int d = 0; d < map.rank(); d++) {
        ASSERT_EQ(coords[static_cast<size_t>(d)], map.register_offset(r, d) + sum_of_terms(map.thread_terms(d), t));
      }
    });
  }
}

TEST(FragmentMap, ReplicaTermsAreZeroInExactlyOneHolderOfEachElement) {
  Random random(4);
  for (int round = 0; round < kRounds / 3; round++) {
    FragmentMap map = random_map(random);
    std::map<std::vector<int64_t>, int> leaders;
    for_each_slot(map, [&](int64_t, int64_t t, const std::vector<int64_t>& coords) {
      bool leads = true;
      for (const ThreadTerm& term : map.replica_terms()) leads = leads && sum_of_terms({term}, t) == 0;
      leaders[coords] += leads;
    });
    for (const auto& [coords, count] : leaders) ASSERT_EQ(count, 1) << map.text();
  }
}

TEST(FragmentMap, TextRoundTripsAndIsCanonical) {
  Random random(5);
  for (int round = 0; round < kRounds; round++) {
    FragmentMap map = random_map(random);
    auto parsed = parse_fragment_map(map.text());
    ASSERT_TRUE(parsed) << map.text();
    ASSERT_EQ(*parsed, map);
  }
  FragmentMap cut({8}, {{Place::register_, 2, 0, 1}, {Place::register_, 1, 0, 1}, {Place::register_, 4, 0, 2}});
  EXPECT_EQ(cut.text(), "[8] register(8:d0*1)");
  EXPECT_EQ(cut, FragmentMap({8}, {{Place::register_, 8, 0, 1}}));
}

TEST(FragmentMap, UnreadableTextsAreRefused) {
  for (const char* text : {"", "[8", "[8]x", "[8] register(8:d0*0)", "[8] register(8:d1*1)", "[8] register(4:d0*1)",
                           "[8] register(8:d0*2)", "[8] register(8:rep)", "[8] lane(0:d0*1)", "[8] lane(8:d0*1"}) {
    EXPECT_FALSE(parse_fragment_map(text)) << text;
  }
}

TEST(FragmentMap, GapsAndOverlapsAreInvalid) {
  EXPECT_FALSE(FragmentMap({8}, {{Place::lane, 4, 0, 2}}).is_valid());                                 // gap at 1
  EXPECT_FALSE(FragmentMap({8}, {{Place::lane, 4, 0, 1}, {Place::register_, 4, 0, 2}}).is_valid());    // overlap
  EXPECT_FALSE(FragmentMap({8}, {{Place::lane, 4, 0, 1}}).is_valid());                                 // reaches 4 of 8
  EXPECT_TRUE(FragmentMap({7}, {{Place::lane, 4, 0, 1}, {Place::register_, 2, 0, 4}}).is_valid());
  EXPECT_TRUE(FragmentMap({}, {{Place::lane, 32, kReplicated, 0}}).is_valid());
}

TEST(FragmentMap, ProjectKeepsTheCoordinatesOfTheKeptDimsInTheSameThread) {
  Random random(6);
  for (int round = 0; round < kRounds; round++) {
    FragmentMap map = random_map(random);
    std::vector<int> dims;
    for (int d = 0; d < map.rank(); d++) {
      if (pick(random, 0, 1)) dims.push_back(d);
    }
    std::shuffle(dims.begin(), dims.end(), random);
    FragmentMap projected = map.project(dims);
    ASSERT_TRUE(projected.is_valid());
    ASSERT_EQ(projected.threads(), map.threads());
    for (int64_t t = 0; t < map.threads(); t++) {
      std::set<std::vector<int64_t>> expected, got;
      for (int64_t r = 0; r < map.registers(); r++) {
        std::vector<int64_t> kept;
        for (int d : dims) kept.push_back(map.evaluate(r, t)[static_cast<size_t>(d)]);
        expected.insert(kept);
      }
      for (int64_t r = 0; r < projected.registers(); r++) ASSERT_TRUE(got.insert(projected.evaluate(r, t)).second);
      ASSERT_EQ(got, expected) << map.text() << " -> " << projected.text();
    }
  }
}

TEST(FragmentMap, PermuteAndUnitDimsRenameCoordinatesOnly) {
  Random random(7);
  for (int round = 0; round < kRounds; round++) {
    FragmentMap map = random_map(random);
    std::vector<int> order(static_cast<size_t>(map.rank()));
    for (size_t d = 0; d < order.size(); d++) order[d] = static_cast<int>(d);
    std::shuffle(order.begin(), order.end(), random);
    const int at = pick(random, 0, map.rank());
    FragmentMap permuted = map.permute(order), longer = map.with_unit_dim(at);
    ASSERT_TRUE(longer.is_valid());
    for_each_slot(map, [&](int64_t r, int64_t t, std::vector<int64_t> coords) {
      const std::vector<int64_t> there = permuted.evaluate(r, t);
      for (size_t d = 0; d < order.size(); d++) ASSERT_EQ(there[d], coords[static_cast<size_t>(order[d])]);
      coords.insert(coords.begin() + at, 0);
      ASSERT_EQ(longer.evaluate(r, t), coords);
    });
    ASSERT_EQ(longer.shape()[static_cast<size_t>(at)], 1);
  }
}

TEST(FragmentMap, TrimmedKeepsEveryLogicalElementWithItsThread) {
  Random random(8);
  int cut = 0;
  for (int round = 0; round < kRounds; round++) {
    FragmentMap map = random_map(random), trimmed = map.trimmed();
    ASSERT_TRUE(trimmed.is_valid()) << map.text();
    ASSERT_LE(trimmed.registers(), map.registers());
    cut += trimmed.registers() < map.registers();
    std::map<std::vector<int64_t>, std::set<int64_t>> before, after;
    for_each_slot(map, [&](int64_t, int64_t t, const std::vector<int64_t>& c) { before[c].insert(t); });
    for_each_slot(trimmed, [&](int64_t, int64_t t, const std::vector<int64_t>& c) { after[c].insert(t); });
    for (const auto& [coords, threads] : before) {
      if (inside(coords, map.shape())) {
        ASSERT_EQ(after[coords], threads);
      }
    }
  }
  EXPECT_GT(cut, 5);
}

TEST(FragmentMap, RefinedMapsHaveEqualExtentsAndEvaluateAsBefore) {
  Random random(9);
  int refined = 0;
  for (int round = 0; round < kRounds; round++) {
    FragmentMap a = random_map(random), b = renumbered(random, a);
    auto pair = refine(a, b);
    if (!pair) continue;
    refined++;
    ASSERT_EQ(pair->a_registers.size(), pair->b_registers.size());
    for (size_t i = 0; i < pair->a_registers.size(); i++) {
      ASSERT_EQ(pair->a_registers[i].digit.extent, pair->b_registers[i].digit.extent);
      ASSERT_EQ(pair->a_registers[i].position, pair->b_registers[i].position);
    }
    std::vector<Digit> digits;
    for (const auto* list : {&pair->a_registers, &pair->a_threads}) {
      for (const PlacedDigit& placed : *list) digits.push_back(placed.digit);
    }
    ASSERT_EQ(FragmentMap(a.shape(), digits), a);
  }
  EXPECT_GT(refined, kRounds / 2);
}

TEST(FragmentMap, WarpsAndWarpgroupsAreOneThreadIndex) {
  FragmentMap map({6}, {{Place::warp, 2, 0, 1}, {Place::warpgroup, 3, 0, 2}});
  EXPECT_EQ(map.thread_digits().size(), 1u);
  EXPECT_EQ(map.evaluate(0, 5), std::vector<int64_t>{5});
}

}  // namespace
}  // namespace tilert
