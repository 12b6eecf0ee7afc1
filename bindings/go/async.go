// Barriers that count phases, copies of boxes of tensors by the target's engine, products that run beside the block, and roles.
// What each means is in tilert.h.

package tilert

// #include "shim.h"
import "C"

// Barriers declares count barriers in a row, each of so many arrivals a phase: full := b.Barriers(3, 1), then full.At(slot).
func (b *Builder) Barriers(count, arrivals int, options ...BufferOptions) (out Tile) {
	b.do(func() {
		o := b.bufferOptions(options)
		out = b.tile(C.tilert_builder_barriers(b.raw, C.uint32_t(count), C.uint32_t(arrivals), o), C.tilert_tensor{}, 1)
	})
	return out
}

// Arrive is one arrival.
func (b *Builder) Arrive(barrier Place) {
	b.do(func() { C.tilert_builder_arrive(b.raw, b.region(barrier)) })
}

// ArriveExpect arrives, and announces bytes that tensor copies bring.
func (b *Builder) ArriveExpect(barrier Place, bytes int) {
	b.do(func() { C.tilert_builder_arrive_expect(b.raw, b.region(barrier), C.uint32_t(bytes)) })
}

// WaitBarrier waits until the phase of this parity has completed: 0 is the first, -1 is always past.
func (b *Builder) WaitBarrier(barrier Place, phase any) {
	b.do(func() {
		p := b.value(phase)
		C.tilert_builder_wait_barrier(b.raw, b.region(barrier), p)
	})
}

// LoadTensor brings a box of a matrix to a shared tile; its bytes count for the phase under way of the barrier.
func (b *Builder) LoadTensor(source, destination, barrier Place) {
	b.do(func() {
		C.tilert_builder_load_tensor(b.raw, b.region(source), b.region(destination), b.region(barrier))
	})
}

// StoreTensor stores a shared tile to a box of a matrix.
func (b *Builder) StoreTensor(source, destination Place) {
	b.do(func() { C.tilert_builder_store_tensor(b.raw, b.region(source), b.region(destination)) })
}

// CommitStores makes a group of the stores since the last one.
func (b *Builder) CommitStores() { b.do(func() { C.tilert_builder_commit_stores(b.raw) }) }

// StoresState is what of stores is waited for.
type StoresState int32

// The states of tilert.h.
const (
	StoresWritten StoresState = C.TILERT_STORES_WRITTEN // to memory
	StoresRead    StoresState = C.TILERT_STORES_READ    // from their tiles
)

// WaitStores waits until all but pending of the newest groups are in that state.
func (b *Builder) WaitStores(pending int, state StoresState) {
	b.do(func() { C.tilert_builder_wait_stores(b.raw, C.uint32_t(pending), C.tilert_stores_state(state)) })
}

// CommitProducts makes a group of the products issued since the last one.
func (b *Builder) CommitProducts() { b.do(func() { C.tilert_builder_commit_products(b.raw) }) }

// WaitProducts waits until at most pending of the newest groups are under way.
func (b *Builder) WaitProducts(pending int) {
	b.do(func() { C.tilert_builder_wait_products(b.raw, C.uint32_t(pending)) })
}

// RoleRegisters are those of a thread while roles run, handed over from issuers to workers; both 0: as compiled.
type RoleRegisters struct{ Issuer, Worker int }

// Roles gives warps bodies of their own: work is the kernel's threads, each of issue (one to four) one thread of a warp beside
// them, which waits for barriers and moves tensors.
func (b *Builder) Roles(registers RoleRegisters, work func(), issue ...func()) {
	b.do(func() {
		o := one[C.tilert_roles_options](&b.memory)
		o.struct_size = C.sizeof_tilert_roles_options
		o.issuer_registers, o.worker_registers = C.uint32_t(registers.Issuer), C.uint32_t(registers.Worker)
		C.tilert_builder_begin_roles(b.raw, o)
	})
	for _, body := range issue {
		b.role(C.TILERT_ROLE_ISSUE, body)
	}
	b.role(C.TILERT_ROLE_WORK, work)
	b.do(func() { C.tilert_builder_end_roles(b.raw) })
}

func (b *Builder) role(kind C.tilert_role, body func()) {
	b.do(func() { C.tilert_builder_begin_role(b.raw, kind) })
	body()
	b.do(func() { C.tilert_builder_end_role(b.raw) })
}
