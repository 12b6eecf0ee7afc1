// Values that are made once and never destroyed: a host's threads may be inside the library while the process ends, when
// ordinary static objects are destroyed under them. tests/abi checks that the library registers no destructor.
#pragma once

#include <utility>

namespace tilert {

//   static const auto& table = immortal(make_table());
template <class T>
T& immortal(T value) {
  return *new T(std::move(value));
}

}  // namespace tilert
