// The drivers that this process has opened, by the path that was asked for. They stay for its life: code of theirs may run in threads
// of theirs until the end.
#pragma once

#include "support/result.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace tilert::runtime {

template <class Driver>
class OpenDrivers {
 public:
  // The one at `path`, opened by `open` the first time, while others wait. A failure is not kept: a container may gain its driver later.
  Result<const Driver*> find(const std::string& path, Result<std::unique_ptr<Driver>> (*open)(const std::string&)) {
    const std::lock_guard lock(mutex_);
    auto found = by_path_.find(path);
    if (found == by_path_.end()) {
      TILERT_ASSIGN(auto driver, open(path));
      found = by_path_.emplace(path, std::move(driver)).first;
    }
    return static_cast<const Driver*>(found->second.get());
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Driver>> by_path_;
};

}  // namespace tilert::runtime
