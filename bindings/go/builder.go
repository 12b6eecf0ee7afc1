// Builder: its life, places in the caller's source, declarations. Not here: what stands in a kernel (grid.go, storage.go,
// tileops.go, control.go and others).

package tilert

// #include "shim.h"
import "C"

import (
	"runtime"
	"strconv"
	"strings"
)

// A Builder builds one program. Building never fails half way: the first error sticks, later calls do nothing, and Finish
// reports it. A builder belongs to one goroutine at a time; so do the values that come from it, whose operations are calls on it.
type Builder struct {
	raw    *C.tilert_builder
	memory arena // of the call under way
	depth  int   // of calls under way: reading an element is a call inside another
	err    error // what the binding itself refused, the first
	label  string
	file   string
	line   int
	dims   int
}

// NewBuilder begins a program of this name, an identifier; "" is "program".
func NewBuilder(name string) *Builder {
	b := &Builder{}
	C.tilert_builder_create(b.memory.optional(name), &b.raw)
	b.memory.reset()
	runtime.SetFinalizer(b, (*Builder).drop)
	return b
}

// Close gives up a builder that is not to be finished; after Finish it does nothing. A builder that nobody closes is given up
// by the garbage collector.
func (b *Builder) Close() error {
	b.drop()
	return nil
}

func (b *Builder) drop() {
	C.tilert_builder_release(b.raw)
	b.raw = nil
	b.memory.free()
}

// Err is the error that sticks, nil without one: Finish tells more.
func (b *Builder) Err() error {
	if b.err != nil {
		return b.err
	}
	if status := C.tilert_builder_status(b.raw); status != C.TILERT_OK {
		return newError(Status(status), "the builder has refused a call: Finish says which")
	}
	runtime.KeepAlive(b)
	return nil
}

// Finish freezes the program. The builder is spent.
func (b *Builder) Finish() (*Program, error) {
	if b.raw == nil {
		return nil, closed("builder")
	}
	b.begin()
	var program *C.tilert_program
	var raw *C.tilert_error
	status := C.tilert_builder_finish(b.raw, &program, &raw)
	b.end()
	err := errorOf(status, raw)
	mine := b.err
	b.drop()
	if mine != nil {
		C.tilert_program_release(program)
		return nil, mine
	}
	if err != nil {
		return nil, err
	}
	return newProgram(program), nil
}

// Label names the next operation or declaration in messages.
func (b *Builder) Label(text string) *Builder {
	b.label = text
	return b
}

// begin is the start of a call: tells the library where in the caller's source it stands. False: the builder is spent, and the
// call does nothing.
func (b *Builder) begin() bool {
	if b.raw == nil {
		if b.err == nil {
			b.err = closed("builder")
		}
		return false
	}
	b.depth++
	b.file, b.line = callerPlace()
	b.tell()
	return true
}

func (b *Builder) tell() {
	C.tilert_builder_at(b.raw, b.memory.str(b.file), C.uint32_t(b.line), b.memory.optional(b.label))
}

// relabel says the label again, which an element read for a value has taken from the operation that it was meant for.
func (b *Builder) relabel() {
	if b.label != "" {
		b.tell()
	}
}

func (b *Builder) end() {
	if b.memory.nul {
		b.memory.nul = false
		b.fail(InvalidArgument, "a string holds a NUL, where the library would take it to end")
	}
	if b.depth--; b.depth == 0 {
		b.memory.reset()
		b.label = ""
	}
	runtime.KeepAlive(b)
}

// fail keeps the binding's own complaint, if it is the first.
func (b *Builder) fail(status Status, format string, values ...any) {
	if b.err != nil || b.raw == nil || C.tilert_builder_status(b.raw) != C.TILERT_OK {
		return
	}
	e := newError(status, format, values...)
	e.File, e.Line = b.file, b.line
	e.Message = b.file + ":" + strconv.Itoa(b.line) + ": " + e.Message
	b.err = e
}

// failHere is fail outside of a call.
func (b *Builder) failHere(status Status, format string, values ...any) {
	b.file, b.line = callerPlace()
	b.fail(status, format, values...)
}

// callerPlace is the line of the first caller outside this package.
func callerPlace() (string, int) {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, packagePrefix) || !more {
			return frame.File, frame.Line
		}
	}
}

var packagePrefix = func() string {
	pc, _, _, _ := runtime.Caller(0)
	name := runtime.FuncForPC(pc).Name()
	slash := strings.LastIndexByte(name, '/') + 1
	return name[:slash+strings.IndexByte(name[slash:], '.')+1]
}()

// DimOptions are what may be said of a dim besides its name.
type DimOptions struct {
	Buckets   []Bucket // a variant for each; the launch picks. A value in none is NotReady
	Divisible int64    // the caller's word: each value is a multiple of this; checked at launch. 0: 1
}

// A Bucket is a condition on a dim's value: see InRange and MultipleOf.
type Bucket struct {
	kind C.tilert_bucket_kind
	a, b int64
}

// InRange takes low to high.
func InRange(low, high int64) Bucket { return Bucket{C.TILERT_BUCKET_RANGE, low, high} }

// MultipleOf takes the multiples of n.
func MultipleOf(n int64) Bucket { return Bucket{C.TILERT_BUCKET_DIVISOR, n, 0} }

func (a *arena) buckets(list []Bucket) *C.tilert_bucket {
	out := many[C.tilert_bucket](a, len(list))
	for i, x := range list {
		out[i].kind, out[i].a, out[i].b = x.kind, C.int64_t(x.a), C.int64_t(x.b)
	}
	return first(out)
}

// Dim declares a named size, shared by the tensors that use it. Given a value when compiled it is constant, given buckets here
// or there it is bucketed, else dynamic.
func (b *Builder) Dim(name string, options ...DimOptions) Dim {
	if !b.begin() {
		return Dim{}
	}
	defer b.end()
	o := one[C.tilert_dim_options](&b.memory)
	o.struct_size = C.sizeof_tilert_dim_options
	for _, given := range options {
		o.bucket_count, o.buckets = C.uint32_t(len(given.Buckets)), b.memory.buckets(given.Buckets)
		o.divisible = C.int64_t(given.Divisible)
	}
	id := C.tilert_builder_dim(b.raw, b.memory.str(name), o)
	b.dims++
	return Dim{b.expr(C.tilert_builder_dim_value(b.raw, id)), name, b.dims - 1}
}

// Access is what a program does with a parameter.
type Access int32

// The accesses of tilert.h.
const (
	In    Access = C.TILERT_IN
	Out   Access = C.TILERT_OUT // cannot be read; elements that the program does not write keep their bytes
	InOut Access = C.TILERT_INOUT
)

// TensorOptions are what may be said of a tensor parameter besides its shape.
type TensorOptions struct {
	Strides   []any // values, in elements; nil: row-major contiguous
	Alignment int   // bytes; 0: 16
	MayAlias  bool  // may overlap other parameters that say so too
	// The first dim counts pointers, each to a tensor of the other dims, of which Strides and Alignment speak.
	PointerTable bool
}

// A Shape is a list of sizes: values, for each dim one.
type Shape []any

// Tensor declares a tensor parameter. shape holds constants and dims.
func (b *Builder) Tensor(name string, access Access, dtype DType, shape Shape, options ...TensorOptions) Tile {
	if !b.begin() {
		return Tile{}
	}
	defer b.end()
	o := one[C.tilert_tensor_options](&b.memory)
	o.struct_size = C.sizeof_tilert_tensor_options
	for _, given := range options {
		o.strides, o.stride_count = b.values(given.Strides), C.uint32_t(len(given.Strides))
		o.alignment = C.uint32_t(given.Alignment)
		o.flags = flag(given.MayAlias, C.TILERT_TENSOR_MAY_ALIAS) | flag(given.PointerTable, C.TILERT_TENSOR_POINTER_TABLE)
	}
	id := C.tilert_builder_tensor(b.raw, b.memory.str(name), C.tilert_access(access), C.tilert_dtype(dtype), b.values(shape),
		C.uint32_t(len(shape)), o)
	return b.tile(C.tilert_buffer{}, id, len(shape))
}

// Input declares a tensor that is read: b.Input("A", tilert.F16, m, 4096).
func (b *Builder) Input(name string, dtype DType, shape ...any) Tile {
	return b.Tensor(name, In, dtype, shape)
}

// Output declares a tensor that is written.
func (b *Builder) Output(name string, dtype DType, shape ...any) Tile {
	return b.Tensor(name, Out, dtype, shape)
}

// InOut declares a tensor that is read and written.
func (b *Builder) InOut(name string, dtype DType, shape ...any) Tile {
	return b.Tensor(name, InOut, dtype, shape)
}

// Scalar declares a scalar parameter, passed by value at launch.
func (b *Builder) Scalar(name string, dtype DType) Expr {
	if !b.begin() {
		return Expr{}
	}
	defer b.end()
	id := C.tilert_builder_scalar(b.raw, b.memory.str(name), C.tilert_dtype(dtype))
	return b.expr(C.tilert_builder_scalar_value(b.raw, id))
}

// Constant is a number of that dtype.
func (b *Builder) Constant(dtype DType, number any) Expr {
	if !b.begin() {
		return Expr{}
	}
	defer b.end()
	return b.expr(C.tilert_builder_cast(b.raw, C.tilert_dtype(dtype), b.value(number), 0))
}

// ConstantBits is a constant by its bit pattern, low bits first.
func (b *Builder) ConstantBits(dtype DType, bits uint64) Expr {
	if !b.begin() {
		return Expr{}
	}
	defer b.end()
	return b.expr(C.tilert_builder_constant(b.raw, C.tilert_dtype(dtype), C.uint64_t(bits)))
}

// Index is a constant of dtype index: what shapes, extents and offsets are made of. A number does as well where one of these is
// asked for.
func (b *Builder) Index(value int64) Expr {
	if !b.begin() {
		return Expr{}
	}
	defer b.end()
	return b.expr(C.tilert_builder_index(b.raw, C.int64_t(value)))
}

// flag is the bit where it is wanted.
func flag(wanted bool, bit C.uint32_t) C.uint32_t {
	if wanted {
		return bit
	}
	return 0
}
