// libFuzzer's entry of the target that TILERT_FUZZ_TARGET names.
#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tilert::fuzz::TILERT_FUZZ_TARGET(data, size);
  return 0;
}
