// What the tests of the interpreter share: programs from text, arguments from vectors, the error of a run.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/interpreter.h"
#include "ir/parser.h"

namespace tilert::ir::samples {

template <class T>
HostArgument tensor(std::vector<T>& data) {
  return HostArgument{data.data(), static_cast<int64_t>(data.size() * sizeof(T)), {}, 0};
}

inline Program program(const std::string& text) {
  auto p = parse("tir 1\n" + text, "t");
  EXPECT_TRUE(p) << (p ? "" : p.error().message);
  return p ? std::move(*p) : Program{};
}

inline std::string error_of(const Program& p, const HostArguments& arguments) {
  const Status status = interpret(p, arguments);
  return status ? "no error" : status.error().message;
}

}  // namespace tilert::ir::samples
