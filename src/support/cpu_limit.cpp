// How many processors this process may use: affinity and cgroup quota.
#include "support/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

namespace tilert {
namespace {

int affinity_count() {
  for (size_t cpus = 1024; cpus <= (size_t{1} << 20); cpus *= 2) {
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) return 1;
    const int failed = sched_getaffinity(0, bytes, set);
    const int count = failed ? 0 : CPU_COUNT_S(bytes, set);
    const bool too_small = failed && errno == EINVAL;
    CPU_FREE(set);
    if (!too_small) return count;
  }
  return 1;
}

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Whole processors for a quota per period; 0 for no limit.
int processors(std::optional<int64_t> quota, std::optional<int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return 0;
  return static_cast<int>(std::min<int64_t>((*quota - 1) / *period + 1, 1 << 20));
}

int limit_v2(const std::string& folder) {
  const auto line = first_line(folder + "/cpu.max");
  if (!line) return 0;
  const size_t space = line->find(' ');
  if (space == std::string::npos) return 0;
  return processors(number(std::string_view(*line).substr(0, space)), number(std::string_view(*line).substr(space + 1)));
}

int limit_v1(const std::string& folder) {
  const auto quota = first_line(folder + "/cpu.cfs_quota_us"), period = first_line(folder + "/cpu.cfs_period_us");
  if (!quota || !period) return 0;
  return processors(number(*quota), number(*period));
}

// The smallest limit of a group and its ancestors. A container may see its own group as the root, so that the path of
// /proc/self/cgroup does not exist below the mount; the root's files then count.
int smallest(const std::string& mount, std::string path, int (*limit)(const std::string&)) {
  int best = 0;
  for (;;) {
    const int here = limit(mount + path);
    if (here > 0 && (best == 0 || here < best)) best = here;
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return best;
    path.resize(slash);
  }
}

bool lists_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "cpu") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

int cgroup_cpu_limit(const std::string& root, std::string_view membership) {
  std::istringstream lines{std::string(membership)};
  int best = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    int limit = 0;
    if (controllers.empty()) limit = smallest(root, path, limit_v2);
    if (lists_cpu(controllers)) {
      limit = smallest(root + "/" + controllers, path, limit_v1);
      if (limit == 0) limit = smallest(root + "/cpu", path, limit_v1);
    }
    if (limit > 0 && (best == 0 || limit < best)) best = limit;
  }
  return best;
}

int available_cpus() {
  std::ifstream file("/proc/self/cgroup");
  std::stringstream membership;
  membership << file.rdbuf();
  const int limit = cgroup_cpu_limit("/sys/fs/cgroup", membership.str());
  const int cpus = std::max(1, affinity_count());
  return limit > 0 ? std::min(cpus, limit) : cpus;
}

}  // namespace tilert
