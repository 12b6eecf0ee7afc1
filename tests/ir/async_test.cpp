// Barriers and tensor copies without an engine: phases that complete and those that cannot, and what the verifier lets by.
#include "ir/async.h"
#include "ir/interpreter_support.h"
#include "ir/verifier.h"

namespace tilert::ir {
namespace {

using samples::error_of;
using samples::program;
using samples::tensor;

// A f32 matrix of 8 x 8 in, one out, a block; `body` may name %i, a tile, a ring of two and two barriers of two arrivals.
Program with_barriers(const std::string& body, const std::string& kernel = "grid [1]") {
  return program(
      "var %x block index\nvar %i loop index\nvar %v let u64\nvar %k loop index\n"
      "buffer @A global f32 [8, 8] in argument 0\nbuffer @B global f32 [8, 8] inout argument 1\n"
      "buffer @t shared f32 [8, 8]\nbuffer @r shared f32 [2, 8, 8]\nbuffer @full barrier u64 [2] arrivals 2\n"
      "parameter tensor @A \"A\"\nparameter tensor @B \"B\"\nkernel \"k\" (%x) " + kernel + " {\nalloc @t\nalloc @r\nalloc @full\n" + body + "\n}\n");
}

std::string run_barriers(const std::string& body) {
  const Program p = with_barriers(body);
  std::vector<float> a(64), b(64);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  const std::string error = error_of(p, HostArguments{{tensor(a), tensor(b)}, {}});
  return error.empty() || error != "no error" ? error : a == b ? "copied" : "other";
}

std::string barriers_verdict(const std::string& body, const std::string& kernel = "grid [1]") {
  const Status status = verify(with_barriers(body, kernel), Stage::tile);
  return status ? "right" : status.error().message;
}

const char kLoadIntoRing[] = "async load @A[0:8, 0:8] -> @r[1:1, 0:8, 0:8] on @full[1]\n";
const char kOutOfRing[] = "copy @r[1:1, 0:8, 0:8] -> @B[0:8, 0:8]\n";

TEST(Async, APhaseCompletesWithItsLastArrivalAndByte) {
  const std::string load = kLoadIntoRing, out = kOutOfRing, expect = "async expect @full[1] number 256\n", arrive = "async arrive @full[1]\n";
  const std::string wait = "async wait @full[1] phase 0\n";
  EXPECT_EQ(run_barriers(expect + load + arrive + wait + out), "copied");
  EXPECT_EQ(run_barriers(arrive + load + expect + wait + out), "copied") << "bytes may come before they are announced";
  for (const std::string& short_of : {expect + load, expect + arrive, "async expect @full[1] number 128\n" + load + arrive})
    EXPECT_NE(run_barriers(short_of + wait + out).find("phase 0, which nothing can complete"), std::string::npos) << short_of;
}

TEST(Async, ABarrierGoesOnFromPhaseToPhase) {
  const std::string both = "async arrive @full[0]\nasync arrive @full[0]\n", wait = "async wait @full[0] phase ", out = kOutOfRing, load = kLoadIntoRing;
  const std::string tail = "async expect @full[1] number 256\nasync arrive @full[1]\n" + load + out;
  EXPECT_EQ(run_barriers(wait + "-1\n" + both + wait + "0\n" + both + wait + "1\n" + both + wait + "2\n" + tail), "copied");
  EXPECT_NE(run_barriers(both + wait + "1\n" + tail).find("phase 1"), std::string::npos);
  EXPECT_NE(run_barriers(both + both + wait + "0\n" + tail).find("phase 0"), std::string::npos) << "a barrier remembers one phase";
}

// An issuer that fills both slots of the ring three times over, and work that waits for each and gives it back.
std::string roles_with(const std::string& free_phase, const std::string& gives_back, const std::string& trips) {
  return "roles issue { for serial %i = 0 to 6 { async wait @full[0] phase " + free_phase +
         "\nasync expect @full[1] number 128\nasync expect @full[1] number 128\nasync load @A[0:8, 0:8] -> @r[mod(%i, 2):1, 0:8, 0:8] on @full[1]\n} }\n"
         "work { for serial %k = 0 to " + trips + " { async wait @full[1] phase %k\ncopy @r[mod(%k, 2):1, 0:8, 0:8] -> @B[0:8, 0:8]\n" + gives_back + "} }";
}

TEST(Async, IssuersGoOnWhereTheWorkWaits) {
  const std::string both = "async arrive @full[0]\nasync arrive @full[0]\n", one = "async arrive @full[0]\n";
  EXPECT_EQ(run_barriers(roles_with("sub(%i, 1)", both, "6")), "copied");
  EXPECT_NE(run_barriers(roles_with("sub(%i, 1)", both, "7")).find("wait_barrier waits for phase 6"), std::string::npos) << "the issuer has ended";
  EXPECT_EQ(run_barriers(roles_with("sub(%i, 1)", both, "5")), "copied") << "the issuer may end ahead of the work";
  EXPECT_NE(run_barriers(roles_with("sub(%i, 1)", both, "4")).find("an issuing role waits"), std::string::npos);
  EXPECT_NE(run_barriers(roles_with("sub(%i, 1)", one, "6")).find("wait_barrier waits for phase 1"), std::string::npos) << "no slot comes back";
  EXPECT_NE(run_barriers(roles_with("%i", both, "6")).find("wait_barrier waits for phase 0"), std::string::npos) << "both wait for the other";
}

TEST(Async, StoresAreMadeAtOnce) {
  const std::string in = "copy @A[0:8, 0:8] -> @t[0:8, 0:8]\n";
  EXPECT_EQ(run_barriers(in + "async store @t[0:8, 0:8] -> @B[0:8, 0:8]\nasync commit\nasync read\nasync written number 1\n"), "copied");
}

TEST(Async, TheVerifierKnowsWhatBarriersAreFor) {
  const auto holds = [](const std::string& text, const char* words) { return text.find(words) != std::string::npos ? "" : text; };
  EXPECT_EQ(barriers_verdict("async arrive @full[0]\nasync wait @full[0] phase 0\n"), "right");
  EXPECT_EQ(holds(barriers_verdict("async wait @full[0] phase 0\n"), "nothing arrives at 'full'"), "");
  EXPECT_EQ(holds(barriers_verdict("async arrive @full[2]\n"), "no barrier 2 among the 2"), "");
  EXPECT_EQ(holds(barriers_verdict("async arrive @t[0, 0]\n"), "takes a barrier"), "");
  EXPECT_EQ(holds(barriers_verdict("let %v = load @full[0]\n"), "no memory"), "");
  EXPECT_EQ(holds(barriers_verdict("", "grid [1] persistent"), "persistent"), "");
  EXPECT_EQ(holds(barriers_verdict("for serial %k = 0 to 2 {\nalloc @full\n}\n"), "set up once"), "");
  EXPECT_EQ(holds(barriers_verdict("async expect @full[0]\n"), "0 bytes"), "");
  EXPECT_EQ(holds(barriers_verdict("async load @A[0:8, 0:8] -> @r[0:2, 0:8, 0:8] on @full[0]\n"), "a part of the tile"), "");
  EXPECT_EQ(holds(barriers_verdict("async load @A[0:4, 0:8] -> @t[0:4, 0:8] on @full[0]\n"), "a part of the tile"), "");
  EXPECT_EQ(holds(barriers_verdict("async store @A[0:8, 0:8] -> @t[0:8, 0:8]\n"), "must be global"), "");
  EXPECT_EQ(holds(barriers_verdict("async read number 17\n"), "17 groups"), "");
}

}  // namespace
}  // namespace tilert::ir
