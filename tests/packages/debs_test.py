#!/usr/bin/env python3
"""Packs a build into .debs and looks at them: lintian without errors, each file in its package, dependencies, symbols,
hardened and stripped binaries; unpacked anywhere, the command compiles for the CPU and a sample builds and runs.

debs_test.py BUILD [--quick]. BUILD/debs gets the packages; --quick packs with gzip in place of xz. Exit status 77: this
build packs none, or a tool is missing. Not here: installing and removing them (tools/package_check).
"""
import argparse
import fnmatch
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = ("cpack", "lintian", "dpkg-deb", "dpkg-shlibdeps", "readelf", "nm", "pkg-config", "man")
SCRIPTS = {"preinst", "postinst", "prerm", "postrm", "config"}
# A context that isolates compiles is refused at once where there is no helper.
ISOLATED = """#include <stdio.h>
#include <tilert.h>
int main(void) {
  tilert_context_options options = {.struct_size = sizeof options, .cache_mode = TILERT_CACHE_OFF, .isolate = TILERT_ISOLATE_ALWAYS};
  tilert_context* context;
  tilert_error* error;
  puts(tilert_context_create(&options, &context, &error) == TILERT_OK ? "found" : tilert_error_message(error));
}
"""
# Each package's files below /usr, {lib} being the machine's library folder: one file or more for each pattern, and none beside.
FILES = {
    "libtilert0": ["{lib}/libtilert.so.0", "{lib}/libtilert.so.{version}", "{lib}/tilert-0/tilert_compile"],
    "libtilert0-llvm": ["{lib}/tilert-0/libtilert_llvm.so"],
    "libtilert-dev": ["{lib}/libtilert.so", "{lib}/libtilert.a", "{lib}/pkgconfig/tilert.pc", "{lib}/cmake/tilert/tilert-config.cmake",
                      "{lib}/cmake/tilert/tilert-config-version.cmake", "{lib}/cmake/tilert/tilert-targets*.cmake",
                      "share/man/man3/libtilert.3.gz", "include/*"],
    "tilert": ["bin/tilert", "share/man/man1/tilert.1.gz"],
}
DOCUMENTS = ["share/doc/{package}/copyright", "share/doc/{package}/changelog.gz", "share/doc/{package}/changelog.Debian.gz"]
# What each package's Depends names, in any order; what is not here it must not need.
DEPENDS = {
    "libtilert0": {"libc6", "libsodium23", "libsqlite3-0"},
    "libtilert0-llvm": {"libtilert0 (= {deb})", "libc6", "zlib1g", "libzstd1"},
    "libtilert-dev": {"libtilert0 (= {deb})"},
    "tilert": {"libtilert0 (= {deb})", "libc6", "libgcc-s1", "libstdc++6"},
}


def run(*command, fails=False, **options):
    done = subprocess.run([str(c) for c in command], text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)
    if done.returncode and not fails:
        sys.exit(f"{' '.join(str(c) for c in command)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def version_of_header():
    text = (ROOT / "include/tilert.h").read_text()
    return ".".join(re.search(rf"^#define TILERT_VERSION_{part} (\d+)$", text, re.M).group(1) for part in ("MAJOR", "MINOR", "PATCH"))


def pack(build, quick):
    """Packages by name, made anew."""
    if not (build / "CPackConfig.cmake").exists():
        skip(f"{build} packs no .debs; configure with the preset test or package, with every part")
    shutil.rmtree(build / "debs", ignore_errors=True)
    stamp = run("dpkg-parsechangelog", "-l", ROOT / "packaging/changelog", "-S", "Timestamp").strip()
    run("cpack", "-G", "DEB", *(["-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip"] if quick else []), cwd=build,
        env={**os.environ, "SOURCE_DATE_EPOCH": stamp})
    shutil.rmtree(build / "debs/_CPack_Packages")
    return {path.name.split("_")[0]: path for path in (build / "debs").glob("*.deb")}


class Check:
    """What was found wrong; the packages and where they are unpacked."""

    def __init__(self, debs, folder):
        self.problems, self.debs, self.folder = [], debs, folder
        self.version = version_of_header()
        self.deb_version = run("dpkg-parsechangelog", "-l", ROOT / "packaging/changelog", "-S", "Version").strip()
        self.library_folder = "lib/" + run("gcc", "-print-multiarch").strip()
        for name, path in debs.items():
            run("dpkg-deb", "-R", path, folder / name)
            run("dpkg-deb", "-x", path, folder / "all")
        self.expect(self.deb_version.rpartition("-")[0] == self.version, f"packaging/changelog is of {self.deb_version}, tilert.h of {self.version}")
        self.expect(set(debs) == set(FILES), f"the packages are {sorted(debs)}, not {sorted(FILES)}")

    def expect(self, holds, otherwise):
        if not holds:
            self.problems.append(otherwise)

    def field(self, package, name):
        return run("dpkg-deb", "-f", self.debs[package], name).strip()

    def files(self, package):
        usr = self.folder / package / "usr"
        return {str(path.relative_to(usr)) for path in usr.rglob("*") if path.is_symlink() or not path.is_dir()}


def check_files(check, package):
    patterns = [pattern.format(lib=check.library_folder, version=check.version, package=package) for pattern in FILES[package] + DOCUMENTS]
    files = check.files(package)
    for pattern in patterns:
        check.expect(fnmatch.filter(files, pattern), f"{package} lacks {pattern}")
    for file in files:
        check.expect(any(fnmatch.fnmatch(file, pattern) for pattern in patterns), f"{package} holds {file}")
    outside = [path.name for path in (check.folder / package).iterdir() if path.name not in ("usr", "DEBIAN")]
    check.expect(not outside, f"{package} lays {outside} outside of /usr")


def check_control(check, package):
    check.expect(check.field(package, "Version") == check.deb_version, f"{package} is of version {check.field(package, 'Version')}")
    named = {part.strip() for part in check.field(package, "Depends").split(",")}
    wanted = {text.format(deb=check.deb_version) for text in DEPENDS[package]}
    plain = {text if text in wanted else text.split()[0] for text in named}
    check.expect(plain == wanted, f"{package} depends on {sorted(named)}, not on {sorted(wanted)}")
    control = {path.name for path in (check.folder / package / "DEBIAN").iterdir()}
    check.expect(not control & SCRIPTS, f"{package} has scripts of its own: {sorted(control & SCRIPTS)}")
    check.expect(len(check.field(package, "Description").splitlines()) > 5, f"{package} describes itself in few words")


def check_headers(check):
    installed = {file for file in check.files("libtilert-dev") if file.startswith("include/")}
    ours = {str(path.relative_to(ROOT)) for path in (ROOT / "include").rglob("*.h*")}
    check.expect(installed == ours, f"headers differ: {sorted(installed ^ ours)}")


def check_symbols(check, build):
    """The symbols of the control file are the library's, and a program linked with it depends on what they say."""
    library = check.folder / "all/usr" / check.library_folder / "libtilert.so.0"
    exported = {line.split()[-1].replace("@@", "@") for line in run("nm", "-D", "--defined-only", library).splitlines()}
    exported = {name if "@" in name else f"{name}@{name}" for name in exported}
    text = (check.folder / "libtilert0/DEBIAN/symbols").read_text()
    listed = {line.split()[0] for line in text.splitlines()[1:]}
    check.expect(exported == listed, f"library and symbols file differ: {sorted(exported ^ listed)[:6]}")
    check.expect((check.folder / "libtilert0/DEBIAN/triggers").read_text() == "activate-noawait ldconfig\n", "ldconfig is not triggered")
    place = check.folder / "program"
    (place / "debian").mkdir(parents=True)
    (place / "debian/control").write_text("")
    run("gcc", "-o", place / "program", ROOT / "tests/abi/consumer/consumer.c", "-I", ROOT / "include", "-L", build / "lib", "-ltilert")
    found = run("dpkg-shlibdeps", "-O", f"-S{check.folder / 'libtilert0'}", place / "program", cwd=place)
    major, minor = check.version.split(".")[:2]
    for wanted in [f"libtilert{major} (>= {check.version})"] + ([f"libtilert0 (<< 0.{int(minor) + 1}~)"] if major == "0" else []):
        check.expect(wanted in found, f"a program that links the library would depend on {found.strip()}, which lacks {wanted}")


def check_binaries(check, build):
    for path in (path for path in (check.folder / "all").rglob("*") if path.is_file() and not path.is_symlink()):
        content = path.read_bytes()
        check.expect(str(build).encode() not in content, f"{path.name} names the folder that it was built in")
        if content[:4] != b"\x7fELF":
            continue
        dynamic, headers = run("readelf", "-dW", path), run("readelf", "-lSW", path)
        check.expect("RPATH" not in dynamic and "RUNPATH" not in dynamic, f"{path.name} has a search path of its own")
        check.expect("BIND_NOW" in dynamic or re.search(r"FLAGS_1.*NOW", dynamic), f"{path.name} binds its symbols late")
        check.expect("GNU_RELRO" in headers, f"{path.name} leaves relocations writable")
        check.expect("RWE" not in headers, f"{path.name} has memory that may be written and run")
        check.expect(".symtab" not in headers and ".debug" not in headers, f"{path.name} is not stripped")
        imports = run("nm", "-D", "--undefined-only", path)
        check.expect("__stack_chk_fail" in imports or "__stack_chk_guard" in imports, f"{path.name} has no stack protector")
        check.expect(path.name == "tilert" or re.search(r"__\w+_chk@", imports), f"{path.name} calls no fortified function")
        if path.name in ("tilert", "tilert_compile"):
            check.expect(re.search(r"FLAGS_1.*PIE", dynamic), f"{path.name} lies at a fixed address")


def check_pages(check):
    for page in glob.glob(str(check.folder / "all/usr/share/man/*/*.gz")):
        said = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page, env={**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80"})
        check.expect("warning" not in said, f"{os.path.basename(page)}: {said[:300]}")


def check_use(check):
    """Unpacked where no package would be, it works: the library finds plugin and helper below itself."""
    usr = check.folder / "all/usr"
    library = usr / check.library_folder
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library), "PKG_CONFIG_PATH": str(library / "pkgconfig"), "TILERT_CACHE_DIR": str(check.folder / "cache")}
    for name in ("TILERT_LLVM_PLUGIN", "TILERT_HELPER_PATH"):
        environment.pop(name, None)
    said = run(usr / "bin/tilert", "--version", env=environment).strip()
    check.expect(said == f"tilert {check.version}", f"the command says '{said}'")
    said = run(usr / "bin/tilert", "compile", ROOT / "tests/e2e/programs/gemm.tir", env=environment)
    check.expect(" bytes, " in said, f"the command compiles nothing: {said}")
    flags = run("pkg-config", "--cflags", "--libs", "tilert", env=environment).split()
    (check.folder / "isolated.c").write_text(ISOLATED)
    run("gcc", "-o", check.folder / "isolated", check.folder / "isolated.c", *flags)
    said = run(check.folder / "isolated", env=environment)
    check.expect(said.strip() == "found", f"the helper is not found: {said}")
    # Then with the library inside, which looks for the plugin from the folder of programs.
    inside = [flag.replace("-ltilert", "-l:libtilert.a") for flag in run("pkg-config", "--static", "--cflags", "--libs", "tilert", env=environment).split()]
    run("g++", "-std=c++17", "-c", "-o", check.folder / "gemm.o", ROOT / "samples/gemm.cpp", *flags)
    for program, libraries in ((check.folder / "gemm", flags), (usr / "bin/gemm_static", inside)):
        run("g++", "-o", program, check.folder / "gemm.o", *libraries)
        said = run(program, env=environment)
        check.expect("right" in said, f"the sample says '{said}'")
    check.expect("libtilert" not in run("readelf", "-d", usr / "bin/gemm_static"), "a static program needs the shared library")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    build = given.build.resolve()
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        skip(f"{', '.join(missing)} not found; tools/install test")
    debs = pack(build, given.quick)
    with tempfile.TemporaryDirectory() as folder:
        check = Check(debs, pathlib.Path(folder))
        for package in sorted(set(debs) & set(FILES)):
            check_files(check, package)
            check_control(check, package)
        check_headers(check)
        check_symbols(check, build)
        check_binaries(check, build)
        check_pages(check)
        check_use(check)
    said = run("lintian", *(["--allow-root"] if os.geteuid() == 0 else []), "--fail-on", "none", "--tag-display-limit", "0", *debs.values())
    print(said)
    check.problems += [line for line in said.splitlines() if line.startswith("E:")]
    for problem in check.problems:
        print("WRONG:", problem)
    print(f"{len(debs)} packages of version {check.deb_version} in {build / 'debs'}, {len(check.problems)} problem(s)")
    return 1 if check.problems else 0


if __name__ == "__main__":
    sys.exit(main())
