// What the compiler makes of programs of products, without compiling them: their configuration, and what of a choice is not in it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tilert/kernels/gemm.hpp"

namespace made {

namespace kernels = tl::kernels;
using nlohmann::json;

inline tl::Product served(int64_t n, int64_t k) {
  tl::Product p;
  p.n = n, p.k = k;
  p.trans_b = true;
  return p;
}

inline tl::Context context_without_cache() {
  tilert_context_options options{};
  options.cache_mode = TILERT_CACHE_OFF;
  return tl::Context::create(options).value();
}

inline std::string text_of(const tl::ProductChoice& c) {
  return "path " + std::to_string(c.path) + " " + std::to_string(c.tile_m) + "x" + std::to_string(c.tile_n) + "x" + std::to_string(c.tile_k) + " consumers " +
         std::to_string(c.consumers) + " stages " + std::to_string(c.stages) + " raster " + std::to_string(c.raster) + " flags " + std::to_string(c.flags);
}

// The last kernel's configuration, made by the compiler's passes without compiling.
inline json configuration(const tl::Program& program, const char* target) {
  const tl::Kernel kernel = context_without_cache().kernel(program, target);
  const auto explained = kernel.variant(0).explain(TILERT_EXPLAIN_JSON);
  EXPECT_TRUE(explained) << explained.error().text();
  return explained ? json::parse(*explained)["kernels"].back() : json();
}

// What differs between a choice and what was made of it, in words; empty where nothing does.
inline std::string difference(const tl::Program& program, const tl::ProductChoice& c, const char* target) {
  const json made = configuration(program, target);
  if (c.path == TILERT_PATH_VECTOR) return made["threads"] == c.threads ? "" : "threads: " + made.dump();
  const bool roles = c.path == TILERT_PATH_WARPGROUP;
  if (made.contains("roles") != roles) return "roles: " + made.value("no_roles", std::string("there are some"));
  for (const json& hint : made.value("hints", json::array()))
    if (!hint["taken"] && hint["hint"].get<std::string>().rfind("raster", 0) != 0) return "hint: " + hint.dump();
  const json tile = c.swapped() ? json{c.tile_n, c.tile_m, c.tile_k} : json{c.tile_m, c.tile_n, c.tile_k};
  if (made["products"][0]["tile"] != tile) return "tile: " + made["products"].dump();
  const bool meets = roles && c.cluster == 1 && c.split_k > 1 && c.split_k <= 5;  // parts in a cluster of their own
  if (made.value("cluster", 1) != static_cast<int>(meets ? c.split_k : c.cluster)) return "cluster: " + made["hints"].dump();
  if (c.split_k > 1 && made["split"]["meet_in"] != (meets ? "cluster" : "workspace")) return "split: " + made["split"].dump();
  if (roles && made["roles"]["stages"] != c.stages) return "stages: " + made["roles"].dump();
  if (roles && made["roles"]["consumer_warpgroups"] != c.consumers) return "consumers: " + made["roles"].dump();
  if (made["shared_bytes"] > c.shared_bytes) return "shared memory: " + made["shared_bytes"].dump() + " of " + std::to_string(c.shared_bytes);
  return {};
}

}  // namespace made
