// Executes conversion and reduction plans on labelled data, thread by thread, for the tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "layout/conversion.h"
#include "layout/random_maps.h"
#include "layout/reduce_plan.h"

namespace tilert::test {

// data[thread][register]
using Data = std::vector<std::vector<int64_t>>;

constexpr int64_t kGarbage = -987654321;  // what a slot outside the logical shape holds

inline int64_t label_of(const std::vector<int64_t>& coords) {
  int64_t label = 17;
  for (int64_t coord : coords) label = label * 1009 + coord;
  return label % 100003;
}

// The part of an unfinished sum that thread holds: its partial digits' values, as one number.
inline int64_t part_of(const FragmentMap& map, int64_t thread) {
  int64_t part = 0, scale = 1;
  for (const PlacedDigit& placed : map.thread_digits()) {
    if (placed.digit.dim != kPartial) continue;
    part += thread / placed.position % placed.digit.extent * scale;
    scale *= placed.digit.extent;
  }
  return part;
}

inline int64_t part_count(const FragmentMap& map) {
  int64_t count = 1;
  for (const PlacedDigit& placed : map.thread_digits()) {
    if (placed.digit.dim == kPartial) count *= placed.digit.extent;
  }
  return count;
}

// label + 7 * part in each part, so that the parts of an element differ and their sum is known.
inline int64_t value_of(const std::vector<int64_t>& coords, int64_t part) { return label_of(coords) + 7 * part; }
inline int64_t total_of(const std::vector<int64_t>& coords, int64_t parts) {
  return label_of(coords) * parts + 7 * (parts * (parts - 1) / 2);
}

inline Data make_data(const FragmentMap& map, int64_t outside = kGarbage) {
  Data data(static_cast<size_t>(map.threads()), std::vector<int64_t>(static_cast<size_t>(map.registers())));
  for_each_slot(map, [&](int64_t r, int64_t t, const std::vector<int64_t>& coords) {
    data[static_cast<size_t>(t)][static_cast<size_t>(r)] =
        inside(coords, map.shape()) ? value_of(coords, part_of(map, t)) : outside;
  });
  return data;
}

inline void add_over_lanes(Data& data, const std::vector<int64_t>& masks) {
  for (int64_t mask : masks) {
    const Data before = data;
    for (size_t t = 0; t < data.size(); t++) {
      for (size_t r = 0; r < data[t].size(); r++) data[t][r] += before[t ^ static_cast<size_t>(mask)][r];
    }
  }
}

inline Data move_in_warp(const ConversionPlan& plan, const Data& data) {
  Data moved(data.size(), std::vector<int64_t>(plan.sources.size()));
  const int64_t lanes = plan.target.lanes();
  for (size_t t = 0; t < data.size(); t++) {
    const auto thread = static_cast<int64_t>(t);
    const int64_t lane_offset = sum_of_terms(plan.lane_terms, thread), candidate = sum_of_terms(plan.register_terms, thread);
    EXPECT_NE(std::ranges::find(plan.candidates, candidate), plan.candidates.end());
    for (size_t r = 0; r < plan.sources.size(); r++) {
      const int64_t lane = plan.sources[r].lane_base + lane_offset;
      EXPECT_LT(lane, lanes);
      if (plan.same_lane) {
        EXPECT_EQ(lane, thread % lanes);
      }
      const auto from = static_cast<size_t>(thread / lanes * lanes + lane);
      const auto source = static_cast<size_t>(plan.sources[r].register_base + candidate);
      EXPECT_LT(source, data[from].size());
      if (from < data.size() && source < data[from].size()) moved[t][r] = data[from][source];
    }
  }
  return moved;
}

inline Data through_shared(const ConversionPlan& plan, const Data& data) {
  constexpr int64_t kNotWritten = INT64_MIN;
  std::vector<int64_t> memory(static_cast<size_t>(plan.shared_bytes), kNotWritten);
  for_each_slot(plan.source, [&](int64_t r, int64_t t, const std::vector<int64_t>& coords) {
    if (!inside(coords, plan.source.shape())) return;
    const int64_t address = plan.staging.evaluate(coords, sum_of_terms(plan.part_terms, t));
    const int64_t value = data[static_cast<size_t>(t)][static_cast<size_t>(r)];
    ASSERT_GE(address, 0);
    ASSERT_LE(address + plan.staging.element_bytes(), plan.shared_bytes);
    int64_t& slot = memory[static_cast<size_t>(address)];
    if (slot != kNotWritten) {
      EXPECT_EQ(slot, value) << "copies differ";
    }
    slot = value;
  });
  Data read(data.size(), std::vector<int64_t>(static_cast<size_t>(plan.target.registers())));
  for_each_slot(plan.target, [&](int64_t r, int64_t t, const std::vector<int64_t>& coords) {
    if (!inside(coords, plan.target.shape())) return;
    for (int64_t part = 0; part < plan.parts; part++) {
      const int64_t value = memory[static_cast<size_t>(plan.staging.evaluate(coords, part))];
      ASSERT_NE(value, kNotWritten) << "read before written";
      read[static_cast<size_t>(t)][static_cast<size_t>(r)] += value;
    }
  });
  return read;
}

inline Data run_conversion(const ConversionPlan& plan, Data data) {
  add_over_lanes(data, plan.complete_lane_xor);
  return plan.kind == ConversionKind::shared ? through_shared(plan, data) : move_in_warp(plan, data);
}

}  // namespace tilert::test
