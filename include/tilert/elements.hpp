// The builder's calls on elements that an index or a draw picks: atomic operations, gather, scatter, transposing copies, random
// numbers; and where the blocks of a grid meet; and on what a reader is told: print and assert_. tl::Builder is one of these. Use through tilert.hpp.
#ifndef TILERT_ELEMENTS_HPP_
#define TILERT_ELEMENTS_HPP_

#include <array>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "tilert/options.hpp"
#include "tilert/values.hpp"

namespace tl {
// The text that print and assert_ start with, and the place of the call.
struct Message {
  const char* text;
  Here here;
  Message(const char* t, Here h = Here::at()) : text(t), here(h) {}
};

namespace detail {

class ElementCalls {
 public:
  // Diagnostics: print("x = ", x, " at ", i); print("t", t) for each element of a tile; assert_(x < n, "x is ", x).
  template <class... Parts>
  void print(Message message, const Parts&... parts) {
    if constexpr (sizeof...(Parts) == 1 && (is_region<Parts> && ...)) {
      if ((!parts.is_place() && ...)) return print_tile(message, parts...);
    }
    const Text text(raw_, message.text, parts...);  // its reads have places of their own
    at(message.here);
    tilert_builder_print(raw_, text.words.c_str(), text.ids, text.count);
  }
  template <class... Parts>
  void assert_(const Expr& condition, Message message, const Parts&... parts) {
    const Text text(raw_, message.text, parts...);
    at(message.here);
    tilert_builder_assert(raw_, condition.in(raw_), text.words.c_str(), text.ids, text.count);
  }

  // Four random values; another counter or stream is another draw. Bits are uint32, uniform ones f32 in [0, 1).
  std::array<Expr, 4> random_bits(const Expr& seed, const Expr& counter, const Expr& stream = 0, Here here = Here::at()) {
    return random(TILERT_RANDOM_BITS, seed, counter, stream, here);
  }
  std::array<Expr, 4> random_uniform(const Expr& seed, const Expr& counter, const Expr& stream = 0, Here here = Here::at()) {
    return random(TILERT_RANDOM_UNIFORM, seed, counter, stream, here);
  }
  std::array<Expr, 4> random_normal(const Expr& seed, const Expr& counter, const Expr& stream = 0, Here here = Here::at()) {
    return random(TILERT_RANDOM_NORMAL, seed, counter, stream, here);
  }

  // All blocks of the grid come here before any goes on.
  void grid_sync(Here here = Here::at()) {
    at(here);
    tilert_builder_grid_sync(raw_);
  }

  // What a tile of a persistent kernel takes, and the group of tiles that it wants to be near: for planned schedules.
  void tile_cost(const Expr& cost, Here here = Here::at()) {
    at(here);
    tilert_builder_tile_cost(raw_, cost.in(raw_), {});
  }
  void tile_cost(const Expr& cost, const Expr& locality, Here here = Here::at()) {
    at(here);
    tilert_builder_tile_cost(raw_, cost.in(raw_), locality.in(raw_));
  }

  // destination's dims with dim `dim` of the table replaced by those of the indices; an index out of range gives 0.
  void gather(const Region& table, const Region& indices, const Region& destination, uint32_t dim = 0, Here here = Here::at()) {
    at(here);
    const Region::Raw from(table), where(indices), to(destination);
    tilert_builder_gather(raw_, &from.region, &where.region, &to.region, dim);
  }
  // An index out of range is dropped. op: 0 stores, else an atomic operation combines.
  void scatter(const Region& source, const Region& indices, const Region& destination, uint32_t dim = 0, tilert_atomic_op op = 0,
               Here here = Here::at()) {
    at(here);
    const Region::Raw from(source), where(indices), to(destination);
    tilert_scatter_options o{};
    o.struct_size = sizeof o;
    o.op = op;
    tilert_builder_scatter(raw_, &from.region, &where.region, &to.region, dim, &o);
  }
  // Dim d of the destination is dim order[d] of the source; none given: the two last change places.
  void transpose(const Region& source, const Region& destination, std::initializer_list<uint32_t> order = {}, Here here = Here::at()) {
    at(here);
    const Region::Raw from(source), to(destination);
    tilert_builder_transpose(raw_, &from.region, &to.region, order.size() ? order.begin() : nullptr,
                             static_cast<uint32_t>(order.size()));
  }

  // Views: another shape or element type of a tile's bytes, another shape or order of the dims of a parameter. The same memory.
  Tile view(const Tile& tile, DType dtype, std::initializer_list<Expr> shape = {}, Here here = Here::at()) {
    at(here);
    const Shape sizes(raw_, shape);
    return Tile(raw_, tilert_builder_view(raw_, tile.buffer(), static_cast<tilert_dtype>(dtype), sizes.data(), sizes.count), {});
  }
  Tile reshape(const Tile& tile, std::initializer_list<Expr> shape, Here here = Here::at()) {
    at(here);
    const Shape sizes(raw_, shape);
    if (tile.buffer().serial) return Tile(raw_, tilert_builder_view(raw_, tile.buffer(), 0, sizes.data(), sizes.count), {});
    return Tile(raw_, {}, tilert_builder_tensor_reshape(raw_, tile.tensor(), sizes.data(), sizes.count));
  }
  // Dim d is dim order[d] of the parameter; none given: the two last change places.
  Tile transposed(const Tile& parameter, std::initializer_list<uint32_t> order = {}, Here here = Here::at()) {
    at(here);
    return Tile(raw_, {}, tilert_builder_tensor_transpose(raw_, parameter.tensor(), order.size() ? order.begin() : nullptr,
                                                          static_cast<uint32_t>(order.size())));
  }

  // Where a shared tile's elements shall lie; or, by f(indices...), the place of an element, counted in elements. A hint.
  void annotate_layout(const Tile& tile, Layout layout, Must must = {}, Here here = Here::at()) {
    at(here);
    tilert_builder_annotate_layout(raw_, tile.buffer(), static_cast<tilert_layout>(layout), {}, must.flag);
  }
  template <size_t Rank, class F>
  void annotate_layout(const Tile& tile, F&& f, Must must = {}, Here here = Here::at()) {
    at(here);
    tilert_expr indices[8] = {};
    tilert_builder_layout_indices(raw_, tile.buffer(), indices);
    const Expr place = placed(f, indices, std::make_index_sequence<Rank>());
    tilert_builder_annotate_layout(raw_, tile.buffer(), TILERT_LAYOUT_CUSTOM, place.in(raw_), must.flag);
  }

  // Atomic operations: op(place, value), or op(region, region) element by element. fetch_ and exchange, cas give the old value.
#define TL_ATOMIC(name, fetch_name, OP)                                                                                       \
  void name(const Region& place, const Expr& value, Order order = {}, Here here = Here::at()) {          \
    atomic(TILERT_ATOMIC_##OP, place, value, order, here);                                                        \
  }                                                                                                               \
  void name(const Region& destination, const Region& source, Order order = {}, Here here = Here::at()) { \
    if (destination.is_place() && source.is_place())                                                              \
      return atomic(TILERT_ATOMIC_##OP, destination, Expr(source), order, here);                                  \
    at(here);                                                                                                     \
    const Region::Raw to(destination), from(source);                                                              \
    const tilert_atomic_options o = atomic_options(order);                                                        \
    tilert_builder_atomic_tile(raw_, TILERT_ATOMIC_##OP, &to.region, &from.region, &o);                           \
  }                                                                                                               \
  void name(const Region& place, const Var& value, Order order = {}, Here here = Here::at()) {           \
    atomic(TILERT_ATOMIC_##OP, place, Expr(value), order, here);                                                  \
  }                                                                                                               \
  Expr fetch_name(const Region& place, const Expr& value, Order order = {}, Here here = Here::at()) {           \
    return fetch(TILERT_ATOMIC_##OP, place, value, order, here);                                                  \
  }
  TL_ATOMIC(atomic_add, fetch_add, ADD)
  TL_ATOMIC(atomic_max, fetch_max, MAX)
  TL_ATOMIC(atomic_min, fetch_min, MIN)
  TL_ATOMIC(atomic_and, fetch_and, AND)
  TL_ATOMIC(atomic_or, fetch_or, OR)
  TL_ATOMIC(atomic_xor, fetch_xor, XOR)
#undef TL_ATOMIC
  Expr exchange(const Region& place, const Expr& value, Order order = {}, Here here = Here::at()) {
    return fetch(TILERT_ATOMIC_EXCHANGE, place, value, order, here);
  }
  Expr cas(const Region& place, const Expr& expected, const Expr& value, Order order = {}, Here here = Here::at()) {
    return fetch(TILERT_ATOMIC_CAS, place, value, order, here, &expected);
  }
  // Flags between blocks.
  Expr load_acquire(const Region& place, Order order = acquire, Here here = Here::at()) {
    at(here);
    const Region::Raw from(place);
    const tilert_atomic_options o = atomic_options(order);
    return {raw_, tilert_builder_atomic_load(raw_, &from.region, &o)};
  }
  void store_release(const Region& place, const Expr& value, Order order = release, Here here = Here::at()) {
    at(here);
    const Region::Raw to(place);
    const tilert_atomic_options o = atomic_options(order);
    tilert_builder_atomic_store(raw_, &to.region, value.in(raw_), &o);
  }

 protected:
  void at(const Here& here) {
    tilert_builder_at(raw_, here.file, here.line, label_);
    label_ = nullptr;
  }

  tilert_builder* raw_ = nullptr;
  const char* label_ = nullptr;

 private:
  template <class T>
  static constexpr bool is_region = std::is_base_of<Region, T>::value && !std::is_same<Var, T>::value;

  // Words and values in the form of tilert_builder_print.
  struct Text {
    std::string words;
    tilert_expr ids[TILERT_MAX_REPORTED + 1] = {};
    uint32_t count = 0;
    template <class... Parts>
    Text(tilert_builder* builder, const char* first, const Parts&... parts) : builder_(builder) {
      add(first);
      (add(parts), ...);
    }

   private:
    void add(const char* text) {
      for (; *text; ++text) words.append(*text == '{' || *text == '}' ? 2 : 1, *text);
    }
    void add(const Expr& value) {
      words += "{}";
      if (count <= TILERT_MAX_REPORTED) ids[count++] = value.in(builder_);
    }
    tilert_builder* builder_;
  };
  void print_tile(const Message& message, const Region& region) {
    const Region::Raw tile(region);
    at(message.here);
    tilert_builder_print_tile(raw_, message.text, &tile.region);
  }

  std::array<Expr, 4> random(tilert_random form, const Expr& seed, const Expr& counter, const Expr& stream, const Here& here) {
    at(here);
    tilert_expr values[4] = {};
    tilert_builder_random(raw_, form, seed.in(raw_), counter.in(raw_), stream.in(raw_), values);
    return {Expr(raw_, values[0]), Expr(raw_, values[1]), Expr(raw_, values[2]), Expr(raw_, values[3])};
  }
  template <class F, size_t... I>
  Expr placed(F& f, const tilert_expr* indices, std::index_sequence<I...>) {
    return f(Expr(raw_, indices[I])...);
  }
  struct Shape {
    Shape(tilert_builder* builder, std::initializer_list<Expr> sizes) : count(static_cast<uint32_t>(sizes.size())) {
      uint32_t d = 0;
      for (const Expr& e : sizes)
        if (d < 8) ids[d++] = e.in(builder);
    }
    const tilert_expr* data() const { return count ? ids : nullptr; }
    tilert_expr ids[8] = {};
    uint32_t count;
  };
  static tilert_atomic_options atomic_options(Order order) {
    tilert_atomic_options o{};
    o.struct_size = sizeof o;
    o.order = order.order;
    o.scope = order.scope;
    return o;
  }
  void atomic(tilert_atomic_op op, const Region& place, const Expr& value, Order order, const Here& here) {
    at(here);
    const Region::Raw to(place);
    const tilert_atomic_options o = atomic_options(order);
    tilert_builder_atomic(raw_, op, &to.region, value.in(raw_), &o, nullptr);
  }
  Expr fetch(tilert_atomic_op op, const Region& place, const Expr& value, Order order, const Here& here,
             const Expr* expected = nullptr) {
    at(here);
    const Region::Raw to(place);
    tilert_atomic_options o = atomic_options(order);
    if (expected) o.expected = expected->in(raw_);
    tilert_expr old = {};
    tilert_builder_atomic(raw_, op, &to.region, value.in(raw_), &o, &old);
    return {raw_, old};
  }
};

}  // namespace detail
}  // namespace tl

#endif  // TILERT_ELEMENTS_HPP_
