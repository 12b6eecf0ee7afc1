// Misuse of sparse and scaled products: each an error whose message names what is wrong and what is right.
#include "misuse.h"

namespace tilert::builder {
namespace {

class MisusedProduct : public testing::TestWithParam<Row> {};
TEST_P(MisusedProduct, SaysWhatIsWrongAndWhatIsRight) { check_misuse(GetParam()); }

// a [8, kept] by b [32, 16] into c [8, 16], with metadata e.
void sparse(Scene& k, tilert_scope scope, tilert_dtype dtype, std::initializer_list<int64_t> shape, int64_t kept, uint32_t flags = 0) {
  auto a = k.tile(TILERT_SHARED, TILERT_F16, {8, kept}, "a"), b = k.tile(TILERT_SHARED, TILERT_F16, {32, 16}, "b");
  auto c = k.tile(TILERT_FRAGMENT, TILERT_F32, {8, 16}, "c"), e = k.tile(scope, dtype, shape, "e");
  for (auto tile : {a, b, c, e}) k.clear(k.at(tile));
  const tilert_region x = k.at(a), y = k.at(b), z = k.at(c), metadata = k.at(e);
  tilert_gemm_options options{};
  options.flags = flags;
  options.metadata = &metadata;
  k.b.gemm(&x, &y, &z, options);
}

INSTANTIATE_TEST_SUITE_P(
    Sparse, MisusedProduct,
    testing::Values(
                    Row{"gemm_metadata_dtype",
                        {"the metadata (e) is i16: it is uint8, uint16 or uint32"},
                        [](Scene& k) { sparse(k, TILERT_SHARED, TILERT_INT16, {8, 2}, 16); }},
                    Row{"gemm_metadata_shape",
                        {"the metadata (e) is 8 x 4: of a sparse 8 x 32 operand it is 8 x 2 in u16"},
                        [](Scene& k) { sparse(k, TILERT_SHARED, TILERT_UINT16, {8, 4}, 16); }},
                    Row{"gemm_metadata_local",
                        {"the metadata (e) is neither shared nor a fragment"},
                        [](Scene& k) { sparse(k, TILERT_LOCAL, TILERT_UINT16, {8, 2}, 16); }},
                    Row{"gemm_metadata_vector",
                        {"the metadata e has shape [8]: a matrix has two dims"},
                        [](Scene& k) { sparse(k, TILERT_SHARED, TILERT_UINT16, {8}, 16); }},
                    Row{"gemm_sparse_odd",
                        {"sparse operand a keeps 15 elements of a row: two of each four, so an even number"},
                        [](Scene& k) { sparse(k, TILERT_SHARED, TILERT_UINT16, {8, 2}, 15); }},
                    Row{"gemm_sparse_transposed",
                        {"sparse operand a is transposed: keep its rows along K, and leave trans_a out"},
                        [](Scene& k) { sparse(k, TILERT_SHARED, TILERT_UINT16, {8, 2}, 16, TILERT_GEMM_TRANS_A); }},
                    Row{"gemm_sparse_issued",
                        {"sparse and scaled products are waited for where they stand: leave the flag issue out"},
                        [](Scene& k) { sparse(k, TILERT_SHARED, TILERT_UINT16, {8, 2}, 16, TILERT_GEMM_ISSUE); }},
                    Row{"gemm_sparse_depth",
                        {"a is 8 x 40 (sparse), b is 32 x 16", "are trans_a, trans_b right?"},
                        [](Scene& k) { sparse(k, TILERT_SHARED, TILERT_UINT16, {8, 3}, 20); }}),
    [](const auto& info) { return std::string(info.param.name); });

// a [8, 32] by b [32, 16] into c [8, 16], with scales e of a.
void scaled(Scene& k, tilert_dtype operands, tilert_dtype sums, tilert_dtype dtype, std::initializer_list<int64_t> shape) {
  auto a = k.tile(TILERT_SHARED, operands, {8, 32}, "a"), b = k.tile(TILERT_SHARED, operands, {32, 16}, "b");
  auto c = k.tile(TILERT_FRAGMENT, sums, {8, 16}, "c"), e = k.tile(TILERT_SHARED, dtype, shape, "e");
  for (auto tile : {a, b, c, e}) k.clear(k.at(tile));
  const tilert_region x = k.at(a), y = k.at(b), z = k.at(c), scales = k.at(e);
  tilert_gemm_options options{};
  options.a_scale = &scales;
  k.b.gemm(&x, &y, &z, options);
}

INSTANTIATE_TEST_SUITE_P(
    Scaled, MisusedProduct,
    testing::Values(
                    Row{"gemm_scaled_sums",
                        {"C (c) is f64: sums of scaled blocks are f32"},
                        [](Scene& k) { scaled(k, TILERT_F64, TILERT_F64, TILERT_F32, {1, 1}); }},
                    Row{"gemm_scales_dtype",
                        {"the scales of A (e) are i32: they are floats of at most 32 bits"},
                        [](Scene& k) { scaled(k, TILERT_F16, TILERT_F32, TILERT_INT32, {1, 1}); }},
                    Row{"gemm_scales_wide",
                        {"the scales of A (e) are f64: they are floats of at most 32 bits"},
                        [](Scene& k) { scaled(k, TILERT_F16, TILERT_F32, TILERT_F64, {1, 1}); }},
                    Row{"gemm_scales_shape",
                        {"the scales of A (e) are of 3 blocks by 1 along K, which do not share 8 by 32 evenly; is trans_a_scale or trans_b_scale missing?"},
                        [](Scene& k) { scaled(k, TILERT_F16, TILERT_F32, TILERT_F32, {3, 1}); }},
                    Row{"gemm_scales_depth",
                        {"the scales of A (e) are of 1 blocks by 5 along K"},
                        [](Scene& k) { scaled(k, TILERT_F16, TILERT_F32, TILERT_F32, {1, 5}); }},
                    Row{"gemm_scales_vector",
                        {"the scales of A e has shape [8]: a matrix has two dims"},
                        [](Scene& k) { scaled(k, TILERT_F16, TILERT_F32, TILERT_F32, {8}); }}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilert::builder
