package tilert_test

// Callbacks: what is heard, on whose goroutines, and that a panic never unwinds through C.

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tilert"
)

func TestEventsAreHeard(t *testing.T) {
	var mu sync.Mutex
	heard := map[tilert.EventKind]int{}
	c := newContext(t, tilert.ContextOptions{OnEvent: func(e tilert.Event) {
		mu.Lock()
		defer mu.Unlock()
		heard[e.Kind]++
		if e.Kind == tilert.CompileEnd && (e.Program != "heard" || e.Key == "" || !strings.HasPrefix(e.Target, "cpu")) {
			t.Errorf("%+v", e)
		}
	}})
	load(t, c, scaled(t, "heard"), tilert.DeviceOptions{})
	mu.Lock()
	defer mu.Unlock()
	if heard[tilert.CompileBegin] == 0 || heard[tilert.CompileEnd] != 1 {
		t.Errorf("%v", heard)
	}
}

var errMine = errors.New("mine")

func TestAPanicOfAnEventIsTheCallsError(t *testing.T) {
	c := newContext(t, tilert.ContextOptions{OnEvent: func(e tilert.Event) {
		if e.Kind == tilert.CompileEnd {
			panic(errMine)
		}
	}})
	k := must[*tilert.Kernel](t)(c.Kernel(scaled(t, "panics"), tilert.KernelOptions{Target: "cpu"}))
	err := k.Compile()
	var panicked *tilert.CallbackPanic
	if !errors.As(err, &panicked) || !errors.Is(err, errMine) || !strings.Contains(string(panicked.Stack), "callbacks_test.go") {
		t.Fatalf("%v", err)
	}
	if err := k.Compile(); err != nil {
		t.Errorf("the panic is told again: %v", err)
	}
}

func TestAPanicOfAReaderGoesOnOnItsGoroutine(t *testing.T) {
	b := tilert.NewBuilder("told")
	b.Grid1(4, nil, func(i tilert.Expr) { b.Print("block ", i) })
	p := finish(t, b)
	calls := 0
	defer func() {
		if recover() != errMine || calls != 1 {
			t.Errorf("another panic, or %d calls", calls)
		}
		if err := p.Interpret(nil); err != nil {
			t.Error(err)
		}
	}()
	p.InterpretDiagnosed(nil, func(tilert.Diagnostic) {
		calls++
		panic(errMine)
	})
}

// onExecutor runs scaled over 1000 elements by this executor and gives what is wrong with the result.
func onExecutor(t *testing.T, executor tilert.Executor) (wrong int, err error) {
	const n = 1000
	l := load(t, newContext(t, tilert.ContextOptions{}), scaled(t, "executed"), tilert.DeviceOptions{Executor: executor, Width: 4})
	x, y := floats(n, func(i int) float32 { return float32(i) }), make([]float32, n)
	err = l.Launch(0, []tilert.Arg{tilert.Slice(x, n), tilert.Slice(y, n), tilert.Value(float32(2))})
	for i := range y {
		if y[i] != 2*x[i] {
			wrong++
		}
	}
	return wrong, err
}

func TestExecutorsRunEachIndexOnceWhateverTheyDo(t *testing.T) {
	var calls atomic.Int64
	for name, executor := range map[string]tilert.Executor{
		"goroutines": func(count int, body func(int)) {
			calls.Add(1)
			var all sync.WaitGroup
			for i := 0; i < count; i++ {
				all.Add(1)
				go func(i int) { defer all.Done(); body(i) }(i)
			}
			all.Wait()
		},
		"twice and beyond": func(count int, body func(int)) {
			for i := -1; i <= count; i++ {
				body(i)
				body(i)
			}
		},
		"none": func(int, func(int)) {},
		"late": func(count int, body func(int)) {
			for i := 0; i < count; i++ {
				go body(i)
			}
		},
	} {
		if wrong, err := onExecutor(t, executor); wrong != 0 || err != nil {
			t.Errorf("%s: %d wrong, %v", name, wrong, err)
		}
	}
	if calls.Load() == 0 {
		t.Error("the executor was not asked")
	}
	wrong, err := onExecutor(t, func(count int, body func(int)) {
		body(0)
		panic(errMine)
	})
	if !errors.Is(err, errMine) || wrong != 0 {
		t.Errorf("%d wrong, %v", wrong, err)
	}
}

// What nobody closes is collected, with the closures that the library could call.
func TestTheCollectorClosesWhatNobodyDoes(t *testing.T) {
	var gone atomic.Int64
	func() {
		for i := 0; i < 8; i++ {
			type marker struct{ bytes [64]byte }
			m := &marker{}
			runtime.SetFinalizer(m, func(*marker) { gone.Add(1) })
			c := must[*tilert.Context](t)(tilert.NewContext(tilert.ContextOptions{Cache: tilert.CacheMemory,
				OnEvent: func(tilert.Event) { m.bytes[0]++ }}))
			must[*tilert.Kernel](t)(c.Kernel(scaled(t, "left"), tilert.KernelOptions{Target: "cpu"}))
			tilert.NewBuilder("left").Dim("N")
			must[*tilert.Memory](t)(tilert.Alloc(1 << 20))
		}
	}()
	for i := 0; i < 100 && gone.Load() < 7; i++ {
		runtime.GC()
		runtime.Gosched()
	}
	if gone.Load() < 7 {
		t.Errorf("only %d of 8 contexts let go of their closures", gone.Load())
	}
}
