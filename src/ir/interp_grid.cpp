// Of the grid as a whole: the workspace, how many tiles there are; and grids whose blocks meet: a machine and a thread of the
// host for each block, of which one runs at a time: in the order of the blocks, each until it comes to a grid_sync or to its
// end.
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "ir/interpreter_impl.h"
#include "ir/visit.h"
#include "support/float_environment.h"

namespace tilert::ir::interp {

namespace {
constexpr int64_t kMaxTogether = 1024;  // blocks
}  // namespace

// A region of the workspace, as a first launch finds it.
bool Machine::make_workspace(Memory& m, const Buffer& buffer) {
  m.elements = 1;
  for (size_t d = 0; d < buffer.shape.size(); ++d) {
    const Tape *shape = tape(buffer.shape[d]), *stride = tape(buffer.strides[d]);
    if (!shape || !stride) return false;
    m.shape.push_back(std::max<int64_t>(0, eval_index(shape, 0)));
    m.strides.push_back(eval_index(stride, 0));
    if (__builtin_mul_overflow(m.elements, m.shape[d], &m.elements) || m.elements > options_.max_tile_bytes / m.bytes)
      return fail(fmt::format("{} is too large", buffer_name(m)), Code::kOutOfMemory);
  }
  m.own_data.assign(static_cast<size_t>(m.elements * m.bytes), 0);
  m.data = m.own_data.data();
  return true;
}

// How many tiles of a persistent kernel are to be done.
bool Machine::count_tiles(const Kernel& kernel, int64_t& tiles) {
  if (kernel.tile_count == kNoBuffer) return true;
  Memory& memory = memory_[kernel.tile_count];
  const int64_t at[kMaxRank] = {};
  uint64_t value = 0;
  if (!read(memory, at, memory.shape.size(), 0, value)) return false;
  tiles = static_cast<int64_t>(value);
  if (memory.dtype == DType::int32) tiles = static_cast<int32_t>(value);
  return true;
}

bool Machine::meets(const Kernel& kernel) {
  bool found = false;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* call = std::get_if<ir::Call>(&s.node);
    found |= std::holds_alternative<GridSync>(s.node) || (call && call->primitive == Primitive::grid_barrier);
  });
  return found;
}

// Hands the turn from block to block.
class Machine::Meeting {
 public:
  enum class State : uint8_t { waiting, done };
  explicit Meeting(size_t blocks) : states_(blocks, State::waiting) {}

  // Of a block: waits for its turn; false where the grid is given up.
  bool wait(size_t block) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == block; });
    return !given_up_;
  }
  void yield(size_t block, State state) {
    const std::lock_guard lock(mutex_);
    states_[block] = state;
    turn_ = kNobody;
    changed_.notify_all();
  }

  // Of the grid: lets a block run until it yields.
  State run(size_t block) {
    std::unique_lock lock(mutex_);
    if (states_[block] == State::done) return State::done;
    turn_ = block;
    changed_.notify_all();
    changed_.wait(lock, [&] { return turn_ == kNobody; });
    return states_[block];
  }
  void give_up() { given_up_ = true; }

 private:
  static constexpr size_t kNobody = ~size_t{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<State> states_;
  size_t turn_ = kNobody;
  bool given_up_ = false;
};

bool Machine::meet() {
  if (!meeting_) return fail("grid_sync outside of a grid", Code::kInternal);
  meeting_->yield(number_, Meeting::State::waiting);
  return meeting_->wait(number_);
}

// Memory of parameters and workspace is the grid's, tiles and variables are the block's own.
bool Machine::be_block(Machine& of_grid, const Kernel& kernel, const int64_t block[3], Operations& code) {
  if (!bind_arguments() || !allocate_tiles()) return false;
  for (size_t b = 0; b < memory_.size(); ++b) {
    if (!memory_[b].global) continue;
    memory_[b].data = of_grid.memory_[b].data;
    memory_[b].written = of_grid.memory_[b].written;
  }
  if (!compile(kernel, code)) return false;
  enter_block(kernel, block);
  return true;
}

bool Machine::run_together(const Kernel& kernel, const int64_t grid[3]) {
  int64_t count = 1, tile_bytes = static_cast<int64_t>(arena_.size());
  for (int d = 0; d < 3; ++d)
    if (__builtin_mul_overflow(count, grid[d], &count)) count = kMaxTogether + 1;
  for (const Memory& m : memory_)
    if (!m.global) tile_bytes += static_cast<int64_t>(m.own_data.size());
  if (count > kMaxTogether || tile_bytes > options_.max_tile_bytes / count)
    return refuse(fmt::format("kernel '{}' meets its grid of {} blocks with {} bytes of tiles each; the interpreter runs up to {} "
                              "blocks with {} bytes together",
                              kernel.name, count, tile_bytes, kMaxTogether, options_.max_tile_bytes),
                  "interpret it with smaller dims");
  InterpretOptions options = options_;
  options.max_statements = std::max<int64_t>(1, (options_.max_statements - statements_) / count);
  options.max_elements = std::max<int64_t>(1, (options_.max_elements - elements_) / count);
  Meeting meeting(static_cast<size_t>(count));
  std::deque<Machine> machines;
  std::deque<Operations> code;
  std::vector<std::thread> threads;
  for (int64_t b = 0; b < count; ++b) {
    Machine& machine = machines.emplace_back(p_, arguments_, options);
    machine.meeting_ = &meeting;
    machine.number_ = static_cast<size_t>(b);
    const int64_t block[3] = {b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1]};
    if (!machine.be_block(*this, kernel, block, code.emplace_back())) return error_ = std::move(machine.error_), false;
  }
  std::vector<std::exception_ptr> lost(machines.size());  // what a block's thread met, thrown on by the grid's
  const auto body = [&](Machine& machine, const Operations& operations) {
    const FloatEnvironment environment;
    try {
      if (meeting.wait(machine.number_)) machine.execute(operations, machine.lanes_of(kernel));
    } catch (...) {
      lost[machine.number_] = std::current_exception();
    }
    meeting.yield(machine.number_, Meeting::State::done);
  };
  std::exception_ptr thrown;
  try {
    threads.reserve(machines.size());
    for (size_t b = 0; b < machines.size(); ++b) threads.emplace_back(body, std::ref(machines[b]), std::cref(code[b]));
    run_rounds(meeting, machines);
  } catch (const std::system_error&) {
    fail(fmt::format("the host has no threads for the {} blocks of kernel '{}', which meet", count, kernel.name), Code::kOutOfMemory);
  } catch (...) {
    thrown = std::current_exception();
  }
  meeting.give_up();
  for (size_t b = 0; b < threads.size(); ++b) {
    meeting.run(b);
    threads[b].join();
    if (lost[b] && !thrown) thrown = lost[b];
  }
  if (thrown) std::rethrow_exception(thrown);
  return !error_;
}

// Until all blocks are at their end, or something is wrong.
void Machine::run_rounds(Meeting& meeting, std::deque<Machine>& machines) {
  while (!error_) {
    std::optional<size_t> waits, ended;
    for (size_t b = 0; b < machines.size() && !error_; ++b) {
      (meeting.run(b) == Meeting::State::done ? ended : waits) = b;
      error_ = std::move(machines[b].error_);
    }
    if (!waits || error_) return;
    if (!ended) continue;
    current_ = machines[*waits].current_;
    fail(fmt::format("block {} of the grid waits here for all others, and block {} has ended without coming here", *waits, *ended));
  }
}

}  // namespace tilert::ir::interp
