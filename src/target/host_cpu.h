// What the CPU that runs this has, in the words of target.def. Used only to resolve "cpu" and "cpu:native".
#pragma once

#include <string_view>

namespace tilert {

std::string_view host_cpu_row();                             // "x86-64-v3"
bool host_cpu_has_extension(std::string_view extension);     // "avxvnni", and the row above can carry it

}  // namespace tilert
