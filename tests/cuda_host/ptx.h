/* What the C++ that ptx.py writes from PTX includes. Registers of 32 and 64 bits are unsigned, AS
 * reads one as another type of its size. */
#ifndef REACH_TESTS_CUDA_HOST_PTX_H
#define REACH_TESTS_CUDA_HOST_PTX_H

#include "tests/cuda_host/host.h"

#define AS(type, of) (*(type *)&(of)) /* compiled with -fno-strict-aliasing */

/* x y + z, rounded down. */
float ptx_fma_down(float x, float y, float z);
/* The reciprocal as rcp.approx.ftz.f64 begins one: the upper half of its bits. */
double ptx_reciprocal(double x);
/* A float or double that is whole as an integer, the nearest of those there are; NaN is 0. */
template <class T>
T ptx_integer(double x)
{
    const double least = T(-1) < T(0) ? -ldexp(1, 8 * (int)sizeof(T) - 1) : 0,
                 past = ldexp(1, 8 * (int)sizeof(T) - (T(-1) < T(0)));
    return x != x ? 0 : x <= least ? (T)least : x >= past ? (T) ~(T)least : (T)x;
}
/* Ends the program: an address that is not a multiple of what is read or written there. */
[[noreturn]] void ptx_misaligned(uint64_t address, unsigned bytes);
static inline float ptx_flush(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

#endif
