"""What the rows of bench_gemm amount to: means, floors and whether they are met, the worst, as text. Nothing is measured here.

A row is a dict: run, kind, name, m, n, k, odd, lead, tile, us, peer_us, best_us and more; what was refused has "refused"
instead of times. A ratio is the peer's time over ours.
"""

import json
import math
from dataclasses import dataclass
from typing import Callable

MOST_SHARE_OF_COPY = 0.75  # of the copy rate, for weights of more than LARGE bytes read by few tokens
LARGE = 64e6
FEW = 64  # tokens
MANY = 256


def ratio(row, peer="peer_us"):
    return row[peer] / row["us"] if row.get("us") and row.get(peer) else None


def regular(row):
    return not row.get("odd")


@dataclass(frozen=True)
class Floor:
    what: str
    kinds: tuple
    takes: Callable
    mean: bool  # the geometric mean, else the least
    least: float
    value: Callable = ratio


def share_of_copy(row):
    return row["weight_bytes"] / row["us"] / 1e6 / row["copy_tb_s"] if row.get("us") else None


def of_per_tensor(row):
    return ratio(row, "per_tensor_us")


FLOORS = (
    Floor("M >= 256, geometric mean", ("bf16",), lambda r: regular(r) and r["m"] >= MANY, True, 1.03),
    Floor("M >= 256, least", ("bf16",), lambda r: regular(r) and r["m"] >= MANY, False, 0.92),
    Floor("M <= 64, geometric mean", ("bf16",), lambda r: regular(r) and r["m"] <= FEW, True, 1.15),
    Floor("M <= 64, weights over 64 MB, of the copy rate, least", ("bf16",),
          lambda r: regular(r) and r["m"] <= FEW and r["weight_bytes"] > LARGE, False, MOST_SHARE_OF_COPY, share_of_copy),
    Floor("odd, least", ("bf16",), lambda r: not regular(r), False, 1.0),
    Floor("odd, 4097x4095x4104", ("bf16",), lambda r: (r["m"], r["n"], r["k"]) == (4097, 4095, 4104), False, 5.0),
    Floor("all regular shapes, geometric mean", ("e4m3",), regular, True, 1.0),
    Floor("M >= 1024, of our own product with one scale each, mean", ("e4m3b",), lambda r: regular(r) and r["m"] >= 1024, True, 0.9, of_per_tensor),
    Floor("all regular shapes, geometric mean", ("i8", "tf32"), regular, True, 0.95),
)


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def shape_of(row):
    return row["kind"], row["name"], row["m"], row["n"], row["k"], row.get("lead", 0)


def by_run(rows):
    runs = {}
    for row in rows:
        runs.setdefault(row["run"], []).append(row)
    return [runs[run] for run in sorted(runs)]


def by_shape(rows):
    """One row per shape: the median of its runs' ratios stands for it."""
    shapes = {}
    for row in rows:
        if ratio(row) is not None:
            shapes.setdefault(shape_of(row), []).append(row)
    return [sorted(same, key=ratio)[(len(same) - 1) // 2] for same in shapes.values()]


def judged(floor, kind, rows):
    """One line: the value of each run, and in how many the floor is met. The least of a class is also taken shape by shape."""
    def value(some):
        found = [v for v in (floor.value(r) for r in some if r["kind"] == kind and r.get("us") and floor.takes(r)) if v is not None]
        return (geometric(found) if floor.mean else min(found)) if found else None

    each = [value(run) for run in by_run(rows)]
    each = [v for v in each if v is not None]
    if not each:
        return None
    met = sum(v >= floor.least for v in each)
    line = f"{kind:5s} {floor.what:54s} asked {floor.least:5.2f}  runs {'  '.join(f'{v:6.3f}' for v in each)}  met in {met} of {len(each)}"
    if not floor.mean and len(each) > 1:
        line += f"; least of the shapes' medians {value(by_shape(rows)):.3f}"
    return line


HEAD = (f"{'product':28s} {'M':>5s} {'N':>6s} {'K':>6s} {'tile':27s} {'path':8s} {'ours us':>9s} {'peer us':>9s} {'best us':>9s}"
        f" {'ratio':>6s} {'best':>6s} {'TFLOP/s':>7s} {'TB/s':>5s}")


def line(row):
    """A row for people."""
    start = f"{row['name'][:28]:28s} {row['m']:5d} {row['n']:6d} {row['k']:6d} {row['tile']:27s} "
    if "refused" in row:
        return f"{start}refused: {row['refused']}"
    def number(value, form):
        return format(value, form) if value is not None else " " * (int(form.split(".")[0]) - 1) + "-"
    text = start + f"{'roles' if row['roles'] else 'general':8s} {row['us']:9.1f} {number(row.get('peer_us'), '9.1f')} "
    text += f"{number(row.get('best_us'), '9.1f')} {number(ratio(row), '6.3f')} {number(ratio(row, 'best_us'), '6.3f')} {row['tflops']:7.0f} {row['tb_s']:5.2f}"
    if row.get("specialized_us"):
        text += f"  M constant {row['specialized_us'] / row['us']:.3f}"
    if row.get("per_tensor_us"):
        text += f"  of one scale each {of_per_tensor(row):.3f}"
    if row.get("padded_us"):
        text += f"  padded {ratio(row, 'padded_us'):.3f}, with its copies {ratio(row, 'padded_copies_us'):.3f}"
    if row.get("spill_bytes"):
        text += f"  {row['spill_bytes']} bytes spilled"
    if not row["roles"]:
        text += f"  ({row.get('no_roles')})"
    return text


def summary(rows, worst=5):
    """The lines after a run: means and floors of each kind, the worst shapes, what was refused."""
    lines = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        timed = by_shape(own)
        for what, takes in (("M >= 256", lambda r: regular(r) and r["m"] >= MANY), ("M <= 64", lambda r: regular(r) and r["m"] <= FEW),
                            ("odd", lambda r: not regular(r)), ("all regular", regular)):
            some = [r for r in timed if takes(r)]
            if some:
                means = [geometric([ratio(r, p) for r in some if ratio(r, p)]) for p in ("peer_us", "best_us")]
                least = min(some, key=ratio)
                lines.append(f"{kind:5s} {what:12s} {len(some):3d} shapes  geometric mean {means[0]:.3f}, over the best of eight {means[1]:.3f},"
                             f" least {ratio(least):.3f} ({least['m']}x{least['n']}x{least['k']})")
        counts = [len(run) for run in by_run(own)]
        if len(set(counts)) > 1:
            lines.append(f"{kind:5s} the runs hold {', '.join(map(str, counts))} shapes: one was cut short")
        constant = [r["us"] / r["specialized_us"] for r in timed if r.get("specialized_us")]
        if constant:
            lines.append(f"{kind:5s} with M constant {geometric(constant):.3f} times as fast (geometric mean), at most {max(constant):.3f}")
        lines += [text for text in (judged(f, kind, own) for f in FLOORS if kind in f.kinds) if text]
        lines.append(f"{kind:5s} the {worst} worst of M >= 256:")
        many = sorted((r for r in timed if regular(r) and r["m"] >= MANY), key=ratio)
        lines += ["  " + line(r) + "; " + filling(r) for r in many[:worst]]
        refused = {r["refused"] for r in own if "refused" in r}
        lines += [f"{kind:5s} refused in {sum(r.get('refused') == why for r in own)} rows, left out of the means: {why}" for why in sorted(refused)]
    return lines


def model_of_sweep(row):
    """How the cost model's predictions lie to what a sweep measured; None where nothing was predicted."""
    known = [(e["us"] * 1e3 / e["choice"]["predicted"], e) for e in row["sweep"] if e.get("us") and e["choice"].get("predicted")]
    if not known:
        return None
    spread = sorted(quotient for quotient, _ in known)
    order = sorted((e for _, e in known), key=lambda e: e["choice"]["predicted"])
    place = order.index(min(order, key=lambda e: e["us"])) + 1
    tenth = len(spread) // 10
    return (f"measured over predicted {geometric(spread):.2f} (tenths {spread[tenth]:.2f} and {spread[-1 - tenth]:.2f}) of {len(spread)};"
            f" the fastest of them was predicted in place {place}")


def filling(row):
    """How a product's tiles fill the machine."""
    rounds = row["tiles"] / row["multiprocessors"]
    return f"{row['tiles']} tiles, {rounds:.2f} rounds of {row['multiprocessors']} multiprocessors, {rounds / math.ceil(rounds):.0%} filled"


def joined(files):
    """The rows of several files, their runs numbered one after the other; meta of the first."""
    rows, meta, runs = [], None, 0
    for name in files:
        with open(name) as file:
            read = json.load(file)
        meta = meta or read["meta"]
        numbers = {run: runs + i for i, run in enumerate(sorted({row["run"] for row in read["rows"]}))}
        rows += [{**row, "run": numbers[row["run"]]} for row in read["rows"]]
        runs += len(numbers)
    return {"meta": meta, "rows": rows}
