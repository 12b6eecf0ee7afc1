package tilert_test

// What a launch costs more from Go than from C: go test -bench Launch -run none. Both launch the same bound arguments of a grid
// of no blocks, in one process, in turns; the figure is the median of the differences.

import (
	"sort"
	"testing"
	"time"

	"tilert"
)

func emptyLaunch(t testing.TB) *tilert.Bound {
	l := load(t, newContext(t, tilert.ContextOptions{}), scaled(t, "empty"), tilert.DeviceOptions{Threads: 1})
	return must[*tilert.Bound](t)(l.Bind([]tilert.Arg{tilert.Pointer(0), tilert.Pointer(0), tilert.Value(float32(1))},
		tilert.LaunchOptions{Dims: map[string]int64{"N": 0}}))
}

func median(values []float64) float64 {
	sort.Float64s(values)
	return values[len(values)/2]
}

func BenchmarkLaunch(b *testing.B) {
	bound := emptyLaunch(b)
	const batch = 2000
	var fromGo, fromC, over []float64
	for round := 0; round < 201; round++ {
		c := float64(bound.Repeat(batch)) / batch
		begin := time.Now()
		for i := 0; i < batch; i++ {
			if err := bound.Launch(0); err != nil {
				b.Fatal(err)
			}
		}
		g := float64(time.Since(begin).Nanoseconds()) / batch
		fromGo, fromC, over = append(fromGo, g), append(fromC, c), append(over, g-c)
	}
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		bound.Launch(0)
	}
	b.StopTimer()
	b.ReportMetric(median(fromGo), "ns-from-Go")
	b.ReportMetric(median(fromC), "ns-from-C")
	b.ReportMetric(median(over), "ns-over-C")
}

// Unbound: arguments packed and slices of Go passed each time.
func BenchmarkLaunchOfSlices(b *testing.B) {
	l := load(b, newContext(b, tilert.ContextOptions{}), scaled(b, "empty"), tilert.DeviceOptions{Threads: 1})
	args := []tilert.Arg{tilert.Slice([]float32{}, 0), tilert.Slice([]float32{}, 0), tilert.Value(float32(1))}
	for i := 0; i < b.N; i++ {
		if err := l.Launch(0, args); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLaunchFromGoroutines(b *testing.B) {
	bound := emptyLaunch(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			bound.Launch(0)
		}
	})
}

func TestALaunchAllocatesNothing(t *testing.T) {
	bound := emptyLaunch(t)
	if n := testing.AllocsPerRun(100, func() { bound.Launch(0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
