#!/usr/bin/env python3
"""The public headers stand alone: tilert.h as C11 and C++17, tilert.hpp and its parts as C++17, warnings as errors.

By each compiler that is installed; tilert.hpp also without exceptions, as engines are built.
Compilers that are not installed are left out by name; none at all is a failure. Not here: what the headers say.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import common

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
CASES = [("tilert.h", "c", ["-std=c11"]), ("tilert.h", "c++", ["-std=c++17"]),
         ("tilert.hpp", "c++", ["-std=c++17"]), ("tilert.hpp", "c++", ["-std=c++20"]),
         ("tilert.hpp", "c++", ["-std=c++17", "-fno-exceptions"])]
COMPILERS = [("gcc", "g++"), ("clang", "clang++"), ("clang-19", "clang++-19")]


def compile_alone(include, header, language, flags, compiler):
    """The compiler's complaint about the header included twice and before anything else, or an empty string."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "alone.c" if language == "c" else "alone.cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write(f'#include "{header}"\n#include "{header}"\nint main(void) {{ return 0; }}\n')
        command = [compiler, "-x", language, *flags, *WARNINGS, "-I", include, "-fsyntax-only", source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else done.stderr or "failed without a word"


def check(root):
    problems, examined = [], 0
    include = os.path.join(root, "include")
    parts = [(os.path.relpath(path, "include"), "c++", ["-std=c++17"]) for path in common.files(root, (".hpp",))
             if path.startswith("include/") and path != "include/tilert.hpp"]
    for c, cxx in COMPILERS:
        if not (shutil.which(c) and shutil.which(cxx)):
            print(f"headers: {c} is not installed, left out")
            continue
        for header, language, flags in CASES + parts:
            examined += 1
            complaint = compile_alone(include, header, language, flags, c if language == "c" else cxx)
            if complaint:
                problems.append(f"include/{header}:1: {c} {' '.join(flags)}: {complaint[:2000]}")
    return problems, examined


def self_test():
    compilers = sum(1 for c, cxx in COMPILERS if shutil.which(c) and shutil.which(cxx))
    good = {"include/tilert.h": "#ifndef A\n#define A\n#include <stdint.h>\nint32_t f(void);\n#endif\n",
            "include/tilert.hpp": '#pragma once\n#include "tilert.h"\ninline int g() { return 1; }\n'}
    no_c = {**good, "include/tilert.h": good["include/tilert.h"].replace("int32_t f(void);", "class C;")}
    needs_other = {**good, "include/tilert.h": good["include/tilert.h"].replace("#include <stdint.h>\n", "")}
    warns = {**good, "include/tilert.hpp": good["include/tilert.hpp"] + "inline int h(int unused) { return 1; }\n"}
    throws = {**good, "include/tilert.hpp": good["include/tilert.hpp"] + "inline void h() { throw 1; }\n"}
    part = {**good, "include/tilert/part.hpp": "#pragma once\ninline int p() { return q(); }\n"}
    return all([
        common.expect("good", good, check, []),
        common.expect("not C", no_c, check, ["include/tilert.h:1: "] * compilers),
        common.expect("needs another header", needs_other, check,
                      (["include/tilert.h:1: "] * 2 + ["include/tilert.hpp:1: "] * 3) * compilers),
        common.expect("throws", throws, check, ["include/tilert.hpp:1: "] * compilers),
        common.expect("part", part, check, ["include/tilert/part.hpp:1: "] * compilers),
        common.expect("warns", warns, check, ["include/tilert.hpp:1: "] * (3 * compilers)),
        common.expect("absent", {"include/tilert.h": good["include/tilert.h"]}, check,
                      ["include/tilert.hpp:1: "] * (3 * compilers)),
    ])


if __name__ == "__main__":
    sys.exit(common.main("headers", check, self_test))
