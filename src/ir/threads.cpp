// Parting works in two walks over the same segments: the first finds which values cross from one to another, the second
// writes the loops.
#include "ir/threads.h"

#include <map>
#include <set>

#include "ir/parts.h"
#include "ir/visit.h"

namespace tilert::ir {

bool has_collective(const Block& block) {
  bool found = false;
  for_each_stmt(block, [&](const Stmt& s) {
    const auto* op = std::get_if<ThreadOp>(&s.node);
    found |= op && is_collective(op->kind);
  });
  return found;
}

bool has_threads(const Program& program) {
  bool found = false;
  for (const Kernel& kernel : program.kernels)
    for_each_stmt(kernel.body, [&](const Stmt& s) {
      const auto* loop = std::get_if<Parallel>(&s.node);
      found |= loop && loop->threads;
    });
  return found;
}

Expr shuffle_source(Arena& arena, const ThreadOp& n, Expr thread) {
  const Expr width = arena.index(n.number), zero = arena.index(0);
  const Expr place = arena.make(Op::mod, {thread, width});
  const Expr first = arena.make(Op::sub, {thread, place});
  if (n.kind == ThreadOpKind::shuffle) return arena.make(Op::add, {first, arena.make(Op::mod, {n.lane, width})});
  const Op step = n.kind == ThreadOpKind::shuffle_up ? Op::sub : n.kind == ThreadOpKind::shuffle_down ? Op::add : Op::bit_xor;
  const Expr at = arena.make(step, {place, n.lane});
  const Expr inside = arena.make(Op::logical_and, {arena.make(Op::le, {zero, at}), arena.make(Op::lt, {at, width})});
  return arena.make(Op::select, {inside, arena.make(Op::add, {first, at}), thread});
}

Expr vote_result(Arena& arena, ThreadOpKind kind, Expr ballot) {
  const auto word = [&](uint64_t bits) { return arena.constant(DType::uint32, bits); };
  if (kind == ThreadOpKind::all) return arena.make(Op::eq, {ballot, word(0xffffffffu)});
  if (kind == ThreadOpKind::any) return arena.make(Op::ne, {ballot, word(0)});
  return ballot;
}

namespace {

// Rewrites the places and expressions of a statement.
struct Rewriter : PartVisitor {
  const std::function<Expr(Expr)>& on_expr;
  const std::function<void(Access&)>& on_access;
  Rewriter(const std::function<Expr(Expr)>& e, const std::function<void(Access&)>& a) : on_expr(e), on_access(a) {}
  void expr(Expr& e) { e = on_expr(e); }
  void access(Access& a, Use) {
    for (Expr& e : a.indices) e = on_expr(e);
    on_access(a);
  }
};

class Parting {
 public:
  Parting(Program& program, const Stmt& stmt, const Parallel& loop) : p_(program), stmt_(stmt), loop_(loop) {}

  Block run() {
    walk();
    writing_ = true;
    next_segment_ = 0;
    walk();
    return std::move(out_.front());
  }

 private:
  void walk() {
    out_.assign(1, {});
    guard_ = kNoBuffer;
    if (writing_) declare_crossing();
    block(loop_.body);
    flush();
  }

  Arena& arena() { return *p_.arena; }
  Expr own() { return p_.var(loop_.vars[0]); }  // the thread, as the segments name it until they are written
  void emit(Stmt::Node node) { out_.back().push_back(make_stmt(std::move(node), stmt_.ordinal, stmt_.location)); }
  void put(Stmt::Node node) { segment_.push_back(make_stmt(std::move(node), stmt_.ordinal, stmt_.location)); }

  BufferId tile(DType dtype, const std::vector<int64_t>& shape) {
    Buffer b;
    b.name = "of_threads";
    b.dtype = dtype;
    b.scope = Scope::shared;
    for (int64_t extent : shape) b.shape.push_back(arena().index(extent));
    return p_.add_buffer(std::move(b));
  }
  // A tile with an element for each thread, for what stands at this place of the walk; both walks get the same one.
  BufferId box(const void* of, DType dtype, int64_t extent) {
    const auto [at, added] = boxes_.emplace(std::pair(of, dtype), kNoBuffer);
    if (added) at->second = tile(dtype == DType::index ? DType::int64 : dtype, {extent});
    return at->second;
  }
  Expr stored(Expr value) { return value->dtype == DType::index ? arena().cast(value, DType::int64) : value; }

  // What crosses, before the first loop.
  void declare_crossing() {
    for (const auto& [key, id] : boxes_) emit(Alloc{id});
    for (VarId var : crossing_) {
      const DType dtype = p_.vars[var].dtype;
      emit(Alloc{spilled_[var] = tile(dtype == DType::index ? DType::int64 : dtype, {loop_.extents[0]})});
    }
    for (BufferId id : moved_) {
      moved_to_[id] = for_all_threads(id);
      for (BufferId view : views_of(p_, id)) {
        moved_to_[view] = for_all_threads(view);
        p_.buffers[moved_to_[view]].view_of = moved_to_[id];
      }
    }
  }
  BufferId for_all_threads(BufferId id) {
    Buffer b = p_.buffer(id);
    b.scope = Scope::shared;
    b.view_of = kNoBuffer;
    b.shape.insert(b.shape.begin(), arena().index(loop_.extents[0]));
    return p_.add_buffer(std::move(b));
  }

  void block(const Block& in) {
    for (const StmtPtr& s : in) {
      if (const auto* op = std::get_if<ThreadOp>(&s->node); op && is_collective(op->kind)) {
        collective(*op);
      } else if (const auto* branch = std::get_if<If>(&s->node); branch && has_collective({s})) {
        under(*branch);
      } else if (const auto* inner = std::get_if<For>(&s->node); inner && has_collective({s})) {
        flush();
        out_.emplace_back();
        block(inner->body);
        flush();
        For plain = *inner;
        plain.body = std::move(out_.back());
        out_.pop_back();
        emit(std::move(plain));
      } else {
        segment_.push_back(s);
      }
    }
  }

  void collective(const ThreadOp& n) {
    if (n.kind == ThreadOpKind::sync) return flush();
    const DType dtype = is_vote(n.kind) ? DType::boolean : n.value->dtype;
    const BufferId values = box(&n, dtype, loop_.extents[0]);
    put(Store{{values, {own()}}, stored(n.value)});
    flush();
    if (is_shuffle(n.kind)) {
      return let(n, {values, {shuffle_source(arena(), n, own())}});
    }
    const BufferId ballots = box(&n, DType::uint32, loop_.extents[0] / kWarpLanes);
    count_ballots(values, ballots);
    const VarId bits = between(n, DType::uint32);
    put(Let{bits, nullptr, {ballots, {arena().make(Op::div, {own(), arena().index(kWarpLanes)})}}});
    put(Let{n.var, vote_result(arena(), n.kind, p_.var(bits)), {}});
  }

  // The operation's result is the element, which holds an index as int64.
  void let(const ThreadOp& n, Access from) {
    if (p_.vars[n.var].dtype != DType::index) return put(Let{n.var, nullptr, std::move(from)});
    const VarId wide = between(n, DType::int64);
    put(Let{wide, nullptr, std::move(from)});
    put(Let{n.var, arena().cast(p_.var(wide), DType::index), {}});
  }

  // The variable of which an operation's result is made; both walks get the same one.
  VarId between(const ThreadOp& n, DType dtype) {
    const auto [at, added] = between_.emplace(&n, kNoVar);
    if (added) at->second = p_.add_var(VarKind::let, dtype, "of_threads");
    return at->second;
  }

  // ballots(warp) = the predicates of its threads, a bit each. Only warps that are here have any.
  void count_ballots(BufferId predicates, BufferId ballots) {
    if (!writing_) return;
    const VarId warp = p_.add_var(VarKind::loop, DType::index, "warp"), lane = p_.add_var(VarKind::loop, DType::index, "lane");
    const VarId holds = p_.add_var(VarKind::let, DType::boolean, "holds"), before = p_.add_var(VarKind::let, DType::uint32, "before");
    const auto word = [&](uint64_t bits) { return arena().constant(DType::uint32, bits); };
    const Expr first = arena().make(Op::mul, {p_.var(warp), arena().index(kWarpLanes)});
    const auto s = [&](Stmt::Node node) { return make_stmt(std::move(node), stmt_.ordinal, stmt_.location); };
    const Expr bit = arena().make(Op::shl, {word(1), arena().cast(p_.var(lane), DType::uint32)});
    Block each{s(Let{holds, nullptr, {predicates, {arena().make(Op::add, {first, p_.var(lane)})}}}),
               s(Let{before, nullptr, {ballots, {p_.var(warp)}}}),
               s(Store{{ballots, {p_.var(warp)}},
                       arena().make(Op::bit_or, {p_.var(before), arena().make(Op::select, {p_.var(holds), bit, word(0)})})})};
    Block body{s(Store{{ballots, {p_.var(warp)}}, word(0)}),
               s(For{ForKind::serial, lane, arena().index(0), arena().index(kWarpLanes), 1, 0, std::move(each)})};
    if (guard_ != kNoBuffer) {
      const VarId here = p_.add_var(VarKind::let, DType::boolean, "here");
      Block tested{s(Let{here, nullptr, {guard_, {first}}}), s(If{p_.var(here), std::move(body), {}})};
      body = std::move(tested);
    }
    emit(Parallel{{warp}, {loop_.extents[0] / kWarpLanes}, std::move(body), loop_.contract});
  }

  // Each side is run by the threads that a tile of flags names.
  void under(const If& branch) {
    const BufferId outer = guard_;
    const BufferId sides[] = {box(&branch.then_body, DType::boolean, loop_.extents[0]),
                              box(&branch.else_body, DType::boolean, loop_.extents[0])};
    if (outer != kNoBuffer) {
      flush();
      guard_ = kNoBuffer;  // who is not here is on neither side
      for (const BufferId side : sides) put(Store{{side, {own()}}, arena().boolean(false)});
      flush();
      guard_ = outer;
    }
    put(Store{{sides[0], {own()}}, branch.condition});
    put(Store{{sides[1], {own()}}, arena().make(Op::logical_not, {branch.condition})});
    flush();
    const Block* const bodies[] = {&branch.then_body, &branch.else_body};
    for (int i = 0; i < 2; ++i) {
      guard_ = sides[i];
      block(*bodies[i]);
      flush();
    }
    guard_ = outer;
  }

  // The statements since the last collective operation, as a loop.
  void flush() {
    if (segment_.empty()) return;
    const Block segment = std::move(segment_);
    segment_.clear();
    const size_t number = next_segment_++;
    if (writing_) write(segment);
    else note(segment, number);
  }

  void note(const Block& segment, size_t number) {
    struct Definitions : PartVisitor {
      std::map<VarId, size_t>& at;
      size_t number;
      Definitions(std::map<VarId, size_t>& a, size_t n) : at(a), number(n) {}
      void define(const VarId& v) { at[v] = number; }
    } definitions(defined_, number);
    for_each_stmt(segment, [&](const Stmt& s) {
      each_part(s, definitions);
      if (const auto* alloc = std::get_if<Alloc>(&s.node)) allocated_[alloc->buffer] = number;
    });
    for_each_stmt(segment, [&](const Stmt& s) {
      for_each_expr(s, [&](Expr e) {
        for_each_node(e, [&](Expr n) {
          if (!n->is_variable()) return;
          const auto at = defined_.find(n->var());
          if (at != defined_.end() && at->second != number) crossing_.insert(n->var());
        });
      });
      for (const BufferUse& use : buffer_uses(s)) {
        const auto at = allocated_.find(storage_of(p_, use.buffer));
        if (at != allocated_.end() && at->second != number) moved_.insert(at->first);
      }
    });
  }

  void write(const Block& segment) {
    const VarId thread = p_.add_var(VarKind::loop, DType::index, "thread");
    std::unordered_map<VarId, Expr> values{{loop_.vars[0], p_.var(thread)}};
    std::set<VarId> mine;  // defined here, at the segment's own level
    for (const StmtPtr& s : segment) {
      if (const auto* let = std::get_if<Let>(&s->node)) mine.insert(let->var);
      if (const auto* atomic = std::get_if<Atomic>(&s->node); atomic && atomic->old != kNoVar) mine.insert(atomic->old);
      if (const auto* call = std::get_if<CallDevice>(&s->node); call && call->var != kNoVar) mine.insert(call->var);
    }
    Block body = entry(segment, mine, thread, values);
    for (const StmtPtr& s : segment) {
      if (const auto* alloc = std::get_if<Alloc>(&s->node); alloc && moved_.count(alloc->buffer)) {
        emit(Alloc{moved_to_.at(alloc->buffer)});
        continue;
      }
      for (StmtPtr& made : rewrite_block({s}, [&](const StmtPtr& inner) { return statement(inner, thread, values); }))
        body.push_back(std::move(made));
    }
    for (VarId var : mine)
      if (crossing_.count(var)) body.push_back(made(Store{{spilled_.at(var), {p_.var(thread)}}, stored(p_.var(var))}));
    if (guard_ != kNoBuffer) {
      const VarId here = p_.add_var(VarKind::let, DType::boolean, "here");
      Block tested{made(Let{here, nullptr, {guard_, {p_.var(thread)}}})};
      tested.push_back(made(If{p_.var(here), std::move(body), {}}));
      body = std::move(tested);
    }
    emit(Parallel{{thread}, {loop_.extents[0]}, std::move(body), loop_.contract});
  }

  StmtPtr made(Stmt::Node node) { return make_stmt(std::move(node), stmt_.ordinal, stmt_.location); }

  // Reads what crosses into the segment; `values` tells the names by which it is known there.
  Block entry(const Block& segment, const std::set<VarId>& mine, VarId thread, std::unordered_map<VarId, Expr>& values) {
    Block body;
    for_each_stmt(segment, [&](const Stmt& s) {
      for_each_expr(s, [&](Expr e) {
        for_each_node(e, [&](Expr n) {
          if (!n->is_variable() || !crossing_.count(n->var()) || mine.count(n->var()) || values.count(n->var())) return;
          const BufferId from = spilled_.at(n->var());
          const VarId copy = p_.add_var(VarKind::let, p_.buffer(from).dtype, "crossed");
          body.push_back(made(Let{copy, nullptr, {from, {p_.var(thread)}}}));
          values[n->var()] = n->dtype == DType::index ? arena().cast(p_.var(copy), DType::index) : p_.var(copy);
        });
      });
    });
    return body;
  }

  Block statement(const StmtPtr& s, VarId thread, const std::unordered_map<VarId, Expr>& values) {
    Stmt copy = *s;
    const std::function<Expr(Expr)> on_expr = [&](Expr e) { return substitute(arena(), e, values); };
    const std::function<void(Access&)> on_access = [&](Access& a) {
      const auto at = moved_to_.find(a.buffer);
      if (at == moved_to_.end()) return;
      a.buffer = at->second;
      a.indices.insert(a.indices.begin(), p_.var(thread));
    };
    Rewriter rewriter(on_expr, on_access);
    each_part(copy, rewriter);
    const auto* op = std::get_if<ThreadOp>(&copy.node);
    if (!op) return {std::make_shared<const Stmt>(std::move(copy))};
    return op->kind == ThreadOpKind::copy ? Block{elements(*op, *s)} : Block{};  // the others order what is in order here
  }

  StmtPtr elements(const ThreadOp& n, const Stmt& s) {
    const VarId i = p_.add_var(VarKind::loop, DType::index, "i"), x = p_.add_var(VarKind::let, p_.buffer(n.src.buffer).dtype, "x");
    Access from = n.src, to = n.dst;
    for (Access* a : {&from, &to}) a->indices.back() = arena().make(Op::add, {a->indices.back(), p_.var(i)});
    Block body{make_stmt(Let{x, nullptr, std::move(from)}, s.ordinal, s.location),
               make_stmt(Store{std::move(to), p_.var(x)}, s.ordinal, s.location)};
    return make_stmt(For{ForKind::serial, i, arena().index(0), arena().index(n.count), 1, 0, std::move(body)}, s.ordinal, s.location);
  }

  Program& p_;
  const Stmt& stmt_;
  const Parallel& loop_;
  bool writing_ = false;
  BufferId guard_ = kNoBuffer;  // who is here; kNoBuffer: all
  size_t next_segment_ = 0;
  Block segment_;
  std::vector<Block> out_;  // by open loop
  std::map<VarId, size_t> defined_;        // in which segment
  std::map<BufferId, size_t> allocated_;
  std::set<VarId> crossing_;
  std::set<BufferId> moved_;               // private storage that is used in several segments
  std::map<VarId, BufferId> spilled_;
  std::map<BufferId, BufferId> moved_to_;
  std::map<std::pair<const void*, DType>, BufferId> boxes_;
  std::map<const ThreadOp*, VarId> between_;
};

}  // namespace

void part_threads(Program& program) {
  for (Kernel& kernel : program.kernels)
    kernel.body = rewrite_block(kernel.body, [&](const StmtPtr& s) -> Block {
      const auto* loop = std::get_if<Parallel>(&s->node);
      return loop && loop->threads ? Parting(program, *s, *loop).run() : Block{s};
    });
}

}  // namespace tilert::ir
