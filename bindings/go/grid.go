// Kernels of a program: grids, their hints, costs of tiles. Not here: kernels of source text (source.go).

package tilert

// #include "shim.h"
import "C"

// Hints are hints and flags of a kernel: tilert.Threads(128).MinBlocks(2). Must and For speak of the hint before them:
// tilert.Threads(128).Must().MaxRegisters(96).For("sm_90a"). nil is none; an unset hint is recommended by the target's cost model.
type Hints struct {
	list  []hint
	flags C.uint32_t
	tiles *Tile
	name  string
}

type hint struct {
	kind   C.tilert_hint_kind
	value  int64
	must   bool
	target string
}

// NewHints is none, to add to.
func NewHints() *Hints { return &Hints{} }

// Threads asks for threads of a block: 32 to 1024, whole warps.
func Threads(n int) *Hints { return NewHints().Threads(n) }

// ThreadsFixed fixes the threads of a block for all targets, which makes Builder.Threads available.
func ThreadsFixed(n int) *Hints { return NewHints().ThreadsFixed(n) }

// Persistent makes the grid's points tiles, over which as many blocks loop as fit on the device.
func Persistent() *Hints { return NewHints().Persistent() }

// FixedOrder makes an element's bits depend on the values that enter it alone.
func FixedOrder() *Hints { return NewHints().FixedOrder() }

func (h *Hints) add(kind C.tilert_hint_kind, value int) *Hints {
	h.list = append(h.list, hint{kind: kind, value: int64(value)})
	return h
}

// Threads of a block: 32 to 1024, whole warps.
func (h *Hints) Threads(n int) *Hints { return h.add(C.TILERT_HINT_THREADS, n) }

// ThreadsFixed is Threads for all targets, part of the program.
func (h *Hints) ThreadsFixed(n int) *Hints { return h.add(C.TILERT_HINT_THREADS_FIXED, n) }

// MinBlocks per multiprocessor.
func (h *Hints) MinBlocks(n int) *Hints { return h.add(C.TILERT_HINT_MIN_BLOCKS, n) }

// MaxRegisters of a thread, 24 to 255.
func (h *Hints) MaxRegisters(n int) *Hints { return h.add(C.TILERT_HINT_MAX_REGISTERS, n) }

// Raster is the width of the groups of blocks that run together along the first grid dim.
func (h *Hints) Raster(width int) *Hints { return h.add(C.TILERT_HINT_RASTER, width) }

// Roles decides whether the kernel becomes a producer and consumers.
func (h *Hints) Roles(on bool) *Hints {
	if on {
		return h.add(C.TILERT_HINT_ROLES, 2)
	}
	return h.add(C.TILERT_HINT_ROLES, 1)
}

// Cluster is how many blocks share copies, on sm_90a: 2 to 8.
func (h *Hints) Cluster(blocks int) *Hints { return h.add(C.TILERT_HINT_CLUSTER, blocks) }

// PDL lets the kernel start before the grid in front of it has ended: see LaunchOptions.PDL.
func (h *Hints) PDL() *Hints { return h.add(C.TILERT_HINT_PDL, 1) }

// SplitK splits sums over K.
func (h *Hints) SplitK(parts int) *Hints { return h.add(C.TILERT_HINT_SPLIT_K, parts) }

// Consumers is the number of consumer warpgroups of a kernel with roles.
func (h *Hints) Consumers(warpgroups int) *Hints { return h.add(C.TILERT_HINT_CONSUMERS, warpgroups) }

// Must makes the hint before it an order: not taken is an error that says why.
func (h *Hints) Must() *Hints {
	if n := len(h.list); n > 0 {
		h.list[n-1].must = true
	}
	return h
}

// For limits the hint before it to a target: "sm_90a"; "cpu" is any CPU.
func (h *Hints) For(target string) *Hints {
	if n := len(h.list); n > 0 {
		h.list[n-1].target = target
	}
	return h
}

// NoContract fuses multiply and add by FMA only.
func (h *Hints) NoContract() *Hints { return h.flag(C.TILERT_GRID_NO_CONTRACT) }

// FastMath makes every value of the kernel as Fast makes it.
func (h *Hints) FastMath() *Hints { return h.flag(C.TILERT_GRID_FAST_MATH) }

// FixedOrder makes an element's bits depend on the values that enter it alone: not on dynamic dims, variants and hints.
func (h *Hints) FixedOrder() *Hints { return h.flag(C.TILERT_GRID_FIXED_ORDER) }

// Persistent makes the grid's points tiles, over which as many blocks loop as fit on the device.
func (h *Hints) Persistent() *Hints { return h.flag(C.TILERT_GRID_PERSISTENT) }

// TileCount names the parameter whose first element is how many tiles of a persistent kernel are done.
func (h *Hints) TileCount(count Tile) *Hints {
	h.tiles = &count
	return h
}

// Name is the kernel's, an identifier; else it is the program's.
func (h *Hints) Name(name string) *Hints {
	h.name = name
	return h
}

func (h *Hints) flag(bit C.uint32_t) *Hints {
	h.flags |= bit
	return h
}

// GridN opens a kernel of one to three extents, values made of dims and numbers. body stands in it and gets as many block
// indices. hints may be nil.
func (b *Builder) GridN(extents Shape, hints *Hints, body func(block []Expr)) {
	block := b.beginGrid(extents, hints)
	body(block)
	b.do(func() { C.tilert_builder_end_kernel(b.raw) })
}

// Grid1 is a kernel over a line of blocks.
func (b *Builder) Grid1(x any, hints *Hints, body func(x Expr)) {
	b.GridN(Shape{x}, hints, func(i []Expr) { body(i[0]) })
}

// Grid2 is a kernel over a plane of blocks; x goes fastest.
func (b *Builder) Grid2(x, y any, hints *Hints, body func(x, y Expr)) {
	b.GridN(Shape{x, y}, hints, func(i []Expr) { body(i[0], i[1]) })
}

// Grid3 is a kernel over a box of blocks.
func (b *Builder) Grid3(x, y, z any, hints *Hints, body func(x, y, z Expr)) {
	b.GridN(Shape{x, y, z}, hints, func(i []Expr) { body(i[0], i[1], i[2]) })
}

func (b *Builder) beginGrid(extents Shape, hints *Hints) []Expr {
	indices := make([]Expr, len(extents))
	if !b.begin() {
		return indices
	}
	defer b.end()
	g := one[C.tilert_grid](&b.memory)
	g.struct_size = C.sizeof_tilert_grid
	g.rank, g.extents = C.uint32_t(len(extents)), b.values(extents)
	if hints != nil {
		list := many[C.tilert_hint](&b.memory, len(hints.list))
		for i, h := range hints.list {
			list[i].struct_size = C.sizeof_tilert_hint
			list[i].kind, list[i].value = h.kind, C.int64_t(h.value)
			list[i].flags, list[i].target = flag(h.must, C.TILERT_HINT_MUST), b.memory.optional(h.target)
		}
		g.hints, g.hint_count, g.flags = first(list), C.uint32_t(len(list)), hints.flags
		g.name = b.memory.optional(hints.name)
		if hints.tiles != nil && hints.tiles.place != nil {
			g.tile_count = hints.tiles.place.tensor
		}
	}
	return b.opened(indices, func(ids *C.tilert_expr) { C.tilert_builder_begin_kernel(b.raw, g, ids) })
}

// opened gives the indices of a scope that begin opens.
func (b *Builder) opened(indices []Expr, begin func(ids *C.tilert_expr)) []Expr {
	ids := many[C.tilert_expr](&b.memory, len(indices)+1)
	begin(&ids[0])
	for i := range indices {
		indices[i] = b.expr(ids[i])
	}
	return indices
}

// do is a call on the builder.
func (b *Builder) do(call func()) {
	if b.begin() {
		defer b.end()
		call()
	}
}

// TileCost is, in a persistent kernel before its loops, what a tile costs, and the group of tiles that it shares data with
// (nil: all are one group). Plans balance blocks by it: see Loaded.Plan.
func (b *Builder) TileCost(cost, locality any) {
	b.do(func() { C.tilert_builder_tile_cost(b.raw, b.value(cost), b.optional(locality)) })
}

// GridSync is where all blocks of the grid come before any goes on.
func (b *Builder) GridSync() {
	b.do(func() { C.tilert_builder_grid_sync(b.raw) })
}
