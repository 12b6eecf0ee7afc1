// Programs: text, hash, parameters. Not here: interpretation (interpret.go).

package tilert

// #include "shim.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// A Program is a frozen tile program: immutable, used by any number of goroutines.
type Program struct {
	handle
	parameters []ParameterInfo
	dims       []string
}

// A ParameterInfo tells about one parameter.
type ParameterInfo struct {
	Name         string
	IsTensor     bool
	DType        DType
	Access       Access // tensors
	Rank         int    // tensors
	Alignment    int    // tensors: bytes
	PointerTable bool
}

func newProgram(raw *C.tilert_program) *Program {
	p := own(&Program{}, programHandle, unsafe.Pointer(raw))
	for i := C.uint32_t(0); i < C.tilert_program_parameter_count(raw); i++ {
		var info C.tilert_parameter_info
		info.struct_size = C.sizeof_tilert_parameter_info
		C.tilert_program_parameter(raw, i, &info)
		p.parameters = append(p.parameters, ParameterInfo{Name: C.GoString(info.name), IsTensor: info.is_tensor != 0,
			DType: DType(info.dtype), Access: Access(info.access), Rank: int(info.rank), Alignment: int(info.alignment),
			PointerTable: info.is_pointer_table != 0})
	}
	for i := C.uint32_t(0); i < C.tilert_program_dim_count(raw); i++ {
		p.dims = append(p.dims, C.GoString(C.tilert_program_dim_name(raw, i)))
	}
	runtime.KeepAlive(p)
	return p
}

// ParseOptions are what may be said of a text.
type ParseOptions struct {
	Name        string // stands for the file in messages; "": "program"
	AllowSource bool   // the text may hold inline source, device functions and source kernels, which are code
}

// Parse reads program text (.tir).
func Parse(text string, options ...ParseOptions) (*Program, error) {
	var memory arena
	defer memory.free()
	var flags C.uint32_t
	var name *C.char
	for _, o := range options {
		flags, name = flag(o.AllowSource, C.TILERT_ALLOW_SOURCE), memory.optional(o.Name)
	}
	var program *C.tilert_program
	var raw *C.tilert_error
	status := C.tilert_program_parse(memory.str(text), C.size_t(len(text)), name, flags, &program, &raw)
	if status != C.TILERT_OK {
		return nil, errorOf(status, raw)
	}
	return newProgram(program), nil
}

// Text is the program as text: Parse gives an equal program back.
func (p *Program) Text() (string, error) {
	raw := p.use()
	defer p.done(raw)
	var text *C.char
	var size C.size_t
	var e *C.tilert_error
	if status := C.tilert_program_text((*C.tilert_program)(raw), &text, &size, &e); status != C.TILERT_OK {
		return "", errorOf(status, e)
	}
	return C.GoStringN(text, C.int(size)), nil
}

// Hash is the SHA-256 of the canonical text, in hex: equal for equal programs, whatever labels, places and unused declarations
// they have.
func (p *Program) Hash() (string, error) {
	raw := p.use()
	defer p.done(raw)
	var hash *C.char
	var e *C.tilert_error
	if status := C.tilert_program_hash((*C.tilert_program)(raw), &hash, &e); status != C.TILERT_OK {
		return "", errorOf(status, e)
	}
	return C.GoString(hash), nil
}

// HasSource is whether it holds inline source or source kernels.
func (p *Program) HasSource() bool {
	raw := p.use()
	defer p.done(raw)
	return C.tilert_program_has_source((*C.tilert_program)(raw)) != 0
}

// Parameters are in the order of declaration, which is the order of a launch's arguments.
func (p *Program) Parameters() []ParameterInfo { return append([]ParameterInfo(nil), p.parameters...) }

// Dims are the names of the dims in the order of declaration.
func (p *Program) Dims() []string { return append([]string(nil), p.dims...) }
