// The interpreter's outside: arguments, memory, the grid, and control flow.
#include "ir/interpreter.h"

#include <algorithm>

#include "ir/async.h"
#include "ir/interpreter_impl.h"
#include "ir/threads.h"
#include "ir/visit.h"

namespace tilert::ir {
namespace interp {

namespace {
constexpr int64_t kLoopingBlocks = 3;  // of a lowered persistent kernel
}  // namespace

Status Machine::run() {
  const FloatEnvironment environment;
  if (!bind_arguments() || !allocate_tiles()) return std::move(*error_);
  for (const Kernel& kernel : p_.kernels) {
    Operations code;
    if (kernel.source) {
      refuse(fmt::format("kernel '{}' is source text, which cannot be interpreted", kernel.name), "run it on its device");
      return std::move(*error_);
    }
    current_ = nullptr;
    if (!compile(kernel, code)) return std::move(*error_);
    current_ = nullptr;
    if (!kernel.planner && !run_kernel(kernel, code)) return std::move(*error_);
  }
  return {};
}

bool Machine::bind_arguments() {
  if (arguments_.parameters.size() != p_.parameters.size() || arguments_.dims.size() != p_.dims.size())
    return fail(fmt::format("the program has {} parameters and {} dims, {} and {} were given", p_.parameters.size(),
                            p_.dims.size(), arguments_.parameters.size(), arguments_.dims.size()),
                Code::kInvalidArgument);
  vars_.assign(p_.vars.size(), 0);
  for (size_t i = 0; i < p_.dims.size(); ++i)
    if (!bind_dim(p_.dims[i], arguments_.dims[i])) return false;
  for (size_t i = 0; i < p_.parameters.size(); ++i)
    if (p_.parameters[i].kind == Parameter::Kind::scalar) {
      const VarId var = p_.parameters[i].var;
      vars_[var] = canonical_bits(p_.vars[var].dtype, arguments_.parameters[i].scalar);
    }
  memory_.resize(p_.buffers.size());
  for (BufferId b = 0; b < p_.buffers.size(); ++b) {
    Memory& m = memory_[b];
    const Buffer& buffer = p_.buffers[b];
    m.id = b;
    m.dtype = buffer.dtype;
    m.bytes = dtype_bytes(buffer.dtype);
    m.global = buffer.scope == Scope::global;
    m.packed = is_packed(p_, b);
    m.entries = buffer.entries;
    m.per_lane = buffer.scope == Scope::scalar || buffer.scope == Scope::local || buffer.scope == Scope::registers;
    m.staged = buffer.stages > 1;
    if (buffer.shape.size() > kMaxRank || m.bytes == 0)
      return refuse(fmt::format("{} has {} dims of {}", buffer_name(m), buffer.shape.size(), dtype_text(buffer.dtype)),
                    fmt::format("give it a type and at most {} dims", kMaxRank));
    if (m.global && !bind_global(b)) return false;
  }
  return true;
}

namespace {

bool is_tile_operation(const Stmt& s) {
  return std::visit(Overload{[](const Copy&) { return true; }, [](const Fill&) { return true; }, [](const Gemm&) { return true; },
                             [](const Reduce&) { return true; }, [](const Fold&) { return true; },
                             [](const Scan&) { return true; }, [](const Pick&) { return true; },
                             [](const Sort&) { return true; }, [](const Parallel&) { return true; },
                             [](const auto&) { return false; }},
                    s.node);
}

}  // namespace

// Between the plain loops of rings and the lowering of tile operations, waits and commits stand among statements that
// still mean the whole block: one lane runs those.
int Machine::threads_of(const Kernel& kernel) const {
  bool lowered = false, tiles = false;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    lowered |= std::holds_alternative<Group>(s.node) || std::holds_alternative<Move>(s.node) ||
               std::holds_alternative<ir::Call>(s.node);
    tiles |= is_tile_operation(s);
  });
  const int threads = options_.threads ? options_.threads : kernel.threads;
  return lowered && !tiles && threads ? threads : 1;
}

// Bytes of one lane's elements.
static int64_t size_of(const Memory& m) { return m.packed ? (m.elements * dtype_bits(m.dtype) + 7) / 8 : m.elements * m.bytes; }

// A view's elements are those of the tile that it shows, which stands before it.
bool Machine::share_storage(Memory& m) {
  const BufferId tile = p_.buffers[m.id].view_of;
  m.storage = &m;
  if (tile == kNoBuffer) return true;
  m.viewed = true;
  if (tile >= m.id || size_of(memory_[tile]) < size_of(m) || memory_[tile].storage != &memory_[tile] || m.per_lane)
    return fail(fmt::format("{} is a view of no tile of its size", buffer_name(m)), Code::kInternal);
  m.storage = &memory_[tile];
  m.storage->viewed = true;
  return true;
}

bool Machine::allocate_tiles() {
  int threads = 1;
  for (const Kernel& kernel : p_.kernels) {
    const int own = threads_of(kernel);
    if (own < 1 || own > 1024)
      return fail(fmt::format("kernel '{}' is lowered, but has {} threads", kernel.name, own), Code::kInternal);
    threads = std::max(threads, own);
  }
  lanes_ = static_cast<uint32_t>(threads);
  std::vector<uint64_t> spread(vars_.size() * lanes_);
  for (size_t i = 0; i < spread.size(); ++i) spread[i] = vars_[i / lanes_];
  vars_ = std::move(spread);
  int64_t total = 0, arena = 0;
  for (Memory& m : memory_) {
    if (m.global) continue;
    const Buffer& buffer = p_.buffers[m.id];
    if (buffer.stages < 1 || buffer.stages > 1024 || buffer.byte_offset > options_.max_tile_bytes)
      return fail(fmt::format("{} has {} stages at {}", buffer_name(m), buffer.stages, buffer.byte_offset),
                  Code::kInternal);
    m.elements = buffer.stages;
    m.shape.resize(buffer.shape.size());
    m.strides.resize(buffer.shape.size());
    int64_t stride = 1;
    for (size_t d = buffer.shape.size(); d-- > 0;) {
      const Expr extent = buffer.shape[d];
      if (!extent || !extent->is_constant() || extent->as_int() < 0 || extent->as_int() > options_.max_tile_bytes)
        return fail(fmt::format("the shape of {} is not constant", buffer_name(m)));
      m.shape[d] = extent->as_int();
      m.strides[d] = stride;
      stride *= m.shape[d];
      if (stride > options_.max_tile_bytes)
        return fail(fmt::format("{} is too large", buffer_name(m)), Code::kOutOfMemory);
    }
    m.elements *= stride;
    m.lane_bytes = m.per_lane ? m.elements * m.bytes : 0;
    const int64_t bytes = size_of(m) * (m.per_lane ? lanes_ : 1);
    if (!share_storage(m)) return false;
    if (m.storage != &m) continue;
    total += bytes;
    if (m.elements < 0 || total < 0 || total > options_.max_tile_bytes)
      return fail(fmt::format("the block's tiles take more than {} bytes", options_.max_tile_bytes),
                  Code::kOutOfMemory);
    if (buffer.scope == Scope::shared && buffer.byte_offset >= 0)
      arena = std::max(arena, buffer.byte_offset + bytes);
    else
      m.own_data.resize(static_cast<size_t>(bytes));
  }
  if (arena > options_.max_tile_bytes) return fail("shared memory is too large", Code::kOutOfMemory);
  arena_.resize(static_cast<size_t>(arena));
  arena_written_.resize(static_cast<size_t>(arena));
  for (Memory& m : memory_) {
    if (m.global) continue;
    if (m.storage != &m) {
      m.data = m.storage->data;
      m.written = m.storage->written;
      continue;
    }
    const int64_t place = p_.buffers[m.id].byte_offset;
    const bool in_arena = p_.buffers[m.id].scope == Scope::shared && place >= 0;
    m.own_written.resize(m.own_data.size());
    m.data = in_arena ? arena_.data() + place : m.own_data.data();
    m.written = in_arena ? arena_written_.data() + place : m.own_written.data();
  }
  return true;
}

void Machine::reset(Memory& m) {
  if (m.global || m.storage != &m) return;
  std::fill_n(m.written, size_of(m) * (m.per_lane ? lanes_ : 1), uint8_t{0});
  std::fill(m.last_write.begin(), m.last_write.end(), 0u);
  std::fill(m.last_read.begin(), m.last_read.end(), 0u);
}

// All threads of a block, each of which knows its index.
Lanes Machine::lanes_of(const Kernel& kernel) {
  Lanes lanes;
  for (int l = 0; l < threads_of(kernel); ++l) lanes.push_back(static_cast<uint32_t>(l));
  for (VarId v = 0; v < p_.vars.size(); ++v)
    if (p_.vars[v].kind == VarKind::thread)
      for (uint32_t l : lanes) vars_[v * lanes_ + l] = l;
  return lanes;
}

void Machine::enter_block(const Kernel& kernel, const int64_t block[3]) {
  for (size_t d = 0; d < kernel.block_vars.size(); ++d)
    std::fill_n(vars_.begin() + kernel.block_vars[d] * lanes_, lanes_, static_cast<uint64_t>(block[d]));
  for (Memory& m : memory_) reset(m);
}

bool Machine::run_kernel(const Kernel& kernel, const Operations& code) {
  const size_t rank = kernel.grid.size();
  if (rank > 3 || rank != kernel.block_vars.size()) return fail("a grid has 1 to 3 extents", Code::kInternal);
  int64_t grid[3] = {1, 1, 1};
  for (size_t d = 0; d < rank; ++d) {
    const Tape* t = tape(kernel.grid[d]);
    if (!t) return false;
    grid[d] = eval_index(t, 0);
    if (grid[d] <= 0) return true;
  }
  int64_t tiles = INT64_MAX;
  if (kernel.blocks == kNoVar && !count_tiles(kernel, tiles)) return false;
  if (kernel.blocks != kNoVar) {
    grid[0] = std::min<int64_t>(grid[0], kLoopingBlocks);
    std::fill_n(vars_.begin() + kernel.blocks * lanes_, lanes_, static_cast<uint64_t>(grid[0]));
  }
  if (meets(kernel)) return run_together(kernel, grid);
  const Lanes lanes = lanes_of(kernel);
  int64_t block[3];
  for (block[2] = 0; block[2] < grid[2]; ++block[2])
    for (block[1] = 0; block[1] < grid[1]; ++block[1])
      for (block[0] = 0; block[0] < grid[0]; ++block[0]) {
        if ((block[2] * grid[1] + block[1]) * grid[0] + block[0] >= tiles) return true;
        for (int rank = 0; rank < kernel.cluster; ++rank) {
          if (kernel.rank != kNoVar) std::fill_n(vars_.begin() + kernel.rank * lanes_, lanes_, static_cast<uint64_t>(rank));
          enter_block(kernel, block);
          if (!execute(code, lanes)) return false;
          jump_.clear();
          jumping_ = 0;
        }
      }
  return true;
}

// ---- control flow ----

bool Machine::execute(const Operations& code, const Lanes& lanes) {
  for (const Operation& op : code) {
    if (jumping_ == 0) {
      if (!execute(op, lanes)) return false;
      continue;
    }
    const Lanes left = staying(lanes);
    if (left.empty()) return true;
    if (!execute(op, left)) return false;
  }
  return true;
}

bool Machine::execute(const Operation& op, const Lanes& lanes) {
  current_ = op.stmt;
  statements_ += static_cast<int64_t>(lanes.size());
  if (statements_ > options_.max_statements)
    return fail("the program executes more statements than allowed", Code::kTimeout);
  return std::visit([&](const auto& node) { return step(op, node, lanes); }, op.stmt->node);
}

bool Machine::step(const Operation& op, const Alloc&, const Lanes&) {
  reset(*op.p[0].memory);
  return true;
}

bool Machine::step(const Operation& op, const Parallel& n, const Lanes& lanes) {
  const size_t rank = n.vars.size();
  if (rank != n.extents.size() || rank > kMaxRank || in_parallel_)
    return fail("a parallel loop is malformed", Code::kInternal);
  int64_t points = 1, at[kMaxRank] = {};
  for (int64_t extent : n.extents)
    if (extent < 0 || __builtin_mul_overflow(points, extent, &points))
      return fail("a parallel loop has too many points");
  if (points == 0) return true;
  const Lanes one{lanes[0]};
  in_parallel_ = true;
  first_point_ = point_ + 1;
  for (int64_t i = 0; i < points; ++i) {
    ++point_;
    for (size_t d = 0; d < rank; ++d) vars_[n.vars[d] * lanes_ + one[0]] = static_cast<uint64_t>(at[d]);
    if (!execute(op.first, one)) return false;
    for (size_t d = rank; d-- > 0;) {
      if (++at[d] < n.extents[d]) break;
      at[d] = 0;
    }
  }
  in_parallel_ = false;
  return true;
}

bool Machine::step(const Operation& op, const For& n, const Lanes& lanes) {
  const int64_t begin = eval_index(op.e[0], lanes[0]), end = eval_index(op.e[1], lanes[0]);
  for (uint32_t l : lanes)
    if (eval_index(op.e[0], l) != begin || eval_index(op.e[1], l) != end) return loop_lockstep(op, n, lanes);
  Lanes active = lanes;
  for (int64_t i = begin; n.step > 0 ? i < end : i > end;) {
    for (uint32_t l : active) vars_[n.var * lanes_ + l] = static_cast<uint64_t>(i);
    if (!execute(op.first, active)) return false;
    if (!end_trip(active) || __builtin_add_overflow(i, n.step, &i)) break;
  }
  return true;
}

// Lanes with bounds of their own: those that are through wait for the others.
bool Machine::loop_lockstep(const Operation& op, const For& n, const Lanes& lanes) {
  std::vector<std::pair<int64_t, int64_t>> state(lanes_);
  for (uint32_t l : lanes) state[l] = {eval_index(op.e[0], l), eval_index(op.e[1], l)};
  Lanes active = lanes;
  for (;;) {
    std::erase_if(active, [&](uint32_t l) {
      return n.step > 0 ? state[l].first >= state[l].second : state[l].first <= state[l].second;
    });
    if (active.empty()) return true;
    for (uint32_t l : active) {
      vars_[n.var * lanes_ + l] = static_cast<uint64_t>(state[l].first);
      if (__builtin_add_overflow(state[l].first, n.step, &state[l].first)) state[l].first = state[l].second;
    }
    if (!execute(op.first, active)) return false;
    if (!end_trip(active)) return true;
  }
}

bool Machine::step(const Operation& op, const If&, const Lanes& lanes) {
  if (lanes.size() == 1) return execute(eval(op.e[0], lanes[0]) ? op.first : op.second, lanes);
  Lanes yes, no;
  for (uint32_t l : lanes) (eval(op.e[0], l) ? yes : no).push_back(l);
  if (!yes.empty() && !execute(op.first, yes)) return false;
  return no.empty() || execute(op.second, no);
}

bool Machine::step(const Operation& op, const Let& n, const Lanes& lanes) {
  for (uint32_t l : lanes) {
    uint64_t value = 0;
    if (n.value)
      value = eval(op.e[0], l);
    else if (!read(op.p[0], l, value))
      return false;
    vars_[n.var * lanes_ + l] = value;
  }
  return true;
}

bool Machine::step(const Operation& op, const Store&, const Lanes& lanes) {
  for (uint32_t l : lanes)
    if (!write(op.p[0], l, eval(op.e[0], l))) return false;
  return true;
}

bool Machine::step(const Operation&, const Inline& n, const Lanes&) {
  return refuse(fmt::format("inline source for '{}' cannot be interpreted", n.target), "run the program on its device");
}

bool Machine::step(const Operation&, const CallDevice& n, const Lanes&) {
  return refuse(fmt::format("the device function '{}' cannot be interpreted", p_.functions[n.function].name),
                "run the program on its device");
}

bool Machine::step(const Operation&, const ThreadOp&, const Lanes&) {
  return fail("an operation of threads outside of a loop over threads", Code::kInternal);
}

bool Machine::step(const Operation& op, const Group&, const Lanes& lanes) { return execute(op.first, lanes); }

}  // namespace interp

// Gives the reports of a program their places in its order, which parting keeps.
static void count_reports(Program& program) {
  uint32_t count = 0;
  for (Kernel& k : program.kernels)
    k.body = rewrite_block(k.body, [&](const StmtPtr& s) -> Block {
      if (!std::holds_alternative<Report>(s->node)) return {s};
      Report counted = std::get<Report>(s->node);
      counted.id = count++;
      return {make_stmt(std::move(counted), s->ordinal, s->location)};
    });
}

// Loops over threads, and barriers and tensor copies, become plain statements in a copy. What that reports is said of the program's own statements.
Status interpret(const Program& program, const HostArguments& arguments, const InterpretOptions& options) {
  if (!has_threads(program) && !has_async(program)) return interp::Machine(program, arguments, options).run();
  Program parted = clone(program);
  count_reports(parted);
  part_async(parted);
  part_threads(parted);
  Reports* const reports = options.reports;
  const size_t first = reports ? reports->entries.size() : 0;
  Status ran = interp::Machine(parted, arguments, options).run();
  if (!reports || reports->entries.size() == first) return ran;
  std::vector<const Stmt*> own;
  for (const Kernel& k : program.kernels)
    for_each_stmt(k.body, [&](const Stmt& s) { if (std::holds_alternative<Report>(s.node)) own.push_back(&s); });
  for (size_t i = first; i < reports->entries.size(); ++i) {
    Reports::Entry& e = reports->entries[i];
    e.stmt = own[e.entry.ordinal];
    e.entry.ordinal = std::get<Report>(e.stmt->node).id;
  }
  return ran;
}

}  // namespace tilert::ir
