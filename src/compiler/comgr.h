// Compiling with comgr itself: source to bitcode, bitcode to a relocatable, that to a code object, with the logs of
// each. Not here: which comgr (hip_library.h), hipRTC (hip.cpp).
#pragma once

#include "compiler/hip_library.h"

#include <string>
#include <vector>

namespace tilert {

// Whether comgr takes the target, features included. Asked of it by name, which is how a bogus one does no harm.
bool comgr_knows(const Comgr& comgr, const std::string& target);

struct ComgrOutput {
  bool compiled = false;
  std::string code;     // the code object
  std::string log;      // of all stages, warnings included
  std::string failure;  // which stage failed, and comgr's word for it
};

// `options` as clang takes them, without the target. comgr.numbers is there. A stage that fails is `compiled` false.
ComgrOutput comgr_compile(const Comgr& comgr, const CompileRequest& request, const std::vector<std::string>& options,
                          const CompileControl& control);

}  // namespace tilert
