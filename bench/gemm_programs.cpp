// The programs of tl::kernels for gpu/bench_gemm.py: JSON requests in, one a line, an answer to each on a line. No
// device is needed; what is asked depends on the target and device class that the request names.
//
//   {"do": "plan", "kind": "bf16", "n": 4096, "k": 4096}     which program serves which M: plan_gemm
//   {"do": "candidates", ..., "m": 256}                      the cost model's choices, best first
//   {"do": "program", ..., "choice": {...}}                  the program of any choice
// Also "lead" (added to each leading dimension), "target" and "device_class" [multiprocessors, shared bytes, L2 bytes].
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tilert.hpp"
#include "tilert/kernels/gemm.hpp"

namespace {

using Json = nlohmann::json;

// One f32 scale of A and one of B, in device memory.
struct TensorScales {
  tl::Tile a{}, b{};
  void declare(tl::Builder& builder, const tl::Expr&, const tl::Expr&) {
    a = builder.input("a_scale", tl::f32, {1});
    b = builder.input("b_scale", tl::f32, {1});
  }
  tl::Expr operator()(const tl::Expr& value, const tl::Index&, const tl::Index&) const {
    return value * (tl::Expr(a(0)) * tl::Expr(b(0)));
  }
};

struct Kind {
  const char* name;
  tl::DType operand, result;
  bool tensor_scales, block_scales, tf32;
};
constexpr Kind kKinds[] = {
    {"bf16", tl::bf16, tl::bf16, false, false, false}, {"f16", tl::f16, tl::f16, false, false, false},
    {"e4m3", tl::e4m3, tl::bf16, true, false, false},  {"e4m3b", tl::e4m3, tl::bf16, false, true, false},
    {"i8", tl::i8, tl::i32, false, false, false},      {"tf32", tl::f32, tl::f32, false, false, true}};

// A request, read.
struct Request {
  tl::Product product;
  tl::Machine machine;
  bool tensor_scales = false, block_scales = false;

  explicit Request(const Json& json) {
    const std::string name = json.at("kind");
    for (const Kind& kind : kKinds) {
      if (name != kind.name) continue;
      product.a = product.b = kind.operand;
      product.c = kind.result;
      product.tf32 = kind.tf32;
      tensor_scales = kind.tensor_scales, block_scales = kind.block_scales;
    }
    product.m = json.value("m", int64_t{0}), product.n = json.at("n"), product.k = json.at("k");
    product.trans_b = true;
    if (const int64_t lead = json.value("lead", int64_t{0}); lead > 0) {
      product.lda = product.ldb = product.k + lead;
      product.ldc = product.n + lead;
    }
    machine.target = json.value("target", "sm_90a");
    if (const auto it = json.find("device_class"); it != json.end() && it->is_array())
      machine.device_class = {sizeof(tilert_device_class), (*it)[0], (*it)[1], (*it)[2]};
  }

  // M is a dim, whatever the choice was asked for.
  std::string text(const tl::ProductChoice& choice) const {
    tl::Product p = product;
    p.m = 0;
    const tl::Program program = (block_scales    ? tl::kernels::try_scaled_gemm(p, choice)
                                 : tensor_scales ? tl::kernels::try_gemm(p, choice, TensorScales{})
                                                 : tl::kernels::try_gemm(p, choice))
                                    .value();
    return program.text().value();
  }
};

Json to_json(const tl::ProductChoice& c) {
  return {
      {"path", c.path},           {"m", c.tile_m},           {"n", c.tile_n},          {"k", c.tile_k},
      {"consumers", c.consumers}, {"threads", c.threads},    {"stages", c.stages},     {"cluster", c.cluster},
      {"split_k", c.split_k},     {"raster", c.raster},      {"swapped", c.swapped()}, {"persistent", c.persistent()},
      {"bound", c.bound},         {"predicted", c.predicted}};
}

tl::ProductChoice from_json(const Json& json) {
  tl::ProductChoice c;
  c.path = json.at("path"), c.tile_m = json.at("m"), c.tile_n = json.at("n"), c.tile_k = json.at("k");
  c.consumers = json.at("consumers"), c.threads = json.at("threads"), c.stages = json.at("stages");
  c.cluster = json.at("cluster"), c.split_k = json.at("split_k"), c.raster = json.at("raster");
  c.flags = (json.at("swapped") ? uint32_t{TILERT_CHOICE_SWAPPED} : 0) |
            (json.at("persistent") ? uint32_t{TILERT_CHOICE_PERSISTENT} : 0);
  return c;
}

Json plan(const Request& request) {
  const tl::kernels::GemmPlan plan =
      (request.block_scales ? tl::kernels::plan_scaled_gemm(request.product, request.machine)
                            : tl::kernels::plan_gemm(request.product, request.machine))
          .value();
  Json ranges = Json::array(), programs = Json::array();
  for (const auto& range : plan.ranges) ranges.push_back({range.low, range.high, range.program});
  for (const auto& choice : plan.programs)
    programs.push_back({{"choice", to_json(choice)}, {"text", request.text(choice)}});
  return {{"ranges", ranges}, {"programs", programs}};
}

Json answer(const Json& json) {
  const Request request(json);
  const std::string what = json.at("do");
  if (what == "plan") return plan(request);
  if (what == "program") return {{"text", request.text(from_json(json.at("choice")))}};
  Json choices = Json::array();
  for (const auto& choice :
       tl::recommend_product(request.product, request.machine, json.value("most", 100000u)).value())
    choices.push_back(to_json(choice));
  return {{"choices", choices}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    Json out;
    try {
      out = answer(Json::parse(line));
    } catch (const std::exception& problem) {
      out = {{"refused", problem.what()}};
    }
    std::puts(out.dump().c_str());
    std::fflush(stdout);
  }
}
