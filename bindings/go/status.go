// Statuses and errors. Not here: who returns them.

package tilert

// #include "shim.h"
import "C"

import (
	"fmt"
	"strconv"
	"strings"
)

// A Status says of what kind a failure is. It is an error itself, so that errors.Is(err, tilert.NotReady) asks whether any
// error of a chain has this status.
type Status int32

// The statuses of tilert.h.
const (
	OK              Status = C.TILERT_OK
	InvalidArgument Status = C.TILERT_INVALID_ARGUMENT // a closed handle, a wrong count, a value out of its range
	InvalidProgram  Status = C.TILERT_INVALID_PROGRAM  // the tile program is wrong: the message names operation, label, file and line
	Unsupported     Status = C.TILERT_UNSUPPORTED      // valid, but refused by this version or target: the message names the alternative
	Unavailable     Status = C.TILERT_UNAVAILABLE      // a device, driver, compiler or plugin is not there
	NotReady        Status = C.TILERT_NOT_READY        // no loaded variant takes these dims, or a job still runs
	Alignment       Status = C.TILERT_ALIGNMENT        // a pointer is not aligned as the variant needs
	ShapeMismatch   Status = C.TILERT_SHAPE            // dims, strides, rank or dtype of an argument do not fit
	OutOfMemory     Status = C.TILERT_OUT_OF_MEMORY
	DriverFailure   Status = C.TILERT_DRIVER    // the device driver failed: the message holds its code and name
	CompileFailure  Status = C.TILERT_COMPILE   // the compiler below refused the source: Error.Source and Error.Log hold both
	Forked          Status = C.TILERT_FORKED    // a handle made before fork was used in the child
	Sealed          Status = C.TILERT_SEALED    // a compile was needed after Context.Seal
	Timeout         Status = C.TILERT_TIMEOUT   //
	Cancelled       Status = C.TILERT_CANCELLED //
	SourceRefused   Status = C.TILERT_SOURCE_REFUSED
	Corrupt         Status = C.TILERT_CORRUPT
	Internal        Status = C.TILERT_INTERNAL // our own fault: the message asks for the dump
)

// String is the status's name, as "NOT_READY"; "UNKNOWN" for a value that is none.
func (s Status) String() string { return C.GoString(C.tilert_status_name(C.tilert_status(s))) }

// Error makes a Status an error.
func (s Status) Error() string { return "tilert: " + s.String() }

// An Error is what failed. Get at it with errors.As; ask for its kind with errors.Is and a Status.
type Error struct {
	Status  Status
	Message string // complete in itself, one or more lines
	Source  string // generated source that a compiler refused, else ""
	Log     string // that compiler's words, else ""

	// Where in the program's source, as the builder was told or the text has it; "" and 0 where no place is to blame.
	File string
	Line int

	// Of a launch: which argument, which dim, and the driver's code; -1, -1 and 0 where there is none.
	Argument, Dim, DriverCode int
}

// Error is the status and the message.
func (e *Error) Error() string { return "tilert: " + e.Status.String() + ": " + e.Message }

// Is whether target is the error's Status.
func (e *Error) Is(target error) bool {
	status, ok := target.(Status)
	return ok && status == e.Status
}

// A CallbackPanic is the panic of a callback that the library called: it ended there, and the call during which it happened
// returns it.
type CallbackPanic struct {
	Value any    // of the panic
	Stack []byte // of the goroutine that panicked
}

func (p *CallbackPanic) Error() string {
	return fmt.Sprintf("tilert: a callback panicked: %v", p.Value)
}

// Unwrap gives the panic's value where that was an error.
func (p *CallbackPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

func newError(status Status, format string, values ...any) *Error {
	return (&Error{Status: status, Message: fmt.Sprintf(format, values...), Argument: -1, Dim: -1}).locate()
}

// locate finds the place that the message starts with: "gemm.go:41 'scores': ...", or "gemm.tir:3: ...".
func (e *Error) locate() *Error {
	line, _, _ := strings.Cut(e.Message, "\n")
	for from := 0; ; {
		colon := strings.IndexByte(line[from:], ':')
		if colon < 1 {
			return e
		}
		colon += from
		end := colon + 1
		for end < len(line) && line[end] >= '0' && line[end] <= '9' {
			end++
		}
		if end > colon+1 {
			if n, err := strconv.Atoi(line[colon+1 : end]); err == nil && !strings.Contains(line[:colon], ": ") {
				e.File, e.Line = line[:colon], n
			}
			return e
		}
		from = colon + 1
	}
}

// errorOf is the error of a call; nil for OK. It releases raw.
func errorOf(status C.tilert_status, raw *C.tilert_error) error {
	if status == C.TILERT_OK {
		return nil
	}
	if raw == nil {
		return newError(Status(status), "no more is known")
	}
	defer C.tilert_error_release(raw)
	e := newError(Status(C.tilert_error_status(raw)), "%s", C.GoString(C.tilert_error_message(raw)))
	e.Source, e.Log = C.GoString(C.tilert_error_source(raw)), C.GoString(C.tilert_error_log(raw))
	return e
}

// failureOf is the error of a launch, whose report it frees.
func failureOf(failure *C.tilert_launch_failure) error {
	if failure == nil {
		return nil
	}
	e := newError(Status(failure.status), "%s", C.GoString(&failure.message[0]))
	e.Argument, e.Dim, e.DriverCode = int(failure.argument), int(failure.dim), int(failure.driver_code)
	if failure != &C.tlgo_no_memory {
		freeFailure(failure)
	}
	return e
}

// Version is that of the library that is loaded.
func Version() (major, minor, patch int) {
	v := uint32(C.tilert_version())
	return int(v >> 16), int(v >> 8 & 0xff), int(v & 0xff)
}

// The version of the header that the binding was compiled with.
const (
	HeaderMajor = C.TILERT_VERSION_MAJOR
	HeaderMinor = C.TILERT_VERSION_MINOR
	HeaderPatch = C.TILERT_VERSION_PATCH
)

// Feature asks whether this version does the language feature name ("reduce", "scan", "atomic", "persistent", ...): nil, or an
// Unsupported error that says what to use instead, or InvalidArgument for a name that is no feature.
func Feature(name string) error {
	var memory arena
	defer memory.free()
	var raw *C.tilert_error
	status := C.tilert_feature(memory.str(name), &raw)
	return errorOf(status, raw)
}
