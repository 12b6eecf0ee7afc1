#!/usr/bin/env python3
"""A room includes only itself and the rooms named after DEPENDS in CMakeLists.txt; nothing in those lines is a circle.

Also: what is outside (plugins, samples, bindings, benchmarks) sees only what it may. Not here: headers of the system.
"""
import re
import sys

import common

ROOM = re.compile(r"^\s*tilert_room\(\s*(\w+)(?:\s+DEPENDS\s+([\w\s]+))?\)", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
# Samples are a user's programs: the public headers and their own files, no room at all.
PUBLIC_ONLY = ("samples/",)
# The plugin shares its table's header with the room that loads it, and includes no room back.
PLUGINS = ("plugins/",)


def rooms_of(text):
    return {name: (depends or "").split() for name, depends in ROOM.findall(text)}


def circles(rooms):
    problems, done = [], set()

    def visit(room, path):
        if room in path:
            problems.append("CMakeLists.txt:1: rooms depend in a circle: " + " -> ".join(path + [room]))
            return
        if room in done:
            return
        for used in rooms.get(room, []):
            visit(used, path + [room])
        done.add(room)

    for room in rooms:
        visit(room, [])
    return problems


def allowed(path, rooms):
    """The rooms that the file at `path` may include; None where any is allowed."""
    if path.startswith("src/"):
        room = path.split("/")[1]
        return {room, *rooms.get(room, [])}
    if path.startswith(PUBLIC_ONLY) or path.startswith(PLUGINS) or path.startswith("include/"):
        return set()
    return None


def check(root):
    text = common.read(root, "CMakeLists.txt")
    rooms = rooms_of(text)
    problems = circles(rooms)
    for room, used in rooms.items():
        problems += [f"CMakeLists.txt:1: room {room} depends on {name}, which is no room"
                     for name in used if name not in rooms]
    examined = 0
    for path in common.files(root, common.C_FAMILY + (".def",)):
        may = allowed(path, rooms)
        if may is None:
            continue
        examined += 1
        if path.startswith("src/") and path.split("/")[1] not in rooms:
            problems.append(f"{path}:1: {path.split('/')[1]} is no room of CMakeLists.txt")
            continue
        text = common.read(root, path)
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start(1)) + 1
            target = match.group(1)
            if ".." in target.split("/"):
                problems.append(f"{path}:{line}: {target}: write includes from src/, without ..")
            first = target.split("/")[0] if "/" in target else None
            if first in rooms and first not in may:
                problems.append(f"{path}:{line}: {target}: {path.split('/')[1]} may not include the room {first}")
    return problems, examined


def self_test():
    cmake = "tilert_room(low)\ntilert_room(mid DEPENDS low)\ntilert_room(high DEPENDS low mid)\n"
    good = {"CMakeLists.txt": cmake, "src/low/a.h": "", "src/mid/b.h": '#include "low/a.h"\n#include "mid/c.h"\n',
            "src/high/d.cpp": '#include "mid/b.h"\n', "samples/s.cpp": '#include "tilert.hpp"\n',
            "tests/high/t.cpp": '#include "low/a.h"\n'}
    return all([
        common.expect("allowed", good, check, []),
        common.expect("upwards", {**good, "src/low/a.h": '\n#include "mid/b.h"\n'}, check, ["src/low/a.h:2: mid/b.h"]),
        common.expect("sample", {**good, "samples/s.cpp": '#include "low/a.h"\n'}, check, ["samples/s.cpp:1: low/a.h"]),
        common.expect("relative", {**good, "src/mid/b.h": '#include "../low/a.h"\n'}, check, ["src/mid/b.h:1: ../low"]),
        common.expect("no room", {**good, "src/attic/x.h": ""}, check, ["src/attic/x.h:1: attic is no room"]),
        common.expect("circle", {**good, "CMakeLists.txt": cmake.replace("room(low)", "room(low DEPENDS high)")}, check,
                      ["CMakeLists.txt:1: rooms depend in a circle"] * 2),
        common.expect("unknown", {**good, "CMakeLists.txt": cmake + "tilert_room(top DEPENDS sky)\n"}, check,
                      ["CMakeLists.txt:1: room top depends on sky"]),
    ])


if __name__ == "__main__":
    sys.exit(common.main("includes", check, self_test))
