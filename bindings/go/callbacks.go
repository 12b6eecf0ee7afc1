// Callbacks from the library: events, diagnostics, the caller's threads. C holds a number, a cgo.Handle. A panic of a callback
// ends in Go: it comes back from the call during which it happened, as a CallbackPanic or, where the caller's own goroutine was
// in the callback, as the panic that it was.

package tilert

// #include "shim.h"
import "C"

import (
	"runtime"
	"runtime/cgo"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// EventKind is what an Event tells of.
type EventKind int32

// The events of tilert.h.
const (
	CompileBegin EventKind = C.TILERT_EVENT_COMPILE_BEGIN // also about once a second while compiling
	CompileEnd   EventKind = C.TILERT_EVENT_COMPILE_END
	CacheHit     EventKind = C.TILERT_EVENT_CACHE_HIT
	CacheMiss    EventKind = C.TILERT_EVENT_CACHE_MISS
	CacheFault   EventKind = C.TILERT_EVENT_CACHE_FAULT // the store failed and was stepped around
	Note         EventKind = C.TILERT_EVENT_NOTE        // told once: effective cache path, libraries chosen
)

// An Event is what the library tells while it works.
type Event struct {
	Kind        EventKind
	Status      Status
	Program     string // name, or ""
	Target      string
	Key         string // request key in hex, or ""
	Message     string
	Nanoseconds uint64
}

// panics keeps the first panic of callbacks until somebody asks.
type panics struct {
	mu    sync.Mutex
	first *CallbackPanic
}

// catch is deferred in every callback.
func (p *panics) catch() {
	value := recover()
	if value == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil {
		p.first = &CallbackPanic{value, debug.Stack()}
	}
}

// take is the panic, nil without one, and forgets it. p may be nil.
func (p *panics) take() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil {
		return nil
	}
	out := p.first
	p.first = nil
	return out
}

// again goes on with a panic on the goroutine that called the library.
func (p *panics) again() {
	if p.first != nil {
		panic(p.first.Value)
	}
}

// callback holds a cgo.Handle for as long as Go objects refer to it, and with them the library may call.
type callback struct {
	handle cgo.Handle
	panics *panics
}

func newCallback(value any, p *panics) *callback {
	c := &callback{cgo.NewHandle(value), p}
	runtime.SetFinalizer(c, func(c *callback) { c.handle.Delete() })
	return c
}

func (c *callback) take() error {
	if c == nil {
		return nil
	}
	return c.panics.take()
}

// listener is what a context's events go to.
type listener struct {
	panics
	hear func(Event)
}

//export tlgoEvent
func tlgoEvent(user C.uintptr_t, event *C.tilert_event) {
	l, ok := valueOf(user).(*listener)
	if !ok {
		return // of a context of which Go has let go
	}
	defer l.catch()
	l.hear(Event{EventKind(event.kind), Status(event.status), C.GoString(event.program), C.GoString(event.target),
		C.GoString(event.key), C.GoString(event.message), uint64(event.nanoseconds)})
}

// valueOf is what a handle stands for, nil where it was deleted.
func valueOf(user C.uintptr_t) (value any) {
	defer func() {
		if recover() != nil {
			value = nil
		}
	}()
	return cgo.Handle(user).Value()
}

// reader is what diagnostics go to; on the caller's goroutine.
type reader struct {
	panics
	read func(Diagnostic)
}

//export tlgoDiagnostic
func tlgoDiagnostic(user C.uintptr_t, entry *C.tilert_diagnostic) {
	r := cgo.Handle(user).Value().(*reader)
	if r.first != nil {
		return
	}
	defer r.catch()
	r.read(diagnosticOf(entry))
}

// An Executor runs body(i) for each i of 0 .. count - 1, on any goroutines, the calling one included, and returns when all are
// done. body does not return an error and does not panic.
type Executor func(count int, body func(i int))

// executor is what a CPU device's work goes to.
type executor struct {
	panics
	run Executor
}

//export tlgoParallelFor
func tlgoParallelFor(user C.uintptr_t, count C.uint32_t, body, arg C.uintptr_t) {
	e, _ := valueOf(user).(*executor)
	// The library counts on every index, once, before this returns: whatever the caller's function does, they are done here.
	state := make([]atomic.Bool, count)
	var running sync.WaitGroup
	running.Add(int(count))
	run := func(i int) {
		if i >= 0 && i < int(count) && !state[i].Swap(true) {
			defer running.Done()
			C.tlgo_body(body, arg, C.uint32_t(i))
		}
	}
	if e != nil {
		func() {
			defer e.catch()
			e.run(int(count), run)
		}()
	}
	for i := range state {
		run(i)
	}
	running.Wait()
}
