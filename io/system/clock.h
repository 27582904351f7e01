/* Time that passes. */
#ifndef REACH_IO_SYSTEM_CLOCK_H
#define REACH_IO_SYSTEM_CLOCK_H

#include <time.h>

/* Seconds of a clock: CLOCK_MONOTONIC, which nobody sets, or a processor's. */
static inline double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
