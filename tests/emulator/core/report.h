// Report: what went wrong in an emulated launch, as values a test reads and a text a person reads. The emulator never
// ends its host.
#pragma once

#include <cstdint>
#include <string>

namespace tilert::emulator {

enum class Fault : uint8_t {
  none,
  deadlock,       // every thread waits
  divergence,     // threads of one group met at different operations
  race,           // two accesses without an order between them
  misaligned,     // an address that its instruction does not take
  out_of_bounds,  // memory that is no one's, or a canary that fell
  protocol,       // an instruction used against its rules: counts, phases, fences, groups
  unsupported,    // a text that breaks the rules for generated sources, or does not compile
};

const char* fault_name(Fault fault);

struct Report {
  Fault fault = Fault::none;
  std::string kernel;
  std::string text;   // "block (1, 0, 0) thread 37, line 41 (7: product): ..."
  int line = 0;       // of the kernel's text; 0: unknown
  uint64_t switches = 0, collectives = 0;

  bool ok() const { return fault == Fault::none; }
};

}  // namespace tilert::emulator
