// First fit, largest first, by lifetimes.
#include "passes/shared_plan.h"

#include <algorithm>

#include "ir/visit.h"
#include "passes/lifetimes.h"
#include "support/refusal.h"

namespace tilert::passes {
namespace {

using namespace ir;

constexpr int64_t kAlignment = 128;  // at least: a row of banks

// A barrier between two uses of the same bytes is dearer than few bytes more: what is small gets bytes of its own.
constexpr int64_t kSmall = 1024, kSmallTogether = 4096;

struct Tenant {
  Life life;
  int64_t bytes = 0, alignment = 1, offset = 0;
};

// With roles no order between the warps' parts is known from positions, nor when a tensor copy of the program's own is done:
// everything lives throughout.
void never_share(std::vector<Tenant>& tenants) {
  for (Tenant& t : tenants) {
    t.life.first = 0;
    t.life.last = INT32_MAX;
  }
}

void keep_small_apart(std::vector<Tenant>& tenants) {
  int64_t together = 0;
  for (Tenant& t : tenants) {
    const int64_t taken = (t.bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (t.bytes > kSmall || together + taken > kSmallTogether) continue;
    together += taken;
    t.life.first = 0;
    t.life.last = INT32_MAX;
  }
}

int64_t place(std::vector<Tenant>& tenants) {
  std::stable_sort(tenants.begin(), tenants.end(), [](const Tenant& a, const Tenant& b) { return a.bytes > b.bytes; });
  int64_t total = 0;
  for (size_t i = 0; i < tenants.size(); ++i) {
    Tenant& t = tenants[i];
    const int64_t step = t.alignment;
    t.offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t j = 0; j < i; ++j) {
        const Tenant& other = tenants[j];
        const bool meet = t.life.first <= other.life.last && other.life.first <= t.life.last;
        if (!meet || t.offset >= other.offset + other.bytes || other.offset >= t.offset + t.bytes) continue;
        t.offset = (other.offset + other.bytes + step - 1) / step * step;
        moved = true;
      }
    }
    total = std::max(total, t.offset + t.bytes);
  }
  return total;
}

std::vector<Tenant> tenants_of(const Program& program, const Kernel& kernel) {
  std::vector<Tenant> tenants;
  for (const Life& life : lifetimes(program, kernel.body, Scope::shared)) {
    const Buffer& b = program.buffer(life.buffer);
    tenants.push_back({life, shared_bytes(b), std::max(kAlignment, b.alignment)});
  }
  return tenants;
}

}  // namespace

int64_t shared_bytes(const Buffer& buffer) {
  int64_t elements = 1;
  for (Expr e : buffer.shape) elements *= e->as_int();
  return elements * dtype_bytes(buffer.dtype);
}

// AMD: words that barriers of some waves count in, which stand before the arena and move it by its alignment.
static int64_t barrier_bytes(const Kernel& kernel, const Target& target) {
  bool any = false;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* call = std::get_if<Call>(&s.node);
    any |= call && call->primitive == Primitive::named_barrier;
  });
  return any && target.is_hip() ? 128 : 0;
}

Result<Module> plan_shared(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    std::vector<Tenant> tenants = tenants_of(module.program, module.program.kernels[k]);
    if (module.plans[k].roles.on || !module.plans[k].async.copies.empty()) never_share(tenants);
    std::vector<Tenant> apart = tenants;
    keep_small_apart(apart);
    const int64_t most = context.device.shared_bytes - barrier_bytes(module.program.kernels[k], context.target);
    int64_t total = place(apart);
    if (total > most) total = place(tenants);
    else tenants = std::move(apart);
    if (total > most)
      return refusal(fmt::format("kernel '{}' needs {} bytes of shared memory a block, and {} has {}", module.program.kernels[k].name,
                                 total, context.target.text, most),
                     "use smaller tiles or fewer stages");
    for (const Tenant& t : tenants) {
      module.program.buffers[t.life.buffer].byte_offset = t.offset;
      for (BufferId view : views_of(module.program, t.life.buffer)) module.program.buffers[view].byte_offset = t.offset;
    }
    module.plans[k].shared_bytes = total;
  }
  return module;
}

}  // namespace tilert::passes
