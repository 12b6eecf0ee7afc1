// Kernels: a program for a target, with its table of variants; compiling and preparing them.

package tilert

// #include "shim.h"
import "C"

import "unsafe"

// A Kernel is a program for one target, with its table of variants.
type Kernel struct {
	handle
	program *Program
	events  *callback
}

// A DimBinding is what becomes of a dim when compiled: a value, or buckets.
type DimBinding struct {
	Name    string
	Value   int64 // where there are no Buckets
	Buckets []Bucket
}

// KernelOptions are what may be said of a kernel; the zero value is the default.
type KernelOptions struct {
	Target      string           // "sm_80", "sm_90a", "gfx942", "cpu", "cpu:x86-64-v3", ...; "": of the device prepared for
	Dims        map[string]int64 // dims that become constant
	Bindings    []DimBinding     // the same in general form; both together are all
	DeviceClass *DeviceClass     // nil: the target's default
	Debug       bool             // places in tiles are checked where they are used: see Loaded.Diagnostics
}

// Kernel makes a kernel of a program.
func (c *Context) Kernel(program *Program, options ...KernelOptions) (*Kernel, error) {
	context := c.use()
	defer c.done(context)
	p := program.use()
	defer program.done(p)
	var memory arena
	defer memory.free()
	raw := one[C.tilert_kernel_options](&memory)
	raw.struct_size = C.sizeof_tilert_kernel_options
	for _, o := range options {
		bindings := append([]DimBinding(nil), o.Bindings...)
		for name, value := range o.Dims {
			bindings = append(bindings, DimBinding{Name: name, Value: value})
		}
		dims := many[C.tilert_dim_binding](&memory, len(bindings))
		for i, d := range bindings {
			dims[i].name, dims[i].value = memory.str(d.Name), C.int64_t(d.Value)
			dims[i].buckets, dims[i].bucket_count = memory.buckets(d.Buckets), C.uint32_t(len(d.Buckets))
		}
		raw.dims, raw.dim_count = first(dims), C.uint32_t(len(dims))
		raw.target, raw.device_class = memory.optional(o.Target), o.DeviceClass.in(&memory)
		raw.flags = flag(o.Debug, C.TILERT_KERNEL_DEBUG)
	}
	var kernel *C.tilert_kernel
	var e *C.tilert_error
	status := C.tilert_kernel_create((*C.tilert_context)(context), (*C.tilert_program)(p), raw, &kernel, &e)
	if status != C.TILERT_OK {
		return nil, errorOf(status, e)
	}
	return own(&Kernel{program: program, events: c.listener()}, kernelHandle, unsafe.Pointer(kernel)), nil
}

// Program is what the kernel was made of.
func (k *Kernel) Program() *Program { return k.program }

// Compile compiles every variant, or fetches it from the cache, for the kernel's target; it needs no device. Once per process
// and key: calls at the same time share one compile.
func (k *Kernel) Compile() error {
	raw := k.use()
	defer k.done(raw)
	var e *C.tilert_error
	status := C.tilert_kernel_compile((*C.tilert_kernel)(raw), &e)
	if err := errorOf(status, e); err != nil {
		return err
	}
	return k.events.take()
}

// PrepareOptions narrow what is prepared.
type PrepareOptions struct {
	Dims []int64 // only the variants that take these, by ordinal, -1: any; nil: all variants
}

func prepareOptions(a *arena, options []PrepareOptions) *C.tilert_prepare_options {
	raw := one[C.tilert_prepare_options](a)
	raw.struct_size = C.sizeof_tilert_prepare_options
	for _, o := range options {
		dims := a.int64s(o.Dims)
		raw.dims, raw.dim_count = first(dims), C.uint32_t(len(dims))
	}
	return raw
}

func (a *arena) int64s(list []int64) []C.int64_t {
	out := many[C.int64_t](a, len(list))
	for i, v := range list {
		out[i] = C.int64_t(v)
	}
	return out
}

// Prepare compiles or fetches, loads on the device and resolves functions: afterwards a launch is one call of the driver. Again
// for the same kernel and device it gives the same again.
func (k *Kernel) Prepare(device *Device, options ...PrepareOptions) (*Loaded, error) {
	raw := k.use()
	defer k.done(raw)
	on := device.use()
	defer device.done(on)
	var memory arena
	defer memory.free()
	var loaded *C.tilert_loaded
	var e *C.tilert_error
	status := C.tilert_prepare((*C.tilert_kernel)(raw), (*C.tilert_device)(on), prepareOptions(&memory, options), &loaded, &e)
	if status != C.TILERT_OK {
		return nil, errorOf(status, e)
	}
	out := k.loaded(loaded, device)
	if err := k.events.take(); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

func (k *Kernel) loaded(raw *C.tilert_loaded, device *Device) *Loaded {
	return own(&Loaded{program: k.program, events: k.events, threads: device.threads}, loadedHandle, unsafe.Pointer(raw))
}

// Variants are the kernel's, each to be closed. They exist from creation on where the target is known.
func (k *Kernel) Variants() ([]*Variant, error) {
	raw := k.use()
	defer k.done(raw)
	kernel := (*C.tilert_kernel)(raw)
	var out []*Variant
	for i := C.uint32_t(0); i < C.tilert_kernel_variant_count(kernel); i++ {
		var variant *C.tilert_variant
		if status := C.tilert_kernel_variant(kernel, i, &variant); status != C.TILERT_OK {
			for _, v := range out {
				v.Close()
			}
			return nil, errorOf(status, nil)
		}
		out = append(out, own(&Variant{events: k.events}, variantHandle, unsafe.Pointer(variant)))
	}
	return out, nil
}
