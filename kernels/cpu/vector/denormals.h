/* Whether numbers below the normal ones, 1.2e-38 in float, count as 0. */
#ifndef REACH_KERNELS_CPU_VECTOR_DENORMALS_H
#define REACH_KERNELS_CPU_VECTOR_DENORMALS_H

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* They do from now on in this thread: products with probabilities, decays and gradients near 0
 * would be several times slower. Returns the previous mode. */
static inline unsigned denormals_off(void)
{
#if defined(__SSE__)
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040);
    return mode;
#else
    return 0;
#endif
}

static inline void denormals_restore(unsigned mode)
{
#if defined(__SSE__)
    _mm_setcsr(mode);
#else
    (void)mode;
#endif
}

#endif
