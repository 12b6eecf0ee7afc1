// The .tir text of programs, the only serialization they have. parser.h reads it back.
//
//   tir 1
//   program "gemm"
//   var %M.0 dim index
//   dim %M.0 divisible 8
//   buffer @A.0 global f16 [%M.0, 64] in argument 0
//   parameter tensor @A.0 "A"
//   kernel "gemm" (%x.3) grid [div(add(%M.0, 127), 128)] {
//     1: alloc @as.1
//     2: copy @A.0[mul(%x.3, 128):128, 0:64] -> @as.1[0:128, 0:64]
//   }
//
// %name.id is a variable and @name.id a buffer (the name is for the reader; an id or a name that is unique will do), a
// number alone is an index, other constants are dtype(value), floats and narrow types as bit patterns; n: is the
// statement's ordinal, n!m: also its location. An expression of many nodes is cut: `define $n = ...` precedes the line
// that uses $n, so that a shared or deep expression prints in proportion to its nodes.
#pragma once

#include <string>

#include "ir/program.h"

namespace tilert::ir {

inline constexpr int kTirMajor = 1;

struct PrintOptions {
  bool canonical = false;  // no names, comments, locations or indentation: what keys hash
  bool locations = true;   // the table of locations, and each statement's place in it
};

std::string print(const Program& program, PrintOptions options = {});

// The canonical text of the program's canonical copy: equal for programs that differ in nothing but what keys leave out
// (names of variables, buffers and parameters, labels, locations, unused declarations).
std::string canonical_text(const Program& program);

// For messages and dumps: one statement with what it contains, one expression.
std::string print_stmt(const Program& program, const Stmt& stmt);
std::string print_expr(const Program& program, Expr expr);

}  // namespace tilert::ir
