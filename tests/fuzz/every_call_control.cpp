// Kernels, loops, branches, jumps, threads, source text.
#include <algorithm>

#include "fuzz/every_call.h"

namespace tilert::fuzz {

// ---- kernels ----

void EveryCall::kernel() {
  if (in_.below(2)) tensor();
  fixed_ = in_.below(2), persistent_ = in_.below(4) == 0;
  tilert_hint hints[2] = {};
  for (tilert_hint& h : hints) {
    h.struct_size = sizeof h;
    h.kind = code(TILERT_HINT_THREADS, TILERT_HINT_ROLES);
    h.value = h.kind == TILERT_HINT_THREADS || h.kind == TILERT_HINT_THREADS_FIXED ? 64 : h.kind == TILERT_HINT_MAX_REGISTERS ? 128 : in_.below(3);
    h.target = in_.below(4) ? nullptr : "sm_90a";
    if (wild_) h.kind = code(0, 12), h.value = code(0, 2000), h.flags = in_.below(3), h.target = in_.below(2) ? "no target" : h.target;
  }
  if (fixed_) hints[0].kind = TILERT_HINT_THREADS_FIXED, hints[0].value = 64, hints[0].target = nullptr;
  if (hints[1].kind == TILERT_HINT_THREADS || hints[1].kind == TILERT_HINT_THREADS_FIXED || hints[1].kind == hints[0].kind) hints[1].kind = TILERT_HINT_RASTER;
  tilert_grid g{};
  g.struct_size = wild_ ? in_.next() % sizeof g : sizeof g;
  g.rank = 1 + in_.below(3);
  std::vector<uint32_t> extents;
  for (uint32_t i = 0; i < g.rank; ++i) extents.push_back(!dims_.empty() && in_.below(2) ? 0 : size());
  g.extents = sizes(extents);
  g.flags = (persistent_ ? TILERT_GRID_PERSISTENT : 0) | (in_.below(2) ? 0 : TILERT_GRID_NO_CONTRACT) | (in_.below(8) ? 0 : TILERT_GRID_FIXED_ORDER);
  if (wild_) g.flags = in_.next();
  g.hints = hints;
  g.hint_count = fixed_ ? 1 + in_.below(2) : in_.below(3);
  if (persistent_ && !counts_.empty() && in_.below(2)) g.tile_count = counts_[in_.next() % counts_.size()];
  tilert_expr block[3] = {};
  TILERT_CALL(tilert_builder_begin_kernel, b_, &g, block);
  open(Kind::kernel, block, std::vector<uint32_t>(g.rank, 1));
}

void EveryCall::tile_cost() {
  if (!wild_ && (!persistent_ || open_.size() > 1 || costed_)) return;
  costed_ = true;
  const tilert_expr cost = !open_.empty() && values_.size() > open_[0].values ? values_[open_[0].values].e : number(1);
  TILERT_CALL(tilert_builder_tile_cost, b_, wild_ ? garbage() : cost, in_.below(2) ? number(in_.below(3)) : tilert_expr{});
}

void EveryCall::source_kernel() {
  static const char* const kOptions[] = {"--use_fast_math", "-DX=1", "--gpu-architecture=sm_80"};
  static const char* const kTexts[] = {"#include \"a.h\"\nextern \"C\" __global__ void f() {}\n", "define void @f() { ret void }\n", "int x = 1; // \"$0\" \\\n",
                                       "#include \"/etc/passwd\"\n", "", "\x01\xff{{}}"};
  const tilert_header header{"a.h", "int x;\n"};
  tilert_source_kernel s{};
  s.struct_size = wild_ ? static_cast<uint32_t>(in_.below(sizeof s + 1)) : sizeof s;
  s.grid_rank = 1 + in_.below(3);
  s.language = in_.below(2) ? "cuda" : "llvm";
  s.text = kTexts[in_.below(wild_ ? 6 : 3)];
  s.entry = wild_ && in_.below(2) ? nullptr : "f";
  s.headers = &header;
  s.header_count = 1;
  s.options = kOptions;
  s.option_count = wild_ ? in_.below(4) : s.language[0] == 'c' ? in_.below(3) : 0;
  tilert_expr grid[3], block[3];
  for (tilert_expr& e : grid) e = index();
  for (tilert_expr& e : block) e = number(1);
  s.grid = wild_ && in_.below(2) ? nullptr : grid;
  s.block = in_.below(2) ? block : nullptr;
  s.cluster = in_.below(4) ? nullptr : block;
  if (in_.below(3) == 0) s.shared_bytes = index();
  TILERT_CALL(tilert_builder_source_kernel, b_, &s);
}

// Text among tile operations, with a place and a value or none.
void EveryCall::source() {
  if (!wild_ && in_.below(4)) return;
  Place p;
  const Stored* const of = pick([](const Stored& s) { return s.scope == TILERT_SHARED || (s.access && s.reads() && s.writes()); });
  tilert_inline_source s{};
  s.struct_size = sizeof s;
  s.language = in_.below(2) ? "cuda" : "llvm";
  s.text = "// $0 \"quoted\" $$\n";
  if (of && element(p, *of, false)) s.places = &p.region, s.place_count = 1;
  room_[0] = value(TILERT_INT32);
  s.values = room_, s.value_count = 1;
  TILERT_CALL(tilert_builder_inline_source, b_, &s);
  call_device(room_[0], s.places);
}

// A function of the text's value and, where it is wild, of its place, whatever that holds.
void EveryCall::call_device(tilert_expr value, const tilert_region* place) {
  const tilert_function_parameter parameters[2] = {{TILERT_INT32, TILERT_BY_VALUE}, {TILERT_INT32, TILERT_BY_UPDATE_POINTER}};
  const tilert_source_text texts[2] = {{"cuda", "__device__ int f(int x) { return x; } // \"quoted\"\n"}, {"llvm", "define i32 @f(i32 %x) { ret i32 %x }"}};
  tilert_device_function f{};
  f.struct_size = sizeof f;
  f.result = TILERT_INT32;
  f.name = "f";
  f.parameters = parameters;
  f.parameter_count = wild_ ? 2 : 1;
  f.texts = texts;
  f.text_count = 2;
  const tilert_function made = TILERT_CALL(tilert_builder_device_function, b_, &f);
  const tilert_operand operands[2] = {{value, nullptr}, {{}, place}};
  tilert_expr result{};
  TILERT_CALL(tilert_builder_call_device, b_, made, operands, f.parameter_count, &result);
}

// ---- loops and branches ----

void EveryCall::parallel() {
  std::vector<uint32_t> extents;
  for (uint32_t r = 1 + in_.below(3); r > 0; --r) extents.push_back(size());
  tilert_expr indices[8] = {};
  TILERT_CALL(tilert_builder_begin_parallel, b_, sizes(extents), static_cast<uint32_t>(extents.size()), indices);
  open(Kind::parallel, indices, extents);
}

void EveryCall::serial() {
  const bool unrolled = in_.below(3) == 0, down = in_.below(4) == 0;
  const tilert_expr begin = down ? number(in_.below(9)) : in_.below(2) || unrolled ? tilert_expr{} : number(in_.below(3));
  const tilert_expr end = down ? number(0) : unrolled || inside(Kind::threads) ? number(in_.below(5)) : index();
  const tilert_expr step = down ? number(-1) : in_.below(2) ? tilert_expr{} : number(1 + in_.below(3));
  tilert_expr i{};
  TILERT_CALL(tilert_builder_begin_serial, b_, wild_ ? code(0, 3) : unrolled ? TILERT_LOOP_UNROLL : TILERT_LOOP_SERIAL, begin, end, step, &i);
  open(Kind::loop, &i, {1});
}

void EveryCall::pipelined() {
  tilert_expr i{};
  TILERT_CALL(tilert_builder_begin_pipelined, b_, index(), static_cast<uint32_t>(code(0, 5)), &i);
  open(Kind::pipelined, &i, {1});
}

void EveryCall::while_loop() {
  TILERT_CALL(tilert_builder_begin_while, b_);
  open(Kind::head, nullptr, {});
}

void EveryCall::branch() {
  TILERT_CALL(tilert_builder_begin_if, b_, value(TILERT_BOOL));
  open(Kind::branch, nullptr, {});
}

// Out of a loop that is open, inside a branch; what stands behind it in the branch is never reached.
void EveryCall::jump() {
  size_t loop = open_.size();
  while (loop > 0 && open_[loop - 1].kind != Kind::loop && open_[loop - 1].kind != Kind::pipelined) --loop;
  const bool under = at(Kind::branch) || at(Kind::otherwise);
  bool crosses = false;
  for (size_t i = loop; i < open_.size(); ++i) crosses |= open_[i].kind == Kind::parallel || open_[i].kind == Kind::threads || open_[i].kind == Kind::head;
  const uint32_t which = in_.below(3);
  if (!wild_ && (!under || inside(Kind::threads))) return;
  if (which == 2 && (wild_ || !in_element())) TILERT_CALL(tilert_builder_return, b_);
  else if (which < 2 && (wild_ || (loop > 0 && !crosses))) which ? TILERT_CALL(tilert_builder_break, b_) : TILERT_CALL(tilert_builder_continue, b_);
}

void EveryCall::grid_sync() {
  if (wild_ || (open_.size() == 1 && !persistent_ && in_.below(2))) TILERT_CALL(tilert_builder_grid_sync, b_);
}

// ---- threads ----

// Whether threads can bring elements of it.
bool EveryCall::comes_by_thread(const Stored& s) { return s.reads() && tilert_dtype_bits(s.dtype) >= 8 && s.shape.size() > s.table; }

void EveryCall::threads() {
  if (!fixed_ && !wild_) return;
  const Stored* const of = pick([](const Stored& s) { return s.access && comes_by_thread(s); });
  if (of) declare(TILERT_SHARED, of->dtype, {64, 16});
  tilert_expr thread{};
  TILERT_CALL(tilert_builder_begin_threads, b_, &thread);
  open(Kind::threads, &thread, {64});
}

// Only where all threads come to: not under a branch.
void EveryCall::exchange() {
  if (!wild_ && !at(Kind::threads)) return;
  switch (in_.below(3)) {
    case 0: return keep(TILERT_CALL(tilert_builder_thread_id, b_));
    case 1: return keep(TILERT_CALL(tilert_builder_vote, b_, code(TILERT_VOTE_ALL, TILERT_VOTE_BALLOT), value(TILERT_BOOL)));
    default: {
      const uint32_t width = wild_ ? in_.next() : 1u << in_.below(6);
      const tilert_shuffle kind = code(TILERT_SHUFFLE_INDEX, TILERT_SHUFFLE_XOR);
      const tilert_expr what = value(in_.below(2) ? TILERT_F32 : TILERT_INT32);
      return keep(TILERT_CALL(tilert_builder_shuffle, b_, kind, what, number(wild_ ? in_.next() : 0), width));
    }
  }
}

// A named barrier of the first warp, all of the block, or a fence.
void EveryCall::barrier() {
  if (!wild_ && !at(Kind::threads)) return;
  const uint32_t which = in_.below(3);
  if (which == 0) return void(TILERT_CALL(tilert_builder_fence, b_, code(TILERT_ORDER_DEVICE, TILERT_ORDER_SYSTEM)));
  if (which == 1 || open_.empty() || open_.back().points.empty()) return void(TILERT_CALL(tilert_builder_sync_threads, b_, wild_ ? in_.next() : 0, 0));
  const tilert_expr pair[2] = {open_.back().points[0], number(32)};
  TILERT_CALL(tilert_builder_begin_if, b_, TILERT_CALL(tilert_builder_op, b_, TILERT_OP_LT, pair, 2));
  open(Kind::otherwise, nullptr, {});
  TILERT_CALL(tilert_builder_sync_threads, b_, 1 + in_.below(15), wild_ ? in_.next() : 32);
  end();
}

// Each thread brings 16 bytes of its own.
void EveryCall::asynchronous() {
  if (!wild_ && !at(Kind::threads)) return;
  if (in_.below(3) == 0) return void(TILERT_CALL(tilert_builder_commit_copies, b_));
  if (in_.below(3) == 0) return void(TILERT_CALL(tilert_builder_wait_copies, b_, wild_ ? in_.next() : in_.below(3)));
  const Stored* const from = pick([](const Stored& s) { return s.access && comes_by_thread(s); });
  if (!from) return;
  const tilert_dtype dtype = from->dtype;
  const Stored* const to = pick([&](const Stored& s) { return s.scope == TILERT_SHARED && s.dtype == dtype && s.shape == std::vector<uint32_t>{64, 16}; });
  if (!to) return;
  Place source, destination;
  element(source, *from, false);
  element(destination, *to, false);
  if (at(Kind::threads) && !open_.back().points.empty()) destination.offsets[0] = open_.back().points[0];
  destination.offsets[1] = number(0);
  TILERT_CALL(tilert_builder_copy_async, b_, &source.region, &destination.region, wild_ ? in_.next() : std::max(1u, 32 / tilert_dtype_bits(dtype)));
}

}  // namespace tilert::fuzz
