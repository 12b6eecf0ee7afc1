// Variants: what was made of a kernel, and how. Workspaces that their launches need.

package tilert

// #include "shim.h"
import "C"

import (
	"sync"
	"unsafe"
)

// A Variant is one specialization of a kernel.
type Variant struct {
	handle
	events *callback
}

// A VariantInfo tells what a variant is. What only compiling knows is 0 or "" before.
type VariantInfo struct {
	Compiled           bool
	Target             string
	RequestKey         string // hex
	BinaryKey          string // hex
	Conditions         string // which dims it takes: "M % 8 == 0, N = 4096"
	Configuration      string // with each hint's outcome, as JSON
	Log                string // the compiler's, also on success
	CompileNanoseconds uint64 // 0: fetched
	BinaryBytes        uint64
	Registers          int // a thread; 0: unknown
	SpillBytes         int // a thread
	Threads            int // a block
	SharedBytes        int // a block
}

// Info tells what the variant is.
func (v *Variant) Info() (VariantInfo, error) {
	raw := v.use()
	defer v.done(raw)
	var i C.tilert_variant_info
	i.struct_size = C.sizeof_tilert_variant_info
	if err := errorOf(C.tilert_variant_get_info((*C.tilert_variant)(raw), &i), nil); err != nil {
		return VariantInfo{}, err
	}
	return VariantInfo{i.compiled != 0, C.GoString(i.target), C.GoString(i.request_key), C.GoString(i.binary_key),
		C.GoString(i.conditions), C.GoString(i.configuration), C.GoString(i.log), uint64(i.compile_nanoseconds),
		uint64(i.binary_bytes), int(i.registers), int(i.spill_bytes), int(i.threads), int(i.shared_bytes)}, nil
}

// Text is the generated source (stage "source", or ""), the program with its dims bound ("specialized"), or, for GPUs, the
// program after the pass of that name.
func (v *Variant) Text(stage string) (string, error) {
	raw := v.use()
	defer v.done(raw)
	var memory arena
	defer memory.free()
	var text *C.char
	var size C.size_t
	var e *C.tilert_error
	if status := C.tilert_variant_text((*C.tilert_variant)(raw), memory.optional(stage), &text, &size, &e); status != C.TILERT_OK {
		return "", errorOf(status, e)
	}
	return C.GoStringN(text, C.int(size)), nil
}

// Explain tells people how the variant was made.
func (v *Variant) Explain() (string, error) { return v.explain(C.TILERT_EXPLAIN_TEXT) }

// ExplainJSON tells tools.
func (v *Variant) ExplainJSON() (string, error) { return v.explain(C.TILERT_EXPLAIN_JSON) }

// The text lasts until the next call for the same format, through whichever handle.
var explaining sync.Mutex

func (v *Variant) explain(format C.tilert_explain_format) (string, error) {
	raw := v.use()
	defer v.done(raw)
	explaining.Lock()
	defer explaining.Unlock()
	var text *C.char
	var size C.size_t
	var e *C.tilert_error
	if status := C.tilert_variant_explain((*C.tilert_variant)(raw), format, &text, &size, &e); status != C.TILERT_OK {
		return "", errorOf(status, e)
	}
	return C.GoStringN(text, C.int(size)), nil
}

// Binary is a copy of the cubin or object of a compiled variant.
func (v *Variant) Binary() ([]byte, error) {
	raw := v.use()
	defer v.done(raw)
	var data unsafe.Pointer
	var size C.size_t
	var e *C.tilert_error
	if status := C.tilert_variant_binary((*C.tilert_variant)(raw), &data, &size, &e); status != C.TILERT_OK {
		return nil, errorOf(status, e)
	}
	return append([]byte(nil), unsafe.Slice((*byte)(data), int(size))...), nil
}

// A WorkspaceInfo is what memory a launch needs beside its arguments.
type WorkspaceInfo struct {
	Bytes, Alignment int64
	ZeroBytes        int64 // set to zero once, by the caller, before the first launch
	PlanOffset       int64 // where Loaded.Plan's list goes
	PlanBytes        int64 // its size; 0: nothing follows a list
}

// Workspace is what a launch of this compiled variant needs with dims up to these, by ordinal (-1: of a dim that has its value).
func (v *Variant) Workspace(maxDims ...int64) (WorkspaceInfo, error) {
	raw := v.use()
	defer v.done(raw)
	var memory arena
	defer memory.free()
	dims := memory.int64s(maxDims)
	var i C.tilert_workspace_info
	i.struct_size = C.sizeof_tilert_workspace_info
	var e *C.tilert_error
	status := C.tilert_workspace((*C.tilert_variant)(raw), first(dims), C.uint32_t(len(dims)), &i, &e)
	if status != C.TILERT_OK {
		return WorkspaceInfo{}, errorOf(status, e)
	}
	return WorkspaceInfo{int64(i.bytes), int64(i.alignment), int64(i.zero_bytes), int64(i.plan_offset), int64(i.plan_bytes)}, nil
}
