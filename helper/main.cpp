// tilert_compile: compiles for libtilert in a process of its own. Started by the library; of no use by hand.
#include "compiler/helper_main.h"

#include <unistd.h>

// Exit handlers of compilers' libraries have nothing left to do, and have been seen to fail.
int main() { _exit(tilert::helper_main()); }
