// Operations on tiles: copies, products, fills, values by name. Not here: what works along a dim (along.go).

package tilert

// #include "shim.h"
import "C"

// CopyPrefer is by which engine a copy shall go.
type CopyPrefer int32

// The engines of tilert.h.
const (
	CopyAuto  CopyPrefer = C.TILERT_COPY_AUTO
	CopyTMA   CopyPrefer = C.TILERT_COPY_TMA
	CopyAsync CopyPrefer = C.TILERT_COPY_ASYNC
	CopySync  CopyPrefer = C.TILERT_COPY_SYNC
)

// Eviction is how long L2 shall keep what a copy brings.
type Eviction uint32

// The evictions of tilert_copy_options.
const (
	EvictionDefault Eviction = 0
	EvictionFirst   Eviction = 1
	EvictionLast    Eviction = 2
)

// CopyOptions are the rarer things to say of a copy.
type CopyOptions struct {
	Valid     []any // one end for each dim of the parameter's side, in its coordinates; nil: its shape
	Safe      any   // what is read outside, a constant or number; nil: 0
	Prefer    CopyPrefer
	Must      bool // Prefer or Multicast not taken is an error that says why
	Eviction  Eviction
	Multicast bool // one block of a cluster brings its part of the tile to all
}

// Copy copies between any two of tensor parameter, shared tile, fragment and local, casting where dtypes differ. Reads outside
// of a tensor give the safe value; writes there are dropped.
func (b *Builder) Copy(source, destination Place, options ...CopyOptions) {
	b.do(func() {
		o := one[C.tilert_copy_options](&b.memory)
		o.struct_size = C.sizeof_tilert_copy_options
		for _, given := range options {
			o.valid, o.valid_count = b.values(given.Valid), C.uint32_t(len(given.Valid))
			o.safe_value, o.prefer = b.optional(given.Safe), C.tilert_copy_prefer(given.Prefer)
			o.flags, o.eviction = flag(given.Must, C.TILERT_COPY_MUST), C.uint32_t(given.Eviction)
			o.multicast = flag(given.Multicast, 1)
		}
		C.tilert_builder_copy(b.raw, b.region(source), b.region(destination), o)
	})
}

// Fill sets each element of a shared tile, fragment or local.
func (b *Builder) Fill(destination Place, value any) {
	b.do(func() {
		v := b.value(value)
		C.tilert_builder_fill(b.raw, b.region(destination), v)
	})
}

// Clear fills with 0.
func (b *Builder) Clear(destination Place) {
	b.do(func() { C.tilert_builder_clear(b.raw, b.region(destination)) })
}

// Transpose copies with dims changing places: dim d of the destination is dim order[d] of the source. No order: the two last
// change places.
func (b *Builder) Transpose(source, destination Place, order ...int) {
	b.do(func() {
		C.tilert_builder_transpose(b.raw, b.region(source), b.region(destination), b.order(order), C.uint32_t(len(order)))
	})
}

// WarpSplit is how the warps of a block share a product.
type WarpSplit int32

// The splits of tilert.h.
const (
	SplitAuto    WarpSplit = C.TILERT_SPLIT_AUTO
	SplitRows    WarpSplit = C.TILERT_SPLIT_ROWS
	SplitColumns WarpSplit = C.TILERT_SPLIT_COLUMNS
	SplitSquare  WarpSplit = C.TILERT_SPLIT_SQUARE
)

// GemmOptions are what may be said of a product.
type GemmOptions struct {
	TransA, TransB           bool // A is K x M, B is N x K
	Overwrite                bool // never reads C
	TF32                     bool // f32 operands are rounded to tf32 on the way in
	Issue                    bool // started only: see CommitProducts
	WarpSplit                WarpSplit
	Accumulate               any   // a bool value, uniform over the block: false overwrites; nil: by Overwrite
	Sparse                   Place // A keeps two of each four elements along K; this says which
	ScaleA, ScaleB           Place // of blocks: [blocks of M, blocks of K] and [blocks of K, blocks of N]
	TransScaleA, TransScaleB bool
}

// Gemm is c += a times b, a matrix product of tiles into a fragment.
func (b *Builder) Gemm(a, w, c Place, options ...GemmOptions) {
	b.do(func() {
		o := one[C.tilert_gemm_options](&b.memory)
		o.struct_size = C.sizeof_tilert_gemm_options
		for _, g := range options {
			o.flags = flag(g.TransA, C.TILERT_GEMM_TRANS_A) | flag(g.TransB, C.TILERT_GEMM_TRANS_B) |
				flag(g.Overwrite, C.TILERT_GEMM_OVERWRITE) | flag(g.TF32, C.TILERT_GEMM_TF32) | flag(g.Issue, C.TILERT_GEMM_ISSUE) |
				flag(g.TransScaleA, C.TILERT_GEMM_TRANS_A_SCALE) | flag(g.TransScaleB, C.TILERT_GEMM_TRANS_B_SCALE)
			o.warp_split, o.accumulate = C.tilert_warp_split(g.WarpSplit), b.optional(g.Accumulate)
			o.metadata, o.a_scale, o.b_scale = b.given(g.Sparse), b.given(g.ScaleA), b.given(g.ScaleB)
		}
		C.tilert_builder_gemm(b.raw, b.region(a), b.region(w), b.region(c), o)
	})
}

// given is a region, or NULL for none.
func (b *Builder) given(at Place) *C.tilert_region {
	if at == nil {
		return nil
	}
	return b.region(at)
}

// Let is a value worked out here, once, by name.
func (b *Builder) Let(value any) (out Expr) {
	b.do(func() { out = b.expr(C.tilert_builder_let(b.raw, b.value(value))) })
	return out
}

// Four random values of a draw, the same bits on every target: another counter or stream is another draw. seed, counter and
// stream are integers; nil is 0.

// RandomBits gives uint32 values.
func (b *Builder) RandomBits(seed, counter, stream any) [4]Expr {
	return b.random(C.TILERT_RANDOM_BITS, seed, counter, stream)
}

// RandomUniform gives f32 values in [0, 1).
func (b *Builder) RandomUniform(seed, counter, stream any) [4]Expr {
	return b.random(C.TILERT_RANDOM_UNIFORM, seed, counter, stream)
}

// RandomNormal gives f32 values with mean 0 and variance 1.
func (b *Builder) RandomNormal(seed, counter, stream any) [4]Expr {
	return b.random(C.TILERT_RANDOM_NORMAL, seed, counter, stream)
}

func (b *Builder) random(form C.tilert_random, seed, counter, stream any) (out [4]Expr) {
	b.do(func() {
		s, c, t := b.optional(seed), b.optional(counter), b.optional(stream)
		b.opened(out[:], func(ids *C.tilert_expr) { C.tilert_builder_random(b.raw, form, s, c, t, ids) })
	})
	return out
}
