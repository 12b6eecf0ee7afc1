// One walk that numbers the statements.
#include "passes/lifetimes.h"

#include <algorithm>
#include <map>

#include "ir/visit.h"

namespace tilert::passes {
namespace {

using namespace ir;

class Walk {
 public:
  Walk(const Program& program, Scope scope) : program_(program), scope_(scope) {}

  void block(const Block& body) {
    for (const StmtPtr& s : body) {
      const int begin = clock_++;
      if (const auto* alloc = std::get_if<Alloc>(&s->node)) declare(alloc->buffer, begin);
      if (const auto* loop = std::get_if<For>(&s->node)) {
        block(loop->body);
        stretch(*s, begin, clock_++);
      } else if (const auto* again = std::get_if<While>(&s->node)) {
        block(again->head);
        block(again->body);
        stretch(*s, begin, clock_++);
      } else if (const auto* branch = std::get_if<If>(&s->node)) {
        block(branch->then_body);
        block(branch->else_body);
      } else if (const auto* group = std::get_if<Group>(&s->node); group && scope_ == Scope::registers) {
        block(group->body);
      } else {
        for (const BufferUse& use : buffer_uses_deep(*s)) touch(use.buffer, begin);
      }
    }
  }

  std::vector<Life> take() const {
    std::vector<Life> used;
    for (const auto& [id, life] : lives_)
      if (life.last >= 0) used.push_back(life);
    return used;
  }

 private:
  void declare(BufferId id, int at) {
    if (program_.buffer(id).scope == scope_ && program_.buffer(id).view_of == kNoBuffer) lives_[id] = Life{id, at, at};
  }
  void touch(BufferId id, int at) {
    const auto found = lives_.find(storage_of(program_, id));
    if (found != lives_.end()) found->second.last = std::max(found->second.last, at);
  }
  void stretch(const Stmt& loop, int begin, int end) {
    for (const BufferUse& use : buffer_uses_deep(loop)) {
      const auto found = lives_.find(storage_of(program_, use.buffer));
      if (found != lives_.end() && found->second.first < begin) touch(use.buffer, end);
    }
  }

  const Program& program_;
  const Scope scope_;
  std::map<BufferId, Life> lives_;
  int clock_ = 0;
};

}  // namespace

std::vector<Life> lifetimes(const Program& program, const Block& body, Scope scope) {
  Walk walk(program, scope);
  walk.block(body);
  return walk.take();
}

}  // namespace tilert::passes
