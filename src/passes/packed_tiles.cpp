// The passes unpack_operands and pack_tiles.
#include "passes/packed_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "arith/build.h"
#include "arith/simplify.h"
#include "ir/visit.h"
#include "passes/region.h"

namespace tilert::passes {

using namespace ir;

namespace {

// ---- operands

class Unpacker {
 public:
  explicit Unpacker(Program& program) : program_(program), arena_(*program.arena) {}

  Block statement(const StmtPtr& s) {
    Block out;
    if (const auto* gemm = std::get_if<Gemm>(&s->node)) {
      Gemm made = *gemm;
      // In the type that they are multiplied in, which is how a matrix instruction takes them.
      const DType dtype = gemm_operand_dtype(program_.buffer(gemm->a.buffer).dtype, program_.buffer(gemm->b.buffer).dtype);
      for (Region* operand : {&made.a, &made.b}) replace(*operand, Scope::shared, dtype, *s, out);
      out.push_back(out.empty() ? s : make_stmt(std::move(made), s->ordinal, s->location));
    } else if (const auto* reduce = std::get_if<Reduce>(&s->node)) {
      Reduce made = *reduce;
      replace(made.src, Scope::fragment, program_.buffer(made.src.buffer).dtype, *s, out);
      out.push_back(out.empty() ? s : make_stmt(std::move(made), s->ordinal, s->location));
    } else {
      out.push_back(s);
    }
    return out;
  }

 private:
  void replace(Region& region, Scope scope, DType dtype, const Stmt& s, Block& out) {
    if (program_.buffer(region.buffer).scope != Scope::shared || !is_packed(program_, region.buffer)) return;
    Buffer b;
    b.name = program_.buffer(region.buffer).name + "_unpacked";
    b.dtype = dtype;
    b.scope = scope;
    Region whole{kNoBuffer, {}, region.extents};
    for (int64_t extent : region.extents) {
      b.shape.push_back(arena_.index(extent));
      whole.offsets.push_back(arena_.index(0));
    }
    whole.buffer = program_.add_buffer(std::move(b));
    out.push_back(make_stmt(Alloc{whole.buffer}, 0, s.location));
    Copy copy;
    copy.src = region;
    copy.dst = whole;
    out.push_back(make_stmt(std::move(copy), s.ordinal, s.location));
    region = whole;
  }

  Program& program_;
  Arena& arena_;
};

// ---- tiles

class Packer {
 public:
  Packer(Module& module, size_t kernel)
      : program_(module.program), arena_(*program_.arena), facts_(module.facts), plan_(module.plans[kernel]), body_(program_.kernels[kernel].body) {}

  Block run() {
    std::vector<BufferId> tiles;
    for_each_stmt(body_, [&](const Stmt& s) {
      const auto* a = std::get_if<Alloc>(&s.node);
      if (!a || program_.buffer(a->buffer).scope != Scope::shared) return;
      if (dtype_is_packed(program_.buffer(a->buffer).dtype) && !is_packed(program_, a->buffer)) tiles.push_back(a->buffer);
    });
    find_streamed();
    for (BufferId tile : tiles) {
      const std::string reason = why_not(tile);
      if (reason.empty()) bytes_of(tile);
      else plan_.unpacked[tile] = reason;
    }
    return rewrite_block(body_, [&](const StmtPtr& s) -> Block {
      const auto* copy = std::get_if<Copy>(&s->node);
      return {copy ? by_bytes(s, *copy) : s};
    });
  }

 private:
  // Tiles that copies of bytes in a pipelined loop fill: a product may read them through another tile, for what runs ahead
  // is worth that.
  void find_streamed() {
    for_each_stmt(body_, [&](const Stmt& s) {
      const auto* loop = std::get_if<For>(&s.node);
      if (!loop || loop->kind != ForKind::pipelined) return;
      for (const StmtPtr& inner : loop->body)
        if (const auto* copy = std::get_if<Copy>(&inner->node); copy && moves_bytes(*copy)) streamed_.insert(storage_of(program_, copy->dst.buffer));
    });
  }

  // Why a tile keeps a byte for each element; empty where it is packed.
  std::string why_not(BufferId tile) {
    const TileLayout layout = program_.buffer(tile).layout.kind;
    if (layout != TileLayout::automatic && layout != TileLayout::row_major) return "its layout is given";
    std::vector<BufferId> all = views_of(program_, tile);
    all.push_back(tile);
    for (BufferId id : all)
      if (!has_whole_rows(program_.buffer(id))) return "its rows end inside a byte";
    bool filled = false;
    std::string reason;
    for_each_stmt(body_, [&](const Stmt& s) {
      for (const BufferUse& use : buffer_uses(s)) {
        if (storage_of(program_, use.buffer) != tile || std::holds_alternative<Alloc>(s.node) || !reason.empty()) continue;
        const auto* copy = std::get_if<Copy>(&s.node);
        filled |= copy && use.write && moves_bytes(*copy);
        if (!std::holds_alternative<Gemm>(s.node) || use.write || !streamed_.count(tile)) reason = why_not(s, use);
      }
    });
    if (reason.empty() && !filled) return "no copy fills it by whole bytes";
    return reason;
  }

  std::string why_not(const Stmt& s, const BufferUse& use) {
    if (const auto* copy = std::get_if<Copy>(&s.node))
      return use.write && !whole_bytes(copy->dst) ? fmt::format("operation {} writes parts of bytes", s.ordinal) : "";
    if (const auto* fill = std::get_if<Fill>(&s.node)) return whole_bytes(fill->dst) ? "" : fmt::format("operation {} writes parts of bytes", s.ordinal);
    if (std::holds_alternative<Let>(s.node)) return "";
    if (std::holds_alternative<Store>(s.node)) return fmt::format("an element of it is stored by itself{}", s.ordinal ? fmt::format(" in operation {}", s.ordinal) : "");
    return fmt::format("operation {} is no copy", s.ordinal);
  }

  bool multiple(Expr e, int64_t n) {
    arith::Simplifier simplifier(arena_, facts_);
    return certain_multiple(e, n) || facts_.range(simplifier.simplify(e)).multiple_of(n);
  }

  bool whole_bytes(const Region& r) {
    const int64_t group = dtype_group(program_.buffer(r.buffer).dtype);
    return r.extents.back() % group == 0 && multiple(r.offsets.back(), group);
  }

  // Between a tensor and a tile, with no byte in it of which only a part is meant.
  bool moves_bytes(const Copy& c) {
    const Buffer &src = program_.buffer(c.src.buffer), &dst = program_.buffer(c.dst.buffer);
    if (src.dtype != dst.dtype || !dtype_is_packed(src.dtype)) return false;
    const bool in = src.scope == Scope::global && dst.scope == Scope::shared, out = dst.scope == Scope::global && src.scope == Scope::shared;
    if ((!in && !out) || !whole_bytes(c.src) || !whole_bytes(c.dst)) return false;
    const int64_t group = dtype_group(src.dtype);
    const Region& global = in ? c.src : c.dst;
    const Buffer& tensor = in ? src : dst;
    if (tensor.shape.size() < 1 || (is_table(tensor) && tensor.shape.size() < 2) || !multiple(tensor.shape.back(), group)) return false;
    for (size_t d = 0; d + 1 < tensor.shape.size(); ++d)
      if (!multiple(tensor.strides[d], group)) return false;
    if (!tensor.strides.back()->is_constant() || tensor.strides.back()->as_int() != 1) return false;
    if (!c.valid.empty() && c.valid.back() && !multiple(c.valid.back(), group)) return false;
    return global.extents.back() > 0 && (!c.safe || !in || safe_byte(c.safe, src.dtype));
  }

  // The byte of which each element is that value; nothing where there is none.
  static std::optional<uint64_t> safe_byte(Expr safe, DType dtype) {
    const uint64_t code = safe->bits & ((uint64_t{1} << dtype_bits(dtype)) - 1);
    if (code == 0) return 0;
    if (!safe->is_constant() || dtype_bits(dtype) != 4) return std::nullopt;
    return code << 4 | code;
  }

  StmtPtr by_bytes(const StmtPtr& s, const Copy& c) {
    const bool in = program_.buffer(c.src.buffer).scope == Scope::global;
    if (!is_packed(program_, c.src.buffer) || !is_packed(program_, c.dst.buffer) || !moves_bytes(c)) return s;
    const DType dtype = program_.buffer(c.src.buffer).dtype;
    Copy made = c;
    made.src = in_bytes(c.src);
    made.dst = in_bytes(c.dst);
    made.safe = in ? arena_.constant(DType::uint8, *safe_byte(c.safe ? c.safe : arena_.number(dtype, 0), dtype)) : nullptr;
    if (!made.valid.empty() && made.valid.back()) made.valid.back() = bytes(made.valid.back(), dtype);
    return make_stmt(std::move(made), s->ordinal, s->location);
  }

  Expr bytes(Expr elements, DType dtype) {
    arith::Simplifier simplifier(arena_, facts_);
    return simplifier.simplify(arith::floordiv(arena_, arith::mul(arena_, elements, dtype_bits(dtype)), 8));
  }

  Region in_bytes(const Region& r) {
    const DType dtype = program_.buffer(r.buffer).dtype;
    Region out = r;
    out.buffer = bytes_of(r.buffer);
    out.offsets.back() = bytes(r.offsets.back(), dtype);
    out.extents.back() = r.extents.back() * dtype_bits(dtype) / 8;
    return out;
  }

  // A tensor's or tile's bytes: a buffer of the same shape, but for the last dim.
  BufferId bytes_of(BufferId id) {
    const auto found = bytes_.find(id);
    if (found != bytes_.end()) return found->second;
    Buffer b = program_.buffer(id);
    const DType dtype = b.dtype;
    b.name += "_bytes";
    b.dtype = DType::uint8;
    b.shape.back() = bytes(b.shape.back(), dtype);
    b.layout = {};
    for (size_t d = 0; d + 1 < b.strides.size(); ++d) b.strides[d] = bytes(b.strides[d], dtype);
    if (b.scope == Scope::global) {
      b.contiguous = false;
    } else {
      b.view_of = storage_of(program_, id);
      for (BufferId other = 0; other < program_.buffers.size(); ++other) {
        const Buffer& o = program_.buffer(other);
        if (storage_of(program_, other) == b.view_of && o.dtype == b.dtype && o.shape == b.shape) return bytes_[id] = other;
      }
    }
    return bytes_[id] = program_.add_buffer(std::move(b));
  }

  Program& program_;
  Arena& arena_;
  arith::Facts& facts_;
  KernelPlan& plan_;
  Block body_;
  std::map<BufferId, BufferId> bytes_;
  std::set<BufferId> streamed_;
};

bool has_small_tiles(const Program& program) {
  return std::any_of(program.buffers.begin(), program.buffers.end(),
                     [](const Buffer& b) { return b.scope == Scope::shared && dtype_is_packed(b.dtype); });
}

}  // namespace

AddressMap packed_bytes_map(const Program& program, BufferId tile) {
  const Buffer& b = program.buffer(tile);
  std::vector<int64_t> shape;
  for (Expr e : b.shape) shape.push_back(e->as_int());
  shape.back() = shape.back() * dtype_bits(b.dtype) / 8;
  return row_major_map(shape, 1);
}

Result<Module> unpack_operands(Module module, const PassContext&) {
  if (!has_small_tiles(module.program)) return module;
  Unpacker unpacker(module.program);
  for (Kernel& kernel : module.program.kernels)
    kernel.body = rewrite_block(kernel.body, [&](const StmtPtr& s) { return unpacker.statement(s); });
  return module;
}

Result<Module> pack_tiles(Module module, const PassContext&) {
  if (!has_small_tiles(module.program)) return module;
  for (size_t k = 0; k < module.program.kernels.size(); ++k) module.program.kernels[k].body = Packer(module, k).run();
  return module;
}

}  // namespace tilert::passes
