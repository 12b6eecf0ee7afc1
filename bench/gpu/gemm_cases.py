"""The products that bench_gemm measures: read from gemm_shapes.json, and what each is compiled with."""

import json
import os
from types import SimpleNamespace

from gemm_choice import recommend
from gemm_programs import product

SHAPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gemm_shapes.json")


def cases(options):
    """The products asked for, those of one weight matrix one after another."""
    with open(SHAPES) as file:
        rows = json.load(file)["products"]
    shard, shards = map(int, options.shard.split("/"))
    tokens = [int(m) for m in options.tokens.split(",") if m]
    found = []
    for kind in options.kinds.split(","):
        for row in rows[shard::shards]:
            for m in row["m"]:
                text = f"{row['name']} {m}x{row['n']}x{row['k']}"
                wanted = any(part in text for part in options.shapes.split(",")) and (not tokens or m in tokens)
                if wanted and not any(part in text for part in options.skip.split(",") if part):
                    found.append(SimpleNamespace(kind=kind, name=row["name"], m=m, n=row["n"], k=row["k"], odd=row.get("odd", False),
                                                 lead=row.get("lead", 0)))
    return found


def leads(case):
    return (case.k + case.lead, case.k + case.lead, case.n + case.lead)


def chosen(case):
    return recommend(case.m, case.n, case.k, case.kind, case.lead)


def dims(case):
    """Those bound when compiling: all but M."""
    bound = {"N": case.n, "K": case.k}
    return {**bound, **dict(zip(("LX", "LW", "LY"), leads(case)))} if case.lead else bound


def text_of(case, choice):
    return product(choice, case.kind, case.lead != 0)
