// Atomic operations on elements, and on regions: those become the element-wise loop that they mean.
#include "builder/builder.h"
#include "ir/semantics.h"
#include "ir/words.h"

namespace tilert::builder {

Result<ir::AtomicOp> Builder::atomic_op(tilert_atomic_op op) const {
  if (op < TILERT_ATOMIC_ADD || op > TILERT_ATOMIC_CAS)
    return make_error(Code::kInvalidArgument, "{} is not an atomic operation", op);
  return static_cast<ir::AtomicOp>(op - TILERT_ATOMIC_ADD);
}

// The operation without its operands: order, scope, and whether the place may be used so.
Result<ir::Atomic> Builder::atomic_of(tilert_atomic_op op, const tilert_atomic_options& options, ir::Access to) const {
  ir::Atomic made{};
  TILERT_ASSIGN(made.op, atomic_op(op));
  if (options.order < TILERT_ORDER_RELAXED || options.order > TILERT_ORDER_ACQ_REL)
    return make_error(Code::kInvalidArgument, "order {} is none of relaxed, acquire, release, acq_rel", options.order);
  if (options.scope < TILERT_ORDER_DEVICE || options.scope > TILERT_ORDER_SYSTEM)
    return make_error(Code::kInvalidArgument, "scope {} is none of device, block, system", options.scope);
  made.order = static_cast<ir::MemoryOrder>(options.order);
  made.scope = static_cast<ir::MemoryScope>(options.scope);
  made.to = std::move(to);
  return made;
}

Status Builder::check_atomic(const ir::Atomic& atomic) const {
  const ir::Buffer& buffer = program_->buffers[atomic.to.buffer];
  if (buffer.scope != ir::Scope::global && buffer.scope != ir::Scope::shared)
    return make_error(Code::kInvalidProgram,
                      "{} is neither a parameter nor a shared tile: nobody else sees it, so load and store will do",
                      buffer.name);
  if (!ir::atomic_takes(atomic.op, buffer.dtype))
    return make_error(Code::kInvalidProgram, "{} holds {}: atomic {} takes {}32 and 64 bit integers; {}",
                      buffer.name, dtype_text(buffer.dtype), ir::word(atomic.op),
                      ir::atomic_takes(atomic.op, DType::f32) ? "f16, bf16, f32, f64, and " : "",
                      ir::atomic_advice(atomic.op, buffer.dtype));
  if (kernel_.fixed_order && ir::atomic_rounds(atomic.op, buffer.dtype))
    return make_error(Code::kInvalidProgram,
                      "the kernel's order of sums is fixed, and threads come to {} in any order: reduce a tile and store the sum, or "
                      "add integers", buffer.name);
  if (!ir::atomic_allows(atomic.op, atomic.order))
    return make_error(Code::kInvalidArgument, "atomic {} cannot {}: a load acquires, a store releases", ir::word(atomic.op),
                      ir::word(atomic.order));
  return {};
}

Status Builder::use_atomic(const ir::Atomic& atomic) {
  const bool loads = atomic.op == ir::AtomicOp::load, stores = atomic.op == ir::AtomicOp::store;
  return use(atomic.to.buffer, loads ? Use::read : stores ? Use::write : Use::update, "the place");
}

Status Builder::do_atomic(tilert_atomic_op op, const tilert_region* element, tilert_expr value,
                          const tilert_atomic_options& options, tilert_expr* old) {
  TILERT_TRY(need_kernel());
  TILERT_ASSIGN(ir::Access to, access(element, "the place"));
  const std::string name = text_of(to.buffer);
  const DType dtype = program_->buffers[to.buffer].dtype;
  TILERT_ASSIGN(ir::Atomic made, atomic_of(op, options, std::move(to)));
  TILERT_TRY(check_atomic(made));
  TILERT_ASSIGN(made.value, typed(value, dtype, fmt::format("the value for {}", name)));
  const bool cas = made.op == ir::AtomicOp::cas;
  if (cas == is_none(options.expected))
    return make_error(Code::kInvalidArgument, "{}", cas ? "cas needs the expected value" : "expected belongs to cas alone");
  if (cas) {
    TILERT_ASSIGN(made.expected, typed(options.expected, dtype, fmt::format("the value expected in {}", name)));
  }
  TILERT_TRY(use_atomic(made));
  if (old) {
    TILERT_ASSIGN(*old, add_variable(ir::VarKind::let, dtype, "old", {}, &made.old));
  }
  append(std::move(made));
  return {};
}

Code Builder::atomic(tilert_atomic_op op, const tilert_region* element, tilert_expr value,
                     const tilert_atomic_options& options, tilert_expr* old) {
  return run("atomic", [&] { return do_atomic(op, element, value, options, old); });
}

tilert_expr Builder::atomic_load(const tilert_region* element, const tilert_atomic_options& options) {
  return make<tilert_expr>("atomic load", [&]() -> Result<tilert_expr> {
    TILERT_TRY(need_kernel());
    TILERT_ASSIGN(ir::Access from, access(element, "the source"));
    const DType dtype = program_->buffers[from.buffer].dtype;
    TILERT_ASSIGN(ir::Atomic made, atomic_of(TILERT_ATOMIC_EXCHANGE, options, std::move(from)));
    made.op = ir::AtomicOp::load;
    TILERT_TRY(check_atomic(made));
    TILERT_TRY(use_atomic(made));
    TILERT_ASSIGN(const tilert_expr id, add_variable(ir::VarKind::let, dtype, "t", {}, &made.old));
    append(std::move(made));
    drop_label();
    return id;
  });
}

Code Builder::atomic_store(const tilert_region* element, tilert_expr x, const tilert_atomic_options& options) {
  return run("atomic store", [&]() -> Status {
    TILERT_TRY(need_kernel());
    TILERT_ASSIGN(ir::Access to, access(element, "the destination"));
    const ir::BufferId buffer = to.buffer;
    TILERT_ASSIGN(ir::Atomic made, atomic_of(TILERT_ATOMIC_EXCHANGE, options, std::move(to)));
    made.op = ir::AtomicOp::store;
    TILERT_TRY(check_atomic(made));
    TILERT_ASSIGN(made.value, typed(x, program_->buffers[buffer].dtype, fmt::format("the value stored to {}", text_of(buffer))));
    TILERT_TRY(use_atomic(made));
    append(std::move(made));
    return {};
  });
}

namespace {

// Indices of a region at a point: its i-th dim that is not a unit takes the i-th variable.
std::vector<ir::Expr> point_of(ir::Arena& arena, const ir::Region& r, const std::vector<ir::Expr>& points) {
  std::vector<ir::Expr> out;
  size_t next = 0;
  for (size_t d = 0; d < r.extents.size(); ++d)
    out.push_back(r.extents[d] == 1 ? r.offsets[d] : arena.make(ir::Op::add, {r.offsets[d], points[next++]}));
  return out;
}

}  // namespace

Status Builder::do_atomic_tile(tilert_atomic_op op, const tilert_region* destination, const tilert_region* source,
                               const tilert_atomic_options& options) {
  ir::Region from, to;
  std::string what;
  TILERT_TRY(two_sides(source, destination, from, to, what));
  if (ir::proper_extents(from) != ir::proper_extents(to))
    return make_error(Code::kInvalidProgram, "{}: the shapes {} and {} differ", what, shape_text(from.extents), shape_text(to.extents));
  TILERT_ASSIGN(ir::Atomic made, atomic_of(op, options, ir::Access{to.buffer, {}}));
  TILERT_TRY(check_atomic(made));
  if (made.op == ir::AtomicOp::exchange || made.op == ir::AtomicOp::cas)
    return make_error(Code::kInvalidProgram, "{}: atomic {} of a region has old values to give: write it for an element, in parallel",
                      what, ir::word(made.op));
  if (same_memory(from.buffer, to.buffer))
    return make_error(Code::kInvalidProgram, "{}: source and destination are one buffer", what);
  TILERT_TRY(use(from.buffer, Use::read, "the source"));
  TILERT_TRY(use_atomic(made));
  PointLoop points = point_loop(ir::proper_extents(to));
  ir::Arena& arena = *program_->arena;
  const ir::Expr x = read_point(points.loop.body, from.buffer, point_of(arena, from, points.points));
  made.to.indices = point_of(arena, to, points.points);
  made.value = arena.cast(x, program_->buffers[to.buffer].dtype);
  put(points.loop.body, std::move(made));
  append_loop(std::move(points));
  return {};
}

Code Builder::atomic_tile(tilert_atomic_op op, const tilert_region* destination, const tilert_region* source,
                          const tilert_atomic_options& options) {
  return run("atomic", [&] { return do_atomic_tile(op, destination, source, options); });
}

}  // namespace tilert::builder
