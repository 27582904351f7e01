/* What the files of the stand-in share. */
#ifndef REACH_TESTS_CUDA_HOST_H
#define REACH_TESTS_CUDA_HOST_H

#include "cuda_runtime.h"

/* Runs the threads of one block to their end; blockIdx and gridDim are set. seed 0: threads in
 * order. */
void host_run_block(dim3 block, unsigned char *shared_memory, uint64_t seed,
                    const std::function<void()> &thread);

/* Operations of each stream, by its number below STREAMS_MOST, that are over. */
enum { STREAMS_MOST = 16 };
struct host_clock {
    uint64_t done[STREAMS_MOST];
};

/* races.cpp: what happens, for whoever looks for races. `pc`: where, in a kernel; NULL: in an
 * operation that is none. */
#ifdef HOST_RACES
/* An operation begins, the number-th of its stream, behind those in *knows. */
void race_operation(int stream, uint64_t number, const struct host_clock *knows);
/* A block begins, with this shared memory, and ends. */
void race_block(const void *dynamic, size_t dynamic_size, const void *fixed, size_t fixed_size);
void race_block_end(void);
/* All threads of the block have come to a barrier; all lanes of a thread's warp to __syncwarp. */
void race_barrier(void);
void race_syncwarp(unsigned thread);
void race_read(const void *memory, size_t bytes, const void *pc);
void race_write(const void *memory, size_t bytes, const void *pc);
/* Of the place that a cp.async writes. */
void race_copy_begins(const void *memory, size_t bytes, const void *pc);
void race_copy_ends(const void *memory, size_t bytes, const void *pc);
/* Device memory that nobody has used yet. */
void race_allocated(const void *memory, size_t bytes);
#else
static inline void race_operation(int, uint64_t, const struct host_clock *) {}
static inline void race_block(const void *, size_t, const void *, size_t) {}
static inline void race_block_end(void) {}
static inline void race_barrier(void) {}
static inline void race_syncwarp(unsigned) {}
static inline void race_read(const void *, size_t, const void *) {}
static inline void race_write(const void *, size_t, const void *) {}
static inline void race_copy_begins(const void *, size_t, const void *) {}
static inline void race_copy_ends(const void *, size_t, const void *) {}
static inline void race_allocated(const void *, size_t) {}
#endif

#endif
