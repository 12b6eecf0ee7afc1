#!/usr/bin/env python3
"""Sizes of public structs and offsets of their fields are those of layout.txt, as a C compiler sees them.

layout_test.py HEADER COMPILER LAYOUT [--write]. A struct that is new, or has grown at its end, gets into the file by --write;
whatever else moves breaks programs that are compiled already. `fields` reads the header, which other tests use too.
"""
import os
import re
import subprocess
import sys
import tempfile

STRUCT = re.compile(r"^(?:typedef )?struct (tilert_\w+) \{(.*?)^\}", re.M | re.S)
POINTER_TO_FUNCTION = re.compile(r"\(\*(\w+)\)\s*\(.*\)\s*$", re.S)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def fields(header):
    """{struct: [field, ...]} in the order of the header."""
    found = {}
    for match in STRUCT.finditer(without_comments(header)):
        names = []
        for declaration in filter(None, (part.strip() for part in match.group(2).split(";"))):
            callback = POINTER_TO_FUNCTION.search(declaration)
            if callback:
                names.append(callback.group(1))
                continue
            names += [re.sub(r"\[.*?\]", "", part).split()[-1].lstrip("*") for part in declaration.split(",")]
        found[match.group(1)] = names
    return found


def program(structs):
    lines = ["#include <stddef.h>", "#include <stdio.h>", '#include "tilert.h"', "int main(void) {"]
    for name, members in structs.items():
        kind = name if name != "tilert_argument" else "struct tilert_argument"
        lines.append(f'  printf("{name} %zu\\n", sizeof({kind}));')
        lines += [f'  printf("  {m} %zu %zu\\n", offsetof({kind}, {m}), sizeof((({kind}*)0)->{m}));' for m in members]
    return "\n".join([*lines, "  return 0;", "}", ""])


def layout(header_path, compiler):
    with open(header_path, encoding="utf-8") as file:
        structs = fields(file.read())
    if len(structs) < 40:
        sys.exit(f"only {len(structs)} structs are found in {header_path}: it is not read as it is written")
    with tempfile.TemporaryDirectory() as folder:
        source, binary = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
        with open(source, "w", encoding="utf-8") as file:
            file.write(program(structs))
        subprocess.run([compiler, "-std=c11", "-I", os.path.dirname(header_path), "-o", binary, source], check=True)
        return subprocess.run([binary], check=True, capture_output=True, text=True).stdout


def parsed(text):
    """{struct: (size, {field: (offset, size)})}"""
    out, current = {}, None
    for line in text.splitlines():
        words = line.split()
        if line.startswith(" "):
            out[current][1][words[0]] = (int(words[1]), int(words[2]))
        elif words:
            current = words[0]
            out[current] = (int(words[1]), {})
    return out


def padded_ends(structs):
    """Structs with a struct_size whose last field does not reach their end."""
    return [name for name, (size, members) in structs.items() if "struct_size" in members and sum(list(members.values())[-1]) != size]


def main():
    header, compiler, path = sys.argv[1:4]
    now = layout(header, compiler)
    padded = padded_ends(parsed(now))
    if padded:
        sys.exit(f"structs that end in padding: {', '.join(padded)}. Give them a reserved field: a later field would lie where programs of "
                 "today leave any bytes, and struct_size would not tell")
    if sys.argv[4:] == ["--write"]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(now)
        return
    with open(path, encoding="utf-8") as file:
        recorded = file.read()
    if now == recorded:
        print(f"{len(parsed(now))} structs lie as recorded")
        return
    old, new = parsed(recorded), parsed(now)
    problems = []
    for name in sorted(set(old) | set(new)):
        if name not in new:
            problems.append(f"{name} is gone")
        elif name not in old:
            problems.append(f"{name} is new: record it with --write")
        elif old[name] != new[name]:
            moved = [f for f, place in old[name][1].items() if new[name][1].get(f) != place]
            problems.append(f"{name}: {'moved: ' + ', '.join(moved) if moved else 'grew: record it with --write'}"
                            f" (size {old[name][0]} -> {new[name][0]})")
    sys.exit("\n".join(problems or ["the order of structs or fields differs from the file: record it with --write"]))


if __name__ == "__main__":
    main()
