// Whole files and the places they live in. Reads of the environment happen here, through secure_getenv, and never on
// the launch path. Not here: the cache's database (src/cache).
#pragma once

#include "support/result.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace tilert {

// The variable's value; nothing when it is unset, empty, or the process runs with raised privileges.
std::optional<std::string> environment(const char* name);

// "NAME=value" of the first of these that is set and not empty, whatever the process's privileges, as vendors' libraries read
// them; empty where none is.
std::string first_set_variable(std::initializer_list<const char*> names);

// $XDG_CACHE_HOME/tilert, else $HOME/.cache/tilert. Only absolute paths count. UNAVAILABLE where neither is set.
// The directory is named, not made.
Result<std::string> user_cache_directory();

// Makes `path` and its missing parents, readable by the owner alone (mode 0700). An existing directory is left as it is.
Status make_directories(const std::string& path);

// The file's bytes. UNAVAILABLE names the file and the system's reason; a file above `limit` bytes is refused.
Result<std::string> read_file(const std::string& path, uint64_t limit = uint64_t{1} << 31);

// Writes a temporary neighbour and renames it onto `path` (mode 0600): a reader sees the old bytes or the new, never a
// part. Nothing is left behind on failure.
Status write_file(const std::string& path, std::string_view bytes);

bool file_exists(const std::string& path);
bool is_directory(const std::string& path);  // links are followed

}  // namespace tilert
