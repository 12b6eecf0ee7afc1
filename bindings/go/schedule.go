// What goes with launches: planned schedules, graph nodes, pins.

package tilert

// #include "shim.h"
import "C"

import "unsafe"

// Plan is a planned schedule of the persistent kernel that has a tile cost, for launches with these dims (by ordinal), and at most
// maxBlocks blocks (0: as many as fit): copy it to WorkspaceInfo.PlanOffset of the workspace. Empty: nothing follows a plan here.
func (l *Loaded) Plan(dims []int64, maxBlocks int) ([]byte, error) {
	raw := l.use()
	defer l.done(raw)
	var memory arena
	defer memory.free()
	list := memory.int64s(dims)
	var bytes C.uint64_t
	var e *C.tilert_error
	plan := func(buffer unsafe.Pointer) C.tilert_status {
		return C.tilert_plan((*C.tilert_loaded)(raw), first(list), C.uint32_t(len(list)), C.uint32_t(maxBlocks), buffer, &bytes, &e)
	}
	if status := plan(nil); status != C.TILERT_OK || bytes == 0 {
		return nil, errorOf(status, e)
	}
	buffer := many[byte](&memory, int(bytes))
	if status := plan(unsafe.Pointer(&buffer[0])); status != C.TILERT_OK {
		return nil, errorOf(status, e)
	}
	return append([]byte(nil), buffer[:bytes]...), nil
}

// PlanLaunch plans by a kernel, on the stream, into the workspace, for launches of this Bound.
func (b *Bound) PlanLaunch(stream Stream) error {
	if b.uses.Add(1) < 0 {
		b.leave()
		return closed("bound launch")
	}
	defer b.leave()
	return failureOf(C.tlgo_plan_launch(C.uintptr_t(uintptr(unsafe.Pointer(b.call))), C.uintptr_t(stream)))
}

// A LaunchRecord is what a launch would hand to the driver, for a host that builds its own graph nodes.
type LaunchRecord struct {
	Function             uintptr // CUfunction; CPU: 0
	Grid, Block, Cluster [3]int
	SharedBytes          int
	KernelCount          int // of the program
	Parameters           []byte
	Offsets              []int // of the parameters in it
}

// Export gives it for one of the program's kernels, and pins the Loaded as a captured launch does.
func (b *Bound) Export(stream Stream, kernel int) (LaunchRecord, error) {
	if b.uses.Add(1) < 0 {
		b.leave()
		return LaunchRecord{}, closed("bound launch")
	}
	defer b.leave()
	var memory arena
	defer memory.free()
	call := C.uintptr_t(uintptr(unsafe.Pointer(b.call)))
	r := one[C.tilert_launch_record](&memory)
	r.struct_size, r.kernel_index = C.sizeof_tilert_launch_record, C.uint32_t(kernel)
	if err := failureOf(C.tlgo_launch_export(call, C.uintptr_t(stream), r)); err != nil {
		return LaunchRecord{}, err
	}
	parameters, err := Alloc(int(r.parameter_bytes))
	if err != nil {
		return LaunchRecord{}, err
	}
	defer parameters.Close()
	offsets := many[C.uint32_t](&memory, int(r.parameter_count))
	r.parameters, r.parameter_offsets, r.parameter_offset_count = parameters.p, first(offsets), r.parameter_count
	if err := failureOf(C.tlgo_launch_export(call, C.uintptr_t(stream), r)); err != nil {
		return LaunchRecord{}, err
	}
	out := LaunchRecord{Function: uintptr(C.tlgo_address(r.function)), SharedBytes: int(r.shared_bytes), KernelCount: int(r.kernel_count),
		Parameters: append([]byte(nil), parameters.Bytes()...)}
	for i := 0; i < 3; i++ {
		out.Grid[i], out.Block[i], out.Cluster[i] = int(r.grid[i]), int(r.block[i]), int(r.cluster[i])
	}
	for _, offset := range offsets {
		out.Offsets = append(out.Offsets, int(offset))
	}
	return out, nil
}

// Unpin is the caller's word that no captured graph remains that launches this.
func (l *Loaded) Unpin() error {
	raw := l.use()
	defer l.done(raw)
	var e *C.tilert_error
	status := C.tilert_unpin((*C.tilert_loaded)(raw), &e)
	return errorOf(status, e)
}
