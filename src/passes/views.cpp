// One forward walk that knows which of a tile's fragments hold its elements. A loop or branch that uses one of them
// alone leaves it at that; where several are used inside, the tile itself holds the elements at every border of control
// flow.
#include "passes/views.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/visit.h"
#include "passes/region.h"
#include "support/refusal.h"

namespace tilert::passes {
namespace {

using namespace ir;

class Splitter {
 public:
  explicit Splitter(Program& program) : program_(program) {
    for (BufferId b = 0; b < program.buffers.size(); ++b) {
      const Buffer& buffer = program.buffer(b);
      if (buffer.scope != Scope::fragment || buffer.view_of == kNoBuffer) continue;
      tile_[b] = buffer.view_of;
      tile_[buffer.view_of] = buffer.view_of;
    }
  }

  bool needed() const { return !tile_.empty(); }

  Status run(Block& body) {
    TILERT_TRY(block(body));
    for (const auto& [fragment, tile] : tile_) program_.buffers[fragment].view_of = kNoBuffer;
    return {};
  }

 private:
  using Used = std::map<BufferId, bool>;  // fragments of a tile that a statement uses, and whether it writes them

  // What a statement and all in it do to each tile that is declared.
  std::map<BufferId, Used> uses_of(const Stmt& s) const {
    std::map<BufferId, Used> uses;
    for (const BufferUse& use : buffer_uses_deep(s)) {
      const auto found = tile_.find(use.buffer);
      if (found == tile_.end() || !valid_.count(found->second) || (!use.read && !use.write)) continue;
      uses[found->second][use.buffer] |= use.write;
    }
    return uses;
  }

  Status block(Block& in) {
    const auto outer = valid_;
    Block out;
    std::swap(out_, out);
    for (const StmtPtr& s : in) TILERT_TRY(statement(s));
    std::swap(out_, out);
    in = std::move(out);
    std::erase_if(valid_, [&](const auto& v) { return !outer.count(v.first); });
    return {};
  }

  Status statement(const StmtPtr& s) {
    if (const auto* alloc = std::get_if<Alloc>(&s->node)) return declare(s, alloc->buffer);
    if (std::holds_alternative<Jump>(s->node)) {
      for (const auto& [tile, valid] : std::map(valid_))
        if (shared_inside_.count(tile)) bring(tile, tile, *s);
      out_.push_back(s);
      return {};
    }
    if (std::holds_alternative<For>(s->node) || std::holds_alternative<While>(s->node) ||
        std::holds_alternative<If>(s->node) || std::holds_alternative<Roles>(s->node))
      return control(s);
    return leaf(s);
  }

  Status declare(const StmtPtr& s, BufferId tile) {
    out_.push_back(s);
    if (!tile_.count(tile)) return {};
    valid_[tile] = {tile};
    for (const auto& [fragment, of] : tile_) {
      if (of != tile || fragment == tile) continue;
      out_.push_back(make_stmt(Alloc{fragment}, s->ordinal, s->location));
      valid_[tile].insert(fragment);  // nothing is written yet
    }
    return {};
  }

  // The fragment holds the tile's elements from here on.
  void bring(BufferId tile, BufferId fragment, const Stmt& s) {
    std::set<BufferId>& valid = valid_[tile];
    if (!valid.insert(fragment).second) return;
    BufferId from = kNoBuffer;
    for (BufferId id : valid)
      if (id != fragment && (from == kNoBuffer || id == tile)) from = id;
    out_.push_back(make_stmt(Reinterpret{whole_region(program_, from), whole_region(program_, fragment)}, s.ordinal, s.location));
  }

  Status leaf(const StmtPtr& s) {
    for (const auto& [tile, used] : uses_of(*s)) {
      const auto writes = std::count_if(used.begin(), used.end(), [](const auto& u) { return u.second; });
      // A copy reads all before it writes; a loop would have to find under one shape what it wrote under the other.
      if (writes > 0 && used.size() > 1 && !std::holds_alternative<Copy>(s->node))
        return refusal(fmt::format("{}: fragment '{}' is written under one shape or type and used under another in one operation",
                                   describe(program_, *s), program_.buffer(tile).name),
                       "make two operations of it, or use a shared tile");
      for (const auto& [fragment, written] : used)
        if (!written || !overwrites(program_, *s, fragment)) bring(tile, fragment, *s);
    }
    const auto uses = uses_of(*s);
    out_.push_back(s);
    for (const auto& [tile, used] : uses)
      for (const auto& [fragment, written] : used)
        if (written) valid_[tile] = {fragment};
    return {};
  }

  Status control(const StmtPtr& s) {
    const auto uses = uses_of(*s);
    std::set<BufferId> several;
    for (const auto& [tile, used] : uses) {
      const bool writes = std::any_of(used.begin(), used.end(), [](const auto& u) { return u.second; });
      if (writes && used.size() > 1) several.insert(tile);
      if (writes && used.size() > 1)
        bring(tile, tile, *s);
      else
        for (const auto& [fragment, written] : used) bring(tile, fragment, *s);
      if (writes) valid_[tile] = {used.size() > 1 ? tile : used.begin()->first};
    }
    const std::set<BufferId> outer = shared_inside_;
    shared_inside_.insert(several.begin(), several.end());
    const auto before = valid_;
    Stmt copy = *s;
    const auto inner = [&](Block& b) -> Status {
      valid_ = before;
      TILERT_TRY(block(b));
      Block rest;
      std::swap(out_, rest);
      for (BufferId tile : several) bring(tile, tile, *s);
      std::swap(out_, rest);
      b.insert(b.end(), rest.begin(), rest.end());
      return {};
    };
    if (auto* loop = std::get_if<For>(&copy.node)) {
      TILERT_TRY(inner(loop->body));
    } else if (auto* again = std::get_if<While>(&copy.node)) {
      TILERT_TRY(inner(again->head));
      TILERT_TRY(inner(again->body));
    } else if (auto* roles = std::get_if<Roles>(&copy.node)) {
      TILERT_TRY(inner(roles->work));  // issuers have no fragments
    } else {
      auto& branch = std::get<If>(copy.node);
      TILERT_TRY(inner(branch.then_body));
      TILERT_TRY(inner(branch.else_body));
    }
    out_.push_back(std::make_shared<const Stmt>(std::move(copy)));
    shared_inside_ = outer;
    valid_ = before;
    return {};
  }

  Program& program_;
  std::map<BufferId, BufferId> tile_;             // of each fragment that is a view or has some
  std::map<BufferId, std::set<BufferId>> valid_;  // fragments that hold a declared tile's elements
  std::set<BufferId> shared_inside_;  // tiles of which several fragments are used in a loop or branch around
  Block out_;
};

}  // namespace

Result<Module> split_views(Module module, const PassContext&) {
  Splitter splitter(module.program);
  if (!splitter.needed()) return module;
  for (Kernel& kernel : module.program.kernels) TILERT_TRY(splitter.run(kernel.body));
  return module;
}

}  // namespace tilert::passes
