"""Operands and float64 references of bench_gemm's products, on the device. No launches of what is compared, no times."""

import math

import torch
from gemm_kinds import KINDS, SCALE_BLOCK

DEVICE = "cuda"
SLICE = 1024  # rows of a reference made at once
TORCH = {"bf16": torch.bfloat16, "f16": torch.float16, "e4m3": torch.float8_e4m3fn, "i8": torch.int8, "i32": torch.int32, "f32": torch.float32}
EPS = {"bf16": 2.0**-7, "f16": 2.0**-10, "f32": 2.0**-23}
# Of the sums; fp8's are narrower in tensor cores.
SUM_EPS = {"bf16": 2.0**-23, "f16": 2.0**-23, "tf32": 2.0**-23, "e4m3": 2.0**-13, "e4m3b": 2.0**-13}


def operand(kind, rows, columns, lead=0):
    """Normal random elements: int8 of deviation 32, f32 ones that tf32 holds exactly. Rows start lead elements beyond columns."""
    wide = torch.empty(rows, columns + lead, device=DEVICE, dtype=TORCH[KINDS[kind].operand])
    for part in wide.split(8192):
        normal = torch.randn(part.shape, device=DEVICE)
        if kind == "i8":
            normal = normal.mul_(32).round_().clamp_(-128, 127)
        if kind == "tf32":
            normal = normal.view(torch.int32).bitwise_and_(-8192).view(torch.float32)
        part.copy_(normal)
    return wide[:, :columns]


def blocks(extent):
    return -(-extent // SCALE_BLOCK)


def random_scales(*shape):
    return torch.rand(shape, device=DEVICE).add_(0.5)


class Result:
    """The memory of a result: rows start lead elements beyond its columns, which nobody may write."""

    def __init__(self, kind, rows, columns, lead=0):
        self.out = KINDS[kind].out
        self.wide = torch.empty(rows, columns + lead, device=DEVICE, dtype=TORCH[self.out])
        self.view, self.rest = self.wide[:, :columns], self.wide[:, columns:]
        self.poison()

    def poison(self):
        self.wide.fill_(-(2**31) if self.out == "i32" else math.nan)

    def rest_is_poisoned(self):
        return bool((self.rest == -(2**31)).all() if self.out == "i32" else self.rest.isnan().all())


class Weights:
    """One weight matrix, its scale, and both in float64."""

    def __init__(self, kind, n, k, lead=0):
        self.kind, self.n, self.k, self.lead = kind, n, k, lead
        self.w = operand(kind, n, k, lead)
        self.scale = random_scales(1) if KINDS[kind].scaled else None
        self.block_scale = random_scales(blocks(n), blocks(k)) if KINDS[kind].blocks else None
        whole = self.w.double()
        if KINDS[kind].blocks:
            for at in range(blocks(n)):
                rows = slice(at * SCALE_BLOCK, (at + 1) * SCALE_BLOCK)
                whole[rows] *= self.block_scale[at].double().repeat_interleave(SCALE_BLOCK)[:k]
        self.double = whole.T
        self.size = self.double.abs()


class Reference:
    """x times the weights in float64, and how far from it a result may be, element by element, by tests/conformance's rule.

    x_scale: None, one scale, or those of 1 x 128 as [blocks of K, rows]; the weights' are in them."""

    def __init__(self, x, x_scale, weights):
        kind, blocked = weights.kind, KINDS[weights.kind].blocks
        self.exact = KINDS[kind].out == "i32"
        factor = (x_scale.double() * weights.scale.double()).item() if x_scale is not None and not blocked else 1.0
        shape, terms = (x.shape[0], weights.n), SCALE_BLOCK if blocked else weights.k
        self.wanted = torch.empty(shape, device=DEVICE, dtype=torch.float64)
        self.bound = None if self.exact else torch.empty_like(self.wanted)
        for at in range(0, shape[0], SLICE):
            rows = slice(at, at + SLICE)
            left = x[rows].double()
            if blocked:
                left *= x_scale[:, rows].T.double().repeat_interleave(SCALE_BLOCK, 1)[:, :weights.k]
            torch.matmul(left, weights.double, out=self.wanted[rows])
            if self.exact:
                continue
            torch.matmul(left.abs_(), weights.size, out=self.bound[rows])
            self.bound[rows] *= 4 * SUM_EPS[kind] * math.sqrt(terms) * factor
            self.wanted[rows] *= factor
            self.bound[rows] += EPS[KINDS[kind].out] * self.wanted[rows].abs()

    def excess(self, result):
        """How far beyond its bound the worst element lies; at most 0 is right, NaN is wrong."""
        worst = []
        for at in range(0, result.shape[0], SLICE):
            rows = slice(at, at + SLICE)
            error = (result[rows].double() - self.wanted[rows]).abs_()
            worst.append((error if self.exact else error.sub_(self.bound[rows])).max())
        return torch.stack(worst).max().item()
