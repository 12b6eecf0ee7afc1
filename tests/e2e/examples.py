"""Runs what the pages show: every C++ block of README.md and docs/ is compiled, linked and run.

examples.py ROOT LIBRARY: a block with a main must return 0; it says what it expects itself. Of one without, every function
that returns a program is called (a number is 64, a float 0.5) and must give one; other functions are compiled only.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.M | re.S)
PROGRAM = re.compile(r"^tl::Program (\w+)\(([^)]*)\) \{", re.M)


def argument(declared):
    kind = declared.split()[0]
    if kind == "tl::DType":
        return "tl::f16"
    return "0.5f" if kind in ("float", "double") else "64"


def with_main(text):
    if re.search(r"^int main\(", text, re.M):
        return text
    calls = [f"  {name}({', '.join(argument(p) for p in parameters.split(',') if p.strip())});"
             for name, parameters in PROGRAM.findall(text)]
    return text + "\nint main() {\n" + "\n".join(calls) + "\n}\n" if calls else ""


def run(root, library, folder, name, text):
    program = os.path.join(folder, re.sub(r"\W", "_", name))
    whole = with_main(text)
    if not whole:
        return f"{name}: nothing in it can be run"
    with open(program + ".cpp", "w", encoding="utf-8") as file:
        file.write(whole)
    built = subprocess.run(["g++", "-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-I", os.path.join(root, "include"),
                            program + ".cpp", "-o", program, library, "-Wl,-rpath," + os.path.dirname(library)],
                           capture_output=True, text=True, check=False)
    if built.returncode:
        return f"{name}: does not compile: {built.stderr[:3000]}"
    done = subprocess.run([program], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return f"{name}: returns {done.returncode}: {done.stdout}{done.stderr}" if done.returncode else ""


def main():
    root, library = sys.argv[1], os.path.abspath(sys.argv[2])
    pages = ["README.md"] + sorted("docs/" + f for f in os.listdir(os.path.join(root, "docs")) if f.endswith(".md"))
    blocks = []
    for page in pages:
        with open(os.path.join(root, page), encoding="utf-8") as file:
            text = file.read()
        for match in BLOCK.finditer(text):
            blocks.append((f"{page}:{text.count(chr(10), 0, match.start()) + 1}", match.group(1)))
    if len(blocks) < 10:
        sys.exit(f"only {len(blocks)} blocks were found")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [w for w in pool.map(lambda b: run(root, library, folder, *b), blocks) if w]
    print("\n".join(wrong) if wrong else f"{len(blocks)} examples run")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
