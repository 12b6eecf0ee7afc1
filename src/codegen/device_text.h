// Device text: the primitives' files, cut into parts, of which only the used ones go into a generated source.
#pragma once

#include <string>
#include <string_view>

namespace tilert::codegen {

// The parts of the device files of `language` ("cuda") that `body` uses, directly or through other parts, in the order
// of the files; types first.
std::string device_text(std::string_view language, std::string_view body);

}  // namespace tilert::codegen
