"""Measuring for bench_gemm: a product's kernels made ready, compared with float64, and timed in turns. Not here: what is asked
for and printed at the end (bench_gemm.py, gemm_report.py), which kernel it is (gemm_choice.py).
"""

import concurrent.futures
import dataclasses
import datetime
import os
import sys
import threading
import time

import cublaslt
import gemm_report
import torch
from gemm_cases import chosen, dims, leads, text_of
from gemm_choice import candidates, tiles, up
from gemm_data import DEVICE, Reference, Result, Weights, operand
from gemm_programs import EMPTY, KINDS
from measure import medians, prepared

import tilert_jit

FEW_ROUNDS = 5  # of what only has to be told from others
HOST_SECONDS = 5e-5  # a launch's share of a round beside its own time
STUCK_SECONDS = 40


class Wrong(Exception):
    """A result beyond its bound."""


class Watch:
    """Ends the process when what it watches does not end: a kernel that waits for ever cannot be stopped otherwise."""

    def __init__(self, what):
        self.what, self.clock = what, threading.Timer(STUCK_SECONDS, self.stop)

    def __enter__(self):
        self.clock.start()

    def __exit__(self, *_):
        self.clock.cancel()

    def stop(self):
        print(f"stuck for {STUCK_SECONDS} s, the run ends: {self.what}", flush=True)
        os._exit(4)


class Operands:
    """What one shape's launches read and write."""

    def __init__(self, case, weights):
        self.case, self.weights = case, weights
        self.x = operand(case.kind, case.m, case.k, case.lead)
        self.x_scale = torch.tensor([1.71], device=DEVICE) if KINDS[case.kind].scaled else None
        self.y = Result(case.kind, case.m, case.n, case.lead)
        self.reference = Reference(self.x, self.x_scale, weights)

    def scales(self):
        return [] if self.x_scale is None else [self.x_scale, self.weights.scale]

    def check(self, what, launch, result=None):
        """Launches once over poison and compares; the excess. Wrong where it is beyond the bound or wrote elsewhere."""
        self.y.poison()
        launch()
        torch.cuda.synchronize()
        excess = self.reference.excess(self.y.view if result is None else result)
        if not excess <= 0:
            raise Wrong(f"{what}: beyond its bound by {excess}")
        if not self.y.rest_is_poisoned():
            raise Wrong(f"{what}: wrote between rows")
        return excess


class Bench:
    def __init__(self, options):
        self.options = options
        self.own = tilert_jit.Context(cache="off")
        self.device = self.own.cuda()
        info = self.device.info
        self.target, self.device_class = info["target"], info["device_class"]
        self.cached = None  # a context over the cache of the kernels, and its device
        self.workspace = torch.empty(cublaslt.WORKSPACE, dtype=torch.uint8, device=DEVICE)
        self.peer = cublaslt.Library(self.workspace.data_ptr())
        self.weights, self.loaded = None, {}
        self.meta = {"device": info["name"], "driver": info["driver_version"], "multiprocessors": info["multiprocessors"],
                     "torch": torch.__version__, "cublaslt": self.peer.version, "tilert": tilert_jit.version(), "argv": sys.argv[1:],
                     "date": datetime.datetime.now().isoformat(timespec="seconds")}
        self.floor()
        print(f"{info['name']}, driver {info['driver_version']}, PyTorch {torch.__version__}, cuBLASLt {self.peer.version}; "
              f"an empty kernel {self.meta['empty_us']:.2f} us, a copy {self.meta['copy_tb_s']:.2f} TB/s (read and write)", flush=True)

    def floor(self):
        """What nothing takes, and how fast memory is."""
        loaded, _ = prepared(self.own, self.device, EMPTY, {})
        empty = loaded.bind([])
        source = torch.empty(2**30, dtype=torch.uint8, device=DEVICE).random_(0, 255)
        copy = torch.empty_like(source)
        nothing, moved = medians([lambda: empty(0), lambda: copy.copy_(source)])
        self.meta.update(empty_us=nothing * 1e3, copy_tb_s=2 * source.numel() / moved / 1e9)

    def cold_compiles(self, cases):
        """Without a cache, one at a time: the first of the process apart, since it loads the compiler."""
        seconds = []
        for text, bound in dict.fromkeys((text_of(c, chosen(c)), tuple(dims(c).items())) for c in cases if not c.odd and c.m >= 256):
            begin = time.perf_counter()
            kernel = self.own.kernel(tilert_jit.Program.parse(text), target=self.target, dims=dict(bound))
            try:
                kernel.compile()
            except tilert_jit.Error:
                continue
            seconds.append(time.perf_counter() - begin)
            if len(seconds) == 6:
                break
        if seconds:
            self.meta["cold_compile_ms"] = [round(s * 1e3) for s in seconds]
            print(f"cold compiles, one at a time: {', '.join(f'{s * 1e3:.0f}' for s in seconds)} ms", flush=True)

    def runs(self, cases, kernels, record, deadline):
        """Every shape as often as there are runs, all shapes before any again. How many results were wrong."""
        wrong = 0
        for run in range(self.options.runs):
            print(f"run {run + 1}\n{gemm_report.HEAD}", flush=True)
            torch.manual_seed(run)
            self.weights = None
            for i, case in enumerate(cases):
                if time.monotonic() > deadline:
                    print(f"out of time: run {run + 1} lacks {len(cases) - i} of {len(cases)} shapes", flush=True)
                    return wrong
                row = {"run": run, **vars(case), "tile": str(chosen(case)), "choice": dataclasses.asdict(chosen(case))}
                try:
                    with Watch(f"{case.kind} {case.m}x{case.n}x{case.k}, {row['tile']}"):
                        self.product(case, kernels, row)
                except Wrong as problem:
                    wrong += 1
                    row["refused"] = f"WRONG {problem}"
                except (tilert_jit.Error, torch.OutOfMemoryError) as problem:
                    row["refused"] = str(problem)[:400]
                except RuntimeError as problem:  # of the device: nothing works after it
                    print(f"{gemm_report.line({**row, 'refused': str(problem)[:400]})}\nthe run ends here", flush=True)
                    return wrong + 1
                record.add(row)
                print(gemm_report.line(row), flush=True)
        return wrong

    def operands(self, case):
        key = (case.kind, case.n, case.k, case.lead)
        if self.weights is None or (self.weights.kind, self.weights.n, self.weights.k, self.weights.lead) != key:
            self.weights = None  # frees it before the next
            self.weights = Weights(*key)
        return Operands(case, self.weights)

    def ready(self, case, kernels, choice, operands, specialized=False):
        """A launch of a kernel of ours, and what is known of it. Raises tilert's Error where it is refused."""
        text, bound = text_of(case, choice), dims(case)
        if specialized:
            bound = {"M": case.m, **bound}
        facts = kernels.want(text, bound).result()
        if "refused" in facts:
            raise tilert_jit.Error(0, facts["refused"])
        if self.cached is None:
            context = tilert_jit.Context(cache_path=kernels.cache)
            self.cached = context, context.cuda()
        loaded = self.loaded.get((text, tuple(bound.items())))
        if loaded is None:
            loaded, _ = prepared(*self.cached, text, bound)
            if not self.options.sweep:  # whose kernels are many
                self.loaded[text, tuple(bound.items())] = loaded
        y = operands.y.view
        values = [operands.x, operands.weights.w, y.t() if choice.swap else y, *operands.scales()]
        launch = loaded.bind(values, {"M": case.m, **dims(case)})
        return lambda: launch(0), facts

    def peers(self, case, operands, row):
        """cuBLASLt's first algorithm and its best: [] where it refuses. A result of its beyond the bound is noted, not refused."""
        ldx, ldw, ldy = leads(case)
        scales = [s.data_ptr() for s in operands.scales()]
        y = operands.y.view
        try:
            found = cublaslt.Product(self.peer, case.kind, case.m, case.n, case.k, operands.x.data_ptr(), operands.weights.w.data_ptr(),
                                     y.data_ptr(), ldx, ldw, ldy, scales or None)
            launches = self.working([found.launch(i) for i in range(len(found.algorithms))])
        except cublaslt.Refused as refused:
            row["peer_refused"] = str(refused)
            return []
        times = medians(launches, FEW_ROUNDS) if len(launches) > 1 else [0]
        best = times.index(min(times))
        row.update(algorithms=len(found.algorithms), best_index=best)
        for name, launch in (("peer", launches[0]), ("best", launches[best])):
            self.note(operands, name, launch, row)
        return [launches[0]] if best == 0 else [launches[0], launches[best]]

    def working(self, launches):
        """Those that the library does launch; the first must."""
        launches[0]()
        found = launches[:1]
        for launch in launches[1:]:
            try:
                launch()
                found.append(launch)
            except cublaslt.Refused:
                pass
        torch.cuda.synchronize()
        return found

    def note(self, operands, name, launch, row, result=None):
        try:
            operands.check(name, launch, result)
        except Wrong as beyond:
            row[f"{name}_beyond"] = str(beyond)
            print(f"  note: {beyond}", flush=True)

    def padded(self, case, operands, row):
        """The peer on copies whose rows start on 16 bytes, without the copies and with those of x and y."""
        unit = 16 // KINDS[case.kind].bytes
        n, k = up(case.n, unit) * unit, up(case.k, unit) * unit
        x, w = (torch.zeros(rows, k, device=DEVICE, dtype=operands.x.dtype) for rows in (case.m, n))
        y = torch.zeros(case.m, n, device=DEVICE, dtype=operands.y.wide.dtype)
        w[:case.n, :case.k] = operands.weights.w
        x[:, :case.k] = operands.x
        scales = [s.data_ptr() for s in operands.scales()]
        try:
            found = cublaslt.Product(self.peer, case.kind, case.m, n, k, x.data_ptr(), w.data_ptr(), y.data_ptr(), scales=scales or None)
            launch = self.working([found.launch()])[0]
        except cublaslt.Refused as refused:
            row["padded_refused"] = str(refused)
            return []
        self.note(operands, "padded", launch, row, y[:, :case.n])

        def with_copies():
            x[:, :case.k].copy_(operands.x)
            launch()
            operands.y.view.copy_(y[:, :case.n])

        return [launch, with_copies]

    def product(self, case, kernels, row):
        """Fills a row: everything that is compared, checked, then timed in turns."""
        choice, operands = chosen(case), self.operands(case)
        ours, facts = self.ready(case, kernels, choice, operands)
        row.update({k: v for k, v in facts.items() if k not in ("seconds",)})
        row["excess"] = operands.check("ours", ours)
        names, launches = ["us"], [ours]
        if self.options.specialized:
            constant, _ = self.ready(case, kernels, choice, operands, specialized=True)
            operands.check("with M constant", constant)
            names, launches = names + ["specialized_us"], launches + [constant]
        peers = self.peers(case, operands, row)
        names, launches = names + ["peer_us", "best_us"][:len(peers)], launches + peers
        if case.odd:
            padded = self.padded(case, operands, row)
            names, launches = names + ["padded_us", "padded_copies_us"][:len(padded)], launches + padded
        rounds, times = self.timed(launches)
        row.update({name: time * 1e3 for name, time in zip(names, times)}, rounds=rounds)
        if "peer_us" in row:
            row["best_us"] = min(row["peer_us"], row.get("best_us", row["peer_us"]))
        self.rates(case, choice, row)

    def timed(self, launches):
        """Fewer rounds where a round of all takes long."""
        once = sum(medians(launches, 1)) / 1e3 + len(launches) * HOST_SECONDS
        rounds = max(FEW_ROUNDS, min(self.options.rounds, int(self.options.shape_seconds / once) - 2))
        return rounds, medians(launches, rounds)

    def rates(self, case, choice, row):
        types = KINDS[case.kind]
        out_bytes = {"bf16": 2, "f16": 2}.get(types.out, 4)
        weights = case.n * case.k * types.bytes
        seconds = row["us"] * 1e-6
        row.update(tflops=2 * case.m * case.n * case.k / seconds / 1e12, weight_bytes=weights, copy_tb_s=self.meta["copy_tb_s"],
                   tb_s=(weights + case.m * case.k * types.bytes + case.m * case.n * out_bytes) / seconds / 1e12,
                   tiles=tiles(choice, case.m, case.n), multiprocessors=self.meta["multiprocessors"])

    # The sweep.

    def sweep(self, cases, kernels, record, deadline):
        """Every candidate of each shape: how far the best lies from the recommendation. How many results were wrong."""
        asked = [(case, candidates(case.m, case.n, case.kind)) for case in cases]
        for case, some in asked:
            for choice in [chosen(case), *some]:
                kernels.want(text_of(case, choice), dims(case))
        gains, wrong = [], 0
        for case, some in asked:
            if time.monotonic() > deadline:
                print("out of time: the shapes from here on are left", flush=True)
                break
            row = {"run": 0, **vars(case), "tile": str(chosen(case)), "choice": dataclasses.asdict(chosen(case)), "sweep": []}
            try:
                wrong += self.sweep_shape(case, some, kernels, row, deadline)
            except (Wrong, tilert_jit.Error) as problem:
                row["refused"] = str(problem)[:400]
            record.add(row)
            if "swept_us" in row:
                gains.append(row["us"] / row["swept_us"])
                print(f"{gemm_report.line(row)}\n    best of {len(row['sweep'])}: {row['swept_tile']} {row['swept_us']:.1f} us, "
                      f"{gains[-1]:.3f} times as fast", flush=True)
            else:
                print(gemm_report.line(row), flush=True)
        if gains:
            print(f"the sweep's best over the recommendation: geometric mean {gemm_report.geometric(gains):.3f} of {len(gains)} shapes"
                  f" (1.04 allowed), most {max(gains):.3f}")
        return wrong

    def sweep_shape(self, case, some, kernels, row, deadline):
        operands = self.operands(case)
        ours, facts = self.ready(case, kernels, chosen(case), operands)
        row.update({k: v for k, v in facts.items() if k not in ("seconds",)})
        operands.check("recommended", ours)
        peers = self.peers(case, operands, row)
        futures = {kernels.want(text_of(case, choice), dims(case)): choice for choice in some}
        best, right, wrong = medians([ours], FEW_ROUNDS)[0], [], 0
        for future in concurrent.futures.as_completed(futures):
            if time.monotonic() > deadline:
                break
            choice, entry = futures[future], {"choice": dataclasses.asdict(futures[future])}
            row["sweep"].append(entry)
            try:
                launch, facts = self.ready(case, kernels, choice, operands)
                entry.update({k: facts[k] for k in ("registers", "spill_bytes", "roles", "no_roles")})
                with Watch(f"{case.kind} {case.m}x{case.n}x{case.k}, {choice}"):
                    operands.check(str(choice), launch)
            except Wrong as problem:
                wrong += 1
                entry["wrong"] = str(problem)
                print(f"  WRONG {problem}", flush=True)
                continue
            except tilert_jit.Error as problem:
                entry["refused"] = str(problem)[:200]
                continue
            taken = medians([launch], 2)[0]
            if taken < 1.3 * best:
                taken = medians([launch], 2 * FEW_ROUNDS)[0]
                right.append((taken, str(choice), launch))
            entry["us"] = taken * 1e3
            best = min(best, taken)
        first = sorted(right, key=lambda r: r[:2])[:5]
        rounds, times = self.timed([ours, *(r[2] for r in first), *peers])
        row.update(us=times[0] * 1e3, rounds=rounds)
        if peers:
            row.update(peer_us=times[1 + len(first)] * 1e3, best_us=min(times[1 + len(first):]) * 1e3)
        if first:
            best = min(range(len(first)), key=lambda i: times[1 + i])
            faster = times[1 + best] < times[0]
            row.update(swept_us=min(times[0], times[1 + best]) * 1e3, swept_tile=first[best][1] if faster else row["tile"])
        self.rates(case, chosen(case), row)
        return wrong
