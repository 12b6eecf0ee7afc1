// Views, layouts and copies that repeat their source: what is refused, and in which words; what a view shares with its
// tile.
#include "misuse.h"

namespace tilert::builder {
namespace {

tilert_buffer view(Scene& k, tilert_buffer tile, tilert_dtype dtype, std::initializer_list<int64_t> shape) {
  std::vector<tilert_expr> sizes;
  for (int64_t n : shape) sizes.push_back(k.i(n));
  return k.b.view(tile, dtype, sizes.data(), static_cast<uint32_t>(sizes.size()));
}

tilert_tensor reshape(Scene& k, tilert_tensor tensor, std::initializer_list<tilert_expr> shape) {
  return k.b.tensor_reshape(tensor, shape.begin(), static_cast<uint32_t>(shape.size()));
}

class Views : public testing::TestWithParam<Row> {};
TEST_P(Views, AreRefusedInTheRightWords) { check_misuse(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    All, Views,
    testing::Values(
        Row{"bytes",
            {"s has 1024 bytes, [8, 64] of f32 has 2048: a view shows all of them"},
            [](Scene& k) {
              view(k, k.s, TILERT_F32, {8, 64});
            }},
        Row{"boolean", {"s (f16) as bool", "bytes are not bools"}, [](Scene& k) { view(k, k.s, TILERT_BOOL, {1024}); }},
        Row{"packed",
            {"(i4) as u8", "less than a byte", "copy it, which casts, or use a shared tile"},
            [](Scene& k) { view(k, k.tile(TILERT_FRAGMENT, TILERT_INT4, {8}), TILERT_UINT8, {4}); }},
        Row{"packed_bytes",
            {"has 4 bytes, [2, 4] of u8 has 8: a view shows all of them"},
            [](Scene& k) { view(k, k.tile(TILERT_SHARED, TILERT_INT4, {8}), TILERT_UINT8, {2, 4}); }},
        Row{"packed_rows",
            {"(u8) as i4", "rows of 3 i4 fill no whole bytes: give rows of a multiple of 2 elements"},
            [](Scene& k) { view(k, k.tile(TILERT_SHARED, TILERT_UINT8, {6}), TILERT_INT4, {4, 3}); }},
        Row{"packed_odd_rows",
            {"rows of", "have 2 bytes, which are no whole elements of u8: give a shape"},
            [](Scene& k) { k.b.view(k.tile(TILERT_SHARED, TILERT_INT4, {2, 3}), TILERT_UINT8, nullptr, 0); }},
        Row{"local",
            {"is a local array: views are of shared tiles and fragments"},
            [](Scene& k) {
              view(k, k.tile(TILERT_LOCAL, TILERT_F32, {8}), TILERT_F32, {2, 4});
            }},
        Row{"rows",
            {"rows of", "have 6 bytes, which are no whole elements of f32: give a shape"},
            [](Scene& k) {
              k.b.view(k.tile(TILERT_SHARED, TILERT_F16, {2, 3}), TILERT_F32, nullptr, 0);
            }},
        Row{"view_read_first",
            {"is read before anything was written to it"},
            [](Scene& k) {
              k.copy(k.at(view(k, k.tile(TILERT_SHARED, TILERT_F32, {64}), TILERT_F32, {8, 8})),
                     k.at(k.tile(TILERT_FRAGMENT, TILERT_F32, {8, 8})));
            }},
        Row{"reshape_elements",
            {"reshape of A: both shapes must be products of the same dims and number"},
            [](Scene& k) {
              reshape(k, k.A, {k.dv(k.N), k.i(32)});
            }},
        Row{"reshape_strided",
            {"A has strides of its own, or its dims have changed places"},
            [](Scene& k) {
              reshape(k, k.b.tensor_transpose(k.A, nullptr, 0), {k.i(64), k.dv(k.N)});
            }},
        Row{"transpose_order",
            {"transpose of A: the order does not name each of 2 dims once"},
            [](Scene& k) {
              const uint32_t twice[] = {1, 1};
              k.b.tensor_transpose(k.A, twice, 2);
            }},
        Row{"write_an_input",
            {"A is an input and cannot be written"},
            [](Scene& k) {
              k.copy(k.at(k.s), k.at(k.b.tensor_transpose(k.A, nullptr, 0), {k.i(0), k.i(0)}));
            }},
        Row{"product_into_its_operand",
            {"result and operand at once"},
            [](Scene& k) {
              auto square = k.tile(TILERT_FRAGMENT, TILERT_F32, {8, 8});
              k.clear(k.at(square));
              k.gemm(k.at(view(k, square, 0, {8, 8})), k.at(square), k.at(square));
            }},
        Row{"layout_of_a_fragment",
            {"f is no shared tile: only those have a layout in memory"},
            [](Scene& k) { k.b.annotate_layout(k.f, TILERT_LAYOUT_ROW_MAJOR, {}, 0); }},
        Row{"layout_of_a_view",
            {"is a view: the layout is that of s"},
            [](Scene& k) { k.b.annotate_layout(view(k, k.s, 0, {512}), TILERT_LAYOUT_ROW_MAJOR, {}, 0); }},
        Row{"layout_twice_one_place",
            {"s: element [1, 0] lies at 0, where another does"},
            [](Scene& k) {
              tilert_expr at[2];
              k.b.layout_indices(k.s, at);
              k.b.annotate_layout(k.s, TILERT_LAYOUT_CUSTOM, at[1], 0);
            }},
        Row{"layout_before_its_tile",
            {"s: element [0, 0] lies at -1: places are 0 to"},
            [](Scene& k) {
              tilert_expr at[2];
              k.b.layout_indices(k.s, at);
              const tilert_expr place =
                  k.op(TILERT_OP_SUB, {k.op(TILERT_OP_ADD, {k.op(TILERT_OP_MUL, {at[0], k.i(64)}), at[1]}), k.i(1)});
              k.b.annotate_layout(k.s, TILERT_LAYOUT_CUSTOM, place, 0);
            }},
        Row{"layout_without_a_place",
            {"a custom layout has an expression for the place of an element"},
            [](Scene& k) { k.b.annotate_layout(k.s, TILERT_LAYOUT_CUSTOM, {}, 0); }},
        Row{"repeat_by_an_engine",
            {"threads make a copy that repeats its source", "leave must out"},
            [](Scene& k) {
              tilert_copy_options o{};
              o.prefer = TILERT_COPY_TMA;
              o.flags = TILERT_COPY_MUST;
              k.copy(k.at(k.A, {k.i(0), k.i(0)}, {k.i(1), k.i(64)}), k.at(k.s), o);
            }},
        Row{"repeat_within_a_tile",
            {"a copy that repeats its source reads it while it writes: use another tile"},
            [](Scene& k) {
              k.copy(k.at(k.s, {k.i(0), k.i(0)}, {k.i(1), k.i(64)}), k.at(k.s));
            }}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Views, AViewIsWrittenWithItsTile) {
  Scene k;
  auto shared = k.tile(TILERT_SHARED, TILERT_F32, {64});
  auto shown = view(k, shared, TILERT_UINT32, {8, 8});
  k.clear(k.at(shared));
  EXPECT_EQ(k.copy(k.at(shown), k.at(k.tile(TILERT_FRAGMENT, TILERT_UINT32, {8, 8}))), Code::kOk) << k.message();
  auto again = view(k, shown, TILERT_F16, {128});
  EXPECT_EQ(k.clear(k.at(again)), Code::kOk) << k.message();
}

TEST(Views, ACopyRepeatsDimsOfOneAndThoseThatItLacksInFront) {
  Scene k;
  auto row = k.tile(TILERT_FRAGMENT, TILERT_F32, {64});
  auto column = k.tile(TILERT_FRAGMENT, TILERT_F32, {8, 1});
  k.clear(k.at(row));
  k.clear(k.at(column));
  EXPECT_EQ(k.copy(k.at(row), k.at(k.f)), Code::kOk) << k.message();
  EXPECT_EQ(k.copy(k.at(column), k.at(k.f)), Code::kOk) << k.message();
  EXPECT_NE(k.copy(k.at(k.f), k.at(row)), Code::kOk);
}

}  // namespace
}  // namespace tilert::builder
