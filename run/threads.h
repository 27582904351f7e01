/* The threads of a run. */
#ifndef REACH_RUN_THREADS_H
#define REACH_RUN_THREADS_H

#include "io/error.h"

enum { THREADS_MOST = 4096 };

/* Bytes of a thread's stack. Kernels were seen to need 83 KB at most, with oneDNN and the
 * libraries' data for each thread less than 96 KB; far more under AddressSanitizer, or without
 * optimization. */
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
#define THREADS_STACK_LEAST (512 << 10)
#else
#define THREADS_STACK_LEAST (128 << 10)
#endif

/* Makes OpenMP use `asked` threads, or for 0 as many as its environment says, within OpenMP's own
 * limit. -1 for more than THREADS_MOST, and if the threads cannot be started or have too little
 * stack, in which case OpenMP's libraries would end the program or crash. Every verb with a
 * parallel region calls it before the first one. */
int threads_open(long asked, struct error *e) MUST_USE;

#endif
