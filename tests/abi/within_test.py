#!/usr/bin/env python3
"""tilert inside another project, by add_subdirectory and by FetchContent: it configures, leaves the project around it as it is, and
programs compile, link and run.

within_test.py LIBRARY SOURCE CMAKE. So that nothing is compiled twice the library just built stands in for the one that the other
project would make of the same sources; everything else is the other project's own build.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

WAYS = {"add_subdirectory": ("OFF", "tilert"), "FetchContent": ("ON", "_deps/tilert-build")}
PROGRAMS = ("consumer_c", "consumer_cpp")


def run(*command, **options):
    print("+", shlex.join(command), flush=True)
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    if done.returncode:
        sys.exit(done.stdout)
    return done.stdout


def version(header):
    with open(header, encoding="utf-8") as file:
        return ".".join(re.findall(r"^#define TILERT_VERSION_[A-Z]+ (\d+)$", file.read(), re.M))


def tried(way, library, source, cmake, build):
    fetch, inside = WAYS[way]
    project = os.path.join(source, "tests", "abi", "within")
    run(cmake, "-G", "Ninja", "-S", project, "-B", build, f"-DTILERT_SOURCE={source}", f"-DFETCH={fetch}", "-DCMAKE_BUILD_TYPE=Debug")
    commands = {name: run("ninja", "-C", build, "-t", "commands", name).splitlines() for name in PROGRAMS}
    folder = os.path.join(build, inside, "lib")
    os.makedirs(folder, exist_ok=True)
    real = os.path.realpath(library)
    shutil.copy(real, folder)
    for name in ("libtilert.so", "libtilert.so.0"):
        os.symlink(os.path.basename(real), os.path.join(folder, name))
    printed = []
    for name, lines in commands.items():
        if not any("src/ir/" in line for line in lines):
            sys.exit(f"{way}: {name} does not have the library built first")
        for line in lines:  # its own: of its one source, and the last, which links
            if f"{name}.dir" in line:
                run("sh", "-c", line.partition(" && ")[2] if line.startswith("cd ") else line, cwd=build)
        printed.append(run(os.path.join(build, name)).strip())
    return printed


def main():
    library, source, cmake = sys.argv[1:]
    wanted = version(os.path.join(source, "include", "tilert.h"))
    for way in WAYS:
        with tempfile.TemporaryDirectory() as build:
            printed = tried(way, library, source, cmake, build)
            if set(printed) != {wanted}:
                sys.exit(f"{way}: {printed}, the header says {wanted}")
            print(f"{way}: {wanted}")


if __name__ == "__main__":
    main()
