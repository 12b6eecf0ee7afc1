// C memory for the structs, arrays and strings of one call: cgo lets no Go memory that holds pointers go to C.

package tilert

// #include "shim.h"
import "C"

import (
	"strings"
	"unsafe"
)

const arenaChunk = 16 << 10

// An arena gives zeroed C memory, 64-byte aligned in its first piece and 16-byte aligned else, and takes it all back at once.
type arena struct {
	chunks []unsafe.Pointer
	room   []byte // of the last chunk, what is left
	used   bool
	nul    bool // a string held a NUL, which C would take for its end
}

func (a *arena) alloc(size uintptr) unsafe.Pointer {
	size = (size + 15) &^ 15
	if uintptr(len(a.room)) < size {
		n := uintptr(arenaChunk)
		if size > n {
			n = size
		}
		p := C.calloc(1, C.size_t(n))
		if p == nil {
			panic("tilert: out of memory")
		}
		a.chunks = append(a.chunks, p)
		a.room = unsafe.Slice((*byte)(p), n)
	}
	a.used = true
	p := unsafe.Pointer(&a.room[0])
	a.room = a.room[size:]
	if len(a.room) == 0 {
		a.room = nil
	}
	return p
}

// reset takes everything back and keeps one chunk, zeroed, for what comes next.
func (a *arena) reset() {
	if !a.used {
		return
	}
	for len(a.chunks) > 1 {
		C.free(a.chunks[len(a.chunks)-1])
		a.chunks = a.chunks[:len(a.chunks)-1]
		a.room = nil
	}
	first := unsafe.Slice((*byte)(a.chunks[0]), arenaChunk)
	dirty := first
	if a.room != nil {
		dirty = first[:arenaChunk-len(a.room)]
	}
	for i := range dirty {
		dirty[i] = 0
	}
	a.room, a.used = first, false
}

func (a *arena) free() {
	for _, p := range a.chunks {
		C.free(p)
	}
	*a = arena{}
}

// str is a C string; "" too.
func (a *arena) str(s string) *C.char {
	if strings.IndexByte(s, 0) >= 0 {
		a.nul = true
	}
	p := a.alloc(uintptr(len(s)) + 1)
	copy(unsafe.Slice((*byte)(p), len(s)), s)
	return (*C.char)(p)
}

// optional is a C string, NULL for "".
func (a *arena) optional(s string) *C.char {
	if s == "" {
		return nil
	}
	return a.str(s)
}

// one is a zeroed T in C memory.
func one[T any](a *arena) *T {
	var t T
	return (*T)(a.alloc(unsafe.Sizeof(t)))
}

// many is n of them; nil for none, which C sees as NULL.
func many[T any](a *arena, n int) []T {
	if n == 0 {
		return nil
	}
	var t T
	return unsafe.Slice((*T)(a.alloc(uintptr(n)*unsafe.Sizeof(t))), n)
}

// first is the address of a list in C memory, NULL for none.
func first[T any](list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

func freeFailure(failure *C.tilert_launch_failure) { C.free(unsafe.Pointer(failure)) }
