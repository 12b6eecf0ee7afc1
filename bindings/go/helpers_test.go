package tilert_test

// What the tests share: small programs, and a machine to run them on.

import (
	"errors"
	"strings"
	"testing"

	"tilert"
)

func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func finish(t testing.TB, b *tilert.Builder) *tilert.Program {
	t.Helper()
	return must[*tilert.Program](t)(b.Finish())
}

// scaled makes y = factor x, N elements.
func scaled(t testing.TB, name string) *tilert.Program {
	b := tilert.NewBuilder(name)
	n := b.Dim("N")
	x, y := b.Input("x", tilert.F32, n), b.Output("y", tilert.F32, n)
	factor := b.Scalar("factor", tilert.F32)
	b.Grid1(n.CeilDiv(64), nil, func(block tilert.Expr) {
		tile := b.Fragment(tilert.F32, 64)
		b.Copy(x.At(block.Mul(64)), tile)
		b.Parallel1(64, func(i tilert.Expr) { tile.At(i).Store(tile.At(i).Mul(factor)) })
		b.Copy(tile, y.At(block.Mul(64)))
	})
	return finish(t, b)
}

func newContext(t testing.TB, options tilert.ContextOptions) *tilert.Context {
	t.Helper()
	if options.Cache == tilert.CacheDefault {
		options.Cache = tilert.CacheMemory
	}
	c := must[*tilert.Context](t)(tilert.NewContext(options))
	t.Cleanup(func() { c.Close() })
	return c
}

// load compiles for this machine's CPU, through the plugin beside the library.
func load(t testing.TB, c *tilert.Context, p *tilert.Program, device tilert.DeviceOptions) *tilert.Loaded {
	t.Helper()
	device.Kind = tilert.CPU
	cpu := must[*tilert.Device](t)(c.OpenDevice(device))
	t.Cleanup(func() { cpu.Close() })
	kernel := must[*tilert.Kernel](t)(c.Kernel(p))
	t.Cleanup(func() { kernel.Close() })
	loaded := must[*tilert.Loaded](t)(kernel.Prepare(cpu))
	t.Cleanup(func() { loaded.Close() })
	return loaded
}

func expectError(t testing.TB, err error, status tilert.Status, words ...string) *tilert.Error {
	t.Helper()
	if !errors.Is(err, status) {
		t.Fatalf("%v is not %v", err, status)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Fatalf("%q does not say %q", err, word)
		}
	}
	var e *tilert.Error
	if !errors.As(err, &e) {
		t.Fatalf("%T is no *tilert.Error", err)
	}
	return e
}

func floats(n int, f func(i int) float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}
