// One region at a time, inner ones first: a loop's body for what ends a trip, the kernel's body for what ends it.
#include "passes/structure.h"

#include "ir/visit.h"

namespace tilert::passes {
namespace {

using namespace ir;

bool jumps_to(const Block& block, JumpKind kind) {
  bool found = false;
  for (const StmtPtr& s : block) {
    if (const auto* jump = std::get_if<Jump>(&s->node)) found |= jump->kind == kind;
    if (const auto* branch = std::get_if<If>(&s->node)) found |= jumps_to(branch->then_body, kind) || jumps_to(branch->else_body, kind);
    if (kind == JumpKind::next) continue;  // inner loops' own
    if (const auto* loop = std::get_if<For>(&s->node)) found |= jumps_to(loop->body, kind);
    if (const auto* loop = std::get_if<While>(&s->node)) found |= jumps_to(loop->body, kind);
  }
  return found;
}

// Which ways through a block come to its end.
enum class Falls : uint8_t { all, some, none };

class JumpRegion {
 public:
  JumpRegion(Program& program, JumpKind kind) : program_(program), kind_(kind) {}

  Block run(const Block& in) {
    if (!jumps_to(in, kind_)) return in;
    Buffer flag;
    flag.name = "passed_over";
    flag.dtype = DType::boolean;
    flag.scope = Scope::scalar;
    flag_ = program_.add_buffer(std::move(flag));
    Falls falls;
    Block out = block(in, 0, falls);
    if (!flag_read_) {
      sets_ = false;  // nobody asks
      return block(in, 0, falls);
    }
    out.insert(out.begin(), {make_stmt(Alloc{flag_}), set(false)});
    return out;
  }

 private:
  StmtPtr set(bool value) { return make_stmt(Store{{flag_, {}}, program_.arena->boolean(value)}); }

  // Statements from `from` on. Inside a loop of the region (end of the kernel only), a jump leaves the loop too.
  Block block(const Block& in, size_t from, Falls& falls) {
    Block out;
    falls = Falls::all;
    for (size_t i = from; i < in.size(); ++i) {
      const StmtPtr& s = in[i];
      const auto* jump = std::get_if<Jump>(&s->node);
      if (jump && jump->kind == kind_) {
        if (sets_) out.push_back(set(true));
        if (loops_ > 0) out.push_back(make_stmt(Jump{JumpKind::leave}, s->ordinal, s->location));
        falls = Falls::none;
        return out;
      }
      if (!jumps_to({s}, kind_)) {
        out.push_back(s);
        continue;
      }
      if (const auto* branch = std::get_if<If>(&s->node)) {
        if (through_branch(in, i, *branch, out, falls)) return out;
      } else {
        through_loop(s, out);
        if (loops_ > 0) {
          if_passed(out, {make_stmt(Jump{JumpKind::leave}, s->ordinal, s->location)}, {});
          continue;
        }
        Falls rest;
        Block behind = block(in, i + 1, rest);
        if_passed(out, {}, std::move(behind));
        falls = Falls::some;
        return out;
      }
    }
    return out;
  }

  // True where the rest of the block went into the branch.
  bool through_branch(const Block& in, size_t at, const If& branch, Block& out, Falls& falls) {
    const StmtPtr& s = in[at];
    Falls then_falls, else_falls, rest = Falls::all;
    If made{branch.condition, block(branch.then_body, 0, then_falls), block(branch.else_body, 0, else_falls)};
    const auto emit = [&] { out.push_back(make_stmt(std::move(made), s->ordinal, s->location)); };
    if (then_falls == Falls::none && else_falls == Falls::none) {
      emit();
      falls = Falls::none;
      return true;
    }
    if (then_falls == Falls::none && else_falls == Falls::all) {
      append(made.else_body, block(in, at + 1, rest));
    } else if (then_falls == Falls::all && else_falls == Falls::none) {
      append(made.then_body, block(in, at + 1, rest));
    } else {
      Block behind = block(in, at + 1, rest);
      emit();
      // Inside a loop who jumped has left it.
      if (loops_ > 0) append(out, std::move(behind));
      else if_passed(out, {}, std::move(behind));
      falls = rest == Falls::none ? Falls::none : Falls::some;
      return true;
    }
    emit();
    falls = rest == Falls::none ? Falls::none : Falls::some;
    return true;
  }

  void through_loop(const StmtPtr& s, Block& out) {
    Falls falls;
    ++loops_;
    Stmt copy = *s;
    if (auto* loop = std::get_if<For>(&copy.node)) loop->body = block(loop->body, 0, falls);
    if (auto* loop = std::get_if<While>(&copy.node)) loop->body = block(loop->body, 0, falls);
    --loops_;
    flag_read_ = true;
    out.push_back(std::make_shared<const Stmt>(std::move(copy)));
  }

  void if_passed(Block& out, Block yes, Block no) {
    if (yes.empty() && no.empty()) return;
    flag_read_ = true;
    const VarId read = program_.add_var(VarKind::let, DType::boolean, "passed");
    out.push_back(make_stmt(Let{read, nullptr, {flag_, {}}}));
    Expr condition = program_.var(read);
    if (yes.empty()) {
      condition = program_.arena->make(Op::logical_not, {condition});
      std::swap(yes, no);
    }
    out.push_back(make_stmt(If{condition, std::move(yes), std::move(no)}));
  }

  static void append(Block& to, Block from) { to.insert(to.end(), from.begin(), from.end()); }

  Program& program_;
  const JumpKind kind_;
  BufferId flag_ = kNoBuffer;
  bool sets_ = true, flag_read_ = false;
  int loops_ = 0;
};

}  // namespace

Block end_inside(Program& program, const Block& block) { return JumpRegion(program, JumpKind::finish).run(block); }

Result<Module> structure(Module module, const PassContext&) {
  Program& program = module.program;
  for (Kernel& kernel : program.kernels) {
    kernel.body = rewrite_block(kernel.body, [&](const StmtPtr& s) -> Block {
      Stmt copy = *s;
      if (auto* loop = std::get_if<For>(&copy.node); loop && jumps_to(loop->body, JumpKind::next))
        loop->body = JumpRegion(program, JumpKind::next).run(loop->body);
      else if (auto* again = std::get_if<While>(&copy.node); again && jumps_to(again->body, JumpKind::next))
        again->body = JumpRegion(program, JumpKind::next).run(again->body);
      else
        return {s};
      return {std::make_shared<const Stmt>(std::move(copy))};
    });
    kernel.body = JumpRegion(program, JumpKind::finish).run(kernel.body);
  }
  return module;
}

}  // namespace tilert::passes
