"""The manual pages name what there is: man_test.py COMMAND. tilert.1 every option and command that `tilert --help` tells, and
none beside; libtilert.3 only names that tilert.h or the sources know."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def page(name):
    text = (ROOT / "docs/man" / name).read_text()
    return "\n".join(line for line in text.splitlines() if not line.startswith('.\\"')).replace("\\-", "-")


def help_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def command_problems(command, text):
    said = help_of(command, "--help")
    commands = re.findall(r"^  ([a-z]+)  ", said[said.index("Subcommands:"):], re.M)
    helps = [said, *(help_of(command, name, "--help") for name in commands)]
    options = {option for one in helps for option in OPTION.findall(one)}
    problems = [f"tilert.1 has no command {name}" for name in commands if f"\n.B {name}\n" not in text]
    problems += [f"tilert.1 has no option {option}" for option in sorted(options - set(OPTION.findall(text)))]
    examples = {"--cflags", "--libs"}
    return problems + [f"tilert.1 has {option}, which the command has not" for option in sorted(set(OPTION.findall(text)) - options - examples)]


def library_problems(text):
    header = (ROOT / "include/tilert.h").read_text()
    files = {"tilert_llvm", "tilert_compile"}
    names = set(re.findall(r"\b(?:tilert_[a-z_]+|TILERT_[A-Z_]+)\b", text)) - files
    sources = "".join(path.read_text() for path in (ROOT / "src/compiler").glob("*.cpp"))
    return [f"libtilert.3 names {name}, which nothing knows" for name in sorted(names)
            if not re.search(rf"\b{name}\b", header) and f'"{name}"' not in sources]


def main():
    pages = {name: page(name) for name in ("tilert.1.in", "libtilert.3.in")}
    environment = set(re.findall(r"\bTILERT_[A-Z_]+\b", pages["tilert.1.in"]))
    header = (ROOT / "include/tilert.h").read_text()
    problems = command_problems(sys.argv[1], pages["tilert.1.in"]) + library_problems(pages["libtilert.3.in"])
    problems += [f"tilert.1 names {name}, which tilert.h does not" for name in sorted(environment) if name not in header]
    # What is seen as wrong where it is: a page without an option, one with an option of no command, and a wrong function.
    broken = command_problems(sys.argv[1], pages["tilert.1.in"].replace("--json", "--jsn"))
    if len(broken) != 2 or not library_problems("tilert_launsh"):
        problems.append(f"this test does not see broken pages: {broken}")
    for problem in problems:
        print(problem)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
