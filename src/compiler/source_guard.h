// The guard before every compiler: text must not make a compiler read (or test for) files. Compilers open absolute
// paths and print what they find in their logs, so source from elsewhere would otherwise read this machine's files.
// Allowed is what is known to be harmless; everything else is refused with the line and the way to say it:
//   - directives: those of a list; `#include` only of a virtual header's literal name, never by way of a macro
//   - no __has_include, __has_embed and the like, neither spelled nor pasted together with ##
//   - no directive of an assembler that reads files or could build one (.incbin, .include; .macro and its kin)
// Not here: which options are allowed (options.h).
#pragma once

#include "compiler/compiler.h"

namespace tilert {

// Checks source, headers, macro definitions among the options, and name expressions. INVALID_PROGRAM.
Status guard_source(const CompileRequest& request);

// Assembler directives that read files, or that could assemble such a directive from pieces; empty when there is none.
// `text` has its escapes resolved. Every assembler language is searched without regard to case.
std::string forbidden_asm_directive(std::string_view text);

}  // namespace tilert
