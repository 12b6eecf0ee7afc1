"""Which kernel a product of bench_gemm gets, and which ones a sweep tries. Nothing here is measured, and no shape is named."""

from gemm_programs import KINDS, Choice

# Tokens up to which one compiled kernel of a weight matrix serves: what a host that keeps M dynamic would compile.
BUCKETS = (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
MOST_VARIANTS = 16
MULTIPROCESSORS = 132
SHARED = 232448 - 2048  # bytes of a block, less what barriers take
REGISTERS = 200  # of a thread, for its part of the result
MOST_STAGES = 10


def bucket(m):
    """The greatest number of tokens that shares a kernel with m."""
    return next((top for top in BUCKETS if m <= top), BUCKETS[-1])


def up(a, b):
    return -(-a // b)


def tiles(choice, m, n):
    return up(n, choice.rows) * up(m, choice.columns) if choice.swap else up(m, choice.rows) * up(n, choice.columns)


def stages_that_fit(rows, columns, depth, kind, swap):
    """Slots of shared memory beside the staging of a result that leaves in rows."""
    types = KINDS[kind]
    staging = 2 * rows * columns if types.out in ("bf16", "f16") and not swap else 0
    return min(MOST_STAGES, (SHARED - staging) // ((rows + columns) * depth * types.bytes))


def recommend(m, n, k, kind, lead=0):
    """The kernel of all products of so many tokens as share m's bucket. lead: what rows are apart beyond their elements."""
    top, size = bucket(m), KINDS[kind].bytes
    depth = 128 // size
    if (k + lead) * size % 16:  # rows that tensor copies do not take
        return Choice(64 if top <= 64 else 128, 64 if top <= 64 else 128, depth // 2, 4)
    if top <= 64:
        columns = max(8, top)
        return Choice(64, columns, depth, stages_that_fit(64, columns, depth, kind, True), swap=True)
    best, best_cost = None, None
    for rows in (128, 64):
        for columns in (256, 192, 128, 64):
            stages = stages_that_fit(rows, columns, depth, kind, False)
            if stages < 2:
                continue
            count = up(top, rows) * up(n, columns)
            # Rounds of tiles, each as long as its multiply-adds and, at half their rate, the operands that it reads.
            cost = up(count, MULTIPROCESSORS) * (rows * columns + 32 * (rows + columns))
            if best is None or cost < best_cost:
                best, best_cost = Choice(rows, columns, depth, stages, persistent=count > MULTIPROCESSORS), cost
    return best


def variants(n, k, kind, lead=0):
    """The kernels that one weight matrix needs for 1 to 16,384 tokens."""
    some = {m for m in range(1, BUCKETS[-1] + 1) if m <= 64 or m % 64 in (0, 1)}
    return {recommend(m, n, k, kind, lead) for m in some}


WIDTHS = {True: (8, 16, 24, 32, 48, 64, 96, 128), False: (64, 96, 128, 160, 176, 192, 208, 224, 240, 256)}


def candidates(m, n, kind):
    """Every kernel that a sweep tries for so many tokens, in a fixed order: what shared memory and registers hold."""
    found = []
    for swap in (True, False):
        if m > 256 if swap else m < 64:
            continue
        for rows in (64, 128, 192, 256):
            for columns in WIDTHS[swap]:
                side, across = (columns, rows) if swap else (rows, columns)
                if side >= 2 * max(m, 8 if swap else 64) or across >= 2 * n:
                    continue
                for span in (128, 256):
                    found += _of_tile(rows, columns, span // KINDS[kind].bytes, kind, swap, m, n)
    return found


def _of_tile(rows, columns, depth, kind, swap, m, n):
    most, found = stages_that_fit(rows, columns, depth, kind, swap), []
    for consumers in (1, 2, 3):
        if rows % (64 * consumers) or rows * columns // (128 * consumers) > REGISTERS:
            continue
        for stages in sorted({most, most - 1, (most + 2) // 2}, reverse=True):
            for persistent in (False, True) if tiles(Choice(rows, columns, depth, 1, swap=swap), m, n) > MULTIPROCESSORS else (False,):
                if stages >= 2:
                    found.append(Choice(rows, columns, depth, stages, consumers, swap, persistent))
    return found
