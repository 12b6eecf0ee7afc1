// The text that holds all mutants of a kernel, and the files of verdicts.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "emulator/tool/mutants.h"
#include "emulator/tool/results.h"

namespace tilert::emulator {
namespace {

constexpr const char* kText =
    "TL_KERNEL(128, 1) k(const float* __restrict__ p0, float* p1) {\n"
    "  float* const s2 = reinterpret_cast<float*>(tl_arena + 512);\n"
    "  // 1: copy\n"
    "  tl_cp_async<16>(s2 + (v0 * 4), p0, 16);\n"
    "  tl_cp_async_commit();\n"
    "  tl_cp_async_wait<0>();\n"
    "  tl_barrier();\n"
    "  tl_move<4>(r3, s2 + (v0 * 4));\n"
    "  tl_shuffle_xor(tl_slice<1>(r7), tl_slice<1>(r6), 4);\n"
    "  p1[v0] = v5;\n"
    "}\n";

std::vector<std::string> changes_of(int line) {
  std::vector<std::string> out;
  for (const Mutant& m : tear_text(kText).mutants)
    if (m.line == line) out.push_back(m.kind + ": " + m.to);
  return out;
}

TEST(Mutants, EachOrderIsDeletedOrWeakenedAndEachOffsetShifted) {
  using testing::ElementsAre;
  EXPECT_THAT(changes_of(2), ElementsAre("shift: float* const s2 = reinterpret_cast<float*>(tl_arena + 0);"));
  EXPECT_THAT(changes_of(3), ElementsAre());
  EXPECT_THAT(changes_of(4), ElementsAre("delete: ", "shift: tl_cp_async<16>(s2 + 8 + (v0 * 4), p0, 16);", "shift: tl_cp_async<16>(s2 + (v0 * 4), p0 + 8, 16);"));
  EXPECT_THAT(changes_of(5), ElementsAre("delete: "));
  EXPECT_THAT(changes_of(6), ElementsAre("delete: ", "weaken: tl_cp_async_wait<1>();"));
  EXPECT_THAT(changes_of(7), ElementsAre("delete: "));
  EXPECT_THAT(changes_of(8), ElementsAre("shift: tl_move<4>(r3, s2 + 4 + (v0 * 4));"));
  EXPECT_THAT(changes_of(9), ElementsAre("shift: tl_shuffle_xor(tl_slice<1>(r7), tl_slice<1>(r6), 4 * 2 & 31);"));
  EXPECT_THAT(changes_of(10), ElementsAre("shift: p1[1 + v0] = v5;"));
}

TEST(Mutants, AreOfKernelsAndNotOfTheProgramsOwnFunctions) {
  const std::string function = "namespace tl_user_f {\n__device__ int f(int* p1) {\n  p1[0] = 1;\n  return 2;\n}\n}\n\n";
  const Torn torn = tear_text(function + kText);
  EXPECT_EQ(torn.mutants.size(), tear_text(kText).mutants.size());
  EXPECT_EQ(torn.body.substr(0, function.size()), function);
  EXPECT_EQ(torn.mutants.front().line, 9);
}

TEST(Mutants, TheTornTextHasTheLinesOfTheTextAndAsksForEachMutantOnce) {
  const Torn torn = tear_text(kText);
  const std::string text = kText;
  EXPECT_EQ(std::count(torn.body.begin(), torn.body.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
  for (size_t i = 0; i < torn.mutants.size(); ++i) {
    const std::string question = "tlemu_mutant(" + std::to_string(i) + ")";
    const size_t at = torn.body.find(question);
    ASSERT_NE(at, std::string::npos) << question;
    EXPECT_EQ(torn.body.find(question, at + 1), std::string::npos) << question;
    EXPECT_EQ(1 + std::count(torn.body.begin(), torn.body.begin() + static_cast<std::ptrdiff_t>(at), '\n'), torn.mutants[i].line);
  }
}

TEST(Verdicts, AreReadAsWrittenAndALineCutShortIsPassedOver) {
  Verdict verdict{"case 36 sizes M=8 K=1", "both", "0123456789ab", 7, 12, "shift", "p0[v1] = \"x\";", "p0[1 + v1] = \"x\";", "survives", "", 3};
  const std::string file = testing::TempDir() + "verdicts.jsonl", line = verdict_line(verdict);
  std::ofstream(file) << line << line.substr(0, line.size() / 2);
  std::map<std::string, Verdict> read;
  ASSERT_TRUE(read_verdicts(file, read));
  std::remove(file.c_str());
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(verdict_line(read.begin()->second), line);
}

// Whether a row of the table of reasons is found for a verdict.
bool explained(const std::string& row, const Verdict& verdict) {
  const std::string file = testing::TempDir() + "reasons.txt";
  std::ofstream(file) << "# a comment | with | three | bars\n" << row << " | because\n";
  Reasons reasons;
  EXPECT_TRUE(read_reasons(file, reasons));
  EXPECT_EQ(reasons.rows.size(), 1u);
  std::remove(file.c_str());
  return reasons.of(verdict) != nullptr;
}

TEST(Verdicts, AReasonHoldsForItsCaseItsAxesAndItsLineAlone) {
  Verdict verdict;
  verdict.trial = "case 36 sizes M=8 K=1";
  verdict.kind = "shift";
  verdict.outcome = "survives";
  verdict.from = "tl_move<16>(s12 + (v103 | 64), r4);";
  const std::string line = " | shift | tl_move<N>(sN + (vN | N), rN);";
  EXPECT_TRUE(explained("case 36 sizes" + line, verdict));
  EXPECT_TRUE(explained("case 36 sizes K=1,3" + line, verdict));
  EXPECT_TRUE(explained("case 36 sizes | shift | tl_move<N>(s12 + (vN | 64), rN);", verdict));
  EXPECT_FALSE(explained("case 36 sizes | shift | tl_move<N>(s12 + (vN | 6), rN);", verdict));
  EXPECT_TRUE(explained("case 36 sizes | shift | tl_move<N>(...64), ...N);", verdict));
  EXPECT_FALSE(explained("case 36 sizes | shift | tl_move<N>(...6), rN);", verdict));
  EXPECT_FALSE(explained("case 36 sizes | shift | ...tl_copy<N>(...", verdict));
  EXPECT_FALSE(explained("case 36 sizes K=3" + line, verdict));
  EXPECT_FALSE(explained("case 36 size" + line, verdict));
  EXPECT_FALSE(explained("case 36 sizes | delete | tl_move<N>(sN + (vN | N), rN);", verdict));
  EXPECT_FALSE(explained("case 36 sizes | unreached | tl_move<N>(sN + (vN | N), rN);", verdict));
  verdict.outcome = "unreached";
  EXPECT_TRUE(explained("case 36 sizes | unreached | tl_move<N>(sN + (vN | N), rN);", verdict));
  EXPECT_FALSE(explained("case 36 sizes" + line, verdict));
  verdict.outcome = "outcome";
  EXPECT_FALSE(explained("case 36 sizes" + line, verdict));
}

}  // namespace
}  // namespace tilert::emulator
