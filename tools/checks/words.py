#!/usr/bin/env python3
"""Words that do not belong into the repository: paths of somebody's machine, notes to oneself, hosts of registries.

A finished line says what holds. Not here: spelling, and the opening comment (comments.py).
"""
import re
import sys

import common

FORBIDDEN = [
    (re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b"), "a note to oneself: do it, or file it"),
    (re.compile(r"\bfor now\b|\bplaceholder implementation\b|\bnot yet implemented\b", re.I), "say what holds"),
    (re.compile(r"(?<![\w/.])/(?:work|root|home/\w+|Users/\w+|opt/wheels)(?=[/\s\"'`)]|$)"), "a path of one machine"),
    (re.compile(r"deb\.debian\.org|pypi\.org|pythonhosted\.org"), "a registry's host: its client knows it"),
]
# This file spells them out, and the text of the licence is not ours.
EXEMPT = {"tools/checks/words.py", "LICENSE"}


def check(root):
    problems, examined = [], 0
    for path in common.files(root):
        text = common.read(root, path)
        if text is None or path in EXEMPT:
            continue
        examined += 1
        for number, line in enumerate(text.split("\n"), 1):
            for pattern, advice in FORBIDDEN:
                match = pattern.search(line)
                if match:
                    problems.append(f"{path}:{number}: '{match.group().strip()}': {advice}")
    return problems, examined


def self_test():
    good = {"a.cpp": "// A todo list is data here; path /usr/local/cuda, $HOME/.cache, https://a.org/home/x, network/root\n",
            "LICENSE": "TODO\n", "b.bin": "\0TODO"}
    passed = common.expect("good", good, check, [])
    for line in ("// TODO: more", "x();  // FIXME", "# good enough for now", 'path = "/home/anna/x"', "cd /work/main",
                 'read("/root/.ssh")', "see deb.debian.org", "/* For now */"):
        passed = common.expect(line, {**good, "c.cpp": "\n" + line + "\n"}, check, ["c.cpp:2: "]) and passed
    return passed


if __name__ == "__main__":
    sys.exit(common.main("words", check, self_test))
