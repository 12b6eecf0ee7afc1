#!/usr/bin/env python3
"""The version has one place, tilert.h, and every other place says the same: version_test.py BUILD, or --self-test, which
changes each place in turn and sees it told.

Files by pattern, the built library's name, SONAME, symbol version and answer, what pkg-config and CMake's package say, and what
find_package takes: until 1.0 the same minor version, from then on the same major version.
"""
import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Files below ROOT or BUILD, and where in them the version stands, first of all.
PLACES = [
    ("", "CHANGELOG.md", r"^## (\d+\.\d+\.\d+)\b"),
    ("", "packaging/changelog", r"^tilert \((\d+\.\d+\.\d+)-\d+\)"),
    ("", "bindings/python/pyproject.toml", r'^version = "(.*)"$'),
    ("", "bindings/rust/tilert*/Cargo.toml", r'^version = "(.*)"$'),
    ("", "src/jit/version.h", r'"tilert (\d+\.\d+\.\d+)"'),
    ("build", "CMakeCache.txt", r"^CMAKE_PROJECT_VERSION:STATIC=(.*)$"),
    ("build", "package/tilert.pc", r"^Version: (.*)$"),
    ("build", "package/tilert-config-version.cmake", r'^set\(PACKAGE_VERSION "(.*)"\)$'),
]


def version_of(header):
    return ".".join(re.search(rf"^#define TILERT_VERSION_{part} (\d+)$", header, re.M).group(1) for part in ("MAJOR", "MINOR", "PATCH"))


def told_by(name, text, pattern, version):
    """The problem with one text, or nothing."""
    found = re.search(pattern, text, re.M)
    if not found:
        return [f"{name} tells no version"]
    return [] if found.group(1) == version else [f"{name} says {found.group(1)}, tilert.h {version}"]


def files_of(build):
    for where, pattern, regex in PLACES:
        for path in sorted((build if where else ROOT).glob(pattern)):
            yield str(path), path.read_text(), regex


def library_problems(path, version):
    """Of the library that is built: its file, its SONAME, its symbols' version, its answer."""
    major = version.split(".", maxsplit=1)[0]
    dynamic = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
    soname = re.search(r"SONAME\s+(\S+)", dynamic).group(1)
    nodes = re.findall(r"TILERT_\d+", dynamic)
    number = ctypes.CDLL(str(path)).tilert_version()
    answer = f"{number >> 16}.{number >> 8 & 255}.{number & 255}"
    wanted = {"file": (path.resolve().name, f"libtilert.so.{version}"), "SONAME": (soname, f"libtilert.so.{major}"),
              "symbol version": (set(nodes), {f"TILERT_{major}"}), "tilert_version()": (answer, version)}
    return [f"the library's {name} is {found}, not {right}" for name, (found, right) in wanted.items() if found != right]


def find_package_problems(version_file, version):
    """Asks CMake's file as find_package does, for versions before, at and after this one."""
    major, minor, patch = map(int, version.split("."))
    asked = {f"{major}.{minor}": True, version: True, f"{major}.{minor}.{patch + 1}": False, f"{major}.{minor + 1}": False,
             f"{major + 1}.0": False}
    if minor:
        asked[f"{major}.{minor - 1}"] = major > 0
    problems = []
    for text, right in asked.items():
        parts = text.split(".") + ["0"]
        with tempfile.NamedTemporaryFile("w", suffix=".cmake") as script:
            script.write(f"set(PACKAGE_FIND_VERSION {text})\nset(PACKAGE_FIND_VERSION_MAJOR {parts[0]})\nset(PACKAGE_FIND_VERSION_MINOR {parts[1]})\n"
                         f"set(CMAKE_SIZEOF_VOID_P 8)\ninclude({version_file})\nmessage(STATUS \"takes=${{PACKAGE_VERSION_COMPATIBLE}}\")\n")
            script.flush()
            said = subprocess.run(["cmake", "-P", script.name], capture_output=True, text=True, check=True).stdout
        takes = "takes=TRUE" in said
        if takes != right:
            problems.append(f"find_package(tilert {text}) {'takes' if takes else 'refuses'} version {version}")
    return problems


def self_test():
    problems = []
    samples = ["## 0.1.0, unreleased", "tilert (0.1.0-1) unstable", 'version = "0.1.0"', 'version = "0.1.0"', '"tilert 0.1.0"', "CMAKE_PROJECT_VERSION:STATIC=0.1.0",
               "Version: 0.1.0", 'set(PACKAGE_VERSION "0.1.0")']
    for (_, name, regex), sample in zip(PLACES, samples, strict=True):
        if told_by(name, sample, regex, "0.1.0") or not told_by(name, sample, regex, "0.1.1") or not told_by(name, "", regex, "0.1.0"):
            problems.append(name)
    for problem in problems:
        print("not told:", problem)
    return bool(problems)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    build = pathlib.Path(sys.argv[1])
    version = version_of((ROOT / "include/tilert.h").read_text())
    problems = [problem for name, text, regex in files_of(build) for problem in told_by(name, text, regex, version)]
    problems += library_problems(build / "lib/libtilert.so", version)
    problems += find_package_problems(build / "package/tilert-config-version.cmake", version)
    for problem in problems:
        print(problem)
    print(f"version {version}: {len(problems)} place(s) say otherwise")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
