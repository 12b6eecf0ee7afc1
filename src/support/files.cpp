// Whole-file input and output over POSIX calls; errors carry the path and the system's reason.
#include "support/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace tilert {
namespace {

Error file_error(std::string_view act, const std::string& path, int number) {
  return make_error(Code::kUnavailable, "cannot {} {}: {}", act, path, std::generic_category().message(number));
}

Error too_large(const std::string& path, uint64_t limit) {
  return make_error(Code::kUnavailable, "cannot read {}: it is larger than {} bytes", path, limit);
}

// Closes on every way out.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

std::optional<std::string> absolute_from(const char* name) {
  auto value = environment(name);
  if (value && value->front() == '/') return value;
  return std::nullopt;
}

Status write_all(int fd, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return file_error("write", path, errno);
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace

std::optional<std::string> environment(const char* name) {
  const char* value = secure_getenv(name);
  if (!value || !*value) return std::nullopt;
  return std::string(value);
}

Result<std::string> user_cache_directory() {
  if (auto base = absolute_from("XDG_CACHE_HOME")) return *base + "/tilert";
  if (auto home = absolute_from("HOME")) return *home + "/.cache/tilert";
  return make_error(Code::kUnavailable,
                    "no cache directory: neither XDG_CACHE_HOME nor HOME is set to an absolute path");
}

Status make_directories(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (!part.empty() && mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      const int number = errno;
      struct stat info;  // a parent on a read-only file system exists all the same
      if (stat(part.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return file_error("make directory", part, number);
    }
    if (end == std::string::npos) break;
  }
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return file_error("make directory", path, errno);
  if (!S_ISDIR(info.st_mode)) return file_error("make directory", path, ENOTDIR);
  return {};
}

Result<std::string> read_file(const std::string& path, uint64_t limit) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return file_error("open", path, errno);
  struct stat info;
  if (fstat(file.fd, &info) != 0) return file_error("read", path, errno);
  std::string bytes;
  if (S_ISREG(info.st_mode)) {
    const auto size = static_cast<uint64_t>(info.st_size);
    if (size > limit) return too_large(path, limit);
    bytes.reserve(size);
  }
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = read(file.fd, buffer, sizeof buffer);
    if (count == 0) return bytes;
    if (count < 0) {
      if (errno == EINTR) continue;
      return file_error("read", path, errno);
    }
    if (bytes.size() + static_cast<size_t>(count) > limit) return too_large(path, limit);
    bytes.append(buffer, static_cast<size_t>(count));
  }
}

Status write_file(const std::string& path, std::string_view bytes) {
  std::string temporary = path + ".XXXXXX";
  Descriptor file{mkostemp(temporary.data(), O_CLOEXEC)};
  if (file.fd < 0) return file_error("create a file beside", path, errno);
  Status written = write_all(file.fd, path, bytes);
  if (written && close(std::exchange(file.fd, -1)) != 0) written = file_error("write", path, errno);
  if (written && rename(temporary.c_str(), path.c_str()) != 0) written = file_error("replace", path, errno);
  if (!written) unlink(temporary.c_str());
  return written;
}

bool file_exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

bool is_directory(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string first_set_variable(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = getenv(name);
    if (value && *value) return fmt::format("{}={}", name, value);
  }
  return {};
}

}  // namespace tilert
