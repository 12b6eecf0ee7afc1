// A program taken down the GPU passes, and what is counted in what comes out.
#pragma once

#include <gtest/gtest.h>

#include "ir/parser.h"
#include "ir/visit.h"
#include "passes/order.h"
#include "passes/planned.h"
#include "passes/specialize.h"

namespace tilert::passes {

// The module after `stop`, with all dims bound to `size`.
inline Module lowered(const std::string& text, const char* target, const char* stop = "", int64_t size = 1024) {
  auto program = ir::parse(text, "test");
  EXPECT_TRUE(program) << (program ? "" : program.error().message);
  auto parsed = parse_target(target);
  EXPECT_TRUE(parsed);
  auto module = specialize(*program, std::vector<DimChoice>(program->dims.size(), DimChoice{size, 1, size, size}));
  EXPECT_TRUE(module);
  auto done = run_gpu_passes(*std::move(module), {*parsed, parsed->device_class}, stop);
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  return *std::move(done);
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
