/* The threads of a run. */
#ifndef REACH_RUN_THREADS_H
#define REACH_RUN_THREADS_H

#include "io/error.h"

enum { THREADS_MOST = 4096 };

/* Bytes of a thread's stack. The kernels and oneDNN were seen to need half of it, what libraries keep for each thread included;
 * under AddressSanitizer, or not optimized, far more. */
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
#define THREADS_STACK_LEAST (512 << 10)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define THREADS_STACK_LEAST (512 << 10)
#endif
#endif
#ifndef THREADS_STACK_LEAST
#define THREADS_STACK_LEAST (64 << 10)
#endif

/* Lets OpenMP use `asked` threads, or 0: as many as its environment says; fewer where a limit of its own stands below. -1 for
 * more than THREADS_MOST, and when that many cannot be started, or have too little stack: OpenMP's libraries then end the
 * program, or it crashes. To be called before the first parallel region, by every verb that has one. */
int threads_open(long asked, struct error *e) MUST_USE;

#endif
