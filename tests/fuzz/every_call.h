// Bytes as calls of every function of the builder, most of them sound: what is open and what was made is kept in mind, so that
// programs get deep. One call in sixteen may be anything. Inputs that begin with kEveryCall are read so.
// Not here: the calls that other inputs are (build_program.cpp), which never change, so that what they once found stays found.
#pragma once

#include <string>
#include <vector>

#include "fuzz/targets.h"
#include "tilert.h"

namespace tilert::fuzz {

inline constexpr char kEveryCall[] = "every call:";

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
  bool empty() const { return data_ == end_; }
  uint8_t next() { return empty() ? 0 : *data_++; }
  uint32_t below(uint32_t n) { return n ? next() % n : 0; }
  uint64_t wide() {
    uint64_t out = 0;
    for (int i = 0; i < 8; ++i) out = out << 8 | next();
    return out;
  }
  bool wild() { return next() >= 0xf8; }

 private:
  const uint8_t *data_, *end_;
};

// Ends building, and says of what comes out that it is whole.
void finish_and_check(tilert_builder* builder);

class EveryCall {
 public:
  explicit EveryCall(Bytes& in);
  ~EveryCall();
  void step();
  void finish();

 private:
  enum class Kind : uint8_t { kernel, parallel, loop, pipelined, head, branch, otherwise, threads };
  enum class Where : uint8_t { outside, block, element, threads, anywhere };
  struct Row {
    void (EveryCall::*make)();
    Where where;
  };
  struct Value {
    tilert_expr e;
    tilert_dtype dtype;
  };
  struct Stored {  // a tensor, or a tile or variable
    tilert_tensor tensor{};
    tilert_buffer buffer{};
    tilert_dtype dtype = 0;
    int32_t access = 0, scope = 0;  // the one that is not 0 says which
    std::vector<uint32_t> shape;    // 0: a dim
    bool table = false;
    bool reads() const { return access != TILERT_OUT; }
    bool writes() const { return access != TILERT_IN; }
    bool is_tile() const { return scope == TILERT_SHARED || scope == TILERT_FRAGMENT; }
  };
  struct Scope {
    Kind kind;
    size_t values, stored;
    std::vector<tilert_expr> points;  // of parallel and threads
    std::vector<uint32_t> extents;
  };
  struct Place {
    tilert_region region{};
    tilert_expr offsets[8], extents[8];
  };
  static const std::vector<Row>& rows();

  // every_call.cpp: declarations, values, kernels, control
  void dim();
  void tensor();
  void scalar();
  void tensor_view();
  void source_kernel();
  void kernel();
  void tile_cost();
  void place();
  void literal();
  void op();
  void cast();
  void number();
  void let();
  void random();
  void parallel();
  void serial();
  void pipelined();
  void while_loop();
  void branch();
  void jump();
  void grid_sync();
  void end();

  // every_call_tiles.cpp: storage, memory, operations on tiles, threads
  void buffer();
  void view();
  void layout();
  void load();
  void store();
  void atomic();
  void atomic_tile();
  void flag();
  void copy();
  void fill();
  void transpose();
  void gemm();
  void reduce();
  void scan();
  void sort();
  void combine();
  void gather();
  void scatter();
  void report();
  void source();
  void call_device(tilert_expr value, const tilert_region* place);
  void threads();
  void exchange();
  void barrier();
  void asynchronous();

  // every_call_async.cpp: barriers, tensor copies, issued products, roles
  void engine();
  void barriers();
  void at_barrier();
  void tensor_copy(bool loads);
  void roles();

  tilert_dtype dtype();
  tilert_dtype number_dtype();
  uint32_t size() { return kSizes[in_.below(sizeof kSizes / sizeof kSizes[0])]; }
  int32_t code(int32_t first, int32_t last);
  tilert_expr number(int64_t value);
  tilert_expr value(tilert_dtype dtype);
  tilert_expr index() { return value(TILERT_INDEX); }
  tilert_expr garbage();
  void keep(tilert_expr e);
  void keep(Stored s);
  template <class Fits>
  const Stored* pick(Fits fits);
  template <class Fits>
  Stored fresh(Fits fits, int32_t scope, tilert_dtype dtype, const std::vector<uint32_t>& shape);
  const tilert_expr* sizes(const std::vector<uint32_t>& shape);
  void region(Place& p, const Stored& s, const std::vector<uint32_t>& extents);
  bool element(Place& p, const Stored& s, bool own);
  Stored declare(int32_t scope, tilert_dtype dtype, std::vector<uint32_t> shape);
  std::vector<uint32_t> without(const std::vector<uint32_t>& shape, uint32_t dim) const;
  template <class T>
  const T* sized(T& options);

  bool at(Kind kind) const { return !open_.empty() && open_.back().kind == kind; }
  bool inside(Kind kind) const;
  static bool comes_by_thread(const Stored& s);
  bool in_element() const { return inside(Kind::parallel) || inside(Kind::threads); }
  bool allowed(Where where) const;
  void reach(Where where);
  void open(Kind kind, const tilert_expr* made, const std::vector<uint32_t>& extents);

  static constexpr uint32_t kSizes[] = {1, 2, 4, 8, 8, 16, 16, 3, 5, 32};
  Bytes& in_;
  bool wild_ = false;  // this call may be anything
  tilert_builder* b_ = nullptr;
  std::vector<Value> values_;
  std::vector<Stored> stored_;
  std::vector<tilert_dim> dims_;
  std::vector<tilert_tensor> counts_;  // tensors of which the first element may be a number of tiles
  std::vector<Scope> open_;
  std::vector<tilert_buffer> barriers_;        // of the open kernel
  bool fixed_ = false, persistent_ = false;  // of the kernel at hand
  bool costed_ = false;                       // a kernel of the program has a cost
  tilert_expr room_[9] = {};
  int names_ = 0;
};

// How often each function was called, and how often it did what it is for.
#define TILERT_CALL(function, ...)                                        \
  [&] {                                                                   \
    static ::tilert::fuzz::CallCount& of_call = ::tilert::fuzz::builder_calls()[#function]; \
    return ::tilert::fuzz::counted(of_call, function(__VA_ARGS__));        \
  }()

// Of those that return nothing to tell by.
#define TILERT_NOTE(function) ++builder_calls()[#function].calls, ++builder_calls()[#function].came_off

inline bool came_off(tilert_status status) { return status == TILERT_OK; }
template <class Id>
  requires requires(Id id) { id.serial; }
bool came_off(Id id) { return id.serial != 0; }
template <class T>
T counted(CallCount& count, T result) {
  ++count.calls;
  count.came_off += came_off(result);
  return result;
}

template <class Fits>
const EveryCall::Stored* EveryCall::pick(Fits fits) {
  std::vector<const Stored*> all;
  for (const Stored& s : stored_)
    if (fits(s)) all.push_back(&s);
  if (wild_ && in_.below(4) == 0)  // another, of as many dims as any operation looks at
    for (const Stored& s : stored_)
      if (s.shape.size() >= 2 && in_.below(2)) return &s;
  return all.empty() ? nullptr : all[in_.next() % all.size()];
}

// One that there is, or one that is made for it.
template <class Fits>
EveryCall::Stored EveryCall::fresh(Fits fits, int32_t scope, tilert_dtype dtype, const std::vector<uint32_t>& shape) {
  if (const Stored* const there = pick(fits); there && in_.below(4)) return *there;
  return declare(scope, dtype, shape);
}

template <class T>
const T* EveryCall::sized(T& options) {
  options.struct_size = wild_ && in_.below(2) ? static_cast<uint32_t>(in_.below(sizeof(T) + 1)) : sizeof(T);
  return wild_ && in_.below(2) ? nullptr : &options;
}

}  // namespace tilert::fuzz
