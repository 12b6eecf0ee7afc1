// Host memory that C may keep: what Go's garbage collector gives may be named by C during a call only.

package tilert

// #include "shim.h"
// static void* tlgo_aligned(size_t alignment, size_t bytes) {
//   void* p = NULL;
//   return posix_memalign(&p, alignment, bytes ? bytes : 1) ? NULL : p;
// }
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// Memory is host memory outside of Go's heap: for tensors, workspaces and pointer tables of bound launches on a CPU.
type Memory struct {
	mu      sync.Mutex
	p       unsafe.Pointer
	bytes   int
	uses    int // by what was bound to it
	closed  bool
	entries []*Memory // of a pointer table
}

// Alloc gives zeroed memory, aligned to 256 bytes as workspaces want it, or an error, OutOfMemory.
func Alloc(bytes int) (*Memory, error) {
	if bytes < 0 {
		return nil, newError(InvalidArgument, "%d bytes of memory", bytes)
	}
	p := C.tlgo_aligned(256, C.size_t(bytes))
	if p == nil {
		return nil, newError(OutOfMemory, "no memory of %d bytes", bytes)
	}
	m := &Memory{p: p, bytes: bytes}
	for i, all := 0, m.Bytes(); i < len(all); i++ {
		all[i] = 0
	}
	runtime.SetFinalizer(m, (*Memory).Close)
	return m, nil
}

// AllocFor gives memory that holds these elements: a copy.
func AllocFor[T Element](elements []T) (*Memory, error) {
	var t T
	m, err := Alloc(len(elements) * int(unsafe.Sizeof(t)))
	if err != nil {
		return nil, err
	}
	copy(View[T](m), elements)
	return m, nil
}

// TableOf gives a table of the addresses of these, for a parameter that is a pointer table: TableOf(a, b).Arg(2, 64, 64).Table().
// It holds them: they may be closed.
func TableOf(memories ...*Memory) (*Memory, error) {
	table, err := Alloc(len(memories) * int(unsafe.Sizeof(uintptr(0))))
	if err != nil {
		return nil, err
	}
	slots := unsafe.Slice((*uintptr)(table.p), len(memories))
	for i, m := range memories {
		if m == nil {
			continue // a tensor without elements
		}
		if !m.hold() {
			table.Close()
			return nil, closed("memory")
		}
		table.entries = append(table.entries, m)
		slots[i] = m.Address()
	}
	return table, nil
}

// Bytes is the memory, until Close.
func (m *Memory) Bytes() []byte { return unsafe.Slice((*byte)(m.p), m.bytes) }

// View is the memory as elements, until Close.
func View[T Element](m *Memory) []T {
	var t T
	return unsafe.Slice((*T)(m.p), m.bytes/int(unsafe.Sizeof(t)))
}

// Address is where it lies.
func (m *Memory) Address() uintptr { return uintptr(m.p) }

// Span is all of it, as a workspace.
func (m *Memory) Span() Span { return Span{m.Address(), int64(m.bytes), m} }

// Close frees the memory, once no Bound uses it. Its slices are not to be used any more.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.free()
	return nil
}

func (m *Memory) hold() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.uses++
	return true
}

func (m *Memory) letGo() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uses--
	m.free()
}

func (m *Memory) free() {
	if !m.closed || m.uses > 0 || m.p == nil {
		return
	}
	C.free(m.p)
	m.p, m.bytes = nil, 0
	for _, entry := range m.entries {
		entry.letGo()
	}
	m.entries = nil
}

// A Span is memory by address, of a device or the host.
type Span struct {
	address uintptr
	bytes   int64
	memory  *Memory
}

// SpanAt is memory of a device, or any that outlives its use.
func SpanAt(address uintptr, bytes int64) Span { return Span{address, bytes, nil} }
