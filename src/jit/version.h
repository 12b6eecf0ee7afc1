// Which build of the library made something: provenance, never part of a key.
#pragma once

namespace tilert::jit {

inline constexpr const char* kLibraryBuild = "tilert 0.1.0";

}  // namespace tilert::jit
