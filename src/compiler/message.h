// Requests and binaries as flat messages, for the helper process and for keys: a magic word, a version, then fields as
// (tag, length, bytes), all little-endian. Readers check every length, refuse unknown versions and unknown tags.
#pragma once

#include "compiler/compiler.h"

#include <string>
#include <string_view>

namespace tilert {

std::string serialize(const CompileRequest& request);
Result<CompileRequest> parse_compile_request(std::string_view message);

std::string serialize(const Binary& binary);
Result<Binary> parse_binary(std::string_view message);

}  // namespace tilert
