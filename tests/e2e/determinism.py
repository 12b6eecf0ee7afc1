"""The same source text and keys, byte for byte, from fresh processes: with unused declarations added in another order,
from other folders, under other locales, environments and floating-point modes.

determinism.py TILERT FOLDER PRELOAD: TILERT is the command, FOLDER holds .tir programs, PRELOAD is the library that sets
the mode. 100 processes over all programs.
"""

import os
import random
import re
import subprocess
import sys
import tempfile

LOCALES = ["C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8"]
ROUNDING = ["nearest", "up", "down", "zero"]
TARGETS = ["sm_80", "sm_90a", "cpu:x86-64-v3"]


def with_unused(text, rng):
    """The program with unused variables and buffers declared between its own; numbers of what is used move."""
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith("kernel"))
    head, body = lines[2:first], "\n".join(lines[first:])
    variables = [line for line in head if line.startswith("var ")]
    buffers = [line for line in head if line.startswith("buffer ")]
    rest = [line for line in head if not line.startswith(("var ", "buffer "))]
    for name in ("zz", "yy", "xx"):
        variables.insert(rng.randint(0, len(variables)), f"var %{name} let f32")
        buffers.insert(rng.randint(0, len(buffers)), f"buffer @{name} shared f32 [{rng.randint(1, 99)}]")
    kinds = [[r for r in rest if r.startswith(k)] for k in ("location ", "dim ", "parameter ")]
    text = "\n".join(lines[:2] + kinds[0] + variables + kinds[1] + buffers + kinds[2]) + "\n" + body
    return re.sub(r"([%@]\w+)\.(\d+)", r"\1_\2", text)


def run(command, file, target, folder, environment):
    out = []
    for verb in ("key", "text"):
        done = subprocess.run([command, verb, file, "--target", target], cwd=folder, env=environment, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"{verb} {file} for {target}: {done.stderr.decode()}")
        out.append(done.stdout)
    out[0] = [line.split()[0] for line in out[0].splitlines()]  # the conditions beside the keys name dims
    return out


def main():
    command, programs, preload = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
    if not os.path.exists(preload):
        sys.exit(f"no {preload}")
    rng = random.Random(7)
    texts = {name: open(os.path.join(programs, name)).read() for name in sorted(os.listdir(programs)) if name.endswith(".tir")}
    wanted, processes = {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        while processes < 100:
            for name, text in texts.items():
                for target in TARGETS:
                    folder = os.path.join(scratch, f"run{processes}")
                    os.mkdir(folder)
                    file = os.path.join(folder, name)
                    with open(file, "w") as f:
                        f.write(with_unused(text, rng) if (name, target) in wanted else text)
                    environment = {"LC_ALL": rng.choice(LOCALES), "HOME": folder, "COLUMNS": str(rng.randint(1, 200)),
                                   "MALLOC_PERTURB_": str(rng.randint(0, 255)), "LD_PRELOAD": preload,
                                   "ASAN_OPTIONS": "verify_asan_link_order=0",
                                   "TILERT_TEST_ROUNDING": rng.choice(ROUNDING) if (name, target) in wanted else "nearest"}
                    if rng.random() < 0.5 and (name, target) in wanted:
                        environment["TILERT_TEST_FLUSH"] = "1"
                    key, source = run(command, file, target, rng.choice([folder, "/", scratch]), environment)
                    processes += 2
                    if wanted.setdefault((name, target), (key, source)) != (key, source):
                        which = "keys" if wanted[name, target][0] != key else "source texts"
                        sys.exit(f"{name} for {target}: {which} differ between processes")
                    if not source or not key:
                        sys.exit(f"{name} for {target}: nothing was printed")
    print(f"{processes} processes, {len(texts)} programs, {len(TARGETS)} targets: all alike")


if __name__ == "__main__":
    main()
