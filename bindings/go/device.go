// Devices: a CUDA context, an AMD GPU, this machine's CPU.

package tilert

// #include "shim.h"
import "C"

import "unsafe"

// A Device is one CUDA context, an AMD GPU, or this machine's CPU.
type Device struct {
	handle
	threads *callback
}

// DeviceKind is a kind of device.
type DeviceKind int32

// The kinds of tilert.h.
const (
	CPU  DeviceKind = C.TILERT_DEVICE_CPU
	CUDA DeviceKind = C.TILERT_DEVICE_CUDA
	HIP  DeviceKind = C.TILERT_DEVICE_HIP
)

// Binding is how a device is found.
type Binding int32

// The bindings of tilert.h. A thread's current context is that of the goroutine's thread: lock it (runtime.LockOSThread) from
// making the context current to BindCurrent; nothing else in this package needs that.
const (
	BindPrimary Binding = C.TILERT_BIND_PRIMARY // the primary context of Ordinal, or of UUID; HIP: the device Ordinal
	BindCurrent Binding = C.TILERT_BIND_CURRENT // the calling thread's current context; HIP: its current device
	BindGiven   Binding = C.TILERT_BIND_GIVEN   // CUDA: the CUcontext Native; outlives the device
)

// DeviceOptions say which device.
type DeviceOptions struct {
	Kind       DeviceKind
	Binding    Binding
	Ordinal    int
	UUID       *[16]byte // CUDA: instead of the ordinal
	Native     uintptr   // CUDA, BindGiven: a CUcontext
	Executor   Executor  // CPU: the caller's goroutines, in place of the library's pool
	Width      int       // of Executor: how many may run at once; 0: unknown
	Threads    int       // CPU: size of the library's pool; 0: by affinity and cgroup
	DriverPath string    // absolute; "": searched
}

// OpenDevice opens a device and loads its driver.
func (c *Context) OpenDevice(o DeviceOptions) (*Device, error) {
	context := c.use()
	defer c.done(context)
	var memory arena
	defer memory.free()
	raw := one[C.tilert_device_options](&memory)
	raw.struct_size = C.sizeof_tilert_device_options
	raw.kind, raw.binding, raw.ordinal = C.tilert_device_kind(o.Kind), C.tilert_binding(o.Binding), C.int32_t(o.Ordinal)
	if o.UUID != nil {
		uuid := many[C.uint8_t](&memory, 16)
		for i, x := range o.UUID {
			uuid[i] = C.uint8_t(x)
		}
		raw.uuid = first(uuid)
	}
	raw.native, raw.threads, raw.driver_path = C.tlgo_pointer(C.uintptr_t(o.Native)), C.uint32_t(o.Threads), memory.optional(o.DriverPath)
	var threads *callback
	if o.Executor != nil {
		e := &executor{run: o.Executor}
		threads = newCallback(e, &e.panics)
		x := one[C.tilert_executor](&memory)
		C.tlgo_execute(x, C.uintptr_t(threads.handle))
		x.width = C.uint32_t(o.Width)
		raw.executor = x
	}
	var device *C.tilert_device
	var e *C.tilert_error
	if status := C.tilert_device_open((*C.tilert_context)(context), raw, &device, &e); status != C.TILERT_OK {
		return nil, errorOf(status, e)
	}
	return own(&Device{threads: threads}, deviceHandle, unsafe.Pointer(device)), nil
}

// CPU opens this machine's CPU.
func (c *Context) CPU() (*Device, error) { return c.OpenDevice(DeviceOptions{Kind: CPU}) }

// CUDA opens the primary context of a CUDA device.
func (c *Context) CUDA(ordinal int) (*Device, error) {
	return c.OpenDevice(DeviceOptions{Kind: CUDA, Ordinal: ordinal})
}

// HIP opens an AMD GPU.
func (c *Context) HIP(ordinal int) (*Device, error) {
	return c.OpenDevice(DeviceOptions{Kind: HIP, Ordinal: ordinal})
}

// A DeviceClass is what the choices of the compiler may depend on.
type DeviceClass struct {
	Multiprocessors int   // CPU: threads
	SharedBytes     int64 // of a block; CPU: 0
	L2Bytes         int64
}

func (d *DeviceClass) in(a *arena) *C.tilert_device_class {
	if d == nil {
		return nil
	}
	raw := one[C.tilert_device_class](a)
	raw.struct_size = C.sizeof_tilert_device_class
	raw.multiprocessors, raw.shared_bytes, raw.l2_bytes = C.uint32_t(d.Multiprocessors), C.uint64_t(d.SharedBytes), C.uint64_t(d.L2Bytes)
	return raw
}

// A DeviceInfo tells about a device.
type DeviceInfo struct {
	Kind          DeviceKind
	Name          string
	Target        string // that kernels for it are made for: "sm_90a", "gfx942", "cpu:x86-64-v3", ...
	DriverVersion int    // CUDA: as the driver says it (12040); CPU: 0
	Ordinal       int
	Class         DeviceClass
}

// Info tells about the device.
func (d *Device) Info() (DeviceInfo, error) {
	raw := d.use()
	defer d.done(raw)
	var info C.tilert_device_info
	info.struct_size = C.sizeof_tilert_device_info
	info.device_class.struct_size = C.sizeof_tilert_device_class
	if err := errorOf(C.tilert_device_get_info((*C.tilert_device)(raw), &info), nil); err != nil {
		return DeviceInfo{}, err
	}
	return DeviceInfo{DeviceKind(info.kind), C.GoString(info.name), C.GoString(info.target), int(info.driver_version),
		int(info.ordinal), DeviceClass{int(info.device_class.multiprocessors), int64(info.device_class.shared_bytes),
			int64(info.device_class.l2_bytes)}}, nil
}

// Trim unloads what was closed, on this device, and is not pinned by a capture, and says how many. It may wait for running
// kernels.
func (d *Device) Trim() (int, error) {
	raw := d.use()
	defer d.done(raw)
	var count C.uint32_t
	var e *C.tilert_error
	status := C.tilert_trim((*C.tilert_device)(raw), &count, &e)
	return int(count), errorOf(status, e)
}
