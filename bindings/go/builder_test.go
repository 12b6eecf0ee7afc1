package tilert_test

// Builders: the programs they make, and the errors that they keep.

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tilert"
)

// run interprets a program of one block that stores values to an f32 tensor of so many elements.
func run(t *testing.T, n int, body func(b *tilert.Builder, out tilert.Tile)) []float32 {
	t.Helper()
	b := tilert.NewBuilder("run")
	out := b.Output("out", tilert.F32, n)
	b.Grid1(1, nil, func(tilert.Expr) { body(b, out) })
	p := finish(t, b)
	defer p.Close()
	got := make([]float32, n)
	if err := p.Interpret([]tilert.Arg{tilert.Slice(got, int64(n))}); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestOperatorsComputeWhatTheyAreCalled(t *testing.T) {
	type op struct {
		name string
		of   func(x, y tilert.Expr) tilert.Expr // f32 7 and 2
		want float32
	}
	type expr = tilert.Expr
	f := func(e expr) expr { return e.Cast(tilert.F32) }
	ops := []op{
		{"Add", func(x, y expr) expr { return x.Add(y) }, 9}, {"Sub", func(x, y expr) expr { return x.Sub(y) }, 5},
		{"Mul", func(x, y expr) expr { return x.Mul(y) }, 14}, {"Div", func(x, y expr) expr { return x.Div(y) }, 3.5},
		{"Mod", func(x, y expr) expr { return f(x.Cast(tilert.Int32).Neg().Mod(4)) }, 1},
		{"TruncDiv", func(x, y expr) expr { return f(x.Cast(tilert.Int32).Neg().TruncDiv(2)) }, -3},
		{"TruncMod", func(x, y expr) expr { return f(x.Cast(tilert.Int32).Neg().TruncMod(4)) }, -3},
		{"CeilDiv", func(x, y expr) expr { return f(x.Cast(tilert.Index).CeilDiv(2)) }, 4},
		{"Min", func(x, y expr) expr { return x.Min(y) }, 2}, {"Max", func(x, y expr) expr { return x.Max(y) }, 7},
		{"MinNaN", func(x, y expr) expr { return x.MinNaN(y) }, 2}, {"MaxNaN", func(x, y expr) expr { return x.MaxNaN(y) }, 7},
		{"Pow", func(x, y expr) expr { return x.Pow(y).Round() }, 49},
		{"And", func(x, y expr) expr { return f(x.Cast(tilert.Int32).And(3)) }, 3},
		{"Or", func(x, y expr) expr { return f(x.Cast(tilert.Int32).Or(8)) }, 15},
		{"Xor", func(x, y expr) expr { return f(x.Cast(tilert.Int32).Xor(2)) }, 5},
		{"Shl", func(x, y expr) expr { return f(x.Cast(tilert.Int32).Shl(2)) }, 28},
		{"Shr", func(x, y expr) expr { return f(x.Cast(tilert.Int32).Neg().Shr(1)) }, -4},
		{"Eq", func(x, y expr) expr { return x.Eq(y).Select(1, x.Eq(7).Select(y, 3)) }, 2},
		{"Ne", func(x, y expr) expr { return x.Ne(y).Select(x, y) }, 7}, {"Lt", func(x, y expr) expr { return x.Lt(y).Select(x, y) }, 2},
		{"Le", func(x, y expr) expr { return x.Le(7).Select(x, y) }, 7}, {"Gt", func(x, y expr) expr { return x.Gt(y).Select(x, y) }, 7},
		{"Ge", func(x, y expr) expr { return y.Ge(2).Select(x, y) }, 7}, {"FMA", func(x, y expr) expr { return x.FMA(y, 1) }, 15},
		{"Neg", func(x, y expr) expr { return x.Neg() }, -7}, {"Not", func(x, y expr) expr { return f(x.Cast(tilert.Int32).Not()) }, -8},
		{"Abs", func(x, y expr) expr { return x.Neg().Abs() }, 7}, {"Exp", func(x, y expr) expr { return x.Sub(7).Exp() }, 1},
		{"Exp2", func(x, y expr) expr { return x.Exp2() }, 128}, {"Log", func(x, y expr) expr { return x.Sub(6).Log() }, 0},
		{"Log2", func(x, y expr) expr { return x.Add(1).Log2() }, 3}, {"Sqrt", func(x, y expr) expr { return x.Add(y).Sqrt() }, 3},
		{"Rsqrt", func(x, y expr) expr { return x.Sub(3).Rsqrt() }, 0.5}, {"Sin", func(x, y expr) expr { return x.Sub(7).Sin() }, 0},
		{"Cos", func(x, y expr) expr { return x.Sub(7).Cos() }, 1}, {"Tanh", func(x, y expr) expr { return x.Mul(10).Tanh() }, 1},
		{"Erf", func(x, y expr) expr { return x.Erf() }, 1}, {"Sigmoid", func(x, y expr) expr { return x.Sub(7).Sigmoid() }, 0.5},
		{"Floor", func(x, y expr) expr { return x.Div(y).Floor() }, 3}, {"Ceil", func(x, y expr) expr { return x.Div(y).Ceil() }, 4},
		{"Round", func(x, y expr) expr { return x.Div(y).Round() }, 4}, {"Trunc", func(x, y expr) expr { return x.Neg().Div(y).Trunc() }, -3},
		{"IsNaN", func(x, y expr) expr { return x.IsNaN().Select(x, y) }, 2}, {"IsInf", func(x, y expr) expr { return x.Div(x.Mul(0)).IsInf().Select(x, y) }, 7},
		{"IsFinite", func(x, y expr) expr { return x.IsFinite().Select(x, y) }, 7}, {"Fast", func(x, y expr) expr { return x.Div(y).Fast() }, 3.5},
		{"Reinterpret", func(x, y expr) expr { return f(x.Reinterpret(tilert.Uint32).Shr(23)) }, 129},
		{"numbers", func(x, y expr) expr { return x.Mul(tilert.Num(1).Div(4).Add(0.5).Mul(4)) }, 14},
		{"typed numbers", func(x, y expr) expr { return f(tilert.Num(7).Cast(tilert.Int8).Reinterpret(tilert.Uint8)) }, 7},
	}
	got := run(t, len(ops), func(b *tilert.Builder, out tilert.Tile) {
		x, y := b.Var(tilert.F32), b.Var(tilert.F32)
		x.Store(7)
		y.Store(2)
		for i, one := range ops {
			out.At(i).Store(one.of(x.Load(), y.Load()))
		}
	})
	for i, one := range ops {
		if got[i] != one.want {
			t.Errorf("%s gives %v, not %v", one.name, got[i], one.want)
		}
	}
}

func TestValuesKnowTheirDType(t *testing.T) {
	b := tilert.NewBuilder("types")
	defer b.Close()
	s := b.Scalar("s", tilert.F16)
	for _, c := range []struct {
		e    tilert.Expr
		want tilert.DType
	}{{s, tilert.F16}, {s.Cast(tilert.F64), tilert.F64}, {s.Lt(1), tilert.Bool}, {tilert.Num(1), 0},
		{tilert.Num(1).Cast(tilert.Int8), tilert.Int8}, {b.Index(3), tilert.Index}, {b.Constant(tilert.BF16, 2), tilert.BF16},
		{b.ConstantBits(tilert.F32, 0x3f800000), tilert.F32}} {
		if got := c.e.DType(); got != c.want {
			t.Errorf("%v, not %v", got, c.want)
		}
	}
	if tilert.BF16.String() != "bf16" || tilert.BF16.Bits() != 16 || tilert.DTypeOf[tilert.Float16]() != tilert.F16 {
		t.Error("bf16 is no longer bf16")
	}
}

func TestErrorsNameTheCallersLineAndTheLabel(t *testing.T) {
	b := tilert.NewBuilder("wrong")
	x := b.Input("x", tilert.F32, 4)
	_, file, line, _ := runtime.Caller(0)
	b.Grid1(1, nil, func(tilert.Expr) {
		b.Label("the store").Let(b.Index(1))
		b.Label("the other")
		x.At(0).Store(1)
	})
	if b.Err() == nil {
		t.Error("the builder does not know that it failed")
	}
	_, err := b.Finish()
	e := expectError(t, err, tilert.InvalidProgram, "'the other'", "x")
	if e.File != file || e.Line != line+4 {
		t.Errorf("%s:%d is blamed, not %s:%d", e.File, e.Line, filepath.Base(file), line+4)
	}
}

func TestALabelSurvivesTheReadsOfItsOperation(t *testing.T) {
	b := tilert.NewBuilder("labelled")
	x := b.Input("x", tilert.F32, 4)
	b.Grid1(1, nil, func(tilert.Expr) {
		v := b.Var(tilert.Bool)
		b.Label("reads first")
		v.Store(x.At(0)) // an f32 to a bool
	})
	_, err := b.Finish()
	expectError(t, err, tilert.InvalidProgram, "'reads first'")
}

func TestWhatIsNoValueIsRefusedByName(t *testing.T) {
	for name, build := range map[string]func(b *tilert.Builder, x tilert.Tile){
		"a string is no value":   func(b *tilert.Builder, x tilert.Tile) { b.Fill(b.Shared(tilert.F32, 4), "one") },
		"a []int is no value":    func(b *tilert.Builder, x tilert.Tile) { b.Let(b.Index(1).Add([]int{1})) },
		"a struct {} is no valu": func(b *tilert.Builder, x tilert.Tile) { x.At(struct{}{}).Load() },
		"holds a NUL":            func(b *tilert.Builder, x tilert.Tile) { b.Label("a\x00b").Let(b.Index(1)) },
		"each component has": func(b *tilert.Builder, x tilert.Tile) {
			b.Combine(tilert.Combination{Sources: []tilert.Place{x}}, pass)
		},
		"at most 3": func(b *tilert.Builder, x tilert.Tile) {
			b.SourceKernel(tilert.SourceKernel{Language: "cuda", Grid: tilert.Shape{1}, Block: tilert.Shape{1, 1, 1, 1}})
		},
	} {
		b := tilert.NewBuilder("refused")
		x := b.Input("x", tilert.F32, 4)
		b.Grid1(1, nil, func(tilert.Expr) { build(b, x) })
		_, err := b.Finish()
		e := expectError(t, err, tilert.InvalidArgument, name)
		if !strings.HasSuffix(e.File, "builder_test.go") || e.Line == 0 {
			t.Errorf("%s: no place of this file: %s:%d", name, e.File, e.Line)
		}
	}
}

func pass(left, right []tilert.Expr) []tilert.Expr { return left }

func TestValuesOfAnotherBuilderAreRefused(t *testing.T) {
	a, b := tilert.NewBuilder("a"), tilert.NewBuilder("b")
	defer a.Close()
	s := a.Scalar("s", tilert.F32)
	out := b.Output("out", tilert.F32, 1)
	b.Grid1(1, nil, func(tilert.Expr) { out.At(0).Store(s) })
	_, err := b.Finish()
	expectError(t, err, tilert.InvalidArgument, "builder")
}

func TestASpentBuilderRefuses(t *testing.T) {
	b := tilert.NewBuilder("spent")
	out := b.Output("out", tilert.F32, 1)
	b.Grid1(1, nil, func(tilert.Expr) { out.At(0).Store(1) })
	finish(t, b).Close()
	out.At(0).Store(2)
	b.Grid1(1, nil, func(tilert.Expr) {})
	_, err := b.Finish()
	expectError(t, err, tilert.InvalidArgument, "closed")
	b.Close()
}

func TestTheZeroValuesOfPlacesAndValuesAreRefused(t *testing.T) {
	b := tilert.NewBuilder("zero")
	b.Grid1(1, nil, func(tilert.Expr) {
		var r tilert.Region
		r.Store(1)
		r.Atomic(tilert.AtomicAdd, 1)
		r.AtomicStore(1)
		b.Copy(tilert.Tile{}, nil)
		b.Let(tilert.Expr{}.Add(r))
	})
	if _, err := b.Finish(); err == nil {
		t.Error("a program of nothing")
	}
}

func TestControlRunsItsBodiesAsTheySay(t *testing.T) {
	got := run(t, 8, func(b *tilert.Builder, out tilert.Tile) {
		sum := b.Var(tilert.Int32)
		put := func(at int) {
			out.At(at).Store(sum.Cast(tilert.F32))
			sum.Store(0)
		}
		sum.Store(0)
		b.Serial(4, func(i tilert.Expr) { sum.Store(sum.Add(i.Cast(tilert.Int32))) })
		put(0)
		b.SerialRange(10, 0, -3, func(i tilert.Expr) { sum.Store(sum.Add(i.Cast(tilert.Int32))) })
		put(1)
		b.UnrollRange(1, 4, 2, func(i tilert.Expr) { sum.Store(sum.Add(i.Cast(tilert.Int32))) })
		put(2)
		b.While(func() any { return sum.Lt(5) }, func() { sum.Store(sum.Add(2)) })
		put(3)
		b.Pipelined(3, 1, func(i tilert.Expr) { sum.Store(sum.Add(1)) })
		put(4)
		b.IfElse(sum.Eq(0), func() { sum.Store(8) }, func() { sum.Store(9) })
		put(5)
		cube := b.Local(tilert.Int32, 2, 2, 2)
		b.Parallel3(2, 2, 2, func(i, j, k tilert.Expr) { cube.At(i, j, k).Store(i.Mul(4).Add(j.Mul(2)).Add(k).Cast(tilert.Int32)) })
		sum.Store(cube.At(1, 0, 1))
		put(6)
		out.At(7).Store(tilert.ToFloat16(0.5))
	})
	for i, want := range []float32{6, 22, 4, 6, 3, 8, 5, 0.5} {
		if got[i] != want {
			t.Errorf("%d: %v, not %v", i, got[i], want)
		}
	}
}

func TestTextGoesThereAndBack(t *testing.T) {
	p := scaled(t, "there")
	text := must[string](t)(p.Text())
	again := must[*tilert.Program](t)(tilert.Parse(text, tilert.ParseOptions{Name: "there.tir"}))
	if must[string](t)(again.Hash()) != must[string](t)(p.Hash()) || again.HasSource() {
		t.Error("another program came back")
	}
	params, dims := again.Parameters(), again.Dims()
	if len(params) != 3 || params[0].Name != "x" || params[1].Access != tilert.Out || params[2].IsTensor || dims[0] != "N" {
		t.Errorf("%+v %v", params, dims)
	}
	_, err := tilert.Parse(strings.Replace(text, "copy", "cpoy", 1), tilert.ParseOptions{Name: "there.tir"})
	e := expectError(t, err, tilert.InvalidProgram)
	if e.File != "there.tir" || e.Line < 2 {
		t.Errorf("%q: %s:%d", e.Message, e.File, e.Line)
	}
}
