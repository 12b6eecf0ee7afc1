// Handles: one reference of the library's, dropped by Close, or by the garbage collector where nobody calls it.

package tilert

// #include "shim.h"
// static void tlgo_call_count(tlgo_count f, void* p) { f(p); }
// static tlgo_count tlgo_counts(int kind, int retain) {
//   static const tlgo_count all[][2] = {
//     {tlgo_release_program, tlgo_retain_program}, {tlgo_release_context, tlgo_retain_context},
//     {tlgo_release_device, tlgo_retain_device}, {tlgo_release_kernel, tlgo_retain_kernel},
//     {tlgo_release_variant, tlgo_retain_variant}, {tlgo_release_loaded, tlgo_retain_loaded},
//     {tlgo_release_job, tlgo_retain_job}};
//   return all[kind][retain];
// }
// static void tlgo_keep(int kind, void* p) { if (p) tlgo_call_count(tlgo_counts(kind, 1), p); }
// static void tlgo_drop(int kind, void* p) { if (p) tlgo_call_count(tlgo_counts(kind, 0), p); }
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

type handleKind C.int

const (
	programHandle handleKind = iota
	contextHandle
	deviceHandle
	kernelHandle
	variantHandle
	loadedHandle
	jobHandle
)

// handle is what every handle embeds. A call takes a reference of its own for as long as it runs, so that a Close from another
// goroutine never pulls the ground from under it.
type handle struct {
	mu   sync.Mutex
	raw  unsafe.Pointer
	kind handleKind
}

// own makes owner, which embeds a handle, hold raw, whose reference becomes its own.
func own[T any](owner *T, kind handleKind, raw unsafe.Pointer) *T {
	any(owner).(interface {
		hold(handleKind, unsafe.Pointer)
	}).hold(kind, raw)
	runtime.SetFinalizer(owner, func(o *T) { any(o).(interface{ drop() }).drop() })
	return owner
}

func (h *handle) drop() {
	h.mu.Lock()
	raw := h.raw
	h.raw = nil
	h.mu.Unlock()
	C.tlgo_drop(C.int(h.kind), raw)
}

// use is the raw handle with a reference of its own, for done. nil once closed, which the library refuses.
func (h *handle) use() unsafe.Pointer {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	raw := h.raw
	C.tlgo_keep(C.int(h.kind), raw)
	h.mu.Unlock()
	return raw
}

func (h *handle) done(raw unsafe.Pointer) {
	if raw != nil {
		C.tlgo_drop(C.int(h.kind), raw)
	}
}

// Close gives the handle back. Calls that run are not disturbed, later ones are refused with InvalidArgument; what was made
// from the handle lives on. A second Close does nothing. Never an error; the result makes it an io.Closer.
func (h *handle) Close() error {
	h.drop()
	return nil
}

func closed(what string) error { return newError(InvalidArgument, "the %s is closed", what) }

func (h *handle) hold(kind handleKind, raw unsafe.Pointer) { h.kind, h.raw = kind, raw }
