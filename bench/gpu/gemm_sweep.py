"""The sweep of bench_gemm: every candidate of a shape beside the recommended kernel. Each is compared with float64 first."""

import concurrent.futures
import time

import gemm_report
from gemm_choice import label
from gemm_measure import FEW_ROUNDS, Refused, Watch, Wrong, median

import tilert_jit

NEAR = 1.3  # times the best so far: what is slower is timed no further
FINALISTS = 5


def wanted(bench, case, kernels):
    """The candidates of a shape as (choice, text), all on their way to be compiled; why there are none."""
    plan = kernels.plan(case)
    if plan.refused:
        return [], plan.refused
    kernels.want(plan.program(case.m)["text"])
    choices = kernels.recommender.swept(case, bench.options.most)
    texts = [kernels.recommender.text(case, choice) for choice in choices]
    answers = [(choice, text.result()) for choice, text in zip(choices, texts)]
    some = [(choice, answer["text"]) for choice, answer in answers if "text" in answer]
    for _, text in some:
        kernels.want(text)
    return some, None


def sweep(bench, cases, kernels, record, deadline):
    """How far the best of each shape's candidates lies from the recommendation. How many results were wrong."""
    thread = concurrent.futures.ThreadPoolExecutor(1)  # asks ahead of the measuring
    asked = [thread.submit(wanted, bench, case, kernels) for case in cases]
    gains, wrong = [], 0
    print(gemm_report.HEAD, flush=True)
    for case, future in zip(cases, asked):
        if time.monotonic() > deadline:
            print("out of time: the shapes from here on are left", flush=True)
            break
        row = {"run": 0, **vars(case), "tile": "", "sweep": []}
        some, row_refused = future.result()
        try:
            if row_refused:
                raise Refused(row_refused)
            wrong += shape(bench, case, some, kernels, row, deadline)
        except (Wrong, Refused, tilert_jit.Error) as problem:
            row["refused"] = str(problem)[:400]
        record.add(row)
        print(gemm_report.line(row), flush=True)
        if "swept_us" in row:
            gains.append(row["us"] / row["swept_us"])
            print(f"    best of {len(row['sweep'])}: {row['swept_tile']} {row['swept_us']:.1f} us, {gains[-1]:.3f} times as fast", flush=True)
            model = gemm_report.model_of_sweep(row)
            print(f"    {model}" if model else "    no candidate has a prediction", flush=True)
    thread.shutdown(cancel_futures=True)
    if gains:
        print(f"the sweep's best over the recommendation: geometric mean {gemm_report.geometric(gains):.3f} of {len(gains)} shapes"
              f" (1.04 allowed), most {max(gains):.3f}")
    return wrong


def shape(bench, case, some, kernels, row, deadline):
    """Fills a row with the time of each candidate; the best ones are timed once more, in turns with the recommended one."""
    text, operands = bench.recommended(case, kernels, row), bench.operands(case)
    ours, facts = bench.ready(case, kernels, text, operands)
    row.update({k: v for k, v in facts.items() if k != "seconds"})
    with Watch(f"{case.kind} {case.m}x{case.n}x{case.k}, recommended"):
        operands.check("recommended", ours)
        peers = bench.peers(case, operands, row)
    best, right, wrong = bench.medians([ours], FEW_ROUNDS)[0], [], 0
    futures = {kernels.want(text): (choice, text) for choice, text in some}
    for future in concurrent.futures.as_completed(futures):
        if time.monotonic() > deadline:
            break
        choice, text = futures[future]
        entry = {"choice": choice}
        row["sweep"].append(entry)
        try:
            launch = candidate(bench, case, kernels, choice, text, operands, entry)
        except Wrong as problem:
            wrong += 1
            entry["wrong"] = str(problem)
            print(f"  WRONG {problem}", flush=True)
            continue
        except (Refused, tilert_jit.Error) as problem:
            entry["refused"] = str(problem)[:200]
            continue
        taken = bench.medians([launch], 2)[0]
        if taken < NEAR * best:
            taken = bench.medians([launch], 2 * FEW_ROUNDS)[0]
            right.append((taken, label(choice), launch))
        entry["us"] = taken * 1e3
        best = min(best, taken)
    final(bench, case, ours, sorted(right, key=lambda r: r[:2])[:FINALISTS], peers, row)
    return wrong


def candidate(bench, case, kernels, choice, text, operands, entry):
    """Its launch, when its result is right."""
    launch, facts = bench.ready(case, kernels, text, operands)
    entry.update({k: facts[k] for k in ("registers", "spill_bytes", "roles", "no_roles")})
    with Watch(f"{case.kind} {case.m}x{case.n}x{case.k}, {label(choice)}"):
        operands.check(label(choice), launch)
    return launch


def final(bench, case, ours, first, peers, row):
    all_times = bench.timed([ours, *(launch for _, _, launch in first), *peers])
    times = [median(own) for own in all_times]
    row.update(us=times[0] * 1e3, rounds=len(all_times[0]))
    if peers:
        row.update(peer_us=times[1 + len(first)] * 1e3, best_us=min(times[1 + len(first):]) * 1e3)
    if first:
        fastest = min(range(len(first)), key=lambda i: times[1 + i])
        faster = times[1 + fastest] < times[0]
        row.update(swept_us=min(times[0], times[1 + fastest]) * 1e3, swept_tile=first[fastest][1] if faster else row["tile"])
    bench.rates(case, row)
