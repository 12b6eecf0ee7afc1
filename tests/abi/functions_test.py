#!/usr/bin/env python3
"""Every public function is documented, and links from C: functions_test.py HEADER COMPILER LIBRARY.

Documented is a function whose paragraph of the header (what stands between two empty lines) has a comment. The library exports no
other function than those of the header.
"""
import os
import re
import subprocess
import sys
import tempfile

from layout_test import without_comments

FUNCTION = re.compile(r"^TILERT_API\s[^;]*?\b(tilert_\w+)\s*\(", re.M)


def undocumented(header):
    """Functions in paragraphs without a comment; a comment that ends a paragraph's way by itself belongs to the next one."""
    comments = re.sub(r"/\*.*?\*/", lambda m: "/*" + re.sub(r"\n\s*\n", "\n.\n", m.group(0)[2:-2]) + "*/", header, flags=re.S)
    out = []
    for paragraph in re.split(r"\n\s*\n", comments):
        if "/*" not in paragraph:
            out += FUNCTION.findall(paragraph)
    return out


def self_test():
    good = "/* What f does.\n *\n * And more. */\nTILERT_API int tilert_f(int x) N;\nTILERT_API int\ntilert_g(void) N; /* g */\n"
    assert undocumented(good) == [], undocumented(good)
    assert undocumented(good + "\nTILERT_API void tilert_h(void) N;\n") == ["tilert_h"]


def main():
    self_test()
    header_path, compiler, library = sys.argv[1:]
    with open(header_path, encoding="utf-8") as file:
        header = file.read()
    functions = FUNCTION.findall(without_comments(header))
    problems = [f"{name} is not documented" for name in undocumented(header)]
    if len(functions) < 150 or len(set(functions)) != len(functions):
        problems.append(f"{len(functions)} functions, {len(set(functions))} of them different: the header is not read as it is written")
    with tempfile.TemporaryDirectory() as folder:
        source, binary = os.path.join(folder, "all.c"), os.path.join(folder, "all")
        uses = "\n".join(f"  sum += (uintptr_t)&{name};" for name in functions)
        with open(source, "w", encoding="utf-8") as file:
            file.write(f'#include "tilert.h"\nint main(void) {{\n  uintptr_t sum = 0;\n{uses}\n  return sum == 0;\n}}\n')
        done = subprocess.run([compiler, "-std=c11", "-I", os.path.dirname(header_path), "-o", binary, source, library], capture_output=True,
                              text=True, check=False)
        problems += re.findall(r"undefined reference to .*", done.stderr) or ([done.stderr] if done.returncode else [])
    exported = {line.split()[-1].partition("@")[0] for line in subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines() if " T " in line}
    problems += [f"{name} is exported and not in the header" for name in sorted(exported - set(functions))]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(functions)} functions are documented, link and are all that is exported")


if __name__ == "__main__":
    main()
