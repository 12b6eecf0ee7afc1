// A fragment's elements under another shape or element type: in registers where each thread has all of them, else
// through shared memory.
#include "passes/lower.h"
#include "passes/views.h"

namespace tilert::passes {

using namespace ir;

namespace {

DType unsigned_of(int bytes) {
  return bytes == 1 ? DType::uint8 : bytes == 2 ? DType::uint16 : bytes == 4 ? DType::uint32 : DType::uint64;
}

// A value's bytes as an unsigned integer, and a value of such bytes.
Expr to_bits(Arena& arena, Expr value) {
  const DType bits = unsigned_of(dtype_bytes(value->dtype));
  if (value->dtype == bits) return value;
  return value->dtype == DType::boolean ? arena.cast(value, bits) : arena.reinterpret(value, bits);
}
Expr of_bits(Arena& arena, Expr bits, DType dtype) {
  return bits->dtype == dtype ? bits : arena.reinterpret(bits, dtype);
}

}  // namespace

std::optional<FragmentMap> viewed_map(const FragmentMap& from, int from_bytes, int to_bytes,
                                      const std::vector<int64_t>& shape) {
  if (from_bytes >= to_bytes) return from.expanded(from_bytes / to_bytes).reshaped(shape);
  std::vector<int64_t> narrow = shape;
  narrow.back() *= to_bytes / from_bytes;
  const auto map = from.reshaped(narrow);
  return map ? map->contracted(to_bytes / from_bytes) : std::nullopt;
}

Status Lower::reinterpret(const Reinterpret& r) {
  const BufferId src = plan_.partial.count(r.src.buffer) ? completed(r.src.buffer) : r.src.buffer, dst = r.dst.buffer;
  const DType from = program().buffer(src).dtype, to = program().buffer(dst).dtype;
  const FragmentMap map = fragment_map(src);
  const int wide = dtype_bytes(from), narrow = dtype_bytes(to);
  if (viewed_map(map, wide, narrow, fragment_map(dst).shape()) == fragment_map(dst)) {
    group(comment("view of a fragment"), [&] { reinterpret_registers(src, dst); });
    return {};
  }
  note_conversion(src, false, "a view of it has other elements in each thread");
  int64_t elements = 1;
  for (int64_t extent : map.shape()) elements *= extent;
  const BufferId box = scratch(from, elements, "viewed");
  const BufferId view = scratch(to, elements * wide / narrow, "view");
  program().buffers[view].view_of = box;
  spill(src, box);
  reload(dst, view);
  return {};
}

// Each register is a part of one, several or as many of the other; the low bytes come first.
void Lower::reinterpret_registers(BufferId src, BufferId dst) {
  const DType from = program().buffer(src).dtype, to = program().buffer(dst).dtype;
  const int a = dtype_bytes(from), b = dtype_bytes(to);
  const BufferId in = fragment_registers(src), out = fragment_registers(dst);
  Arena& arena = this->arena();
  const auto number = [&](DType dtype, int64_t value) { return arena.constant(dtype, static_cast<uint64_t>(value)); };
  unrolled(fragment_map(a >= b ? src : dst).registers(), [&](Expr reg) {
    const int parts = a >= b ? a / b : b / a;
    const auto part = [&](int i) { return simplify(arith::add(arena, arith::mul(arena, reg, parts), i)); };
    if (from == to) return store({out, {reg}}, read({in, {reg}}, "x"));
    if (a >= b) {
      const Expr bits = to_bits(arena, read({in, {reg}}, "x"));
      for (int i = 0; i < parts; ++i) {
        const Expr shifted = i == 0 ? bits : arena.make(Op::shr, {bits, number(bits->dtype, 8 * b * i)});
        store({out, {part(i)}}, of_bits(arena, arena.cast(shifted, unsigned_of(b)), to));
      }
      return;
    }
    const DType whole = unsigned_of(b);
    Expr bits = nullptr;
    for (int i = 0; i < parts; ++i) {
      const Expr low = arena.cast(to_bits(arena, read({in, {part(i)}}, "x")), whole);
      const Expr placed = i == 0 ? low : arena.make(Op::shl, {low, number(whole, 8 * a * i)});
      bits = bits ? arena.make(Op::bit_or, {bits, placed}) : placed;
    }
    store({out, {reg}}, of_bits(arena, bits, to));
  });
}

}  // namespace tilert::passes
