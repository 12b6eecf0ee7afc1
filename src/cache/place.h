// Where the store lies: a directory that is local, ours alone, and there or possible to make. Looking writes nothing.
// Not here: what lies in it (store.h).
#pragma once

#include "cache/cache.h"
#include "cache/events.h"

#include <optional>
#include <string>

namespace tilert {

struct StorePlace {
  std::string directory;  // absolute, links resolved as far as it exists
  bool writable = true;
};

// The first of: the option's directory alone when given, else the user's cache directory, else /tmp/tilert-<uid>, that
// can be used; the local directory in place of one on a network filesystem. Nothing: memory alone. Every refusal is an
// event.
std::optional<StorePlace> choose_place(const CacheOptions& options, EventList& events);

// Makes the directory (mode 0700) where it is missing, and looks again at whose it is: between looking and making
// somebody else may have made it. The first thing a cache ever writes.
bool make_place(const StorePlace& place);

// What /tmp holds for this user.
std::string temporary_directory();

}  // namespace tilert
