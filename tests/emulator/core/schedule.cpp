// Names and lists of schedules.
#include "emulator/core/schedule.h"

namespace tilert::emulator {
namespace {

const char* order_name(Order order) {
  return order == Order::round_robin ? "round_robin" : order == Order::random ? "random" : "greedy";
}
const char* timing_name(Timing timing) { return timing == Timing::early ? "early" : "late"; }

bool parse_timing(std::string_view text, Timing& out) {
  out = text == "early" ? Timing::early : Timing::late;
  return text == "early" || text == "late";
}

bool parse_word(std::string_view word, Schedule& out) {
  const size_t at = word.find('=');
  const std::string_view name = word.substr(0, at), value = at == word.npos ? "" : word.substr(at + 1);
  if (word == "round_robin") out.order = Order::round_robin;
  else if (word == "random") out.order = Order::random;
  else if (word == "greedy") out.order = Order::greedy;
  else if (word == "forward") out.backward = false;
  else if (word == "backward") out.backward = true;
  else if (name == "copies") return parse_timing(value, out.copies);
  else if (name == "tensor_copies") return parse_timing(value, out.tensor_copies);
  else if (name == "products") return parse_timing(value, out.products);
  else if (name == "seed" && !value.empty()) {
    out.seed = 0;
    for (char c : value) {
      if (c < '0' || c > '9') return false;
      out.seed = out.seed * 10 + static_cast<uint64_t>(c - '0');
    }
  } else return false;
  return true;
}

}  // namespace

std::string Schedule::text() const {
  std::string out = order_name(order);
  out += backward ? ",backward" : ",forward";
  if (order == Order::random) out += ",seed=" + std::to_string(seed);
  out += std::string(",copies=") + timing_name(copies) + ",tensor_copies=" + timing_name(tensor_copies) +
         ",products=" + timing_name(products);
  return out;
}

bool parse_schedule(std::string_view text, Schedule& out) {
  while (!text.empty()) {
    const size_t comma = text.find(',');
    if (!parse_word(text.substr(0, comma), out)) return false;
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return true;
}

std::vector<Schedule> usual_schedules() {
  using enum Timing;
  return {{Order::greedy, false, 1, late, late, late},
          {Order::greedy, true, 1, early, late, early},
          {Order::greedy, false, 1, early, early, late},
          {Order::random, false, 7, late, early, late},
          {Order::round_robin, true, 1, late, late, early}};
}

std::vector<Schedule> all_schedules() {
  std::vector<Schedule> out;
  for (Order order : {Order::greedy, Order::round_robin, Order::random})
    for (int bits = 0; bits < 16; ++bits) {
      const auto timing = [&](int bit) { return bits >> bit & 1 ? Timing::early : Timing::late; };
      out.push_back({order, (bits & 1) != 0, 1 + static_cast<uint64_t>(bits), timing(1), timing(2), timing(3)});
    }
  return out;
}

}  // namespace tilert::emulator
