// The interpreter, and what print and assert left.

package tilert

// #include "shim.h"
import "C"

import (
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// A Diagnostic is an entry of print or assert.
type Diagnostic struct {
	Ordinal int // which print or assert of the program; 0: entries were lost, how many is Values[0]
	Block   [3]int
	Values  []uint64 // bit patterns, low bits first; signed integers sign-extended
	DTypes  []DType  // of the values
	Message string   // "gemm.go:41 'scores': x = 3"
	File    string
	Line    int
	Failed  bool // of an assertion, which did not hold
}

func diagnosticOf(entry *C.tilert_diagnostic) Diagnostic {
	d := Diagnostic{Ordinal: int(entry.ordinal), Message: C.GoString(entry.message), File: C.GoString(entry.file),
		Line: int(entry.line), Failed: entry.failed != 0}
	for i := range d.Block {
		d.Block[i] = int(entry.block[i])
	}
	n := int(entry.value_count)
	if n > 0 && entry.values != nil {
		for _, v := range unsafe.Slice(entry.values, n) {
			d.Values = append(d.Values, uint64(v))
		}
	}
	if n > 0 && entry.dtypes != nil {
		for _, t := range unsafe.Slice(entry.dtypes, n) {
			d.DTypes = append(d.DTypes, DType(t))
		}
	}
	return d
}

// Interpret runs the program on host memory with the reference interpreter: slow, exact, reports reads of what was never
// written. Of the options Dims and DimList count.
func (p *Program) Interpret(args []Arg, options ...LaunchOptions) error {
	return p.interpret(args, nil, options)
}

// InterpretDiagnosed gives what print and assert have to say to read, after the run, also where that ended in an error.
func (p *Program) InterpretDiagnosed(args []Arg, read func(Diagnostic), options ...LaunchOptions) error {
	return p.interpret(args, read, options)
}

func (p *Program) interpret(args []Arg, read func(Diagnostic), options []LaunchOptions) error {
	raw := p.use()
	defer p.done(raw)
	pack := packs.Get().(*packed)
	defer pack.giveBack()
	var o LaunchOptions
	for _, o = range options {
	}
	if err := pack.pack(p, args, &o); err != nil {
		return err
	}
	r := &reader{read: read}
	var user cgo.Handle
	if read != nil {
		user = cgo.NewHandle(r)
		defer user.Delete()
	}
	var e *C.tilert_error
	x := &pack.pointers
	status := C.tlgo_interpret((*C.tilert_program)(raw), C.uintptr_t(uintptr(unsafe.Pointer(pack.call))), C.uintptr_t(user), &e,
		x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11], x[12], x[13], x[14], x[15])
	runtime.KeepAlive(args)
	err := errorOf(status, e)
	r.again()
	return err
}

// Diagnostics reads the ring that launches with this workspace wrote, from a host copy of its first bytes
// (WorkspaceInfo.ZeroBytes are enough), made after the caller's own synchronization; on a CPU the workspace itself will do.
// It calls read for each entry before it returns, and changes nothing.
func (l *Loaded) Diagnostics(workspace []byte, read func(Diagnostic)) error {
	raw := l.use()
	defer l.done(raw)
	r := &reader{read: read}
	user := cgo.NewHandle(r)
	defer user.Delete()
	var at *C.uchar
	if len(workspace) > 0 {
		at = (*C.uchar)(unsafe.Pointer(&workspace[0]))
	}
	var e *C.tilert_error
	status := C.tlgo_diagnostics((*C.tilert_loaded)(raw), at, C.uint64_t(len(workspace)), C.uintptr_t(user), &e)
	err := errorOf(status, e)
	r.again()
	return err
}
