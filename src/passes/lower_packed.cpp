// Writes into tensors and tiles whose elements share bytes: each thread packs runs of elements that fill whole bytes, so that every byte
// has one writer; at the end of a row, or of what is written, it keeps the bits of the last byte that are not its own.
// Reads need nothing special: the text of an element's read says where its bits are.
#include <fmt/format.h>

#include "ir/visit.h"
#include "layout/fragment_builders.h"
#include "passes/element_wise.h"

namespace tilert::passes {

using namespace ir;

namespace {

class PackedWrite {
 public:
  PackedWrite(Lower& low, const Region& dst, const std::vector<Expr>& valid)
      : low_(low), arena_(low.arena()), dst_(dst), valid_(valid), dtype_(low.program().buffer(dst.buffer).dtype) {
    for (size_t d = 0; d < dst.extents.size(); ++d) {
      if (dst.extents[d] == 1 && d + 1 < dst.extents.size()) continue;
      dims_.push_back(d);
      loop_.vars.push_back(low.program().add_var(VarKind::loop, DType::index, "i"));
      loop_.extents.push_back(dst.extents[d]);
    }
    choose_width();
    choose_map();
  }

  // The loop over the region's dims that are no units, and the last; its body is the caller's.
  Parallel& loop() { return loop_; }
  const FragmentMap& map() const { return map_; }
  DType dtype() const { return dtype_; }
  std::vector<Expr> points() const {
    std::vector<Expr> out;
    for (VarId v : loop_.vars) out.push_back(low_.program().var(v));
    return out;
  }
  // Those whose extent is not 1.
  std::vector<Expr> proper_points() const {
    std::vector<Expr> out;
    for (size_t i = 0; i < loop_.vars.size(); ++i)
      if (loop_.extents[i] != 1) out.push_back(low_.program().var(loop_.vars[i]));
    return out;
  }

  void write(BufferId fragment) {
    const BufferId registers = low_.fragment_registers(fragment);
    low_.group(low_.comment("packed write"), [&] {
      low_.unrolled(map_.registers() / width_, [&](Expr chunk) {
        const Expr first = arith::mul(arena_, chunk, width_);
        std::vector<Expr> indices = dst_.offsets;
        Expr condition = low_.is_first_replica(map_);
        for (size_t i = 0; i < dims_.size(); ++i) {
          const Expr at = low_.coordinate(map_, static_cast<int>(i), first);
          const bool last = i + 1 == dims_.size();
          if (map_.padded_shape()[i] > loop_.extents[i])
            condition = arith::logical_and(arena_, condition, arith::lt(arena_, at, loop_.extents[i]));
          if (last) left_ = arith::sub(arena_, low_.index(loop_.extents[i]), at);
          indices[dims_[i]] = low_.simplify(arith::add(arena_, indices[dims_[i]], at));
        }
        condition = arith::logical_and(arena_, condition, low_.inside(dst_.buffer, indices, valid_));
        low_.when(condition, [&] {
          low_.call(Primitive::store_packed,
                    {text_arg(std::to_string(width_)), text_arg(std::to_string(dtype_bits(dtype_))),
                     address_arg(low_.memory_access(dst_.buffer, indices)), registers_arg(registers, first, width_),
                     value_arg(count(indices.back()))});
        });
      });
    });
  }

 private:
  // How many of a chunk's elements are written: up to the region's, the row's and the bound's end.
  Expr count(Expr index) {
    const Buffer& b = low_.program().buffer(dst_.buffer);
    Expr bound = b.shape.back();
    if (!valid_.empty() && valid_.back()) bound = arith::min(arena_, valid_.back(), bound);
    const Expr most = arith::min(arena_, left_, arith::sub(arena_, bound, index));
    return low_.simplify(arith::min(arena_, most, width_));
  }

  // As many elements at a time as the region's places allow: whole bytes up to sixteen.
  void choose_width() {
    const Buffer& b = low_.program().buffer(dst_.buffer);
    const int64_t group = dtype_group(dtype_), bits = dtype_bits(dtype_);
    const auto multiple = [&](Expr e, int64_t n) { return low_.facts().range(low_.simplify(e)).multiple_of(n); };
    for (width_ = bits == 4 ? 32 : 16; width_ > group; width_ /= 2) {
      const int64_t bytes = width_ * bits / 8;
      bool fits = dst_.extents.back() % width_ == 0 && multiple(dst_.offsets.back(), width_) &&
                  b.alignment % (bytes & -bytes) == 0;
      for (size_t d = 0; d + 1 < b.strides.size() && fits; ++d) fits = multiple(b.strides[d], width_);
      if (b.scope == Scope::shared) fits = fits && low_.shared_vector_width(dst_.buffer) >= width_;
      if (fits) break;
    }
  }

  // Chunks over threads; each thread has a chunk's elements in consecutive registers.
  void choose_map() {
    std::vector<int64_t> chunks = loop_.extents, shape = loop_.extents;
    chunks.back() = (chunks.back() + width_ - 1) / width_;
    shape.back() = chunks.back() * width_;
    const FragmentMap over = blocked_map(chunks, low_.plan().threads, 1, low_.context().target.warp_size);
    const int last = static_cast<int>(chunks.size()) - 1;
    std::vector<Digit> digits = {{Place::register_, width_, last, 1}};
    for (Digit digit : over.digits()) {
      if (digit.dim == last) digit.stride *= width_;
      digits.push_back(digit);
    }
    map_ = FragmentMap(shape, std::move(digits));
  }

  Lower& low_;
  Arena& arena_;
  const Region dst_;
  const std::vector<Expr> valid_;
  const DType dtype_;
  std::vector<size_t> dims_;  // of the tensor, one for each variable of the loop
  Parallel loop_;
  FragmentMap map_;
  int64_t width_ = 1;
  Expr left_ = nullptr;  // elements from the chunk's first to the region's end
};

}  // namespace

Status Lower::packed_copy(const Copy& c) {
  Copy copy = c;
  if (plan_.partial.count(c.src.buffer)) copy.src.buffer = completed(c.src.buffer);
  const Buffer src = program().buffer(copy.src.buffer);
  const bool from_global = src.scope == Scope::global;
  PackedWrite out(*this, copy.dst, from_global ? std::vector<Expr>{} : copy.valid);
  const BufferId through = new_fragment(out.dtype(), out.map(), "packed");
  clear_registers(through);
  const std::vector<Expr> points = out.proper_points();
  std::vector<Expr> indices;
  size_t next = 0;
  for (size_t d = 0; d < copy.src.extents.size(); ++d)
    indices.push_back(copy.src.extents[d] == 1 ? copy.src.offsets[d]
                                               : arith::add(arena(), copy.src.offsets[d], points[next++]));
  const VarId x = program().add_var(VarKind::let, src.dtype, "x");
  out.loop().body.push_back(make_stmt(Let{x, nullptr, {copy.src.buffer, indices}}));
  out.loop().body.push_back(make_stmt(Store{{through, out.points()}, arena().cast(program().var(x), out.dtype())}));
  ElementBounds bounds;
  if (from_global) bounds = {copy.src.buffer, copy.valid, copy.safe};
  TILERT_TRY(ElementWise(*this, out.loop(), out.map(), comment("copy, to be packed"), bounds).run());
  out.write(through);
  return {};
}

Status Lower::packed_fill(const Fill& f, Expr value) {
  PackedWrite out(*this, f.dst, {});
  const BufferId through = new_fragment(out.dtype(), out.map(), "packed");
  group(comment("fill"), [&] {
    unrolled(out.map().registers(), [&](Expr reg) { store({fragment_registers(through), {reg}}, value); });
  });
  out.write(through);
  return {};
}

}  // namespace tilert::passes
