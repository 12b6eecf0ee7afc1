// Device text: the primitives' files, cut into parts, of which only the used ones go into a generated source. HIP's parts are
// those of device/cuda that are plain C++, and those of device/hip in place of the rest.
#pragma once

#include <string>
#include <string_view>

namespace tilert::codegen {

// The parts of the device files of `language` ("cuda" or "hip") that `body` uses, directly or through other parts, in the order
// of the files; types first.
std::string device_text(std::string_view language, std::string_view body);

// A primitive that `body` uses, itself or through other parts, and that `language` does not have; empty where there is none.
std::string missing_primitive(std::string_view language, std::string_view body);

}  // namespace tilert::codegen
