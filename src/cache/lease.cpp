// Locks of open file descriptions: they belong to one open(), so threads and several caches of a process do not take
// them from each other, and closing one file drops no other's.
#include "cache/lease.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>

namespace tilert {

class LeaseFile {
 public:
  explicit LeaseFile(int fd) : fd_(fd) {}
  LeaseFile(const LeaseFile&) = delete;
  ~LeaseFile() { abandon(); }

  // 0, or errno; EAGAIN: somebody else holds it.
  int set(int64_t offset, short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(offset);
    lock.l_len = 1;
    if (fd_ < 0) return 0;
    return fcntl(fd_, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
  }

  // Closes without unlocking: in a child of fork the description is still the parent's.
  void abandon() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

Lease::~Lease() { file_->set(offset_, F_UNLCK); }

std::shared_ptr<LeaseFile> Leases::file() {
  std::lock_guard lock(mutex_);
  if (file_ || unavailable_) return file_;
  unavailable_ = true;
  if (!make_place(place_)) return nullptr;
  int fd = open((place_.directory + "/lease.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return nullptr;
  unavailable_ = false;
  return file_ = std::make_shared<LeaseFile>(fd);
}

LeaseGrant Leases::acquire(const Digest& key, std::chrono::milliseconds wait, std::stop_token cancel) {
  std::shared_ptr<LeaseFile> file = this->file();
  if (!file) return {};
  uint64_t word = 0;
  std::memcpy(&word, key.data(), sizeof word);
  auto offset = static_cast<int64_t>(word >> 3);  // 61 bits: two keys practically never share a byte
  auto until = std::chrono::steady_clock::now() + wait;
  std::mutex mutex;
  std::condition_variable_any cancelled;
  for (int tries = 0;; ++tries) {
    int error = file->set(offset, F_WRLCK);
    if (error == 0) return {tries ? LeaseResult::waited : LeaseResult::held, std::make_shared<Lease>(file, offset)};
    if (error != EAGAIN && error != EACCES && error != EINTR) return {};
    if (cancel.stop_requested() || std::chrono::steady_clock::now() >= until) return {LeaseResult::timed_out, nullptr};
    std::unique_lock lock(mutex);
    cancelled.wait_for(lock, cancel, std::chrono::milliseconds(std::min(2 + tries, 20)), [] { return false; });
  }
}

void Leases::after_fork_in_child() {
  if (file_) file_->abandon();
  file_.reset();
  mutex_.unlock();
}

}  // namespace tilert
