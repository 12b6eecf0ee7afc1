// Schedule: in which order emulated threads run and when asynchronous work lands. What one schedule hides another shows:
// round robin keeps warps nearly in step, greedy ones let one warp run as far as it can.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilert::emulator {

enum class Order : uint8_t { round_robin, random, greedy };
enum class Timing : uint8_t { early, late };  // at issue, or as late as is legal

struct Schedule {
  Order order = Order::greedy;
  bool backward = false;           // last thread and last warp first
  uint64_t seed = 1;               // of random
  Timing copies = Timing::late;    // cp.async
  Timing tensor_copies = Timing::late;
  Timing products = Timing::late;  // wgmma

  std::string text() const;  // "greedy,backward,copies=early,tensor_copies=late,products=late"
};

// The form of text(), any part left out; false where a word is not known.
bool parse_schedule(std::string_view text, Schedule& out);

// Few that find much: greedy both ways with engines apart, one round robin, one random.
std::vector<Schedule> usual_schedules();
// Every order and direction with every choice of engines.
std::vector<Schedule> all_schedules();

}  // namespace tilert::emulator
