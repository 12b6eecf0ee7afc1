// The builder's barriers that count phases, and copies of boxes of tensors by the target's engine. tl::Builder is one of
// these. Use through tilert.hpp; what each means is in tilert.h.
#ifndef TILERT_ASYNC_HPP_
#define TILERT_ASYNC_HPP_

#include "tilert/threads.hpp"

namespace tl {
namespace detail {

class AsyncCalls : public ThreadCalls {
 public:
  // auto full = b.barriers(stages); then full(slot) names one of them.
  Tile barriers(uint32_t count, uint32_t arrivals = 1, const char* name = nullptr, Here here = Here::at()) {
    at(here);
    tilert_buffer_options options = {};
    options.struct_size = sizeof options;
    options.name = name;
    return Tile(raw_, tilert_builder_barriers(raw_, count, arrivals, &options), {});
  }
  void arrive(const Region& barrier, Here here = Here::at()) {
    at(here);
    const Region::Raw raw(barrier);
    tilert_builder_arrive(raw_, &raw.region);
  }
  // Arrives, and announces bytes that tensor copies bring.
  void arrive_expect(const Region& barrier, uint32_t bytes, Here here = Here::at()) {
    at(here);
    const Region::Raw raw(barrier);
    tilert_builder_arrive_expect(raw_, &raw.region, bytes);
  }
  // Until the phase of this parity has completed: 0 is the first, -1 is always past.
  void wait_barrier(const Region& barrier, const Expr& phase, Here here = Here::at()) {
    at(here);
    const Region::Raw raw(barrier);
    tilert_builder_wait_barrier(raw_, &raw.region, phase.in(raw_));
  }
  // load_tensor(A(y, x), a(slot, 0, 0), full(slot)): a box of a matrix to a shared tile; its bytes come to the barrier's phase.
  void load_tensor(const Region& source, const Region& destination, const Region& barrier, Here here = Here::at()) {
    at(here);
    const Region::Raw from(source), to(destination), on(barrier);
    tilert_builder_load_tensor(raw_, &from.region, &to.region, &on.region);
  }
  void store_tensor(const Region& source, const Region& destination, Here here = Here::at()) {
    at(here);
    const Region::Raw from(source), to(destination);
    tilert_builder_store_tensor(raw_, &from.region, &to.region);
  }
  void commit_stores(Here here = Here::at()) {
    at(here);
    tilert_builder_commit_stores(raw_);
  }
  // Until all but `pending` of the newest groups are in memory, or have been read from their tiles.
  void wait_stores(uint32_t pending = 0, tilert_stores_state state = TILERT_STORES_WRITTEN, Here here = Here::at()) {
    at(here);
    tilert_builder_wait_stores(raw_, pending, state);
  }
};

}  // namespace detail
}  // namespace tl

#endif  // TILERT_ASYNC_HPP_
