#!/usr/bin/env python3
"""The lines that a language's program prints are those of C++, in any order of the programs but all twenty of them.

twenty.py REFERENCE TOOLS COMMAND...: REFERENCE is twenty_cpp; TOOLS, separated by semicolons, are what COMMAND needs installed. Ends
with 77 and the reason where one is not.
"""
import shutil
import subprocess
import sys

COUNT = 20


def lines_of(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    rows = [line.split() for line in done.stdout.splitlines() if line.strip()]
    for row in rows:
        if len(row) != 4:
            sys.exit(f"not 'name key key digest': {' '.join(row)}")
    return {row[0]: row[1:] for row in rows}


def differences(wanted, got):
    for name, row in wanted.items():
        if name not in got:
            yield f"{name}: not printed"
            continue
        for what, one, other in zip(("key for the CPU", "key for sm_90a", "digest"), row, got[name]):
            if one != other:
                yield f"{name}: {what} is {other}, from C++ {one}"
    for name in got:
        if name not in wanted:
            yield f"{name}: no such program"


def main():
    reference, tools, *command = sys.argv[1:]
    for tool in filter(None, tools.split(";")):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed")
            sys.exit(77)
    wanted = lines_of([reference])
    if len(wanted) != COUNT:
        sys.exit(f"C++ has {len(wanted)} programs, not {COUNT}")
    found = list(differences(wanted, lines_of(command)))
    if found:
        sys.exit("\n".join(found))
    print(f"{COUNT} programs: the same keys and digests as from C++")


if __name__ == "__main__":
    main()
