"""libtilert.a is one object, in which nothing is global but the header's functions, and it brings no name into a program that
the program could have too: static_test.py LIBRARY. A program that defines other things under names from inside links and works.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout


def inner_functions(library, most):
    """Names of functions of libraries inside, which a program may define as well."""
    names = re.findall(r"^[0-9a-f]+ t (_ZN3fmt\w+|_ZN8nlohmann\w+|_ZN6tilert\w+)$", run("nm", "--defined-only", library), re.M)
    return sorted(set(names))[:: max(1, len(set(names)) // most)]


def host_works(library):
    """A host with functions of its own under those names, which end the process where they are called."""
    names = inner_functions(library, 500)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "host.c").write_text((ROOT / "tests/abi/consumer/consumer.c").read_text() + "".join(
            f"void {one}(void) {{ __builtin_trap(); }}\n" for one in names))
        run("cc", "-std=gnu11", "-I", ROOT / "include", "-o", folder / "host", folder / "host.c", library, "-lsqlite3", "-lsodium", "-lstdc++", "-lm")
        return len(names), run(folder / "host").strip()


def main():
    library = sys.argv[1]
    problems = []
    members = run("ar", "t", library).split()
    if len(members) != 1:
        problems.append(f"{len(members)} objects: {members[:5]}")
    header = re.sub(r"/\*.*?\*/", "", (ROOT / "include/tilert.h").read_text(), flags=re.S)
    functions = set(re.findall(r"^TILERT_API[^;]*?\b(tilert_\w+)\s*\(", header, re.M))
    table = [line.split() for line in run("nm", "--defined-only", library).splitlines() if len(line.split()) == 3]
    shown = {name for _, kind, name in table if not kind.islower() or kind in "uvw"}
    if shown != functions:
        problems.append(f"global besides the header's functions or lacking: {sorted(shown ^ functions)[:8]}")
    count, said = host_works(library)
    version = ".".join(re.findall(r"^#define TILERT_VERSION_[A-Z]+ (\d+)$", header, re.M))
    if said != version or not count:
        problems.append(f"a host with {count} names from inside says '{said}'")
    for problem in problems:
        print(problem)
    print(f"libtilert.a: {len(shown)} global symbols, {count} names of a host's own beside, {len(problems)} problem(s)")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
