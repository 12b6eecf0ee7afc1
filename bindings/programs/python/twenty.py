#!/usr/bin/env python3
"""twenty.py: builds, compiles and runs the twenty programs, and prints a line for each, as ../README.md says."""

import math
import sys

import elements
import products
import rows

import tilert_jit as tj

# name: (build, dims bound when compiled, dims of the launch, shapes of the tensors, scalars)
CASES = {
    "gemm_bias_gelu": (products.gemm_bias_gelu, {"N": 96, "K": 80}, {"M": 100}, [(100, 80), (80, 96), (96,), (100, 96)], []),
    "scale": (rows.scale, {}, {"N": 1000}, [(1000,), (1000,)], [2.5]),
    "softmax": (rows.softmax, {}, {"R": 37}, [(37, 100), (37, 100)], []),
    "rmsnorm": (rows.rmsnorm, {}, {"T": 9}, [(9, 256), (256,), (9, 256)], [2.0**-10]),
    "transposed": (rows.transposed, {"N": 70}, {"M": 50}, [(50, 70), (70, 50)], []),
    "histogram": (elements.histogram, {}, {"N": 1000}, [(1000,), (16,), (1,), (16,)], []),
    "strided_copy": (rows.strided_copy, {"N": 100, "S": 112}, {"M": 70}, [(70, 112), (70, 100)], [90]),
    "gemm_int8": (products.gemm_int8, {"N": 64, "K": 96}, {"M": 70}, [(70, 96), (64, 96), (64,), (70, 64)], []),
    "gemm_scaled": (products.gemm_scaled, {"N": 64, "K": 96, "NB": 2, "KB": 3}, {"M": 70},
                    [(70, 96), (64, 96), (70, 3), (2, 3), (70, 64)], []),
    "gemm_sparse": (products.gemm_sparse, {}, {}, [(16, 32), (64, 8), (16, 4), (16, 8)], []),
    "embed": (rows.embed, {}, {"T": 40, "V": 6}, [(6, 32), (40,), (40, 32), (6, 32)], []),
    "branches": (elements.branches, {}, {"B": 5}, [(5, 64), (5, 64), (5,), (2,), (5,)], []),
    "casts": (elements.casts, {}, {"N": 100}, [(100,)] * 9, [42]),
    "ranked": (rows.ranked, {}, {"R": 7}, [(7, 48), (7, 8), (7, 48), (7, 8), (7,), (7,)], []),
    "experts": (products.experts, {"N": 64, "K": 64}, {"T": 50, "R": 4, "E": 3}, [(50, 64), (3, 64, 64), (4,), (3,), (1,), (50, 64)], []),
    "leaky": (elements.leaky, {}, {"R": 6}, [(6, 16), (6, 16), (6,), (6,)], []),
    "checked": (elements.checked, {}, {}, [(64,), (64,)], []),
    "warp_sums": (elements.warp_sums, {}, {"R": 5}, [(5, 200), (5,), (5,)], []),
    "unpacked": (elements.unpacked, {"M": 20}, {}, [(20, 48), (20,), (20, 3, 16), (20, 24), (48, 20)], []),
    "hand_gemm": (products.hand_gemm, {"N": 72, "K": 104}, {"M": 150}, [(150, 104), (72, 104), (150, 72)], []),
}
BYTES = {"e4m3": lambda n: 0x30 + n, "i4": lambda n: 15 * n}  # of the rule, where it speaks of bytes


def filled(tensor, j):
    """The tensor with the rule's data."""
    dtype = tensor.dtype
    if dtype in BYTES:
        tensor.bytes = bytes(BYTES[dtype]((7 * i + 3 * j) % 17) for i in range(tensor.nbytes))
        return tensor
    count = math.prod(tensor.shape)
    numbers = ((7 * i + 3 * j) % 17 for i in range(count))
    return tensor.fill(numbers if dtype[0] == "u" else (n - 8 for n in numbers) if dtype[0] == "i" else ((n - 8) / 8 for n in numbers))


def arguments_of(name, program, shapes, scalars):
    """The arguments of a run, and the tensors that it writes."""
    shapes, scalars, given, written = iter(enumerate(shapes)), iter(scalars), [], []
    for parameter in program.parameters:
        if not parameter["tensor"]:
            given.append(next(scalars))
            continue
        j, shape = next(shapes)
        tensor = tj.zeros(shape, parameter["dtype"])
        if parameter["access"] == "in":
            filled(tensor, j)
        else:
            written.append(tensor)
        if parameter["pointer_table"]:
            part = tensor.nbytes // shape[0]
            given.append(tj.PointerTable([tj.Buffer(tensor.address + g * part, tensor.dtype, shape[1:], owner=tensor) for g in range(shape[0])]))
        elif name == "strided_copy" and j == 0:
            given.append(tj.Buffer(tensor.address, tensor.dtype, (shape[0], 100), (shape[1], 1), owner=tensor))
        else:
            given.append(tensor)
    return given, written


def digest(tensors):
    """FNV-1a over all bytes."""
    value = 0xcbf29ce484222325
    for tensor in tensors:
        for byte in tensor.bytes:
            value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return value


def main():
    with tj.Context(cache="memory", allow_source=True) as context, context.cpu() as device:
        for name, (build, bound, dims, shapes, scalars) in CASES.items():
            program = build()
            kernels = [context.kernel(program, target, bound) for target in ("cpu:x86-64", "sm_90a")]
            keys = ["+".join(v.info["request_key"] for v in kernel.variants) for kernel in kernels]
            loaded = kernels[0].prepare(device)
            arguments, written = arguments_of(name, program, shapes, scalars)
            dims = {**bound, **dims}
            workspace = tj.zeros(loaded.workspace(dims).bytes, "u8")
            loaded.launch(arguments, dims, workspace=workspace)
            print(name, *keys, f"{digest(written):016x}")


if __name__ == "__main__":
    sys.exit(main())
