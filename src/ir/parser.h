// Reads .tir text (printer.h describes it). The result is well formed as far as names, ids and operand types go;
// whether the program means something is the verifier's question (verifier.h). Hostile text is an error with line and
// column, never a crash: size, depth and counts are limited.
#pragma once

#include <string_view>

#include "ir/program.h"

namespace tilert::ir {

struct ParseOptions {
  bool allow_source = false;  // inline source and source kernels are code: else they are refused with kSourceRefused
  size_t bytes = size_t{64} << 20;
  int block_depth = 64;
  int expression_depth = 256;
};

// `name` stands for the text in messages: "gemm.tir:12:7: expected ..., found ...".
Result<Program> parse(std::string_view text, std::string_view name = "<tir>", ParseOptions options = {});

}  // namespace tilert::ir
