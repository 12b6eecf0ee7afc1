#!/usr/bin/env python3
"""A program that was compiled with an older header works with this library: its structs are shorter.

older_test.py HEADER COMPILER LIBRARY REFERENCE. The older header is made of this one: each struct with a struct_size ends behind the last
field that the program (the twenty programs in C) knows. What it prints is what REFERENCE, built with the whole header, prints.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

from layout_test import STRUCT, parsed, without_comments

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bindings", "programs", "c")


def shortened(header, sources, recorded):
    """The header with shorter structs, and the names of those."""
    used, cut = set(re.findall(r"(?:\.|->)(\w+)", sources)), []

    def shorten(match):
        name, members = match.group(1), recorded[match.group(1)][1]
        if "struct_size" not in members:
            return match.group(0)
        declarations = [part.strip() for part in match.group(2).split(";") if part.strip()]
        known = [[word for word in re.findall(r"\w+", each) if word in members] for each in declarations]
        # A struct keeps its alignment, and has never ended in padding (layout_test.py): it ends behind a multiple of 8 bytes.
        last = max(i for i, words in enumerate(known) if i == 0 or used & set(words))
        while last + 1 < len(declarations) and sum(members[known[last][-1]]) % 8:
            last += 1
        if last + 1 < len(declarations):
            cut.append(name)
        return match.group(0)[:match.start(2) - match.start()] + "\n  ".join(["", *(d + ";" for d in declarations[:last + 1])]) + "\n}"
    return STRUCT.sub(shorten, without_comments(header)), cut


def main():
    header, compiler, library, reference = sys.argv[1:]
    paths = sorted(glob.glob(os.path.join(SOURCES, "*.c")))
    texts = [open(path, encoding="utf-8").read() for path in paths]
    with open(header, encoding="utf-8") as file:
        header_text = file.read()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "layout.txt"), encoding="utf-8") as file:
        older, cut = shortened(header_text, "\n".join(texts), parsed(file.read()))
    if len(cut) < 8:
        sys.exit(f"only {cut} are shorter: the header is not read as it is written")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "tilert.h"), "w", encoding="utf-8") as file:
            file.write(older)
        program = os.path.join(folder, "older")
        subprocess.run([compiler, "-std=c11", "-I", folder, "-o", program, *paths, library, f"-Wl,-rpath,{os.path.dirname(library)}"], check=True)
        printed = [subprocess.run([each], capture_output=True, text=True, check=False) for each in (program, reference)]
    if printed[0].returncode or printed[0].stdout != printed[1].stdout:
        sys.exit(f"ended with {printed[0].returncode}:\n{printed[0].stderr}{printed[0].stdout}\nand with the whole header:\n{printed[1].stdout}")
    print(f"shorter: {', '.join(cut)}; the same {len(printed[0].stdout.splitlines())} lines")


if __name__ == "__main__":
    main()
