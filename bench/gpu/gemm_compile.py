"""Kernels of bench_gemm compiled in processes of their own, into a cache on disk that the measuring process reads.

As a program: gemm_compile.py CACHE reads jobs, one JSON object a line, and answers each with one line. No PyTorch, no device.
"""

import concurrent.futures
import json
import os
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BINDING = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bindings", "python")


def facts(variant):
    """What is told of a compiled kernel: registers, spills, whether it has roles or why not, hints that were not taken."""
    info = variant.info
    kernel = json.loads(info["configuration"])["kernels"][0]
    return {"registers": info["registers"], "spill_bytes": info["spill_bytes"], "threads": info["threads"],
            "shared_bytes": info["shared_bytes"], "compile_ms": round(info["compile_nanoseconds"] / 1e6, 1),
            "roles": kernel.get("roles"), "no_roles": kernel.get("no_roles"),
            "instruction": [p["instruction"] for p in kernel.get("products", [])],
            "not_taken": [h for h in kernel.get("hints", []) if not h["taken"]]}


def compiled(context, job):
    import tilert_jit

    begin = time.perf_counter()
    try:
        kernel = context.kernel(tilert_jit.Program.parse(job["text"]), target=job["target"], dims=job["dims"],
                                device_class=job["device_class"])
        kernel.compile()
        found = facts(kernel.variants[0])
        found["variants"] = len(kernel.variants)
    except tilert_jit.Error as refused:
        return {"refused": f"{refused.name}: {refused.message}"[:400]}
    found["seconds"] = round(time.perf_counter() - begin, 3)
    return found


class Pool:
    """jobs processes that compile; each job is answered by its facts, or by {"refused": why}."""

    def __init__(self, cache, jobs, seconds=60):
        self.cache, self.seconds, self.own = cache, seconds, threading.local()
        self.all, self.threads = [], concurrent.futures.ThreadPoolExecutor(jobs)

    def submit(self, text, dims, target, device_class):
        job = {"text": text, "dims": dims, "target": target, "device_class": device_class}
        return self.threads.submit(self._ask, json.dumps(job))

    def close(self):
        self.threads.shutdown(cancel_futures=True)
        for process in self.all:
            process.stdin.close()
            process.wait()

    def _ask(self, line):
        process = getattr(self.own, "process", None)
        if process is None or process.poll() is not None:
            process = self.own.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), self.cache], text=True,
                                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.all.append(process)
        clock = threading.Timer(self.seconds, process.kill)
        clock.start()
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        clock.cancel()
        return json.loads(answer) if answer else {"refused": f"its compilation ended without an answer, or took over {self.seconds} s"}


def main():
    sys.path.append(BINDING)
    import tilert_jit

    context = tilert_jit.Context(cache_path=sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(compiled(context, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
