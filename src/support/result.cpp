// Names of the status codes.
#include "support/result.h"

namespace tilert {

const char* code_name(Code code) {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kInvalidArgument: return "INVALID_ARGUMENT";
    case Code::kInvalidProgram: return "INVALID_PROGRAM";
    case Code::kUnsupported: return "UNSUPPORTED";
    case Code::kUnavailable: return "UNAVAILABLE";
    case Code::kNotReady: return "NOT_READY";
    case Code::kAlignment: return "ALIGNMENT";
    case Code::kShape: return "SHAPE";
    case Code::kOutOfMemory: return "OUT_OF_MEMORY";
    case Code::kDriver: return "DRIVER";
    case Code::kCompile: return "COMPILE";
    case Code::kForked: return "FORKED";
    case Code::kSealed: return "SEALED";
    case Code::kTimeout: return "TIMEOUT";
    case Code::kCancelled: return "CANCELLED";
    case Code::kSourceRefused: return "SOURCE_REFUSED";
    case Code::kCorrupt: return "CORRUPT";
    case Code::kInternal: return "INTERNAL";
  }
  return "UNKNOWN";
}

}  // namespace tilert
