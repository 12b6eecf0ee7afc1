// Looking at directories: filesystem, owner, mode.
#include "cache/place.h"

#include "support/files.h"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace tilert {
namespace {

constexpr uint64_t kLocalFilesystems[] = {
#define TILERT_LOCAL_FILESYSTEM(type, name) type,
#include "cache/filesystems.def"
#undef TILERT_LOCAL_FILESYSTEM
};

bool is_local(uint64_t type) {
  for (uint64_t local : kLocalFilesystems)
    if (local == (type & 0xffffffff)) return true;
  return false;
}

std::optional<uint64_t> system_filesystem_type(const std::string& path) {
  struct statfs status {};
  if (statfs(path.c_str(), &status) != 0) return std::nullopt;
  return static_cast<uint64_t>(status.f_type);
}

std::string parent_of(const std::string& path) {
  size_t slash = path.find_last_of('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string resolved(const std::string& path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) ? buffer : "";
}

std::string absolute(const std::string& path) {
  std::string whole = path[0] == '/' ? path : resolved(".") + "/" + path;
  while (whole.size() > 1 && whole.back() == '/') whole.pop_back();
  return whole;
}

// Why the existing directory cannot be trusted; empty when it can.
std::string distrust(const std::string& directory) {
  struct stat status {};
  if (lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return "it is not a directory";
  if (status.st_uid != geteuid() && status.st_uid != 0) return fmt::format("it belongs to user {}", status.st_uid);
  if (status.st_mode & 022)
    return fmt::format("its mode {:o} lets others write; chmod go-w it", status.st_mode & 07777);
  return {};
}

class Chooser {
 public:
  Chooser(const CacheOptions& options, EventList& events) : options_(options), events_(events) {}

  std::optional<StorePlace> choose() {
    if (!options_.directory.empty()) {
      candidates_.push_back(absolute(options_.directory));
    } else {
      Result<std::string> user = user_cache_directory();
      if (user) candidates_.push_back(absolute(*user));
      candidates_.push_back(temporary_directory());
    }
    for (size_t i = 0; i < candidates_.size(); ++i)
      if (std::optional<StorePlace> place = look(std::string(candidates_[i]))) return place;
    note(CacheEventKind::no_directory, "", "");
    return std::nullopt;
  }

 private:
  void note(CacheEventKind kind, const std::string& path, std::string detail) {
    events_.push_back({kind, path, std::move(detail)});
  }

  std::optional<StorePlace> look(const std::string& directory) {
    std::string there = directory;  // the part that exists
    while (access(there.c_str(), F_OK) != 0 && there != "/") there = parent_of(there);
    std::string real = resolved(there);
    if (real.empty()) return std::nullopt;
    StorePlace place{real == "/" ? directory : real + directory.substr(there.size()), true};
    if (!check_filesystem(real, directory)) return std::nullopt;
    return there == directory ? look_inside(place) : look_above(place, real);
  }

  bool check_filesystem(const std::string& path, const std::string& directory) {
    std::optional<uint64_t> type =
        options_.filesystem_type ? options_.filesystem_type(path) : system_filesystem_type(path);
    if (type && is_local(*type)) return true;
    note(CacheEventKind::network_directory, directory,
         type ? fmt::format("filesystem type {:#x}", *type) : "the system does not tell its filesystem");
    if (options_.on_network == NetworkPolicy::local_directory) {
      std::string local = options_.local_directory.empty() ? temporary_directory() : absolute(options_.local_directory);
      bool listed = false;
      for (const std::string& candidate : candidates_) listed = listed || candidate == local;
      if (!listed) candidates_.push_back(local);
    }
    return false;
  }

  // The directory does not exist yet: it must be possible to make it when the first entry is written.
  std::optional<StorePlace> look_above(const StorePlace& place, const std::string& parent) {
    if (is_directory(parent) && access(parent.c_str(), W_OK | X_OK) == 0) return place;
    note(CacheEventKind::read_only_directory, place.directory, fmt::format("{} cannot be written", parent));
    return std::nullopt;
  }

  std::optional<StorePlace> look_inside(StorePlace place) {
    if (std::string reason = distrust(place.directory); !reason.empty()) {
      note(CacheEventKind::unsafe_directory, place.directory, reason);
      return std::nullopt;
    }
    if (access(place.directory.c_str(), R_OK | X_OK) != 0) {
      note(CacheEventKind::unsafe_directory, place.directory, "it cannot be read");
      return std::nullopt;
    }
    place.writable = access(place.directory.c_str(), W_OK) == 0;
    if (!place.writable) note(CacheEventKind::read_only_directory, place.directory, "");
    return place;
  }

  const CacheOptions& options_;
  EventList& events_;
  std::vector<std::string> candidates_;
};

}  // namespace

std::string temporary_directory() { return fmt::format("/tmp/tilert-{}", geteuid()); }

bool make_place(const StorePlace& place) {
  return place.writable && make_directories(place.directory) && distrust(place.directory).empty();
}

std::optional<StorePlace> choose_place(const CacheOptions& options, EventList& events) {
  return Chooser(options, events).choose();
}

}  // namespace tilert
