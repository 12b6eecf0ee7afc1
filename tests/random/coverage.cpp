// Counting.
#include "random/coverage.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>

#include "ir/visit.h"
#include "ir/words.h"

namespace tilert::random {
namespace {

using ir::Stmt;

const char* const kNames[] = {"alloc", "copy", "fill",  "gemm",   "reduce", "fold", "scan", "pick", "sort", "reinterpret", "parallel", "for",
                              "if",    "while", "jump", "let",   "store", "atomic", "thread operation", "asynchronous statement", "roles", "grid_sync", "report", "inline", "device call", "move", "call", "group"};
static_assert(std::size(kNames) == std::variant_size_v<Stmt::Node>);

struct Counter {
  const Case& c;
  Coverage& to;

  std::string kind(ir::BufferId b) const {
    const ir::Buffer& buffer = c.program.buffer(b);
    return std::string(ir::is_table(buffer) ? "table" : ir::word(buffer.scope)) + " " + std::string(dtype_text(buffer.dtype));
  }
  void of(const ir::Copy& n) {
    to.add("copy " + kind(n.src.buffer) + " -> " + kind(n.dst.buffer));
    if (n.safe) to.add("copy with safe");
    if (!n.valid.empty()) to.add("copy with valid");
    to.add("copy prefer " + std::string(ir::word(n.prefer)));
  }
  void of(const ir::Fill& n) { to.add("fill " + kind(n.dst.buffer)); }
  void of(const ir::Gemm& n) {
    to.add("gemm " + kind(n.a.buffer) + " x " + kind(n.b.buffer) + " -> " + kind(n.c.buffer));
    to.add(fmt::format("gemm trans {}{}", n.trans_a ? "a" : "-", n.trans_b ? "b" : "-"));
    to.add(n.accumulate->is_constant() ? n.accumulate->bits ? "gemm accumulates" : "gemm overwrites"
                                       : "gemm accumulates by a condition");
    if (n.tf32) to.add("gemm in tf32");
    to.add("gemm split " + std::string(ir::word(n.split)));
  }
  void of(const ir::Reduce& n) {
    to.add(fmt::format("reduce {} {} -> {}", ir::word(n.op), kind(n.src.buffer), kind(n.dst.buffer)));
    to.add(n.accumulate ? "reduce accumulates" : "reduce overwrites");
  }
  void of(const ir::Scan& n) {
    to.add(fmt::format("scan of {} from {} to {}{}{}", n.src.size(), kind(n.src[0].buffer), kind(n.dst[0].buffer), n.reverse ? ", reverse" : "",
                       n.exclusive ? ", exclusive" : ""));
    if (n.src[0].buffer == n.dst[0].buffer) to.add("scan in place");
  }
  void of(const ir::Fold& n) {
    to.add(fmt::format("fold of {} from {} to {}{}", n.src.size(), kind(n.src[0].buffer), kind(n.dst[0].buffer), n.accumulate ? ", accumulating" : ""));
  }
  void of(const ir::Pick& n) { to.add(fmt::format("{} of {}", n.least ? "argmin" : "argmax", kind(n.src.buffer))); }
  void of(const ir::Sort& n) {
    to.add(fmt::format("{} of {}{}", n.src.extents == n.dst.extents ? "sort" : "top_k", kind(n.src.buffer),
                       n.index.buffer == ir::kNoBuffer ? "" : " with places"));
  }
  void of(const ir::Atomic& n) {
    to.add(fmt::format("atomic {} {}{}", ir::word(n.op), kind(n.to.buffer), n.old == ir::kNoVar ? "" : " with the old value"));
    to.add(fmt::format("atomic order {}", ir::word(n.order)));
  }
  void of(const ir::ThreadOp& n) { to.add("threads: " + std::string(ir::word(n.kind)) + (n.value ? " of " + std::string(dtype_text(n.value->dtype)) : "")); }
  void of(const ir::Jump& n) { to.add(std::string(ir::word(n.kind))); }
  void of(const ir::Parallel& n) { to.add(fmt::format("parallel of {} dims", n.vars.size())); }
  void of(const ir::For& n) {
    to.add(fmt::format("for {}{}", ir::word(n.kind), n.step == 1 ? "" : " by another step"));
  }
  void of(const ir::If&) { to.add("if"); }
  void of(const ir::Let& n) { to.add(n.value ? "let of a value" : "load " + kind(n.read.buffer)); }
  void of(const ir::Store& n) { to.add("store " + kind(n.to.buffer)); }
  template <class T>
  void of(const T&) {}
};

}  // namespace

void Coverage::note_case(const Case& c) {
  add("programs");
  if (uses_copies_twice(c)) add("programs with a pipelined loop that uses a copy twice or more");
  if (c.program.kernels.size() > 1) add("programs of several kernels");
  if (std::find(c.bound.begin(), c.bound.end(), false) != c.bound.end()) add("programs with dynamic dims");
  for (const ir::Buffer& b : c.program.buffers) {
    if (b.view_of != ir::kNoBuffer)
      add(std::string(b.dtype == c.program.buffer(b.view_of).dtype ? "reshaped " : "view as other integers of ") + ir::word(b.scope).data() + " tile");
    if (b.layout.kind != ir::TileLayout::automatic) add("layout " + std::string(ir::word(b.layout.kind)));
  }
  for (const ir::Parameter& parameter : c.program.parameters) {
    if (alias_of(parameter.name)) add("parameters that share another's memory");
    if (parameter.kind == ir::Parameter::Kind::scalar) continue;
    const ir::Buffer& b = c.program.buffer(parameter.buffer);
    if (ir::is_table(b)) add(fmt::format("table of tensors of {} dims, {}{}", b.shape.size() - 1, ir::word(b.direction), b.contiguous ? "" : ", with gaps"));
  }
  if (std::any_of(c.program.parameters.begin(), c.program.parameters.end(),
                  [](const ir::Parameter& parameter) { return data_of(parameter.name) == Data::special; }))
    add("programs with infinite and undefined data");
  const auto some = [&](const char* what, const std::function<bool(const ir::Kernel&)>& has) {
    if (std::any_of(c.program.kernels.begin(), c.program.kernels.end(), has)) add(std::string("programs with ") + what);
  };
  some("persistent kernels", [](const ir::Kernel& k) { return k.persistent; });
  some("a fixed order of sums", [](const ir::Kernel& k) { return k.fixed_order; });
  some("tiles counted in memory", [](const ir::Kernel& k) { return k.tile_count != ir::kNoBuffer; });
  some("costs of tiles", [](const ir::Kernel& k) { return k.cost != nullptr; });
  std::vector<const char*> made(c.program.vars.size(), nullptr);  // of variables: what an entry by them is called
  for (const ir::Kernel& k : c.program.kernels)
    ir::for_each_stmt(k.body, [&](const Stmt& s) {
      note_entries(c, s, made);
      add(std::string("statement ") + kNames[s.node.index()]);
      std::visit([&](const auto& n) { Counter{c, *this}.of(n); }, s.node);
      ir::for_each_expr(s, [&](ir::Expr e) {
        ir::for_each_node(e, [&](ir::Expr n) {
          const DType of = n->arity ? n->operand[n->arity - 1]->dtype : n->dtype;
          add(fmt::format("op {} {}{}", ir::op_row(n->op).text, dtype_text(of),
                          n->op == ir::Op::cast || n->op == ir::Op::cast_nonsat ? fmt::format(" -> {}", dtype_text(n->dtype)) : ""));
        });
      });
    });
}

// Which tensor of its table a statement takes: by the variables that are in the index, innermost first.
void Coverage::note_entries(const Case& c, const Stmt& s, std::vector<const char*>& made) {
  const bool pipelined = std::holds_alternative<ir::For>(s.node) && std::get<ir::For>(s.node).kind == ir::ForKind::pipelined;
  const char* const loop = pipelined ? "trip of a pipelined loop" : std::holds_alternative<ir::Parallel>(s.node) ? "point" : "trip";
  const bool loops = std::holds_alternative<ir::For>(s.node) || std::holds_alternative<ir::Parallel>(s.node);
  const auto place = [&](ir::BufferId b, const std::vector<ir::Expr>& at) {
    if (!ir::is_table(c.program.buffer(b))) return;
    std::set<std::string> by;
    ir::for_each_node(at[0], [&](ir::Expr e) {
      if (!e->is_variable()) return;
      const ir::VarKind kind = c.program.vars[e->var()].kind;
      by.insert(made[e->var()]                       ? made[e->var()]
                : kind == ir::VarKind::block_index ? "block"
                : kind == ir::VarKind::dim         ? "dim"
                                                   : "value");
    });
    if (by.empty()) by.insert("constant");
    for (const std::string& what : by) add("entry of a table by " + what);
  };
  ir::map_parts(std::make_shared<const Stmt>(s), {place, [&](ir::VarId v) { if (loops) made[v] = loop; }, [](const ir::Block& b) { return b; }});
}

// "operation 12: the loop writes its tile" without the number, so that the same reason counts as one.
std::string Coverage::grouped(const std::string& reason) {
  std::string out;
  for (size_t at = 0; at < reason.size(); ++at) {
    const bool digit = std::isdigit(static_cast<unsigned char>(reason[at])) != 0;
    const bool follows = !out.empty() && (std::isalnum(static_cast<unsigned char>(out.back())) || out.back() == '_');
    if (!digit || follows) {
      out += reason[at];
      continue;
    }
    while (at + 1 < reason.size() && std::isdigit(static_cast<unsigned char>(reason[at + 1]))) ++at;
    out += 'N';
  }
  return out;
}

void Coverage::note_plan(const std::string& target, const passes::KernelPlan& plan) {
  const auto fired = [&](const std::string& what) { add("plan " + target + " " + what); };
  static constexpr const char* kPaths[] = {"fma", "mma", "wgmma"};
  for (const auto& [ordinal, gemm] : plan.gemms) {
    fired(std::string("product by ") + kPaths[static_cast<size_t>(gemm.path)]);
    if (gemm.atom) fired(fmt::format("atom {}", gemm.atom->name));
    if (gemm.a_ldmatrix || gemm.b_ldmatrix) fired("ldmatrix");
  }
  for (const auto& [ordinal, ring] : plan.rings)
    fired(ring.stages > 1 ? fmt::format("ring of {} stages", ring.stages) : "no ring: " + (ring.reason.empty() ? "one stage is asked for" : grouped(ring.reason)));
  if (plan.roles.on)
    fired(fmt::format("roles of {} stages and {} consumers{}", plan.roles.stages, plan.roles.consumers,
                      plan.roles.stores.empty() ? "" : ", tensor stores"));
  else if (!plan.roles.reason.empty())
    fired("no roles: " + grouped(plan.roles.reason));
  if (!plan.roles.shared_loads.empty()) fired(fmt::format("{} copies shared in clusters{}", plan.roles.shared_loads.size(), plan.guard ? ", beyond the grid" : ""));
  else if (!plan.meeting.sums.empty()) fired(fmt::format("{} parts that meet in a cluster", plan.parts));
  else if (!plan.not_clustered.empty()) fired("no cluster: " + grouped(plan.not_clustered));
  if (plan.parts > 1) fired("loop split along K");
  if (!plan.not_split.empty()) fired("not split along K: " + grouped(plan.not_split));
  if (!plan.partial.empty()) fired("partial sums");
  for (const passes::Conversion& c : plan.conversions) fired("conversion: " + grouped(c.reason));
}

void Coverage::note_plans(const std::string& target, const std::vector<passes::KernelPlan>& plans) {
  bool ring = false, roles = false, conversions = false;
  for (const passes::KernelPlan& plan : plans) {
    note_plan(target, plan);
    for (const auto& [ordinal, one] : plan.rings) ring |= one.stages > 1;
    roles |= plan.roles.on, conversions |= !plan.conversions.empty();
  }
  add("programs planned for " + target);
  if (ring) add("programs with a ring on " + target);
  if (roles) add("programs with roles on " + target);
  if (conversions) add("programs with a conversion on " + target);
}

void Coverage::merge(const Coverage& other) {
  for (const auto& [what, times] : other.counts_) counts_[what] += times;
}

int64_t Coverage::count(const std::string& what) const {
  const auto at = counts_.find(what);
  return at == counts_.end() ? 0 : at->second;
}

std::string Coverage::report() const {
  std::string out;
  for (const auto& [what, times] : counts_) out += fmt::format("{:>9}  {}\n", times, what);
  return out;
}

bool uses_copies_twice(const Case& c) {
  bool found = false;
  for (const ir::Kernel& k : c.program.kernels)
    ir::for_each_stmt(k.body, [&](const Stmt& s) {
      const auto* loop = std::get_if<ir::For>(&s.node);
      if (!loop || loop->kind != ir::ForKind::pipelined) return;
      std::set<ir::BufferId> copied;
      std::map<ir::BufferId, int> uses;
      ir::for_each_stmt(loop->body, [&](const Stmt& inner) {
        const auto* copy = std::get_if<ir::Copy>(&inner.node);
        const bool brings = copy && c.program.buffer(copy->src.buffer).scope == ir::Scope::global &&
                            c.program.buffer(copy->dst.buffer).scope == ir::Scope::shared;
        if (brings) copied.insert(copy->dst.buffer);
        for (const ir::BufferUse& use : ir::buffer_uses(inner))
          if (use.read || !brings) ++uses[use.buffer];
      });
      for (ir::BufferId b : copied) found |= uses[b] >= 2;
    });
  return found;
}

}  // namespace tilert::random
