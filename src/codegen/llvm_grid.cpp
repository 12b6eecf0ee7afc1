// Blocks that meet: the entry runs each block from where it stopped up to its next grid_sync, and the launch calls it until all
// are at their end. What outlives a grid_sync lies in the block's part of the workspace (passes/cpu_lower.h): nothing that
// stands after one may use a value that was computed before it.
#include "arith/build.h"
#include "codegen/llvm_kernel.h"

namespace tilert::codegen {

using namespace ir;
using namespace passes;

namespace {
constexpr int64_t kPage = 4096;
}  // namespace

// From its tiles and its word in the state on.
void LlvmKernel::block_that_meets(const std::string& number, const std::vector<std::string>& extents) {
  const std::string area = text_.let("mul i64 {}, {}", extents[0], extents[1]);
  const std::string blocks = text_.let("mul i64 {}, {}", area, extents[2]);
  const std::string bytes = text_.let("add i64 {}, {}", text_.let("shl i64 {}, 3", blocks), kPage - 1);
  const std::string words = text_.let("and i64 {}, {}", bytes, -kPage);
  const std::string at = text_.let("add i64 {}, {}", words, text_.let("mul i64 {}, {}", number, kernel_.tile_bytes));
  own_ = text_.let("getelementptr inbounds i8, ptr {}, i64 {}", base(kernel_.state), at);
  tiles(own_);
  word_ = text_.let("getelementptr inbounds i64, ptr {}, i64 {}", base(kernel_.state), number);
  ended_ = text_.fresh_label("ended");
  const std::string start = text_.fresh_label("start"), from = text_.let("load i64, ptr {}, align 8", word_);
  std::string places = fmt::format("i64 -1, label %{}", ended_);
  for (int i = 1; i <= count_meetings(kernel_.body); ++i) places += fmt::format(" i64 {0}, label %met{0}", i);
  text_.put("switch i64 {}, label %{} [ {} ]", from, start, places);
  text_.label(start);
  forget();
  block(kernel_.body);
  text_.put("store i64 -1, ptr {}, align 8", word_);
  text_.put("br label %{}", ended_);
  text_.label(ended_);
}

void LlvmKernel::meet() {
  ++meetings_;
  text_.put("store i64 {}, ptr {}, align 8", meetings_, word_);
  text_.put("br label %{}", ended_);
  text_.label(fmt::format("met{}", meetings_));
  forget();
}

int LlvmKernel::count_meetings(const CpuBlock& body) const {
  int count = 0;
  for (const CpuStmt& stmt : body) {
    if (const auto* s = std::get_if<StmtPtr>(&stmt.node)) count += std::holds_alternative<GridSync>((*s)->node);
    if (const auto* loop = std::get_if<CpuFor>(&stmt.node)) count += count_meetings(loop->body);
    if (const auto* loop = std::get_if<CpuWhile>(&stmt.node)) count += count_meetings(loop->head) + count_meetings(loop->body);
    if (const auto* branch = std::get_if<CpuIf>(&stmt.node)) count += count_meetings(branch->then_body) + count_meetings(branch->else_body);
  }
  return count;
}

// What was computed so far is not there on every way that comes here.
void LlvmKernel::forget() {
  for (auto& frame : cache_) frame.clear();
}

std::string LlvmKernel::held_place(VarId var) {
  return text_.let("getelementptr inbounds i8, ptr {}, i64 {}", own_, kernel_.held.at(var));
}

std::string LlvmKernel::load_held(VarId var) {
  return text_.let("load {}, ptr {}, align 8", register_type(program_.vars[var].dtype), held_place(var));
}

void LlvmKernel::hold(VarId var) {
  if (kernel_.held.count(var) == 0) return;
  text_.put("store {} {}, ptr {}, align 8", register_type(program_.vars[var].dtype), scalars_[var], held_place(var));
}

// A loop in which blocks meet counts in memory, and works out its end before each trip, and once more before a step that may
// leave 64 bits.
void LlvmKernel::loop_that_meets(const CpuFor& n) {
  const VarId var = n.loop.var;
  forget();
  scalars_[var] = scalar(prover_.simplify(n.loop.begin));
  hold(var);
  const std::string again = text_.fresh_label("again"), trip = text_.fresh_label("trip"), done = text_.fresh_label("done");
  text_.put("br label %{}", again);
  text_.label(again);
  forget();
  text_.enter_loop(done);
  {
    Scope scope(*this);
    const std::string now = load_held(var), end = scalar(prover_.simplify(n.loop.end));
    text_.put("br i1 {}, label %{}, label %{}", text_.let("icmp {} i64 {}, {}", n.loop.step > 0 ? "slt" : "sgt", now, end), trip, done);
    text_.label(trip);
    const bool ends = ends_in_64_bits(n.loop);
    facts_.bound_loop(program_.var(var), n.loop.begin, n.loop.end, n.loop.step);
    block(n.body);
    forget();
    const std::string before = load_held(var);
    if (!ends) {
      const std::string step = text_.fresh_label("step"), more = has_next(n.loop, before, scalar(prover_.simplify(n.loop.end)));
      text_.put("br i1 {}, label %{}, label %{}", more, step, done);
      text_.label(step);
    }
    scalars_[var] = text_.let("add i64 {}, {}", before, n.loop.step);
    hold(var);
  }
  text_.exit_loop();
  text_.put("br label %{}", again);
  text_.label(done);
  forget();
}

}  // namespace tilert::codegen
