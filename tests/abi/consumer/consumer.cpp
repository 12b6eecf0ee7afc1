// The same through the C++ header.
#include <cstdio>
#include <tilert.hpp>

int main() {
  const unsigned loaded = tilert_version();
  std::printf("%u.%u.%u\n", loaded >> 16, (loaded >> 8) & 255, loaded & 255);
  return 0;
}
