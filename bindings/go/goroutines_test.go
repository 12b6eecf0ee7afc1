package tilert_test

// Hundreds of goroutines, without runtime.LockOSThread; Go's own signals beside the compilers.

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"tilert"
)

func TestThreeHundredGoroutinesBuildCompileAndLaunch(t *testing.T) {
	const n = 128
	c := newContext(t, tilert.ContextOptions{OnEvent: func(tilert.Event) {}})
	shared := load(t, c, scaled(t, "shared"), tilert.DeviceOptions{Threads: 1})
	x := must[*tilert.Memory](t)(tilert.AllocFor(floats(n, func(i int) float32 { return float32(i) })))
	nowhere := must[*tilert.Memory](t)(tilert.Alloc(4 * n))
	together := must[*tilert.Bound](t)(shared.Bind([]tilert.Arg{x.Arg(0), nowhere.Arg(0), tilert.Value(float32(2))}))
	work := func(g int) error {
		p := scaled(t, fmt.Sprint("own", g%7)) // as many kernels: most find theirs compiled, or wait for it
		defer p.Close()
		k, err := c.Kernel(p)
		if err != nil {
			return err
		}
		defer k.Close()
		cpu, err := c.OpenDevice(tilert.DeviceOptions{Kind: tilert.CPU, Threads: 1})
		if err != nil {
			return err
		}
		defer cpu.Close()
		l, err := k.Prepare(cpu)
		if err != nil {
			return err
		}
		defer l.Close()
		for round := 0; round < 20; round++ {
			y, factor := make([]float32, n), float32(g+round)
			if err := l.Launch(0, []tilert.Arg{tilert.Slice(tilert.View[float32](x), n), tilert.Slice(y, n), tilert.Value(factor)}); err != nil {
				return err
			}
			for i := range y {
				if y[i] != factor*float32(i) {
					return fmt.Errorf("goroutine %d: element %d is %v", g, i, y[i])
				}
			}
			if err := together.Launch(0); err != nil {
				return err
			}
		}
		return nil
	}
	var all sync.WaitGroup
	failed := make(chan error, 300)
	for g := 0; g < 300; g++ {
		all.Add(1)
		go func(g int) {
			defer all.Done()
			if err := work(g); err != nil {
				failed <- err
			}
		}(g)
	}
	all.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
}

func TestClosingBesideLaunchesEndsThemCleanly(t *testing.T) {
	const n = 64
	l := load(t, newContext(t, tilert.ContextOptions{}), scaled(t, "closing"), tilert.DeviceOptions{Threads: 1})
	for round := 0; round < 20; round++ {
		x, y := must[*tilert.Memory](t)(tilert.Alloc(4*n)), must[*tilert.Memory](t)(tilert.Alloc(4*n))
		bound := must[*tilert.Bound](t)(l.Bind([]tilert.Arg{x.Arg(n), y.Arg(n), tilert.Value(float32(2))}))
		x.Close()
		y.Close()
		var all sync.WaitGroup
		for g := 0; g < 8; g++ {
			all.Add(1)
			go func() {
				defer all.Done()
				for {
					if err := bound.Launch(0); err != nil {
						if !errors.Is(err, tilert.InvalidArgument) {
							t.Error(err)
						}
						return
					}
				}
			}()
		}
		time.Sleep(time.Millisecond)
		bound.Close()
		all.Wait()
	}
}

// The compilers below leave Go's handlers alone: signals come, a nil dereference is a panic, goroutines are preempted.
func TestSignalsAreGosAfterCompiling(t *testing.T) {
	load(t, newContext(t, tilert.ContextOptions{Cache: tilert.CacheOff}), scaled(t, "signals"), tilert.DeviceOptions{})
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGCHLD, syscall.SIGPIPE} {
		came := make(chan os.Signal, 1)
		signal.Notify(came, s)
		if err := syscall.Kill(syscall.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		select {
		case <-came:
		case <-time.After(10 * time.Second):
			t.Errorf("%v does not come", s)
		}
		signal.Stop(came)
	}
	func() {
		defer func() {
			if err, ok := recover().(error); !ok || err == nil {
				t.Error("a nil dereference is no panic")
			}
		}()
		var nothing *[4]int
		t.Log(nothing[2])
	}()
	stop := make(chan bool)
	go func() { // never calls a function: only a signal of the scheduler ends its turn
		for i := 0; ; i++ {
			if i&(1<<30-1) == 0 {
				select {
				case <-stop:
					return
				default:
				}
			}
		}
	}()
	time.Sleep(10 * time.Millisecond)
	close(stop)
}
