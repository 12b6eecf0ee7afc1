// tl::Builder: tile programs from C++. Use through tilert.hpp.
#ifndef TILERT_BUILDER_HPP_
#define TILERT_BUILDER_HPP_

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "tilert/functions.hpp"
#include "tilert/host.hpp"
#include "tilert/options.hpp"
#include "tilert/values.hpp"

namespace tl {

// Builds one program. The first error sticks and is reported by finish; no call before it throws.
class Builder : public detail::FunctionCalls {
 public:
  explicit Builder(const char* name = nullptr) : created_(tilert_builder_create(name, &raw_)) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder() { tilert_builder_release(raw_); }

  tilert_builder* get() const { return raw_; }
  // Names the next operation or declaration in messages.
  Builder& label(const char* text) { return label_ = text, *this; }

  Result<Program> try_finish(Here here = Here::at()) {
    at(here);
    tilert_program* program = nullptr;
    tilert_error* error = nullptr;
    if (!raw_) return Error(created_, error);
    return detail::result<Program>(tilert_builder_finish(raw_, &program, &error), program, error);
  }
#if TL_EXCEPTIONS
  Program finish(Here here = Here::at()) { return try_finish(here).value(); }
#endif

  // Declarations
  Dim dim(const char* name, const DimOptions& options = {}, Here here = Here::at()) {
    at(here);
    tilert_dim_options o{};
    o.struct_size = sizeof o;
    o.bucket_count = static_cast<uint32_t>(options.buckets_.size());
    o.buckets = o.bucket_count ? options.buckets_.data() : nullptr;
    o.divisible = options.divisible_;
    const tilert_dim id = tilert_builder_dim(raw_, name, &o);
    return Dim(Expr(raw_, tilert_builder_dim_value(raw_, id)), dims_++);
  }
  Tile tensor(const char* name, tilert_access access, DType dtype, std::initializer_list<Expr> shape,
              const TensorOptions& options = {}, Here here = Here::at()) {
    at(here);
    const Ids sizes(raw_, shape.begin(), shape.size()), strides(raw_, options.strides_.data(), options.strides_.size());
    tilert_tensor_options o{};
    o.struct_size = sizeof o;
    o.flags = options.flags_;
    o.alignment = options.alignment_;
    o.strides = strides.data();
    o.stride_count = strides.size();
    return Tile(
        raw_, {},
        tilert_builder_tensor(raw_, name, access, static_cast<tilert_dtype>(dtype), sizes.data(), sizes.size(), &o));
  }
  Tile input(const char* name, DType dtype, std::initializer_list<Expr> shape, const TensorOptions& options = {},
             Here here = Here::at()) {
    return tensor(name, TILERT_IN, dtype, shape, options, here);
  }
  Tile output(const char* name, DType dtype, std::initializer_list<Expr> shape, const TensorOptions& options = {},
              Here here = Here::at()) {
    return tensor(name, TILERT_OUT, dtype, shape, options, here);
  }
  Tile inout(const char* name, DType dtype, std::initializer_list<Expr> shape, const TensorOptions& options = {},
             Here here = Here::at()) {
    return tensor(name, TILERT_INOUT, dtype, shape, options, here);
  }
  Expr scalar(const char* name, DType dtype, Here here = Here::at()) {
    at(here);
    return {raw_,
            tilert_builder_scalar_value(raw_, tilert_builder_scalar(raw_, name, static_cast<tilert_dtype>(dtype)))};
  }
  Expr constant(DType dtype, const Expr& number, Here here = Here::at()) {
    at(here);
    return {raw_, tilert_builder_cast(raw_, static_cast<tilert_dtype>(dtype), number.in(raw_), 0)};
  }

  // A kernel of one to three grid extents; f takes as many block indices.
  template <size_t N, class F>
  void grid(const Expr (&extents)[N], const Hints& hints, F&& f, Here here = Here::at()) {
    at(here);
    const Ids ids(raw_, extents, N);
    tilert_grid g{};
    g.struct_size = sizeof g;
    g.rank = N;
    g.extents = ids.data();
    g.flags = hints.flags;
    g.tile_count = hints.tile_count;
    g.hint_count = static_cast<uint32_t>(hints.list.size());
    g.hints = g.hint_count ? hints.list.data() : nullptr;
    tilert_expr block[N] = {};
    tilert_builder_begin_kernel(raw_, &g, block);
    call(f, block, std::make_index_sequence<N>());
    tilert_builder_end_kernel(raw_);
  }
  template <size_t N, class F>
  void grid(const Expr (&extents)[N], F&& f, Here here = Here::at()) {
    grid(extents, Hints(), std::forward<F>(f), here);
  }
  void source_kernel(tilert_source_kernel kernel, std::initializer_list<Expr> grid, std::initializer_list<Expr> block,
                     Here here = Here::at()) {
    at(here);
    const Ids g(raw_, grid.begin(), grid.size());
    std::vector<Expr> threads(block);
    if (!threads.empty()) threads.resize(3, Expr(1));
    const Ids t(raw_, threads.data(), threads.size());
    kernel.struct_size = sizeof kernel;
    kernel.grid_rank = g.size();
    kernel.grid = g.data();
    kernel.block = t.data();
    tilert_builder_source_kernel(raw_, &kernel);
  }

  // Storage
  Tile shared(DType dtype, std::initializer_list<Expr> shape, const char* name = nullptr, Here here = Here::at()) {
    return Tile(raw_, storage(TILERT_SHARED, dtype, shape, name, here), {});
  }
  Tile fragment(DType dtype, std::initializer_list<Expr> shape, const char* name = nullptr, Here here = Here::at()) {
    return Tile(raw_, storage(TILERT_FRAGMENT, dtype, shape, name, here), {});
  }
  Tile local(DType dtype, std::initializer_list<Expr> shape, const char* name = nullptr, Here here = Here::at()) {
    return Tile(raw_, storage(TILERT_LOCAL, dtype, shape, name, here), {});
  }
  Var var(DType dtype, const char* name = nullptr, Here here = Here::at()) {
    return Var(raw_, storage(TILERT_VAR, dtype, {}, name, here), {}, {}, here);
  }

  // Tile operations
  void copy(const Region& source, const Region& destination, const CopyOptions& options = {}, Here here = Here::at()) {
    at(here);
    const Region::Raw from(source), to(destination);
    const Ids valid(raw_, options.valid_.data(), options.valid_.size());
    tilert_copy_options o{};
    o.struct_size = sizeof o;
    o.flags = options.flags_;
    o.valid = valid.data();
    o.valid_count = valid.size();
    o.prefer = options.prefer_;
    if (options.has_safe) o.safe_value = options.safe_.in(raw_);
    o.eviction = options.eviction_, o.multicast = options.multicast_;
    tilert_builder_copy(raw_, &from.region, &to.region, &o);
  }
  void fill(const Region& destination, const Expr& value, Here here = Here::at()) {
    at(here);
    const Region::Raw to(destination);
    tilert_builder_fill(raw_, &to.region, value.in(raw_));
  }
  void clear(const Region& destination, Here here = Here::at()) {
    at(here);
    const Region::Raw to(destination);
    tilert_builder_clear(raw_, &to.region);
  }
  void gemm(const Region& a, const Region& b, const Region& c, const GemmOptions& options = {}, Here here = Here::at()) {
    at(here);
    const Region::Raw x(a), y(b), z(c);
    const GemmOptions::Raw raw(options, raw_);
    tilert_builder_gemm(raw_, &x.region, &y.region, &z.region, &raw.options);
  }
  void reduce(ReduceOp op, const Region& source, const Region& destination, uint32_t dim,
              ReduceFlag flag = ReduceFlag::none, Here here = Here::at()) {
    at(here);
    const Region::Raw from(source), to(destination);
    tilert_reduce_options o{};
    o.struct_size = sizeof o;
    o.flags = static_cast<uint32_t>(flag);
    tilert_builder_reduce(raw_, op.op, &from.region, &to.region, dim, &o);
  }

  // Beginnings combined: scan(tl::sum, x, y, 1, tl::reverse | tl::exclusive).
  void scan(ReduceOp op, const Region& source, const Region& destination, uint32_t dim, ScanFlag flag = ScanFlag::none,
            Here here = Here::at()) {
    at(here);
    const Region::Raw from(source), to(destination);
    tilert_scan_options o{};
    o.struct_size = sizeof o;
    o.flags = static_cast<uint32_t>(flag);
    tilert_builder_scan(raw_, op.op, &from.region, &to.region, dim, &o);
  }
  // In order along dim, as many as the destination has there. With places: where they stood.
  void sort(const Region& source, const Region& destination, uint32_t dim, SortFlag flag = SortFlag::none, Here here = Here::at()) {
    order(source, destination, nullptr, dim, flag, here);
  }
  void sort(const Region& source, const Region& destination, const Region& places, uint32_t dim, SortFlag flag = SortFlag::none,
            Here here = Here::at()) {
    order(source, destination, &places, dim, flag, here);
  }
  // The greatest elements along dim, as many as the destination has there.
  void top_k(const Region& source, const Region& destination, const Region& places, uint32_t dim, Here here = Here::at()) {
    order(source, destination, &places, dim, descending, here);
  }
  // A reduction by an operation of one's own over tuples: f(left, right), arrays of values, returns the array that they make.
  template <size_t N, class F>
  void combine(const Region (&sources)[N], const Region (&destinations)[N], uint32_t dim, const Expr (&identities)[N], F&& f,
               ReduceFlag flag = ReduceFlag::none, Here here = Here::at()) {
    combination(sources, destinations, dim, identities, f, static_cast<uint32_t>(flag) ? uint32_t{TILERT_COMBINE_ACCUMULATE} : 0, here);
  }
  // The same as a scan.
  template <size_t N, class F>
  void combine_scan(const Region (&sources)[N], const Region (&destinations)[N], uint32_t dim, const Expr (&identities)[N], F&& f,
                    ScanFlag flag = ScanFlag::none, Here here = Here::at()) {
    uint32_t flags = TILERT_COMBINE_SCAN;
    if (static_cast<uint32_t>(flag) & TILERT_SCAN_REVERSE) flags |= TILERT_COMBINE_REVERSE;
    if (static_cast<uint32_t>(flag) & TILERT_SCAN_EXCLUSIVE) flags |= TILERT_COMBINE_EXCLUSIVE;
    combination(sources, destinations, dim, identities, f, flags, here);
  }

  // Control
  template <size_t N, class F>
  void parallel(const Expr (&extents)[N], F&& f, Here here = Here::at()) {
    at(here);
    const Ids ids(raw_, extents, N);
    tilert_expr indices[N] = {};
    tilert_builder_begin_parallel(raw_, ids.data(), N, indices);
    call(f, indices, std::make_index_sequence<N>());
    tilert_builder_end_parallel(raw_);
  }
  template <class F>
  void serial(const Expr& begin, const Expr& end, const Expr& step, F&& f, Here here = Here::at()) {
    loop(TILERT_LOOP_SERIAL, begin, end, step, f, here);
  }
  template <class F>
  void serial(const Expr& extent, F&& f, Here here = Here::at()) {
    loop(TILERT_LOOP_SERIAL, 0, extent, 1, f, here);
  }
  template <class F>
  void unroll(const Expr& extent, F&& f, Here here = Here::at()) {
    loop(TILERT_LOOP_UNROLL, 0, extent, 1, f, here);
  }
  template <class F>
  void pipelined(const Expr& extent, Stages stages, F&& f, Here here = Here::at()) {
    at(here);
    tilert_expr i = {};
    tilert_builder_begin_pipelined(raw_, extent.in(raw_), stages.count, &i);
    f(Expr(raw_, i));
    tilert_builder_end_pipelined(raw_);
  }
  template <class F>
  void pipelined(const Expr& extent, F&& f, Here here = Here::at()) {
    pipelined(extent, Stages{}, std::forward<F>(f), here);
  }
  // condition() is evaluated before each trip.
  template <class C, class F>
  void while_(C&& condition, F&& body, Here here = Here::at()) {
    at(here);
    tilert_builder_begin_while(raw_);
    const Expr test = condition();
    tilert_builder_begin_while_body(raw_, test.in(raw_));
    body();
    tilert_builder_end_while(raw_);
  }
  void break_(Here here = Here::at()) {
    at(here);
    tilert_builder_break(raw_);
  }
  void continue_(Here here = Here::at()) {
    at(here);
    tilert_builder_continue(raw_);
  }
  void return_(Here here = Here::at()) {
    at(here);
    tilert_builder_return(raw_);
  }
  template <class F>
  void if_(const Expr& condition, F&& then, Here here = Here::at()) {
    at(here);
    tilert_builder_begin_if(raw_, condition.in(raw_));
    then();
    tilert_builder_end_if(raw_);
  }
  template <class F, class G, class = decltype(std::declval<G>()())>
  void if_(const Expr& condition, F&& then, G&& otherwise, Here here = Here::at()) {
    at(here);
    tilert_builder_begin_if(raw_, condition.in(raw_));
    then();
    tilert_builder_begin_else(raw_);
    otherwise();
    tilert_builder_end_if(raw_);
  }
  Expr let(const Expr& value, Here here = Here::at()) {
    at(here);
    return {raw_, tilert_builder_let(raw_, value.in(raw_))};
  }
  // $0, $1, ... in the text are the places, then the values.
  void inline_source(const char* language, const char* text, const std::vector<Region>& places,
                     const std::vector<Expr>& values = {}, Here here = Here::at()) {
    at(here);
    std::vector<std::unique_ptr<Region::Raw>> raw;
    std::vector<tilert_region> regions;
    for (const Region& place : places) {
      raw.emplace_back(new Region::Raw(place));
      regions.push_back(raw.back()->region);
    }
    const Ids ids(raw_, values.data(), values.size());
    tilert_inline_source source{};
    source.struct_size = sizeof source;
    source.language = language;
    source.text = text;
    source.places = regions.data();
    source.place_count = static_cast<uint32_t>(regions.size());
    source.values = ids.data();
    source.value_count = ids.size();
    tilert_builder_inline_source(raw_, &source);
  }

 private:
  // Ids of a list of values in this builder.
  class Ids {
   public:
    Ids(tilert_builder* builder, const Expr* values, size_t count) {
      for (size_t i = 0; i < count; ++i) list_.push_back(values[i].in(builder));
    }
    const tilert_expr* data() const { return list_.empty() ? nullptr : list_.data(); }
    uint32_t size() const { return static_cast<uint32_t>(list_.size()); }

   private:
    std::vector<tilert_expr> list_;
  };

  template <class F, size_t N, size_t... I>
  void call(F& f, const tilert_expr (&ids)[N], std::index_sequence<I...>) {
    f(Expr(raw_, ids[I])...);
  }
  tilert_buffer storage(tilert_scope scope, DType dtype, std::initializer_list<Expr> shape, const char* name,
                        Here here) {
    at(here);
    const Ids sizes(raw_, shape.begin(), shape.size());
    tilert_buffer_options o{};
    o.struct_size = sizeof o;
    o.name = name;
    return tilert_builder_buffer(raw_, scope, static_cast<tilert_dtype>(dtype), sizes.data(), sizes.size(), &o);
  }
  void order(const Region& source, const Region& destination, const Region* places, uint32_t dim, SortFlag flag, Here here) {
    at(here);
    const Region::Raw from(source), to(destination);
    tilert_sort_options o{};
    o.struct_size = sizeof o;
    o.flags = static_cast<uint32_t>(flag);
    if (!places) {
      tilert_builder_sort(raw_, &from.region, &to.region, nullptr, dim, &o);
      return;
    }
    const Region::Raw stood(*places);
    tilert_builder_sort(raw_, &from.region, &to.region, &stood.region, dim, &o);
  }
  template <size_t N, class F>
  void combination(const Region (&sources)[N], const Region (&destinations)[N], uint32_t dim, const Expr (&identities)[N], F& f,
                   uint32_t flags, Here here) {
    at(here);
    combine_all(sources, destinations, dim, identities, f, flags, std::make_index_sequence<N>());
  }
  template <size_t N, class F, size_t... I>
  void combine_all(const Region (&sources)[N], const Region (&destinations)[N], uint32_t dim, const Expr (&identities)[N], F& f,
                   uint32_t flags, std::index_sequence<I...>) {
    const Region::Raw from[N] = {Region::Raw(sources[I])...}, to[N] = {Region::Raw(destinations[I])...};
    const tilert_region inputs[N] = {from[I].region...}, outputs[N] = {to[I].region...};
    const Ids starts(raw_, identities, N);
    tilert_combine c{};
    c.struct_size = sizeof c;
    c.count = N;
    c.sources = inputs;
    c.destinations = outputs;
    c.identities = starts.data();
    c.dim = dim;
    c.flags = flags;
    tilert_expr left[N] = {}, right[N] = {};
    tilert_builder_begin_combine(raw_, &c, left, right);
    const std::array<Expr, N> made = f(std::array<Expr, N>{Expr(raw_, left[I])...}, std::array<Expr, N>{Expr(raw_, right[I])...});
    const Ids results(raw_, made.data(), N);
    tilert_builder_end_combine(raw_, results.data(), N);
  }
  template <class F>
  void loop(tilert_loop kind, const Expr& begin, const Expr& end, const Expr& step, F& f, Here here) {
    at(here);
    tilert_expr i = {};
    tilert_builder_begin_serial(raw_, kind, begin.in(raw_), end.in(raw_), step.in(raw_), &i);
    f(Expr(raw_, i));
    tilert_builder_end_serial(raw_);
  }

  tilert_status created_ = TILERT_OK;  // why there is no builder, where there is none
  uint32_t dims_ = 0;
};

}  // namespace tl

#endif  // TILERT_BUILDER_HPP_
