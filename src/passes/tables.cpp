// The pass `tables`: goes down each kernel with the blocks around the statement at hand, so that a read of a table can stand in the
// outermost of them that knows its place.
#include "passes/tables.h"

#include <algorithm>
#include <unordered_map>

#include "arith/build.h"
#include "ir/visit.h"

namespace tilert::passes {

using namespace ir;

namespace {

class Tables {
 public:
  explicit Tables(Program& program) : program_(program), arena_(*program.arena) {}

  Block block(const Block& in) {
    levels_.emplace_back();
    for (const StmtPtr& s : in) {
      StmtPtr changed = statement(s);
      levels_.back().out.push_back(std::move(changed));
    }
    Block out = std::move(levels_.back().out);
    levels_.pop_back();
    return out;
  }

 private:
  struct Level {  // a block on the way to the statement at hand
    Block out;
    std::map<std::pair<BufferId, Expr>, Expr> known;  // the addresses read in it
  };

  StmtPtr statement(const StmtPtr& s) {
    const bool of_blocks = std::holds_alternative<For>(s->node) || std::holds_alternative<Parallel>(s->node);
    location_ = s->location;
    StmtPtr bounded = s;
    if (const auto* copy = std::get_if<Copy>(&s->node)) bounded = without_bound(*s, *copy);
    return map_parts(bounded, {[&](BufferId b, std::vector<Expr>& at) { place(b, at); },
                               [&](VarId v) { level_of_[v] = levels_.size() - (of_blocks ? 0 : 1); },
                               [&](const Block& b) { return block(b); }});
  }

  void place(BufferId b, std::vector<Expr>& at) {
    if (program_.buffer(b).entries == Entries::counted) at[0] = address(b, at[0]);
  }

  // A run-time bound on the place in the table becomes part of the place: beyond it there is no tensor.
  StmtPtr without_bound(const Stmt& s, const Copy& copy) {
    const bool from = program_.buffer(copy.src.buffer).scope == Scope::global;
    const Region& side = from ? copy.src : copy.dst;
    Stmt out = s;
    if (!is_table(program_.buffer(side.buffer)) || copy.valid.empty() || !copy.valid[0]) return std::make_shared<const Stmt>(s);
    Copy& changed = std::get<Copy>(out.node);
    Expr& offset = (from ? changed.src : changed.dst).offsets[0];
    offset = arith::select(arena_, arith::lt(arena_, offset, copy.valid[0]), offset, arena_.index(-1));
    changed.valid[0] = nullptr;
    return std::make_shared<const Stmt>(std::move(out));
  }

  Expr address(BufferId table, Expr index) {
    size_t level = 0;
    for_each_node(index, [&](Expr e) {
      const auto found = e->is_variable() ? level_of_.find(e->var()) : level_of_.end();
      if (found != level_of_.end()) level = std::max(level, found->second);
    });
    Level& at = levels_[level];
    const auto found = at.known.find({table, index});
    if (found != at.known.end()) return found->second;
    const VarId var = program_.add_var(VarKind::let, DType::int64, "tensor");
    at.out.push_back(make_stmt(Let{var, nullptr, {pointers(table), {index}}}, 0, location_));
    return at.known[{table, index}] = arena_.cast(program_.var(var), DType::index);
  }

  // The table's own memory.
  BufferId pointers(BufferId table) {
    const Buffer of = program_.buffer(table);
    const auto found = pointers_.find(of.parameter);
    if (found != pointers_.end()) return found->second;
    Buffer b;
    b.name = of.name + "_table";
    b.dtype = DType::int64;
    b.scope = Scope::global;
    b.shape = {of.shape[0]};
    b.direction = Direction::in;
    b.parameter = of.parameter;
    b.alignment = 8;
    return pointers_[of.parameter] = program_.add_buffer(std::move(b));
  }

  Program& program_;
  Arena& arena_;
  std::vector<Level> levels_;
  std::unordered_map<VarId, size_t> level_of_;  // whose block defines it; the kernel's own where it is not here
  std::unordered_map<int32_t, BufferId> pointers_;
  uint32_t location_ = 0;
};

}  // namespace

Result<Module> tables(Module module, const PassContext&) {
  Program& program = module.program;
  if (std::none_of(program.buffers.begin(), program.buffers.end(), is_table)) return module;
  Tables pass(program);
  for (Kernel& kernel : program.kernels) kernel.body = pass.block(kernel.body);
  for (Buffer& b : program.buffers)
    if (is_table(b)) b.entries = Entries::addressed;
  return module;
}

}  // namespace tilert::passes
