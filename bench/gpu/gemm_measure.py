"""Measuring for bench_gemm: a product's kernels made ready, compared with float64, and timed in turns. Not here: what is asked
for and printed at the end (bench_gemm.py, gemm_report.py), which kernel it is (gemm_choice.py), the sweep (gemm_sweep.py).
"""

import datetime
import os
import subprocess
import sys
import threading
import time

import cublaslt
import gemm_report
import torch
from gemm_cases import leads
from gemm_choice import label, tiles, up
from gemm_data import DEVICE, Reference, Result, Weights, blocks, operand, random_scales
from gemm_kinds import EMPTY, KINDS, PER_TENSOR
from measure import prepared, turns

import tilert_jit

FEW_ROUNDS = 5  # of what only has to be told from others
PARTS_BYTES = 2**29
AROUND_SECONDS = 3e-4  # a launch's share of a round beside its own time: the flush, the host
STUCK_SECONDS = 40


class Wrong(Exception):
    """A result beyond its bound."""


class Refused(Exception):
    """tilert does not take it."""


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


def device_lives():
    try:
        torch.cuda.synchronize()
        return True
    except RuntimeError:
        return False


def clocks():
    """The device's state, as its tool tells it."""
    command = ["nvidia-smi", "--query-gpu=clocks.sm,temperature.gpu,power.draw", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return "its clock is not known"


class Cache:
    """Empties the L2 cache of what launches use: written over, then read over, since lines that have yet to be written back would
    take their share of the memory from the launch that is timed."""

    SIZE = 2**26  # f32 elements, several times the cache

    def __init__(self):
        self.one, self.other, self.sum = (torch.zeros(n, device=DEVICE) for n in (self.SIZE, self.SIZE, 1))

    def flush(self):
        self.one.zero_()
        torch.sum(self.other, 0, keepdim=True, out=self.sum)


def median(times):
    return sorted(times)[len(times) // 2]


class Operands:
    """What one shape's launches read and write."""

    def __init__(self, case, weights):
        self.case, self.weights = case, weights
        self.x = operand(case.kind, case.m, case.k, case.lead)
        kind = KINDS[case.kind]
        self.x_scale = random_scales(1) if kind.scaled else None
        self.block_scale = random_scales(blocks(case.k), case.m) if kind.blocks else None
        self.y = Result(case.kind, case.m, case.n, case.lead)
        self.reference = Reference(self.x, self.block_scale if kind.blocks else self.x_scale, weights)

    def tensor_scales(self):
        return [] if self.x_scale is None else [self.x_scale, self.weights.scale]

    def scales(self):
        return self.tensor_scales() if self.block_scale is None else [self.block_scale, self.weights.block_scale]

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
        self.parts = torch.zeros(PARTS_BYTES, dtype=torch.uint8, device=DEVICE)  # of split products; their counters end as they began
        self.peer = cublaslt.Library(self.workspace.data_ptr())
        self.weights, self.loaded, self.cache = None, {}, Cache()
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
        nothing, moved = self.medians([lambda: empty(0), lambda: copy.copy_(source)], self.options.rounds)
        self.meta.update(empty_us=nothing * 1e3, copy_tb_s=2 * source.numel() / moved / 1e9)

    def cold_compiles(self, cases, kernels):
        """Without a cache, one at a time: the first of the process apart, since it loads the compiler."""
        seconds = []
        plans = [(kernels.plan(c), c.m) for c in cases if not c.odd]
        for text in dict.fromkeys(plan.program(m)["text"] for plan, m in plans if not plan.refused and m >= 256):
            begin = time.perf_counter()
            kernel = self.own.kernel(tilert_jit.Program.parse(text), target=self.target)
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
                row = {"run": run, **vars(case), "tile": ""}
                kernels.wait(case, self.options.specialized)
                try:
                    with Watch(f"{case.kind} {case.m}x{case.n}x{case.k}"):
                        self.product(case, kernels, row)
                except Wrong as problem:
                    wrong += 1
                    row["refused"] = f"WRONG {problem}"
                except (Refused, tilert_jit.Error, torch.OutOfMemoryError) as problem:
                    row["refused"] = str(problem)[:400]
                except RuntimeError as problem:
                    wrong += 1
                    row["refused"] = f"FAILED {str(problem)[:400]}"
                record.add(row)
                print(gemm_report.line(row), flush=True)
                if row.get("refused", "").startswith("FAILED") and not device_lives():
                    print("the device takes no more work: the run ends here", flush=True)
                    return wrong
            print(f"after it: {clocks()}", flush=True)
        return wrong

    def operands(self, case):
        key = (case.kind, case.n, case.k, case.lead)
        if self.weights is None or (self.weights.kind, self.weights.n, self.weights.k, self.weights.lead) != key:
            self.weights = None  # frees it before the next
            self.weights = Weights(*key)
        return Operands(case, self.weights)

    def recommended(self, case, kernels, row):
        """The text of the program that the plan has for this shape; the row says which it is."""
        plan = kernels.plan(case)
        if plan.refused:
            raise Refused(plan.refused)
        found = plan.program(case.m)
        row.update(tile=label(found["choice"]), choice=found["choice"])
        return found["text"]

    def per_tensor(self, case, kernels, operands):
        """Our own launch of the same operands with one scale each."""
        plan = kernels.plan(kernels.with_one_scale(case))
        if plan.refused:
            return []
        return [self.ready(case, kernels, plan.program(case.m)["text"], operands, scales=operands.tensor_scales())[0]]

    def ready(self, case, kernels, text, operands, m=None, scales=None):
        """A launch of a kernel of ours, and what is known of it. Refused where tilert refuses it."""
        facts = kernels.want(text, m).result()
        if "refused" in facts:
            raise Refused(facts["refused"])
        if self.cached is None:
            context = tilert_jit.Context(cache_path=kernels.cache)
            self.cached = context, context.cuda()
        loaded = self.loaded.get((text, m))
        if loaded is None:
            loaded, _ = prepared(*self.cached, text, {} if m is None else {"M": m})
            if not self.options.sweep:  # whose kernels are many
                self.loaded[text, m] = loaded
        launch = loaded.bind([operands.x, operands.weights.w, operands.y.view, *(scales or operands.scales())], {"M": case.m}, workspace=self.parts)
        return lambda: launch(0), facts

    def peers(self, case, operands, row):
        """cuBLASLt's first algorithm and its best: [] where it refuses. A result of its beyond the bound is noted, not refused."""
        ldx, ldw, ldy = leads(case)
        scales = [s.data_ptr() for s in operands.tensor_scales()]
        y = operands.y.view
        try:
            found = cublaslt.Product(self.peer, PER_TENSOR.get(case.kind, case.kind), case.m, case.n, case.k, operands.x.data_ptr(), operands.weights.w.data_ptr(),
                                     y.data_ptr(), ldx, ldw, ldy, scales or None)
            launches = self.working([found.launch(i) for i in range(len(found.algorithms))])
        except cublaslt.Refused as refused:
            row["peer_refused"] = str(refused)
            return []
        times = self.medians(launches, FEW_ROUNDS) if len(launches) > 1 else [0]
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
        if KINDS[operands.case.kind].blocks:  # whose peer computes another product
            return
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
        scales = [s.data_ptr() for s in operands.tensor_scales()]
        try:
            found = cublaslt.Product(self.peer, PER_TENSOR.get(case.kind, case.kind), case.m, n, k, x.data_ptr(), w.data_ptr(), y.data_ptr(),
                                     scales=scales or None)
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
        text, operands = self.recommended(case, kernels, row), self.operands(case)
        ours, facts = self.ready(case, kernels, text, operands)
        row.update({k: v for k, v in facts.items() if k != "seconds"})
        row["excess"] = operands.check("ours", ours)
        names, launches = ["us"], [ours]
        if self.options.specialized:
            constant, _ = self.ready(case, kernels, text, operands, case.m)
            operands.check("with M constant", constant)
            names, launches = names + ["specialized_us"], launches + [constant]
        peers = self.peers(case, operands, row)
        names, launches = names + ["peer_us", "best_us"][:len(peers)], launches + peers
        if case.kind in PER_TENSOR:
            own = self.per_tensor(case, kernels, operands)
            names, launches = names + ["per_tensor_us"] * len(own), launches + own
        if case.odd:
            padded = self.padded(case, operands, row)
            names, launches = names + ["padded_us", "padded_copies_us"][:len(padded)], launches + padded
        times = self.timed(launches)
        row.update({name: median(own) * 1e3 for name, own in zip(names, times)}, rounds=len(times[0]))
        row["tenths"] = {name: [sorted(own)[i] * 1e3 for i in (len(own) // 10, -1 - len(own) // 10)] for name, own in zip(names, times)}
        if "peer_us" in row:
            row["best_us"] = min(row["peer_us"], row.get("best_us", row["peer_us"]))
        self.rates(case, row)

    def medians(self, launches, rounds):
        return [median(own) for own in turns(launches, rounds, self.cache.flush)]

    def timed(self, launches):
        """The times of each launch; fewer rounds where a round of all takes long."""
        once = sum(self.medians(launches, 1)) / 1e3 + len(launches) * AROUND_SECONDS
        rounds = max(FEW_ROUNDS, min(self.options.rounds, int(self.options.shape_seconds / once) - 2))
        return turns(launches, rounds, self.cache.flush)

    def rates(self, case, row):
        types = KINDS[case.kind]
        out_bytes = {"bf16": 2, "f16": 2}.get(types.out, 4)
        weights = case.n * case.k * types.bytes
        seconds = row["us"] * 1e-6
        row.update(tflops=2 * case.m * case.n * case.k / seconds / 1e12, weight_bytes=weights, copy_tb_s=self.meta["copy_tb_s"],
                   tb_s=(weights + case.m * case.k * types.bytes + case.m * case.n * out_bytes) / seconds / 1e12,
                   tiles=tiles(row["choice"], case.m, case.n), multiprocessors=self.meta["multiprocessors"])
