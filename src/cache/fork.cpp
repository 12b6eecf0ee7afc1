// The list of those to visit; its lock is held during the fork, so that the child finds it whole.
#include "cache/fork.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace tilert {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<ForkAware*> objects;
};

// Never destroyed: threads may outlive static destruction.
Registry& registry() {
  static Registry* instance = new Registry;
  return *instance;
}

void before() {
  registry().mutex.lock();
  for (ForkAware* object : registry().objects) object->before_fork();
}

void in_parent() {
  for (ForkAware* object : registry().objects) object->after_fork_in_parent();
  registry().mutex.unlock();
}

void in_child() {
  for (ForkAware* object : registry().objects) object->after_fork_in_child();
  registry().mutex.unlock();
}

}  // namespace

void register_fork_aware(ForkAware* object) {
  static const int installed = pthread_atfork(before, in_parent, in_child);
  (void)installed;
  std::lock_guard lock(registry().mutex);
  registry().objects.push_back(object);
}

void unregister_fork_aware(ForkAware* object) {
  std::lock_guard lock(registry().mutex);
  std::erase(registry().objects, object);
}

}  // namespace tilert
