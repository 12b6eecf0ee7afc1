// The .tir text: what is printed is read back the same, goldens are what people see, hostile text is only ever an
// error.
#include <gtest/gtest.h>

#include <clocale>
#include <fstream>
#include <sstream>

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/random_program.h"
#include "ir/sample_programs.h"
#include "ir/verifier.h"
#include "ir/visit.h"

namespace tilert::ir {
namespace {

std::string golden_path(const std::string& name) { return std::string(TILERT_SOURCE_DIR) + "/tests/ir/golden/" + name; }

// The golden file's text; a missing one fails the test.
std::string golden(const std::string& name) {
  std::ifstream file(golden_path(name), std::ios::binary);
  EXPECT_TRUE(file.good()) << golden_path(name) << " is missing";
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const ParseOptions kTrusted{.allow_source = true};

std::string error_of(std::string_view text) {
  auto result = parse(text, "t");
  return result ? "no error" : result.error().message;
}

TEST(Text, TheGemmPrintsAsItsGolden) { EXPECT_EQ(print(samples::gemm(DType::f16, 128, 64, 32)), golden("gemm.tir")); }

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, IsReadAndPrintedBackTheSame) {
  const std::string text = golden(GetParam());
  auto program = parse(text, GetParam(), kTrusted);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(print(*program), text);
}
INSTANTIATE_TEST_SUITE_P(Files, Golden,
                         testing::Values("gemm.tir", "every_statement.tir", "lowered.tir", "source_kernel.tir"));

TEST(Text, HandwrittenNamesWithoutNumbersResolve) {
  auto p = parse(R"(tir 1
var %N dim index
dim %N
buffer @A global f32 [%N] in argument 0
buffer @B global f32 [%N] out argument 1
parameter tensor @A "A"
parameter tensor @B "B"
var %x block index
var %i loop index
var %v let f32
kernel "double" (%x) grid [div(add(%N, 127), 128)] {
  parallel (%i : 128) {
    let %v = load @A[add(mul(%x, 128), %i)]
    store @B[add(mul(%x, 128), %i)] = mul(%v, f32(2.0))
  }
}
)");
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->buffers.size(), 2u);
  EXPECT_EQ(p->buffers[0].strides.size(), 1u);
  auto again = parse(print(*p));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(canonical_text(*again), canonical_text(*p));
}

TEST(Text, ViewsAndLayoutsComeBackTheSame) {
  auto p = parse(R"(tir 1
var %x block index
var %i loop index
var %j loop index
buffer @A global f32 [8, 32] out argument 0
buffer @T global f32 [32, 8] strides [1, 32] strided out argument 0
buffer @t shared f32 [8, 32] layout custom (%i, %j) = add(mul(%i, 36), %j) must
buffer @u shared u8 [1024] view @t
buffer @s shared f16 [4, 64] layout swizzle_128
buffer @f fragment f32 [8, 32]
buffer @g fragment u32 [256] view @f
parameter tensor @A "A"
kernel "k" (%x) grid [1] {
  alloc @t
  alloc @f
  1: fill @u[0 : 1024] = u8(0)
  2: fill @g[0 : 256] = u32(1)
  3: copy @f[0 : 8, 0 : 32] -> @A[0 : 8, 0 : 32]
}
)");
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->buffers[3].view_of, 2u);
  EXPECT_EQ(p->buffers[2].layout.kind, TileLayout::custom);
  EXPECT_TRUE(p->buffers[2].layout.must);
  auto again = parse(print(*p));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(print(*again), print(*p));
  // Canonical: what nothing uses is dropped, what a used view shows stays.
  const Program canonical = clone(*p, true);
  EXPECT_EQ(canonical.buffers.size(), 5u);
  EXPECT_EQ(canonical_text(*again), canonical_text(*p));
}

TEST(Text, TablesOfPointersComeBackTheSameAndAreNoTensors) {
  const std::string text = R"(tir 1
var %N.0 dim index
var %x.1 block index
var %v.2 let f32
dim %N.0
buffer @W.0 global f32 [%N.0, 4, 8] in argument 0 table
buffer @Z.1 global f32 [%N.0, 4, 8] strides [0, 16, 1] strided inout argument 1 table
parameter tensor @W.0 "W"
parameter tensor @Z.1 "Z"
kernel "k" (%x.1) grid [%N.0] {
  1: let %v.2 = load @W.0[%x.1, 1, 2]
  2: store @Z.1[%x.1, 1, 2] = %v.2
}
)";
  auto p = parse(text);
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(print(*p), text);
  EXPECT_TRUE(verify(*p));
  EXPECT_TRUE(p->buffer(0).strides[0]->is_constant() && p->buffer(0).strides[0]->as_int() == 0);
  EXPECT_EQ(p->buffer(0).strides[1]->as_int(), 8);
  std::string tensor = text;
  for (size_t at; (at = tensor.find(" table")) != std::string::npos;) tensor.erase(at, 6);
  auto other = parse(tensor);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_NE(canonical_text(*p), canonical_text(*other));
  EXPECT_EQ(canonical_text(clone(*p)), canonical_text(*p));
}

TEST(Text, NarrowTypesComeBackTheSame) {
  auto p = parse(R"(tir 1
var %N dim index
dim %N
buffer @A global i4 [%N, 17] in argument 0
buffer @B global e2m3 [3, %N] inout argument 1
parameter tensor @A "A"
parameter tensor @B "B"
buffer @t shared i4 [4, 16]
buffer @f fragment f32 [16, 16]
buffer @c fragment f32 [16, 16]
buffer @q fragment e5m2 [16, 16]
var %x block index
var %i loop index
var %j loop index
var %v let f32
kernel "narrow" (%x) grid [1] {
  alloc @t
  copy @A[mul(%x, 4):4, 0:16] -> @t[0:4, 0:16]
  alloc @f
  fill @f[0:16, 0:16] = f32(1.0)
  alloc @c
  gemm @f[0:16, 0:16], @f[0:16, 0:16], @c[0:16, 0:16] tf32 accumulate false
  alloc @q
  parallel (%i : 16, %j : 16) {
    let %v = load @c[%i, %j]
    store @q[%i, %j] = cast_nonsat<e5m2>(%v)
  }
}
)");
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->buffers[0].strides[0], p->arena->index(18));
  const std::string text = print(*p);
  EXPECT_EQ(text.find("strides"), std::string::npos) << text;
  EXPECT_NE(text.find(" tf32 "), std::string::npos) << text;
  auto again = parse(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(print(*again), text);
}

TEST(Text, RandomProgramsComeBackTheSame) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Program p = samples::RandomProgram(seed).make();
    const std::string text = print(p);
    auto q = parse(text, "random", kTrusted);
    ASSERT_TRUE(q) << seed << "\n" << q.error().message << "\n" << text;
    ASSERT_EQ(print(*q), text) << seed;
    ASSERT_EQ(canonical_text(*q), canonical_text(p)) << seed;
    const std::string bare = print(p, {.canonical = true});
    auto r = parse(bare, "bare", kTrusted);
    ASSERT_TRUE(r) << seed << "\n" << r.error().message;
    ASSERT_EQ(print(*r, {.canonical = true}), bare) << seed;
  }
}

TEST(Text, ACopyPrintsTheSame) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Program p = samples::RandomProgram(seed).make();
    EXPECT_EQ(print(clone(p)), print(p)) << seed;
    const Program canonical = clone(p, true);
    EXPECT_EQ(print(clone(canonical, true)), print(canonical)) << seed;
  }
}

TEST(Text, SharedExpressionsPrintInProportionToTheirNodes) {
  samples::Hand h;
  const Expr n = h.dim("N");
  Expr e = n;
  for (int i = 0; i < 64; ++i) e = h.p.arena->make(Op::add, {e, e});
  h.kernel("k", {e});
  const std::string text = print(h.p);
  EXPECT_LT(text.size(), 8000u);
  auto q = parse(text);
  ASSERT_TRUE(q) << q.error().message;
  EXPECT_EQ(print(*q), text);
  EXPECT_EQ(q->arena->size(), 65u);
}

TEST(Text, DeepExpressionsAreReadBackAndDeeperOnesRefused) {
  const auto chain = [](int links) {
    samples::Hand h;
    Expr e = h.dim("N");
    for (int i = 0; i < links; ++i) e = h.p.arena->make(Op::add, {e, h.i(i)});
    h.kernel("k", {e});
    return print(h.p);
  };
  const std::string deep = chain(static_cast<int>(kMaxExpressionDepth));
  auto q = parse(deep);
  ASSERT_TRUE(q) << q.error().message;
  EXPECT_EQ(print(*q), deep);
  for (const int links : {static_cast<int>(kMaxExpressionDepth) + 1, 20000}) {
    auto refused = parse(chain(links));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("operations deep"), std::string::npos) << refused.error().message;
  }
}

TEST(Text, CanonicalTextIgnoresNamesLabelsLocationsAndUnusedDeclarations) {
  const Program plain = samples::gemm(DType::f16, 64, 64, 32);
  Program other = samples::gemm(DType::f16, 64, 64, 32);
  for (Var& v : other.vars) v.name += "_";
  for (Buffer& b : other.buffers) b.name += "_";
  for (Parameter& p : other.parameters) p.name += "_";
  other.name = "another";
  other.locations.push_back({"x.cc", 3, "here"});
  Buffer unused{"unused", DType::f32, Scope::shared, {other.arena->index(77)}};
  const BufferId id = other.add_buffer(unused);
  Block& body = other.kernels[0].body;
  body = rewrite_block(body, [](const StmtPtr& s) {
    Stmt copy = *s;
    copy.location = 1;
    copy.ordinal = copy.ordinal * 2 + 3;
    return Block{std::make_shared<const Stmt>(copy)};
  });
  body.insert(body.begin() + 1, make_stmt(Alloc{id}, 1));
  other.add_var(VarKind::dim, DType::index, "Z");
  other.dims.insert(other.dims.begin(), Dim{static_cast<VarId>(other.vars.size() - 1)});
  EXPECT_EQ(canonical_text(plain), canonical_text(other));
}

TEST(Text, CanonicalTextTellsDifferentProgramsApart) {
  const std::string base = canonical_text(samples::gemm(DType::f16, 64, 64, 32));
  EXPECT_NE(base, canonical_text(samples::gemm(DType::bf16, 64, 64, 32)));
  EXPECT_NE(base, canonical_text(samples::gemm(DType::f16, 64, 32, 32)));
  Program hinted = samples::gemm(DType::f16, 64, 64, 32);
  hinted.kernels[0].hints.set(HintKind::threads, 128);
  EXPECT_NE(base, canonical_text(hinted));
  Program swapped = samples::gemm(DType::f16, 64, 64, 32);
  std::swap(swapped.dims[0], swapped.dims[1]);
  EXPECT_NE(base, canonical_text(swapped)) << "the order of used dims is part of the key";
}

TEST(Text, TheLocaleChangesNothing) {
  const Program p = samples::gemm(DType::f16, 64, 64, 32);
  const std::string want = print(p);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) {
    if (!std::setlocale(LC_ALL, name)) continue;
    EXPECT_EQ(print(p), want) << name;
  }
  std::setlocale(LC_ALL, "C");
}

TEST(Text, ErrorsSayWhereAndWhatWasExpected) {
  EXPECT_EQ(error_of(""), "t:1:1: expected the first line 'tir 1', found the end of the text");
  EXPECT_EQ(error_of("tir 2\n"), "t:1:1: this is tir version 2; version 1 is what can be read here");
  EXPECT_EQ(parse("tir 9").error().code, Code::kUnsupported);
  EXPECT_EQ(error_of("tir 1\nvar %x looop index\n"),
            "t:2:8: expected dim, scalar, block, loop, let or thread, found 'looop'");
  EXPECT_EQ(error_of("tir 1\nvar %x.3 loop index\n"), "t:2:5: declarations are numbered in order: expected 0 here");
  const std::string start =
      "tir 1\nvar %x block index\nvar %f let f32\nbuffer @a shared f32 [8]\nkernel \"k\" (%x) grid [1] {\n";
  EXPECT_EQ(error_of(start + "  store @b[%x] = f32(0x0)\n}"), "t:6:9: buffer 'b' is not declared");
  EXPECT_EQ(error_of(start + "  store @a[%y] = f32(0x0)\n}"), "t:6:12: variable 'y' is not declared");
  EXPECT_EQ(error_of(start + "  store @a[%x] = add(%f, %x)\n}"), "t:6:21: add does not take (f32, index)");
  EXPECT_EQ(error_of(start + "  store @a[%x] = sine(%f)\n}"), "t:6:18: 'sine' is no operation");
  EXPECT_EQ(error_of(start + "  store @a[%x] = i8(128)\n}"), "t:6:21: '128' is no value of i8");
  EXPECT_EQ(error_of(start + "  call warp (1)\n}"), "t:6:8: expected the name of a primitive, found 'warp'");
  EXPECT_EQ(error_of(start),
            "t:6:1: expected a statement (alloc, copy, fill, gemm, reduce, fold, scan, pick, sort, reinterpret, parallel, threads, for, if, "
            "while, roles, break, continue, return, let, store, atomic, together, async, print, assert, inline, call_device, move, call, group) or '}', found the end of the text");
  EXPECT_EQ(error_of("tir 1\nvar %x block index\nkernel \"k\" (%x) grid [1] hint haste 4 {}"),
            "t:3:31: this is not the name of a hint");
  EXPECT_EQ(error_of("tir 1\nprogram \"never ends\n"), "t:2:9: this string does not end on its line");
}

TEST(Text, SourceTextIsRefusedUnlessTheCallerAllowsIt) {
  for (const char* file : {"every_statement.tir", "source_kernel.tir"}) {
    const auto refused = parse(golden(file));
    ASSERT_FALSE(refused) << file;
    EXPECT_EQ(refused.error().code, Code::kSourceRefused);
  }
}

TEST(Text, DepthAndSizeAreLimited) {
  std::string deep = "tir 1\nkernel \"k\" () grid [";
  for (int i = 0; i < 100000; ++i) deep += "neg(";
  EXPECT_NE(error_of(deep).find("expressions nest more than 256 deep"), std::string::npos);
  std::string blocks = "tir 1\nkernel \"k\" () grid [1] {";
  for (int i = 0; i < 100000; ++i) blocks += "if true {";
  EXPECT_NE(error_of(blocks).find("blocks nest more than 64 deep"), std::string::npos);
  EXPECT_NE(parse("tir 1 //", "t", {.bytes = 4}).error().message.find("is the limit"), std::string::npos);
}

TEST(Text, MutantsAreReadOrRefusedAndNeverCrash) {
  std::mt19937_64 random(11);
  std::vector<std::string> seeds = {golden("gemm.tir"), golden("every_statement.tir"), golden("lowered.tir")};
  for (uint64_t s = 0; s < 5; ++s) seeds.push_back(print(samples::RandomProgram(s).make()));
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = seeds[random() % seeds.size()];
    for (uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % text.size();
      const size_t from = random() % text.size();
      switch (random() % 5) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random() % 20); break;
        case 2: text.insert(at, text.substr(from, 1 + random() % 40)); break;
        case 3: text.resize(at); break;
        default: text[at] = "0123456789-()[]{}<>,:=!_%@$."[random() % 28]; break;
      }
      if (text.empty()) text = "t";
    }
    auto p = parse(text, "mutant", kTrusted);
    if (!p) continue;
    ++read;
    const std::string printed = print(*p);
    auto again = parse(printed, "again", kTrusted);
    ASSERT_TRUE(again) << again.error().message << "\n" << printed;
    ASSERT_EQ(print(*again), printed);
    (void)canonical_text(*p);
  }
  EXPECT_GT(read, 100) << "some mutants are programs still";
}

}  // namespace
}  // namespace tilert::ir
