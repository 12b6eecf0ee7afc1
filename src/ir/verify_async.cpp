// Barriers that count phases, and copies of boxes of tensors by their engine: what they name, and who arrives for whom.
#include <algorithm>
#include <set>

#include "ir/async.h"
#include "ir/verifier_impl.h"
#include "ir/visit.h"
#include "ir/words.h"

namespace tilert::ir {
namespace {

constexpr int64_t kMaxExpected = (1 << 20) - 1;    // bytes that a phase can count
constexpr int64_t kMaxGroups = 16;

// As the builder calls it.
std::string_view called(AsyncOpKind kind) {
  switch (kind) {
    case AsyncOpKind::arrive: return "arrive";
    case AsyncOpKind::expect: return "arrive_expect";
    case AsyncOpKind::wait: return "wait_barrier";
    case AsyncOpKind::load: return "load_tensor";
    case AsyncOpKind::store: return "store_tensor";
    case AsyncOpKind::commit: return "commit_stores";
    case AsyncOpKind::close: return "commit_products";
    case AsyncOpKind::multiplied: return "wait_products";
    case AsyncOpKind::written:
    case AsyncOpKind::read: break;
  }
  return "wait_stores";
}

}  // namespace

bool Verifier::barrier_buffer(const Buffer& b, const std::string& what) {
  if (b.scope != Scope::barrier) return b.arrivals == 0 || fail(fmt::format("{} counts arrivals, which barriers do", what));
  if (b.dtype != DType::uint64 || b.shape.size() != 1) return fail(fmt::format("{} is no row of barriers", what));
  return (b.arrivals >= 1 && b.arrivals <= kMaxArrivals) ||
         fail(fmt::format("{} completes a phase with {} arrivals; 1 to {}", what, b.arrivals, kMaxArrivals));
}

// What else names a barrier takes it for memory.
bool Verifier::no_barrier(BufferId b, const char* what) {
  if (lowered() || p_.buffers[b].scope != Scope::barrier) return true;
  return fail(fmt::format("{} names the barriers {}, which are no memory; arrive_expect, arrive, wait_barrier and load_tensor take them", what, name(b)));
}

bool Verifier::barrier(const Access& a, const std::string& what) {
  if (!names_buffer(a.buffer, what.c_str())) return false;
  const Buffer& b = p_.buffers[a.buffer];
  if (b.scope != Scope::barrier) return fail(fmt::format("{} takes a barrier, and {} is {}", what, name(a.buffer), word(b.scope)));
  if (a.indices.size() != 1) return fail(fmt::format("{} takes one barrier of {}; {} indices are given", what, name(a.buffer), a.indices.size()));
  if (!expr(a.indices[0], DType::index, "the number of a barrier")) return false;
  if (!a.indices[0]->is_constant()) return true;
  const int64_t at = a.indices[0]->as_int(), count = b.shape[0]->as_int();
  return (at >= 0 && at < count) || fail(fmt::format("{}: there is no barrier {} among the {} of {}", what, at, count, name(a.buffer)));
}

bool Verifier::check(const AsyncOp& n) {
  const std::string what(called(n.kind));
  switch (n.kind) {
    case AsyncOpKind::arrive: return barrier(n.barrier, what);
    case AsyncOpKind::expect:
      if (n.number < 1 || n.number > kMaxExpected) return fail(fmt::format("{} of {} bytes; a phase counts 1 to {}", what, n.number, kMaxExpected));
      return barrier(n.barrier, what);
    case AsyncOpKind::wait: return barrier(n.barrier, what) && expr(n.value, DType::index, "the phase that is waited for");
    case AsyncOpKind::load: return barrier(n.barrier, what) && tensor_copy(n);
    case AsyncOpKind::store: return tensor_copy(n);
    case AsyncOpKind::commit:
    case AsyncOpKind::close: return true;
    case AsyncOpKind::multiplied:
    case AsyncOpKind::written:
    case AsyncOpKind::read: break;
  }
  return (n.number >= 0 && n.number <= kMaxGroups) || fail(fmt::format("{} leaves {} groups under way; 0 to {}", what, n.number, kMaxGroups));
}

// A box of a matrix and the matrix that a tile is, or that it is at constant places of its leading dims.
bool Verifier::tensor_copy(const AsyncOp& n) {
  const std::string what(called(n.kind));
  const bool loads = n.kind == AsyncOpKind::load;
  const Region &box = loads ? n.src : n.dst, &tile = loads ? n.dst : n.src;
  if (!region(n.src, what.c_str()) || !region(n.dst, what.c_str())) return false;
  if (!scope_is(box.buffer, {Scope::global}, (what + "'s box").c_str()) || !scope_is(tile.buffer, {Scope::shared}, (what + "'s tile").c_str())) return false;
  const Buffer &tensor = p_.buffers[box.buffer], &shared = p_.buffers[tile.buffer];
  if (is_table(tensor)) return unsupported(fmt::format("{} with the table {}, whose tensors lie where pointers say", what, name(box.buffer)), "use copy");
  if (tensor.shape.size() != 2) return unsupported(fmt::format("{} with {}, which has {} dims", what, name(box.buffer), tensor.shape.size()), "give a view of it as a matrix, or use copy");
  if (tensor.dtype != shared.dtype || dtype_is_packed(tensor.dtype))
    return fail(fmt::format("{} moves bytes: {} holds {}, {} holds {}; use copy, which casts", what, name(n.src.buffer),
                            dtype_text(p_.buffers[n.src.buffer].dtype), name(n.dst.buffer), dtype_text(p_.buffers[n.dst.buffer].dtype)));
  if (shared.view_of != kNoBuffer || !views_of(p_, tile.buffer).empty()) return fail(fmt::format("{} with {}, which has views; give the engine a tile of its own", what, name(tile.buffer)));
  const size_t rank = tile.extents.size();
  bool whole = rank >= 2;
  for (size_t d = 0; whole && d < rank; ++d) {
    const bool matrix = d + 2 >= rank;
    whole = matrix ? tile.extents[d] == shared.shape[d]->as_int() && tile.offsets[d]->is_constant() && tile.offsets[d]->as_int() == 0 : tile.extents[d] == 1;
  }
  if (!whole) return fail(fmt::format("{} takes a part of the tile {}; the last two dims of a tile are filled or stored whole", what, name(tile.buffer)));
  if (box.extents[0] != tile.extents[rank - 2] || box.extents[1] != tile.extents[rank - 1])
    return fail(fmt::format("{} of {} {} to {} {}: the box is the tile's matrix", what, name(n.src.buffer), shape_text(n.src.extents), name(n.dst.buffer), shape_text(n.dst.extents)));
  return reads(n.src.buffer) && writes(n.dst.buffer);
}

// Barriers are set up once, where the block's work begins, and somebody arrives at each that is waited for.
bool Verifier::asynchronous(const Kernel& k) {
  if (lowered()) return true;
  std::set<BufferId> arrived;
  std::set<const Stmt*> outside;
  for (const StmtPtr& s : k.body) outside.insert(s.get());
  for_each_stmt(k.body, [&](const Stmt& s) {
    const auto* op = std::get_if<AsyncOp>(&s.node);
    if (op && op->kind <= AsyncOpKind::expect) arrived.insert(op->barrier.buffer);
  });
  bool good = true;
  for_each_stmt(k.body, [&](const Stmt& s) {
    if (!good) return;
    current_ = &s;
    if (const auto* a = std::get_if<Alloc>(&s.node); a && p_.buffers[a->buffer].scope == Scope::barrier) {
      if (!outside.count(&s)) good = fail(fmt::format("the barriers {} are declared inside a loop or branch; they are set up once: declare them where the kernel begins", name(a->buffer)));
      else if (k.persistent) good = fail(fmt::format("the barriers {} in a persistent kernel, whose tiles would find them in any phase; loop over tiles yourself", name(a->buffer)));
    }
    const auto* op = std::get_if<AsyncOp>(&s.node);
    if (good && op && op->kind == AsyncOpKind::wait && !arrived.count(op->barrier.buffer))
      good = fail(fmt::format("wait_barrier: nothing arrives at {}; a phase completes with arrive or arrive_expect", name(op->barrier.buffer)));
  });
  current_ = nullptr;
  return good && roles_stand_last(k) && one_role_arrives(k) && products_in_flight(k);
}

}  // namespace tilert::ir
