"""The kinds of products that bench_gemm knows, and the one program that it writes itself."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """Dtypes of a product by its name on the command line (bench/gemm_programs.cpp has the same names)."""

    operand: str
    out: str
    scaled: bool = False  # f32 scales in memory: one of x and one of w
    blocks: bool = False  # ... or one for 1 x 128 of x and 128 x 128 of w; the peer has one of each even so
    bytes: int = 2  # of an operand


KINDS = {"bf16": Kind("bf16", "bf16"), "f16": Kind("f16", "f16"), "e4m3": Kind("e4m3", "bf16", scaled=True, bytes=1),
         "e4m3b": Kind("e4m3", "bf16", scaled=True, blocks=True, bytes=1), "i8": Kind("i8", "i32", bytes=1),
         "tf32": Kind("f32", "f32", bytes=4)}
PER_TENSOR = {"e4m3b": "e4m3"}  # the same operands with one scale each
SCALE_BLOCK = 128

EMPTY = """tir 1
program "empty"
var %x.0 block index
kernel "empty" (%x.0) grid [1] {
}
"""
