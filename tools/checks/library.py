#!/usr/bin/env python3
"""What a built shared library shows: its symbols, the libraries it needs, its SONAME, its size.

library.py FILE --exports PREFIX [--soname NAME] [--max-stripped MIB]; --self-test builds small libraries with gcc and
sees each rule fail. Not here: whether the library works.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

FORBIDDEN = re.compile(r"cuda|nvrtc|nvidia|nvjit|cublas|hip|hsa|amdgpu|rocm|LLVM|clang", re.I)


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def exported(path):
    """Names of the dynamic symbols that the library defines; the version node itself is no symbol."""
    names = []
    for line in output_of("nm", "-D", "--defined-only", path).splitlines():
        parts = line.split()
        if parts[-2] != "A":
            names.append(parts[-1].split("@")[0])
    return names


def problems_of(path, prefix, soname, limit):
    names = exported(path)
    problems = [f"{path}: exports {name}, which does not start with {prefix}" for name in names
                if not name.startswith(prefix)]
    if not names:
        problems.append(f"{path}: exports nothing")
    for line in output_of("ldd", path).splitlines():
        needed = line.split()[0]
        if FORBIDDEN.search(os.path.basename(needed)):
            problems.append(f"{path}: needs {needed}; it is to be found at run time or linked statically")
        if "not found" in line:
            problems.append(f"{path}: needs {needed}, which is not there")
    found = re.search(r"SONAME\s+(\S+)", output_of("objdump", "-p", path))
    if soname and (not found or found.group(1) != soname):
        problems.append(f"{path}: SONAME is {found.group(1) if found else 'absent'}, not {soname}")
    if limit:
        with tempfile.TemporaryDirectory() as folder:
            stripped = os.path.join(folder, "stripped")
            subprocess.run(["strip", "-o", stripped, path], check=True)
            size = os.path.getsize(stripped) / 2**20
        print(f"{os.path.basename(path)}: {size:.2f} MiB stripped, {len(names)} symbols")
        if size > limit:
            problems.append(f"{path}: {size:.2f} MiB stripped, the limit is {limit}")
    return problems


def self_test():
    """Each row: a library's source and link flags, and the one problem to be found ('' for none)."""
    code = "int tilert_f(void) { return 1; }\n"
    cases = [
        (code, ["-Wl,-soname,libt.so.0"], ""),
        (code + "int other(void) { return 1; }\n", ["-Wl,-soname,libt.so.0"], "exports other"),
        (code, [], "SONAME is absent"),
        (code, ["-Wl,-soname,libt.so.1"], "SONAME is libt.so.1"),
        (code + "const char tilert_data[3 << 20] = {1};\n", ["-Wl,-soname,libt.so.0"], "the limit is 2"),
        ("static int tilert_f(void) { return 1; }\nint (*volatile f)(void) __attribute__((visibility(\"hidden\"))) = tilert_f;\n",
         ["-Wl,-soname,libt.so.0"], "exports nothing"),
        (code, ["-Wl,-soname,libt.so.0", "-Wl,--no-as-needed", "-L.", "-lcudart_fake"], "needs libcudart_fake.so"),
    ]
    passed = True
    with tempfile.TemporaryDirectory() as folder:
        fake = os.path.join(folder, "libcudart_fake.so")
        build(folder, "int x;\n", fake, ["-Wl,-soname,libcudart_fake.so", "-Wl,-rpath,."])
        for number, (text, flags, wanted) in enumerate(cases):
            library = os.path.join(folder, f"case{number}.so")
            build(folder, text, library, [*flags, f"-Wl,-rpath,{folder}"])
            problems = problems_of(library, "tilert_", "libt.so.0", 2)
            if (len(problems) != 1 or wanted not in problems[0]) if wanted else problems:
                print(f"self test {number}: wanted '{wanted}', found {problems}")
                passed = False
    print("library: self test", "passed" if passed else "failed")
    return 0 if passed else 1


def build(folder, text, library, flags):
    source = os.path.join(folder, "source.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    compiler = shutil.which("gcc") or "cc"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, *flags], check=True, cwd=folder)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    parser = argparse.ArgumentParser(description="what a shared library shows")
    parser.add_argument("file")
    parser.add_argument("--exports", required=True, help="what every exported name starts with")
    parser.add_argument("--soname")
    parser.add_argument("--max-stripped", type=float, help="MiB")
    given = parser.parse_args()
    problems = problems_of(given.file, given.exports, given.soname, given.max_stripped)
    for problem in problems:
        print(problem)
    print(f"library: {len(problems)} problem(s) in {given.file}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
