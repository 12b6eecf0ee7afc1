// Misuse of memory, tile operations and control: each an error whose message names what is wrong and what is right.
#include "misuse.h"

namespace tilert::builder {
namespace {

class MisusedStatement : public testing::TestWithParam<Row> {};
TEST_P(MisusedStatement, SaysWhatIsWrongAndWhatIsRight) { check_misuse(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Memory, MisusedStatement,
    testing::Values(Row{"write_to_in",
                        {"store: the destination: A is an input and cannot be written: declare it out or inout"},
                        [](Scene& k) {
                          k.store(k.at(k.A, {k.i(0), k.i(0)}), k.num(0));
                        }},
                    Row{"copy_to_in",
                        {"copy: the destination: A is an input"},
                        [](Scene& k) {
                          k.copy(k.at(k.s), k.at(k.A, {k.i(0), k.i(0)}));
                        }},
                    Row{"read_of_out",
                        {"C is an output and cannot be read: declare it inout"},
                        [](Scene& k) {
                          k.load(k.at(k.C, {k.i(0), k.i(0)}));
                        }},
                    Row{"rank_of_region",
                        {"a region of rank 1 of s, which has rank 2"},
                        [](Scene& k) { k.clear(k.at(k.s, {k.i(0)})); }},
                    Row{"region_leaves_tile",
                        {"dim 0 of s has 8 elements, but 6 from offset 6"},
                        [](Scene& k) {
                          k.fill(k.at(k.s, {k.i(6), k.i(0)}, {k.i(6), k.i(64)}), k.num(1));
                        }},
                    Row{"loop_leaves_tile",
                        {"dim 0 of s has 8 elements, but 2 from offset 0 to 8"},
                        [](Scene& k) {
                          tilert_expr i;
                          k.b.begin_serial(TILERT_LOOP_SERIAL, {}, k.i(5), {}, &i);
                          k.fill(k.at(k.s, {k.op(TILERT_OP_MUL, {i, k.lit(2)}), k.i(0)}, {k.i(2), k.i(64)}), k.num(1));
                          k.b.at("user.cc", 50, nullptr);
                          k.b.end_serial();  // a break might still have come
                        }},
                    Row{"element_leaves_tile",
                        {"dim 1 of f has 64 elements, but 1 from offset 1 to 64 is used"},
                        [](Scene& k) {
                          k.parallel({8, 64});
                          k.load(k.at(k.f, {k.p[0], k.op(TILERT_OP_ADD, {k.p[1], k.lit(1)})}));
                        }},
                    Row{"extents_of_element",
                        {"one element of f has no extents"},
                        [](Scene& k) {
                          k.load(k.at(k.f, {k.i(0), k.i(0)}, {k.i(1), k.i(1)}));
                        }},
                    Row{"whole_as_element", {"f needs 2 indices here"}, [](Scene& k) { k.load(k.at(k.f)); }},
                    Row{"negative_extent",
                        {"extent 0 of s is -1"},
                        [](Scene& k) {
                          k.clear(k.at(k.s, {k.i(0), k.i(0)}, {k.i(-1), k.i(64)}));
                        }},
                    Row{"never_written",
                        {"u is read before anything was written to it: copy, fill or clear it first"},
                        [](Scene& k) {
                          auto u = k.tile(TILERT_SHARED, TILERT_F16, {8, 64}, "u");
                          k.copy(k.at(u), k.at(k.C, {k.i(0), k.i(0)}));
                        }},
                    Row{"race_missing_index",
                        {"the destination f: two iterations of parallel write the same element", "use reduce"},
                        [](Scene& k) {
                          k.parallel({8, 64});
                          k.store(k.at(k.f, {k.p[0], k.i(0)}), k.num(1));
                        }},
                    Row{"race_divided_index",
                        {"two iterations of parallel write the same element"},
                        [](Scene& k) {
                          k.parallel({8, 64});
                          k.store(k.at(k.f, {k.p[0], k.op(TILERT_OP_DIV, {k.p[1], k.lit(32)})}), k.num(1));
                        }},
                    Row{"race_sum_index",
                        {"two iterations of parallel write the same element"},
                        [](Scene& k) {
                          k.parallel({4, 4});
                          k.store(k.at(k.f, {k.i(0), k.op(TILERT_OP_ADD, {k.p[0], k.p[1]})}), k.num(1));
                        }},
                    Row{"race_on_var",
                        {"two iterations of parallel write the same element"},
                        [](Scene& k) {
                          auto v = k.tile(TILERT_VAR, TILERT_F32, {});
                          k.parallel({4});
                          k.store(k.at(v), k.num(1));
                        }},
                    Row{"let_of_literal", {"a literal has no dtype yet"}, [](Scene& k) { k.b.let(k.num(1)); }},
                    Row{"inline_language",
                        {"'ptx' is none of"},
                        [](Scene& k) {
                          tilert_inline_source source{};
                          source.language = "ptx";
                          source.text = "";
                          k.b.inline_source(source);
                        }},
                    Row{"inline_null", {"language or text is NULL"}, [](Scene& k) { k.b.inline_source({}); }}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Tiles, MisusedStatement,
    testing::Values(Row{"copy_shapes",
                        {"s to f", "the shapes [8, 64] and [4, 64] differ"},
                        [](Scene& k) {
                          k.copy(k.at(k.s), k.at(k.f, {k.i(0), k.i(0)}, {k.i(4), k.i(64)}));
                        }},
                    Row{"copy_whole_with_a_dim",
                        {"INVALID_PROGRAM", "the whole of A is [N, 64], which is not known when built to be [8, 64]: "
                                            "give indices, as A(0, 0)"},
                        [](Scene& k) { k.copy(k.at(k.A), k.at(k.s)); }},
                    Row{"copy_to_a_whole_with_a_dim",
                        {"the whole of C is [N, 64]", "to be [8, 64]", "C(0, 0)"},
                        [](Scene& k) { k.copy(k.at(k.s), k.at(k.C)); }},
                    Row{"copy_wholes_with_a_dim",
                        {"the whole of A is [N, 64], which is not known when built: give indices"},
                        [](Scene& k) { k.copy(k.at(k.A), k.at(k.C)); }},
                    Row{"region_extent_count",
                        {"1 extent for 2 offsets of s, which has rank 2: give one for each dim"},
                        [](Scene& k) {
                          tilert_region part = k.at(k.s, {k.i(0), k.i(0)}, {k.i(8), k.i(64)});
                          part.extent_count = 1;
                          k.clear(part);
                        }},
                    Row{"unroll_too_long",
                        {"unroll", "from 0 to 4097 by 1 is too long to unroll: at most 4096 iterations, or use serial"},
                        [](Scene& k) {
                          tilert_expr index{};
                          k.b.begin_serial(TILERT_LOOP_UNROLL, k.i(0), k.i(4097), k.i(1), &index);
                        }},
                    Row{"unroll_too_long_down",
                        {"from 5 to -9223372036854775808 by -1 is too long to unroll"},
                        [](Scene& k) {
                          tilert_expr index{};
                          k.b.begin_serial(TILERT_LOOP_UNROLL, k.i(5), k.i(INT64_MIN), k.i(-1), &index);
                        }},
                    Row{"copy_no_extents",
                        {"give extents on one side"},
                        [](Scene& k) {
                          k.copy(k.at(k.A, {k.i(0), k.i(0)}), k.at(k.s, {k.i(0), k.i(0)}));
                        }},
                    Row{"copy_var",
                        {"is a var: use load and store"},
                        [](Scene& k) {
                          auto v = k.tile(TILERT_VAR, TILERT_F16, {});
                          k.copy(k.at(k.s), k.at(v));
                        }},
                    Row{"copy_valid_on_tiles",
                        {"valid bounds the side in device memory, and no side is there"},
                        [](Scene& k) {
                          tilert_copy_options o{};
                          o.valid = k.keep({k.i(1), k.i(1)});
                          o.valid_count = 2;
                          k.copy(k.at(k.s), k.at(k.f), o);
                        }},
                    Row{"copy_valid_count",
                        {"1 valid bounds for A, which has rank 2"},
                        [](Scene& k) {
                          tilert_copy_options o{};
                          o.valid = k.keep({k.i(1)});
                          o.valid_count = 1;
                          k.copy(k.at(k.A, {k.i(0), k.i(0)}), k.at(k.s), o);
                        }},
                    Row{"copy_safe_value",
                        {"the safe value is index, but f16 is needed"},
                        [](Scene& k) {
                          tilert_copy_options o{};
                          o.safe_value = k.dv(k.N);
                          k.copy(k.at(k.A, {k.i(0), k.i(0)}), k.at(k.s), o);
                        }},
                    Row{"copy_multicast",
                        {"multicast 2 is neither 0 nor 1"},
                        [](Scene& k) {
                          tilert_copy_options o{};
                          o.multicast = 2;
                          k.copy(k.at(k.A, {k.i(0), k.i(0)}), k.at(k.s), o);
                        }},
                    Row{"copy_in_parallel",
                        {"cannot stand inside parallel"},
                        [](Scene& k) {
                          k.parallel({4});
                          k.copy(k.at(k.s), k.at(k.f));
                        }},
                    Row{"inline_in_parallel",
                        {"inline source: this cannot stand inside parallel"},
                        [](Scene& k) {
                          k.parallel({4});
                          k.b.inline_source({});
                        }},
                    Row{"fill_parameter", {"C is a parameter in device memory"}, [](Scene& k) { k.clear(k.at(k.C)); }},
                    Row{"gemm_shapes",
                        {"s is 8 x 64, t is 32 x 16, c is 8 x 16", "are trans_a, trans_b right?"},
                        [](Scene& k) {
                          auto t = k.tile(TILERT_SHARED, TILERT_F16, {32, 16}, "t");
                          auto c = k.tile(TILERT_FRAGMENT, TILERT_F32, {8, 16}, "c");
                          k.clear(k.at(t));
                          k.clear(k.at(c));
                          k.gemm(k.at(k.s), k.at(t), k.at(c));
                        }},
                    Row{"gemm_result_shared",
                        {"C (t) is not a fragment"},
                        [](Scene& k) {
                          auto t = k.tile(TILERT_SHARED, TILERT_F32, {8, 8}, "t");
                          k.clear(k.at(t));
                          k.gemm(k.at(k.s), k.at(k.s), k.at(t), TILERT_GEMM_TRANS_B);
                        }},
                    Row{"gemm_tf32_of_halves",
                        {"in tf32: it is a mode of f32 products"},
                        [](Scene& k) {
                          auto h = k.tile(TILERT_SHARED, TILERT_F16, {8, 8}, "h");
                          k.clear(k.at(h));
                          auto c = k.tile(TILERT_FRAGMENT, TILERT_F32, {8, 8}, "c");
                          k.gemm(k.at(h), k.at(h), k.at(c), TILERT_GEMM_OVERWRITE | TILERT_GEMM_TF32);
                        }},
                    Row{"gemm_dtypes",
                        {"f64 accumulates in f64, other floats in f32, integers in int32 or int64"},
                        [](Scene& k) {
                          auto c = k.tile(TILERT_FRAGMENT, TILERT_F16, {8, 8}, "c");
                          k.clear(k.at(c));
                          k.gemm(k.at(k.s), k.at(k.s), k.at(c), TILERT_GEMM_TRANS_B);
                        }},
                    Row{"gemm_never_cleared",
                        {"c is read before anything was written to it: clear or fill it first, or overwrite it"},
                        [](Scene& k) {
                          auto c = k.tile(TILERT_FRAGMENT, TILERT_F32, {8, 8}, "c");
                          k.gemm(k.at(k.s), k.at(k.s), k.at(c), TILERT_GEMM_TRANS_B);
                        }},
                    Row{"gemm_global",
                        {"A is a parameter in device memory: copy it to a tile first"},
                        [](Scene& k) { k.gemm(k.at(k.A), k.at(k.s), k.at(k.f)); }},
                    Row{"gemm_vector",
                        {"has shape [8]: a matrix has two dims"},
                        [](Scene& k) {
                          auto v = k.tile(TILERT_SHARED, TILERT_F16, {8}, "v");
                          k.clear(k.at(v));
                          k.gemm(k.at(v), k.at(k.s), k.at(k.f));
                        }},
                    Row{"reduce_shape",
                        {"f to r", "[8, 64] reduced over dim 1 is [8] or [8, 1], but the destination is [64]"},
                        [](Scene& k) {
                          auto r = k.tile(TILERT_FRAGMENT, TILERT_F32, {64}, "r");
                          k.reduce(TILERT_REDUCE_SUM, k.at(k.f), k.at(r), 1);
                        }},
                    Row{"reduce_dim",
                        {"there is no dim 2 in [8, 64]"},
                        [](Scene& k) { k.reduce(TILERT_REDUCE_SUM, k.at(k.f), k.at(k.f), 2); }},
                    Row{"reduce_argmax",
                        {"places of f32 in f32", "int32 or int64"},
                        [](Scene& k) {
                          auto r = k.tile(TILERT_FRAGMENT, TILERT_F32, {8}, "r");
                          k.reduce(TILERT_REDUCE_ARGMAX, k.at(k.f), k.at(r), 1);
                        }},
                    Row{"reduce_bits_of_floats",
                        {"this reduction does not take f32 to f32"},
                        [](Scene& k) {
                          auto r = k.tile(TILERT_FRAGMENT, TILERT_F32, {8}, "r");
                          k.reduce(TILERT_REDUCE_AND, k.at(k.f), k.at(r), 1);
                        }},
                    Row{"reduce_seed_missing",
                        {"r is read before anything was written to it"},
                        [](Scene& k) {
                          auto r = k.tile(TILERT_FRAGMENT, TILERT_F32, {8}, "r");
                          k.reduce(TILERT_REDUCE_SUM, k.at(k.f), k.at(r), 1, TILERT_REDUCE_ACCUMULATE);
                        }}),
    [](const auto& row) { return std::string(row.param.name); });

tilert_hint hint(tilert_hint_kind kind, int64_t value, uint32_t flags = 0) {
  return {sizeof(tilert_hint), kind, value, flags, 0, nullptr};
}

INSTANTIATE_TEST_SUITE_P(
    Control, MisusedStatement,
    testing::Values(
        Row{"wrong_end",
            {"end of serial, but the innermost open scope is the kernel"},
            [](Scene& k) { k.b.end_serial(); }},
        Row{"left_open", {"finish: 1 scope is left open"}, [](Scene& k) { (void)k.b.finish(); }},
        Row{"end_without_begin",
            {"end of parallel, but no scope is open"},
            [](Scene& k) { k.b.end_parallel(); },
            false},
        Row{"else_alone", {"else without an open if"}, [](Scene& k) { k.b.begin_else(); }},
        Row{"else_twice",
            {"this if has an else already"},
            [](Scene& k) {
              k.b.begin_if(k.op(TILERT_OP_LT, {k.dv(k.N), k.lit(3)}));
              k.b.begin_else();
              k.b.begin_else();
            }},
        Row{"kernel_in_kernel", {"a kernel inside a kernel"}, [](Scene& k) { k.kernel({k.i(1)}); }},
        Row{"parallel_in_parallel",
            {"parallel inside parallel"},
            [](Scene& k) {
              k.parallel({4});
              k.parallel({4});
            }},
        Row{"parallel_rank", {"rank is 0"}, [](Scene& k) { k.parallel({}); }},
        Row{"parallel_symbolic",
            {"UNSUPPORTED", "extent 0"},
            [](Scene& k) {
              const tilert_expr n = k.dv(k.N);
              k.b.begin_parallel(&n, 1, k.p);
            }},
        Row{"step_zero",
            {"step is 0"},
            [](Scene& k) {
              tilert_expr i;
              k.b.begin_serial(TILERT_LOOP_SERIAL, {}, k.i(4), k.lit(0), &i);
            }},
        Row{"index_null",
            {"index is NULL"},
            [](Scene& k) { k.b.begin_serial(TILERT_LOOP_SERIAL, {}, k.i(4), {}, nullptr); }},
        Row{"stages",
            {"stages is 99"},
            [](Scene& k) {
              tilert_expr i;
              k.b.begin_pipelined(k.i(4), 99, &i);
            }},
        Row{"grid_rank", {"the grid's rank is 0"}, [](Scene& k) { k.kernel({}); }, false},
        Row{"grid_negative", {"grid extent 0 is -1"}, [](Scene& k) { k.kernel({k.i(-1)}); }, false},
        Row{"hint_threads",
            {"hint threads is 100", "a multiple of 32"},
            [](Scene& k) { k.kernel({k.i(1)}, {hint(TILERT_HINT_THREADS, 100)}); },
            false},
        Row{"hint_threads_fixed",
            {"threads_fixed is for one target", "give it for all"},
            [](Scene& k) { k.kernel({k.i(1)}, {{sizeof(tilert_hint), TILERT_HINT_THREADS_FIXED, 128, 0, 0, "sm_90a"}}); },
            false},
        Row{"hint_twice",
            {"hint raster is given twice"},
            [](Scene& k) { k.kernel({k.i(1)}, {hint(TILERT_HINT_RASTER, 2), hint(TILERT_HINT_RASTER, 4)}); },
            false},
        Row{"hint_for_no_target",
            {"sm_81"},
            [](Scene& k) { k.kernel({k.i(1)}, {{sizeof(tilert_hint), TILERT_HINT_RASTER, 2, 0, 0, "sm_81"}}); },
            false},
        Row{"hint_flags",
            {"hint raster has unknown flags 0x8"},
            [](Scene& k) { k.kernel({k.i(1)}, {hint(TILERT_HINT_RASTER, 2, 8)}); },
            false},
        Row{"hint_unknown", {"77 is not a hint"}, [](Scene& k) { k.kernel({k.i(1)}, {hint(77, 1)}); }, false},
        Row{"source_language",
            {"'fortran' is none of"},
            [](Scene& k) {
              tilert_source_kernel source{};
              source.language = "fortran";
              k.b.source_kernel(source);
            },
            false},
        Row{"deep",
            {"scopes nest more than"},
            [](Scene& k) {
              tilert_expr i;
              for (int n = 0; n < 200; ++n) k.b.begin_serial(TILERT_LOOP_SERIAL, {}, k.i(4), {}, &i);
            }}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace tilert::builder
