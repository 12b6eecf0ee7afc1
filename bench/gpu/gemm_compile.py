"""Compiles kernels for bench_gemm, in a process of its own, into a cache on disk that the measuring process reads.

gemm_compile.py CACHE reads jobs, one JSON object a line, and answers each with one line. No PyTorch, no device.
"""

import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BINDING = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bindings", "python")


def command(cache):
    return [sys.executable, os.path.abspath(__file__), cache]


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


def main():
    sys.path.append(BINDING)
    import tilert_jit

    context = tilert_jit.Context(cache_path=sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(compiled(context, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
