// The parts of a split loop's sums in a cluster: each block but the last writes its registers into the last one's shared memory,
// which adds them up and goes on alone. Two barriers: `come` of the last block counts the bytes of all parts; `taken` of each
// other block has an arrival of each warp that has read that block's part, and nothing is written over it before.
#include <algorithm>

#include "passes/hopper.h"

namespace tilert::passes {

using namespace ir;

namespace {

constexpr int64_t kTogether = 4;  // registers of 32 bits that a thread sends and reads at once

}  // namespace

int64_t RoleLowering::part_elements(BufferId sum) { return low_.fragment_map(sum).registers() * low_.plan().threads; }

// A part lies as its threads hold it: the first four registers of each thread side by side, then the next.
void RoleLowering::declare_meeting() {
  for (BufferId sum : low_.plan().meeting.sums) {
    parts_.push_back(low_.scratch(low_.program().buffer(sum).dtype, (kernel_.cluster - 1) * part_elements(sum), "parts"));
    low_.program().buffers[parts_.back()].alignment = 16;
    low_.plan().roles.ring.insert(parts_.back());  // its barriers keep writers and readers apart
  }
  come_ = low_.scratch(DType::uint64, 1, "come");
  taken_ = low_.scratch(DType::uint64, 1, "taken");
}

void RoleLowering::initialize_meeting() {
  low_.call(Primitive::mbarrier_init, {barrier_arg(come_, low_.index(0)), value_arg(low_.index(1))});
  low_.call(Primitive::mbarrier_init, {barrier_arg(taken_, low_.index(0)), value_arg(low_.index(int64_t{4} * roles_.consumers))});
}

// Other blocks have their barriers now; the producer never asks.
void RoleLowering::enter_meeting() {
  if (tiles_) {
    meeting_parity_ = low_.scalar(DType::index, "meeting");
    low_.store({meeting_parity_, {}}, low_.index(0));
  }
  low_.call(Primitive::cluster_wait, {});
}

// Of the phases that the next meeting completes. A block without a loop over tiles meets once (split_k takes no loop in a branch).
Expr RoleLowering::meeting_parity() {
  if (!tiles_) return low_.index(0);
  const Expr parity = low_.read({meeting_parity_, {}}, "parity");
  low_.facts().define(parity, arith::Range::between(0, 1));
  return parity;
}

void RoleLowering::meet() {
  const Expr parity = meeting_parity();
  Block other = low_.collect([&] { hand_on(parity); });
  Block last = low_.collect([&] { add_up(parity); });
  low_.emit(If{arith::lt(arena_, low_.program().var(kernel_.rank), low_.index(kernel_.cluster - 1)), std::move(other), std::move(last)});
  if (tiles_) low_.store({meeting_parity_, {}}, arith::sub(arena_, low_.index(1), parity));
}

// A block that ended would no longer be there for the arrivals that say that its last part was read.
void RoleLowering::leave_meeting() {
  const Expr last = tiles_ ? arith::sub(arena_, low_.index(1), meeting_parity()) : low_.index(0);
  low_.when(arith::lt(arena_, low_.program().var(kernel_.rank), low_.index(kernel_.cluster - 1)),
            [&] { low_.call(Primitive::mbarrier_wait, {barrier_arg(taken_, low_.index(0)), value_arg(last)}); });
}

void RoleLowering::hand_on(Expr parity) {
  if (tiles_) low_.call(Primitive::mbarrier_wait, {barrier_arg(taken_, low_.index(0)), value_arg(arith::sub(arena_, low_.index(1), parity))});
  const auto& sums = low_.plan().meeting.sums;
  for (size_t i = 0; i < sums.size(); ++i) {
    const Expr first = arith::mul(arena_, low_.program().var(kernel_.rank), part_elements(sums[i]));
    const Expr own = arith::add(arena_, first, arith::mul(arena_, low_.thread(), kTogether));
    low_.call(Primitive::send_part, {text_arg(std::to_string(low_.plan().threads)),
                                     registers_arg(low_.fragment_registers(sums[i]), low_.index(0), low_.fragment_map(sums[i]).registers()),
                                     address_arg({parts_[i], {low_.simplify(own)}}), barrier_arg(come_, low_.index(0)), value_arg(low_.index(kernel_.cluster - 1))});
  }
}

void RoleLowering::add_up(Expr parity) {
  const auto& sums = low_.plan().meeting.sums;
  int64_t bytes = 0;
  for (BufferId sum : sums) bytes += (kernel_.cluster - 1) * part_elements(sum) * dtype_bytes(low_.program().buffer(sum).dtype);
  low_.when(arith::eq(arena_, low_.thread(), 0), [&] { low_.call(Primitive::mbarrier_expect, {barrier_arg(come_, low_.index(0)), value_arg(low_.index(bytes))}); });
  low_.call(Primitive::mbarrier_wait, {barrier_arg(come_, low_.index(0)), value_arg(parity)});
  for (size_t i = 0; i < sums.size(); ++i) low_.group("sum of parts", [&] { add_parts(sums[i], parts_[i]); });
  for (BufferId sum : sums) hold(sum);  // what was read is in registers before anyone is told
  low_.call(Primitive::warp_sync, {});
  const Expr lane = arith::mod(arena_, low_.thread(), 32);
  low_.when(arith::lt(arena_, lane, low_.index(kernel_.cluster - 1)),
            [&] { low_.call(Primitive::mbarrier_free_cluster, {barrier_arg(taken_, low_.index(0)), value_arg(lane)}); });
}

// In the order of the parts, the block's own at the end.
void RoleLowering::add_parts(BufferId sum, BufferId parts) {
  const DType dtype = low_.program().buffer(sum).dtype;
  const BufferId own = low_.fragment_registers(sum);
  const int64_t others = kernel_.cluster - 1, threads = low_.plan().threads;
  low_.unrolled(low_.fragment_map(sum).registers() / kTogether, [&](Expr i) {
    const BufferId box = low_.registers(dtype, others * kTogether, "part");
    for (int64_t part = 0; part < others; ++part) {
      const Expr at = arith::add(arena_, arith::mul(arena_, low_.thread(), kTogether), arith::mul(arena_, i, threads * kTogether));
      low_.move({box, {low_.index(part * kTogether)}}, {parts, {arith::add(arena_, at, part * part_elements(sum))}}, kTogether);
    }
    for (int64_t e = 0; e < kTogether; ++e) {
      Expr total = low_.read({box, {low_.index(e)}}, "x");
      for (int64_t part = 1; part < others; ++part) total = arith::add(arena_, total, low_.read({box, {low_.index(part * kTogether + e)}}, "x"));
      const Access to{own, {arith::add(arena_, arith::mul(arena_, i, kTogether), e)}};
      low_.store(to, arith::add(arena_, total, low_.read(to, "x")));
    }
  });
}

}  // namespace tilert::passes
