package tilert_test

// The host's side: launches, workspaces, diagnostics, jobs, variants, memory.

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"tilert"
)

func TestLaunchesOfSlicesAndOfBoundMemoryGiveTheSame(t *testing.T) {
	const n = 200
	l := load(t, newContext(t, tilert.ContextOptions{}), scaled(t, "scaled"), tilert.DeviceOptions{})
	x, y := floats(n, func(i int) float32 { return float32(i) }), make([]float32, n)
	args := []tilert.Arg{tilert.Slice(x, n), tilert.Slice(y, n), tilert.Value(float32(3))}
	if err := l.Launch(0, args); err != nil {
		t.Fatal(err)
	}
	_, err := l.Bind(args)
	e := expectError(t, err, tilert.InvalidArgument, "argument 0")
	if e.Argument != 0 {
		t.Error("the argument is not told")
	}
	in, out := must[*tilert.Memory](t)(tilert.AllocFor(x)), must[*tilert.Memory](t)(tilert.Alloc(4*n))
	bound := must[*tilert.Bound](t)(l.Bind([]tilert.Arg{in.Arg(), out.Arg(), tilert.Value(float32(3))},
		tilert.LaunchOptions{Dims: map[string]int64{"N": n}}))
	in.Close() // held by what is bound
	if err := bound.Launch(0); err != nil {
		t.Fatal(err)
	}
	for i := range y {
		if y[i] != 3*x[i] || tilert.View[float32](out)[i] != 3*x[i] {
			t.Fatalf("element %d: %v and %v", i, y[i], tilert.View[float32](out)[i])
		}
	}
	tilert.View[float32](out)[2] = 99
	for _, err := range []error{bound.SetBits(2, uint64(math.Float32bits(2))), bound.SetDim(0, 3), bound.SetPointer(1, out.Address()+256), bound.Launch(0)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := tilert.View[float32](out); got[2] != 99 || got[66] != 4 || got[67] != 3*67 {
		t.Errorf("%v %v after the pointer, the dim and the factor changed", got[:3], got[64:68])
	}
	expectError(t, bound.SetDim(1, 1), tilert.InvalidArgument)
	expectError(t, bound.SetPointer(3, 0), tilert.InvalidArgument)
	expectError(t, bound.SetBits(-1, 0), tilert.InvalidArgument)
	bound.Close()
	bound.Close()
	expectError(t, bound.Launch(0), tilert.InvalidArgument, "closed")
}

func TestRefusedLaunchesSayWhichArgument(t *testing.T) {
	l := load(t, newContext(t, tilert.ContextOptions{}), scaled(t, "refused"), tilert.DeviceOptions{})
	x := make([]float32, 8)
	three := tilert.Value(float32(3))
	e := expectError(t, l.Launch(0, []tilert.Arg{tilert.Slice(x, 8), tilert.Slice(x[:4], 4), three}), tilert.ShapeMismatch)
	if e.Argument != 1 {
		t.Errorf("argument %d: %v", e.Argument, e)
	}
	expectError(t, l.Launch(0, []tilert.Arg{tilert.Slice(x, 8)}), tilert.InvalidArgument)
	expectError(t, l.Launch(0, []tilert.Arg{tilert.Slice(x, 8).Strides(1, 2), tilert.Slice(x, 8), three}), tilert.ShapeMismatch, "strides")
	expectError(t, l.Launch(0, []tilert.Arg{tilert.Slice(x, 8).As(tilert.Int32), tilert.Slice(x, 8), three}), tilert.ShapeMismatch)
	expectError(t, l.Launch(0, []tilert.Arg{tilert.Slice(x), tilert.Slice(x), three},
		tilert.LaunchOptions{Dims: map[string]int64{"M": 8}}), tilert.InvalidArgument, `"M"`)
	many := make([]tilert.Arg, 17)
	for i := range many {
		many[i] = tilert.Slice(x, 8)
	}
	expectError(t, l.Launch(0, many), tilert.InvalidArgument, "16")
}

func TestClosedHandlesAreRefused(t *testing.T) {
	c := newContext(t, tilert.ContextOptions{})
	p := scaled(t, "closed")
	k := must[*tilert.Kernel](t)(c.Kernel(p, tilert.KernelOptions{Target: "cpu"}))
	variants := must[[]*tilert.Variant](t)(k.Variants())
	k.Close()
	k.Close()
	expectError(t, k.Compile(), tilert.InvalidArgument)
	if info := must[tilert.VariantInfo](t)(variants[0].Info()); info.RequestKey == "" || info.Compiled {
		t.Errorf("a variant ended with its kernel: %+v", info)
	}
	p.Close()
	_, err := p.Text()
	expectError(t, err, tilert.InvalidArgument)
	c.Close()
	_, err = c.Stats()
	expectError(t, err, tilert.InvalidArgument)
	_, err = c.CPU()
	expectError(t, err, tilert.InvalidArgument)
}

func TestVariantsTellWhatTheyAre(t *testing.T) {
	c := newContext(t, tilert.ContextOptions{})
	p := scaled(t, "told")
	k := must[*tilert.Kernel](t)(c.Kernel(p, tilert.KernelOptions{Target: "cpu", Debug: true, Bindings: []tilert.DimBinding{
		{Name: "N", Buckets: []tilert.Bucket{tilert.InRange(0, 64), tilert.MultipleOf(8)}}}}))
	if k.Program() != p {
		t.Error("the kernel is of another program")
	}
	variants := must[[]*tilert.Variant](t)(k.Variants())
	if len(variants) != 2 {
		t.Fatalf("%d variants for two buckets", len(variants))
	}
	_, err := variants[0].Binary()
	expectError(t, err, tilert.NotReady)
	if err := k.Compile(); err != nil {
		t.Fatal(err)
	}
	info := must[tilert.VariantInfo](t)(variants[0].Info())
	if !info.Compiled || info.BinaryBytes == 0 || len(must[[]byte](t)(variants[0].Binary())) != int(info.BinaryBytes) {
		t.Errorf("%+v", info)
	}
	var made map[string]any
	if err := json.Unmarshal([]byte(must[string](t)(variants[0].ExplainJSON())), &made); err != nil {
		t.Error(err)
	}
	if must[string](t)(variants[0].Explain()) == "" || must[string](t)(variants[0].Text("")) == "" || must[string](t)(variants[0].Text("specialized")) == "" {
		t.Error("nothing is told")
	}
	_, err = variants[0].Text("no such stage")
	expectError(t, err, tilert.InvalidArgument)
}

func TestDiagnosticsComeFromLaunchesAndTheInterpreter(t *testing.T) {
	b := tilert.NewBuilder("telling")
	x := b.Input("x", tilert.F32, 2)
	b.Grid1(2, nil, func(i tilert.Expr) {
		v := x.At(i).Load()
		b.Label("first").Print("x is ", v, " of {", i, "}")
		b.Assert(v.Lt(2), "too great")
	})
	p := finish(t, b)
	x2 := must[*tilert.Memory](t)(tilert.AllocFor([]float32{1.5, 2.5}))
	var told []tilert.Diagnostic
	read := func(d tilert.Diagnostic) { told = append(told, d) }
	check := func(from string) {
		t.Helper()
		failed, first := 0, 0
		for _, d := range told {
			if d.Failed {
				failed++
			} else if d.Block[0] == 0 {
				first++
				if d.Values[0] != 0x3fc00000 || d.DTypes[0] != tilert.F32 || d.Line == 0 {
					t.Errorf("%s: %+v", from, d)
				}
			}
		}
		if failed != 1 || first != 1 || len(told) != 3 {
			t.Errorf("%s: %+v", from, told)
		}
		told = nil
	}
	if err := p.InterpretDiagnosed([]tilert.Arg{x2.Arg(2)}, read); err != nil {
		t.Fatal(err)
	}
	check("interpreted")

	l := load(t, newContext(t, tilert.ContextOptions{}), p, tilert.DeviceOptions{})
	k := must[*tilert.Kernel](t)(newContext(t, tilert.ContextOptions{}).Kernel(p, tilert.KernelOptions{Target: "cpu"}))
	if err := k.Compile(); err != nil {
		t.Fatal(err)
	}
	info := must[tilert.WorkspaceInfo](t)(must[[]*tilert.Variant](t)(k.Variants())[0].Workspace())
	workspace := must[*tilert.Memory](t)(tilert.Alloc(int(info.Bytes)))
	if err := l.Launch(0, []tilert.Arg{x2.Arg(2)}, tilert.LaunchOptions{Workspace: workspace.Span()}); err != nil {
		t.Fatal(err)
	}
	if err := l.Diagnostics(workspace.Bytes()[:info.ZeroBytes], read); err != nil {
		t.Fatal(err)
	}
	check("launched")
	expectError(t, l.Diagnostics(nil, read), tilert.InvalidArgument)
}

func TestPointerTablesAndPersistentPlans(t *testing.T) {
	b := tilert.NewBuilder("table")
	e := b.Dim("E")
	w := b.Tensor("w", tilert.In, tilert.F32, tilert.Shape{e, 8}, tilert.TensorOptions{PointerTable: true})
	y := b.Output("y", tilert.F32, e, 8)
	b.Grid1(e, tilert.Persistent(), func(g tilert.Expr) {
		b.TileCost(g.Add(1), nil)
		b.Parallel1(8, func(i tilert.Expr) { y.At(g, i).Store(w.At(g, i).Add(1)) })
	})
	p := finish(t, b)
	l := load(t, newContext(t, tilert.ContextOptions{}), p, tilert.DeviceOptions{})
	parts := make([]*tilert.Memory, 3)
	for g := range parts {
		parts[g] = must[*tilert.Memory](t)(tilert.AllocFor(floats(8, func(i int) float32 { return float32(10*g + i) })))
	}
	table := must[*tilert.Memory](t)(tilert.TableOf(parts...))
	for _, m := range parts {
		m.Close() // held by the table
	}
	out := make([]float32, 24)
	if err := l.Launch(0, []tilert.Arg{table.Arg(3, 8).Table(), tilert.Slice(out, 3, 8)}); err != nil {
		t.Fatal(err)
	}
	for i, v := range out {
		if v != float32(10*(i/8)+i%8+1) {
			t.Fatalf("element %d is %v", i, v)
		}
	}
	if plan, err := l.Plan([]int64{3}, 0); err != nil || len(plan) != 0 {
		t.Errorf("a CPU plans %d bytes, %v", len(plan), err)
	}
	outMemory := must[*tilert.Memory](t)(tilert.Alloc(96))
	bound := must[*tilert.Bound](t)(l.Bind([]tilert.Arg{table.Arg(3, 8).Table(), outMemory.Arg(3, 8)}, tilert.LaunchOptions{RecordEntries: 2, MaxBlocks: 1}))
	if err := bound.PlanLaunch(0); err != nil {
		t.Error(err)
	}
	record := must[tilert.LaunchRecord](t)(bound.Export(0, 0))
	if record.KernelCount != 1 || record.Function != 0 || len(record.Parameters) == 0 || len(record.Offsets) == 0 {
		t.Errorf("%+v", record)
	}
	if err := l.Unpin(); err != nil {
		t.Error(err)
	}
}

func TestJobsPrepareInTheBackgroundAndEndWithTheirContext(t *testing.T) {
	c := newContext(t, tilert.ContextOptions{})
	cpu := must[*tilert.Device](t)(c.CPU())
	k := must[*tilert.Kernel](t)(c.Kernel(scaled(t, "job")))
	job := must[*tilert.Job](t)(k.Submit(cpu))
	limit, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l := must[*tilert.Loaded](t)(job.Wait(limit))
	if err := job.Poll(); err != nil {
		t.Error(err)
	}
	again := must[*tilert.Loaded](t)(job.Result())
	job.Close()
	l.Close()
	x := make([]float32, 64)
	if err := again.Launch(0, []tilert.Arg{tilert.Slice(x, 64), tilert.Slice(make([]float32, 64), 64), tilert.Value(float32(2))}); err != nil {
		t.Errorf("what a job made ended with the job: %v", err)
	}

	ended, end := context.WithCancel(context.Background())
	end()
	late := must[*tilert.Job](t)(must[*tilert.Kernel](t)(c.Kernel(scaled(t, "cancelled"))).Submit(cpu))
	defer late.Close()
	if _, err := late.Wait(ended); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestContextsCountSealAndRefuse(t *testing.T) {
	c := newContext(t, tilert.ContextOptions{})
	load(t, c, scaled(t, "counted"), tilert.DeviceOptions{})
	if stats := must[tilert.Stats](t)(c.Stats()); stats.Compiles != 1 || stats.Misses != 1 || stats.Loads != 1 {
		t.Errorf("%+v", stats)
	}
	if err := c.Seal(); err != nil {
		t.Fatal(err)
	}
	k := must[*tilert.Kernel](t)(c.Kernel(scaled(t, "sealed"), tilert.KernelOptions{Target: "cpu"}))
	expectError(t, k.Compile(), tilert.Sealed)
	expectError(t, c.Commit(), tilert.Unsupported)
	expectError(t, c.WriteBundle("x", k), tilert.Unsupported)
	expectError(t, c.LoadBundle("x"), tilert.Unsupported)
	_, err := c.Kernel(scaled(t, "elsewhere"), tilert.KernelOptions{Target: "sm_1"})
	expectError(t, err, tilert.Unsupported)
	_, err = c.OpenDevice(tilert.DeviceOptions{Kind: tilert.CUDA, DriverPath: "/nonexistent/libcuda.so", UUID: &[16]byte{}})
	expectError(t, err, tilert.Unavailable, "/nonexistent/libcuda.so")
	cpu := must[*tilert.Device](t)(c.CPU())
	if info := must[tilert.DeviceInfo](t)(cpu.Info()); info.Kind != tilert.CPU || info.Class.Multiprocessors == 0 {
		t.Errorf("%+v", info)
	}
	must[int](t)(cpu.Trim())
}

func TestRecommendationsComeFastestFirst(t *testing.T) {
	choices := must[[]tilert.ProductChoice](t)(tilert.RecommendProduct(tilert.Product{M: 64, N: 4096, K: 4096,
		A: tilert.BF16, B: tilert.BF16, C: tilert.BF16, TransB: true}, 5))
	if len(choices) != 5 {
		t.Fatalf("%d choices", len(choices))
	}
	for i, c := range choices {
		if c.Predicted == 0 || c.TileM == 0 || c.Path == 0 || i > 0 && c.Predicted < choices[i-1].Predicted {
			t.Errorf("%d: %+v", i, c)
		}
	}
	_, err := tilert.RecommendProduct(tilert.Product{M: 1, N: 1, K: 1, A: tilert.F32, B: tilert.F32, C: tilert.F32, Target: "cpu"}, 1)
	expectError(t, err, tilert.Unsupported)
}

func TestSixteenBitFloatsRoundHalfToEven(t *testing.T) {
	for bits := 0; bits < 1<<16; bits++ {
		if f := tilert.Float16(bits).Float32(); f == f && tilert.ToFloat16(f) != tilert.Float16(bits) {
			t.Fatalf("f16 %#x becomes %v and then %#x", bits, f, tilert.ToFloat16(f))
		}
		if f := tilert.BFloat16(bits).Float32(); f == f && tilert.ToBFloat16(f) != tilert.BFloat16(bits) {
			t.Fatalf("bf16 %#x becomes %v and then %#x", bits, f, tilert.ToBFloat16(f))
		}
	}
	for _, c := range []struct {
		x    float32
		f16  tilert.Float16
		bf16 tilert.BFloat16
	}{{1 + 0x1p-11, 0x3c00, 0x3f80}, {1 + 3*0x1p-11, 0x3c02, 0x3f80}, {65519.996, 0x7bff, 0x4780}, {65520, 0x7c00, 0x4780},
		{0x1p-25, 0, 0x3300}, {3 * 0x1p-25, 2, 0x33c0}, {-0x1.8p-25, 0x8001, 0xb340}, {1 + 0x1p-8, 0x3c04, 0x3f80}, {1 + 3*0x1p-8, 0x3c0c, 0x3f82}} {
		if tilert.ToFloat16(c.x) != c.f16 || tilert.ToBFloat16(c.x) != c.bf16 {
			t.Errorf("%v: %#x %#x", c.x, tilert.ToFloat16(c.x), tilert.ToBFloat16(c.x))
		}
	}
	nan := float32(math.NaN())
	if f := tilert.ToFloat16(nan).Float32(); f == f {
		t.Error("NaN is a number")
	}
	if f := tilert.ToBFloat16(nan).Float32(); f == f {
		t.Error("NaN is a number")
	}
}

func TestTheLibraryIsOfTheHeader(t *testing.T) {
	major, minor, patch := tilert.Version()
	if major != tilert.HeaderMajor || minor != tilert.HeaderMinor || patch != tilert.HeaderPatch {
		t.Errorf("library %d.%d.%d", major, minor, patch)
	}
	if err := tilert.Feature("gemm_of_the_future"); !errors.Is(err, tilert.InvalidArgument) {
		t.Error(err)
	}
	if err := tilert.Feature("reduce"); err != nil {
		t.Error(err)
	}
	if tilert.NotReady.String() != "NOT_READY" || tilert.Status(999).String() != "UNKNOWN" {
		t.Error("statuses have other names")
	}
}
