// The sample of all cases compiled by the hipRTC and comgr that are found, for the targets that they know: Debian 12's by themselves,
// those of newer suites under tools/newer_rocm. Disassembled by the same comgr.
#include <gmock/gmock.h>

#include <map>

#include "compiler/compile_thread.h"
#include "compiler/hip.h"
#include "compiler/hip_library.h"
#include "conformance/runner.h"

namespace tilert::conformance {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr size_t kEveryTrial = 3;

// Comgr's number of the action that disassembles an executable, which a compiler needs not.
int disassembling(const Comgr& comgr) { return comgr.major == 2 ? 12 : 10; }

std::string disassembly(const Comgr& comgr, const std::string& target, const std::string& object) {
  constexpr int kSource = 1, kExecutable = 8;
  const ComgrFunctions& call = comgr.call;
  ComgrHandle in, out, data, info;
  std::string text;
  if (call.amd_comgr_create_data_set(&in) || call.amd_comgr_create_data_set(&out) || call.amd_comgr_create_action_info(&info)) return text;
  call.amd_comgr_create_data(kExecutable, &data);
  call.amd_comgr_set_data(data, object.size(), object.data());
  call.amd_comgr_set_data_name(data, "kernel.co");
  call.amd_comgr_data_set_add(in, data);
  call.amd_comgr_release_data(data);
  call.amd_comgr_action_info_set_isa_name(info, isa_name(target).c_str());
  size_t count = 0, size = 0;
  if (call.amd_comgr_do_action(disassembling(comgr), info, in, out) == 0 && call.amd_comgr_action_data_count(out, kSource, &count) == 0 && count == 1 &&
      call.amd_comgr_action_data_get_data(out, kSource, 0, &data) == 0) {
    call.amd_comgr_get_data(data, &size, nullptr);
    text.resize(size);
    call.amd_comgr_get_data(data, &size, text.data());
    call.amd_comgr_release_data(data);
  }
  for (const ComgrHandle set : {in, out}) call.amd_comgr_destroy_data_set(set);
  call.amd_comgr_destroy_action_info(info);
  return text;
}

// Texts of a program's kernels for a target; empty with a reason where it is refused.
std::vector<std::string> texts_of(tilert_context* context, const Scenario& scenario, const tl::Program& program, const std::string& target, std::string& why) {
  const KernelRequest request(scenario, target.c_str());
  tilert_kernel* kernel = nullptr;
  tilert_error* error = nullptr;
  std::vector<std::string> out;
  tilert_status status = tilert_kernel_create(context, program.get(), &request.options, &kernel, &error);
  for (uint32_t i = 0; status == TILERT_OK && i < tilert_kernel_variant_count(kernel); ++i) {
    tilert_variant* raw = nullptr;
    tilert_kernel_variant(kernel, i, &raw);
    const tl::Variant variant(raw);
    const char* text = nullptr;
    size_t size = 0;
    status = tilert_variant_text(variant.get(), "source", &text, &size, &error);
    if (status == TILERT_OK) out.emplace_back(text, size);
  }
  if (status != TILERT_OK) why = (status == TILERT_UNSUPPORTED ? "refused: " : "") + tl::Error(status, error).text();
  tilert_kernel_release(kernel);
  return out;
}

class LibrariesOfRocm : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<HipLibrary> library = load_hip({});
    if (!library) GTEST_SKIP() << "no hipRTC on this machine";
    library_ = *std::move(library);
    const std::vector<std::string>& known = library_.comgr.targets;
    if (std::find(known.begin(), known.end(), target_) == known.end())
      GTEST_SKIP() << library_.location() << " (comgr " << library_.comgr.major << "." << library_.comgr.minor << ") does not know " << target_;
    Result<std::shared_ptr<Compiler>> compiler = open_hip({"", true});
    ASSERT_TRUE(compiler) << compiler.error().message;
    compilers_.add(*compiler);
    auto context = test_context();
    ASSERT_TRUE(context) << context.error().text();
    context_.emplace(*std::move(context));
  }
  Result<Binary> compile(const std::string& source) {
    CompileRequest request;
    request.language = Language::hip;
    request.output = BinaryKind::code_object;
    request.target = target_;
    request.program_name = "sample";
    request.source = source;
    return compilers_.compile(request);
  }
  std::string listing(const Binary& binary) { return disassembly(library_.comgr, target_, binary.bytes); }

  const std::string target_ = GetParam();
  HipLibrary library_;
  Compilers compilers_;
  std::optional<tl::Context> context_;
};

TEST_P(LibrariesOfRocm, CompileTheSample) {
  const std::vector<Trial> trials = sampled_trials();
  std::map<std::string, int> seen;
  int compiled = 0, refused = 0, spilled = 0;
  for (size_t i = 0; i < trials.size(); i += kEveryTrial) {
    const Scenario scenario = trials[i].row->make(trials[i].values);
    if (!refusal_on(scenario, target_.c_str()).empty() || !scenario.language.empty()) continue;
    std::string why;
    const std::vector<std::string> texts = texts_of(context_->get(), scenario, *scenario.programs.back(), target_, why);
    EXPECT_TRUE(why.empty() || why.starts_with("refused: ")) << trials[i].text() << ": " << why;
    (why.empty() ? compiled : refused) += 1;
    for (const std::string& text : texts) {
      if (seen[text]++) continue;
      Result<Binary> binary = compile(text);
      ASSERT_TRUE(binary) << trials[i].text() << ": " << binary.error().message;
      const std::string list = listing(*binary);
      EXPECT_THAT(list, HasSubstr("s_endpgm")) << trials[i].text();
      EXPECT_THAT(list, Not(HasSubstr(".long"))) << trials[i].text() << ": an instruction that the target lacks";
      spilled += !binary->is_clean();
    }
  }
  EXPECT_GE(compiled, 4 * refused);
  EXPECT_LE(6 * spilled, compiled);
}

// A product of tiles of 128x128x128, of which a wave has a part.
tl::Program product_of(tl::DType a, tl::DType w) {
  tl::Builder b("product");
  const int n = 1024;
  auto x = b.input("x", a, {n, n}), y = b.input("y", w, {n, n}), z = b.output("z", tl::f32, {n, n});
  b.grid({n / 128, n / 128}, [&](tl::Index column, tl::Index row) {
    auto s = b.shared(a, {128, 128}), t = b.shared(w, {128, 128});
    auto acc = b.fragment(tl::f32, {128, 128});
    b.clear(acc);
    b.pipelined(n / 128, tl::stages(2), [&](tl::Index k) {
      b.copy(x(row * 128, k * 128), s);
      b.copy(y(column * 128, k * 128), t);
      b.gemm(s, t, acc, tl::trans_b);
    });
    b.copy(acc, z(row * 128, column * 128));
  });
  return b.finish();
}

TEST_P(LibrariesOfRocm, ProductsTakeTheInstructionsOfTheirTypes) {
  struct Wanted {
    const char* target;
    tl::DType a, b;
    const char* instruction;
  };
  const Wanted kWanted[] = {
      {"gfx950", tl::f16, tl::f16, "v_mfma_f32_32x32x16_f16"},         {"gfx950", tl::bf16, tl::bf16, "v_mfma_f32_32x32x16_bf16"},
      {"gfx950", tl::e4m3, tl::e4m3, "v_mfma_f32_32x32x64_f8f6f4"},    {"gfx950", tl::e5m2, tl::e4m3, "v_mfma_f32_32x32x64_f8f6f4"},
      {"gfx942", tl::f16, tl::f16, "v_mfma_f32_32x32x8_f16"},          {"gfx942", tl::e4m3fnuz, tl::e4m3fnuz, "v_mfma_f32_32x32x16_fp8_fp8"},
      {"gfx942", tl::e4m3, tl::e4m3, "v_mfma_f32_32x32x8_f16"},        {"gfx942", tl::e5m2, tl::e4m3, "v_mfma_f32_32x32x8_f16"},
      {"gfx90a", tl::e4m3, tl::e4m3, "v_mfma_f32_32x32x8f16"},         {"gfx90a", tl::e5m2, tl::e5m2, "v_mfma_f32_32x32x8bf16_1k"},
      {"gfx1100", tl::e4m3, tl::e5m2, "v_wmma_f32_16x16x16_f16"},      {"gfx1201", tl::e4m3, tl::e4m3, "v_wmma_f32_16x16x16_fp8_fp8"},
      {"gfx1201", tl::e5m2, tl::e4m3, "v_wmma_f32_16x16x16_bf8_fp8"},
  };
  for (const Wanted& wanted : kWanted) {
    if (target_ != wanted.target) continue;
    std::string why;
    const tl::Program program = product_of(wanted.a, wanted.b);
    const std::vector<std::string> texts = texts_of(context_->get(), Scenario{}, program, target_, why);
    ASSERT_EQ(why, "");
    Result<Binary> binary = compile(texts.at(0));
    ASSERT_TRUE(binary) << binary.error().message;
    const std::string list = listing(*binary);
    EXPECT_THAT(list, HasSubstr(wanted.instruction)) << wanted.target;
    EXPECT_THAT(list, Not(HasSubstr("v_fma_f32"))) << wanted.target;
    EXPECT_EQ(binary->why_not_clean(), "") << wanted.target << " " << wanted.instruction;
  }
}

INSTANTIATE_TEST_SUITE_P(Rocm, LibrariesOfRocm, testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tilert::conformance
