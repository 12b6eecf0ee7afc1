"""What of glibc the binaries need: nothing newer than GLIBC_2.31, but for what this toolchain cannot give otherwise.

floor_test.py FILE...: tells the newest version that each needs and who stops it. glibc 2.34 took the functions of libpthread and libdl into
libc under new versions, and programs that are built against it or a newer one get those; libstdc++'s archive, which a release
carries inside, was built against this system's glibc. A symbol that is newer than the floor and has no row here fails: it would raise
what the release needs without anyone's wish. Built against glibc 2.31 none of the rows is met. Nor does a release need the
C++ library of the system: its own is inside, and hidden.
"""
import re
import shutil
import subprocess
import sys

FLOOR = (2, 31)
MOVED = "moved into libc by glibc 2.34"
LIBSTDCXX = "libstdc++'s archive, which chose it when it was built"
LLVM = "LLVM's archives, which chose it when they were built"
REASONS = {
    re.compile(r"^(pthread_\w+|sem_\w+|dl(open|close|sym|addr|error|info)|__pthread_\w+)@GLIBC_2\.34$"): MOVED,
    re.compile(r"^pthread_sigmask@GLIBC_2\.32$"): "moved into libc by glibc 2.32",
    re.compile(r"^__libc_start_main@GLIBC_2\.34$"): "the start of programs, new in glibc 2.34",
    re.compile(r"^__libc_single_threaded@GLIBC_2\.32$"): LIBSTDCXX,
    re.compile(r"^arc4random@GLIBC_2\.36$"): LIBSTDCXX,
    re.compile(r"^mallinfo2@GLIBC_2\.33$"): LLVM,
    re.compile(r"^_dl_find_object@GLIBC_2\.35$"): "libgcc's unwinder",
    re.compile(r"^(l?stat(64)?|fstat(64)?|fstatat(64)?|mknod(at)?)@GLIBC_2\.33$"): "functions in place of glibc's inline ones, since 2.33",
}


def needed(path):
    """Symbols with their versions."""
    text = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True).stdout
    return sorted({f"{name}@{version}" for version, name in re.findall(r"\*UND\*\s+\S+\s+\(?(GLIBC_[\d.]+)\)?\s+(\S+)$", text, re.M)})


def runtime_problems(path):
    text = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
    return [f"{path}: needs {name}, which is to be inside" for name in re.findall(r"NEEDED\s+(lib(?:stdc\+\+|gcc_s)\S*)", text)]


def version_of(symbol):
    return tuple(int(part) for part in symbol.rpartition("_")[2].split("."))


def problems_of(path, symbols):
    newer = [symbol for symbol in symbols if version_of(symbol) > FLOOR]
    told = {symbol: next((why for pattern, why in REASONS.items() if pattern.match(symbol)), None) for symbol in newer}
    for why in sorted({why for why in told.values() if why}):
        print(f"{path}: {why}: {', '.join(symbol for symbol in newer if told[symbol] == why)}")
    newest = max(map(version_of, symbols), default=())
    print(f"{path}: needs GLIBC_{'.'.join(map(str, newest))}")
    return [f"{path}: needs {symbol}, newer than GLIBC_{FLOOR[0]}.{FLOOR[1]}, and no row says why" for symbol in newer if not told[symbol]]


def main():
    problems = []
    for path in sys.argv[1:]:
        symbols = needed(path)
        if not symbols:
            problems.append(f"{path}: no symbol of glibc was seen")
        problems += problems_of(path, symbols) + runtime_problems(path)
    if problems_of("a test", ["strlcpy@GLIBC_2.38", "memcpy@GLIBC_2.14"]) == []:
        problems.append("this test does not see a symbol that is too new")
    if not runtime_problems(shutil.which("cmake")):  # a program in C++
        problems.append("this test does not see a program that needs the system's C++ library")
    for problem in problems:
        print(problem)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
