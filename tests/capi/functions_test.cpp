// Device functions through the C and C++ interfaces: text and back, keys, who may read them, misuse by name, what a target needs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tilert.hpp"

namespace {

using testing::HasSubstr;
using testing::Not;

const char kCuda[] = "__device__ float half_of(float x) { return x / 2; }";
const char kLlvm[] = "define float @half_of(float %x) {\n  %r = fmul float %x, 0.5\n  ret float %r\n}";

tl::Context context(uint32_t flags = TILERT_ALLOW_SOURCE) {
  tilert_context_options options{};
  options.cache_mode = TILERT_CACHE_MEMORY;
  options.flags = flags;
  return *tl::Context::create(options);
}

// x[i] = half_of(x[i]) with the given texts; `more` may declare besides.
tl::Program halves(std::initializer_list<tl::SourceText> texts, const std::function<void(tl::Builder&)>& more = {}) {
  tl::Builder b("halves");
  if (more) more(b);
  auto x = b.inout("x", tl::f32, {64});
  const auto half = b.device_function("half_of", {tl::f32}, tl::f32, texts);
  for (int kernel = 0; kernel < 2; ++kernel)
    b.grid({1}, [&](tl::Index) { b.parallel({64}, [&](tl::Index i) { x(i) = b.call_device(half, x(i)); }); });
  return b.finish();
}

std::string source(const tl::Program& program, const char* target) {
  auto kernel = context().try_kernel(program, target);
  if (!kernel) return kernel.error().message();
  tilert_variant* raw = nullptr;
  tilert_kernel_variant(kernel->get(), 0, &raw);
  auto text = tl::Variant(raw).text("source");
  return text ? *text : std::string(text.error().message());
}

std::string hash(const tl::Program& program) {
  const char* text = nullptr;
  return tilert_program_hash(program.get(), &text, nullptr) == TILERT_OK ? text : "";
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(DeviceFunctions, AreReadAndPrintedBackAndAreCode) {
  const tl::Program program = halves({{"cuda", kCuda}, {"llvm", kLlvm}});
  EXPECT_EQ(tilert_program_has_source(program.get()), 1);
  const std::string text = *program.text();
  auto refused = tl::Program::parse(text);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status(), TILERT_SOURCE_REFUSED);
  EXPECT_THAT(refused.error().message(), HasSubstr("a device function is code"));
  auto again = tl::Program::parse(text, nullptr, TILERT_ALLOW_SOURCE);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again->text(), text);
  EXPECT_EQ(hash(*again), hash(program));
  auto kernel = context(0).try_kernel(program, "sm_80");
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().status(), TILERT_SOURCE_REFUSED);
}

TEST(DeviceFunctions, ThatACallNamesArePartOfTheKeyWhateverTheOrderOfTexts) {
  const std::string key = hash(halves({{"cuda", kCuda}, {"llvm", kLlvm}}));
  EXPECT_EQ(hash(halves({{"llvm", kLlvm}, {"cuda", kCuda}})), key);
  EXPECT_EQ(hash(halves({{"cuda", kCuda}, {"llvm", kLlvm}}, [](tl::Builder& b) {
    b.device_function("unused", {tl::i32}, {{"cuda", "__device__ void unused(int) {}"}});
  })), key);
  const std::string other = std::string(kCuda) + " ";
  EXPECT_NE(hash(halves({{"cuda", other.c_str()}, {"llvm", kLlvm}})), key);
}

TEST(DeviceFunctions, StandOnceInAModuleUnderNamesOfTheirOwn) {
  const tl::Program program = halves({{"cuda", kCuda}, {"llvm", kLlvm}}, [](tl::Builder& b) {
    b.device_function("unused", {tl::i32}, {{"cuda", "__device__ void unused(int) {}"}});
  });
  const std::string cuda = source(program, "sm_80");
  EXPECT_EQ(count(cuda, kCuda), 1u) << cuda;
  EXPECT_EQ(count(cuda, "tl_user_half_of::half_of("), 2u) << cuda;
  EXPECT_THAT(cuda, Not(HasSubstr("unused")));
  EXPECT_EQ(source(program, "sm_80"), cuda);
#ifdef TILERT_HAVE_LLVM
  const std::string llvm = source(program, "cpu");
  EXPECT_EQ(count(llvm, "define internal float @\"user.half_of.half_of\"(float %x) {"), 1u) << llvm;
#endif
}

TEST(DeviceFunctions, NeedATextForTheTargetThatReadsNoFiles) {
  const std::string missing = source(halves({{"llvm", kLlvm}}), "sm_90a");
  EXPECT_THAT(missing, HasSubstr("the device function 'half_of' has no text in \"cuda\""));
  EXPECT_THAT(missing, HasSubstr("sm_90a"));
  EXPECT_THAT(source(halves({{"cuda", kCuda}}), "cpu"), HasSubstr("the device function 'half_of' has no text in \"llvm\""));
  const std::string included = source(halves({{"cuda", "#include \"/etc/hostname\"\n__device__ float half_of(float x) { return x / 2; }"}}), "sm_80");
  EXPECT_THAT(included, HasSubstr("the device function 'half_of'"));
  EXPECT_THAT(included, HasSubstr("/etc/hostname"));
  const std::string assembled = source(halves({{"llvm", "module asm \".incbin \\22/etc/hostname\\22\"\ndefine float @half_of(float %x) { ret float %x }"}}), "cpu");
  EXPECT_THAT(assembled, HasSubstr("the device function 'half_of'"));
  EXPECT_THAT(assembled, HasSubstr(".incbin"));
}

#ifdef TILERT_HAVE_LLVM
TEST(DeviceFunctions, InLlvmDefineWhatTheyDeclare) {
  const auto of = [](const char* text) { return source(halves({{"llvm", text}}), "cpu"); };
  EXPECT_THAT(of("define double @half_of(float %x) { ret double 0.0 }"),
              HasSubstr("line 1 defines double @half_of(float), and the declaration says float @half_of(float)"));
  EXPECT_THAT(of("\ndefine float @half_of(float %x, i32 %n) { ret float %x }"), HasSubstr("line 2 defines float @half_of(float, i32)"));
  EXPECT_THAT(of("; half_of\ndefine float @other(float %x) { ret float %x }"), HasSubstr("it does not define @half_of"));
  EXPECT_THAT(of("define float @half_of(float %x) #0 { ret float %x }\nattributes #0 = { nounwind }"), HasSubstr("line 2: 'attributes' is neither"));
  EXPECT_THAT(of("define float @half_of(float %x) { ret float %x }\ndefine float @half_of(float %x) { ret float %x }"), HasSubstr("line 2: @half_of is defined twice"));
  EXPECT_THAT(of("define float @half_of(float %x) { ret float %x"), HasSubstr("a brace is not closed"));
}
#endif

// Each names the function or what is wrong with it.
TEST(DeviceFunctions, MisusedAreErrorsOfTheBuilder) {
  struct Row {
    const char* says;
    std::function<void(tl::Builder&, const tl::Tile&, const tl::DeviceFunction&)> misuse;
  };
  const auto declared = [](const char* name, tl::FunctionParameter parameter, tl::DType result, const char* language, const char* text) {
    return [=](tl::Builder& b, const tl::Tile&, const tl::DeviceFunction&) { b.device_function(name, {parameter}, result, {{language, text}}); };
  };
  const Row rows[] = {
      {"takes 2 operands, 1 are given", [](auto& b, auto& x, auto& f) { b.call_device(f, x(0)); }},
      {"operand 0 of 'f' is i32, but f32 is needed", [](auto& b, auto& x, auto& f) { b.call_device(f, b.constant(tl::i32, 1), x(0)); }},
      {"operand 1 of 'f' is taken by pointer", [](auto& b, auto&, auto& f) { b.call_device(f, 1.0f, b.constant(tl::f32, 1)); }},
      {"the function is none", [](auto& b, auto& x, auto&) { b.call_device(tl::DeviceFunction(), x(0)); }},
      {"is the id of a buffer, not of a device function", [](auto& b, auto&, auto&) {
         const tilert_buffer tile = b.shared(tl::f32, {4}).buffer();
         b.call_device(tl::DeviceFunction({tile.serial, tile.index}, {}, false));
       }},
      {"is an element of", [](auto& b, auto&, auto& f) {
         auto t = b.shared(tl::f16, {4});
         b.clear(t);
         b.call_device(f, 1.0f, t(0));
       }},
      {"lies in one thread's registers", [](auto& b, auto&, auto& f) {
         auto t = b.fragment(tl::f32, {4});
         b.clear(t);
         b.call_device(f, 1.0f, t(0));
       }},
      {"two iterations of parallel write the same element", [](auto& b, auto& x, auto& f) {
         b.parallel({4}, [&](tl::Index) { b.call_device(f, 1.0f, x(0)); });
       }},
      {"gives no value", [](auto& b, auto&, auto&) {
         const auto g = b.device_function("g", {}, {{"cuda", "__device__ void g() {}"}});
         b.call_device(tl::DeviceFunction(g.id(), {}, true));
       }},
      {"the function's name is empty", declared("", tl::f32, tl::f32, "cuda", "x")},
      {"'a-b': a name is an identifier", declared("a-b", tl::f32, tl::f32, "cuda", "x")},
      {"'tl_x': a name is an identifier", declared("tl_x", tl::f32, tl::f32, "cuda", "x")},
      {"another function 'f' is declared", declared("f", tl::f32, tl::f32, "cuda", "f")},
      {"does not define 'g'", declared("g", tl::f32, tl::f32, "cuda", "__device__ float gg(float x) { return x; }")},
      {"the language 'ptx' is none of", declared("g", tl::f32, tl::f32, "ptx", "g")},
      {"text 0 is empty", declared("g", tl::f32, tl::f32, "cuda", "")},
      {"parameter 0 is e4m3 by value", declared("g", tl::e4m3, tl::f32, "cuda", "g")},
      {"gives i4", declared("g", tl::f32, tl::i4, "cuda", "g")},
      {"is a pointer to i4", declared("g", tl::pointer_read(tl::i4), tl::f32, "cuda", "g")},
      {"has 0 texts", [](auto& b, auto&, auto&) { b.device_function("g", {tl::f32}, tl::f32, {}); }},
  };
  for (const Row& row : rows) {
    tl::Builder b("misused");
    auto x = b.inout("x", tl::f32, {64});
    const auto f = b.device_function("f", {tl::f32, tl::pointer_update(tl::f32)}, {{"cuda", "__device__ void f(float, float*) {}"}});
    b.grid({1}, [&](tl::Index) { row.misuse(b, x, f); });
    auto program = b.try_finish();
    ASSERT_FALSE(program) << row.says;
    EXPECT_THAT(program.error().message(), HasSubstr(row.says));
    EXPECT_THAT(program.error().message(), HasSubstr("functions_test.cpp:"));
  }
}

TEST(DeviceFunctions, AreRefusedByTheInterpreterByName) {
  const tl::Program program = halves({{"cuda", kCuda}, {"llvm", kLlvm}});
  float x[64] = {};
  auto run = tl::try_interpret(program, {x}, {});
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message(), HasSubstr("the device function 'half_of' cannot be interpreted"));
}

}  // namespace
