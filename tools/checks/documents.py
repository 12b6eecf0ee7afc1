#!/usr/bin/env python3
"""What documents say is so: C and C++ blocks compile against the public headers, links lead to files of the tree.

Blocks are those of README.md and of docs/. Not here: whether the prose is right.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import common

BLOCK = re.compile(r"^```(c|cpp)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
COMPILERS = {"c": ("gcc", "c", "c11"), "cpp": ("g++", "c++", "c++17")}


def complaint_about(include, language, text):
    compiler, name, standard = COMPILERS[language]
    if not shutil.which(compiler):
        return ""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "block." + language)
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([compiler, "-x", name, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-I", include,
                               "-fsyntax-only", source], capture_output=True, text=True, check=False)
        return done.stderr if done.returncode else ""


def check(root):
    problems, examined = [], 0
    for path in common.files(root, (".md",)):
        text = common.read(root, path)
        examined += 1
        for match in LINK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            target = os.path.normpath(os.path.join(root, os.path.dirname(path), match.group(1)))
            if not os.path.exists(target):
                problems.append(f"{path}:{line}: {match.group(1)} is not in the tree")
        if path != "README.md" and not path.startswith("docs/"):
            continue
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            complaint = complaint_about(os.path.join(root, "include"), match.group(1), match.group(2))
            if complaint:
                problems.append(f"{path}:{line}: the block does not compile: {complaint[:2000]}")
    return problems, examined


def self_test():
    block = "# Title\n\n```cpp\n#include <t.h>\nint f() { return t(); }\n```\n\n```sh\nnot C\n```\n"
    good = {"README.md": block + "[a file](include/t.h), [a place](include/t.h#x), [a page](https://a.org/x)\n",
            "include/t.h": "static inline int t(void) { return 1; }\n", "notes/n.md": "```cpp\nanything\n```\n"}
    return all([
        common.expect("good", good, check, []),
        common.expect("link", {**good, "README.md": block + "[gone](include/u.h)\n"}, check, ["README.md:11: include/u.h"]),
        common.expect("block", {**good, "README.md": block.replace("t()", "u()")}, check, ["README.md:3: the block"]),
        common.expect("C", {**good, "docs/d.md": "\n```c\n#include <t.h>\nint x = y;\n```\n"}, check, ["docs/d.md:2: the block"]),
    ])


if __name__ == "__main__":
    sys.exit(common.main("documents", check, self_test))
