// What a build makes: statements, regions, literals, scopes.
#include "kit.h"

namespace tilert::builder {
namespace {

using testing::HasSubstr;

// The gemm program of the language page.
std::shared_ptr<const ir::Program> matmul(Kit& k) {
  auto M = k.dim("M"), N = k.dim("N"), K = k.dim("K");
  auto A = k.tensor("A", TILERT_IN, TILERT_F16, {k.dv(M), k.dv(K)});
  auto B = k.tensor("B", TILERT_IN, TILERT_F16, {k.dv(K), k.dv(N)});
  auto C = k.tensor("C", TILERT_OUT, TILERT_F16, {k.dv(M), k.dv(N)});
  k.b.at("matmul.cc", 7, nullptr);
  k.kernel({k.op(TILERT_OP_CEILDIV, {k.dv(N), k.lit(128)}), k.op(TILERT_OP_CEILDIV, {k.dv(M), k.lit(128)})});
  auto a = k.tile(TILERT_SHARED, TILERT_F16, {128, 32}), w = k.tile(TILERT_SHARED, TILERT_F16, {32, 128});
  auto acc = k.tile(TILERT_FRAGMENT, TILERT_F32, {128, 128});
  auto y = k.op(TILERT_OP_MUL, {k.block[1], k.lit(128)}), x = k.op(TILERT_OP_MUL, {k.block[0], k.lit(128)});
  k.clear(k.at(acc));
  tilert_expr i;
  k.b.begin_pipelined(k.op(TILERT_OP_CEILDIV, {k.dv(K), k.lit(32)}), 3, &i);
  auto ki = k.op(TILERT_OP_MUL, {i, k.lit(32)});
  k.copy(k.at(A, {y, ki}), k.at(a));
  k.copy(k.at(B, {ki, x}), k.at(w));
  k.b.at("matmul.cc", 12, "product");
  k.gemm(k.at(a), k.at(w), k.at(acc));
  k.b.end_pipelined();
  k.parallel({128, 128});
  auto v = k.load(k.at(acc, {k.p[0], k.p[1]}));
  k.store(k.at(acc, {k.p[0], k.p[1]}), k.op(TILERT_OP_MAX, {v, k.num(0)}));
  k.b.end_parallel();
  k.copy(k.at(acc), k.at(C, {y, x}));
  k.b.end_kernel();
  auto program = k.b.finish();
  EXPECT_TRUE(program) << program.error().message;
  return program ? *program : nullptr;
}

template <class T>
const T& node(const ir::StmtPtr& stmt) {
  return std::get<T>(stmt->node);
}

TEST(Builder, MakesTheStatementsOfAMatmulInOrder) {
  Kit k;
  auto program = matmul(k);
  ASSERT_TRUE(program);
  ASSERT_EQ(program->kernels.size(), 1u);
  const ir::Block& body = program->kernels[0].body;
  ASSERT_EQ(body.size(), 7u);  // three tiles, clear, loop, parallel, copy
  const auto& loop = node<ir::For>(body[4]);
  EXPECT_EQ(loop.kind, ir::ForKind::pipelined);
  EXPECT_EQ(loop.stages, 3);
  ASSERT_EQ(loop.body.size(), 3u);
  EXPECT_EQ(node<ir::Copy>(loop.body[0]).src.extents, (std::vector<int64_t>{128, 32}));
  EXPECT_EQ(node<ir::Copy>(body[6]).dst.extents, (std::vector<int64_t>{128, 128}));
  EXPECT_EQ(node<ir::Gemm>(loop.body[2]).accumulate->bits, 1u);
}

TEST(Builder, GivesEachStatementTheCallersFileLineAndLabel) {
  Kit k;
  auto program = matmul(k);
  ASSERT_TRUE(program);
  const auto& gemm = node<ir::For>(program->kernels[0].body[4]).body[2];
  const ir::Location& at = program->locations[gemm->location];
  EXPECT_EQ(at.file, "matmul.cc");
  EXPECT_EQ(at.line, 12);
  EXPECT_EQ(at.label, "product");
  EXPECT_EQ(program->locations[program->kernels[0].body[6]->location].label, "");
}

TEST(Builder, NumbersEveryStatementOnce) {
  Kit k;
  auto program = matmul(k);
  ASSERT_TRUE(program);
  std::vector<uint32_t> seen;
  std::function<void(const ir::Block&)> walk = [&](const ir::Block& block) {
    for (const auto& stmt : block) {
      seen.push_back(stmt->ordinal);
      if (auto* loop = std::get_if<ir::For>(&stmt->node)) walk(loop->body);
      if (auto* loop = std::get_if<ir::Parallel>(&stmt->node)) walk(loop->body);
    }
  };
  walk(program->kernels[0].body);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(Builder, ANegativeConstantIndexCountsFromTheEnd) {
  Kit k;
  auto N = k.dim("N");
  auto A = k.tensor("A", TILERT_IN, TILERT_F32, {k.dv(N)});
  k.kernel({k.i(1)});
  auto v = k.tile(TILERT_FRAGMENT, TILERT_F32, {8});
  k.store(k.at(v, {k.lit(-1)}), k.load(k.at(A, {k.lit(-1)})));
  k.b.end_kernel();
  auto program = k.b.finish();
  ASSERT_TRUE(program) << program.error().message;
  const auto& body = (*program)->kernels[0].body;
  EXPECT_EQ(node<ir::Store>(body[2]).to.indices[0]->as_int(), 7);
  const ir::Expr read = node<ir::Let>(body[1]).read.indices[0];
  EXPECT_EQ(read->op, ir::Op::add);
  EXPECT_EQ(read->operand[1]->as_int(), -1);
}

TEST(Builder, ALoadIsMadeAtTheCall) {
  Kit k;
  k.kernel({k.i(1)});
  auto a = k.tile(TILERT_FRAGMENT, TILERT_F32, {4}), b = k.tile(TILERT_FRAGMENT, TILERT_F32, {4});
  k.clear(k.at(a));
  auto x = k.load(k.at(a, {k.i(0)}));
  k.store(k.at(a, {k.i(0)}), k.num(1));
  k.store(k.at(b, {k.i(0)}), x);
  k.b.end_kernel();
  auto program = k.b.finish();
  ASSERT_TRUE(program) << program.error().message;
  const auto& body = (*program)->kernels[0].body;
  EXPECT_TRUE(std::holds_alternative<ir::Let>(body[3]->node));
  EXPECT_EQ(node<ir::Store>(body[5]).value->var(), node<ir::Let>(body[3]).var);
}

struct LiteralCase {
  tilert_dtype dtype;
  double value;
  uint64_t bits;
};
class FloatLiteral : public testing::TestWithParam<LiteralCase> {};
TEST_P(FloatLiteral, RoundsOnceHalfToEven) {
  Kit k;
  k.kernel({k.i(1)});
  auto v = k.tile(TILERT_VAR, GetParam().dtype, {});
  k.store(k.at(v), k.num(GetParam().value));
  k.b.end_kernel();
  auto program = k.b.finish();
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(node<ir::Store>((*program)->kernels[0].body[1]).value->bits, GetParam().bits);
}
INSTANTIATE_TEST_SUITE_P(
    All, FloatLiteral,
    testing::Values(LiteralCase{TILERT_F32, 1.0, 0x3f800000}, LiteralCase{TILERT_F32, 0.1, 0x3dcccccd},
                    LiteralCase{TILERT_F32, -0.0, 0x80000000}, LiteralCase{TILERT_F32, 1e-45, 1},
                    LiteralCase{TILERT_F32, 7e-46, 0}, LiteralCase{TILERT_F32, 1.17549435e-38, 0x00800000},
                    LiteralCase{TILERT_F32, 3.4028234663852886e38, 0x7f7fffff},
                    LiteralCase{TILERT_F32, 1.0 + 0x1p-24, 0x3f800000},
                    LiteralCase{TILERT_F32, 1.0 + 0x3p-24, 0x3f800002}, LiteralCase{TILERT_F32, -HUGE_VAL, 0xff800000},
                    LiteralCase{TILERT_F16, 1.5, 0x3e00}, LiteralCase{TILERT_F16, 2049.0, 0x6800},
                    LiteralCase{TILERT_BF16, 1.0, 0x3f80}, LiteralCase{TILERT_BF16, -HUGE_VAL, 0xff80}));

TEST(Builder, EveryFloatLiteralRoundsAsTheHardwareDoes) {
  Kit k;
  k.kernel({k.i(1)});
  auto v = k.tile(TILERT_VAR, TILERT_F32, {});
  uint64_t state = 1;
  std::vector<double> values;
  for (int n = 0; n < 2000; ++n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t exponent = 1023 - 155 + (state >> 33) % 280;  // from below the subnormals to just inside the range
    const double value = std::bit_cast<double>((state & 0x800fffffffffffffull) | exponent << 52);
    if (std::fabs(value) >= 3.4e38) continue;
    values.push_back(value);
    k.store(k.at(v), k.num(value));
  }
  k.b.end_kernel();
  auto program = k.b.finish();
  ASSERT_TRUE(program) << program.error().message;
  for (size_t n = 0; n < values.size(); ++n) {
    const auto bits = static_cast<uint32_t>(node<ir::Store>((*program)->kernels[0].body[n + 1]).value->bits);
    EXPECT_EQ(bits, std::bit_cast<uint32_t>(static_cast<float>(values[n]))) << values[n];
  }
}

TEST(Builder, AnInt32BecomesAnIndexOnMeetingOneAndWrapsBefore) {
  Kit k;
  auto s = k.b.scalar("s", TILERT_INT32);
  auto N = k.dim("N");
  auto product = k.op(TILERT_OP_MUL, {k.b.scalar_value(s), k.b.scalar_value(s)});
  EXPECT_EQ(k.b.dtype_of(product), TILERT_INT32);
  auto sum = k.op(TILERT_OP_ADD, {product, k.dv(N)});
  EXPECT_EQ(k.b.dtype_of(sum), TILERT_INDEX);
}

TEST(Builder, GreaterIsLessWithSidesSwapped) {
  Kit k;
  auto N = k.dim("N"), M = k.dim("M");
  k.kernel({k.i(1)});
  k.b.let(k.op(TILERT_OP_GT, {k.dv(N), k.dv(M)}));
  k.b.end_kernel();
  auto program = k.b.finish();
  ASSERT_TRUE(program);
  const ir::Expr e = node<ir::Let>((*program)->kernels[0].body[0]).value;
  EXPECT_EQ(e->op, ir::Op::lt);
  EXPECT_EQ((*program)->vars[e->operand[0]->var()].name, "M");
}

TEST(Builder, RegionExtentsFollowTheOtherSideWithUnitDimsInFront) {
  Kit k;
  auto N = k.dim("N");
  auto A = k.tensor("A", TILERT_IN, TILERT_F16, {k.dv(N), k.dv(N), k.i(64)});
  k.kernel({k.i(4)});
  auto t = k.tile(TILERT_SHARED, TILERT_F16, {16, 64}), row = k.tile(TILERT_SHARED, TILERT_F16, {1, 64});
  k.copy(k.at(A, {k.block[0], k.i(0), k.i(0)}), k.at(t));
  k.copy(k.at(A, {k.block[0], k.i(3), k.i(0)}), k.at(row));
  k.b.end_kernel();
  auto program = k.b.finish();
  ASSERT_TRUE(program) << program.error().message;
  const auto& body = (*program)->kernels[0].body;
  EXPECT_EQ(node<ir::Copy>(body[2]).src.extents, (std::vector<int64_t>{1, 16, 64}));
  EXPECT_EQ(node<ir::Copy>(body[3]).src.extents, (std::vector<int64_t>{1, 1, 64}));
}

TEST(Builder, IfAndElseKeepTheirBodiesApart) {
  Kit k;
  auto N = k.dim("N");
  k.kernel({k.i(1)});
  auto v = k.tile(TILERT_VAR, TILERT_INT32, {});
  k.b.begin_if(k.op(TILERT_OP_LT, {k.dv(N), k.lit(4)}));
  k.store(k.at(v), k.lit(1));
  k.b.begin_else();
  k.store(k.at(v), k.lit(2));
  k.store(k.at(v), k.lit(3));
  k.b.end_if();
  k.b.end_kernel();
  auto program = k.b.finish();
  ASSERT_TRUE(program) << program.error().message;
  const auto& branch = node<ir::If>((*program)->kernels[0].body[1]);
  EXPECT_EQ(branch.then_body.size(), 1u);
  EXPECT_EQ(branch.else_body.size(), 2u);
}

TEST(Builder, IdsOfTwoBuildersAreNeverEqual) {
  Kit a, b;
  auto x = a.i(1), y = b.i(1);
  EXPECT_EQ(x.index, y.index);
  EXPECT_NE(x.serial, y.serial);
}

TEST(Builder, ASourceKernelKeepsAllThatItWasGiven) {
  Kit k;
  auto N = k.dim("N");
  k.tensor("A", TILERT_INOUT, TILERT_F32, {k.dv(N)});
  const tilert_header header{"my.h", "#define ONE 1\n"};
  const char* option = "-DX=1";
  tilert_source_kernel source{};
  source.language = "cuda";
  source.text = "extern \"C\" __global__ void f(float*, long long) {}";
  source.entry = "f";
  source.headers = &header;
  source.header_count = 1;
  source.options = &option;
  source.option_count = 1;
  source.grid_rank = 1;
  source.grid = k.keep({k.op(TILERT_OP_CEILDIV, {k.dv(N), k.lit(256)})});
  source.block = k.keep({k.i(256), k.i(1), k.i(1)});
  EXPECT_EQ(k.b.source_kernel(source), Code::kOk);
  auto program = k.b.finish();
  ASSERT_TRUE(program) << program.error().message;
  const auto& made = (*program)->kernels[0];
  ASSERT_TRUE(made.source);
  EXPECT_EQ(made.source->headers[0].second, header.text);
  EXPECT_EQ(made.source->options[0], option);
  EXPECT_EQ(made.source->block[0]->as_int(), 256);
  EXPECT_TRUE(made.body.empty());
}

// What a copy between wholes of these shapes says; both are parameters where `tile` is none.
std::string copied_whole(const std::vector<int64_t>& from, const std::vector<int64_t>& to, bool into_tile) {
  Kit k;
  const auto sizes = [&](const std::vector<int64_t>& list) {
    std::vector<tilert_expr> out;
    for (int64_t n : list) out.push_back(k.i(n));
    return out;
  };
  const auto x = sizes(from), y = sizes(to);
  const auto source = k.b.tensor("x", TILERT_IN, TILERT_F32, x.data(), static_cast<uint32_t>(x.size()), {});
  const auto destination = k.b.tensor("y", TILERT_OUT, TILERT_F32, y.data(), static_cast<uint32_t>(y.size()), {});
  k.kernel({k.i(1)});
  if (into_tile) {
    k.copy(k.at(source), k.at(k.tile(TILERT_FRAGMENT, TILERT_F32, to, "t")));
  } else {
    auto t = k.tile(TILERT_FRAGMENT, TILERT_F32, from, "t");
    k.clear(k.at(t));
    k.copy(k.at(t), k.at(destination));
  }
  k.b.end_kernel();
  return k.message();
}

TEST(Whole, AParameterIsCopiedWholeOrNotAtAll) {
  for (bool into_tile : {false, true}) {
    EXPECT_EQ(copied_whole({64}, {64}, into_tile), "no error");
    EXPECT_EQ(copied_whole({8, 64}, {8, 64}, into_tile), "no error");
    EXPECT_EQ(copied_whole({64}, {1, 64}, into_tile), "no error");
    EXPECT_EQ(copied_whole({1, 8, 64}, {8, 64}, into_tile), "no error");
    EXPECT_THAT(copied_whole({64, 64}, {64}, into_tile),
                testing::AllOf(HasSubstr("INVALID_PROGRAM"), HasSubstr("the shapes [64, 64] and [64] differ")));
    EXPECT_THAT(copied_whole({64}, {128}, into_tile),
                testing::AllOf(HasSubstr("INVALID_PROGRAM"), HasSubstr("the shapes [64] and [128] differ")));
    EXPECT_THAT(copied_whole({64}, {32}, into_tile),
                testing::AllOf(HasSubstr("INVALID_PROGRAM"), HasSubstr("the shapes [64] and [32] differ")));
    EXPECT_THAT(copied_whole({32}, {64, 64}, into_tile),
                testing::AllOf(HasSubstr("INVALID_PROGRAM"), HasSubstr("the shapes [32] and [64, 64] differ")));
    if (into_tile)
      EXPECT_THAT(copied_whole({int64_t{1} << 32}, {64}, into_tile), HasSubstr("the whole of x is [4294967296]: a region"));
    EXPECT_EQ(copied_whole({64}, {64, 64}, into_tile), "no error");
  }
}

// The literal that the operation gives, or its message.
std::string folded(tilert_op op, std::initializer_list<tilert_number> operands) {
  Kit k;
  std::vector<tilert_expr> ids;
  for (const tilert_number& n : operands) ids.push_back(k.b.of_number(n));
  const tilert_expr made = k.b.op(op, ids.data(), static_cast<uint32_t>(ids.size()));
  const auto number = k.b.number_of(made);
  if (!number) return number.error().message;
  const std::string dtype = tilert::dtype_text(static_cast<DType>(number->dtype)).data();
  if (number->dtype == TILERT_F64) return fmt::format("{}", std::bit_cast<double>(number->bits));
  return fmt::format("{}{}", number->typed ? dtype + " " : "", static_cast<int64_t>(number->bits));
}

TEST(Literals, IntegersFoldExactlyAndFloatsInDouble) {
  const auto i = [](int64_t v) { return tilert_number{TILERT_INT64, 0, static_cast<uint64_t>(v)}; };
  const auto f = [](double v) { return tilert_number{TILERT_F64, 0, std::bit_cast<uint64_t>(v)}; };
  EXPECT_EQ(folded(TILERT_OP_MUL, {i(2), i(3)}), "6");
  EXPECT_EQ(folded(TILERT_OP_SUB, {i(INT64_MIN + 1), i(1)}), "-9223372036854775808");
  EXPECT_EQ(folded(TILERT_OP_DIV, {i(-7), i(2)}), "-4");
  EXPECT_EQ(folded(TILERT_OP_DIV, {i(7), i(-2)}), "-4");
  EXPECT_EQ(folded(TILERT_OP_MOD, {i(-7), i(3)}), "2");
  EXPECT_EQ(folded(TILERT_OP_MOD, {i(7), i(-3)}), "-2");
  EXPECT_EQ(folded(TILERT_OP_TRUNC_DIV, {i(-7), i(2)}), "-3");
  EXPECT_EQ(folded(TILERT_OP_TRUNC_MOD, {i(-7), i(2)}), "-1");
  EXPECT_EQ(folded(TILERT_OP_CEILDIV, {i(7), i(2)}), "4");
  EXPECT_EQ(folded(TILERT_OP_CEILDIV, {i(-7), i(2)}), "-3");
  EXPECT_EQ(folded(TILERT_OP_SHL, {i(-3), i(4)}), "-48");
  EXPECT_EQ(folded(TILERT_OP_SHR, {i(-3), i(1)}), "-2");
  EXPECT_EQ(folded(TILERT_OP_NOT, {i(5)}), "-6");
  EXPECT_EQ(folded(TILERT_OP_LT, {i(-1), i(1)}), "bool 1");
  EXPECT_EQ(folded(TILERT_OP_GE, {i(-1), i(1)}), "bool 0");
  EXPECT_EQ(folded(TILERT_OP_ADD, {f(0.1), f(0.2)}), "0.30000000000000004");
  EXPECT_EQ(folded(TILERT_OP_MUL, {i(3), f(0.5)}), "1.5");
  EXPECT_EQ(folded(TILERT_OP_MAX, {f(1), f(2)}), "2");
  EXPECT_EQ(folded(TILERT_OP_NEG, {f(0)}), "-0");
  EXPECT_EQ(folded(TILERT_OP_FMA, {i(2), i(3), i(4)}), "10");
  EXPECT_EQ(folded(TILERT_OP_GT, {f(1.5), i(1)}), "bool 1");
  EXPECT_EQ(folded(TILERT_OP_SELECT, {{TILERT_BOOL, 1, 0}, f(1.5), i(3)}), "3");
}

TEST(Features, AreDoneOrRefusedWithAnAlternative) {
  EXPECT_TRUE(feature_status("gemm"));
  EXPECT_TRUE(feature_status("gemm_sparse"));
  EXPECT_TRUE(feature_status("gemm_scaled"));
  EXPECT_TRUE(feature_status("scan"));
  EXPECT_TRUE(feature_status("persistent"));
  const Status refused = feature_status("tensor_memory");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("use a fragment"));
  EXPECT_EQ(feature_status("no such thing").error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace tilert::builder
