/* What the files of the stand-in share. */
#ifndef REACH_TESTS_CUDA_HOST_H
#define REACH_TESTS_CUDA_HOST_H

#include "cuda_runtime.h"

/* Runs the threads of one block to their end; blockIdx and gridDim are set. seed 0: threads in order. */
void host_run_block(dim3 block, unsigned char *shared_memory, uint64_t seed, const std::function<void()> &thread);

#endif
