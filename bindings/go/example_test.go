package tilert_test

// Examples of the documentation, which go test runs.

import (
	"errors"
	"fmt"
	"log"

	"tilert"
)

// Adds one to each element of a row, interpreted: neither a compiler nor a device is needed.
func Example() {
	b := tilert.NewBuilder("increment")
	n := b.Dim("N")
	x, y := b.Input("x", tilert.F32, n), b.Output("y", tilert.F32, n)
	b.Grid1(n.CeilDiv(64), nil, func(block tilert.Expr) {
		tile := b.Fragment(tilert.F32, 64)
		b.Copy(x.At(block.Mul(64)), tile)
		b.Parallel1(64, func(i tilert.Expr) { tile.At(i).Store(tile.At(i).Add(1)) })
		b.Copy(tile, y.At(block.Mul(64)))
	})
	program, err := b.Finish()
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()

	in, out := []float32{1, 2, 3}, make([]float32, 3)
	if err := program.Interpret([]tilert.Arg{tilert.Slice(in, 3), tilert.Slice(out, 3)}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(out)
	// Output: [2 3 4]
}

// A kernel is prepared once and bound once; each launch is then one call into C.
func ExampleLoaded_Bind() {
	b := tilert.NewBuilder("double")
	x := b.InOut("x", tilert.F32, 256)
	b.Grid1(1, nil, func(tilert.Expr) {
		b.Parallel1(256, func(i tilert.Expr) { x.At(i).Store(x.At(i).Mul(2)) })
	})
	program, err := b.Finish()
	if err != nil {
		log.Fatal(err)
	}
	context, err := tilert.NewContext(tilert.ContextOptions{Cache: tilert.CacheMemory})
	if err != nil {
		log.Fatal(err)
	}
	cpu, err := context.CPU()
	if err != nil {
		log.Fatal(err)
	}
	kernel, err := context.Kernel(program)
	if err != nil {
		log.Fatal(err)
	}
	loaded, err := kernel.Prepare(cpu)
	if err != nil {
		log.Fatal(err)
	}
	memory, err := tilert.AllocFor(make([]float32, 256))
	if err != nil {
		log.Fatal(err)
	}
	tilert.View[float32](memory)[7] = 1
	launch, err := loaded.Bind([]tilert.Arg{memory.Arg(256)})
	if err != nil {
		log.Fatal(err)
	}
	defer launch.Close()
	for i := 0; i < 10; i++ {
		if err := launch.Launch(0); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(tilert.View[float32](memory)[7])
	// Output: 1024
}

// Errors have a status, a text and a place.
func ExampleError() {
	_, err := tilert.Parse("tir 1\nprogram \"p\"\nkernel oops\n", tilert.ParseOptions{Name: "p.tir"})
	var e *tilert.Error
	if errors.As(err, &e) {
		fmt.Println(e.Status, e.File, e.Line)
	}
	fmt.Println(errors.Is(err, tilert.InvalidProgram))
	// Output:
	// tilert: INVALID_PROGRAM p.tir 3
	// true
}

// What print says comes back from the interpreter, and from launches with a workspace.
func ExampleProgram_InterpretDiagnosed() {
	b := tilert.NewBuilder("print")
	b.Grid1(2, nil, func(block tilert.Expr) { b.Print("block ", block, " of 2") })
	program, err := b.Finish()
	if err != nil {
		log.Fatal(err)
	}
	program.InterpretDiagnosed(nil, func(d tilert.Diagnostic) { fmt.Println("told by block", d.Block[0], "value", d.Values[0]) })
	// Unordered output:
	// told by block 0 value 0
	// told by block 1 value 1
}
