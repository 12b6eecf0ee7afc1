// Statements: one check a kind.
#include <algorithm>

#include "ir/evaluate.h"
#include "ir/inline_text.h"
#include "ir/semantics.h"
#include "ir/verifier_impl.h"
#include "ir/visit.h"
#include "ir/words.h"

namespace tilert::ir {
namespace {

struct StatementRow {
  const char* name;
  bool parallel;
  bool legal[4];
};
// In the order of Stmt::Node, as asserted below.
constexpr StatementRow kStatements[] = {
#define TILERT_STATEMENT(kind, name, parallel, tile, specialized, lowered, synchronized) \
  {name, parallel, {tile, specialized, lowered, synchronized}},
#define TILERT_SCOPE(scope, tile, specialized, lowered, synchronized)
#include "ir/stages.def"
#undef TILERT_STATEMENT
#undef TILERT_SCOPE
};
enum Position {
#define TILERT_STATEMENT(kind, name, parallel, tile, specialized, lowered, synchronized) k##kind,
#define TILERT_SCOPE(scope, tile, specialized, lowered, synchronized)
#include "ir/stages.def"
#undef TILERT_STATEMENT
#undef TILERT_SCOPE
};
#define TILERT_STATEMENT(kind, name, parallel, tile, specialized, lowered, synchronized) \
  static_assert(std::is_same_v<std::variant_alternative_t<k##kind, Stmt::Node>, kind>);
#define TILERT_SCOPE(scope, tile, specialized, lowered, synchronized)
#include "ir/stages.def"
#undef TILERT_STATEMENT
#undef TILERT_SCOPE
static_assert(std::size(kStatements) == std::variant_size_v<Stmt::Node>);

}  // namespace

bool Verifier::statements(const Block& b) {
  for (const StmtPtr& s : b) {
    if (!s) return fail("a statement is missing");
    if (!stmt(*s)) return false;
  }
  return true;
}

bool Verifier::block(const Block& b) {
  const std::vector<char> defined = defined_, allocated = allocated_;
  if (!statements(b)) return false;
  defined_ = defined;
  allocated_ = allocated;
  return true;
}

bool Verifier::stmt(const Stmt& s) {
  const Stmt* const outer = current_;
  current_ = &s;
  const bool good = legal(s) && fits_role(s) && std::visit([&](const auto& n) { return check(n); }, s.node);
  current_ = outer;
  return good;
}

bool Verifier::legal(const Stmt& s) {
  const StatementRow& row = kStatements[s.node.index()];
  if (!row.legal[static_cast<size_t>(stage_)]) return fail(fmt::format("{} has no place at this stage", row.name));
  if (parallel_ && !row.parallel)
    return fail(fmt::format("{} inside {}, whose body holds loads, stores, atomic operations, if, serial and while loops, var and local{}",
                            row.name, around(), parallel_->threads ? ", and what threads do" : ""));
  return true;
}

bool Verifier::check(const Alloc& n) {
  if (n.buffer >= p_.buffers.size() || p_.buffers[n.buffer].scope == Scope::global) return fail("alloc names no tile");
  if (!scope_has_place(n.buffer)) return false;
  if (!lowered() && p_.buffers[n.buffer].view_of != kNoBuffer) return fail(fmt::format("{} is a view and declares no tile", name(n.buffer)));
  const Scope scope = p_.buffers[n.buffer].scope;
  if (parallel_ && scope != Scope::scalar && scope != Scope::local)
    return fail(
        fmt::format("{} is declared inside {}; only var and local are private to a {}, declare others before", name(n.buffer), around(),
                    parallel_->threads ? "thread" : "point"));
  allocated_[n.buffer] = 1;
  written_[n.buffer] = 0;
  private_[n.buffer] = parallel_ != nullptr;
  return true;
}

// At the first stage, as the builder does: later ones keep the regions.
bool Verifier::covers_bytes(const Region& r, const char* what) {
  if (stage_ != Stage::tile || covers_whole_bytes(p_, r)) return true;
  return fail(fmt::format("{} writes a part of a byte of {}; {} elements of {} fill whole bytes", what, name(r.buffer),
                          dtype_group(p_.buffers[r.buffer].dtype), dtype_text(p_.buffers[r.buffer].dtype)));
}

bool Verifier::check(const Copy& n) {
  if (!region(n.src, "copy") || !region(n.dst, "copy") || !covers_bytes(n.dst, "copy")) return false;
  for (BufferId b : {n.src.buffer, n.dst.buffer})
    if (!scope_is(b, {Scope::global, Scope::shared, Scope::fragment, Scope::local}, "a side of copy")) return false;
  if (proper_extents(n.src) != proper_extents(n.dst))
    return fail(fmt::format("copy of {} {} to {} {}: the extents differ; a copy moves a box of one shape",
                            name(n.src.buffer), shape_text(n.src.extents), name(n.dst.buffer),
                            shape_text(n.dst.extents)));
  const Buffer &src = p_.buffers[n.src.buffer], &dst = p_.buffers[n.dst.buffer];
  if (src.scope == Scope::global && dst.scope == Scope::global && may_share(src, dst))
    return unsupported(fmt::format("copy from {} to {}, which may overlap", name(n.src.buffer), name(n.dst.buffer)),
                       "copy through a shared tile");
  return copy_options(n) && reads(n.src.buffer) && writes(n.dst.buffer);
}

bool Verifier::copy_options(const Copy& n) {
  const Buffer &src = p_.buffers[n.src.buffer], &dst = p_.buffers[n.dst.buffer];
  if (n.safe && !expr(n.safe, src.dtype, "the safe value")) return false;
  if (n.valid.empty()) return true;
  const bool from = src.scope == Scope::global;
  if (!from && dst.scope != Scope::global)
    return fail("valid bounds belong to a tensor, and neither side of this copy is one");
  const size_t rank = from ? src.shape.size() : dst.shape.size();
  if (n.valid.size() != rank) return fail(fmt::format("copy: {} valid bounds for {} dims", n.valid.size(), rank));
  for (Expr e : n.valid)
    if (e && !expr(e, DType::index, "a valid bound")) return false;
  return true;
}

bool Verifier::check(const Reinterpret& n) {
  if (!region(n.src, "reinterpret") || !region(n.dst, "reinterpret")) return false;
  for (const Region* r : {&n.src, &n.dst})
    if (!scope_is(r->buffer, {Scope::fragment, Scope::shared}, "a side of reinterpret") || !lowered_or_whole(*r)) return false;
  if (tile_bytes(p_, n.src.buffer) != tile_bytes(p_, n.dst.buffer))
    return fail("the tiles of reinterpret differ in bytes");
  return reads(n.src.buffer) && writes(n.dst.buffer);
}

bool Verifier::lowered_or_whole(const Region& r) {
  const Buffer& b = p_.buffers[r.buffer];
  bool whole = true;
  for (size_t d = 0; d < r.extents.size(); ++d)
    whole = whole && r.offsets[d]->is_constant() && r.offsets[d]->as_int() == 0 && r.extents[d] == b.shape[d]->as_int();
  return lowered() || whole || fail("reinterpret takes whole tiles");
}

bool Verifier::check(const Fill& n) {
  if (!region(n.dst, "fill") || !covers_bytes(n.dst, "fill")) return false;
  if (!expr(n.value, p_.buffers[n.dst.buffer].dtype, "the value of fill")) return false;
  return writes(n.dst.buffer);
}

bool Verifier::check(const Gemm& n) {
  struct {
    const Region& r;
    const char* name;
    bool swap;
  } const sides[] = {{n.a, "a of gemm", n.trans_a}, {n.b, "b of gemm", n.trans_b}, {n.c, "c of gemm", false}};
  int64_t size[3][2];
  for (int i = 0; i < 3; ++i) {
    const Region& r = sides[i].r;
    if (!region(r, sides[i].name)) return false;
    if (!(i < 2 ? scope_is(r.buffer, {Scope::shared, Scope::fragment}, sides[i].name)
                : scope_is(r.buffer, {Scope::fragment}, sides[i].name)))
      return false;
    const size_t rank = r.extents.size();
    bool matrix = rank >= 2;
    for (size_t d = 0; d + 2 < rank; ++d) matrix &= r.extents[d] == 1;
    if (!matrix)
      return fail(fmt::format("{} is {} {}; it must be a matrix, with leading extents of 1", sides[i].name,
                              name(r.buffer), shape_text(r.extents)));
    size[i][sides[i].swap] = r.extents[rank - 2];
    size[i][!sides[i].swap] = r.extents[rank - 1];
  }
  if (n.sparse() && !gemm_metadata(n, size[0][0], size[1][0])) return false;
  if (n.sparse()) size[0][1] *= 2;
  if (size[0][0] != size[2][0] || size[1][1] != size[2][1] || size[0][1] != size[1][0])
    return fail(
        fmt::format("gemm of {} [{}, {}] by {} [{}, {}] into {} [{}, {}]: [m, k] by [k, n] gives [m, n]; is a "
                    "transposition missing?",
                    name(n.a.buffer), size[0][0], size[0][1], name(n.b.buffer), size[1][0], size[1][1],
                    name(n.c.buffer), size[2][0], size[2][1]));
  if (n.issued && !lowered() && !issued_product(n)) return false;
  if (!gemm_types(n) || !expr(n.accumulate, DType::boolean, "accumulate of gemm")) return false;
  if (!reads(n.a.buffer) || !reads(n.b.buffer)) return false;
  if (const BufferId c = storage_of(p_, n.c.buffer); c == storage_of(p_, n.a.buffer) || c == storage_of(p_, n.b.buffer))
    return fail(fmt::format("gemm writes {}, which it also multiplies; use another tile", name(n.c.buffer)));
  const bool overwrites = n.accumulate->is_constant() && n.accumulate->bits == 0;
  // A condition that is not constant may be false the first time.
  if (n.accumulate->is_constant() && !overwrites && !reads(n.c.buffer)) return false;
  return writes(n.c.buffer);
}

bool Verifier::gemm_metadata(const Gemm& n, int64_t m, int64_t k) {
  if (!region(n.metadata, "metadata of gemm") || !scope_is(n.metadata.buffer, {Scope::shared, Scope::fragment}, "metadata of gemm")) return false;
  if (n.trans_a) return fail(fmt::format("gemm of {}, which is sparse and transposed; keep its rows along k", name(n.a.buffer)));
  if (k % 4 != 0) return fail(fmt::format("sparse gemm over {} elements of k, which come in fours", k));
  const DType dtype = p_.buffers[n.metadata.buffer].dtype;
  if (!gemm_metadata_takes(dtype))
    return fail(fmt::format("metadata of gemm is {}, which is {}; it is uint8, uint16 or uint32", name(n.metadata.buffer), dtype_text(dtype)));
  const std::vector<int64_t>& extents = n.metadata.extents;
  const size_t rank = extents.size();
  bool fits = rank >= 2 && extents[rank - 2] == m && extents[rank - 1] == gemm_metadata_columns(dtype, k);
  for (size_t d = 0; d + 2 < rank; ++d) fits &= extents[d] == 1;
  if (!fits)
    return fail(fmt::format("metadata of gemm is {} {}; of {} rows and {} of k it is [{}, {}]", name(n.metadata.buffer), shape_text(extents), m, k, m,
                            gemm_metadata_columns(dtype, k)));
  if (storage_of(p_, n.metadata.buffer) == storage_of(p_, n.c.buffer))
    return fail(fmt::format("gemm writes {}, which is its metadata; use another tile", name(n.c.buffer)));
  return reads(n.metadata.buffer);
}

bool Verifier::gemm_types(const Gemm& n) {
  const DType in = gemm_operand_dtype(p_, n), out = p_.buffers[n.c.buffer].dtype;
  for (BufferId operand : {n.a.buffer, n.b.buffer})
    if (n.tf32 && p_.buffers[operand].dtype != DType::f32)
      return fail(fmt::format("gemm in tf32 of {}, which is {}; tf32 is a mode of f32 products", name(operand),
                              dtype_text(p_.buffers[operand].dtype)));
  return gemm_takes(in, out) ||
         unsupported(fmt::format("gemm of {} into {}", dtype_text(in), dtype_text(out)),
                     "f64 adds up in f64, other floats in f32, f16 or bf16, integers in int32 or int64");
}

bool Verifier::check(const Reduce& n) {
  if (!region(n.src, "the source of reduce") || !region(n.dst, "the destination of reduce")) return false;
  if (!scope_is(n.src.buffer, {Scope::fragment, Scope::shared, Scope::local}, "the source of reduce") ||
      !scope_is(n.dst.buffer, {Scope::fragment, Scope::shared, Scope::local, Scope::scalar},
                "the destination of reduce"))
    return false;
  const auto rank = static_cast<int>(n.src.extents.size());
  if (n.dim < 0 || n.dim >= rank)
    return fail(fmt::format("reduce over dim {} of {}, which has {}", n.dim, name(n.src.buffer), rank));
  std::vector<int64_t> rest = n.src.extents, kept = n.src.extents;
  rest.erase(rest.begin() + n.dim);
  kept[static_cast<size_t>(n.dim)] = 1;
  const std::optional<size_t> units = reduce_leading_units(n);
  if (!units || (*units > 0 && stage_ == Stage::tile))
    return fail(fmt::format("reduce of {} {} over dim {} into {} {}: the destination must be {} or {}",
                            name(n.src.buffer), shape_text(n.src.extents), n.dim, name(n.dst.buffer),
                            shape_text(n.dst.extents), shape_text(rest), shape_text(kept)));
  const DType from = p_.buffers[n.src.buffer].dtype, to = p_.buffers[n.dst.buffer].dtype;
  if (!reduce_takes(n.op, to) || (dtype_is_float(from) && !dtype_is_float(to)))
    return unsupported(fmt::format("reduce {} of {} into {}", word(n.op), dtype_text(from), dtype_text(to)),
                       "bits reduce into integers, the other operations into numbers; cast before");
  return reads(n.src.buffer) && (!n.accumulate || reads(n.dst.buffer)) && writes(n.dst.buffer);
}

bool Verifier::check(const Parallel& n) {
  if (n.vars.empty() || n.vars.size() != n.extents.size() || n.vars.size() > kMaxRank)
    return fail(fmt::format("parallel has 1 to {} extents and as many variables", kMaxRank));
  int64_t points = 1;
  for (size_t i = 0; i < n.vars.size(); ++i) {
    if (n.extents[i] < 1)
      return fail(fmt::format("parallel over an extent of {}; extents are at least 1", n.extents[i]));
    if (n.extents[i] > kMaxElements / points)
      return fail(fmt::format("parallel over more than {} points", kMaxElements));
    points *= n.extents[i];
    if (!define(n.vars[i], VarKind::loop, Dependence{1} << i | (n.threads ? kLane : 0))) return false;
  }
  if (n.threads && !check_threads(n, *in_kernel_)) return false;
  parallel_ = &n;
  const int whiles = std::exchange(whiles_, 0);
  auto conditions = std::exchange(conditions_, {});
  const Dependence under = std::exchange(under_, 0);
  const int loops = std::exchange(loops_, 0);  // a point leaves none of the block's
  const bool good = block(n.body);
  parallel_ = nullptr;
  under_ = under;
  loops_ = loops;
  whiles_ = whiles;
  conditions_ = std::move(conditions);
  for (VarId v : n.vars) defined_[v] = 0;
  return good;
}

bool Verifier::check(const Let& n) {
  if (n.var >= p_.vars.size()) return fail("a let defines no variable");
  const DType dtype = p_.vars[n.var].dtype;
  if (n.value) return expr(n.value, dtype, "the value of a let") && define(n.var, VarKind::let, dependence(n.value) | made_inside());
  if (!access(n.read, "load")) return false;
  if (p_.buffers[n.read.buffer].dtype != dtype)
    return fail(fmt::format("load: {} holds {}, {} was expected", name(n.read.buffer),
                            dtype_text(p_.buffers[n.read.buffer].dtype), dtype_text(dtype)));
  if (!reads(n.read.buffer)) return false;
  // What private storage holds may come from any point's own values.
  const Dependence all = private_[n.read.buffer] ? ~Dependence{0} : dependence(n.read.indices);
  return define(n.var, VarKind::let, all | made_inside());
}

bool Verifier::check(const Store& n) {
  if (!access(n.to, "store")) return false;
  return expr(n.value, p_.buffers[n.to.buffer].dtype, "the stored value") && injective(n.to) && writes(n.to.buffer);
}

// Inside parallel, an element of a buffer that all points share may be written by one point only: its indices must name
// the point, as far as conditions around do not.
bool Verifier::injective(const Access& a) {
  if (!parallel_ || private_[storage_of(p_, a.buffer)]) return true;
  const Scope scope = p_.buffers[a.buffer].scope;
  if (parallel_->threads && (scope == Scope::scalar || scope == Scope::local))
    return fail(fmt::format("store to {} in a loop over threads: it is the block's; declare it inside, or use a fragment with an "
                            "element for each thread", name(a.buffer)));
  const Dependence known = dependence(a.indices) | under_;
  for (size_t i = 0; i < parallel_->vars.size(); ++i)
    if (parallel_->extents[i] > 1 && !(known >> i & 1))
      return fail(
          fmt::format("store to {}: all {} points along {} write the same element; use reduce, or a serial loop",
                      name(a.buffer), parallel_->extents[i], name_of_var(parallel_->vars[i])));
  return true;
}

bool Verifier::check(const Inline& n) {
  if (!is_source_language(n.target)) return unsupported(fmt::format("inline source for '{}'", n.target), "this version takes cuda, hip and llvm");
  for (const auto& operand : n.operands) {
    if (const Expr* e = std::get_if<Expr>(&operand)) {
      if (!*e) return fail("an operand of inline source is missing");
      if (!typed(*e) || !visible(*e)) return false;
    } else {
      const Access& a = std::get<Access>(operand);
      if (!access(a, "an operand of inline source")) return false;
      if (is_packed(p_, a.buffer)) return fail(fmt::format("an element of {} has no address of its own, and is an operand of inline source", name(a.buffer)));
      written_[storage_of(p_, a.buffer)] = 1;  // whether the text reads or writes it is the text's own matter
    }
  }
  size_t beyond = 0;
  splice(n.text, [&](size_t i) {
    beyond = i >= n.operands.size() ? std::max(beyond, i + 1) : beyond;
    return "";
  });
  if (beyond) return fail(fmt::format("the text of inline source names ${} of {} operands", beyond - 1, n.operands.size()));
  return true;
}

bool Verifier::check(const Move& n) {
  if (!access(n.dst, "move") || !access(n.src, "move")) return false;
  if (n.count < 1) return fail(fmt::format("a move of {} elements", n.count));
  if (p_.buffers[n.dst.buffer].dtype != p_.buffers[n.src.buffer].dtype) return fail("a move changes no dtype");
  return reads(n.src.buffer) && writes(n.dst.buffer);
}

bool Verifier::check(const Call& n) {
  const PrimitiveRow& row = primitive_row(n.primitive);
  if (n.args.size() != row.arguments.size())
    return fail(fmt::format("{} takes {} arguments, {} are given", row.name, row.arguments.size(), n.args.size()));
  for (size_t i = 0; i < n.args.size(); ++i) {
    const CallArg& arg = n.args[i];
    const char letter = row.arguments[i];
    const auto kind = letter == 't'                                     ? CallArg::Kind::text
                      : letter == 'r' || letter == 'w' || letter == 'x' ? CallArg::Kind::registers
                                                                        : CallArg::Kind::address;
    const bool value = letter == 'v' || letter == 'B' || letter == 'M';  // handles are addresses, values or names
    if (!value && arg.kind != kind) return fail(fmt::format("argument {} of {} is of another kind", i, row.name));
    if (arg.kind == CallArg::Kind::value && (!arg.value || !typed(arg.value) || !visible(arg.value)))
      return fail(fmt::format("argument {} of {} has no value", i, row.name));
    if ((arg.kind == CallArg::Kind::address || arg.kind == CallArg::Kind::registers) && !access(arg.at, "call"))
      return false;
    if (arg.kind == CallArg::Kind::registers &&
        (arg.count < 1 ||
         !scope_is(arg.at.buffer, {Scope::registers, Scope::scalar, Scope::local}, "a register argument")))
      return fail(fmt::format("argument {} of {} names no registers", i, row.name));
  }
  return true;
}

bool Verifier::check(const Group& n) { return block(n.body); }

}  // namespace tilert::ir
