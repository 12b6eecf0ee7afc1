// Package tilert builds tile programs at run time, compiles them for the device and the shapes at hand, and launches them. It
// is the whole of tilert.h in Go, by cgo, with the standard library alone.
//
//	Builder  --Finish-->   Program   a frozen tile program, no device and no pointers in it
//	Program  --Kernel-->   Kernel    the program for one target, with its table of variants
//	Kernel   --Prepare-->  Loaded    variants, compiled or fetched, loaded in one device context
//	Loaded   --Launch-->   work on your stream
//	Loaded   --Bind-->     Bound     the same with arguments packed once: a launch is one call into C
//
// # Building
//
// Values have methods for operators: x.Mul(2).Add(y). What takes a value takes an Expr, a Dim, an element (a Region, Tile or
// Var, which is read at that moment), or a number of Go, which adopts the dtype of what it meets. Scopes take closures, which run
// once, while the program is built; loops of Go around them unroll. Reads of elements are statements, in the order in which Go
// evaluates them. The first error sticks, with the caller's file and line, and Finish returns it.
//
// # Goroutines
//
// Any goroutine may use any handle at any time, without runtime.LockOSThread, except that a Builder with its values belongs to
// one goroutine at a time, and so do the workspace and the record of a Bound. The one call that needs a locked thread is
// Context.OpenDevice with BindCurrent, because the current CUDA context is a thread's.
//
// # Handles and memory
//
// Close gives a handle back; what was made from it lives on, in any order, and calls that run are not disturbed. What nobody
// closes the garbage collector does. C keeps no Go memory: Launch and Interpret name slices for as long as they run, Bind takes
// Memory, which lies outside of Go's heap, and addresses of devices.
//
// # Errors
//
// Errors are of type *Error, with status, message and place; errors.Is(err, tilert.NotReady) asks for the status. A panic of a
// callback never unwinds through C: it becomes a *CallbackPanic, the error of the call during which it happened (or of the next,
// where that failed by itself). A reader of diagnostics panics on its caller's goroutine.
//
// Names follow tilert.h, where each is documented in full: limits, bounds of error, what launches may do during a capture.
package tilert
