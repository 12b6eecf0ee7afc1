// Where a message says that something is: misuse of kernels that the call shows, and scopes opened at no known place.
#include "ir/parser.h"
#include "ir/verifier.h"
#include "misuse.h"

namespace tilert::builder {
namespace {

using testing::Not;

// A program with a tensor n that may count tiles, and the beginning of a kernel whose grid is told it is persistent.
struct Persistent : Kit {
  explicit Persistent(tilert_dtype dtype = TILERT_INT32, tilert_access access = TILERT_INOUT) {
    n = tensor("n", access, dtype, {i(1)});
  }
  tilert_tensor n{};
  void begin(bool counted = false) {
    tilert_grid g{};
    g.rank = 1;
    g.extents = keep({i(8)});
    g.flags = TILERT_GRID_PERSISTENT;
    if (counted) g.tile_count = n;
    b.at("user.cc", 42, "here");
    b.begin_kernel(g, {}, block);
    b.at("user.cc", 43, "there");
  }
};

TEST(Places, BlocksThatDoDifferentNumbersOfTilesMeetNowhere) {
  Persistent k;
  k.begin();
  k.b.grid_sync();
  EXPECT_THAT(k.message(), HasSubstr("user.cc:43 'there': grid_sync: the kernel is persistent"));
}

TEST(Places, ASecondCostIsRefusedAtItsCall) {
  Persistent k;
  for (int kernels = 0; kernels < 2; ++kernels) {
    k.begin();
    k.b.tile_cost(k.block[0], {});
    k.b.end_kernel();
  }
  EXPECT_THAT(k.message(), HasSubstr("user.cc:43 'there': tile cost: the kernel 'test' has a cost, and a program plans one"));
}

TEST(Places, ATileCountOfAnotherTypeIsRefusedAtItsKernel) {
  Persistent k(TILERT_F32);
  k.begin(true);
  EXPECT_THAT(k.message(), HasSubstr("user.cc:42 'here': kernel: the tile count n holds f32: it is the first element"));
}

TEST(Places, ATileCountThatIsAnOutputIsRefusedAtItsKernel) {
  Persistent k(TILERT_INT32, TILERT_OUT);
  k.begin(true);
  EXPECT_THAT(k.message(), HasSubstr("user.cc:42 'here': kernel: the tile count n is an output"));
}

TEST(Places, AWriteToTheTileCountIsRefusedWhereItStands) {
  Persistent k;
  k.begin(true);
  k.store(k.at(k.n, {k.i(0)}), k.lit(1));
  EXPECT_THAT(k.message(), testing::AllOf(HasSubstr("user.cc:43 'there': store: "), HasSubstr("n counts the tiles of this kernel")));
}

// Where the text of a program is read, the statement has the place.
TEST(Places, OfStatementsThatNoPersistentKernelHasAreThoseOfTheStatements) {
  const auto refused = [](const std::string& body) {
    const auto program = ir::parse("tir 1 location 1 \"user.cc\" 7 " + body);
    EXPECT_TRUE(program) << program.error().message;
    const Status status = ir::verify(*program);
    return status ? std::string() : status.error().message;
  };
  EXPECT_THAT(refused("var %x block index kernel \"k\" (%x) grid [8] persistent { 1!1: grid_sync }"),
              HasSubstr("user.cc:7: grid_sync in a persistent kernel"));
  EXPECT_THAT(refused("var %x block index buffer @n global i32 [1] inout argument 0 parameter tensor @n \"n\" "
                      "kernel \"k\" (%x) grid [8] persistent count @n { 1!1: store @n[0] = i32(1) }"),
              HasSubstr("user.cc:7: the kernel writes 'n', which counts its tiles"));
}

TEST(Places, AreNotSpokenOfWhereNoneWereGiven) {
  Kit open;
  open.kernel({open.i(4)});
  open.parallel({4});
  EXPECT_THAT(open.message(), testing::AllOf(HasSubstr("2 scopes are left open; the innermost is the parallel"), Not(HasSubstr("opened at")),
                                             Not(HasSubstr("unknown"))));
  Kit wrong;
  wrong.kernel({wrong.i(4)});
  wrong.b.end_serial();
  EXPECT_THAT(wrong.message(), testing::EndsWith("end of serial, but the innermost open scope is the kernel"));
}

TEST(Places, AreTheFileTheLineAndTheLabelOfTheScope) {
  Kit k;
  k.b.at("user.cc", 7, "rows");
  k.kernel({k.i(4)});
  k.b.at("user.cc", 9, nullptr);
  k.b.end_parallel();
  EXPECT_THAT(k.message(), HasSubstr("user.cc:9: end of parallel: end of parallel, but the innermost open scope is the kernel opened at user.cc:7 'rows'"));
}

// What helps where an atomic operation does not take a buffer's type.
TEST(Places, AtomicOperationsOnBitsOfFloatsSayToReinterpret) {
  const auto said = [](tilert_atomic_op op, tilert_dtype dtype) {
    Kit k;
    const tilert_tensor t = k.tensor("t", TILERT_INOUT, dtype, {k.i(64)});
    k.kernel({k.i(1)});
    const tilert_region to = k.at(t, {k.i(0)});
    tilert_atomic_options options{};
    options.order = TILERT_ORDER_RELAXED;
    options.scope = TILERT_ORDER_DEVICE;
    k.b.atomic(op, &to, k.num(1), options, nullptr);
    return k.message();
  };
  for (const tilert_atomic_op op : {TILERT_ATOMIC_AND, TILERT_ATOMIC_OR, TILERT_ATOMIC_XOR}) {
    EXPECT_THAT(said(op, TILERT_F32), testing::AllOf(HasSubstr("declare it u32 and reinterpret"), Not(HasSubstr("wider"))));
    EXPECT_THAT(said(op, TILERT_F64), HasSubstr("declare it u64 and reinterpret"));
    EXPECT_THAT(said(op, TILERT_F16), HasSubstr("declare an integer buffer of 32 or 64 bits"));
    EXPECT_THAT(said(op, TILERT_INT16), HasSubstr("declare it wider"));
  }
  EXPECT_THAT(said(TILERT_ATOMIC_ADD, TILERT_INT8), HasSubstr("declare it wider"));
}

}  // namespace
}  // namespace tilert::builder
