// The planner as a tile program: one block that sorts tiles by counting who comes before each, hands them out one by one, and
// writes each block's list.
#include "arith/build.h"
#include "ir/visit.h"
#include "passes/persist.h"

namespace tilert::passes {
namespace {

using namespace ir;

constexpr int64_t kChunk = 256;  // tiles that are looked at together

class Planner {
 public:
  Planner(Module& module, size_t k)
      : module_(module), program_(module.program), arena_(*program_.arena), schedule_(module.plans[k].schedule) {
    for (const Kernel& kernel : program_.kernels)
      for_each_stmt(kernel.body, [&](const Stmt& s) { ordinal_ = std::max(ordinal_, s.ordinal); });
  }

  Kernel run(const std::string& name) {
    Kernel kernel;
    kernel.name = name + "_planner";
    kernel.planner = true;
    kernel.blocks = program_.add_var(VarKind::blocks, DType::index, "blocks");
    module_.facts.define(program_.var(kernel.blocks), arith::Range::between(1, kMostPlannedBlocks));
    const VarId block = program_.add_var(VarKind::block_index, DType::index, "block");
    module_.facts.define(program_.var(block), arith::Range::between(0, 0));
    kernel.block_vars = {block};
    kernel.grid = {index(1)};
    blocks_ = program_.var(kernel.blocks);
    kernel.body = collect([&] {
      count();
      sort();
      hand_out();
      write_lists();
      store(schedule_.header, index(0), arena_.cast(blocks_, DType::int32));
      store(schedule_.header, index(1), arena_.cast(total_, DType::int32));
    });
    return kernel;
  }

 private:
  using Body = std::function<void(Expr)>;

  void count() {
    tiles_ = index(1);
    for (Expr extent : schedule_.extents) tiles_ = arith::mul(arena_, tiles_, arith::max(arena_, extent, 0));
    total_ = tiles_;
    if (schedule_.counted != kNoBuffer) {
      const std::vector<Expr> first(program_.buffer(schedule_.counted).shape.size(), index(0));
      const Expr counted = arena_.cast(read({schedule_.counted, first}), DType::index);
      total_ = arith::max(arena_, arith::min(arena_, tiles_, counted), 0);
    }
    total_ = let(total_);
    costs_ = program_.add_workspace("costs", DType::int64, {tiles_}, false);
    groups_ = program_.add_workspace("groups", DType::int64, {tiles_}, false);
    sorted_ = program_.add_workspace("sorted", DType::int32, {tiles_}, false);
    owner_ = program_.add_workspace("owner", DType::int32, {tiles_}, false);
    over_tiles([&](Expr t) {
      std::unordered_map<VarId, Expr> at;
      Expr rest = t;
      for (size_t d = 0; d < schedule_.vars.size(); ++d) {
        const bool last = d + 1 == schedule_.vars.size();
        at[schedule_.vars[d]] = last ? rest : arith::mod(arena_, rest, schedule_.extents[d]);
        if (!last) rest = arith::floordiv(arena_, rest, schedule_.extents[d]);
      }
      const auto value = [&](Expr e) { return arena_.cast(e ? substitute(arena_, e, at) : index(0), DType::int64); };
      store(costs_, t, value(schedule_.cost));
      store(groups_, t, value(schedule_.locality));
    });
  }

  // The place of a tile: how many are of an earlier group, or of the same one and cost more, or as much and have lower numbers.
  void sort() {
    over_tiles([&](Expr t) {
      const BufferId place = scalar(DType::int32);
      store(place, nullptr, number(DType::int32, 0));
      const Expr cost = read({costs_, {t}}), group = read({groups_, {t}});
      serial([&](Expr other) {
        const Expr its_cost = read({costs_, {other}}), its_group = read({groups_, {other}});
        const Expr same = arith::logical_and(arena_, arith::eq(arena_, its_cost, cost), arith::lt(arena_, other, t));
        const Expr costlier = arith::logical_or(arena_, arith::lt(arena_, cost, its_cost), same);
        const Expr before = arith::logical_or(arena_, arith::lt(arena_, its_group, group),
                                              arith::logical_and(arena_, arith::eq(arena_, its_group, group), costlier));
        const Expr more = arith::select(arena_, before, number(DType::int32, 1), number(DType::int32, 0));
        store(place, nullptr, arith::add(arena_, read({place, {}}), more));
      });
      store(sorted_, arena_.cast(read({place, {}}), DType::index), arena_.cast(t, DType::int32));
    });
  }

  void hand_out() {
    const BufferId loads = fragment(DType::int64, kMostPlannedBlocks), least = fragment(DType::int32, 1);
    parallel(kMostPlannedBlocks, [&](Expr b) {
      store(loads, b, arith::select(arena_, arith::lt(arena_, b, blocks_), number(DType::int64, 0), number(DType::int64, INT64_MAX)));
    });
    serial([&](Expr place) {
      const Expr tile = arena_.cast(read({sorted_, {place}}), DType::index);
      emit(Pick{whole(loads), whole(least), 0, true});
      const Expr who = read({least, {index(0)}}), block = arena_.cast(who, DType::index);
      const Expr load = read({loads, {block}}), cost = read({costs_, {tile}});
      store(loads, block, arith::add(arena_, load, cost));
      store(owner_, place, who);
    });
  }

  void write_lists() {
    const BufferId counts = fragment(DType::int32, kMostPlannedBlocks + 1), starts = fragment(DType::int32, kMostPlannedBlocks + 1);
    parallel(kMostPlannedBlocks + 1, [&](Expr b) {
      const BufferId n = scalar(DType::int32);
      store(n, nullptr, number(DType::int32, 0));
      serial([&](Expr place) {
        const Expr own = arith::eq(arena_, arena_.cast(read({owner_, {place}}), DType::index), b);
        store(n, nullptr, arith::add(arena_, read({n, {}}), arith::select(arena_, own, number(DType::int32, 1), number(DType::int32, 0))));
      });
      store(counts, b, read({n, {}}));
    });
    Combine sum;
    sum.left = {program_.add_var(VarKind::let, DType::int32, "left")};
    sum.right = {program_.add_var(VarKind::let, DType::int32, "right")};
    sum.result = {arith::add(arena_, program_.var(sum.left[0]), program_.var(sum.right[0]))};
    sum.identity = {number(DType::int32, 0)};
    emit(Scan{{whole(counts)}, {whole(starts)}, sum, 0, false, true});
    parallel(kMostPlannedBlocks + 1, [&](Expr b) {
      const Expr start = read({starts, {b}});
      when(arith::le(arena_, b, blocks_), [&] { store(schedule_.list, b, start); });
      const BufferId at = scalar(DType::int32);
      store(at, nullptr, start);
      serial([&](Expr place) {
        const Expr own = arith::eq(arena_, arena_.cast(read({owner_, {place}}), DType::index), b);
        when(own, [&] {
          const Expr now = read({at, {}}), tile = read({sorted_, {place}});
          store(schedule_.list, arith::add(arena_, arith::add(arena_, tiles_, 1), arena_.cast(now, DType::index)), tile);
          store(at, nullptr, arith::add(arena_, now, number(DType::int32, 1)));
        });
      });
    });
  }

  // ---- small pieces ----

  Expr index(int64_t v) { return arena_.index(v); }
  Expr number(DType dtype, int64_t v) { return arena_.constant(dtype, static_cast<uint64_t>(v)); }
  template <class T>
  void emit(T node) { blocks_open_.back().push_back(make_stmt(std::move(node), ++ordinal_)); }
  Block collect(const std::function<void()>& f) {
    blocks_open_.emplace_back();
    f();
    Block out = std::move(blocks_open_.back());
    blocks_open_.pop_back();
    return out;
  }
  Expr let(Expr value) {
    const VarId var = program_.add_var(VarKind::let, value->dtype, "n");
    module_.facts.define(program_.var(var), module_.facts.range(value));
    emit(Let{var, value, {}});
    return program_.var(var);
  }
  Expr read(Access at) {
    const VarId var = program_.add_var(VarKind::let, program_.buffer(at.buffer).dtype, "x");
    emit(Let{var, nullptr, std::move(at)});
    return program_.var(var);
  }
  void store(BufferId buffer, Expr at, Expr value) { emit(Store{{buffer, at ? std::vector<Expr>{at} : std::vector<Expr>{}}, value}); }
  BufferId scalar(DType dtype) { return declare(Scope::scalar, dtype, {}); }
  BufferId fragment(DType dtype, int64_t extent) { return declare(Scope::fragment, dtype, {index(extent)}); }
  BufferId declare(Scope scope, DType dtype, std::vector<Expr> shape) {
    Buffer b;
    b.name = "plan";
    b.dtype = dtype;
    b.scope = scope;
    b.shape = std::move(shape);
    const BufferId id = program_.add_buffer(std::move(b));
    emit(Alloc{id});
    return id;
  }
  Region whole(BufferId buffer) { return {buffer, {index(0)}, {program_.buffer(buffer).shape[0]->as_int()}}; }
  void when(Expr condition, const std::function<void()>& f) { emit(If{condition, collect(f), {}}); }
  void parallel(int64_t extent, const Body& body) {
    Parallel loop;
    loop.vars = {program_.add_var(VarKind::loop, DType::index, "p")};
    loop.extents = {extent};
    loop.body = collect([&] { body(program_.var(loop.vars[0])); });
    emit(std::move(loop));
  }
  void serial(const Body& body) { loop(total_, body); }
  void loop(Expr trips, const Body& body) {
    For f;
    f.var = program_.add_var(VarKind::loop, DType::index, "i");
    f.begin = index(0);
    f.end = trips;
    f.body = collect([&] { body(program_.var(f.var)); });
    emit(std::move(f));
  }
  void over_tiles(const Body& body) {
    loop(arith::ceildiv(arena_, total_, kChunk), [&](Expr chunk) {
      parallel(kChunk, [&](Expr i) {
        const Expr tile = arith::add(arena_, arith::mul(arena_, chunk, kChunk), i);
        when(arith::lt(arena_, tile, total_), [&] { body(tile); });
      });
    });
  }

  Module& module_;
  Program& program_;
  Arena& arena_;
  const SchedulePlan schedule_;
  std::vector<Block> blocks_open_;
  uint32_t ordinal_ = 0;
  Expr blocks_ = nullptr, tiles_ = nullptr, total_ = nullptr;
  BufferId costs_ = kNoBuffer, groups_ = kNoBuffer, sorted_ = kNoBuffer, owner_ = kNoBuffer;
};

}  // namespace

void add_planner(Module& module, size_t k) {
  Planner planner(module, k);
  Kernel kernel = planner.run(module.program.kernels[k].name);
  module.program.kernels.push_back(std::move(kernel));
  module.plans.emplace_back();
}

}  // namespace tilert::passes
