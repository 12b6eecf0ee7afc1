// The shrinker: a list of ways to make a case smaller, each tried until none helps.
#include "random/shrink.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <unordered_map>

#include "ir/semantics.h"
#include "ir/visit.h"

namespace tilert::random {
namespace {

using ir::Block;
using ir::Expr;
using ir::Op;
using ir::Stmt;
using ir::StmtPtr;

class Shrinker {
 public:
  Shrinker(const Case& failing, const Finding& finding, int seconds, int budget)
      : best_(copy_of(failing)),
        backend_(finding.backend),
        kind_(kind_of(finding)),
        crashed_(finding.crashed),
        seconds_(seconds),
        budget_(budget),
        bench_({finding.backend}) {
    // Host code that a smaller case makes may end the process. The first run leaves the children a compiled prelude.
    const bool emulated = backend_.starts_with("emulated:") || backend_.starts_with("races:");
    Coverage ignored;
    if (emulated && !crashed_) bench_.check(best_, ignored);
    in_child_ = crashed_ || emulated;
  }

  Case run() {
    for (bool better = true; better && !late();) {
      better = false;
      better |= drop_statements();
      better |= unwrap();
      better |= smaller_sizes();
      better |= smaller_shapes();
      better |= simpler_values();
      better |= fewer_hints();
    }
    drop_unused();
    return std::move(best_);
  }

 private:
  using Change = std::function<bool(Case&)>;  // false: nothing to change

  bool late() const { return std::chrono::steady_clock::now() - start_ > std::chrono::seconds(budget_); }

  // Takes the change if the case still fails.
  bool attempt(const Change& change) {
    if (late()) return false;
    Case c = copy_of(best_);
    if (!change(c) || !loops_end(c) || !copies_land(c)) return false;
    const Result<Outputs> want = reference(c);
    if (!want || !judge(c, *want)) return false;
    Coverage ignored;
    const auto found = in_child_ ? check_in_child(c, {backend_}, seconds_) : bench_.check(c, ignored);
    if (!found || found->backend != backend_ || kind_of(*found) != kind_) return false;
    best_ = std::move(c);
    return true;
  }

  // Whether each while loop still changes the var that its condition reads.
  static bool loops_end(const Case& c) {
    bool good = true;
    for (const ir::Kernel& k : c.program.kernels)
      ir::for_each_stmt(k.body, [&](const Stmt& s) {
        const auto* loop = std::get_if<ir::While>(&s.node);
        if (!loop) return;
        bool counts = false;
        for (const StmtPtr& first : loop->body) {
          const auto* store = std::get_if<ir::Store>(&first->node);
          counts |= store && c.program.buffer(store->to.buffer).scope == ir::Scope::scalar && store->value->op == Op::sub;
        }
        good &= counts;
      });
    return good;
  }

  // Whether each loop over threads that copies ahead still makes a group of it and waits.
  static bool copies_land(const Case& c) {
    bool good = true;
    for (const ir::Kernel& k : c.program.kernels)
      ir::for_each_stmt(k.body, [&](const Stmt& s) {
        const auto* loop = std::get_if<ir::Parallel>(&s.node);
        if (!loop || !loop->threads) return;
        bool copies = false, groups = false, waits = false;
        ir::for_each_stmt(loop->body, [&](const Stmt& inner) {
          const auto* op = std::get_if<ir::ThreadOp>(&inner.node);
          copies |= op && op->kind == ir::ThreadOpKind::copy;
          groups |= op && op->kind == ir::ThreadOpKind::commit;
          waits |= op && op->kind == ir::ThreadOpKind::wait;
        });
        good &= !copies || (groups && waits);
      });
    return good;
  }

  // Applies f to each statement, numbered in order; f answers what replaces it.
  static void rewrite(Case& c, const std::function<Block(size_t, const StmtPtr&)>& f) {
    size_t at = 0;
    for (ir::Kernel& k : c.program.kernels)
      k.body = ir::rewrite_block(k.body, [&](const StmtPtr& s) { return f(at++, s); });
  }
  size_t statements() const {
    size_t n = 0;
    for (const ir::Kernel& k : best_.program.kernels) ir::for_each_stmt(k.body, [&](const Stmt&) { ++n; });
    return n;
  }

  bool drop_statements() {
    bool better = false;
    if (best_.program.kernels.size() > 1)
      for (size_t k = best_.program.kernels.size(); k-- > 0;)
        better |= attempt([&](Case& c) {
          if (c.program.kernels.size() < 2) return false;
          c.program.kernels.erase(c.program.kernels.begin() + static_cast<std::ptrdiff_t>(k));
          return true;
        });
    for (size_t run = std::max<size_t>(1, statements() / 2); run > 0; run /= 2)
      for (size_t first = statements(); first > 0;) {
        first = first > run ? first - run : 0;
        better |= attempt([&](Case& c) {
          rewrite(c, [&](size_t i, const StmtPtr& s) { return i >= first && i < first + run ? Block{} : Block{s}; });
          return true;
        });
      }
    return better;
  }

  // Loops and branches become their bodies.
  bool unwrap() {
    bool better = false;
    for (size_t at = statements(); at-- > 0;)
      for (int way = 0; way < 2; ++way)
        better |= attempt([&](Case& c) {
          bool changed = false;
          rewrite(c, [&](size_t i, const StmtPtr& s) -> Block {
            if (i != at) return {s};
            if (const auto* branch = std::get_if<ir::If>(&s->node)) {
              changed = true;
              return way ? branch->else_body : branch->then_body;
            }
            if (const auto* again = std::get_if<ir::While>(&s->node); again && !again->body.empty()) {
              changed = true;
              Block once = way ? Block{} : again->head;  // or without what counts
              once.insert(once.end(), again->body.begin() + way, again->body.end());
              return once;
            }
            const auto* loop = std::get_if<ir::For>(&s->node);
            if (!loop || way) return {s};
            changed = true;
            const std::unordered_map<ir::VarId, Expr> first{{loop->var, loop->begin}};
            return ir::map_block_exprs(loop->body, [&](Expr e) { return ir::substitute(*c.program.arena, e, first); });
          });
          return changed;
        });
    return better;
  }

  bool smaller_sizes() {
    bool better = false;
    for (size_t d = 0; d < best_.dims.size(); ++d) {
      for (int64_t size : {int64_t{0}, int64_t{1}, int64_t{8}, int64_t{16}, best_.dims[d] / 2, best_.dims[d] - 1})
        better |= attempt([&](Case& c) { return size >= 0 && size < c.dims[d] && (c.dims[d] = size, true); });
      better |= attempt([&](Case& c) { return c.bound[d] && (c.bound[d] = false, true); });
      better |= attempt([&](Case& c) {
        ir::Dim& dim = c.program.dims[d];
        const bool changed = !dim.buckets.empty() || dim.divisible != 1;
        dim.buckets.clear();
        dim.divisible = 1;
        return changed;
      });
    }
    return better;
  }

  // Every number X that shapes something becomes Y, wherever it stands.
  bool smaller_shapes() {
    std::set<int64_t> extents;
    for (const ir::Buffer& b : best_.program.buffers)
      for (Expr e : b.shape)
        if (e->is_constant()) extents.insert(e->as_int());
    bool better = false;
    for (auto at = extents.rbegin(); at != extents.rend(); ++at)
      for (int64_t to : {int64_t{1}, int64_t{2}, int64_t{8}, int64_t{16}, *at / 2})
        if (to >= 1 && to < *at && attempt([&](Case& c) { return replace_number(c, *at, to); })) {
          better = true;
          break;
        }
    return better;
  }
  static bool replace_number(Case& c, int64_t from, int64_t to) {
    ir::Program& p = c.program;
    const auto node = [&](Expr e) {
      return e->is_constant() && e->dtype == DType::index && e->as_int() == from ? p.arena->index(to) : e;
    };
    const auto expr = [&](Expr e) { return ir::rewrite_expr(*p.arena, e, node); };
    const auto numbers = [&](std::vector<int64_t>& list) { std::replace(list.begin(), list.end(), from, to); };
    for (ir::Buffer& b : p.buffers) {
      for (Expr& e : b.shape) e = expr(e);
      for (Expr& e : b.strides) e = expr(e);
    }
    for (ir::Kernel& k : p.kernels) {
      for (Expr& e : k.grid) e = expr(e);
      k.body = ir::rewrite_block(ir::map_block_exprs(k.body, expr), [&](const StmtPtr& s) -> Block {
        auto changed = std::make_shared<Stmt>(*s);
        if (auto* n = std::get_if<ir::Copy>(&changed->node)) numbers(n->src.extents), numbers(n->dst.extents);
        if (auto* n = std::get_if<ir::Fill>(&changed->node)) numbers(n->dst.extents);
        if (auto* n = std::get_if<ir::Gemm>(&changed->node))
          numbers(n->a.extents), numbers(n->b.extents), numbers(n->c.extents);
        if (auto* n = std::get_if<ir::Reduce>(&changed->node)) numbers(n->src.extents), numbers(n->dst.extents);
        if (auto* n = std::get_if<ir::Pick>(&changed->node)) numbers(n->src.extents), numbers(n->dst.extents);
        if (auto* n = std::get_if<ir::Sort>(&changed->node))
          numbers(n->src.extents), numbers(n->dst.extents), numbers(n->index.extents);
        const auto tuple = [&](auto& n) {
          for (ir::Region& r : n.src) numbers(r.extents);
          for (ir::Region& r : n.dst) numbers(r.extents);
        };
        if (auto* n = std::get_if<ir::Fold>(&changed->node)) tuple(*n);
        if (auto* n = std::get_if<ir::Scan>(&changed->node)) tuple(*n);
        if (auto* n = std::get_if<ir::Parallel>(&changed->node)) numbers(n->extents);
        return {changed};
      });
    }
    return true;
  }

  // A value becomes one of its operands, or 0 or 1.
  bool simpler_values() {
    bool better = false;
    for (size_t at = 0; at < statements(); ++at)
      for (int way = 0; way < 5;) {
        if (!attempt([&](Case& c) { return simplify_at(c, at, way); }))
          ++way;
        else
          better = true;
        if (late()) return better;
      }
    return better;
  }
  static bool simplify_at(Case& c, size_t at, int way) {
    bool changed = false;
    const auto simpler = [&](Expr e) {
      Expr to = e;
      if (way < 3 && way < e->arity && e->operand[way]->dtype == e->dtype) to = e->operand[way];
      if (way >= 3 && !e->is_constant()) to = c.program.arena->number(e->dtype, way - 3);
      changed |= to != e;
      return to;
    };
    rewrite(c, [&](size_t i, const StmtPtr& s) -> Block {
      if (i != at) return {s};
      auto copy = std::make_shared<Stmt>(*s);
      if (auto* n = std::get_if<ir::Store>(&copy->node)) n->value = simpler(n->value);
      if (auto* n = std::get_if<ir::Let>(&copy->node); n && n->value) n->value = simpler(n->value);
      if (auto* n = std::get_if<ir::Fill>(&copy->node)) n->value = simpler(n->value);
      if (auto* n = std::get_if<ir::If>(&copy->node)) n->condition = simpler(n->condition);
      if (auto* n = std::get_if<ir::For>(&copy->node)) n->end = simpler(n->end);
      if (auto* n = std::get_if<ir::Gemm>(&copy->node)) n->accumulate = simpler(n->accumulate);
      return {copy};
    });
    return changed;
  }

  bool fewer_hints() {
    bool better = false;
    for (size_t k = 0; k < best_.program.kernels.size(); ++k)
      better |= attempt([&](Case& c) {
        const ir::Hints& h = c.program.kernels[k].hints;
        const bool any = !h.all.empty();
        c.program.kernels[k].hints = {};
        return any;
      });
    for (size_t at = 0; at < statements(); ++at)
      for (int way = 0; way < 4; ++way) better |= attempt([&](Case& c) { return plainer_at(c, at, way); });
    return better;
  }
  static bool plainer_at(Case& c, size_t at, int way) {
    bool changed = false;
    const auto set = [&](auto& field, auto value) { changed |= field != value, field = value; };
    rewrite(c, [&](size_t i, const StmtPtr& s) -> Block {
      if (i != at) return {s};
      auto copy = std::make_shared<Stmt>(*s);
      if (auto* n = std::get_if<ir::Copy>(&copy->node)) {
        if (way == 0) set(n->prefer, ir::CopyPrefer::any), set(n->eviction, ir::Eviction::normal), set(n->multicast, false);
        if (way == 1) set(n->safe, Expr{nullptr});
        if (way == 2) changed |= !n->valid.empty(), n->valid.clear();
      }
      if (auto* n = std::get_if<ir::Gemm>(&copy->node); n && way == 0) set(n->split, ir::WarpSplit::automatic);
      if (auto* n = std::get_if<ir::For>(&copy->node)) {
        if (way == 0) set(n->kind, ir::ForKind::serial), set(n->stages, 0);
        if (way == 1) set(n->stages, 0);
      }
      return {copy};
    });
    return changed;
  }

  // Parameters, dims, tiles and variables that nothing names. Names of parameters stay: the data hangs on them.
  void drop_unused() {
    attempt([&](Case& c) {
      ir::Program& p = c.program;
      std::set<ir::BufferId> used;
      std::set<ir::VarId> vars;
      const auto names = [&](Expr e) {
        ir::for_each_node(e, [&](Expr n) {
          if (n->is_variable()) vars.insert(n->var());
        });
      };
      for (const ir::Kernel& k : p.kernels) {
        for (Expr e : k.grid) names(e);
        ir::for_each_stmt(k.body, [&](const Stmt& s) {
          for (const ir::BufferUse& use : ir::buffer_uses(s)) used.insert(use.buffer);
          ir::for_each_expr(s, names);
        });
      }
      std::vector<ir::Parameter> kept;
      for (const ir::Parameter& parameter : p.parameters) {
        const bool tensor = parameter.kind == ir::Parameter::Kind::tensor;
        if (tensor ? !used.count(parameter.buffer) : !vars.count(parameter.var)) continue;
        if (tensor) {
          ir::Buffer& b = p.buffers[parameter.buffer];
          b.parameter = static_cast<int32_t>(kept.size());
          for (Expr e : b.shape) names(e);
          for (Expr e : b.strides) names(e);
        }
        kept.push_back(parameter);
      }
      p.parameters = kept;
      std::vector<int64_t> dims;
      std::vector<bool> bound;
      for (size_t i = 0; i < c.dims.size(); ++i)
        if (vars.count(p.dims[i].var)) dims.push_back(c.dims[i]), bound.push_back(c.bound[i]);
      ir::Program small = ir::clone(p, true);
      if (small.dims.size() != dims.size() || small.parameters.size() != kept.size()) return false;
      for (size_t i = 0; i < kept.size(); ++i) {
        ir::Parameter& to = small.parameters[i];
        to.name = kept[i].name;
        (to.kind == ir::Parameter::Kind::tensor ? small.buffers[to.buffer].name : small.vars[to.var].name) = to.name;
      }
      for (size_t i = 0; i < dims.size(); ++i) small.vars[small.dims[i].var].name = "D" + std::to_string(i);
      small.name = p.name;
      p = std::move(small);
      c.dims = std::move(dims);
      c.bound = std::move(bound);
      return true;
    });
  }

  Case best_;
  const std::string backend_, kind_;
  const bool crashed_;
  bool in_child_ = false;
  const int seconds_, budget_;
  Bench bench_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

std::string kind_of(const Finding& finding) {
  if (finding.crashed) return "crash";
  std::string out;
  bool quoted = false;
  for (char c : finding.message) {
    quoted ^= c == '\'';
    if (!quoted && !(c >= '0' && c <= '9') && c != '-' && c != '.') out += c;
    if (out.size() > 44 || c == '\n') break;
  }
  const bool differs =
      finding.message.find(" is ") != std::string::npos && finding.message.find(", not ") != std::string::npos;
  return differs ? "differs" : out;
}

Case shrink(const Case& failing, const Finding& finding, int seconds, int budget) {
  return Shrinker(failing, finding, seconds, budget).run();
}

}  // namespace tilert::random
