// The builder's loop over threads and what threads do together: shuffles, votes, barriers, fences, asynchronous copies.
// tl::Builder is one of these. Use through tilert.hpp; what each means is in tilert.h.
#ifndef TILERT_THREADS_HPP_
#define TILERT_THREADS_HPP_

#include "tilert/elements.hpp"

namespace tl {
namespace detail {

class ThreadCalls : public ElementCalls {
 public:
  // f(thread) for each of the threads that tl::threads_fixed gave the kernel.
  template <class F>
  void threads(F&& f, Here here = Here::at()) {
    at(here);
    tilert_expr thread = {};
    tilert_builder_begin_threads(raw_, &thread);
    f(Expr(raw_, thread));
    tilert_builder_end_threads(raw_);
  }
  Expr thread_id(Here here = Here::at()) {
    at(here);
    return {raw_, tilert_builder_thread_id(raw_)};
  }
  Expr shuffle(const Expr& value, const Expr& lane, uint32_t width = 32, Here here = Here::at()) {
    return shuffled(TILERT_SHUFFLE_INDEX, value, lane, width, here);
  }
  Expr shuffle_up(const Expr& value, const Expr& lanes, uint32_t width = 32, Here here = Here::at()) {
    return shuffled(TILERT_SHUFFLE_UP, value, lanes, width, here);
  }
  Expr shuffle_down(const Expr& value, const Expr& lanes, uint32_t width = 32, Here here = Here::at()) {
    return shuffled(TILERT_SHUFFLE_DOWN, value, lanes, width, here);
  }
  Expr shuffle_xor(const Expr& value, const Expr& mask, uint32_t width = 32, Here here = Here::at()) {
    return shuffled(TILERT_SHUFFLE_XOR, value, mask, width, here);
  }
  Expr vote_all(const Expr& predicate, Here here = Here::at()) { return vote(TILERT_VOTE_ALL, predicate, here); }
  Expr vote_any(const Expr& predicate, Here here = Here::at()) { return vote(TILERT_VOTE_ANY, predicate, here); }
  Expr ballot(const Expr& predicate, Here here = Here::at()) { return vote(TILERT_VOTE_BALLOT, predicate, here); }
  void sync_threads(Here here = Here::at()) { named_barrier(0, 0, here); }
  // Of the `threads` threads that come here.
  void named_barrier(uint32_t barrier, uint32_t threads, Here here = Here::at()) {
    at(here);
    tilert_builder_sync_threads(raw_, barrier, threads);
  }
  void fence(tilert_order_scope scope = TILERT_ORDER_DEVICE, Here here = Here::at()) {
    at(here);
    tilert_builder_fence(raw_, scope);
  }
  // `count` elements from an element of a tensor on, to a shared tile.
  void copy_async(const Region& source, const Region& destination, uint32_t count, Here here = Here::at()) {
    at(here);
    const Region::Raw from(source), to(destination);
    tilert_builder_copy_async(raw_, &from.region, &to.region, count);
  }
  void commit_copies(Here here = Here::at()) {
    at(here);
    tilert_builder_commit_copies(raw_);
  }
  void wait_copies(uint32_t pending = 0, Here here = Here::at()) {
    at(here);
    tilert_builder_wait_copies(raw_, pending);
  }

 private:
  Expr shuffled(tilert_shuffle kind, const Expr& value, const Expr& lane, uint32_t width, const Here& here) {
    at(here);
    return {raw_, tilert_builder_shuffle(raw_, kind, value.in(raw_), lane.in(raw_), width)};
  }
  Expr vote(tilert_vote kind, const Expr& predicate, const Here& here) {
    at(here);
    return {raw_, tilert_builder_vote(raw_, kind, predicate.in(raw_))};
  }
};

}  // namespace detail
}  // namespace tl

#endif  // TILERT_THREADS_HPP_
