// The loop over the threads of a block, and what they do together. What each means is in tilert.h.

package tilert

// #include "shim.h"
import "C"

// Threads is a loop over the threads of the block, whose number ThreadsFixed gives: each iteration is one thread.
func (b *Builder) Threads(body func(thread Expr)) {
	index := make([]Expr, 1)
	b.do(func() {
		b.opened(index, func(ids *C.tilert_expr) { C.tilert_builder_begin_threads(b.raw, ids) })
	})
	body(index[0])
	b.do(func() { C.tilert_builder_end_threads(b.raw) })
}

// ThreadID is the thread's number, inside Threads.
func (b *Builder) ThreadID() (out Expr) {
	b.do(func() { out = b.expr(C.tilert_builder_thread_id(b.raw)) })
	return out
}

// ShuffleKind is how a lane is named.
type ShuffleKind int32

// The shuffles of tilert.h.
const (
	ShuffleIndex ShuffleKind = C.TILERT_SHUFFLE_INDEX
	ShuffleUp    ShuffleKind = C.TILERT_SHUFFLE_UP
	ShuffleDown  ShuffleKind = C.TILERT_SHUFFLE_DOWN
	ShuffleXor   ShuffleKind = C.TILERT_SHUFFLE_XOR
)

// Shuffle is value of another thread of the same group of width lanes (a power of two up to 32; 0: 32).
func (b *Builder) Shuffle(kind ShuffleKind, value, lane any, width int) (out Expr) {
	b.do(func() {
		v, l := b.value(value), b.value(lane)
		out = b.expr(C.tilert_builder_shuffle(b.raw, C.tilert_shuffle(kind), v, l, C.uint32_t(width)))
	})
	return out
}

// VoteAll is whether the predicate holds in all threads of the warp.
func (b *Builder) VoteAll(predicate any) Expr { return b.vote(C.TILERT_VOTE_ALL, predicate) }

// VoteAny is whether it holds in any.
func (b *Builder) VoteAny(predicate any) Expr { return b.vote(C.TILERT_VOTE_ANY, predicate) }

// Ballot is a bit for each lane, as a uint32.
func (b *Builder) Ballot(predicate any) Expr { return b.vote(C.TILERT_VOTE_BALLOT, predicate) }

func (b *Builder) vote(kind C.tilert_vote, predicate any) (out Expr) {
	b.do(func() {
		p := b.value(predicate)
		out = b.expr(C.tilert_builder_vote(b.raw, kind, p))
	})
	return out
}

// SyncThreads waits for all threads of the block (barrier 0), or for the warps that come to this statement, which have so many
// threads (barriers 1 to 15).
func (b *Builder) SyncThreads(barrier, threads int) {
	b.do(func() { C.tilert_builder_sync_threads(b.raw, C.uint32_t(barrier), C.uint32_t(threads)) })
}

// Fence makes what the thread wrote before seen, in that scope, no later than what it writes after.
func (b *Builder) Fence(scope OrderScope) {
	b.do(func() { C.tilert_builder_fence(b.raw, C.tilert_order_scope(scope)) })
}

// CopyAsync starts a copy of count elements side by side, from an element of a tensor to one of a shared tile.
func (b *Builder) CopyAsync(source, destination Place, count int) {
	b.do(func() { C.tilert_builder_copy_async(b.raw, b.region(source), b.region(destination), C.uint32_t(count)) })
}

// CommitCopies makes a group of the thread's copies since the last one.
func (b *Builder) CommitCopies() { b.do(func() { C.tilert_builder_commit_copies(b.raw) }) }

// WaitCopies waits until at most pending of the newest groups are under way.
func (b *Builder) WaitCopies(pending int) {
	b.do(func() { C.tilert_builder_wait_copies(b.raw, C.uint32_t(pending)) })
}
