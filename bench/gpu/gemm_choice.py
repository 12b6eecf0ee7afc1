"""Which kernel a product of bench_gemm gets, as tilert recommends it, and which ones a sweep tries.

A choice is a dict of the fields of tilert_product_choice, as bench/gemm_programs.cpp writes them; that program makes the tile
programs and asks the cost model. Nothing here is measured, and no shape is named.
"""

import os

from gemm_workers import Workers

MOST_VARIANTS = 16
WARPGROUP, WARP, VECTOR = 1, 2, 3  # tilert_product_path
PROGRAMS = "gemm_programs"


def up(a, b):
    return -(-a // b)


def tiles(choice, m, n):
    return up(m, choice["m"]) * up(n, choice["n"]) * choice["split_k"]


def label(choice):
    """128x256x64/3 c2 g8: tile of M, N and K, stages, consumers, group of columns."""
    parts = [f"{choice['m']}x{choice['n']}x{choice['k']}/{choice['stages']}", {WARP: "warp", VECTOR: "vector"}.get(choice["path"])]
    parts += [f"{letter}{choice[name]}" for name, letter, usual in (("consumers", "c", 0), ("raster", "g", 0), ("split_k", "k", 1),
                                                                    ("cluster", "cl", 1)) if choice[name] != usual]
    parts += ["swap" if choice["swapped"] else None, None if choice["persistent"] or choice["path"] == VECTOR else "once"]
    return " ".join(p for p in parts if p)


def identity(choice):
    """What makes a kernel: all but what the model says of it."""
    return tuple(sorted((name, value) for name, value in choice.items() if name not in ("bound", "predicted")))


def find_programs():
    """The program that makes programs: beside the library, or where builds put it."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    beside = os.path.dirname(os.path.abspath(os.environ.get("TILERT_LIBRARY", "libtilert.so.0")))
    places = [beside, os.path.join(os.path.dirname(beside), "bin"), os.path.join(root, "carry"),
              *(os.path.join(root, "build", name, "bin") for name in ("release", "dev", "quick"))]
    for place in places:
        if os.access(os.path.join(place, PROGRAMS), os.X_OK):
            return os.path.join(place, PROGRAMS), beside
    raise SystemExit(f"{PROGRAMS} (target bench_{PROGRAMS}) is in none of: {', '.join(places)}")


class Plan:
    """The kernels of one weight matrix for every M, or why there are none."""

    def __init__(self, answer):
        self.refused = answer.get("refused")
        self.ranges, self.programs = answer.get("ranges", []), answer.get("programs", [])

    def program(self, m):
        """{"choice", "text"} for so many tokens."""
        at = next((r for r in self.ranges if m <= r[1]), self.ranges[-1])
        return self.programs[at[2]]


class Recommender:
    """Asks gemm_programs about products on one target."""

    def __init__(self, target, device_class, processes):
        program, beside = find_programs()
        path = os.pathsep.join(p for p in (beside, os.environ.get("LD_LIBRARY_PATH")) if p)
        self.workers = Workers([program], processes, {**os.environ, "LD_LIBRARY_PATH": path})
        self.machine, self.plans = {"target": target, "device_class": device_class}, {}

    def close(self):
        self.workers.close()

    def ask(self, what, case, **more):
        return self.workers.submit({"do": what, "kind": case.kind, "n": case.n, "k": case.k, "lead": case.lead, **self.machine, **more})

    def want(self, case):
        key = (case.kind, case.n, case.k, case.lead)
        if key not in self.plans:
            self.plans[key] = self.ask("plan", case)
        return self.plans[key]

    def plan(self, case):
        future = self.want(case)
        return Plan(future.result())

    def swept(self, case, most, within=2.0):
        """Choices of a sweep, the best predicted first: those that the model does not see beyond `within` times its best, each
        with its best order of tiles, with other stages and consumers, and with a block for each tile."""
        answer = self.ask("candidates", case, m=case.m).result()
        found, known = [], set()
        best = answer["choices"][0]["predicted"] if answer.get("choices") else 0
        for choice in answer.get("choices", []):
            bare = identity({**choice, "raster": 0})
            if choice["predicted"] > within * best or bare in known:
                continue
            known.add(bare)
            found.append(choice)
        for choice in list(found):
            for other in variations(choice):
                bare = identity({**other, "raster": 0})
                if bare not in known:
                    known.add(bare)
                    found.append(other)
        return found[:most]

    def text(self, case, choice):
        return self.ask("program", case, choice=choice)


def variations(choice):
    """The same tile with fewer stages, other consumers, a block for each tile, in clusters or without. Not predicted."""
    bare = {name: value for name, value in choice.items() if name not in ("bound", "predicted")}
    stages = choice["stages"]
    for fewer in sorted({stages - 1, (stages + 2) // 2, 4, 3} - {stages}, reverse=True):
        if 2 <= fewer < stages:
            yield {**bare, "stages": fewer}
    if choice["persistent"]:
        yield {**bare, "persistent": False}
    if choice["path"] == WARPGROUP:
        for cluster in (1, 2, 4):
            if cluster != choice["cluster"]:
                yield {**bare, "cluster": cluster}
        rows = choice["n"] if choice["swapped"] else choice["m"]
        for consumers in (1, 2, 3):
            if rows % (64 * consumers) == 0 and consumers != choice["consumers"]:
                yield {**bare, "consumers": consumers, "threads": 128 * consumers}
