// Random programs that are well formed (ids, types) but need not mean anything: food for printer, parser and copies.
#pragma once

#include <random>

#include "ir/program.h"

namespace tilert::ir::samples {

class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : random_(seed) {}

  Program make() {
    p_.name = flip() ? "random" : "odd \"name\"\n\x01";
    for (int i = 0; i < 3; ++i)
      p_.locations.push_back({flip() ? "a.cc" : "b \\ c.cc", pick(100), flip() ? "label" : ""});
    for (VarKind kind :
         {VarKind::dim, VarKind::scalar, VarKind::block_index, VarKind::loop, VarKind::let, VarKind::thread, VarKind::blocks})
      for (DType type : {DType::index, DType::f32, DType::int32, DType::boolean, DType::bf16, DType::uint8})
        p_.add_var(kind, type, names_[pick(5)]);
    for (VarId v : {0u, 1u}) p_.dims.push_back(random_dim(v));
    for (int i = 0; i < 8; ++i) p_.add_buffer(random_buffer());
    p_.parameters.push_back({Parameter::Kind::tensor, "a", 0, kNoVar});
    p_.parameters.push_back({Parameter::Kind::scalar, flip() ? "s" : "", kNoBuffer, 7});
    for (const char* name : {"f", "g"}) p_.functions.push_back(random_function(name));
    for (int i = 0; i <= pick(2); ++i) p_.kernels.push_back(random_kernel());
    return std::move(p_);
  }

  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool flip() { return pick(2) == 0; }

  Expr expr(DType type, int depth = 4) {
    if (depth == 0 || pick(5) == 0) return leaf(type);
    if (pick(6) == 0) return p_.arena->cast(expr(any_type(), depth - 1), type);
    if (pick(6) == 0)
      return p_.arena->make(Op::select,
                            {expr(DType::boolean, depth - 1), expr(type, depth - 1), expr(type, depth - 1)});
    for (int tries = 0; tries < 50; ++tries) {
      const Op op = static_cast<Op>(pick(static_cast<int>(Op::isfinite) + 1));
      const OpRow& row = op_row(op);
      if (row.rule == TypeRule::leaf || row.rule == TypeRule::convert || row.rule == TypeRule::choose) continue;
      const bool tests = row.rule == TypeRule::compare || row.rule == TypeRule::test;
      if (tests && type != DType::boolean) continue;
      const DType operand = tests ? (row.rule == TypeRule::test ? DType::f32 : any_type()) : type;
      const Expr probe = leaf(operand);
      const Expr probes[] = {probe, probe, probe};
      if (!well_typed(op, std::span<const Expr>(probes, static_cast<size_t>(row.arity)))) continue;
      Expr operands[3];
      for (int i = 0; i < row.arity; ++i) operands[i] = expr(operand, depth - 1);
      return p_.arena->make(op, std::span<const Expr>(operands, static_cast<size_t>(row.arity)));
    }
    return leaf(type);
  }

 private:
  DType any_type() {
    const DType types[] = {DType::index, DType::f32, DType::int32, DType::boolean, DType::bf16, DType::uint8};
    return types[pick(6)];
  }
  Expr leaf(DType type) {
    if (flip()) return p_.arena->constant(type, pick(3) ? static_cast<uint64_t>(pick(200) - 100) : random_());
    for (;;) {
      const auto v = static_cast<VarId>(pick(static_cast<int>(p_.vars.size())));
      if (p_.vars[v].dtype == type) return p_.var(v);
    }
  }
  Dim random_dim(VarId v) {
    Dim d{v};
    if (flip()) d.value = pick(1000);
    if (flip()) d.divisible = 8;
    if (flip()) d.buckets.push_back({Bucket::Kind::range, pick(5), 5 + pick(100)});
    if (flip()) d.buckets.push_back({Bucket::Kind::divisor, 0, 0, 16});
    return d;
  }
  Buffer random_buffer() {
    Buffer b{names_[pick(5)], any_type(), static_cast<Scope>(pick(6)), {}};
    const int rank = b.scope == Scope::scalar ? 0 : 1 + pick(3);
    for (int i = 0; i < rank; ++i) b.shape.push_back(flip() ? p_.arena->index(1 + pick(64)) : expr(DType::index, 2));
    if (b.scope == Scope::global && flip()) {
      for (int i = 0; i < rank; ++i) b.strides.push_back(expr(DType::index, 2));
      b.contiguous = flip();
    }
    b.direction = static_cast<Direction>(pick(4));
    if (flip()) b.parameter = pick(2);
    if (flip()) b.alignment = 4;
    b.may_alias = flip();
    if (b.scope == Scope::global) b.entries = static_cast<Entries>(pick(3));
    b.zeroed = flip();
    b.location = static_cast<uint32_t>(pick(4));
    if (flip()) b.stages = 1 + pick(4);
    if (flip()) b.byte_offset = 128 * pick(9);
    return b;
  }
  Kernel random_kernel() {
    Kernel k;
    k.name = "k \"x\"";
    k.block_vars = {12};
    k.grid = {expr(DType::index)};
    for (const HintRow& row : hint_rows())
      if (flip()) k.hints.all.push_back({row.kind, row.low, flip(), flip() ? "sm_90a" : ""});
    k.persistent = flip();
    if (k.persistent && flip()) k.tile_count = 1;
    if (k.persistent && flip()) k.blocks = 36;
    k.threads = pick(2) * 128;
    k.body = block(3);
    return k;
  }
  Block block(int depth) {
    Block b;
    for (int i = pick(5); i >= 0; --i) {
      auto s = std::make_shared<Stmt>();
      s->node = node(depth);
      s->ordinal = static_cast<uint32_t>(pick(3) ? ++last_ : 0);
      s->location = static_cast<uint32_t>(pick(4));
      b.push_back(std::move(s));
    }
    return b;
  }
  BufferId any_buffer() { return static_cast<BufferId>(pick(static_cast<int>(p_.buffers.size()))); }
  VarId any_var() { return static_cast<VarId>(pick(static_cast<int>(p_.vars.size()))); }
  Region region() {
    Region r{any_buffer(), {}, {}};
    for (int i = pick(3); i >= 0; --i) {
      r.offsets.push_back(expr(DType::index));
      r.extents.push_back(pick(128));
    }
    return r;
  }
  Access access() {
    Access a{any_buffer(), {}};
    for (int i = pick(4); i > 0; --i) a.indices.push_back(expr(DType::index));
    return a;
  }
  Stmt::Node node(int depth) {
    switch (pick(depth ? 14 : 10)) {
      case 0: return Alloc{any_buffer()};
      case 1: {
        Copy n{region(), region()};
        if (flip()) n.safe = expr(DType::f32);
        if (flip()) n.valid = {nullptr, expr(DType::index)};
        n.prefer = static_cast<CopyPrefer>(pick(4));
        n.must = flip();
        n.eviction = static_cast<Eviction>(pick(3));
        n.multicast = flip();
        return n;
      }
      case 2: return Fill{region(), expr(any_type())};
      case 3:
        return Gemm{
            region(), region(), region(), flip(), flip(), expr(DType::boolean), static_cast<WarpSplit>(pick(4))};
      case 4: return Reduce{static_cast<ReduceOp>(pick(11)), region(), region(), pick(3), flip()};
      case 5: return flip() ? Let{any_var(), expr(any_type()), {}} : Let{any_var(), nullptr, access()};
      case 6:
        if (pick(4) == 0) return GridSync{};
        return Store{access(), expr(any_type())};
      case 7: return Inline{"cuda", "x = $0 + \"a\\b\";\n\t// \x7f", {expr(DType::f32), access()}};
      case 8: return flip() ? Stmt::Node(Move{access(), access(), 1 + pick(8)}) : Stmt::Node(call_device());
      case 9: return call();
      case 10: return Parallel{{any_var(), any_var()}, {pick(64), pick(64)}, block(depth - 1), flip()};
      case 11:
        return For{static_cast<ForKind>(pick(3)),
                   any_var(),
                   expr(DType::index),
                   expr(DType::index),
                   pick(5) - 2,
                   pick(4),
                   block(depth - 1)};
      case 12: return If{expr(DType::boolean), block(depth - 1), flip() ? block(depth - 1) : Block{}};
      default: return Group{"copy 3 \"in\"", block(depth - 1)};
    }
  }
  DeviceFunction random_function(const char* name) {
    DeviceFunction f{name, {}, flip() ? DType::none : DType::f32, {{"cuda", "__device__ \"x\"\n"}}};
    for (int i = pick(4); i > 0; --i) f.parameters.push_back({any_type(), static_cast<Passing>(pick(4))});
    if (flip()) f.texts.emplace_back("llvm", "define\\");
    return f;
  }
  CallDevice call_device() {
    CallDevice n{static_cast<uint32_t>(pick(2)), flip() ? any_var() : kNoVar, {}};
    for (const DeviceFunction::Parameter& p : p_.functions[n.function].parameters) {
      DeviceOperand operand{p.passing, nullptr, {}};
      if (p.passing == Passing::value) operand.value = expr(p.dtype);
      else operand.at = access();
      n.operands.push_back(std::move(operand));
    }
    return n;
  }
  Call call() {
    Call n{static_cast<Primitive>(pick(static_cast<int>(Primitive::setmaxnreg_dec) + 1)), {}};
    for (int i = pick(4); i > 0; --i) {
      CallArg arg;
      arg.kind = static_cast<CallArg::Kind>(pick(4));
      if (arg.kind == CallArg::Kind::value) arg.value = expr(any_type());
      if (arg.kind == CallArg::Kind::text) arg.text = "16";
      if (arg.kind == CallArg::Kind::address || arg.kind == CallArg::Kind::registers) arg.at = access();
      if (arg.kind == CallArg::Kind::registers) arg.count = pick(9);
      n.args.push_back(std::move(arg));
    }
    return n;
  }

  std::mt19937_64 random_;
  Program p_;
  int last_ = 0;
  const char* names_[5] = {"", "a", "tile_1", "odd name", "a"};
};

}  // namespace tilert::ir::samples
