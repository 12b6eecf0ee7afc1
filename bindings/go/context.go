// Contexts: cache, compilers, options, counters.

package tilert

// #include "shim.h"
import "C"

import (
	"time"
	"unsafe"
)

// A Context has the cache, the compilers and their options. One per process is usual, several are legal.
type Context struct {
	handle
	events *callback
}

// CacheMode is where compiled code is kept.
type CacheMode int32

// The cache modes of tilert.h.
const (
	CacheDefault  CacheMode = C.TILERT_CACHE_DEFAULT // disk, else memory where no directory will do
	CacheMemory   CacheMode = C.TILERT_CACHE_MEMORY  // this process only
	CacheOff      CacheMode = C.TILERT_CACHE_OFF     // compile each time
	CacheReadOnly CacheMode = C.TILERT_CACHE_READ_ONLY
)

// Isolate is which compiles run in a helper process.
type Isolate int32

// The isolations of tilert.h.
const (
	IsolateNever     Isolate = C.TILERT_ISOLATE_NEVER
	IsolateUntrusted Isolate = C.TILERT_ISOLATE_UNTRUSTED // those of programs that hold source text
	IsolateAlways    Isolate = C.TILERT_ISOLATE_ALWAYS
)

// ContextOptions are what may be said of a context; the zero value is the default.
type ContextOptions struct {
	AllowSource    bool // programs may hold source text
	Cache          CacheMode
	Isolate        Isolate
	CachePath      string // directory; "": TILERT_CACHE_DIR, else the user's cache directory
	CacheNamespace string // a salt of the keys
	PluginPath     string // absolute; "": beside the library
	NVRTCPath      string // absolute, a file or a folder; "": TILERT_NVRTC_PATH, else searched
	HIPRTCPath     string // absolute; "": TILERT_HIPRTC_PATH, else searched
	HelperPath     string // absolute; "": TILERT_HELPER_PATH, else tilert_compile beside the library, else in ../bin
	CompileThreads int    // of background compiles; 0: by CPUs and memory
	Seal           bool   // begin sealed
	CompileTimeout time.Duration
	// OnEvent hears what the library does, on any goroutine, several at once. A panic in it comes back from the call during
	// which it happened. The context is not collected while OnEvent refers to it: Close it.
	OnEvent func(Event)
}

// NewContext makes a context. It opens no device and starts no driver.
func NewContext(options ...ContextOptions) (*Context, error) {
	var memory arena
	defer memory.free()
	raw := one[C.tilert_context_options](&memory)
	raw.struct_size = C.sizeof_tilert_context_options
	var events *callback
	for _, o := range options {
		raw.flags = flag(o.AllowSource, C.TILERT_ALLOW_SOURCE)
		raw.cache_mode, raw.isolate = C.tilert_cache_mode(o.Cache), C.tilert_isolate(o.Isolate)
		raw.cache_path, raw.cache_namespace = memory.optional(o.CachePath), memory.optional(o.CacheNamespace)
		raw.plugin_path, raw.nvrtc_path = memory.optional(o.PluginPath), memory.optional(o.NVRTCPath)
		raw.hiprtc_path, raw.helper_path = memory.optional(o.HIPRTCPath), memory.optional(o.HelperPath)
		raw.compile_threads, raw.seal = C.uint32_t(o.CompileThreads), flag(o.Seal, 1)
		raw.compile_timeout = C.uint64_t(o.CompileTimeout.Nanoseconds())
		if o.OnEvent != nil {
			l := &listener{hear: o.OnEvent}
			events = newCallback(l, &l.panics)
			C.tlgo_listen(raw, C.uintptr_t(events.handle))
		}
	}
	var context *C.tilert_context
	var e *C.tilert_error
	if status := C.tilert_context_create(raw, &context, &e); status != C.TILERT_OK {
		return nil, errorOf(status, e)
	}
	return own(&Context{events: events}, contextHandle, unsafe.Pointer(context)), nil
}

// Close gives the context back, and what its cache still holds is written by the last that uses it.
func (c *Context) Close() error {
	c.drop()
	err := c.events.take()
	c.mu.Lock()
	c.events = nil
	c.mu.Unlock()
	return err
}

func (c *Context) listener() *callback {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events
}

// Seal says that from now on a needed compile is an error, Sealed, that names the key: "no compiles after ready".
func (c *Context) Seal() error {
	raw := c.use()
	defer c.done(raw)
	return errorOf(C.tilert_context_seal((*C.tilert_context)(raw)), nil)
}

// Stats are counters since a context's creation.
type Stats struct {
	MemoryHits, DiskHits, Misses, Compiles, CompileFailures, CompileNanoseconds uint64
	Puts, PutBytes, CacheFaults, SealedMisses, Loads                            uint64
}

// Stats reads the counters, without a lock.
func (c *Context) Stats() (Stats, error) {
	raw := c.use()
	defer c.done(raw)
	var s C.tilert_stats
	s.struct_size = C.sizeof_tilert_stats
	if err := errorOf(C.tilert_context_stats((*C.tilert_context)(raw), &s), nil); err != nil {
		return Stats{}, err
	}
	return Stats{uint64(s.memory_hits), uint64(s.disk_hits), uint64(s.misses), uint64(s.compiles), uint64(s.compile_failures),
		uint64(s.compile_nanoseconds), uint64(s.puts), uint64(s.put_bytes), uint64(s.cache_faults), uint64(s.sealed_misses),
		uint64(s.loads)}, nil
}

// Commit makes variants compiled in the background visible. The library says whether its version has such.
func (c *Context) Commit() error {
	raw := c.use()
	defer c.done(raw)
	var e *C.tilert_error
	status := C.tilert_commit((*C.tilert_context)(raw), &e)
	return errorOf(status, e)
}

// WriteBundle pins request, configuration and binary of kernels in one file. The library says whether its version has bundles.
func (c *Context) WriteBundle(path string, kernels ...*Kernel) error {
	raw := c.use()
	defer c.done(raw)
	var memory arena
	defer memory.free()
	list := many[*C.tilert_kernel](&memory, len(kernels))
	for i, k := range kernels {
		one := k.use()
		defer k.done(one)
		list[i] = (*C.tilert_kernel)(one)
	}
	var e *C.tilert_error
	status := C.tilert_bundle_write((*C.tilert_context)(raw), first(list), C.uint32_t(len(list)), memory.str(path), &e)
	return errorOf(status, e)
}

// LoadBundle takes such a file in.
func (c *Context) LoadBundle(path string) error {
	raw := c.use()
	defer c.done(raw)
	var memory arena
	defer memory.free()
	var e *C.tilert_error
	status := C.tilert_bundle_load((*C.tilert_context)(raw), memory.str(path), 0, &e)
	return errorOf(status, e)
}
