// The builder's barriers that count phases, and copies of boxes of tensors by the target's engine. tl::Builder is one of
// these. Use through tilert.hpp; what each means is in tilert.h.
#ifndef TILERT_ASYNC_HPP_
#define TILERT_ASYNC_HPP_

#include "tilert/threads.hpp"

namespace tl {

// Of a thread while roles run: handed over from issuers to workers. 0: as compiled.
struct RoleRegisters {
  uint32_t issuer = 0, worker = 0;
};

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
  // b.gemm(a(slot, 0, 0), w(slot, 0, 0), acc, tl::trans_b | tl::issue) starts a product; these say when it is done.
  void commit_products(Here here = Here::at()) {
    at(here);
    tilert_builder_commit_products(raw_);
  }
  void wait_products(uint32_t pending = 0, Here here = Here::at()) {
    at(here);
    tilert_builder_wait_products(raw_, pending);
  }
  // Warps with bodies of their own: issue() is one thread that waits and copies, work() the kernel's threads.
  template <class Issue, class Work>
  void roles(Issue&& issue, Work&& work, RoleRegisters registers = {}, Here here = Here::at()) {
    begin_roles(registers, here);
    role(TILERT_ROLE_ISSUE, issue, here);
    end_roles(work, here);
  }
  // Two that issue, each by itself.
  template <class First, class Second, class Work>
  void roles(First&& first, Second&& second, Work&& work, RoleRegisters registers = {}, Here here = Here::at()) {
    begin_roles(registers, here);
    role(TILERT_ROLE_ISSUE, first, here);
    role(TILERT_ROLE_ISSUE, second, here);
    end_roles(work, here);
  }

 private:
  void begin_roles(RoleRegisters registers, const Here& here) {
    at(here);
    tilert_roles_options options = {};
    options.struct_size = sizeof options;
    options.issuer_registers = registers.issuer, options.worker_registers = registers.worker;
    tilert_builder_begin_roles(raw_, &options);
  }
  template <class F>
  void role(tilert_role kind, F&& body, const Here& here) {
    at(here);
    tilert_builder_begin_role(raw_, kind);
    body();
    tilert_builder_end_role(raw_);
  }
  template <class Work>
  void end_roles(Work&& work, const Here& here) {
    role(TILERT_ROLE_WORK, work, here);
    tilert_builder_end_roles(raw_);
  }
};

}  // namespace detail
}  // namespace tl

#endif  // TILERT_ASYNC_HPP_
