"""The tile programs of bench_gemm, as .tir text: y[m, n] = x[m, k] w[n, k]^T with dims M (tokens), N and K."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """Dtypes of a product by its name on the command line."""

    operand: str
    out: str
    acc: str = "f32"
    scaled: bool = False  # one f32 scale of x and one of w, in memory
    flag: str = ""  # of the product
    bytes: int = 2  # of an operand


KINDS = {"bf16": Kind("bf16", "bf16"), "f16": Kind("f16", "f16"), "e4m3": Kind("e4m3", "bf16", scaled=True, bytes=1),
         "i8": Kind("i8", "i32", acc="i32", bytes=1), "tf32": Kind("f32", "f32", flag=" tf32", bytes=4)}


@dataclass(frozen=True)
class Choice:
    """What makes one compiled kernel of a product. Rows are those of the product's left side."""

    rows: int
    columns: int
    depth: int
    stages: int
    consumers: int = 0  # warpgroups that multiply; 0: the compiler says
    swap: bool = False  # the weights are the left side, and the result is written transposed
    persistent: bool = False
    raster: int = 0
    split: int = 1  # of K
    cluster: int = 1

    def __str__(self):
        parts = [f"{self.rows}x{self.columns}x{self.depth}/{self.stages}"]
        for name, value, usual in (("c", self.consumers, 0), ("g", self.raster, 0), ("k", self.split, 1), ("cl", self.cluster, 1)):
            if value != usual:
                parts.append(f"{name}{value}")
        return " ".join(parts + ["swap"] * self.swap + ["persistent"] * self.persistent)


def hints(choice):
    """The hints of a kernel, those that ask for something."""
    asked = [("consumers", choice.consumers, 0), ("raster", choice.raster, 0), ("split_k", choice.split, 1), ("cluster", choice.cluster, 1)]
    text = "".join(f" hint {name} {value}" for name, value, usual in asked if value != usual)
    return text + (" persistent" if choice.persistent else "")


def product(choice, kind, lead=False):
    """The program of a product. lead: leading dimensions are the dims LX, LW and LY."""
    types, bm, bn, bk = KINDS[kind], choice.rows, choice.columns, choice.depth
    dims = ["M", "N", "K"] + (["LX", "LW", "LY"] if lead else [])
    at = {name: f"%{name}.{i}" for i, name in enumerate(dims)}
    names = ["x", "y", "k", "i", "j", "v", "sx", "sw"]
    at.update({name: f"%{name}.{len(dims) + i}" for i, name in enumerate(names)})
    kinds = ["block", "block", "loop", "loop", "loop", "let", "let", "let"]
    dtypes = ["index"] * 5 + [types.acc, "f32", "f32"]
    used = len(names) if types.scaled else 3
    M, N, K = at["M"], at["N"], at["K"]
    LX, LW, LY = (at["LX"], at["LW"], at["LY"]) if lead else (K, K, N)

    def strides(text):
        return f" strides [{text}] strided" if lead or text.startswith("1, ") else ""

    rows, columns, left, right = (N, M, "@W.1", "@X.0") if choice.swap else (M, N, "@X.0", "@W.1")
    y_shape, y_strides = (f"{N}, {M}", f"1, {LY}") if choice.swap else (f"{M}, {N}", f"{LY}, 1")
    lines = ["tir 1", 'program "product"']
    lines += [f"var {at[name]} dim index" for name in dims]
    lines += [f"var {at[n]} {k} {d}" for n, k, d in list(zip(names, kinds, dtypes))[:used]]
    lines += [f"dim {at[name]}" for name in dims]
    lines += [f"buffer @X.0 global {types.operand} [{M}, {K}]{strides(f'{LX}, 1')} in argument 0",
              f"buffer @W.1 global {types.operand} [{N}, {K}]{strides(f'{LW}, 1')} in argument 1",
              f"buffer @Y.2 global {types.out} [{y_shape}]{strides(y_strides)} out argument 2",
              f"buffer @l.3 shared {types.operand} [{bm}, {bk}]", f"buffer @r.4 shared {types.operand} [{bn}, {bk}]",
              f"buffer @acc.5 fragment {types.acc} [{bm}, {bn}]"]
    if types.scaled:
        lines += ["buffer @SX.6 global f32 [1] in argument 3", "buffer @SW.7 global f32 [1] in argument 4"]
    lines += ['parameter tensor @X.0 "x"', 'parameter tensor @W.1 "w"', 'parameter tensor @Y.2 "y"']
    lines += ['parameter tensor @SX.6 "x_scale"', 'parameter tensor @SW.7 "w_scale"'] if types.scaled else []
    zero = "i32(0)" if types.acc == "i32" else "f32(0x0)"
    grid = f"div(add({columns}, {bn - 1}), {bn}), div(add({rows}, {bm - 1}), {bm})"
    lines += [f'kernel "product" ({at["x"]}, {at["y"]}) grid [{grid}]{hints(choice)} {{',
              "  1: alloc @l.3", "  2: alloc @r.4", "  3: alloc @acc.5", f"  4: fill @acc.5[0:{bm}, 0:{bn}] = {zero}",
              f"  8: for pipelined {at['k']} = 0 to div(add({K}, {bk - 1}), {bk}) stages {choice.stages} {{",
              f"    5: copy {left}[mul({at['y']}, {bm}):{bm}, mul({at['k']}, {bk}):{bk}] -> @l.3[0:{bm}, 0:{bk}]",
              f"    6: copy {right}[mul({at['x']}, {bn}):{bn}, mul({at['k']}, {bk}):{bk}] -> @r.4[0:{bn}, 0:{bk}]",
              f"    7: gemm @l.3[0:{bm}, 0:{bk}], @r.4[0:{bn}, 0:{bk}], @acc.5[0:{bm}, 0:{bn}] trans_b{types.flag} accumulate true", "  }"]
    if types.scaled:
        lines += [f"  9: let {at['sx']} = load @SX.6[0]", f"  10: let {at['sw']} = load @SW.7[0]",
                  f"  11: parallel ({at['i']} : {bm}, {at['j']} : {bn}) {{",
                  f"    12: let {at['v']} = load @acc.5[{at['i']}, {at['j']}]",
                  f"    13: store @acc.5[{at['i']}, {at['j']}] = mul({at['v']}, mul({at['sx']}, {at['sw']}))", "  }"]
    lines += [f"  14: copy @acc.5[0:{bm}, 0:{bn}] -> @Y.2[mul({at['y']}, {bm}):{bm}, mul({at['x']}, {bn}):{bn}]", "}"]
    return "\n".join(lines) + "\n"


EMPTY = """tir 1
program "empty"
var %x.0 block index
kernel "empty" (%x.0) grid [1] {
}
"""
