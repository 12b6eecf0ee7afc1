// The skin: NULL handles, struct sizes, errors, reference counts, forked children, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "programs.h"
#include "tilert.h"

namespace {

using testing::HasSubstr;

struct Caught {
  tilert_error* raw = nullptr;
  ~Caught() { tilert_error_release(raw); }
  tilert_error** out() { return &raw; }
  std::string message() const { return tilert_error_message(raw); }
};

tl::Context memory_context() {
  tilert_context_options options{};
  options.cache_mode = TILERT_CACHE_MEMORY;
  return *tl::Context::create(options);
}

using Calls = std::vector<std::function<tilert_status()>>;
void expect_all_refused(const Calls& calls) {
  for (size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i](), TILERT_INVALID_ARGUMENT) << "call " << i;
}

TEST(Null, EveryFunctionOfABuilderAnswersInvalidArgument) {
  tilert_program* program = nullptr;
  expect_all_refused({
      [&] { return tilert_builder_status(nullptr); },
      [&] { return tilert_builder_finish(nullptr, &program, nullptr); },
      [&] { return tilert_builder_begin_kernel(nullptr, nullptr, nullptr); },
      [&] { return tilert_builder_end_kernel(nullptr); },
      [&] { return tilert_builder_copy(nullptr, nullptr, nullptr, nullptr); },
      [&] { return tilert_builder_fill(nullptr, nullptr, {}); },
      [&] { return tilert_builder_clear(nullptr, nullptr); },
      [&] { return tilert_builder_gemm(nullptr, nullptr, nullptr, nullptr, nullptr); },
      [&] { return tilert_builder_reduce(nullptr, 1, nullptr, nullptr, 0, nullptr); },
      [&] { return tilert_builder_begin_parallel(nullptr, nullptr, 0, nullptr); },
      [&] { return tilert_builder_end_parallel(nullptr); },
      [&] { return tilert_builder_begin_serial(nullptr, 1, {}, {}, {}, nullptr); },
      [&] { return tilert_builder_end_serial(nullptr); },
      [&] { return tilert_builder_begin_pipelined(nullptr, {}, 0, nullptr); },
      [&] { return tilert_builder_end_pipelined(nullptr); },
      [&] { return tilert_builder_begin_if(nullptr, {}); },
      [&] { return tilert_builder_begin_else(nullptr); },
      [&] { return tilert_builder_end_if(nullptr); },
      [&] { return tilert_builder_store(nullptr, nullptr, {}); },
      [&] { return tilert_builder_source_kernel(nullptr, nullptr); },
      [&] { return tilert_builder_inline_source(nullptr, nullptr); },
      [&] { return tilert_builder_call_device(nullptr, {}, nullptr, 0, nullptr); },
      [&] { return tilert_builder_create("x", nullptr); },
  });
  EXPECT_EQ(program, nullptr);
}

TEST(Null, EveryFunctionOfTheHostSideAnswersInvalidArgument) {
  tilert_program* program = nullptr;
  tilert_device* device = nullptr;
  tilert_kernel* kernel = nullptr;
  tilert_loaded* loaded = nullptr;
  tilert_variant* variant = nullptr;
  tilert_job* job = nullptr;
  const char* text = nullptr;
  const void* data = nullptr;
  size_t size = 0;
  expect_all_refused({
      [&] { return tilert_program_parse(nullptr, 0, nullptr, 0, &program, nullptr); },
      [&] { return tilert_program_text(nullptr, &text, &size, nullptr); },
      [&] { return tilert_program_hash(nullptr, &text, nullptr); },
      [&] { return tilert_program_parameter(nullptr, 0, nullptr); },
      [&] { return tilert_program_interpret(nullptr, nullptr, 0, nullptr, 0, nullptr); },
      [&] { return tilert_context_create(nullptr, nullptr, nullptr); },
      [&] { return tilert_context_seal(nullptr); },
      [&] { return tilert_context_stats(nullptr, nullptr); },
      [&] { return tilert_commit(nullptr, nullptr); },
      [&] { return tilert_bundle_write(nullptr, nullptr, 0, nullptr, nullptr); },
      [&] { return tilert_bundle_load(nullptr, nullptr, 0, nullptr); },
      [&] { return tilert_device_open(nullptr, nullptr, &device, nullptr); },
      [&] { return tilert_device_get_info(nullptr, nullptr); },
      [&] { return tilert_trim(nullptr, nullptr, nullptr); },
      [&] { return tilert_recommend_product(nullptr, nullptr, nullptr, nullptr); },
      [&] { return tilert_kernel_create(nullptr, nullptr, nullptr, &kernel, nullptr); },
      [&] { return tilert_kernel_compile(nullptr, nullptr); },
      [&] { return tilert_kernel_variant(nullptr, 0, &variant); },
      [&] { return tilert_variant_get_info(nullptr, nullptr); },
      [&] { return tilert_variant_text(nullptr, nullptr, &text, &size, nullptr); },
      [&] { return tilert_variant_binary(nullptr, &data, &size, nullptr); },
      [&] { return tilert_prepare(nullptr, nullptr, nullptr, &loaded, nullptr); },
      [&] { return tilert_prepare_submit(nullptr, nullptr, nullptr, &job, nullptr); },
      [&] { return tilert_job_poll(nullptr); },
      [&] { return tilert_job_wait(nullptr, 0); },
      [&] { return tilert_job_cancel(nullptr); },
      [&] { return tilert_job_result(nullptr, &loaded, nullptr); },
      [&] { return tilert_launch(nullptr); },
      [&] { return tilert_launch_export(nullptr, nullptr); },
      [&] { return tilert_unpin(nullptr, nullptr); },
      [&] { return tilert_workspace(nullptr, nullptr, 0, nullptr, nullptr); },
      [&] { return tilert_plan(nullptr, nullptr, 0, 0, nullptr, nullptr, nullptr); },
      [&] { return tilert_plan_launch(nullptr); },
      [&] { return tilert_diagnostics_read(nullptr, nullptr, 0, nullptr, nullptr, nullptr); },
      [&] { return tilert_program_interpret_diagnosed(nullptr, nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr); },
      [&] { return tilert_builder_print(nullptr, "", nullptr, 0); },
      [&] { return tilert_builder_print_tile(nullptr, "", nullptr); },
      [&] { return tilert_builder_assert(nullptr, {}, "", nullptr, 0); },
      [&] { return tilert_feature(nullptr, nullptr); },
  });
  EXPECT_EQ(loaded, nullptr);
}

TEST(Null, ValuesOfANullBuilderAreNoneAndReleasesAreNoOps) {
  EXPECT_EQ(tilert_builder_index(nullptr, 1).serial, 0u);
  EXPECT_EQ(tilert_builder_dim(nullptr, "x", nullptr).serial, 0u);
  EXPECT_EQ(tilert_builder_load(nullptr, nullptr).serial, 0u);
  tilert_builder_at(nullptr, "f", 1, "l");
  tilert_builder_release(nullptr);
  tilert_program_release(nullptr);
  tilert_context_release(nullptr);
  tilert_device_release(nullptr);
  tilert_kernel_release(nullptr);
  tilert_variant_release(nullptr);
  tilert_loaded_release(nullptr);
  tilert_job_release(nullptr);
  tilert_error_release(nullptr);
  EXPECT_STREQ(tilert_error_message(nullptr), "");
  EXPECT_EQ(tilert_error_status(nullptr), TILERT_OK);
}

TEST(Size, AStructSizeOfZeroIsNamed) {
  tilert_context_options options{};
  tilert_context* context = nullptr;
  Caught caught;
  EXPECT_EQ(tilert_context_create(&options, &context, caught.out()), TILERT_INVALID_ARGUMENT);
  EXPECT_THAT(caught.message(), HasSubstr("tilert_context_options.struct_size is 0: set it to sizeof"));
}

struct Longer {
  tilert_context_options known;
  uint64_t later;
};

TEST(Size, UnknownBytesMustBeZero) {
  Longer options{};
  options.known.struct_size = sizeof options;
  options.known.cache_mode = TILERT_CACHE_OFF;
  tilert_context* context = nullptr;
  EXPECT_EQ(tilert_context_create(&options.known, &context, nullptr), TILERT_OK);
  tilert_context_release(context);
  options.later = 1;
  Caught caught;
  EXPECT_EQ(tilert_context_create(&options.known, &context, caught.out()), TILERT_INVALID_ARGUMENT);
  EXPECT_EQ(context, nullptr);
  EXPECT_THAT(caught.message(), HasSubstr("a newer field is set that this version does not know"));
}

TEST(Size, AShorterStructHasZeroInTheFieldsItLacks) {
  tilert_context_options options{};
  options.struct_size = 16;  // up to isolate
  options.cache_mode = TILERT_CACHE_OFF;
  options.cache_path = reinterpret_cast<const char*>(uintptr_t{1});  // beyond: never read
  tilert_context* context = nullptr;
  EXPECT_EQ(tilert_context_create(&options, &context, nullptr), TILERT_OK);
  tilert_context_release(context);
}

TEST(Size, ABuilderKeepsASizeErrorAsItsOwn) {
  tilert_builder* b = nullptr;
  ASSERT_EQ(tilert_builder_create("p", &b), TILERT_OK);
  tilert_dim_options options{};
  EXPECT_EQ(tilert_builder_dim(b, "N", &options).serial, 0u);
  tilert_program* program = nullptr;
  Caught caught;
  EXPECT_EQ(tilert_builder_finish(b, &program, caught.out()), TILERT_INVALID_ARGUMENT);
  EXPECT_THAT(caught.message(), HasSubstr("tilert_dim_options.struct_size is 0"));
  tilert_builder_release(b);
}

TEST(Handles, AreFreedInAnyOrder) {
  tl::Program program = tilert::test::scale(tl::f32, 64);
  tilert_context_options options{};
  options.struct_size = sizeof options;
  options.cache_mode = TILERT_CACHE_OFF;
  tl::Context context(options);
  tl::Kernel kernel = context.kernel(program, "sm_80");
  tl::Variant variant = kernel.variant(0);
  context = tl::Context(options);
  program = {};
  kernel = {};
  EXPECT_STREQ(variant.info().target, "sm_80");
  EXPECT_EQ(variant.info().compiled, 0u);
  EXPECT_EQ(std::string(variant.info().request_key).size(), 64u);
}

TEST(Kernels, BadBindingsAreNamed) {
  const tl::Program program = tilert::test::scale(tl::f32, 64);
  const tl::Context context = memory_context();
  EXPECT_THAT(context.try_kernel(program, "sm_80", {{"Q", 1}}).error().message(),
              HasSubstr("has no dim 'Q'; it has: N"));
  EXPECT_THAT(context.try_kernel(program, "sm_80", {{"N", -1}}).error().message(), HasSubstr("dim 'N' is given -1"));
  EXPECT_THAT(context.try_kernel(program, "sm_80", {{"N", 1}, {"N", 1}}).error().message(), HasSubstr("bound twice"));
  EXPECT_FALSE(context.try_kernel(program, "sm_1"));
  EXPECT_THAT(context.try_kernel(program)->try_compile().error().message(), HasSubstr("has no target"));
}

TEST(Kernels, SourceIsRefusedWhereTheContextDoesNotAllowIt) {
  tl::Builder b("p");
  auto x = b.inout("x", tl::f32, {64});
  b.grid({1}, [&](tl::Index) { b.inline_source("cuda", "$0 = 1.f;", {x(0)}); });
  const tl::Program program = b.finish();
  EXPECT_EQ(tilert_program_has_source(program.get()), 1);
  auto kernel = memory_context().try_kernel(program, "sm_80");
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().status(), TILERT_SOURCE_REFUSED);
  EXPECT_THAT(kernel.error().message(), HasSubstr("TILERT_ALLOW_SOURCE"));
  auto parsed = tl::Program::parse(*program.text());
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().status(), TILERT_SOURCE_REFUSED);
  EXPECT_TRUE(tl::Program::parse(*program.text(), nullptr, TILERT_ALLOW_SOURCE));
}

TEST(Refused, WhatThisVersionLacksNamesItsAlternative) {
  const tl::Context context = memory_context();
  Caught commit, bundle, open;
  EXPECT_EQ(tilert_commit(context.get(), commit.out()), TILERT_UNSUPPORTED);
  EXPECT_THAT(commit.message(), HasSubstr("tilert_prepare makes variants visible"));
  EXPECT_EQ(tilert_bundle_load(context.get(), "x", 0, bundle.out()), TILERT_UNSUPPORTED);
  EXPECT_THAT(bundle.message(), HasSubstr("cache_path"));
  tilert_context_options isolate{};
  isolate.struct_size = sizeof isolate;
  isolate.isolate = 3;
  tilert_context* none = nullptr;
  EXPECT_EQ(tilert_context_create(&isolate, &none, open.out()), TILERT_INVALID_ARGUMENT);
  EXPECT_THAT(open.message(), HasSubstr("never, untrusted, always"));
  isolate.isolate = TILERT_ISOLATE_ALWAYS;
  isolate.helper_path = "/nowhere/tilert_compile";
  EXPECT_EQ(tilert_context_create(&isolate, &none, open.out()), TILERT_UNAVAILABLE);
  EXPECT_THAT(open.message(), HasSubstr("/nowhere/tilert_compile"));
}

TEST(Devices, AMissingDriverSaysWhatWasLookedFor) {
  const tl::Context context = memory_context();
  tilert_device_options options{};
  options.kind = TILERT_DEVICE_CUDA;
  options.driver_path = "/nonexistent/libcuda.so.1";
  auto device = context.try_device(options);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().status(), TILERT_UNAVAILABLE);
  EXPECT_THAT(device.error().message(), HasSubstr("/nonexistent/libcuda.so.1"));
}

TEST(Launching, ABadInfoIsRefusedInTheCallersMemory) {
  tilert_launch_info info{};
  EXPECT_EQ(tilert_launch(&info), TILERT_INVALID_ARGUMENT);
  tilert_launch_failure failure{};
  failure.struct_size = sizeof failure;
  info.struct_size = sizeof info;
  info.failure = &failure;
  EXPECT_EQ(tilert_launch(&info), TILERT_INVALID_ARGUMENT);
  EXPECT_EQ(failure.status, TILERT_INVALID_ARGUMENT);
  EXPECT_THAT(failure.message, HasSubstr("loaded is NULL"));
}

TEST(Forked, OldHandlesAnswerForkedAndMayBeReleased) {
  auto* program = new tl::Program(tilert::test::scale(tl::f32, 64));
  auto* context = new tl::Context(memory_context());
  const pid_t child = fork();
  if (child == 0) {
    const char* text = nullptr;
    size_t size = 0;
    int wrong = tilert_context_seal(context->get()) != TILERT_FORKED;
    wrong += tilert_program_text(program->get(), &text, &size, nullptr) != TILERT_FORKED;
    delete context;
    delete program;
    tilert_context* fresh = nullptr;
    wrong += tilert_context_create(nullptr, &fresh, nullptr) != TILERT_OK;
    tilert_context_release(fresh);
    _exit(wrong);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(tilert_context_seal(context->get()), TILERT_OK);
  delete context;
  delete program;
}

TEST(Names, StatusesAndDtypesHaveThem) {
  EXPECT_STREQ(tilert_status_name(TILERT_SOURCE_REFUSED), "SOURCE_REFUSED");
  EXPECT_STREQ(tilert_status_name(-5), "UNKNOWN");
  EXPECT_STREQ(tilert_dtype_name(TILERT_BF16), "bf16");
  EXPECT_EQ(tilert_dtype_bits(TILERT_E2M1), 4u);
  EXPECT_EQ(tilert_dtype_bits(-1), 0u);
  EXPECT_EQ(tilert_version(), 0x000100u);
}

TEST(Parsing, GarbageIsAnErrorWithItsPlace) {
  for (const char* text : {"", "tir 99\n", "hello", "tir 1\nprogram \"x\"\nkernel \"k\" (%x.0) grid [1] {"}) {
    auto program = tl::Program::parse(text, "bad.tir");
    ASSERT_FALSE(program) << text;
    EXPECT_THAT(program.error().message(), HasSubstr("bad.tir"));
  }
}

}  // namespace
