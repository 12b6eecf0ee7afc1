"""The library registers no destructor of a static object of its own: threads of a host may be inside it while the process
ends. exit_test.py LIBRARY: disassembles it and looks for who calls __cxa_atexit."""

import re
import subprocess
import sys


def main():
    text = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", sys.argv[1]], capture_output=True, text=True, check=True).stdout
    function, callers, seen = "", [], 0
    for line in text.splitlines():
        start = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if start:
            function = start.group(1)
        elif "__cxa_atexit" in line:
            seen += 1
            if "tilert" in function:
                callers.append(function)
    if callers:
        sys.exit("static objects with destructors (support/immortal.h) in:\n  " + "\n  ".join(sorted(set(callers))))
    if not seen:
        sys.exit("nobody calls __cxa_atexit: not even the C++ library, so this test sees nothing")


if __name__ == "__main__":
    main()
