// Arguments of launches and of the interpreter, and how they are packed for C.

package tilert

// #include "shim.h"
import "C"

import (
	"sync"
	"unsafe"
)

// MemoryKind is where a tensor lies, as DLPack numbers it.
type MemoryKind int32

// The kinds of memory of tilert.h.
const (
	UnknownMemory     MemoryKind = C.TILERT_MEMORY_UNKNOWN
	CPUMemory         MemoryKind = C.TILERT_MEMORY_CPU
	CUDAMemory        MemoryKind = C.TILERT_MEMORY_CUDA
	CUDAHostMemory    MemoryKind = C.TILERT_MEMORY_CUDA_HOST // pinned: for kernels of both
	ROCmMemory        MemoryKind = C.TILERT_MEMORY_ROCM
	ROCmHostMemory    MemoryKind = C.TILERT_MEMORY_ROCM_HOST
	CUDAManagedMemory MemoryKind = C.TILERT_MEMORY_CUDA_MANAGED
)

// An Arg is one argument. Where it leaves dtype or shape open, they are the parameter's, and as the dims say.
type Arg struct {
	kind     C.tilert_argument_kind
	dtype    DType
	data     *C.uchar // Go memory, or any in which a slice lies
	address  uintptr  // all other
	memory   *Memory  // that address is in
	shape    []int64
	strides  []int64
	where    MemoryKind
	deviceID int
	bits     uint64
}

// Slice is a tensor in a slice, of this shape; no shape: as the dims say. For Launch and Interpret: a Bound keeps addresses,
// which Go forbids for its memory, so there use Memory.Arg. Go aligns what it allocates to the greatest power of two that divides
// its size class: slices of 16 bytes and more fit the alignment of 16 that parameters have by default, but for odd sizes below 128.
func Slice[T Element](data []T, shape ...int64) Arg {
	a := Arg{kind: C.TILERT_ARGUMENT_TENSOR, dtype: DTypeOf[T](), shape: shape, where: CPUMemory}
	if len(data) > 0 {
		a.data = (*C.uchar)(unsafe.Pointer(&data[0]))
	}
	return a
}

// Pointer is a tensor at an address: of a device, or of memory that outlives the launch. 0 is one without elements.
func Pointer(address uintptr, shape ...int64) Arg {
	return Arg{kind: C.TILERT_ARGUMENT_TENSOR, address: address, shape: shape}
}

// Arg is a tensor that starts where the memory does.
func (m *Memory) Arg(shape ...int64) Arg { return m.ArgAt(0, shape...) }

// ArgAt is one that starts so many bytes later.
func (m *Memory) ArgAt(offset int, shape ...int64) Arg {
	return Arg{kind: C.TILERT_ARGUMENT_TENSOR, address: m.Address() + uintptr(offset), memory: m, shape: shape, where: CPUMemory}
}

// Value is a scalar.
func Value[T Element](value T) Arg {
	dtype, bits := scalarOf(value)
	return ScalarBits(dtype, bits)
}

// ScalarBits is a scalar by its bit pattern, in the low bytes.
func ScalarBits(dtype DType, bits uint64) Arg {
	return Arg{kind: C.TILERT_ARGUMENT_SCALAR, dtype: dtype, bits: bits}
}

// Table makes the argument a pointer table: its shape is the number of pointers, then the sizes of each tensor.
func (a Arg) Table() Arg {
	a.kind = C.TILERT_ARGUMENT_POINTER_TABLE
	if a.data == nil && a.memory != nil {
		a.dtype = 0
	}
	return a
}

// As gives the elements another dtype: Slice(bytes).As(tilert.E4M3).
func (a Arg) As(dtype DType) Arg {
	a.dtype = dtype
	return a
}

// Strides are in elements, 0 or positive; else the tensor is row-major contiguous.
func (a Arg) Strides(strides ...int64) Arg {
	a.strides = strides
	return a
}

// On says where the tensor lies: then it is checked.
func (a Arg) On(kind MemoryKind, deviceID int) Arg {
	a.where, a.deviceID = kind, deviceID
	return a
}

// packed are arguments and dims in C memory, for one call, and the Go memory that they name.
type packed struct {
	arena
	call     *C.tlgo_call
	pointers [C.TLGO_MOST_GO_TENSORS]*C.uchar
}

var packs = sync.Pool{New: func() any { return newPacked() }}

func (p *packed) giveBack() {
	p.arena.reset()
	p.call, p.pointers = nil, [C.TLGO_MOST_GO_TENSORS]*C.uchar{}
	packs.Put(p)
}

// pack puts arguments and dims into C memory.
func (p *packed) pack(program *Program, args []Arg, o *LaunchOptions) error {
	p.call = one[C.tlgo_call](&p.arena)
	info := &p.call.info
	info.struct_size = C.sizeof_tilert_launch_info
	list := many[C.tilert_argument](&p.arena, len(args))
	for i, a := range args {
		out := &list[i]
		out.kind, out.dtype, out.bits = a.kind, C.tilert_dtype(a.dtype), C.uint64_t(a.bits)
		if a.dtype == 0 && i < len(program.parameters) {
			out.dtype = C.tilert_dtype(program.parameters[i].DType)
		}
		if len(a.strides) > 0 && len(a.strides) != len(a.shape) {
			e := newError(ShapeMismatch, "argument %d: %d strides for a shape of %d sizes", i, len(a.strides), len(a.shape))
			e.Argument = i
			return e
		}
		out.ndim = C.int32_t(len(a.shape))
		if len(a.shape) == 0 && i < len(program.parameters) {
			out.ndim = C.int32_t(program.parameters[i].Rank)
		}
		out.shape, out.strides = first(p.int64s(a.shape)), first(p.int64s(a.strides))
		out.device_type, out.device_id = C.tilert_memory(a.where), C.int32_t(a.deviceID)
		if a.data == nil {
			setAddress(&out.data, a.address)
			continue
		}
		n := p.call.placed_count
		if n == C.TLGO_MOST_GO_TENSORS {
			return newError(InvalidArgument, "more than %d tensors in slices of Go: give the others by Memory.Arg", n)
		}
		p.call.placed[n], p.pointers[n] = C.int32_t(i), a.data
		p.call.placed_count++
	}
	info.arguments, info.argument_count = first(list), C.uint32_t(len(list))
	return p.packDims(program, o)
}

func (p *packed) packDims(program *Program, o *LaunchOptions) error {
	if len(o.Dims) == 0 && o.DimList == nil {
		return nil
	}
	dims := p.int64s(o.DimList)
	if o.DimList == nil {
		dims = many[C.int64_t](&p.arena, len(program.dims))
		for i := range dims {
			dims[i] = -1
		}
	}
named:
	for name, value := range o.Dims {
		for i, known := range program.dims {
			if known == name && i < len(dims) {
				dims[i] = C.int64_t(value)
				continue named
			}
		}
		return newError(InvalidArgument, "the program has no dim %q: its dims are %q", name, program.dims)
	}
	p.call.info.dims, p.call.info.dim_count = first(dims), C.uint32_t(len(dims))
	return nil
}

// setAddress writes a number where C has a pointer.
func setAddress(at *unsafe.Pointer, address uintptr) { *(*uintptr)(unsafe.Pointer(at)) = address }
