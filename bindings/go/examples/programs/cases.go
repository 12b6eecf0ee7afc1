// How each program is run.

package main

import . "tilert"

// A tensor's shape and, where rows lie apart, their strides.
type tensor struct {
	shape, strides []int64
}

type sizes map[string]int64

// A program and one run of it: dims that are bound when compiled, dims of the launch, tensors and scalars in order.
type testCase struct {
	name        string
	build       func(*Builder)
	bound, dims sizes
	tensors     []tensor
	scalars     []Arg
}

func dense(shape ...int64) tensor { return tensor{shape, nil} }

var cases = []testCase{
	{"gemm_bias_gelu", gemmBiasGelu, sizes{"N": 96, "K": 80}, sizes{"M": 100},
		[]tensor{dense(100, 80), dense(80, 96), dense(96), dense(100, 96)}, nil},
	{"scale", scale, nil, sizes{"N": 1000}, []tensor{dense(1000), dense(1000)}, []Arg{Value(float32(2.5))}},
	{"softmax", softmax, nil, sizes{"R": 37}, []tensor{dense(37, 100), dense(37, 100)}, nil},
	{"rmsnorm", rmsnorm, nil, sizes{"T": 9}, []tensor{dense(9, 256), dense(256), dense(9, 256)}, []Arg{Value(float32(0x1p-10))}},
	{"transposed", transposed, sizes{"N": 70}, sizes{"M": 50}, []tensor{dense(50, 70), dense(70, 50)}, nil},
	{"histogram", histogram, nil, sizes{"N": 1000}, []tensor{dense(1000), dense(16), dense(1), dense(16)}, nil},
	{"strided_copy", stridedCopy, sizes{"N": 100, "S": 112}, sizes{"M": 70},
		[]tensor{{[]int64{70, 100}, []int64{112, 1}}, dense(70, 100)}, []Arg{Value(int32(90))}},
	{"gemm_int8", gemmInt8, sizes{"N": 64, "K": 96}, sizes{"M": 70}, []tensor{dense(70, 96), dense(64, 96), dense(64), dense(70, 64)}, nil},
	{"gemm_scaled", gemmScaled, sizes{"N": 64, "K": 96, "NB": 2, "KB": 3}, sizes{"M": 70},
		[]tensor{dense(70, 96), dense(64, 96), dense(70, 3), dense(2, 3), dense(70, 64)}, nil},
	{"gemm_sparse", gemmSparse, nil, nil, []tensor{dense(16, 32), dense(64, 8), dense(16, 4), dense(16, 8)}, nil},
	{"embed", embed, nil, sizes{"T": 40, "V": 6}, []tensor{dense(6, 32), dense(40), dense(40, 32), dense(6, 32)}, nil},
	{"branches", branches, nil, sizes{"B": 5}, []tensor{dense(5, 64), dense(5, 64), dense(5), dense(2), dense(5)}, nil},
	{"casts", casts, nil, sizes{"N": 100}, []tensor{dense(100), dense(100), dense(100), dense(100), dense(100), dense(100),
		dense(100), dense(100), dense(100)}, []Arg{Value(int64(42))}},
	{"ranked", ranked, nil, sizes{"R": 7}, []tensor{dense(7, 48), dense(7, 8), dense(7, 48), dense(7, 8), dense(7), dense(7)}, nil},
	{"experts", experts, sizes{"N": 64, "K": 64}, sizes{"T": 50, "R": 4, "E": 3},
		[]tensor{dense(50, 64), dense(3, 64, 64), dense(4), dense(3), dense(1), dense(50, 64)}, nil},
	{"leaky", leaky, nil, sizes{"R": 6}, []tensor{dense(6, 16), dense(6, 16), dense(6), dense(6)}, nil},
	{"checked", checked, nil, nil, []tensor{dense(64), dense(64)}, nil},
	{"warp_sums", warpSums, nil, sizes{"R": 5}, []tensor{dense(5, 200), dense(5), dense(5)}, nil},
	{"unpacked", unpacked, sizes{"M": 20}, nil, []tensor{dense(20, 48), dense(20), dense(20, 3, 16), dense(20, 24), dense(48, 20)}, nil},
	{"hand_gemm", handGemm, sizes{"N": 72, "K": 104}, sizes{"M": 150}, []tensor{dense(150, 104), dense(72, 104), dense(150, 72)}, nil},
}
