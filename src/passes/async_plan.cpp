// Maps and tiles of tensor copies, arrivals of barriers.
#include "passes/async_plan.h"

#include <fmt/format.h>

#include "ir/visit.h"
#include "ir/words.h"
#include "passes/tensor_box.h"
#include "support/refusal.h"

namespace tilert::passes {

using namespace ir;

namespace {

constexpr int64_t kTileUnit = 128;  // bytes, of which the start of a box in shared memory is a multiple

class AsyncPlanner {
 public:
  AsyncPlanner(Module& module, const Kernel& kernel, KernelPlan& plan, const PassContext& context)
      : module_(module), program_(module.program), kernel_(kernel), plan_(plan), context_(context) {}

  Status run() {
    Status status;
    for_each_stmt(kernel_.body, [&](const Stmt& s) {
      if (status) status = statement(s);
    });
    return status;
  }

 private:
  Status statement(const Stmt& s) {
    if (const auto* a = std::get_if<Alloc>(&s.node); a && program_.buffer(a->buffer).scope == Scope::barrier) return barriers(s, a->buffer);
    const auto* op = std::get_if<AsyncOp>(&s.node);
    if (!op || (op->kind != AsyncOpKind::load && op->kind != AsyncOpKind::store)) return {};
    if (!context_.target.has(Feature::tma)) return missing(s, "tensor copies");
    return tensor_copy(s, *op);
  }

  Status missing(const Stmt& s, std::string_view what) const {
    return refusal(fmt::format("{}: {} on {}, which has none", describe(program_, s), what, context_.target.text),
                   "use copy, in a pipelined loop where it is to run ahead, or copy_async");
  }

  // Each warp arrives for itself once its threads have.
  Status barriers(const Stmt& s, BufferId id) {
    if (!context_.target.has(Feature::mbarrier_tx)) return missing(s, "barriers that count phases");
    plan_.async.arrivals[id] = program_.buffer(id).arrivals * (plan_.threads / context_.target.warp_size);
    return {};
  }

  Status tensor_copy(const Stmt& s, const AsyncOp& op) {
    const bool loads = op.kind == AsyncOpKind::load;
    const Region &box = loads ? op.src : op.dst, &tile = loads ? op.dst : op.src;
    if (const std::string reason = engine_takes(module_, box); !reason.empty())
      return refusal(fmt::format("{}: no tensor copy takes this region of '{}': {}", describe(program_, s), program_.buffer(box.buffer).name, reason),
                     "declare the dims and offsets as multiples of 16 bytes, or use copy");
    TILERT_ASSIGN(const int64_t span, row_span(s, tile.buffer));
    const Buffer& b = program_.buffer(tile.buffer);
    const int64_t rows = box.extents[0], columns = box.extents[1], size = dtype_bytes(b.dtype), height = box_rows(rows);
    if (height == 0)
      return refusal(fmt::format("{}: a tensor copy of {} rows, which are no boxes of at most {}", describe(program_, s), rows, kMostOfBox),
                     "give the tile a multiple of 8 rows");
    if (span == 0 && b.shape.size() > 2 && rows * columns * size % kTileUnit != 0)
      return refusal(fmt::format("{}: '{}' has matrices of {} bytes one after the other, and a tensor copy begins on {}", describe(program_, s),
                                 b.name, rows * columns * size, kTileUnit), "give them whole multiples of that");
    plan_.async.copies[s.ordinal] = plan_.roles.maps.size();
    plan_.roles.maps.push_back({box.buffer, {span ? span / size : columns, height}, static_cast<int>(span)});
    plan_.copies[s.ordinal] = {CopyPlan::Engine::tensor, plan_.roles.maps.back().box[0] * height * size};
    return {};
  }

  // As the program asks; else row-major where a box holds a row, and swizzled where it does not.
  Result<int64_t> row_span(const Stmt& s, BufferId tile) {
    if (const auto found = plan_.async.spans.find(tile); found != plan_.async.spans.end()) return found->second;
    const Buffer& b = program_.buffer(tile);
    const int64_t columns = b.shape.back()->as_int(), row_bytes = columns * dtype_bytes(b.dtype), asked = asked_span(b.layout.kind);
    if (asked < 0 && b.layout.kind != TileLayout::row_major)
      return refusal(fmt::format("{}: the tile '{}' is asked to be {}, and a tensor copy writes its rows plain or swizzled", describe(program_, s), b.name, word(b.layout.kind)),
                     "ask for row_major or a swizzle, or for none");
    const int64_t widest = swizzle_span(row_bytes);
    const bool row_major = asked < 0 || (asked == 0 && (columns <= kMostOfBox || widest == 0));
    if (row_major && (columns > kMostOfBox || row_bytes % 16 != 0))
      return refusal(fmt::format("{}: rows of {} elements, {} bytes, of the tile '{}' are no box of a tensor copy", describe(program_, s), columns, row_bytes, b.name),
                     fmt::format("give it rows of whole 16 bytes and at most {} elements, or a swizzle that divides them", kMostOfBox));
    if (asked > 0 && row_bytes % asked != 0)
      return refusal(fmt::format("{}: rows of {} bytes of the tile '{}' are not made of pieces of {}", describe(program_, s), row_bytes, b.name, asked),
                     "ask for a narrower swizzle, or for none");
    return plan_.async.spans[tile] = row_major ? 0 : asked > 0 ? asked : widest;
  }

  Module& module_;
  Program& program_;
  const Kernel& kernel_;
  KernelPlan& plan_;
  const PassContext& context_;
};

}  // namespace

bool is_asynchronous(const Program& program, const Kernel& kernel) {
  bool found = false;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* a = std::get_if<Alloc>(&s.node);
    found |= std::holds_alternative<AsyncOp>(s.node) || (a && program.buffer(a->buffer).scope == Scope::barrier);
  });
  return found;
}

Result<Module> plan_async(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    const Kernel kernel = module.program.kernels[k];
    TILERT_TRY(AsyncPlanner(module, kernel, module.plans[k], context).run());
  }
  return module;
}

}  // namespace tilert::passes
