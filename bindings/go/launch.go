// Launching: at once, and bound.

package tilert

// #include "shim.h"
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Loaded is a kernel's variants, loaded in one device context; a launch picks among them.
type Loaded struct {
	handle
	program *Program
	events  *callback
	threads *callback
}

// A Stream is a CUstream or hipStream_t, used as it is; 0 is the legacy stream of the device's context. Of CPUs: 0.
type Stream uintptr

// LaunchOptions are what may be said of a launch besides its arguments. Sizes of dims that nobody gives follow from the shapes.
type LaunchOptions struct {
	Dims    map[string]int64
	DimList []int64 // by ordinal, -1: from the shapes

	Workspace Span // as Variant.Workspace says; used by one launch in flight at a time
	// Of Bind: room for so many tensor maps, kept between launches, of which one at a time may run.
	RecordEntries int

	PDL           bool // may overlap the previous grid, each kernel whose code waits for it
	Cooperative   bool // all blocks resident at once
	Priority      *int // as the driver numbers them
	MaxBlocks     int  // persistent kernels loop on at most so many blocks
	DebugPointers bool // asks the driver about each pointer: slow, and not capture-safe
}

func (p *packed) packOptions(o *LaunchOptions) {
	info := &p.call.info
	info.flags = flag(o.DebugPointers, C.TILERT_LAUNCH_DEBUG_POINTERS)
	setAddress(&info.workspace, o.Workspace.address)
	info.workspace_bytes = C.uint64_t(o.Workspace.bytes)
	attributes := many[C.tilert_launch_attribute](&p.arena, 4)
	n := 0
	set := func(wanted bool, id C.tilert_attribute_id, value int) {
		if wanted {
			attributes[n].id, attributes[n].value = id, C.int64_t(value)
			n++
		}
	}
	set(o.PDL, C.TILERT_ATTRIBUTE_PDL, 1)
	set(o.Cooperative, C.TILERT_ATTRIBUTE_COOPERATIVE, 1)
	if o.Priority != nil {
		set(true, C.TILERT_ATTRIBUTE_PRIORITY, *o.Priority)
	}
	set(o.MaxBlocks != 0, C.TILERT_ATTRIBUTE_MAX_BLOCKS, o.MaxBlocks)
	if n > 0 {
		info.attributes, info.attribute_count = &attributes[0], C.uint32_t(n)
	}
}

// Launch launches the variant that takes these dims, on the stream. It never compiles, loads or synchronizes; on a CPU it runs
// to completion. Arguments are in the order of the program's parameters. What is launched often is better bound once: Bind.
func (l *Loaded) Launch(stream Stream, args []Arg, options ...LaunchOptions) error {
	raw := l.use()
	defer l.done(raw)
	p := packs.Get().(*packed)
	defer p.giveBack()
	var o LaunchOptions
	for _, o = range options {
	}
	if err := p.pack(l.program, args, &o); err != nil {
		return err
	}
	p.packOptions(&o)
	p.call.info.loaded = (*C.tilert_loaded)(raw)
	x := &p.pointers
	err := failureOf(C.tlgo_launch_placed(C.uintptr_t(uintptr(unsafe.Pointer(p.call))), C.uintptr_t(stream), C.uintptr_t(o.Workspace.address),
		x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11], x[12], x[13], x[14], x[15]))
	runtime.KeepAlive(args)
	runtime.KeepAlive(options)
	if panicked := l.threads.take(); panicked != nil {
		return panicked
	}
	return err
}

// A Bound is a launch whose arguments are packed once: each Launch is one call into C. Any number of goroutines may launch one
// at the same time, but where it has a workspace or a record; SetPointer and SetDim are for when none does.
type Bound struct {
	call    *C.tlgo_call
	uses    atomic.Int64
	closing sync.Once
	freeing sync.Once
	raw     unsafe.Pointer // the reference to loaded
	loaded  *Loaded
	threads *callback
	memory  *packed
	held    []*Memory
	record  *Memory
}

// Added to a Bound's uses when it is closed.
const shut = -1 << 62

// Bind packs arguments for launches to come. Tensors are given by Memory.Arg or Pointer: C keeps their addresses.
func (l *Loaded) Bind(args []Arg, options ...LaunchOptions) (*Bound, error) {
	var o LaunchOptions
	for _, o = range options {
	}
	for i, a := range args {
		if a.data != nil {
			e := newError(InvalidArgument, "argument %d is a slice of Go: what is bound is kept by C, which Go allows for no memory of its own: use Alloc and Memory.Arg", i)
			e.Argument = i
			return nil, e
		}
	}
	b := &Bound{loaded: l, threads: l.threads, memory: newPacked(), raw: l.use()}
	for _, m := range append([]*Memory{o.Workspace.memory}, memoriesOf(args)...) {
		if m == nil {
			continue
		}
		if !m.hold() {
			b.free()
			return nil, closed("memory")
		}
		b.held = append(b.held, m)
	}
	err := b.memory.pack(l.program, args, &o)
	if err == nil && o.RecordEntries > 0 {
		b.record, err = Alloc(o.RecordEntries * C.TILERT_RECORD_ENTRY_BYTES)
	}
	if err != nil {
		b.free()
		return nil, err
	}
	b.memory.packOptions(&o)
	b.call = b.memory.call
	b.call.info.loaded = (*C.tilert_loaded)(b.raw)
	if b.record != nil {
		setAddress(&b.call.info.record, b.record.Address())
		b.call.info.record_bytes = C.uint64_t(b.record.bytes)
	}
	runtime.SetFinalizer(b, (*Bound).Close)
	return b, nil
}

func memoriesOf(args []Arg) []*Memory {
	out := make([]*Memory, len(args))
	for i, a := range args {
		out[i] = a.memory
	}
	return out
}

// Launch launches on the stream.
func (b *Bound) Launch(stream Stream) error {
	if b.uses.Add(1) < 0 {
		b.leave()
		return closed("bound launch")
	}
	failure := C.tlgo_launch(C.uintptr_t(uintptr(unsafe.Pointer(b.call))), C.uintptr_t(stream))
	b.leave()
	if b.threads != nil {
		if panicked := b.threads.take(); panicked != nil {
			return panicked
		}
	}
	if failure != nil {
		return failureOf(failure)
	}
	return nil
}

// repeat is the time in ns of so many launches from C, negative where one fails: what Launch is compared with.
func (b *Bound) repeat(stream Stream, count int) int64 {
	defer runtime.KeepAlive(b)
	return int64(C.tlgo_launch_repeat(C.uintptr_t(uintptr(unsafe.Pointer(b.call))), C.uintptr_t(stream), C.int64_t(count)))
}

func (b *Bound) leave() {
	if b.uses.Add(-1) == shut {
		b.free()
	}
}

// SetPointer gives an argument another address; what a Memory gave is held until Close.
func (b *Bound) SetPointer(argument int, address uintptr) error {
	if b.uses.Add(1) < 0 || argument < 0 || argument >= int(b.call.info.argument_count) {
		b.leave()
		return newError(InvalidArgument, "no argument %d, or the bound launch is closed", argument)
	}
	setAddress(&unsafe.Slice(b.call.info.arguments, b.call.info.argument_count)[argument].data, address)
	b.leave()
	return nil
}

// SetBits gives a scalar another value, as a bit pattern.
func (b *Bound) SetBits(argument int, bits uint64) error {
	if b.uses.Add(1) < 0 || argument < 0 || argument >= int(b.call.info.argument_count) {
		b.leave()
		return newError(InvalidArgument, "no argument %d, or the bound launch is closed", argument)
	}
	unsafe.Slice(b.call.info.arguments, b.call.info.argument_count)[argument].bits = C.uint64_t(bits)
	b.leave()
	return nil
}

// SetDim gives a dim another size, where Bind was given sizes at all.
func (b *Bound) SetDim(ordinal int, size int64) error {
	if b.uses.Add(1) < 0 || ordinal < 0 || ordinal >= int(b.call.info.dim_count) {
		b.leave()
		return newError(InvalidArgument, "no size of a dim %d was bound, or the bound launch is closed", ordinal)
	}
	unsafe.Slice(b.call.info.dims, b.call.info.dim_count)[ordinal] = C.int64_t(size)
	b.leave()
	return nil
}

// Close gives the bound launch up, once no launch of it runs.
func (b *Bound) Close() error {
	b.closing.Do(func() {
		if b.uses.Add(shut) == shut {
			b.free()
		}
	})
	return nil
}

func (b *Bound) free() {
	b.freeing.Do(func() {
		b.memory.free()
		b.loaded.done(b.raw)
		for _, m := range b.held {
			m.letGo()
		}
		if b.record != nil {
			b.record.Close()
		}
	})
}

// newPacked frees its C memory when the collector finds it.
func newPacked() *packed {
	p := new(packed)
	runtime.SetFinalizer(p, func(p *packed) { p.arena.free() })
	return p
}
