// What is right: the interpreter's results, and whether a case is one whose results every back end must share.
#pragma once

#include "ir/interpreter.h"
#include "random/random_case.h"

namespace tilert::random {

using Outputs = std::vector<std::vector<uint8_t>>;  // the bytes of each parameter afterwards

// A program of the case's parameters interpreted over its data.
Result<Outputs> interpret(const Case& c, const ir::Program& program, Outputs data, ir::Reports* reports = nullptr);

// The case interpreted; an error for what only running shows.
Result<Outputs> reference(const Case& c);

// Which elements of each output nothing is written to: those that keep either of two poisons.
std::vector<std::vector<bool>> kept(const Case& c, const Outputs& want);

// What print and assert tell in any run of the case, as conformance::Scenario has it.
std::vector<std::string> told(const Case& c);

// Whether the results depend on nothing but the program: it is valid, it gives the same when its blocks run in the
// opposite order (no races between them), and the same with every float widened to f64 (nothing is rounded). What the
// generator makes passes by construction; what the shrinker makes need not.
Status judge(const Case& c, const Outputs& want);

// How far an element of that parameter, which should be `value`, may be off: nothing, or what elementary functions may
// be, and the interpreter's own half an ulp.
double tolerance(const ir::Parameter& parameter, DType dtype, double value);

// The first difference, or nothing: bytes, but for zeros of either sign, NaNs and what is within tolerance.
std::string difference(const Case& c, const Outputs& want, const Outputs& got);

}  // namespace tilert::random
