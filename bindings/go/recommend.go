// Recommendations: how to compute a matrix product on a GPU, from its sizes and the device class, without trying.

package tilert

// #include "shim.h"
import "C"

// A Product is C[m, n] = A[m, k] B[k, n], of which a choice is asked.
type Product struct {
	M, N, K        int64
	A, B, C        DType // elements of the operands and of the result
	Accumulator    DType // in which products are summed; 0: by the operands
	TransA, TransB bool  // A is stored as [k, m], B as [n, k]
	TF32           bool  // f32 operands enter as tf32
	FixedOrder     bool  // only candidates that give an element the same bits, whatever m is
	LDA, LDB, LDC  int64 // from row to row as they are stored, in elements; 0: contiguous
	EpilogueBytes  int64 // read beside A and B to make all of C
	Target         string
	DeviceClass    *DeviceClass
}

// ProductPath is what computes it.
type ProductPath int32

// The paths of tilert.h.
const (
	PathWarpgroup ProductPath = C.TILERT_PATH_WARPGROUP // a producer of tensor copies and consumer warpgroups
	PathWarp      ProductPath = C.TILERT_PATH_WARP      // instructions of one warp, or multiply-adds
	PathVector    ProductPath = C.TILERT_PATH_VECTOR    // few rows of A
)

// BoundBy is what most of a predicted time goes to.
type BoundBy int32

// The bounds of tilert.h.
const (
	BoundTensor  BoundBy = C.TILERT_BOUND_TENSOR
	BoundShared  BoundBy = C.TILERT_BOUND_SHARED
	BoundFeed    BoundBy = C.TILERT_BOUND_FEED
	BoundL2      BoundBy = C.TILERT_BOUND_L2
	BoundMemory  BoundBy = C.TILERT_BOUND_MEMORY
	BoundLatency BoundBy = C.TILERT_BOUND_LATENCY
)

// A ProductChoice is one way to compute it: what a tile program of it says in its tiles, its hints and its loop.
type ProductChoice struct {
	Path                ProductPath
	TileM, TileN, TileK int
	Consumers           int  // warpgroups of products; 0 without roles
	Threads             int  // of a block, without the producer's
	Stages              int  // of the pipelined loop
	Cluster             int  // 1: none
	SplitK              int  // 1: none
	Raster              int  // 0: grid order
	Swapped             bool // rows of B's side are the rows of the instruction: tiles hold C transposed
	Persistent          bool
	Bound               BoundBy
	SharedBytes         int    // of a block
	Predicted           uint64 // ns
}

// RecommendProduct gives the best of the candidates that this version can compile, the fastest as predicted first, at most so many.
func RecommendProduct(p Product, most int) ([]ProductChoice, error) {
	var memory arena
	defer memory.free()
	raw := one[C.tilert_product](&memory)
	raw.struct_size = C.sizeof_tilert_product
	raw.flags = flag(p.TransA, C.TILERT_PRODUCT_TRANS_A) | flag(p.TransB, C.TILERT_PRODUCT_TRANS_B) |
		flag(p.TF32, C.TILERT_PRODUCT_TF32) | flag(p.FixedOrder, C.TILERT_PRODUCT_FIXED_ORDER)
	raw.m, raw.n, raw.k = C.int64_t(p.M), C.int64_t(p.N), C.int64_t(p.K)
	raw.a, raw.b, raw.c = C.tilert_dtype(p.A), C.tilert_dtype(p.B), C.tilert_dtype(p.C)
	raw.accumulator = C.tilert_dtype(p.Accumulator)
	raw.lda, raw.ldb, raw.ldc = C.int64_t(p.LDA), C.int64_t(p.LDB), C.int64_t(p.LDC)
	raw.epilogue_bytes = C.uint64_t(p.EpilogueBytes)
	raw.target, raw.device_class = memory.optional(p.Target), p.DeviceClass.in(&memory)
	list := many[C.tilert_product_choice](&memory, most)
	for i := range list {
		list[i].struct_size = C.sizeof_tilert_product_choice
	}
	count := C.uint32_t(len(list))
	var e *C.tilert_error
	if status := C.tilert_recommend_product(raw, first(list), &count, &e); status != C.TILERT_OK || len(list) == 0 {
		return nil, errorOf(status, e)
	}
	var out []ProductChoice
	for _, c := range list[:count] {
		out = append(out, ProductChoice{ProductPath(c.path), int(c.tile_m), int(c.tile_n), int(c.tile_k), int(c.consumers),
			int(c.threads), int(c.stages), int(c.cluster), int(c.split_k), int(c.raster),
			c.flags&C.TILERT_CHOICE_SWAPPED != 0, c.flags&C.TILERT_CHOICE_PERSISTENT != 0, BoundBy(c.bound), int(c.shared_bytes),
			uint64(c.predicted)})
	}
	return out, nil
}
