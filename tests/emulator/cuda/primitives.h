// What the host twins of device primitives call: C functions, one per instruction or family, resolved when a unit is
// loaded. `line` is the place of the call in the kernel's text. Not here: their names in device code (twins.cuh).
#pragma once

#include <stdint.h>

extern "C" {

int tlemu_thread(void);
int tlemu_block(int axis);
int tlemu_grid(int axis);
unsigned char* tlemu_arena(void);
uint32_t tlemu_address(const void* p);  // in the shared window, as the device would have it
// Whether the place of this number is to be changed (mutation runs): the same all through a launch. Optimized units may
// move reads across it, so that a read whose value only some threads use is no access of the others.
#ifdef __OPTIMIZE__
__attribute__((const))
#endif
int tlemu_mutant(int id);

// The memory side of a vector access: a report unless aligned to its bytes. Registers may lie anywhere.
void tlemu_vector(const void* p, int bytes, int line);

void tlemu_barrier(int line);
void tlemu_named_barrier(int id, int threads, int line);
void tlemu_named_barrier_arrive(int id, int threads, int line);
void tlemu_warp_sync(int line);
uint32_t tlemu_ballot(int predicate, int line);
int tlemu_cluster_rank(void);
void tlemu_cluster_barrier(int line);
void tlemu_cluster_arrive(int line);
void tlemu_cluster_wait(int line);
// `count` words, in fours that lie `stride` bytes apart, to block `rank` of the cluster; completes on the barrier there.
void tlemu_send_part(const uint32_t* words, int count, void* to, int stride, void* bar, int rank, int line);
void* tlemu_cluster_pointer(const void* p, int rank, int line);
void* tlemu_cluster_access(const void* p, int rank, int bytes, int write, int line);  // where it is
void tlemu_wait_for_grids(int line);
void tlemu_grid_barrier(uint32_t* counter, int line);
void tlemu_wait_at_least(const uint32_t* word, uint32_t least, int line);
void tlemu_set_word(uint32_t* word, uint32_t value, int line);
uint32_t tlemu_shuffle_xor(uint32_t value, int mask, int line);
enum { tlemu_redux_add, tlemu_redux_min, tlemu_redux_max, tlemu_redux_and, tlemu_redux_or, tlemu_redux_xor };
uint32_t tlemu_redux(uint32_t value, int op, int is_signed, int line);

// The atomic instruction of that name ("add.f32", "cas", "ld", ...) on `bytes` bytes; old, operand and expected may be null.
// where: 0 shared memory, else global.
void tlemu_fence(void);
void tlemu_atomic(const char* op, const void* at, void* old, const void* operand, const void* expected, int bytes, int where);

// A ring of diagnostics, of `entries` of 64 bytes behind a count in as many: their order is the schedule's.
void tlemu_report_ring(const void* ring, int entries);

void tlemu_cp_async(void* to, const void* from, int bytes, int valid, int line);
void tlemu_cp_async_commit(int line);
void tlemu_cp_async_wait(int pending, int line);
void tlemu_cp_async_arrive(void* bar, int line);

void tlemu_ldmatrix(uint32_t* r, const void* row, int count, int transposed, int line);
void tlemu_stmatrix(void* row, const uint32_t* r, int count, int transposed, int line);
// The row of matrix.def by name; d is read and written.
void tlemu_mma(int shape, void* d, const uint32_t* a, const uint32_t* b, int line);
// The same of a sparse A, whose metadata the lanes have.
void tlemu_mma_sp(int shape, void* d, const uint32_t* a, const uint32_t* b, uint32_t metadata, int line);
// m8n8k4 on f64: two sums a lane, an element of each operand.
void tlemu_mma_f64(double* d, const double* a, const double* b, int line);

// Products of AMD's waves: the row of hip/matrix.def by name, operands as each lane's registers.
int tlemu_lane(void);
void tlemu_wave_product(int shape, void* d, const void* a, const void* b, int line);

void tlemu_mbarrier_init(void* bar, int arrivals, int line);
void tlemu_mbarrier_init_fence(int line);
void tlemu_mbarrier_expect(void* bar, int bytes, int line);
void tlemu_mbarrier_arrive(void* bar, int line);
void tlemu_mbarrier_arrive_cluster(void* bar, int rank, int line);
void tlemu_mbarrier_wait(void* bar, int parity, int line);

// `blocks`: a bit for each block of the cluster that receives; 0: the issuing one. `reduce`: a ReduceOp; -1: a store.
void tlemu_tma_load(void* to, const void* map, void* bar, int rank, const int* at, uint32_t blocks, int line);
void tlemu_tma_store(const void* map, const void* from, int rank, const int* at, int reduce, int line);
void tlemu_tma_store_commit(int line);
void tlemu_tma_store_wait(int pending, int only_read, int line);
void tlemu_proxy_fence(int line);

void tlemu_setmaxnreg(int registers, int grow, int line);
void tlemu_wgmma_fence(int line);
void tlemu_wgmma_commit(int line);
void tlemu_wgmma_wait(int pending, int line);
// d[64, n] = a * b + (accumulate ? d : 0). `sums`: a Sums; types: a Number each. a: a descriptor, or registers where
// `registers` is given.
void tlemu_wgmma(void* d, int n, int sums, int a_type, int b_type, uint64_t a, const uint32_t* registers, uint64_t b, int accumulate,
                 int mn_a, int mn_b, int line);
// Of a sparse A by descriptor, K-major, of which each lane has metadata.
void tlemu_wgmma_sp(void* d, int n, int sums, int a_type, int b_type, uint64_t a, uint64_t b, uint32_t metadata, int accumulate, int mn_b, int line);
}
