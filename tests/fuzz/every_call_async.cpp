// Barriers that count phases, tensor copies, issued products, roles.
#include "fuzz/every_call.h"

namespace tilert::fuzz {

void EveryCall::engine() {
  switch (in_.next() % 8) {
    case 0: return barriers();
    case 1: return at_barrier();
    case 2: return tensor_copy(true);
    case 3: return tensor_copy(false);
    case 4: return void(TILERT_CALL(tilert_builder_commit_stores, b_));
    case 5: return void(TILERT_CALL(tilert_builder_wait_stores, b_, in_.next() % (wild_ ? 256 : 17), code(TILERT_STORES_WRITTEN, TILERT_STORES_READ)));
    case 6: return roles();
    default:
      if (in_.below(2)) TILERT_CALL(tilert_builder_commit_products, b_);
      else TILERT_CALL(tilert_builder_wait_products, b_, in_.next() % (wild_ ? 256 : 17));
  }
}

// One that issues and one that works.
void EveryCall::roles() {
  if (!wild_ && (persistent_ || fixed_ || !at(Kind::kernel))) return;
  tilert_roles_options o{};
  if (in_.below(2)) o.issuer_registers = wild_ ? in_.next() : 40, o.worker_registers = wild_ ? in_.next() : 232;
  TILERT_CALL(tilert_builder_begin_roles, b_, sized(o));
  for (const tilert_role role : {TILERT_ROLE_ISSUE, TILERT_ROLE_WORK}) {
    TILERT_CALL(tilert_builder_begin_role, b_, wild_ ? code(0, 3) : role);
    if (role == TILERT_ROLE_ISSUE && in_.below(2)) at_barrier();
    if (role == TILERT_ROLE_WORK && in_.below(2)) TILERT_CALL(tilert_builder_commit_products, b_);
    TILERT_CALL(tilert_builder_end_role, b_);
  }
  TILERT_CALL(tilert_builder_end_roles, b_);
}

void EveryCall::barriers() {
  if (!wild_ && (persistent_ || !at(Kind::kernel))) return;
  tilert_buffer_options o{};
  o.name = in_.below(2) ? nullptr : "full";
  const tilert_buffer made = TILERT_CALL(tilert_builder_barriers, b_, 1 + in_.below(wild_ ? 255 : 3), in_.below(wild_ ? 255 : 2) + 1, sized(o));
  if (made.serial) barriers_.push_back(made);
}

void EveryCall::at_barrier() {
  if (barriers_.empty()) return;
  tilert_region barrier{};
  const tilert_expr which = wild_ ? index() : number(0);
  barrier.buffer = barriers_[in_.next() % barriers_.size()];
  barrier.offsets = &which, barrier.rank = 1;
  TILERT_CALL(tilert_builder_arrive_expect, b_, &barrier, wild_ ? static_cast<uint32_t>(in_.wide()) : 64);
  if (in_.below(2)) TILERT_CALL(tilert_builder_arrive, b_, &barrier);
  TILERT_CALL(tilert_builder_wait_barrier, b_, &barrier, in_.below(2) ? index() : number(-1));
}

// Between a matrix and a tile of its dtype, a ring's slot or all of it.
void EveryCall::tensor_copy(bool loads) {
  const Stored* const of = pick([&](const Stored& s) { return s.access && !s.table && s.shape.size() == 2 && tilert_dtype_bits(s.dtype) >= 8 && (loads ? s.reads() : s.writes()); });
  if (!of || (loads && barriers_.empty())) return;
  const tilert_tensor tensor = of->tensor;
  const bool ring = in_.below(2);
  const Stored tile = ring ? declare(TILERT_SHARED, of->dtype, {2, 8, 16}) : declare(TILERT_SHARED, of->dtype, {8, 16});
  const tilert_expr corner[2] = {wild_ ? index() : number(0), number(0)}, slot[3] = {number(1), number(0), number(0)}, zero = number(0);
  tilert_region box{}, part{}, barrier{};
  box.tensor = tensor, box.offsets = corner, box.rank = 2;
  part.buffer = tile.buffer, part.offsets = ring ? slot : nullptr, part.rank = ring ? 3 : 0;
  if (!loads) return void(TILERT_CALL(tilert_builder_store_tensor, b_, &part, &box));
  barrier.buffer = barriers_[in_.next() % barriers_.size()], barrier.offsets = &zero, barrier.rank = 1;
  TILERT_CALL(tilert_builder_load_tensor, b_, &box, &part, &barrier);
}

}  // namespace tilert::fuzz
