// Whether a program means something: declarations fit together, names are defined before their use, operations get the
// types, shapes and scopes that they take, nothing leaves a tile where that can be seen, and every statement is legal
// at its stage (stages.def). What depends on values known only when running is the interpreter's to find.
#pragma once

#include "ir/program.h"

namespace tilert::ir {

enum class Stage : uint8_t {
  tile,          // as built
  specialized,   // dims bound, expressions simplified
  lowered,       // groups of per-thread statements beside tile operations that are still to be lowered
  synchronized,  // barriers are placed; no tile operation is left
};

// The first fault, in the voice of whoever made it: the user at the stages tile and specialized (kInvalidProgram, or
// kUnsupported with the alternative), ourselves later (kInternal). Safe on any program that the parser returns.
Status verify(const Program& program, Stage stage = Stage::tile);

}  // namespace tilert::ir
