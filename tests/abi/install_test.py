#!/usr/bin/env python3
"""Installs a build into a folder of its own and uses it as a stranger would: by find_package, and by pkg-config.

install_test.py BUILD CONSUMER CMAKE. The consumer is a C11 and a C++17 program that print the version. The installed
tree is moved before use, so that nothing in it may hold its own path. Not here: what the functions do.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

INSTALLED = [r"include/tilert\.h", r"include/tilert\.hpp", r"lib[^/]*(/[^/]+)?/libtilert\.so\.0",
             r"lib[^/]*(/[^/]+)?/pkgconfig/tilert\.pc", r"lib[^/]*(/[^/]+)?/cmake/tilert/tilert-config\.cmake",
             r"lib[^/]*(/[^/]+)?/tilert-0/tilert_compile", r"share/man/man3/libtilert\.3\.gz", r"share/doc/tilert/LICENSE"]


def run(*command, **options):
    print("+", " ".join(command), flush=True)
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def install(cmake, build, folder):
    """Installs into folder/first, moves it to folder/second, returns the latter and its library folder."""
    first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
    run(cmake, "--install", build, "--prefix", first)
    shutil.move(first, second)
    files = [os.path.relpath(os.path.join(at, name), second) for at, _, names in os.walk(second) for name in names]
    for wanted in INSTALLED:
        if not any(re.fullmatch(wanted, file) for file in files):
            sys.exit(f"nothing installed matches {wanted}: {sorted(files)}")
    library = next(file for file in files if file.endswith("/libtilert.so.0"))
    return second, os.path.join(second, os.path.dirname(library))


def by_find_package(cmake, consumer, prefix, folder):
    build = os.path.join(folder, "consumer")
    run(cmake, "-G", "Ninja", "-S", consumer, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run(cmake, "--build", build)
    programs = ["consumer_c", "consumer_cpp"] + ["consumer_static"] * os.path.exists(os.path.join(build, "consumer_static"))
    return [run(os.path.join(build, name)) for name in programs]


def by_pkg_config(consumer, library, folder):
    environment = {**os.environ, "PKG_CONFIG_PATH": os.path.join(library, "pkgconfig"), "LD_LIBRARY_PATH": library}
    flags = run("pkg-config", "--cflags", "--libs", "tilert", env=environment).split()
    program = os.path.join(folder, "by_pkg_config")
    run("cc", "-std=c11", "-o", program, os.path.join(consumer, "consumer.c"), *flags)
    return run(program, env=environment), run("pkg-config", "--modversion", "tilert", env=environment)


def main():
    build, consumer, cmake = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        prefix, library = install(cmake, build, folder)
        printed = by_find_package(cmake, consumer, prefix, folder)
        other, version = by_pkg_config(consumer, library, folder)
        if {text.strip() for text in (*printed, other)} != {version.strip()}:
            sys.exit(f"versions differ: {printed}, {other}, pkg-config says {version}")
        print("installed tilert works:", version.strip())


if __name__ == "__main__":
    main()
