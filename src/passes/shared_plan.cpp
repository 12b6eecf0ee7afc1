// Lifetimes by position in the kernel (a loop's whole body is one stretch for what lives across its iterations), then
// first fit, largest first.
#include "passes/shared_plan.h"

#include <algorithm>

#include "ir/visit.h"

namespace tilert::passes {
namespace {

using namespace ir;

struct Life {
  BufferId buffer;
  int first = -1, last = -1;
  int64_t bytes = 0, offset = 0, alignment = 1;
};

constexpr int64_t kAlignment = 128;  // at least: a row of banks

// Numbers statements in order; a buffer used in a loop but declared outside it lives through the whole loop.
class Lifetimes {
 public:
  explicit Lifetimes(const Program& program) : program_(program) {}

  void walk(const Block& block) {
    for (const StmtPtr& s : block) {
      const int begin = clock_++;
      if (const auto* alloc = std::get_if<Alloc>(&s->node)) declare(alloc->buffer, begin);
      if (const auto* loop = std::get_if<For>(&s->node)) {
        walk(loop->body);
        stretch(*s, begin, clock_++);
      } else if (const auto* again = std::get_if<While>(&s->node)) {
        walk(again->head);
        walk(again->body);
        stretch(*s, begin, clock_++);
      } else if (const auto* branch = std::get_if<If>(&s->node)) {
        walk(branch->then_body);
        walk(branch->else_body);
      } else {
        for (const BufferUse& use : buffer_uses_deep(*s)) touch(use.buffer, begin);
      }
    }
  }

  std::vector<Life> take() {
    std::vector<Life> used;
    for (auto& [id, life] : lives_)
      if (life.last >= 0) used.push_back(life);
    return used;
  }

 private:
  void declare(BufferId id, int at) {
    if (program_.buffer(id).scope != Scope::shared || program_.buffer(id).view_of != kNoBuffer) return;
    const Buffer& b = program_.buffer(id);
    lives_[id] = Life{id, at, at, shared_bytes(b), 0, std::max(kAlignment, b.alignment)};
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
  std::map<BufferId, Life> lives_;
  int clock_ = 0;
};



// With roles no order between the warps' parts is known from positions: everything lives throughout.
void never_share(std::vector<Life>& lives) {
  for (Life& life : lives) {
    life.first = 0;
    life.last = INT32_MAX;
  }
}

int64_t place(std::vector<Life>& lives) {
  std::stable_sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
  int64_t total = 0;
  for (size_t i = 0; i < lives.size(); ++i) {
    Life& life = lives[i];
    const int64_t step = life.alignment;
    life.offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t j = 0; j < i; ++j) {
        const Life& other = lives[j];
        const bool meet = life.first <= other.last && other.first <= life.last;
        if (!meet || life.offset >= other.offset + other.bytes || other.offset >= life.offset + life.bytes) continue;
        life.offset = (other.offset + other.bytes + step - 1) / step * step;
        moved = true;
      }
    }
    total = std::max(total, life.offset + life.bytes);
  }
  return total;
}

}  // namespace

int64_t shared_bytes(const Buffer& buffer) {
  int64_t elements = 1;
  for (Expr e : buffer.shape) elements *= e->as_int();
  return elements * dtype_bytes(buffer.dtype);
}

Result<Module> plan_shared(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    Lifetimes lifetimes(module.program);
    lifetimes.walk(module.program.kernels[k].body);
    std::vector<Life> lives = lifetimes.take();
    if (module.plans[k].roles.on) never_share(lives);
    const int64_t total = place(lives);
    if (total > context.device.shared_bytes)
      return make_error(Code::kUnsupported,
                        "kernel '{}' needs {} bytes of shared memory a block, and {} has {}: use smaller tiles or fewer stages",
                        module.program.kernels[k].name, total, context.target.text, context.device.shared_bytes);
    for (const Life& life : lives) {
      module.program.buffers[life.buffer].byte_offset = life.offset;
      for (BufferId view : views_of(module.program, life.buffer)) module.program.buffers[view].byte_offset = life.offset;
    }
    module.plans[k].shared_bytes = total;
  }
  return module;
}

}  // namespace tilert::passes
