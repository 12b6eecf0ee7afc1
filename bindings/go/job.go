// Preparing in the background.

package tilert

// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"sync"
	"time"
	"unsafe"
)

// A Job is a Prepare in the background: the library's own where its version has such, else a goroutine's.
type Job struct {
	handle // empty where a goroutine works
	kernel *Kernel
	device *Device

	state     sync.Mutex
	finished  chan struct{} // closed at the goroutine's end
	result    *Loaded
	err       error
	cancelled bool
	taken     bool
}

// Submit begins to prepare, and returns.
func (k *Kernel) Submit(device *Device, options ...PrepareOptions) (*Job, error) {
	raw := k.use()
	defer k.done(raw)
	on := device.use()
	defer device.done(on)
	var memory arena
	defer memory.free()
	var job *C.tilert_job
	var e *C.tilert_error
	status := C.tilert_prepare_submit((*C.tilert_kernel)(raw), (*C.tilert_device)(on), prepareOptions(&memory, options), &job, &e)
	out := &Job{kernel: k, device: device}
	switch err := errorOf(status, e); {
	case err == nil:
		return own(out, jobHandle, unsafe.Pointer(job)), nil
	case !errors.Is(err, Unsupported):
		return nil, err
	}
	out.finished = make(chan struct{})
	go func() {
		loaded, err := k.Prepare(device, options...)
		out.state.Lock()
		defer out.state.Unlock()
		if out.cancelled && loaded != nil {
			loaded.Close()
			loaded, err = nil, newError(Cancelled, "preparing was cancelled")
		}
		out.result, out.err = loaded, err
		close(out.finished)
	}()
	return out, nil
}

// Poll is nil when done, NotReady while it runs, else why it failed.
func (j *Job) Poll() error {
	if j.finished != nil {
		select {
		case <-j.finished:
			return j.err
		default:
			return newError(NotReady, "the job still runs")
		}
	}
	raw := j.use()
	defer j.done(raw)
	return j.outcome(C.tilert_job_poll((*C.tilert_job)(raw)))
}

// outcome asks for the whole error of a job that failed.
func (j *Job) outcome(status C.tilert_status) error {
	switch status {
	case C.TILERT_OK, C.TILERT_NOT_READY, C.TILERT_TIMEOUT, C.TILERT_CANCELLED, C.TILERT_INVALID_ARGUMENT:
		return errorOf(status, nil)
	}
	raw := j.use()
	defer j.done(raw)
	var loaded *C.tilert_loaded
	var e *C.tilert_error
	if again := C.tilert_job_result((*C.tilert_job)(raw), &loaded, &e); again != C.TILERT_OK {
		return errorOf(again, e)
	}
	C.tilert_loaded_release(loaded)
	return errorOf(status, nil)
}

// Wait waits for the end, and gives what was prepared, or why not. When ctx ends first the job is cancelled, and Wait returns
// ctx's error.
func (j *Job) Wait(ctx context.Context) (*Loaded, error) {
	if j.finished != nil {
		select {
		case <-j.finished:
			return j.Result()
		case <-ctx.Done():
			j.Cancel()
			return nil, ctx.Err()
		}
	}
	for {
		raw := j.use()
		status := C.tilert_job_wait((*C.tilert_job)(raw), C.uint64_t(20*time.Millisecond))
		j.done(raw)
		if status != C.TILERT_TIMEOUT {
			return j.Result()
		}
		if err := ctx.Err(); err != nil {
			j.Cancel()
			return nil, err
		}
	}
}

// Cancel asks: the job ends as Cancelled or as it would have.
func (j *Job) Cancel() {
	if j.finished != nil {
		j.state.Lock()
		defer j.state.Unlock()
		j.cancelled = true
		return
	}
	raw := j.use()
	defer j.done(raw)
	C.tilert_job_cancel((*C.tilert_job)(raw))
}

// Result is what a job that is done made, each time another handle of it.
func (j *Job) Result() (*Loaded, error) {
	if j.finished != nil {
		if err := j.Poll(); err != nil {
			return nil, err
		}
		j.state.Lock()
		defer j.state.Unlock()
		raw := j.result.use() // the reference becomes the new handle's
		if raw == nil {
			return nil, closed("job")
		}
		return j.kernel.loaded((*C.tilert_loaded)(raw), j.device), nil
	}
	raw := j.use()
	defer j.done(raw)
	var loaded *C.tilert_loaded
	var e *C.tilert_error
	if status := C.tilert_job_result((*C.tilert_job)(raw), &loaded, &e); status != C.TILERT_OK {
		return nil, errorOf(status, e)
	}
	return j.kernel.loaded(loaded, j.device), nil
}

// Close gives the job up; what it is about to make is dropped.
func (j *Job) Close() error {
	j.Cancel()
	j.drop()
	if j.finished != nil {
		j.state.Lock()
		defer j.state.Unlock()
		if j.result != nil {
			j.result.Close()
		}
	}
	return nil
}
