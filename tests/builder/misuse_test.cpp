// Misuse of ids, declarations and values: each an error whose message names what is wrong and what is right.
#include "misuse.h"

namespace tilert::builder {
namespace {

class Misuse : public testing::TestWithParam<Row> {};
TEST_P(Misuse, SaysWhatIsWrongAndWhatIsRight) { check_misuse(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Ids, Misuse,
    testing::Values(Row{"none", {"INVALID_ARGUMENT", "'here': let", "is none"}, [](Scene& k) { k.b.let({}); }},
                    Row{"foreign",
                        {"INVALID_ARGUMENT", "an id of another builder"},
                        [](Scene& k) {
                          Kit other;
                          k.b.let(other.i(1));
                        }},
                    Row{"other_kind",
                        {"is the id of a tensor parameter, not of a value"},
                        [](Scene& k) {
                          k.b.let(tilert_expr{k.A.serial, k.A.index});
                        }},
                    Row{"made_up",
                        {"is not an id that this builder made"},
                        [](Scene& k) { k.b.let(make_id<tilert_expr>(k.A.serial, 99999)); }},
                    Row{"both_set",
                        {"each of buffer and tensor is set"},
                        [](Scene& k) {
                          tilert_region r = k.at(k.s);
                          r.tensor = k.A;
                          k.clear(r);
                        }},
                    Row{"null_region", {"the destination is NULL"}, [](Scene& k) { k.b.clear(nullptr); }},
                    Row{"value_after_its_loop",
                        {"is used after the loop, branch or kernel that made this value ended"},
                        [](Scene& k) {
                          tilert_expr i;
                          k.b.begin_serial(TILERT_LOOP_SERIAL, {}, k.i(4), {}, &i);
                          k.b.end_serial();
                          k.b.let(i);
                        }},
                    Row{"value_of_the_other_branch",
                        {"is used after"},
                        [](Scene& k) {
                          k.b.begin_if(k.op(TILERT_OP_LT, {k.dv(k.N), k.lit(3)}));
                          auto x = k.b.let(k.dv(k.N));
                          k.b.begin_else();
                          k.b.let(x);
                        }},
                    Row{"buffer_after_its_scope",
                        {"local", "is used after the scope that declared it ended"},
                        [](Scene& k) {
                          k.parallel({4});
                          auto v = k.tile(TILERT_LOCAL, TILERT_F32, {2});
                          k.b.end_parallel();
                          k.store(k.at(v, {k.i(0)}), k.num(1));
                        }}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Declarations, Misuse,
    testing::Values(
        Row{"duplicate_name", {"the name 'N' is taken"}, [](Scene& k) { k.dim("N"); }, false},
        Row{"bad_name", {"'1x' is not an identifier"}, [](Scene& k) { k.dim("1x"); }, false},
        Row{"null_name", {"the name is NULL"}, [](Scene& k) { k.dim(nullptr); }, false},
        Row{"negative_divisible",
            {"dim D: divisible is -4"},
            [](Scene& k) {
              tilert_dim_options o{};
              o.divisible = -4;
              k.b.dim("D", o);
            },
            false},
        Row{"bad_bucket",
            {"bucket 0", "neither a range"},
            [](Scene& k) {
              tilert_bucket bucket{TILERT_BUCKET_RANGE, 0, 9, 3};
              tilert_dim_options o{};
              o.buckets = &bucket;
              o.bucket_count = 1;
              k.b.dim("D", o);
            },
            false},
        Row{"dtype_number",
            {"tensor T: 99 is not a dtype"},
            [](Scene& k) { k.tensor("T", TILERT_IN, 99, {k.i(1)}); },
            false},
        Row{"dtype_refused",
            {"UNSUPPORTED", "tensor T: tf32", "declare f32"},
            [](Scene& k) { k.tensor("T", TILERT_IN, TILERT_TF32, {k.i(1)}); },
            false},
        Row{"dtype_index",
            {"index is not a storage type; use int64"},
            [](Scene& k) { k.tensor("T", TILERT_IN, TILERT_INDEX, {k.i(1)}); },
            false},
        Row{"access", {"tensor T: access 0"}, [](Scene& k) { k.tensor("T", 0, TILERT_F32, {k.i(1)}); }, false},
        Row{"negative_size",
            {"tensor T: size 0 is -3"},
            [](Scene& k) { k.tensor("T", TILERT_IN, TILERT_F32, {k.i(-3)}); },
            false},
        Row{"shape_expression",
            {"UNSUPPORTED", "declare a dim of its own"},
            [](Scene& k) {
              k.tensor("T", TILERT_IN, TILERT_F32, {k.op(TILERT_OP_ADD, {k.dv(k.N), k.lit(1)})});
            },
            false},
        Row{"shape_of_scalar",
            {"size 0 is f32, but index is needed: cast it"},
            [](Scene& k) { k.tensor("T", TILERT_IN, TILERT_F32, {k.b.scalar_value(k.scale)}); },
            false},
        Row{"alignment",
            {"alignment 24 is not a power of two"},
            [](Scene& k) {
              tilert_tensor_options o{};
              o.alignment = 24;
              const tilert_expr n = k.i(4);
              k.b.tensor("T", TILERT_IN, TILERT_F32, &n, 1, o);
            },
            false},
        Row{"stride_count",
            {"1 strides for rank 2"},
            [](Scene& k) {
              tilert_tensor_options o{};
              o.strides = k.keep({k.i(1)});
              o.stride_count = 1;
              k.b.tensor("T", TILERT_IN, TILERT_F32, k.keep({k.i(4), k.i(4)}), 2, o);
            },
            false},
        Row{"pointer_table",
            {"a dim that counts them"},
            [](Scene& k) {
              tilert_tensor_options o{};
              o.flags = TILERT_TENSOR_POINTER_TABLE;
              k.b.tensor("T", TILERT_IN, TILERT_F32, nullptr, 0, o);
            },
            false},
        Row{"rank",
            {"rank is 9"},
            [](Scene& k) { k.b.tensor("T", TILERT_IN, TILERT_F32, k.keep({k.i(4)}), 9, {}); },
            false},
        Row{"no_kernel", {"has no kernel"}, [](Scene& k) { (void)k.b.finish(); }, false},
        Row{"tile_outside_kernel",
            {"inside a kernel only"},
            [](Scene& k) { k.tile(TILERT_SHARED, TILERT_F32, {4}); },
            false},
        Row{"dim_inside_kernel", {"before any kernel is open"}, [](Scene& k) { k.dim("Late"); }},
        Row{"tensor_inside_kernel",
            {"before any kernel is open"},
            [](Scene& k) { k.tensor("T", TILERT_IN, TILERT_F32, {k.i(1)}); }},
        Row{"symbolic_tile",
            {"UNSUPPORTED", "shared t: size 0", "pass the number"},
            [](Scene& k) {
              tilert_buffer_options o{};
              o.name = "t";
              const tilert_expr n = k.dv(k.N);
              k.b.buffer(TILERT_SHARED, TILERT_F32, &n, 1, o);
            }},
        Row{"zero_tile", {"size 0 is 0: sizes are positive"}, [](Scene& k) { k.tile(TILERT_SHARED, TILERT_F32, {0}); }},
        Row{"huge_tile",
            {"at most"},
            [](Scene& k) {
              k.tile(TILERT_SHARED, TILERT_F32, {1 << 20, 1 << 20});
            }},
        Row{"var_with_shape", {"a var has rank 0"}, [](Scene& k) { k.tile(TILERT_VAR, TILERT_F32, {4}); }},
        Row{"layout",
            {"only shared tiles have a layout"},
            [](Scene& k) {
              tilert_buffer_options o{};
              o.layout = TILERT_LAYOUT_SWIZZLE_64;
              k.b.buffer(TILERT_FRAGMENT, TILERT_F32, k.keep({k.i(4)}), 1, o);
            }},
        Row{"tile_in_parallel",
            {"tiles are declared outside parallel"},
            [](Scene& k) {
              k.parallel({4});
              k.tile(TILERT_FRAGMENT, TILERT_F32, {4});
            }}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Values, Misuse,
    testing::Values(
        Row{"mixed",
            {"ADD of index and f32: there is no promotion, cast one of them"},
            [](Scene& k) {
              k.op(TILERT_OP_ADD, {k.dv(k.N), k.b.scalar_value(k.scale)});
            }},
        Row{"float_literal_to_index",
            {"the float literal 1.5 does not become index"},
            [](Scene& k) {
              k.op(TILERT_OP_ADD, {k.dv(k.N), k.num(1.5)});
            }},
        Row{"inexact_literal",
            {"the literal 16777217 is not exact in f32"},
            [](Scene& k) {
              k.op(TILERT_OP_ADD, {k.b.scalar_value(k.scale), k.lit(16777217)});
            }},
        Row{"literal_too_big",
            {"the literal 300 is outside i8"},
            [](Scene& k) {
              auto v = k.tile(TILERT_VAR, TILERT_INT8, {});
              k.store(k.at(v), k.lit(300));
            }},
        Row{"float_literal_too_big", {"outside f16"}, [](Scene& k) { k.fill(k.at(k.s), k.num(1e6)); }},
        Row{"literals_only",
            {"POW of literals only"},
            [](Scene& k) {
              k.op(TILERT_OP_POW, {k.num(1), k.num(2)});
            }},
        Row{"literal_overflow",
            {"ADD of 9223372036854775807 and 1 leaves int64"},
            [](Scene& k) {
              k.op(TILERT_OP_ADD, {k.lit(INT64_MAX), k.lit(1)});
            }},
        Row{"literal_negated_overflow", {"leaves int64"}, [](Scene& k) { k.op(TILERT_OP_NEG, {k.lit(INT64_MIN)}); }},
        Row{"literal_product_overflow",
            {"leaves int64"},
            [](Scene& k) {
              k.op(TILERT_OP_MUL, {k.lit(INT64_MIN), k.lit(-1)});
            }},
        Row{"literal_shifted_out",
            {"leaves int64"},
            [](Scene& k) {
              k.op(TILERT_OP_SHL, {k.lit(1), k.lit(63)});
            }},
        Row{"literal_shift_count",
            {"SHR of the literal 1 by 64: shift by 0 to 63"},
            [](Scene& k) {
              k.op(TILERT_OP_SHR, {k.lit(1), k.lit(64)});
            }},
        Row{"literal_divided_by_zero",
            {"DIV of the literals 7 and 0: the divisor is 0"},
            [](Scene& k) {
              k.op(TILERT_OP_DIV, {k.lit(7), k.lit(0)});
            }},
        Row{"literal_inexact_in_a_fold",
            {"the literal 9007199254740993 is not exact in f64"},
            [](Scene& k) {
              k.op(TILERT_OP_ADD, {k.lit((int64_t{1} << 53) + 1), k.num(0.5)});
            }},
        Row{"literal_beyond_int64",
            {"the literal 9223372036854775808 is beyond int64"},
            [](Scene& k) { k.b.literal(TILERT_UINT64, uint64_t{1} << 63); }},
        Row{"arity",
            {"EXP takes 1 operand, not 2"},
            [](Scene& k) {
              k.op(TILERT_OP_EXP, {k.b.scalar_value(k.scale), k.b.scalar_value(k.scale)});
            }},
        Row{"unknown_op", {"1000 is not an operation"}, [](Scene& k) { k.op(1000, {k.i(1)}); }},
        Row{"exp_of_index", {"EXP of index", "cast it first"}, [](Scene& k) { k.op(TILERT_OP_EXP, {k.dv(k.N)}); }},
        Row{"select_condition",
            {"the condition of SELECT is index, not bool"},
            [](Scene& k) {
              k.op(TILERT_OP_SELECT, {k.dv(k.N), k.i(1), k.i(2)});
            }},
        Row{"ceildiv_by_zero",
            {"CEILDIV by 0"},
            [](Scene& k) {
              k.op(TILERT_OP_CEILDIV, {k.dv(k.N), k.lit(0)});
            }},
        Row{"constant_bits", {"do not fit i8"}, [](Scene& k) { k.b.constant(TILERT_INT8, 256); }},
        Row{"bool_bits", {"do not fit bool"}, [](Scene& k) { k.b.constant(TILERT_BOOL, 2); }},
        Row{"literal_dtype",
            {"a literal is given as int64, uint64, f64 or bool"},
            [](Scene& k) { k.b.literal(TILERT_F32, 0); }},
        Row{"cast_flag",
            {"a cast to i8 that does not saturate: only casts to fp8 saturate otherwise"},
            [](Scene& k) { k.b.cast(TILERT_INT8, k.b.scalar_value(k.scale), TILERT_CAST_NONSAT); }},
        Row{"arithmetic_on_fp8",
            {"MUL of e4m3: the type is stored and converted only, cast to f32 or f16 first"},
            [](Scene& k) {
              const tilert_expr x = k.b.cast(TILERT_E4M3, k.b.scalar_value(k.scale), 0);
              k.op(TILERT_OP_MUL, {x, x});
            }},
        Row{"literal_beyond_fp8",
            {"the literal 1000 is outside e4m3"},
            [](Scene& k) { k.b.cast(TILERT_E4M3, k.num(1000.0), 0); }},
        Row{"reinterpret_width",
            {"the bits of f32 (32 wide) cannot be read as f16"},
            [](Scene& k) { k.b.reinterpret(TILERT_F16, k.b.scalar_value(k.scale)); }},
        Row{"if_not_bool", {"the condition is index, but bool is needed"}, [](Scene& k) { k.b.begin_if(k.dv(k.N)); }},
        Row{"store_dtype",
            {"the value stored to f is f16, but f32 is needed: cast it"},
            [](Scene& k) {
              k.store(k.at(k.f, {k.i(0), k.i(0)}), k.load(k.at(k.s, {k.i(0), k.i(0)})));
            }},
        Row{"fill_dtype",
            {"the value filled into s is f32, but f16 is needed"},
            [](Scene& k) { k.fill(k.at(k.s), k.b.scalar_value(k.scale)); }}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Sticky, TheFirstErrorStaysAndLaterCallsDoNothing) {
  Scene k;
  k.store(k.at(k.A, {k.i(0), k.i(0)}), k.num(0));
  k.b.at("other.cc", 1, nullptr);
  k.b.end_serial();
  EXPECT_TRUE(is_none(k.i(1)));
  EXPECT_THAT(k.message(), testing::AllOf(HasSubstr("user.cc:42 'here': store"), HasSubstr("A is an input")));
}

TEST(Sticky, AFinishedBuilderIsSpent) {
  Scene k;
  k.b.end_kernel();
  EXPECT_EQ(k.message(), "no error");
  EXPECT_TRUE(is_none(k.i(1)));
  EXPECT_THAT(k.message(), HasSubstr("the builder is spent"));
}

TEST(Guarded, WhatAnIfMayPreventIsNotRefused) {
  Scene k;
  auto u = k.tile(TILERT_FRAGMENT, TILERT_F32, {8, 64}, "u");
  tilert_expr i;
  k.b.begin_serial(TILERT_LOOP_SERIAL, {}, k.i(5), {}, &i);
  k.b.begin_if(k.op(TILERT_OP_LT, {i, k.lit(4)}));
  k.fill(k.at(k.s, {k.op(TILERT_OP_MUL, {i, k.lit(2)}), k.i(0)}, {k.i(2), k.i(64)}), k.num(1));
  k.copy(k.at(u), k.at(k.f));
  k.b.end_if();
  k.fill(k.at(u), k.num(1));
  k.b.end_serial();
  k.parallel({8, 64});
  k.b.begin_if(k.op(TILERT_OP_EQ, {k.p[1], k.lit(0)}));
  k.store(k.at(k.f, {k.p[0], k.i(0)}), k.num(1));
  k.b.end_if();
  k.b.end_parallel();
  k.b.end_kernel();
  EXPECT_EQ(k.message(), "no error");
}

TEST(Guarded, InjectiveWritesOfEveryFormAreTaken) {
  Scene k;
  auto line = k.tile(TILERT_SHARED, TILERT_F32, {512});
  k.parallel({8, 64});
  k.store(k.at(line, {k.op(TILERT_OP_ADD, {k.op(TILERT_OP_MUL, {k.p[0], k.lit(64)}), k.p[1]})}), k.num(1));
  k.store(k.at(k.f, {k.p[0], k.op(TILERT_OP_SUB, {k.lit(63), k.p[1]})}), k.num(1));
  k.b.end_parallel();
  k.parallel({512});
  k.store(k.at(k.f, {k.op(TILERT_OP_DIV, {k.p[0], k.lit(64)}), k.op(TILERT_OP_MOD, {k.p[0], k.lit(64)})}), k.num(1));
  auto v = k.tile(TILERT_VAR, TILERT_F32, {});
  k.store(k.at(v), k.num(1));
  k.b.end_parallel();
  k.b.end_kernel();
  EXPECT_EQ(k.message(), "no error");
}

}  // namespace
}  // namespace tilert::builder
