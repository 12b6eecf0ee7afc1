// same_owner in two steps: thread digits of loop and fragment must agree one by one; then, for each dim, the register
// digits that fill the gaps between them give the step of each loop register digit.
#include "layout/same_owner.h"

#include <algorithm>
#include <numeric>

#include "layout/digit_lists.h"

namespace tilert {
namespace {

constexpr int kNotUsed = -1;

OwnerMatch mismatch(std::string reason) {
  OwnerMatch result;
  result.reason = std::move(reason);
  return result;
}

bool is_write(AccessMode mode) { return mode == AccessMode::write || mode == AccessMode::write_parts; }
bool is_of_parts(AccessMode mode) { return mode == AccessMode::read_parts || mode == AccessMode::write_parts; }

// The fragment dim that a loop dim indexes; kNotUsed if none. Two of them (F[i, i]) is not a digit-wise question.
struct LoopUse {
  int fragment_dim = kNotUsed;
  bool twice = false;
};

std::vector<LoopUse> loop_uses(int loop_rank, const std::vector<AccessDim>& access) {
  std::vector<LoopUse> uses(static_cast<size_t>(loop_rank));
  for (size_t d = 0; d < access.size(); d++) {
    if (access[d].loop_dim < 0) continue;
    LoopUse& use = uses[static_cast<size_t>(access[d].loop_dim)];
    use.twice = use.fragment_dim != kNotUsed;
    use.fragment_dim = static_cast<int>(d);
  }
  return uses;
}

// Empty where the two digits of one piece of the thread index agree; else the reason.
std::string compare_thread_digit(const PlacedDigit& loop, const PlacedDigit& fragment, const std::vector<LoopUse>& uses,
                                 AccessMode mode) {
  const Digit &l = loop.digit, &f = fragment.digit;
  const int64_t at = loop.position;
  if (l.dim == kPartial) return "the loop's own map holds parts";
  if (f.dim == kPartial && !is_of_parts(mode)) return fmt::format("the fragment holds parts over threads / {} % {}", at, f.extent);
  const LoopUse use = l.dim >= 0 ? uses[static_cast<size_t>(l.dim)] : LoopUse{};
  if (l.dim < 0 || use.fragment_dim == kNotUsed) {
    if (f.dim >= 0) return fmt::format("threads / {} % {} hold different elements of d{} but run the same ones", at, f.extent, f.dim);
    if (l.dim < 0) return {};
    if (is_write(mode)) return fmt::format("iterations along loop dim {} write one element", l.dim);
    if (f.dim == kPartial) return fmt::format("iterations along loop dim {} meet different parts", l.dim);
    return {};
  }
  if (f.dim == use.fragment_dim && f.stride == l.stride && !use.twice) return {};
  return fmt::format("threads / {} % {} move loop dim {} by {}, but the fragment there {}", at, l.extent, l.dim, l.stride,
                     f.dim < 0 ? std::string("does not move") : fmt::format("d{} by {}", f.dim, f.stride));
}

std::string compare_threads(const FragmentMap& loop, const FragmentMap& fragment, const std::vector<AccessDim>& access,
                            AccessMode mode) {
  if (loop.threads() != fragment.threads()) {
    return fmt::format("the loop runs on {} threads, the fragment lies on {}", loop.threads(), fragment.threads());
  }
  std::vector<PlacedDigit> l = loop.thread_digits(), f = fragment.thread_digits();
  if (!split_common(l, f)) return "the thread digits' radices do not nest";
  const std::vector<LoopUse> uses = loop_uses(loop.rank(), access);
  for (size_t i = 0; i < l.size(); i++) {
    std::string reason = compare_thread_digit(l[i], f[i], uses, mode);
    if (!reason.empty()) return reason;
  }
  return {};
}

// The loop's register digits while they are being split; positions ascend.
using Steps = std::vector<RegisterStep>;

void split_step(Steps& steps, size_t at, int64_t extent) {
  RegisterStep high = steps[at];
  steps[at].extent = extent;
  high.extent /= extent;
  high.position *= extent;
  high.stride *= extent;
  high.step *= extent;
  steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(at) + 1, high);
}

// Index of the step that moves `dim` by `stride`, or steps.size().
size_t find_step(const Steps& steps, int dim, int64_t stride) {
  return static_cast<size_t>(std::ranges::find_if(steps, [&](const RegisterStep& step) {
                               return step.dim == dim && step.stride == stride;
                             }) - steps.begin());
}

bool is_last_of_dim(const Steps& steps, size_t at) {
  return std::ranges::none_of(steps, [&](const RegisterStep& step) {
    return step.dim == steps[at].dim && step.stride > steps[at].stride;
  });
}

// Walks the fragment's register digits of one dim upwards and gives the loop's digits of the same strides their steps.
std::string match_registers(Steps& steps, int loop_dim, std::vector<PlacedDigit> fragment) {
  int64_t covered_to = 1;
  for (size_t i = 0; i < fragment.size(); i++) {
    if (fragment[i].digit.place != Place::register_) continue;
    const int64_t stride = fragment[i].digit.stride;
    const size_t at = find_step(steps, loop_dim, stride);
    if (at == steps.size()) break;  // the loop ends here, the fragment is padded further
    const int64_t x = steps[at].extent, y = fragment[i].digit.extent;
    if (x > y && x % y == 0) split_step(steps, at, y);
    else if (x < y && y % x == 0) split_digit(fragment, i, x);
    else if (x != y && !(x < y && is_last_of_dim(steps, at))) {
      return fmt::format("register digits of loop dim {} at {}: radices {} and {} do not nest", loop_dim, stride, x, y);
    }
    steps[at].step += fragment[i].position;
    covered_to = std::max(covered_to, stride * steps[at].extent);
  }
  for (const RegisterStep& step : steps) {
    if (step.dim == loop_dim && step.stride >= covered_to) {
      return fmt::format("loop dim {} reaches beyond the fragment's padding", loop_dim);
    }
  }
  return {};
}

std::string match_constant(OwnerMatch& result, int64_t constant, int dim, const std::vector<PlacedDigit>& chain) {
  int64_t reached = 1;
  for (const PlacedDigit& placed : chain) {
    if (placed.digit.place != Place::register_) return fmt::format("element {} of d{} is held by some threads only", constant, dim);
    result.base += constant / placed.digit.stride % placed.digit.extent * placed.position;
    reached *= placed.digit.extent;
  }
  if (constant < 0 || constant >= reached) return fmt::format("constant {} is outside d{}", constant, dim);
  return {};
}

std::string match_dims(OwnerMatch& result, const FragmentMap& fragment, const std::vector<AccessDim>& access) {
  for (size_t d = 0; d < access.size(); d++) {
    const int dim = static_cast<int>(d);
    const std::vector<PlacedDigit> chain = dim_chain(fragment, dim);
    std::string reason = access[d].loop_dim < 0 ? match_constant(result, access[d].constant, dim, chain)
                                                : match_registers(result.steps, access[d].loop_dim, chain);
    if (!reason.empty()) return reason;
  }
  return {};
}

}  // namespace

int64_t OwnerMatch::fragment_register(int64_t loop_register) const {
  int64_t index = base;
  for (const RegisterStep& step : steps) index += loop_register / step.position % step.extent * step.step;
  return index;
}

OwnerMatch same_owner(const FragmentMap& loop, const FragmentMap& fragment, const std::vector<AccessDim>& access,
                      AccessMode mode) {
  if (static_cast<int>(access.size()) != fragment.rank()) return mismatch("the access has not the fragment's rank");
  std::string reason = compare_threads(loop, fragment, access, mode);
  if (!reason.empty()) return mismatch(std::move(reason));
  OwnerMatch result;
  const std::vector<LoopUse> uses = loop_uses(loop.rank(), access);
  for (const PlacedDigit& placed : loop.register_digits()) {
    const Digit& digit = placed.digit;
    if (is_write(mode) && uses[static_cast<size_t>(digit.dim)].fragment_dim == kNotUsed) {
      return mismatch(fmt::format("iterations along loop dim {} write one element", digit.dim));
    }
    result.steps.push_back({digit.extent, placed.position, digit.dim, digit.stride, 0});
  }
  reason = match_dims(result, fragment, access);
  if (!reason.empty()) return mismatch(std::move(reason));
  result.matches = true;
  return result;
}

std::optional<std::vector<OwnerMatch>> common_steps(const std::vector<OwnerMatch>& matches) {
  std::vector<int64_t> breaks;
  for (const OwnerMatch& match : matches) {
    for (const RegisterStep& step : match.steps) breaks.push_back(step.position);
  }
  std::ranges::sort(breaks);
  breaks.erase(std::unique(breaks.begin(), breaks.end()), breaks.end());
  std::vector<OwnerMatch> refined = matches;
  for (OwnerMatch& match : refined) {
    for (int64_t cut : breaks) {
      for (size_t i = 0; i < match.steps.size(); i++) {
        const RegisterStep step = match.steps[i];
        if (cut <= step.position || cut >= step.position * step.extent) continue;
        if (cut % step.position != 0 || step.extent % (cut / step.position) != 0) return std::nullopt;
        split_step(match.steps, i, cut / step.position);
      }
    }
  }
  return refined;
}

}  // namespace tilert
