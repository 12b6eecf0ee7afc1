// The producer of a kernel with roles where its threads copy themselves: rows that the tensor copy engine does not take go piece by
// piece to the places where it would put them, asynchronously where they start on 4 or 8 bytes, else through registers.
// hopper_kernel.cpp has the frame and the engine's copies.
#include <algorithm>

#include "ir/visit.h"
#include "passes/hopper.h"
#include "support/round.h"

namespace tilert::passes {

using namespace ir;

namespace {

constexpr int64_t kCopiers = 128;       // threads of the producer
constexpr int64_t kPlainBytes = 4;      // that a thread stores at once from registers, in as many loads as it has elements
constexpr int64_t kPiecesTogether = 8;  // asynchronous copies written one after the other
constexpr int64_t kLoadsTogether = 64, kFewLoads = 16;  // elements that a thread has on their way: with the registers it began with, with few

}  // namespace

int64_t RoleLowering::producer_arrivals() const {
  if (roles_.by_threads.empty()) return 1;
  return kCopiers + (roles_.loads.empty() ? 0 : 1);
}

Expr RoleLowering::enter_copies(Expr thread, int64_t consumers) {
  const Expr copier = low_.let(arith::sub(arena_, thread, consumers), "copier");
  low_.facts().define(copier, arith::Range::between(0, kCopiers - 1));
  if (slots_ahead() > 0) {
    landed_ = low_.scalar(DType::index, "landed");
    pending_ = low_.scalar(DType::index, "pending");
    low_.store({landed_, {}}, low_.index(0));
    low_.store({pending_, {}}, low_.index(0));
  }
  return copier;
}

void RoleLowering::copy_by_threads(Expr slot, Expr copier) {
  for_each_load(low_.program(), trip(), [&](const StmtPtr& s, const Copy& copy, Expr condition) {
    if (!roles_.by_threads.count(s->ordinal)) return;
    const int64_t bytes = async_piece(*s, copy), size = dtype_bytes(low_.program().buffer(copy.dst.buffer).dtype);
    low_.plan().copies[s->ordinal] = {bytes ? CopyPlan::Engine::asynchronous : CopyPlan::Engine::registers, bytes ? bytes : size};
    low_.when(condition, [&] {
      low_.emit(Group{std::to_string(s->ordinal) + ": copy by the producer's threads", low_.collect([&] {
        if (bytes) fly(copy, pieces_of(copy, bytes / size), slot, copier);
        else carry(*s, copy, slot, copier);
      })});
    });
  });
  land(slot);
}

bool RoleLowering::flies() const {
  bool found = false;
  for_each_load(low_.program(), trip(), [&](const StmtPtr& s, const Copy& copy, Expr) { found |= roles_.by_threads.count(s->ordinal) && async_piece(*s, copy) != 0; });
  return found;
}

// How many slots may have copies under way that nobody has been told of. A consumer gives a slot back once it has the next one.
int64_t RoleLowering::slots_ahead() const { return flies() ? std::max(roles_.stages - 2, 0) : 0; }

// Bytes of its asynchronous pieces; 0: its rows start on less than 4, or its elements change on the way.
int64_t RoleLowering::async_piece(const Stmt& s, const Copy& copy) const {
  if (roles_.rounded.count(s.ordinal)) return 0;
  const Buffer& src = low_.program().buffer(copy.src.buffer);
  for (const int64_t bytes : {8, 4}) {
    const int64_t n = bytes / dtype_bytes(src.dtype);
    const auto whole = [&](Expr e) { return low_.facts().range(e).multiple_of(n); };
    if (src.alignment % bytes == 0 && whole(src.strides[0]) && whole(copy.src.offsets[1]) && copy.dst.extents[1] % n == 0) return bytes;
  }
  return 0;
}

// A tile in pieces of `unit` elements of a row: piece n is the (n mod 128)-th thread's.
RoleLowering::Pieces RoleLowering::pieces_of(const Copy& copy, int64_t unit) const {
  const int64_t across = copy.dst.extents[1] / unit, count = copy.dst.extents[0] * across;
  return {unit, across, count, ceil_div(count, kCopiers)};
}

void RoleLowering::each_piece(const Pieces& pieces, int64_t together, Expr batch, Expr copier, const OfPiece& f) {
  low_.unrolled(together, [&](Expr i) {
    const Expr round = arith::add(arena_, arith::mul(arena_, batch, together), i);
    const Expr number = arith::add(arena_, copier, arith::mul(arena_, round, kCopiers));
    const Expr row = arith::floordiv(arena_, number, pieces.across), column = arith::mul(arena_, arith::mod(arena_, number, pieces.across), pieces.unit);
    f(i, low_.simplify(row), low_.simplify(column), low_.simplify(arith::lt(arena_, number, pieces.count)));
  });
}

void RoleLowering::fly(const Copy& copy, const Pieces& pieces, Expr slot, Expr copier) {
  const Expr end = low_.program().buffer(copy.src.buffer).shape[1];
  const int64_t size = dtype_bytes(low_.program().buffer(copy.src.buffer).dtype), together = std::min(kPiecesTogether, pieces.rounds);
  low_.serial(ceil_div(pieces.rounds, together), [&](Expr batch) {
    each_piece(pieces, together, batch, copier, [&](Expr, Expr row, Expr column, Expr exists) {
      low_.when(exists, [&] {
        const Expr r = arith::add(arena_, copy.src.offsets[0], row), c = arith::add(arena_, copy.src.offsets[1], column);
        // A row may end inside the piece: what is behind is zero.
        Expr valid = arith::mul(arena_, arith::min(arena_, arith::sub(arena_, end, c), low_.index(pieces.unit)), size);
        if (const Expr within = low_.inside(copy.src.buffer, {r, c}, {})) valid = arith::select(arena_, within, valid, low_.index(0));
        low_.call(Primitive::cp_async, {text_arg(std::to_string(pieces.unit * size)), address_arg(low_.shared_access(copy.dst.buffer, {slot, row, column})),
                                        address_arg(low_.global_access(copy.src.buffer, {r, c})), value_arg(low_.simplify(valid))});
      });
    });
  });
}

// Elements of several pieces are on their way together; those of a piece are stored side by side.
void RoleLowering::carry(const Stmt& s, const Copy& copy, Expr slot, Expr copier) {
  const DType dtype = low_.program().buffer(copy.src.buffer).dtype;
  const int64_t wanted = kPlainBytes / dtype_bytes(dtype), unit = copy.dst.extents[1] % wanted == 0 ? wanted : 1;
  const Pieces pieces = pieces_of(copy, unit);
  const int64_t loads = roles_.producer_registers == 0 ? kLoadsTogether : kFewLoads, together = std::min(loads / unit, pieces.rounds);
  const bool rounded = roles_.rounded.count(s.ordinal) != 0;
  const auto value = [&](Expr x) { return rounded ? arena_.cast(arena_.cast(x, DType::tf32), dtype) : x; };
  low_.serial(ceil_div(pieces.rounds, together), [&](Expr batch) {
    const BufferId box = low_.registers(dtype, together * unit, "carried");
    each_piece(pieces, together, batch, copier, [&](Expr i, Expr row, Expr column, Expr exists) {
      for (int64_t e = 0; e < unit; ++e) {
        const Expr r = arith::add(arena_, copy.src.offsets[0], row), c = arith::add(arena_, copy.src.offsets[1], arith::add(arena_, column, e));
        const Access at{box, {arith::add(arena_, arith::mul(arena_, i, unit), e)}};
        low_.store(at, arena_.constant(dtype, 0));
        low_.when(low_.simplify(arith::logical_and(arena_, exists, low_.inside(copy.src.buffer, {r, c}, {}))),
                  [&] { low_.store(at, value(low_.read(low_.global_access(copy.src.buffer, {r, c}), "x"))); });
      }
    });
    each_piece(pieces, together, batch, copier, [&](Expr i, Expr row, Expr column, Expr exists) {
      low_.when(exists, [&] { low_.move(low_.shared_access(copy.dst.buffer, {slot, row, column}), {box, {arith::mul(arena_, i, unit)}}, unit); });
    });
  });
}

// A trip's copies are written; those that fly are told of some trips later.
void RoleLowering::land(Expr slot) {
  if (!flies()) return arrive(slot);
  low_.call(Primitive::cp_async_commit, {});
  const int64_t ahead = slots_ahead();
  if (ahead == 0) {
    low_.call(Primitive::cp_async_wait, {text_arg("0")});
    return arrive(slot);
  }
  const Expr pending = low_.read({pending_, {}}, "pending");
  Block oldest = low_.collect([&] { land_next(ahead); });
  Block one_more = low_.collect([&] { low_.store({pending_, {}}, arith::add(arena_, pending, 1)); });
  low_.emit(If{arith::eq(arena_, pending, ahead), std::move(oldest), std::move(one_more)});
}

// The oldest slot that nobody has been told of, `younger` ones after it.
void RoleLowering::land_next(int64_t younger) {
  low_.call(Primitive::cp_async_wait, {text_arg(std::to_string(younger))});
  const Expr slot = low_.read({landed_, {}}, "landed");
  low_.facts().define(slot, arith::Range::between(0, roles_.stages - 1));
  arrive(slot);
  const Expr next = arith::add(arena_, slot, 1);
  low_.store({landed_, {}}, arith::select(arena_, arith::eq(arena_, next, roles_.stages), low_.index(0), next));
}

void RoleLowering::land_all() {
  for (int64_t younger = slots_ahead(); younger-- > 0;)
    low_.when(arith::lt(arena_, low_.index(younger), low_.read({pending_, {}}, "pending")), [&] { land_next(younger); });
}

// Products read through another proxy than the one that wrote.
void RoleLowering::arrive(Expr slot) {
  bool multiplied = false;
  for_each_load(low_.program(), trip(), [&](const StmtPtr& s, const Copy& copy, Expr) { multiplied |= roles_.by_threads.count(s->ordinal) && !roles_.plain_tiles.count(copy.dst.buffer); });
  if (multiplied) low_.call(Primitive::proxy_fence, {});
  low_.call(Primitive::mbarrier_arrive, {barrier_arg(full_, slot)});
}

}  // namespace tilert::passes
