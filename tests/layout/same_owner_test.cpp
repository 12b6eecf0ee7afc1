// same_owner against enumeration: sound always, complete where all radices are 2 and nothing is padded.
#include "layout/same_owner.h"

#include <gtest/gtest.h>

#include "layout/atoms.h"
#include "layout/fragment_builders.h"
#include "layout/random_maps.h"

namespace tilert {
namespace {

using namespace test;

std::vector<int64_t> element_of(const std::vector<int64_t>& iteration, const std::vector<AccessDim>& access) {
  std::vector<int64_t> element;
  for (const AccessDim& dim : access) {
    element.push_back(dim.loop_dim < 0 ? dim.constant : iteration[static_cast<size_t>(dim.loop_dim)]);
  }
  return element;
}

// Where the thread holds the element: its register, or -1. The only candidate follows from the register digits.
int64_t register_in_thread(const FragmentMap& fragment, const std::vector<int64_t>& element, int64_t thread) {
  int64_t candidate = 0, position = 1, coords[8];
  for (const Digit& digit : fragment.digits()) {
    if (digit.place != Place::register_) break;
    candidate += element[static_cast<size_t>(digit.dim)] / digit.stride % digit.extent * position;
    position *= digit.extent;
  }
  fragment.evaluate_into(candidate, thread, coords);
  return std::equal(element.begin(), element.end(), coords) ? candidate : -1;
}

// The claim of a match, checked slot by slot.
void expect_sound(const FragmentMap& loop, const FragmentMap& fragment, const std::vector<AccessDim>& access,
                  const OwnerMatch& match) {
  for_each_slot(loop, [&](int64_t r, int64_t t, const std::vector<int64_t>& iteration) {
    const int64_t found = match.fragment_register(r);
    ASSERT_GE(found, 0);
    if (!inside(iteration, loop.shape())) return;
    ASSERT_LT(found, fragment.registers());
    int64_t coords[8];
    fragment.evaluate_into(found, t, coords);
    const std::vector<int64_t> element = element_of(iteration, access);
    ASSERT_TRUE(std::equal(element.begin(), element.end(), coords)) << loop.text() << " | " << fragment.text();
  });
}

// Enumeration's own answer: one register per loop register, the same in every thread; for writes, injective and all
// holders written.
bool owned(const FragmentMap& loop, const FragmentMap& fragment, const std::vector<AccessDim>& access, bool write) {
  std::vector<int64_t> chosen(static_cast<size_t>(loop.registers()), -1);
  std::map<std::vector<int64_t>, std::set<std::vector<int64_t>>> iterations;
  std::map<std::vector<int64_t>, std::set<int64_t>> writers;
  bool ok = true;
  for_each_slot(loop, [&](int64_t r, int64_t t, const std::vector<int64_t>& iteration) {
    if (!ok || !inside(iteration, loop.shape())) return;
    const auto element = element_of(iteration, access);
    const int64_t found = register_in_thread(fragment, element, t);
    int64_t& known = chosen[static_cast<size_t>(r)];
    ok = found >= 0 && (known == -1 || known == found);
    known = found;
    if (!write) return;
    iterations[element].insert(iteration);
    writers[element].insert(t);
  });
  if (!ok || !write) return ok;
  for (const auto& [element, from] : iterations) {
    if (from.size() != 1) return false;
    if (fragment.holders(element).size() != writers[element].size()) return false;
  }
  return true;
}

// A fragment that a loop over `loop` accesses: some of its dims, perhaps a unit dim between, as a projection of the
// loop's map with the registers renumbered.
struct Case {
  FragmentMap fragment;
  std::vector<AccessDim> access;
};

Case derived_case(Random& random, const FragmentMap& loop) {
  std::vector<int> dims;
  for (int d = 0; d < loop.rank(); d++) {
    if (pick(random, 0, 2) != 0) dims.push_back(d);
  }
  std::shuffle(dims.begin(), dims.end(), random);
  Case made{renumbered(random, loop.project(dims)), {}};
  for (int d : dims) made.access.push_back({d, 0});
  if (pick(random, 0, 2) == 0) {
    const int at = pick(random, 0, made.fragment.rank());
    made.fragment = made.fragment.with_unit_dim(at);
    made.access.insert(made.access.begin() + at, AccessDim{-1, 0});
  }
  return made;
}

TEST(SameOwner, ProjectionsOfTheLoopsMapAlwaysMatchReads) {
  Random random(11);
  for (int round = 0; round < 1500; round++) {
    FragmentMap loop = random_map(random, {.powers_of_two = round % 2 == 0}).trimmed();
    Case made = derived_case(random, loop);
    // Renumbered in pieces that cross each other's radices a fragment may not match; powers of two always nest.
    OwnerMatch match = same_owner(loop, made.fragment, made.access, AccessMode::read);
    if (round % 2 == 0) {
      ASSERT_TRUE(match.matches) << match.reason << "\n" << loop.text() << "\n" << made.fragment.text();
    }
    if (match.matches) expect_sound(loop, made.fragment, made.access, match);
  }
}

TEST(SameOwner, AgreesWithEnumerationOnUnpaddedBinaryMaps) {
  Random random(12);
  const RandomMapOptions options{.max_rank = 2, .max_register_digits = 3, .powers_of_two = true, .padded = false};
  int yes = 0, no = 0;
  for (int round = 0; round < 1500; round++) {
    FragmentMap loop = random_map(random, options);
    Case made = derived_case(random, loop);
    if (round % 2 == 0) {  // disturb it: swap what two digits mean
      std::vector<Digit> digits = made.fragment.digits();
      if (digits.size() > 1) {
        std::shuffle(digits.begin(), digits.end(), random);
        for (size_t i = 0; i + 1 < digits.size(); i++) {
          const bool registers = digits[i].place == Place::register_ || digits[i + 1].place == Place::register_;
          if (registers && (digits[i].dim < 0 || digits[i + 1].dim < 0)) continue;
          if (digits[i].extent == digits[i + 1].extent) {
            std::swap(digits[i].dim, digits[i + 1].dim);
            std::swap(digits[i].stride, digits[i + 1].stride);
            break;
          }
        }
      }
      FragmentMap disturbed(made.fragment.shape(), digits);
      if (disturbed.is_valid()) made.fragment = disturbed;
    }
    for (AccessMode mode : {AccessMode::read, AccessMode::write}) {
      OwnerMatch match = same_owner(loop, made.fragment, made.access, mode);
      const bool expected = owned(loop, made.fragment, made.access, mode == AccessMode::write);
      ASSERT_EQ(match.matches, expected) << match.reason << "\n" << loop.text() << "\n" << made.fragment.text();
      if (match.matches) expect_sound(loop, made.fragment, made.access, match);
      (match.matches ? yes : no)++;
    }
  }
  EXPECT_GT(yes, 800);
  EXPECT_GT(no, 800);
}

TEST(SameOwner, IsSoundOnMixedRadixPaddedMaps) {
  Random random(13);
  int yes = 0;
  for (int round = 0; round < 1500; round++) {
    FragmentMap loop = random_map(random, {.max_register_digits = 3}).trimmed();
    Case made = derived_case(random, loop);
    if (round % 3 == 0) {  // pad the fragment further at the top of a dim
      std::vector<Digit> digits = made.fragment.digits();
      const int dim = made.fragment.rank() > 0 ? pick(random, 0, made.fragment.rank() - 1) : kReplicated;
      if (dim >= 0) digits.insert(digits.begin(), {Place::register_, 2, dim, made.fragment.padded_shape()[static_cast<size_t>(dim)]});
      made.fragment = FragmentMap(made.fragment.shape(), digits);
    }
    for (AccessMode mode : {AccessMode::read, AccessMode::write}) {
      OwnerMatch match = same_owner(loop, made.fragment, made.access, mode);
      if (!match.matches) {
        ASSERT_FALSE(match.reason.empty());
        continue;
      }
      yes++;
      expect_sound(loop, made.fragment, made.access, match);
      ASSERT_TRUE(owned(loop, made.fragment, made.access, mode == AccessMode::write)) << loop.text() << "\n" << made.fragment.text();
    }
  }
  EXPECT_GT(yes, 1000);
}

TEST(SameOwner, CommonStepsServeAllAccessesWithOneNest) {
  Random random(14);
  int served = 0;
  for (int round = 0; round < 1000; round++) {
    FragmentMap loop = random_map(random, {.max_register_digits = 5, .powers_of_two = true}).trimmed();
    std::vector<OwnerMatch> matches;
    for (int i = 0; i < 3; i++) {
      Case made = derived_case(random, loop);
      matches.push_back(same_owner(loop, made.fragment, made.access, AccessMode::read));
      if (!matches.back().matches) matches.pop_back();
    }
    auto common = common_steps(matches);
    ASSERT_TRUE(common);
    for (size_t i = 0; i < matches.size(); i++) {
      const OwnerMatch& refined = (*common)[i];
      ASSERT_EQ(refined.steps.size(), (*common)[0].steps.size());
      for (size_t s = 0; s < refined.steps.size(); s++) {
        ASSERT_EQ(refined.steps[s].position, (*common)[0].steps[s].position);
        ASSERT_EQ(refined.steps[s].extent, (*common)[0].steps[s].extent);
      }
      for (int64_t r = 0; r < loop.registers(); r++) ASSERT_EQ(refined.fragment_register(r), matches[i].fragment_register(r));
      served++;
    }
  }
  EXPECT_GT(served, 2000);
}

TEST(SameOwner, SoftmaxRowsMatchTheAccumulator) {
  const Atom& atom = *find_atom("mma_m16n8k16_bf16");
  FragmentMap scores = accumulator_map(atom, 64, 96, {.m = 4, .n = 1});
  FragmentMap rows = scores.project({0});
  OwnerMatch match = same_owner(scores, rows, {{0}}, AccessMode::read);
  ASSERT_TRUE(match.matches) << match.reason;
  expect_sound(scores, rows, {{0}}, match);
  // Scaling the output accumulator, of another width, by the same rows.
  FragmentMap output = accumulator_map(atom, 64, 128, {.m = 4, .n = 1});
  EXPECT_TRUE(same_owner(output, rows, {{0}}, AccessMode::read).matches);
  // The rows written by a loop over rows: all copies.
  EXPECT_TRUE(same_owner(rows, rows, {{0}}, AccessMode::write).matches);
  // But a loop over the tile may not write them.
  EXPECT_FALSE(same_owner(scores, rows, {{0}}, AccessMode::write).matches);
}

TEST(SameOwner, PartsAreReadOnlyAsParts) {
  FragmentMap parts({8}, {{Place::register_, 8, 0, 1}, {Place::lane, 32, kPartial, 0}});
  FragmentMap loop = parts.completed();
  EXPECT_FALSE(same_owner(loop, parts, {{0}}, AccessMode::read).matches);
  EXPECT_FALSE(same_owner(loop, parts, {{0}}, AccessMode::write).matches);
  EXPECT_TRUE(same_owner(loop, parts, {{0}}, AccessMode::read_parts).matches);
  EXPECT_TRUE(same_owner(loop, parts, {{0}}, AccessMode::write_parts).matches);
}

TEST(SameOwner, ConstantsNeedAnElementThatEveryThreadHolds) {
  FragmentMap fragment({4, 32}, {{Place::register_, 4, 0, 1}, {Place::lane, 32, 1, 1}});
  FragmentMap loop({32}, {{Place::lane, 32, 0, 1}});
  OwnerMatch match = same_owner(loop, fragment, {{-1, 3}, {0}}, AccessMode::read);
  ASSERT_TRUE(match.matches);
  EXPECT_EQ(match.base, 3);
  EXPECT_FALSE(same_owner(loop, fragment, {{-1, 4}, {0}}, AccessMode::read).matches);
  EXPECT_FALSE(same_owner(loop, fragment, {{0}, {-1, 3}}, AccessMode::read).matches);
  EXPECT_FALSE(same_owner(loop, fragment, {{0}, {0}}, AccessMode::read).matches);
}

}  // namespace
}  // namespace tilert
