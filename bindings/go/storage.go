// Storage inside a kernel: tiles, variables, views of them, layouts.

package tilert

// #include "shim.h"
import "C"

// Shared declares a tile that all threads of a block see. Sizes are constants. Label names it for messages.
func (b *Builder) Shared(dtype DType, shape ...any) Tile {
	return b.Buffer(InShared, dtype, shape)
}

// Fragment declares a tile spread over a block's registers.
func (b *Builder) Fragment(dtype DType, shape ...any) Tile {
	return b.Buffer(InFragment, dtype, shape)
}

// Local declares storage that is one per block outside of Parallel, and private to the iteration inside.
func (b *Builder) Local(dtype DType, shape ...any) Tile {
	return b.Buffer(InLocal, dtype, shape)
}

// Var declares a variable.
func (b *Builder) Var(dtype DType) Var { return Var{b.Buffer(InVar, dtype, nil).Region} }

// Storage says where a buffer lives.
type Storage int32

// The scopes of tilert.h.
const (
	InShared   Storage = C.TILERT_SHARED
	InFragment Storage = C.TILERT_FRAGMENT
	InVar      Storage = C.TILERT_VAR
	InLocal    Storage = C.TILERT_LOCAL
)

// BufferOptions are what may be said of a buffer besides its shape.
type BufferOptions struct {
	Name   string // for messages and generated source; "": made up
	Layout Layout // a hint, of shared tiles
}

// Buffer declares storage in general form.
func (b *Builder) Buffer(storage Storage, dtype DType, shape Shape, options ...BufferOptions) Tile {
	if !b.begin() {
		return Tile{}
	}
	defer b.end()
	id := C.tilert_builder_buffer(b.raw, C.tilert_scope(storage), C.tilert_dtype(dtype), b.values(shape),
		C.uint32_t(len(shape)), b.bufferOptions(options))
	return b.tile(id, C.tilert_tensor{}, len(shape))
}

func (b *Builder) bufferOptions(options []BufferOptions) *C.tilert_buffer_options {
	o := one[C.tilert_buffer_options](&b.memory)
	o.struct_size = C.sizeof_tilert_buffer_options
	for _, given := range options {
		o.name, o.layout = b.memory.optional(given.Name), C.tilert_layout(given.Layout)
	}
	return o
}

// A Layout is how the elements of a shared tile lie.
type Layout int32

// The layouts of tilert.h; AnnotateLayoutFunc gives one by an expression.
const (
	LayoutAuto       Layout = C.TILERT_LAYOUT_AUTO
	LayoutRowMajor   Layout = C.TILERT_LAYOUT_ROW_MAJOR
	LayoutPadded     Layout = C.TILERT_LAYOUT_PADDED
	LayoutSwizzle32  Layout = C.TILERT_LAYOUT_SWIZZLE_32
	LayoutSwizzle64  Layout = C.TILERT_LAYOUT_SWIZZLE_64
	LayoutSwizzle128 Layout = C.TILERT_LAYOUT_SWIZZLE_128
)

// AnnotateLayout says where the elements of a shared tile shall lie: a hint, which changes no bit of any result; with must, one
// that cannot be met is an error.
func (b *Builder) AnnotateLayout(tile Tile, layout Layout, must bool) {
	b.do(func() {
		C.tilert_builder_annotate_layout(b.raw, b.bufferOf(tile), C.tilert_layout(layout), C.tilert_expr{},
			flag(must, C.TILERT_LAYOUT_MUST))
	})
}

// AnnotateLayoutFunc says it by a function from the indices of an element, one for each dim, to its place, counted in elements.
func (b *Builder) AnnotateLayoutFunc(tile Tile, must bool, place func(index []Expr) any) {
	if !b.begin() {
		return
	}
	indices := b.opened(make([]Expr, tile.rank), func(ids *C.tilert_expr) {
		C.tilert_builder_layout_indices(b.raw, b.bufferOf(tile), ids)
	})
	b.end()
	at := operandOf(place(indices))
	b.do(func() {
		C.tilert_builder_annotate_layout(b.raw, b.bufferOf(tile), C.TILERT_LAYOUT_CUSTOM, at.in(b), flag(must, C.TILERT_LAYOUT_MUST))
	})
}

func (b *Builder) bufferOf(tile Tile) C.tilert_buffer {
	if tile.place == nil {
		return C.tilert_buffer{}
	}
	return tile.place.buffer
}

func (b *Builder) tensorOf(tile Tile) C.tilert_tensor {
	if tile.place == nil {
		return C.tilert_tensor{}
	}
	return tile.place.tensor
}

// View is another shape, or another element type, of a tile: the same bytes. dtype 0: the tile's. No shape: the tile's, with as
// many elements in its last dim as have the bytes.
func (b *Builder) View(tile Tile, dtype DType, shape ...any) Tile {
	if !b.begin() {
		return Tile{}
	}
	defer b.end()
	rank := len(shape)
	if rank == 0 {
		rank = tile.rank
	}
	id := C.tilert_builder_view(b.raw, b.bufferOf(tile), C.tilert_dtype(dtype), b.values(shape), C.uint32_t(len(shape)))
	return b.tile(id, C.tilert_tensor{}, rank)
}

// Reshape is a tile or a contiguous tensor parameter with another shape: the same memory.
func (b *Builder) Reshape(tile Tile, shape ...any) Tile {
	if b.tensorOf(tile).serial == 0 {
		return b.View(tile, 0, shape...)
	}
	if !b.begin() {
		return Tile{}
	}
	defer b.end()
	id := C.tilert_builder_tensor_reshape(b.raw, b.tensorOf(tile), b.values(shape), C.uint32_t(len(shape)))
	return b.tile(C.tilert_buffer{}, id, len(shape))
}

// Transposed is a tensor parameter whose dim d is dim order[d] of the tensor: the same memory. No order: the two last change
// places.
func (b *Builder) Transposed(tensor Tile, order ...int) Tile {
	if !b.begin() {
		return Tile{}
	}
	defer b.end()
	id := C.tilert_builder_tensor_transpose(b.raw, b.tensorOf(tensor), b.order(order), C.uint32_t(len(order)))
	return b.tile(C.tilert_buffer{}, id, tensor.rank)
}

func (b *Builder) order(order []int) *C.uint32_t {
	list := many[C.uint32_t](&b.memory, len(order))
	for i, d := range order {
		list[i] = C.uint32_t(d)
	}
	return first(list)
}
