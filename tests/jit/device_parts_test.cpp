// Device parts that no generated kernel calls yet compile with NVRTC for their architectures, with nothing for ptxas to
// complain of. Those that are emitted are compiled with the programs of tests/conformance. Skipped by name without NVRTC.
#include <gmock/gmock.h>

#include "codegen/device_text.h"
#include "codegen/product_text.h"
#include "compiler/compiler.h"
#include "compiler/nvrtc.h"
#include "device_files.h"
#include "emulator/recipe_texts.h"

namespace tilert {
namespace {

constexpr const char* kFilesOfParts[] = {"sync.cuh", "products.cuh", "copies.cuh"};

const char kGeneral[] = R"(
TL_KERNEL(64, 1) k(int* out, const int* in, tl_u32* word) {
  tl_u64* const bar = reinterpret_cast<tl_u64*>(tl_arena + 0);
  out[0] = static_cast<int>(tl_ballot(in[tl_thread()] > 3));
  out[1] = tl_any(in[tl_thread()] > 4) + tl_all(in[0] < 3);
  tl_u32 votes[1], from_lane[1];
  tl_vote(votes, in[tl_thread()] > 5);
  tl_shuffle_lane(from_lane, votes, out[0] & 31);
  out[2] = static_cast<int>(from_lane[0]);
  tl_named_barrier_arrive(2, 64);
  tl_mbarrier_init(bar, 3);
  tl_cp_async<16>(tl_arena + 64, in, 16);
  tl_cp_async_arrive(bar);
  tl_wait_at_least(word, 3);
  tl_set_word(word, 4);
  tl_grid_barrier(word);
}
)";

const char kHopper[] = R"(
TL_KERNEL(64, 1) k(const __grid_constant__ tl_tensor_map map, int* out, float* floats) {
  tl_wait_for_grids();
  tl_launch_dependents();
  tl_u64* const bar = reinterpret_cast<tl_u64*>(tl_arena + 0);
  float* const s = reinterpret_cast<float*>(tl_arena + 64);
  tl_mbarrier_wait_cluster(bar, 1);
  floats[0] = *tl_cluster_pointer(s, 1) + tl_cluster_load(s + 1, 1);
  out[0] = static_cast<int>(tl_cluster_load(bar + 2, 1));
  tl_cluster_store(s, 1, floats[1]);
  tl_cluster_store(bar + 3, 1, bar[4]);
  tl_tma_reduce_1d<0>(map, tl_arena + 128, 1);
  tl_tma_reduce_2d<1>(map, tl_arena + 128, 1, 2);
  tl_tma_reduce_3d<2>(map, tl_arena + 128, 1, 2, 3);
  tl_tma_reduce_4d<3>(map, tl_arena + 128, 1, 2, 3, 4);
  tl_tma_reduce_5d<4>(map, tl_arena + 128, 1, 2, 3, 4, 5);
  tl_tma_reduce_5d<5>(map, tl_arena + 128, 1, 2, 3, 4, 5);
  tl_tma_load_1d_multicast(tl_arena + 128, map, bar, 1, 3);
  tl_tma_load_3d_multicast(tl_arena + 128, map, bar, 1, 2, 3, 3);
  tl_tma_load_4d_multicast(tl_arena + 128, map, bar, 1, 2, 3, 4, 3);
  tl_tma_load_5d_multicast(tl_arena + 128, map, bar, 1, 2, 3, 4, 5, 3);
}
)";

// One kernel for a form: accumulators of `words` elements; both sources of A where `majors` names them.
std::string product_kernel(int number, const std::string& element, int words, const std::string& call, const std::string& source, const std::string& others = "b[0], 1") {
  const std::string count = std::to_string(words), hold = element == "float" ? "tl_wgmma_hold" : "tl_wgmma_hold_words";
  return "TL_KERNEL(128, 1) k" + std::to_string(number) + "(" + element + "* out, const tl_u32* in) {\n  " + element + " d[" + count + "];\n  tl_u32 r[4];\n"
         "  tl_u64 a[1];\n  tl_u64 b[1];\n  for (int i = 0; i < " + count + "; i += 1) d[i] = 0;\n  for (int i = 0; i < 4; i += 1) r[i] = in[tl_thread() * 4 + i];\n"
         "  tl_wgmma_describe<32>(a, tl_arena + 0, 16, 256);\n  tl_wgmma_describe<128>(b, tl_arena + 8192, 8192, 1024);\n"
         "  tl_wgmma_hold_words(r);\n  " + hold + "(d);\n  tl_wgmma_fence();\n  " + call + "(d, " + source + ", " + others + ");\n  tl_wgmma_commit();\n  " + hold +
         "(d);\n  tl_wgmma_wait<0>();\n  " + hold + "(d);\n  for (int i = 0; i < " + count + "; i += 1) out[tl_thread() * " + count + " + i] = d[i];\n}\n";
}

std::string products(int n) {
  static const struct {
    const char *sums, *a, *b;
  } kForms[] = {{"float", "tl_f16", "tl_f16"},    {"float", "tl_bf16", "tl_bf16"}, {"float", "tl_tf32", "tl_tf32"}, {"float", "tl_e4m3", "tl_e5m2"},
                {"float", "tl_e5m2", "tl_e4m3"},  {"int", "tl_i8", "tl_u8"},       {"int", "tl_u8", "tl_i8"},       {"tl_f16", "tl_f16", "tl_f16"},
                {"tl_f16", "tl_e4m3", "tl_e4m3"}};
  std::string out = "\n";
  int number = 0;
  for (const auto& form : kForms) {
    const std::string sums = form.sums, element = sums == "tl_f16" ? "tl_u32" : sums;
    const std::string of = "<" + std::to_string(n) + ", " + sums + ", " + form.a + ", " + form.b + ", ";
    const bool majors = std::string(form.a).ends_with("f16");
    const int words = sums == "tl_f16" ? n / 4 : n / 2;
    for (const char* mn : {"0, 0", "1, 0", "0, 1", "1, 1"})
      if (majors || mn[0] + mn[3] == '0' + '0') out += product_kernel(number++, element, words, "tl_wgmma" + of + mn + ">", "a[0]");
    if (sums != "tl_f16") out += product_kernel(number++, element, words, "tl_wgmma_sp" + of + "0>", "a[0]", "b[0], r[0], 1");
    for (const char* mn : {"0", "1"})
      if (majors || mn[0] == '0') out += product_kernel(number++, element, words, "tl_wgmma_rs" + of + mn + ">", "r");
  }
  return out;
}

Compilers& compilers_of_parts() {
  static Compilers* instance = [] {
    auto* made = new Compilers;
    made->add(Language::cuda, [] { return open_nvrtc(); });
    return made;
  }();
  return *instance;
}

class DeviceParts : public testing::Test {
 protected:
  void SetUp() override {
    if (!compilers_of_parts().find(Language::cuda)) GTEST_SKIP() << "no NVRTC on this machine";
  }
  static void expect_clean(const std::string& body, const std::string& target, std::vector<std::string> entries) {
    CompileRequest request;
    request.target = target;
    request.source = codegen::device_text("cuda", body) + codegen::product_forms(body) + body;
    request.entry_names = std::move(entries);
    const Result<Binary> binary = compilers_of_parts().compile(request);
    ASSERT_TRUE(binary) << target << ": " << binary.error().message;
    // ptxas 13.0 gives any tensor load a stack frame of 8 bytes there.
    if (target == "sm_120a" && body.find("tl_tma_load") != body.npos) return;
    EXPECT_TRUE(binary->is_clean()) << target << ": " << binary->why_not_clean();
  }
};

TEST_F(DeviceParts, OfEveryArchitectureCompile) {
  for (const char* target : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"}) expect_clean(kGeneral, target, {"k"});
}

TEST_F(DeviceParts, FromHopperOnCompile) {
  for (const char* target : {"sm_90a", "sm_100a", "sm_120a"}) expect_clean(kHopper, target, {"k"});
}

TEST_F(DeviceParts, WarpgroupProductsCompile) {
  for (int n : {16, 96}) expect_clean(products(n), "sm_90a", {"k0"});
}

// What the emulator proves right is what a GPU gets.
TEST_F(DeviceParts, WholeKernelsOverThemCompileWithoutSpillsOrSerializedProducts) {
  expect_clean(std::string("\n") + emulator::kPersistentGemm, "sm_90a", {"gemm"});
  expect_clean("\n" + emulator::clustered_gemm(), "sm_90a", {"gemm"});
  expect_clean("\n" + emulator::attention(), "sm_90a", {"attention"});
}

TEST(DevicePartsOfTheList, AreAllCompiled) {
  const std::string all = std::string(kGeneral) + kHopper + products(16);
  for (const char* name : kFilesOfParts)
    for (const auto& file : device_files::kFiles) {
      if (file.name != name) continue;
      for (size_t at = file.text.find("//@ tl_"); at != file.text.npos; at = file.text.find("//@ tl_", at + 1)) {
        const std::string part(file.text.substr(at + 4, file.text.find('\n', at) - at - 4));
        if (part == "tl_sums") continue;  // a type of the products' accumulators
        EXPECT_NE(all.find(part), std::string::npos) << part;
      }
    }
}

}  // namespace
}  // namespace tilert
