// A program taken down the GPU passes, and what is counted in what comes out.
#pragma once

#include <gtest/gtest.h>

#include "ir/parser.h"
#include "ir/visit.h"
#include "passes/order.h"
#include "passes/planned.h"
#include "passes/specialize.h"

namespace tilert::passes {

inline Result<Module> try_lower(const std::string& text, const char* target, const char* stop, int64_t size) {
  auto program = ir::parse(text, "test");
  EXPECT_TRUE(program) << (program ? "" : program.error().message);
  auto parsed = parse_target(target);
  EXPECT_TRUE(parsed);
  auto module = specialize(*program, std::vector<DimChoice>(program->dims.size(), DimChoice{size, 1, size, size}));
  EXPECT_TRUE(module);
  return run_gpu_passes(*std::move(module), {*parsed, parsed->device_class}, stop);
}

// The module after `stop`, with all dims bound to `size`.
inline Module lowered(const std::string& text, const char* target, const char* stop = "", int64_t size = 1024) {
  auto done = try_lower(text, target, stop, size);
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  return *std::move(done);
}

// Why a program is not taken down; empty: it is.
inline std::string refused(const std::string& text, const char* target) {
  const auto done = try_lower(text, target, "", 1024);
  return done ? "" : done.error().message;
}

inline int count(const ir::Block& block, ir::Primitive primitive) {
  int found = 0;
  ir::for_each_stmt(block, [&](const ir::Stmt& s) {
    const auto* c = std::get_if<ir::Call>(&s.node);
    found += c && c->primitive == primitive;
  });
  return found;
}

}  // namespace tilert::passes
