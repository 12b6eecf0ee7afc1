#!/usr/bin/env python3
"""The commands of a binding's README do what it says, in order, on a machine that has the language alone.

readme_test.py README LIBRARY [TOOL...] [NAME=VALUE...]: runs its ```sh blocks one after another in a copy of its folder, and its
```python blocks, with nothing in the environment but a system's PATH, TILERT_LIBRARY, TILERT_LIB_DIR and what is named. Where one of
the tools is not installed it ends with 77. A comment behind a print is what it prints; "prints `...`" behind a block is what that
prints, with ... for anything.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PATH = "/usr/bin:/bin"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```\n\n?(?:prints `([^`]*)`)?", re.M | re.S)


def wanted_of(language, text, told):
    if language == "python":
        return [line.partition("#")[2].strip() for line in text.splitlines() if line.startswith("print(") and "#" in line]
    return [told] if told else []


def main():
    readme, library, *words = sys.argv[1:]
    named = dict(word.split("=", 1) for word in words if "=" in word)
    for tool in (word for word in words if "=" not in word):
        if not shutil.which(tool, path=PATH):
            print(f"skipped: {tool} is not installed")
            sys.exit(77)
    with open(readme, encoding="utf-8") as file:
        blocks = BLOCK.findall(file.read())
    if not any(language == "sh" for language, *_ in blocks):
        sys.exit(f"{readme} has no commands")
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "binding")
        shutil.copytree(os.path.dirname(os.path.abspath(readme)), copy, ignore=shutil.ignore_patterns("__pycache__", "dist", "target"))
        environment = {"PATH": PATH, "HOME": folder, "TILERT_LIBRARY": library, "TILERT_LIB_DIR": os.path.dirname(library), **named}
        for language, text, told in blocks:
            command = ["bash", "-euc", text] if language == "sh" else ["python3", "-c", text]
            more = {"PYTHONPATH": copy} if language == "python" else {}
            done = subprocess.run(command, cwd=copy, env={**environment, **more}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  check=False)
            print(text + done.stdout, flush=True)
            if done.returncode:
                sys.exit(f"ended with {done.returncode}")
            for wanted in wanted_of(language, text, told):
                if not re.search(".*".join(map(re.escape, wanted.split("..."))), done.stdout, re.S):
                    sys.exit(f"did not print: {wanted}")


if __name__ == "__main__":
    main()
