/* Prints the version of the loaded library; fails when the header is of another one. */
#include <stdio.h>
#include <tilert.h>

int main(void) {
  const unsigned loaded = tilert_version();
  const unsigned compiled =
      (TILERT_VERSION_MAJOR << 16) | (TILERT_VERSION_MINOR << 8) | TILERT_VERSION_PATCH;
  printf("%u.%u.%u\n", loaded >> 16, (loaded >> 8) & 255, loaded & 255);
  return loaded == compiled ? 0 : 1;
}
