"""The products that bench_gemm measures, read from gemm_shapes.json."""

import json
import os
from types import SimpleNamespace

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
    """From row to row of x, w and y."""
    return case.k + case.lead, case.k + case.lead, case.n + case.lead
