"""Tile programs of the row benchmarks, as .tir text: what a model does between its products, and whole reductions."""

import struct


class Text:
    """A program in the making: variables, buffers and statements get their numbers here."""

    def __init__(self, name):
        self.name, self.vars, self.dims, self.buffers, self.parameters, self.body, self.ordinal = name, [], [], [], [], [], 0
        self.kernels = []

    def var(self, name, kind, dtype="index"):
        handle = f"%{name}.{len(self.vars)}"
        self.vars.append(f"var {handle} {kind} {dtype}")
        if kind == "dim":
            self.dims.append(f"dim {handle}")
        return handle

    def buffer(self, name, kind, dtype, shape, role=""):
        handle = f"@{name}.{len(self.buffers)}"
        self.buffers.append(f"buffer {handle} {kind} {dtype} [{', '.join(map(str, shape))}]{role}")
        return handle

    def tensor(self, name, dtype, shape, way):
        handle = self.buffer(name, "global", dtype, shape, f" {way} argument {len(self.parameters)}")
        self.parameters.append(f'parameter tensor {handle} "{name}"')
        return handle

    def scalar(self, name, dtype):
        handle = self.var(name, "scalar", dtype)
        self.parameters.append(f'parameter scalar {handle} "{name}"')
        return handle

    def fragment(self, name, dtype, shape):
        handle = self.buffer(name, "fragment", dtype, shape)
        self.say(f"alloc {handle}")
        return handle

    def say(self, line):
        self.body.append((self.next(), line))

    def next(self):
        self.ordinal += 1
        return self.ordinal

    def parallel(self, extents, statements):
        """statements(indices, load) returns lines; load(place, dtype) gives the value's name."""
        at = [self.var("i", "loop") for _ in extents]
        lines = []

        def load(place, dtype="f32"):
            value = self.var("v", "let", dtype)
            lines.append(f"let {value} = load {place}")
            return value

        own = self.next()
        for line in statements(at, load):
            lines.append(line)
        inner = "\n".join(f"    {self.next()}: {line}" for line in lines)
        ranges = ", ".join(f"{v} : {n}" for v, n in zip(at, extents))
        self.body.append((own, f"parallel ({ranges}) {{\n{inner}\n  }}"))

    def kernel(self, blocks, grid, hints=""):
        lines = "\n".join(f"  {n}: {line}" for n, line in self.body)
        self.kernels.append(f'kernel "{self.name}{len(self.kernels) or ""}" ({", ".join(blocks)}) grid [{", ".join(grid)}]{hints} {{\n{lines}\n}}')
        self.body = []

    def text(self):
        parts = ["tir 1", f'program "{self.name}"', *self.vars, *self.dims, *self.buffers, *self.parameters, *self.kernels]
        return "\n".join(parts) + "\n"


def whole(buffer, *shape):
    return f"{buffer}[{', '.join(f'0:{n}' for n in shape)}]"


def padded(columns):
    """The tile's width: a power of two, at least 256."""
    width = 256
    while width < columns:
        width *= 2
    return width


def softmax(columns, dtype="bf16", lowest="bf16(0xff80)"):
    """y = exp(x - max) / sum of them, each row; a row of minus infinity gives 0."""
    t, w = Text("softmax"), padded(columns)
    rows, block = t.var("R", "dim"), t.var("b", "block")
    x, y = t.tensor("x", dtype, [rows, columns], "in"), t.tensor("y", dtype, [rows, columns], "out")
    e, top, total = t.fragment("e", "f32", [1, w]), t.fragment("top", "f32", [1]), t.fragment("total", "f32", [1])
    t.say(f"copy {x}[{block}:1, 0:{w}] -> {whole(e, 1, w)} safe {lowest}")
    t.say(f"reduce max {whole(e, 1, w)} -> {whole(top, 1)} dim 1")
    t.parallel([1], lambda at, load: [f"store {top}[{at[0]}] = " + (lambda m: f"select(eq({m}, f32(0xff800000)), f32(0x0), {m})")(load(f"{top}[{at[0]}]"))])
    t.parallel([1, w], lambda at, load: [
        f"store {e}[{at[0]}, {at[1]}] = exp(sub({load(f'{e}[{at[0]}, {at[1]}]')}, {load(f'{top}[{at[0]}]')}))"])
    t.say(f"reduce sum {whole(e, 1, w)} -> {whole(total, 1)} dim 1")
    t.parallel([1], lambda at, load: [f"store {total}[{at[0]}] = " + (lambda s: f"select(eq({s}, f32(0x0)), f32(0x0), div(f32(0x3f800000), {s}))")(load(f"{total}[{at[0]}]"))])
    t.parallel([1, w], lambda at, load: [
        f"store {e}[{at[0]}, {at[1]}] = mul({load(f'{e}[{at[0]}, {at[1]}]')}, {load(f'{total}[{at[0]}]')})"])
    t.say(f"copy {whole(e, 1, w)} -> {y}[{block}:1, 0:{w}]")
    t.kernel([block], [rows])
    return t.text()


def rmsnorm(columns, dtype="bf16"):
    """residual += x, kept; y = residual / sqrt(mean of squares + eps) * weight."""
    t, w = Text("rmsnorm"), padded(columns)
    rows, block = t.var("R", "dim"), t.var("b", "block")
    x, weight = t.tensor("x", dtype, [rows, columns], "in"), t.tensor("weight", dtype, [columns], "in")
    residual, y = t.tensor("residual", dtype, [rows, columns], "inout"), t.tensor("y", dtype, [rows, columns], "out")
    eps = t.scalar("eps", "f32")
    r, add, square = (t.fragment(n, "f32", [1, w]) for n in ("r", "add", "square"))
    mean = t.fragment("mean", "f32", [1])
    t.say(f"copy {x}[{block}:1, 0:{w}] -> {whole(r, 1, w)}")
    t.say(f"copy {residual}[{block}:1, 0:{w}] -> {whole(add, 1, w)}")
    t.parallel([1, w], lambda at, load: [
        f"store {r}[{at[0]}, {at[1]}] = add({load(f'{r}[{at[0]}, {at[1]}]')}, {load(f'{add}[{at[0]}, {at[1]}]')})"])
    t.say(f"copy {whole(r, 1, w)} -> {residual}[{block}:1, 0:{w}]")

    def squared(at, load):
        value = load(f"{r}[{at[0]}, {at[1]}]")
        return [f"store {square}[{at[0]}, {at[1]}] = mul({value}, {value})"]

    t.parallel([1, w], squared)
    t.say(f"reduce sum {whole(square, 1, w)} -> {whole(mean, 1)} dim 1")
    inverse = f32_bits(1.0 / columns)
    t.parallel([1], lambda at, load: [f"store {mean}[{at[0]}] = rsqrt(add(mul({load(f'{mean}[{at[0]}]')}, {inverse}), {eps}))"])
    t.parallel([1, w], lambda at, load: [
        f"store {r}[{at[0]}, {at[1]}] = mul(mul({load(f'{r}[{at[0]}, {at[1]}]')}, {load(f'{mean}[{at[0]}]')}), "
        f"cast<f32>({load(f'{weight}[{at[1]}]', dtype)}))"])
    t.say(f"copy {whole(r, 1, w)} -> {y}[{block}:1, 0:{w}]")
    t.kernel([block], [rows])
    return t.text()


def quantize(columns, dtype="bf16"):
    """scale = max |x| / 448, y = x / scale in e4m3, each row; a row of zeros has scale 1 / 448."""
    t, w = Text("quantize"), padded(columns)
    rows, block = t.var("R", "dim"), t.var("b", "block")
    x, y = t.tensor("x", dtype, [rows, columns], "in"), t.tensor("y", "e4m3", [rows, columns], "out")
    scale = t.tensor("scale", "f32", [rows], "out")
    v, top, factor = t.fragment("v", "f32", [1, w]), t.fragment("top", "f32", [1]), t.fragment("factor", "f32", [1])
    t.say(f"copy {x}[{block}:1, 0:{w}] -> {whole(v, 1, w)}")
    t.say(f"reduce absmax {whole(v, 1, w)} -> {whole(top, 1)} dim 1")
    t.parallel([1], lambda at, load: [f"store {top}[{at[0]}] = " + (lambda m: f"select(eq({m}, f32(0x0)), f32(0x3f800000), {m})")(load(f"{top}[{at[0]}]"))])
    t.parallel([1], lambda at, load: [f"store {factor}[{at[0]}] = div(f32(0x43e00000), {load(f'{top}[{at[0]}]')})"])
    t.parallel([1, w], lambda at, load: [
        f"store {v}[{at[0]}, {at[1]}] = mul({load(f'{v}[{at[0]}, {at[1]}]')}, {load(f'{factor}[{at[0]}]')})"])
    t.say(f"copy {whole(v, 1, w)} -> {y}[{block}:1, 0:{w}]")
    t.parallel([1], lambda at, load: [f"store {top}[{at[0]}] = div({load(f'{top}[{at[0]}]')}, f32(0x43e00000))"])
    t.say(f"copy {whole(top, 1)} -> {scale}[{block}:1]")
    t.kernel([block], [rows])
    return t.text()


def silu_mul(columns, width=4096, dtype="bf16"):
    """y[:, j] = silu(x[:, j]) * x[:, columns + j]; x has twice the columns of y."""
    t = Text("silu_mul")
    rows, bx, by = t.var("R", "dim"), t.var("bx", "block"), t.var("by", "block")
    x, y = t.tensor("x", dtype, [rows, 2 * columns], "in"), t.tensor("y", dtype, [rows, columns], "out")
    gate, up = t.fragment("gate", "f32", [1, width]), t.fragment("up", "f32", [1, width])
    t.say(f"copy {x}[{by}:1, mul({bx}, {width}):{width}] -> {whole(gate, 1, width)}")
    t.say(f"copy {x}[{by}:1, add(mul({bx}, {width}), {columns}):{width}] -> {whole(up, 1, width)}")

    def product(at, load):
        g = load(f"{gate}[{at[0]}, {at[1]}]")
        return [f"store {gate}[{at[0]}, {at[1]}] = mul(mul({g}, sigmoid({g})), {load(f'{up}[{at[0]}, {at[1]}]')})"]

    t.parallel([1, width], product)
    t.say(f"copy {whole(gate, 1, width)} -> {y}[{by}:1, mul({bx}, {width}):{width}]")
    t.kernel([bx, by], [str(-(-columns // width)), rows])
    return t.text()


def total(blocks, width):
    """The sum of x[R, width] in two kernels: each block adds every blocks-th row, then one block adds the parts."""
    t = Text("total")
    rows, block, one, k = t.var("R", "dim"), t.var("b", "block"), t.var("one", "block"), t.var("k", "loop")
    x, part = t.tensor("x", "f32", [rows, width], "in"), t.tensor("part", "f32", [blocks], "inout")
    out = t.tensor("out", "f32", [1], "out")
    v, acc, s = t.fragment("v", "f32", [1, width]), t.fragment("acc", "f32", [1, width]), t.fragment("s", "f32", [1])
    t.say(f"fill {whole(acc, 1, width)} = f32(0x0)")
    outer, own = t.body, t.next()
    t.body = []
    t.say(f"copy {x}[add(mul({k}, {blocks}), {block}):1, 0:{width}] -> {whole(v, 1, width)}")
    t.parallel([1, width], lambda at, load: [
        f"store {acc}[{at[0]}, {at[1]}] = add({load(f'{acc}[{at[0]}, {at[1]}]')}, {load(f'{v}[{at[0]}, {at[1]}]')})"])
    inner = "\n".join(f"  {n}: {line}" for n, line in t.body)
    t.body = outer + [(own, f"for serial {k} = 0 to div(add(sub({rows}, {block}), {blocks - 1}), {blocks}) {{\n{inner}\n  }}")]
    t.say(f"reduce sum {whole(acc, 1, width)} -> {whole(s, 1)} dim 1")
    t.say(f"copy {whole(s, 1)} -> {part}[{block}:1]")
    t.kernel([block], [str(blocks)])
    w = padded(blocks)
    p, r = t.fragment("p", "f32", [w]), t.fragment("r", "f32", [1])
    t.say(f"copy {part}[0:{w}] -> {whole(p, w)}")
    t.say(f"reduce sum {whole(p, w)} -> {whole(r, 1)} dim 0")
    t.say(f"copy {whole(r, 1)} -> {out}[{one}:1]")
    t.kernel([one], ["1"])
    return t.text()


def top_k(columns, k, rows_per_block):
    """The k greatest of each row and their places, greatest first; equal ones by place."""
    t = Text("top_k")
    rows, block = t.var("R", "dim"), t.var("b", "block")
    x = t.tensor("x", "f32", [rows, columns], "in")
    value, place = t.tensor("value", "f32", [rows, k], "out"), t.tensor("place", "i32", [rows, k], "out")
    n = rows_per_block
    v, best, at = t.fragment("v", "f32", [n, columns]), t.fragment("best", "f32", [n, k]), t.fragment("at", "i32", [n, k])
    t.say(f"copy {x}[mul({block}, {n}):{n}, 0:{columns}] -> {whole(v, n, columns)}")
    t.say(f"sort {whole(v, n, columns)} -> {whole(best, n, k)} dim 1 descending index {whole(at, n, k)}")
    t.say(f"copy {whole(best, n, k)} -> {value}[mul({block}, {n}):{n}, 0:{k}]")
    t.say(f"copy {whole(at, n, k)} -> {place}[mul({block}, {n}):{n}, 0:{k}]")
    t.kernel([block], [f"div(add({rows}, {n - 1}), {n})"])
    return t.text()


def greatest(columns, rows_per_block):
    """The greatest of each row: what reading the rows takes."""
    t, n = Text("greatest"), rows_per_block
    rows, block = t.var("R", "dim"), t.var("b", "block")
    x, y = t.tensor("x", "f32", [rows, columns], "in"), t.tensor("y", "f32", [rows], "out")
    v, top = t.fragment("v", "f32", [n, columns]), t.fragment("top", "f32", [n])
    t.say(f"copy {x}[mul({block}, {n}):{n}, 0:{columns}] -> {whole(v, n, columns)}")
    t.say(f"reduce max {whole(v, n, columns)} -> {whole(top, n)} dim 1")
    t.say(f"copy {whole(top, n)} -> {y}[mul({block}, {n}):{n}]")
    t.kernel([block], [f"div(add({rows}, {n - 1}), {n})"])
    return t.text()


def f32_bits(value):
    return f"f32({struct.unpack('<I', struct.pack('<f', value))[0]:#x})"
