// What a variant says of its making: every hint with its outcome, tiles by their names, places in the caller's source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "programs.h"

namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

tl::Result<tl::Kernel> kernel_for(const tl::Context& context, const tl::Program& program, const char* target) {
  tilert_kernel_options options{};
  options.struct_size = sizeof options;
  options.target = target;
  tilert_kernel* raw = nullptr;
  tilert_error* error = nullptr;
  const tilert_status status = tilert_kernel_create(context.get(), program.get(), &options, &raw, &error);
  if (status != TILERT_OK) return tl::Error(status, error);
  return tl::Kernel(raw, program);
}

tl::Context context_without_cache() {
  tilert_context_options options{};
  options.cache_mode = TILERT_CACHE_OFF;
  return tl::Context::create(options).value();
}

std::string explained(const tl::Program& program, const char* target, tilert_explain_format format) {
  const tl::Context context = context_without_cache();
  const tl::Kernel kernel = kernel_for(context, program, target).value();
  tilert_variant* raw = nullptr;
  if (tilert_kernel_variant(kernel.get(), 0, &raw) != TILERT_OK) return "no variant";
  auto text = tl::Variant(raw).explain(format);
  return text ? *text : text.error().text();
}

// A product in a pipelined loop, with one hint of every kind and a copy asked for another engine.
tl::Program hinted(const tl::Hints& hints, uint32_t* loop_line = nullptr, tl::DType dtype = tl::f16) {
  tl::Builder b("hinted");
  auto A = b.input("A", dtype, {64, 128}), B = b.input("B", dtype, {64, 128}), C = b.output("C", tl::f32, {64, 64});
  b.grid({1, 1}, hints, [&](tl::Index, tl::Index) {
    auto a = b.shared(dtype, {64, 32}, "left"), w = b.shared(dtype, {64, 32}, "right");
    auto acc = b.fragment(tl::f32, {64, 64}, "sum");
    b.clear(acc);
    if (loop_line) *loop_line = __LINE__ + 1;
    b.pipelined(4, tl::stages(3), [&](tl::Index k) {
      b.copy(A(0, k * 32), a, tl::CopyOptions().prefer(TILERT_COPY_TMA).eviction(2));
      b.copy(B(0, k * 32), w);
      b.gemm(a, w, acc, tl::trans_b);
    });
    b.copy(acc, C);
  });
  return b.finish();
}

json outcome(const json& kernel, const std::string& hint) {
  for (const json& h : kernel["hints"])
    if (h["hint"] == hint) return h;
  return {{"taken", "was not mentioned"}, {"reason", ""}};
}

TEST(Explain, EveryHintHasItsOutcomeAndWhatWasNotTakenItsReason) {
  const auto program = hinted(tl::threads(64).min_blocks(2).max_registers(96).raster(4).cluster(2).pdl().split_k(4).roles_off().consumers(1));
  const json kernel = json::parse(explained(program, "sm_80", TILERT_EXPLAIN_JSON))["kernels"][0];
  for (const char* taken : {"threads 64", "min_blocks 2", "max_registers 96", "raster 4", "roles 1", "stages 3", "evict last", "split_k 4"})
    EXPECT_EQ(outcome(kernel, taken)["taken"], true) << taken << outcome(kernel, taken);
  const std::pair<const char*, const char*> left[] = {{"cluster 2", "tensor copies"},  {"pdl 1", "sm_90 on"},
                                                      {"consumers 1", "no roles"}, {"prefer tma", "roles"}};
  for (const auto& [hint, reason] : left) {
    EXPECT_EQ(outcome(kernel, hint)["taken"], false) << hint;
    EXPECT_THAT(outcome(kernel, hint)["reason"].dump(), HasSubstr(reason)) << hint;
  }
  const json turing = json::parse(explained(program, "sm_75", TILERT_EXPLAIN_JSON))["kernels"][0];
  EXPECT_THAT(outcome(turing, "evict last")["reason"].dump(), HasSubstr("sm_75 has no eviction priorities"));
  EXPECT_EQ(kernel["hints"].size(), 12u);
  EXPECT_EQ(kernel["threads"], 64);
}

TEST(Explain, AFixedOrderSaysWhichHintsItDoesNotFollow) {
  const auto program = hinted(tl::fixed_order().split_k(4).consumers(2));
  const json one = json::parse(explained(program, "sm_90a", TILERT_EXPLAIN_JSON))["kernels"][0];
  for (const char* hint : {"split_k 4", "consumers 2"}) {
    EXPECT_EQ(outcome(one, hint)["taken"], false) << hint;
    EXPECT_THAT(outcome(one, hint)["reason"].get<std::string>(), HasSubstr("order of sums is fixed")) << hint;
  }
  EXPECT_THAT(explained(program, "sm_90a", TILERT_EXPLAIN_TEXT), HasSubstr("sums have one order"));
  EXPECT_THAT(explained(hinted(tl::Hints()), "sm_90a", TILERT_EXPLAIN_TEXT), Not(HasSubstr("sums have one order")));
}

TEST(Explain, ACopyThatBlocksOfAClusterShareIsListed) {
  const auto made = [](const tl::Hints& hints) {
    tl::Builder b("clustered");
    auto A = b.input("A", tl::f16, {128, 128}), B = b.input("B", tl::f16, {64, 128}), C = b.output("C", tl::f32, {128, 64});
    b.grid({1, 2}, hints, [&](tl::Index, tl::Index y) {
      auto a = b.shared(tl::f16, {64, 32}), w = b.shared(tl::f16, {64, 32});
      auto acc = b.fragment(tl::f32, {64, 64});
      b.clear(acc);
      b.pipelined(4, [&](tl::Index k) {
        b.copy(A(y * 64, k * 32), a);
        b.copy(B(0, k * 32), w);
        b.gemm(a, w, acc, tl::trans_b);
      });
      b.copy(acc, C(y * 64, 0));
    });
    return b.finish();
  };
  const auto program = made(tl::Hints().cluster(2));
  const json kernel = json::parse(explained(program, "sm_90a", TILERT_EXPLAIN_JSON))["kernels"][0];
  EXPECT_EQ(outcome(kernel, "cluster 2")["taken"], true) << outcome(kernel, "cluster 2");
  EXPECT_EQ(kernel["cluster"], 2);
  ASSERT_EQ(kernel["roles"]["shared_copies"].size(), 1u);
  EXPECT_EQ(kernel["roles"]["shared_copies"][0]["part"], json({32, 32}));
  EXPECT_THAT(explained(program, "sm_90a", TILERT_EXPLAIN_TEXT), HasSubstr("comes to all 2 blocks of a cluster, of each a part of 32 x 32"));
  const json alone = json::parse(explained(made({}), "sm_90a", TILERT_EXPLAIN_JSON))["kernels"][0];
  EXPECT_FALSE(alone.contains("cluster"));
  EXPECT_FALSE(alone["roles"].contains("shared_copies"));
}

// A kernel of [64, 32] * [64, 32]^T each trip, split in two: `change` is what stands in the loop beside, `before` in front of it.
tl::Program splitting(const std::function<void(tl::Builder&, const tl::Tile& sum, const tl::Tile& out, tl::Index k)>& change,
                      const std::function<void(tl::Builder&, const tl::Tile& sum, const tl::Tile& out)>& before = {}) {
  tl::Builder b("splitting");
  auto A = b.input("A", tl::f16, {64, 128}), B = b.input("B", tl::f16, {64, 128}), C = b.inout("C", tl::f32, {64, 64});
  b.grid({1}, tl::Hints().split_k(2), [&](tl::Index) {
    auto a = b.shared(tl::f16, {64, 32}, "left"), w = b.shared(tl::f16, {64, 32}, "right");
    auto sum = b.fragment(tl::f32, {64, 64}, "sum");
    if (before) before(b, sum, C);
    else b.clear(sum);
    b.pipelined(4, [&](tl::Index k) {
      b.copy(A(0, k * 32), a);
      b.copy(B(0, k * 32), w);
      b.gemm(a, w, sum, tl::trans_b);
      if (change) change(b, sum, C, k);
    });
    b.copy(sum, C);
  });
  return b.finish();
}

TEST(Explain, ALoopThatCannotBeSplitAlongKSaysWhatStandsInTheWay) {
  const auto why = [](const tl::Program& program) {
    return outcome(json::parse(explained(program, "sm_80", TILERT_EXPLAIN_JSON))["kernels"][0], "split_k 2");
  };
  EXPECT_EQ(why(splitting({}))["taken"], true) << why(splitting({}));
  const auto reason = [&](const tl::Program& program) { return why(program)["reason"].get<std::string>(); };
  EXPECT_THAT(reason(splitting([](tl::Builder& b, const tl::Tile& sum, const tl::Tile&, tl::Index) {
                b.parallel({64, 64}, [&](tl::Index i, tl::Index j) { sum(i, j) = sum(i, j) * 0.5f; });
              })), HasSubstr("sum goes from trip to trip, and is no sum of products"));
  EXPECT_THAT(reason(splitting([](tl::Builder& b, const tl::Tile&, const tl::Tile& out, tl::Index k) {
                b.parallel({64}, [&](tl::Index i) { out(i, k) = 1.0f; });
              })), HasSubstr("writes a tensor in or before the loop"));
  EXPECT_THAT(reason(splitting({}, [](tl::Builder& b, const tl::Tile& sum, const tl::Tile&) { b.fill(sum, 1.0f); })), HasSubstr("sum is not cleared before the loop"));
  EXPECT_THAT(reason(splitting({}, [](tl::Builder& b, const tl::Tile& sum, const tl::Tile& out) {
                b.clear(sum);
                b.atomic_add(out(0, 0), 1.0f);
              })), HasSubstr("would happen once for each part"));
}

TEST(Explain, AKernelThatWaitsForTheGridBeforeItIsThereWhereTheTargetHasIt) {
  const auto pdl = [](const char* target) {
    return outcome(json::parse(explained(hinted(tl::Hints().pdl()), target, TILERT_EXPLAIN_JSON))["kernels"][0], "pdl 1");
  };
  for (const char* target : {"sm_90", "sm_90a", "sm_100a", "sm_120a"}) EXPECT_EQ(pdl(target)["taken"], true) << target << pdl(target);
  for (const char* target : {"sm_80", "sm_89"}) EXPECT_THAT(pdl(target)["reason"].dump(), HasSubstr("sm_90 on")) << target;
  EXPECT_THAT(pdl("cpu:x86-64-v3")["reason"].dump(), HasSubstr("runs to completion"));
}

TEST(Explain, AFixedNumberOfThreadsIsTakenAndLeavesNoProducer) {
  const json kernel = json::parse(explained(hinted(tl::threads_fixed(128)), "sm_90a", TILERT_EXPLAIN_JSON))["kernels"][0];
  EXPECT_EQ(outcome(kernel, "threads_fixed 128")["taken"], true) << kernel["hints"];
  EXPECT_EQ(kernel["threads"], 128);
  EXPECT_THAT(kernel.dump(), HasSubstr("its number of threads is fixed"));
}

TEST(Explain, AProductThatNoMatrixInstructionTakesSaysWhy) {
  const auto of = [](tl::DType dtype, const char* target) { return explained(hinted(tl::threads(64), nullptr, dtype), target, TILERT_EXPLAIN_TEXT); };
  EXPECT_THAT(of(tl::bf16, "sm_75"), HasSubstr("by fma: sm_75 has no matrix instruction of bf16 into f32"));
  EXPECT_THAT(of(tl::f16, "sm_75"), testing::AllOf(HasSubstr("by mma_m16n8k16_f16_by_8"), testing::Not(HasSubstr("no matrix instruction"))));
}

TEST(Explain, ARegisterBoundIsMetByTheBlocksOfAMultiprocessor) {
  const json kernel = json::parse(explained(hinted(tl::threads(256).max_registers(96)), "sm_80", TILERT_EXPLAIN_JSON))["kernels"][0];
  EXPECT_LE(kernel["limits"]["registers_allowed"].get<int>(), 96);
  EXPECT_GE(kernel["limits"]["registers_allowed"].get<int>(), 80);
}

TEST(Explain, AHintForATargetWinsThereAndIsLeftOutElsewhere) {
  const auto program = hinted(tl::threads(128).threads(256).for_target("sm_86").roles_off());
  const auto threads = [&](const char* target) { return json::parse(explained(program, target, TILERT_EXPLAIN_JSON))["kernels"][0]["threads"]; };
  EXPECT_EQ(threads("sm_86"), 256);
  EXPECT_EQ(threads("sm_80"), 128);
}

TEST(Explain, TheTextNamesTilesAndPlacesOfTheCallersSource) {
  uint32_t line = 0;
  const auto program = hinted(tl::threads(128), &line);
  EXPECT_THAT(explained(program, "sm_80", TILERT_EXPLAIN_TEXT),
              AllOf(HasSubstr("explain_test.cpp:" + std::to_string(line)), HasSubstr("fragment sum f32 64 x 64, 32 elements a thread"),
                    HasSubstr("shared left f16 64 x 32"), HasSubstr("left, 3 slots"), HasSubstr("2 copies run ahead in 3 slots"),
                    HasSubstr("a multiprocessor holds"), HasSubstr("no roles: "), HasSubstr("asynchronous, 16 bytes an access")));
}

TEST(Explain, JsonIsMadeOfLabelsAndPathsOfAnyBytes) {
  tl::Builder b("bytes");
  auto x = b.input("x", tl::f32, {64}), y = b.output("y", tl::f32, {64});
  b.grid({1}, [&](tl::Index) {
    auto t = b.shared(tl::f32, {64});
    b.label("caf\xe9 \"\\\n\x01");
    b.copy(x, t, {}, {"dir\xff/file.cpp", 7});
    b.copy(t, y);
  });
  const std::string text = explained(b.finish(), "sm_80", TILERT_EXPLAIN_JSON);
  const json made = json::parse(text, nullptr, false);
  ASSERT_FALSE(made.is_discarded()) << text;
  EXPECT_THAT(made.dump(), AllOf(HasSubstr("caf\xef\xbf\xbd"), HasSubstr("/file.cpp:7")));
}

// A fragment that is read under another shape, and a shared tile that is asked to lie in another way.
tl::Program viewed(bool by_columns, tl::Layout layout) {
  tl::Builder b("viewed");
  auto X = b.input("X", tl::f32, {64, 32}), Y = b.output("Y", tl::f32, {32});
  b.grid({1}, tl::threads(64), [&](tl::Index) {
    auto t = b.shared(tl::f32, {64, 32}, "tile");
    auto x = b.fragment(tl::f32, {64, 32}, "rows");
    auto y = b.fragment(tl::f32, {32}, "sums");
    b.annotate_layout(t, layout);
    b.copy(X, t);
    b.copy(t, x);
    auto other = by_columns ? b.reshape(x, {32, 64}) : b.view(x, tl::u32);
    if (by_columns) b.reduce(tl::sum, other, y, 1);
    else b.parallel({32}, [&](tl::Index j) { y(j) = tl::cast(tl::f32, other(0, j)); });
    b.copy(y, Y);
  });
  return b.finish();
}

TEST(Explain, AViewOfAFragmentThatThreadsHaveAlreadyTakesNoConversion) {
  const json kernel = json::parse(explained(viewed(true, tl::Layout::automatic), "sm_80", TILERT_EXPLAIN_JSON))["kernels"][0];
  for (const json& c : kernel.value("conversions", json::array())) EXPECT_THAT(c["reason"].get<std::string>(), Not(HasSubstr("view"))) << c;
}

TEST(Explain, ALayoutHasItsOutcome) {
  const auto hint = [](tl::Layout layout, const char* target, const std::string& name) {
    return outcome(json::parse(explained(viewed(false, layout), target, TILERT_EXPLAIN_JSON))["kernels"][0], name);
  };
  EXPECT_EQ(hint(tl::Layout::swizzle_128, "sm_80", "layout swizzle_128")["taken"], true);
  EXPECT_EQ(hint(tl::Layout::padded, "sm_80", "layout padded")["taken"], true);
  EXPECT_EQ(hint(tl::Layout::row_major, "sm_80", "layout row_major")["taken"], true);
}

TEST(Explain, RolesTensorCopiesAndTheirRingAreThereOnHopper) {
  tl::Builder b("p");
  auto A = b.input("A", tl::bf16, {128, 512}), B = b.input("B", tl::bf16, {128, 512});
  auto C = b.output("C", tl::bf16, {128, 128});
  b.grid({1}, [&](tl::Index) {
    auto a = b.shared(tl::bf16, {128, 64}, "left"), w = b.shared(tl::bf16, {128, 64}, "right");
    auto acc = b.fragment(tl::f32, {128, 128}, "sum");
    b.clear(acc);
    b.pipelined(8, tl::stages(4), [&](tl::Index k) {
      b.copy(A(0, k * 64), a);
      b.copy(B(0, k * 64), w);
      b.gemm(a, w, acc, tl::trans_b);
    });
    b.copy(acc, C(0, 0));
  });
  const auto program = b.finish();
  EXPECT_THAT(explained(program, "sm_90a", TILERT_EXPLAIN_TEXT),
              AllOf(HasSubstr("a producer of copies and 2 consumer warpgroups"), HasSubstr("tensor, 16.0 KiB a box"), HasSubstr("left, 4 slots"),
                    HasSubstr("128 x 128 x 64 by wgmma"), Not(HasSubstr("no roles"))));
}

TEST(Explain, APersistentKernelSaysInWhichOrderItsTilesComeAndWhoCountsOrPlansThem) {
  const auto program = [](int kind) {
    tl::Builder b("tiles");
    auto N = b.dim("N");
    auto count = b.input("count", tl::i32, {1});
    auto y = b.output("y", tl::i32, {N, N});
    const tl::Hints hints = kind == 1 ? tl::persistent(count) : kind == 3 ? tl::Hints() : kind == 4 ? tl::Hints().raster(4) : tl::persistent();
    b.grid({N, N}, hints, [&](tl::Index i, tl::Index j) {
      if (kind == 2) b.tile_cost(i + j * 2, j);
      y(j, i) = 1;
      if (kind == 3) b.grid_sync();
    });
    return b.finish();
  };
  const auto text = [&](int kind, const char* target = "sm_80") { return explained(program(kind), target, TILERT_EXPLAIN_TEXT); };
  EXPECT_THAT(text(0), HasSubstr("blocks loop over the tiles, 8 columns of the grid together\n"));
  EXPECT_THAT(text(1), HasSubstr("blocks loop over the tiles in grid order, as many as 'count' says\n"));
  EXPECT_THAT(text(2), AllOf(HasSubstr("blocks loop over the tiles in grid order, or by a plan in the workspace, a tile costing add("), HasSubstr(", of group %b"), HasSubstr(", plans tiles, 256 threads")));
  EXPECT_THAT(text(3), HasSubstr("blocks come in grid order; all blocks run at once and meet\n"));
  EXPECT_THAT(text(4), HasSubstr("blocks come, 4 columns of the grid together\n"));
  EXPECT_THAT(text(2, "cpu"), HasSubstr("blocks loop over the tiles in grid order, or by a plan"));
  const json kernels = json::parse(explained(program(2), "sm_80", TILERT_EXPLAIN_JSON))["kernels"];
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_FALSE(kernels[0]["order"].contains("columns_together")) << "a plan's costs are of tiles numbered in grid order";
  EXPECT_EQ(kernels[1]["planner"], true);
  EXPECT_NE(kernels[1]["name"], "");
}

TEST(Explain, FastFormsAreNamedWithTheirPlaceAndWhetherTheyAreTaken) {
  tl::Builder b("fast");
  auto x = b.inout("x", tl::f32, {64});
  uint32_t line = 0;
  b.grid({1}, [&](tl::Index) {
    line = __LINE__ + 1;
    b.parallel({64}, [&](tl::Index i) { x(i) = tl::fast(tl::exp(x(i)) / tl::sqrt(x(i))) + tl::log(x(i)); });
  });
  const tl::Program program = b.finish();
  const json kernel = json::parse(explained(program, "sm_80", TILERT_EXPLAIN_JSON))["kernels"][0];
  ASSERT_EQ(kernel["approximate"].size(), 1u);
  EXPECT_EQ(kernel["approximate"][0]["forms"], json({"div", "exp", "sqrt"}));
  EXPECT_THAT(kernel["approximate"][0]["where"].get<std::string>(), HasSubstr(":" + std::to_string(line)));
  EXPECT_THAT(explained(program, "sm_80", TILERT_EXPLAIN_TEXT), AllOf(HasSubstr("fast forms, taken"), HasSubstr(": div, exp, sqrt")));
  EXPECT_THAT(explained(program, "cpu", TILERT_EXPLAIN_TEXT), HasSubstr("fast forms, computed exactly"));
}

TEST(Explain, ACpuSaysWhereItsTilesLieAndThatItsBlocksRunOnOneThread) {
  EXPECT_THAT(explained(hinted(tl::threads(128)), "cpu:x86-64-v3", TILERT_EXPLAIN_TEXT),
              AllOf(HasSubstr("vectors of 8 elements"), HasSubstr("one thread of a CPU runs the whole block"), HasSubstr("sum"), HasSubstr("scratch: offset, bytes")));
}

TEST(Explain, AHintThatMustBeMetAndIsNotIsAnErrorThatNamesItAndSaysWhy) {
  const tl::Context context = context_without_cache();
  const tl::Kernel kernel = kernel_for(context, hinted(tl::Hints().cluster(2).must()), "sm_80").value();
  tilert_error* raw = nullptr;
  const tilert_status status = tilert_kernel_compile(kernel.get(), &raw);
  ASSERT_EQ(status, TILERT_UNSUPPORTED);
  const tl::Error error(status, raw);
  EXPECT_THAT(error.text(), AllOf(HasSubstr("kernel 'hinted'"), HasSubstr("'cluster 2' must be met for sm_80"), HasSubstr("tensor copies")));
}

TEST(Explain, ACopyThatMustRunAheadOutsideALoopIsAnErrorThatNamesItsPlace) {
  tl::Builder b("p");
  auto x = b.input("x", tl::f32, {64}), y = b.output("y", tl::f32, {64});
  uint32_t line = 0;
  b.grid({1}, [&](tl::Index) {
    auto t = b.shared(tl::f32, {64});
    line = __LINE__ + 1;
    b.copy(x, t, tl::CopyOptions().prefer(TILERT_COPY_ASYNC).must());
    b.copy(t, y);
  });
  const tl::Context context = context_without_cache();
  const tl::Kernel kernel = kernel_for(context, b.finish(), "sm_80").value();
  tilert_error* raw = nullptr;
  const tilert_status status = tilert_kernel_compile(kernel.get(), &raw);
  ASSERT_EQ(status, TILERT_UNSUPPORTED);
  EXPECT_THAT(tl::Error(status, raw).text(), AllOf(HasSubstr("explain_test.cpp:" + std::to_string(line)), HasSubstr("'prefer async' must be met")));
}

}  // namespace
