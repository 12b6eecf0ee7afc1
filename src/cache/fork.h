// What must be done around fork(): one handler for the process, which visits every cache that is alive.
#pragma once

namespace tilert {

class ForkAware {
 public:
  virtual void before_fork() = 0;
  virtual void after_fork_in_parent() = 0;
  virtual void after_fork_in_child() = 0;

 protected:
  ~ForkAware() = default;
};

// Neither may be called with a lock held that the handlers take.
void register_fork_aware(ForkAware* object);
void unregister_fork_aware(ForkAware* object);

}  // namespace tilert
