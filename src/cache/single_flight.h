// Single flight in one process: of all threads that ask for the same key at the same time one makes the value, the
// others wait for it. A failure goes to those who wait now and is forgotten.
// Not here: single flight between processes (lease.h).
#pragma once

#include "support/result.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <unordered_map>
#include <utility>

namespace tilert {

template <class Key, class Value>
class SingleFlight {
 public:
  struct Outcome {
    Value value;
    bool led;  // this thread made it
  };

  // Runs `make` (Result<Value>()) here, or waits for the thread that does. CANCELLED when `cancel` fires during the
  // wait. `make` must not ask for its own key again.
  template <class Make>
  Result<Outcome> run(const Key& key, Make&& make, std::stop_token cancel = {}) {
    auto flight = std::make_shared<Flight>();
    bool leads = false;
    {
      std::lock_guard lock(mutex_);
      auto [position, inserted] = flights_.try_emplace(key, flight);
      flight = position->second;
      leads = inserted;
    }
    return leads ? lead(key, *flight, std::forward<Make>(make)) : wait(*flight, cancel);
  }

 private:
  struct Flight {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::optional<Value> value;
    std::optional<Error> error;
    bool lost = false;  // there was no memory for either
  };

  // The end of a flight, however it comes: nobody waits for it any longer.
  struct Landing {
    ~Landing() {
      {
        std::lock_guard lock(flights.mutex_);
        flights.flights_.erase(key);
      }
      {
        std::lock_guard lock(flight.mutex);
        flight.lost = !flight.value && !flight.error;
      }
      flight.changed.notify_all();
    }
    SingleFlight& flights;
    const Key& key;
    Flight& flight;
  };

  template <class Make>
  Result<Outcome> lead(const Key& key, Flight& flight, Make&& make) {
    Landing landing{*this, key, flight};
    Result<Value> made = run_guarded(make);
    {
      std::lock_guard lock(flight.mutex);
      if (made)
        flight.value = *made;
      else
        flight.error = made.error();
    }
    if (!made) return std::move(made).error();
    return Outcome{*std::move(made), true};
  }

  // Of a failed allocation, in few letters: they need none.
  static Error no_memory() { return Error{Code::kOutOfMemory, "no memory", {}, {}}; }

  // An exception in `make` can only be a failed allocation.
  template <class Make>
  static Result<Value> run_guarded(Make& make) {
    try {
      return make();
    } catch (...) {
      return no_memory();
    }
  }

  Result<Outcome> wait(Flight& flight, std::stop_token cancel) {
    std::unique_lock lock(flight.mutex);
    bool done = flight.changed.wait(lock, cancel, [&] { return flight.value || flight.error || flight.lost; });
    if (!done) return make_error(Code::kCancelled, "cancelled while another thread was making the same kernel");
    if (flight.lost) return no_memory();
    if (flight.error) return *flight.error;
    return Outcome{*flight.value, false};
  }

  std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<Flight>> flights_;
};

}  // namespace tilert
