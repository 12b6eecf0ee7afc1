// Planning conversions: pair the digits of the two maps that move the same piece of the same dim; where a piece sits on
// both sides decides whether it stays in the thread, crosses lanes, or must go through shared memory.
#include "layout/conversion.h"

#include <algorithm>
#include <numeric>

#include "layout/banks.h"
#include "layout/digit_lists.h"

namespace tilert {
namespace {

// Costs in cycles of one multiprocessor.
constexpr double kShuffleCycles = 1, kShuffleLatency = 25, kSelectCycles = 0.5;
constexpr double kBarrierCycles = 30, kSharedLatency = 60;
constexpr int64_t kMaxCandidates = 8;      // beyond this many registers to choose from, shared memory is always cheaper
constexpr int64_t kSampledAccesses = 4;    // of each side, to estimate bank conflicts
constexpr int64_t kStagingPad = 16;        // bytes between rows: keeps 16-byte accesses aligned

// A piece of a dim: `source` digit of the writer holds it, `target` digit of the reader. The extents are equal but for
// the topmost digits, where logical elements use only the values that both have.
struct Link {
  PlacedDigit source, target;
};

bool in_register(const PlacedDigit& placed) { return placed.digit.place == Place::register_; }
bool in_lane(const PlacedDigit& placed) { return placed.digit.place == Place::lane; }
bool is_upper(const PlacedDigit& placed) { return placed.digit.place == Place::warp || placed.digit.place == Place::warpgroup; }

// Pairs the digits of one dim; false where radices do not nest. Where one side is padded further its topmost pieces are
// zero for every logical element, and stay without a partner; likewise the excess values of a topmost register digit.
bool link_dim(std::vector<PlacedDigit> source, std::vector<PlacedDigit> target, std::vector<Link>& links,
              std::vector<PlacedDigit>& source_rest) {
  size_t i = 0;
  for (; i < source.size() && i < target.size(); i++) {
    const int64_t x = source[i].digit.extent, y = target[i].digit.extent;
    if (x > y && x % y == 0) split_digit(source, i, y);
    else if (x < y && y % x == 0) split_digit(target, i, x);
    else if (x != y && !(in_register(target[i]) && i + 1 == source.size() && i + 1 == target.size())) return false;
    links.push_back({source[i], target[i]});
  }
  source_rest.insert(source_rest.end(), source.begin() + static_cast<std::ptrdiff_t>(i), source.end());
  return true;
}

double warps(const FragmentMap& map) { return static_cast<double>(map.threads()) / static_cast<double>(map.lanes()); }

class Planner {
 public:
  Planner(const FragmentMap& from, const FragmentMap& to, int64_t element_bytes)
      : from_(from), to_(to), element_bytes_(element_bytes) {}

  ConversionPlan plan();

 private:
  bool refuse();
  void complete_lanes();
  bool move_in_warp();
  bool place_link(const Link& link);
  void fill_sources(const std::vector<Link>& links);
  void judge_in_warp();
  void through_shared();
  double shared_cost(const AddressMap& staging) const;
  ThreadTerm term(const PlacedDigit& reader, int64_t stride) const;
  double words() const { return static_cast<double>((element_bytes_ + 3) / 4); }
  bool impossible(std::string reason);

  FragmentMap from_, to_;
  int64_t element_bytes_;
  ConversionPlan plan_;
};

bool Planner::impossible(std::string reason) {
  plan_.kind = ConversionKind::impossible;
  plan_.reason = std::move(reason);
  return true;
}

bool Planner::refuse() {
  if (from_.shape() != to_.shape()) return impossible("the shapes differ");
  if (from_.threads() != to_.threads() || from_.lanes() != to_.lanes()) return impossible("the thread counts differ");
  if (from_.extent(Place::block) * to_.extent(Place::block) != 1) return impossible("a map spans blocks");
  if (!to_.is_partial()) return false;
  if (from_.thread_terms(kPartial) != to_.thread_terms(kPartial)) return impossible("parts are asked of a whole");
  return false;
}

// The parts that lanes hold are added up by XOR steps; those of warps are left for shared memory.
void Planner::complete_lanes() {
  std::vector<Digit> digits = from_.digits();
  for (const PlacedDigit& placed : from_.thread_digits()) {
    if (placed.digit.dim != kPartial) continue;
    if (in_lane(placed)) {
      for (int64_t bit = 1; bit < placed.digit.extent; bit *= 2) plan_.complete_lane_xor.push_back(placed.position * bit);
      continue;
    }
    const bool top = placed.position * placed.digit.extent == from_.threads();
    plan_.part_terms.push_back({placed.position, top ? 0 : placed.digit.extent, plan_.parts});
    plan_.parts *= placed.digit.extent;
  }
  for (Digit& digit : digits) {
    if (digit.place == Place::lane && digit.dim == kPartial) digit.dim = kReplicated;
  }
  from_ = FragmentMap(from_.shape(), std::move(digits));
}

ThreadTerm Planner::term(const PlacedDigit& reader, int64_t stride) const {
  const bool top = reader.position * reader.digit.extent == to_.threads();
  return {reader.position, top ? 0 : reader.digit.extent, stride};
}

// Says how the reader's thread finds one piece; what its register adds is fill_sources' business.
bool Planner::place_link(const Link& link) {
  const PlacedDigit &source = link.source, &target = link.target;
  if (is_upper(source)) {
    if (is_upper(target) && source.position == target.position) return true;
    plan_.reason = fmt::format("d{} at {} moves between warps", source.digit.dim, source.digit.stride);
    return false;
  }
  if (in_register(target)) {
    if (in_lane(source)) plan_.same_lane = false;
    return true;
  }
  if (in_lane(source)) {
    if (!in_lane(target) || source.position != target.position) plan_.same_lane = false;
    plan_.lane_terms.push_back(term(target, source.position));
    return true;
  }
  plan_.register_terms.push_back(term(target, source.position));
  std::vector<int64_t> grown;
  for (int64_t value = 0; value < source.digit.extent; value++) {
    for (int64_t candidate : plan_.candidates) grown.push_back(candidate + value * source.position);
  }
  plan_.candidates = std::move(grown);
  if (static_cast<int64_t>(plan_.candidates.size()) <= kMaxCandidates) return true;
  plan_.reason = fmt::format("the source register would be one of {}", plan_.candidates.size());
  return false;
}

bool Planner::move_in_warp() {
  std::vector<Link> links;
  std::vector<PlacedDigit> source_rest;
  for (int d = 0; d < from_.rank(); d++) {
    if (link_dim(dim_chain(from_, d), dim_chain(to_, d), links, source_rest)) continue;
    plan_.reason = fmt::format("the radices of d{} do not nest", d);
    return false;
  }
  for (const Link& link : links) {
    if (!place_link(link)) return false;
  }
  // Padding that the reader does not have: the element lies where that digit is 0.
  for (const PlacedDigit& rest : source_rest) {
    if (in_lane(rest)) plan_.same_lane = false;
    if (!is_upper(rest)) continue;
    plan_.reason = "the source is padded over warps";
    return false;
  }
  for (const PlacedDigit& placed : from_.thread_digits()) {
    if (in_lane(placed) && placed.digit.dim < 0) plan_.lane_terms.push_back(term(placed, placed.position));
  }
  fill_sources(links);
  return true;
}

void Planner::fill_sources(const std::vector<Link>& links) {
  plan_.sources.assign(static_cast<size_t>(to_.registers()), {});
  for (const Link& link : links) {
    const PlacedDigit &source = link.source, &target = link.target;
    if (!in_register(target)) continue;
    for (size_t r = 0; r < plan_.sources.size(); r++) {
      const int64_t value = static_cast<int64_t>(r) / target.position % target.digit.extent;
      const int64_t step = std::min(value, source.digit.extent - 1) * source.position;
      (in_register(source) ? plan_.sources[r].register_base : plan_.sources[r].lane_base) += step;
    }
  }
}

double Planner::shared_cost(const AddressMap& staging) const {
  auto side = [&](const FragmentMap& map, int64_t width, int64_t times) {
    const double accesses = static_cast<double>(map.registers() / width);
    const BankCost cost = fragment_conflicts(map, staging, width, kSampledAccesses);
    const double sampled = std::min<double>(accesses, kSampledAccesses);
    return static_cast<double>(cost.wavefronts) / sampled * accesses * warps(map) * static_cast<double>(times);
  };
  return side(from_, fragment_vector_width(from_, staging), 1) + side(to_, fragment_vector_width(to_, staging), plan_.parts);
}

void Planner::through_shared() {
  plan_.kind = ConversionKind::shared;
  std::vector<AddressMap> choices = {row_major_map(from_.shape(), element_bytes_),
                                     padded_map(from_.shape(), element_bytes_, kStagingPad)};
  if (auto swizzled = swizzled_map(from_.shape(), element_bytes_)) choices.push_back(*std::move(swizzled));
  double best = 0;
  for (const AddressMap& choice : choices) {
    const double cost = shared_cost(choice);
    if (&choice != &choices[0] && cost >= best) continue;
    best = cost;
    plan_.staging = choice;
  }
  plan_.write_width = fragment_vector_width(from_, plan_.staging);
  plan_.read_width = fragment_vector_width(to_, plan_.staging);
  plan_.shared_bytes = plan_.staging.bytes(plan_.parts);
  plan_.cost_cycles = best + 2 * kBarrierCycles + kSharedLatency;
}

// Prices the move that move_in_warp has found, and names it.
void Planner::judge_in_warp() {
  const double moved = warps(to_) * static_cast<double>(plan_.sources.size() * plan_.candidates.size());
  if (!plan_.same_lane) {
    plan_.kind = ConversionKind::shuffles;
    plan_.cost_cycles = kShuffleLatency + moved * words() * kShuffleCycles;
    return;
  }
  bool same = plan_.register_terms.empty() && from_.registers() == to_.registers();
  for (size_t r = 0; same && r < plan_.sources.size(); r++) same = plan_.sources[r].register_base == static_cast<int64_t>(r);
  plan_.kind = same ? ConversionKind::none : ConversionKind::registers;
  plan_.cost_cycles = plan_.register_terms.empty() ? 0 : moved * kSelectCycles;
}

ConversionPlan Planner::plan() {
  plan_.target = to_;
  if (refuse()) return plan_;
  if (!to_.is_partial()) complete_lanes();
  plan_.source = from_;
  const bool in_warp = plan_.parts == 1 && move_in_warp();
  if (plan_.parts > 1) plan_.reason = "warps hold the parts";
  if (in_warp) judge_in_warp();
  const bool in_thread = in_warp && plan_.same_lane;
  if (to_.is_partial() && !in_thread) {
    impossible("unfinished sums would have to move between threads: complete them first");
    return plan_;
  }
  if (!in_thread) {
    ConversionPlan shuffled = plan_;
    through_shared();
    if (in_warp && shuffled.cost_cycles <= plan_.cost_cycles) plan_ = std::move(shuffled);
    else plan_.sources.clear();
  }
  const double completion_steps = static_cast<double>(plan_.complete_lane_xor.size());
  const double registers = static_cast<double>(from_.registers());
  plan_.cost_cycles += completion_steps * (kShuffleLatency + words() * warps(from_) * registers * kShuffleCycles);
  return plan_;
}

}  // namespace

int64_t ConversionPlan::shuffle_count() const {
  const auto completing = static_cast<int64_t>(complete_lane_xor.size()) * source.registers();
  if (kind != ConversionKind::shuffles) return completing;
  return completing + static_cast<int64_t>(sources.size() * candidates.size());
}

ConversionPlan plan_conversion(const FragmentMap& from, const FragmentMap& to, int64_t element_bytes) {
  return Planner(from, to, element_bytes).plan();
}

}  // namespace tilert
