// Hello: c = gelu(a b + bias), bf16 matrices with f32 accumulation, built, compiled and run on this machine's CPU, and compared
// with a loop of Go.
package main

import (
	"fmt"
	"log"
	"math"

	"tilert"
)

// program multiplies tiles of 64 x 64 and ends each with its bias and GELU: any M, N and K with one binary.
func program() (*tilert.Program, error) {
	const bm, bn, bk = 64, 64, 32
	b := tilert.NewBuilder("gemm_bias_gelu")
	m, n, k := b.Dim("M"), b.Dim("N"), b.Dim("K")
	A, B := b.Input("A", tilert.BF16, m, k), b.Input("B", tilert.BF16, k, n)
	bias := b.Input("bias", tilert.F32, n)
	C := b.Output("C", tilert.BF16, m, n)
	b.Grid2(n.CeilDiv(bn), m.CeilDiv(bm), nil, func(x, y tilert.Expr) {
		a, w := b.Shared(tilert.BF16, bm, bk), b.Shared(tilert.BF16, bk, bn)
		acc := b.Fragment(tilert.F32, bm, bn)
		b.Clear(acc)
		b.Pipelined(k.CeilDiv(bk), 3, func(k tilert.Expr) {
			b.Copy(A.At(y.Mul(bm), k.Mul(bk)), a)
			b.Copy(B.At(k.Mul(bk), x.Mul(bn)), w)
			b.Gemm(a, w, acc)
		})
		b.Parallel2(bm, bn, func(i, j tilert.Expr) {
			v := b.Let(acc.At(i, j).Add(bias.At(x.Mul(bn).Add(j))))
			acc.At(i, j).Store(v.Mul(0.5).Mul(v.Mul(math.Sqrt2 / 2).Erf().Add(1)))
		})
		b.Copy(acc, C.At(y.Mul(bm), x.Mul(bn)))
	})
	return b.Finish()
}

func run() error {
	const m, n, k = 300, 200, 152
	hello, err := program()
	if err != nil {
		return err
	}
	defer hello.Close()
	context, err := tilert.NewContext()
	if err != nil {
		return err
	}
	defer context.Close()
	cpu, err := context.CPU()
	if err != nil {
		return err
	}
	defer cpu.Close()
	kernel, err := context.Kernel(hello)
	if err != nil {
		return err
	}
	defer kernel.Close()
	loaded, err := kernel.Prepare(cpu) // compiles, or fetches what was compiled before
	if err != nil {
		return err
	}
	defer loaded.Close()

	a, b, bias, c := make([]tilert.BFloat16, m*k), make([]tilert.BFloat16, k*n), make([]float32, n), make([]tilert.BFloat16, m*n)
	for i := range a {
		a[i] = tilert.ToBFloat16(float32((7*i)%17-8) / 8)
	}
	for i := range b {
		b[i] = tilert.ToBFloat16(float32((5*i)%13-6) / 8)
	}
	for i := range bias {
		bias[i] = float32(i%5) / 4
	}
	err = loaded.Launch(0, []tilert.Arg{tilert.Slice(a, m, k), tilert.Slice(b, k, n), tilert.Slice(bias, n), tilert.Slice(c, m, n)})
	if err != nil {
		return err
	}

	worst := 0.0
	for i := 0; i < m; i++ {
		for j := 0; j < n; j++ {
			sum := float64(bias[j])
			for l := 0; l < k; l++ {
				sum += float64(a[i*k+l].Float32()) * float64(b[l*n+j].Float32())
			}
			wanted := 0.5 * sum * (1 + math.Erf(sum*math.Sqrt2/2))
			off := math.Abs(float64(c[i*n+j].Float32())-wanted) / math.Max(1, math.Abs(wanted))
			if off > 1.0/256 {
				return fmt.Errorf("c[%d, %d] is %v, not %v", i, j, c[i*n+j].Float32(), wanted)
			}
			worst = math.Max(worst, off)
		}
	}
	fmt.Printf("hello: %d x %d elements are right, the worst within %.2g\n", m, n, worst)
	return nil
}

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
