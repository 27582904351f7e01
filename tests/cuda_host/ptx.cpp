/* What the C++ that ptx.py writes calls, besides the stand-in's own operations. */
#include "tests/cuda_host/ptx.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

float ptx_fma_down(float x, float y, float z)
{
    int before = fegetround();
    fesetround(FE_DOWNWARD);
    volatile float a = x, b = y,
                   c = z; /* computed here, whatever the compiler thinks of rounding */
    volatile float r = fmaf(a, b, c);
    fesetround(before);
    return r;
}

double ptx_reciprocal(double x)
{
    double r = 1 / x;
    uint64_t bits;
    memcpy(&bits, &r, sizeof bits);
    bits &= 0xffffffff00000000u;
    memcpy(&r, &bits, sizeof bits);
    return r;
}

void ptx_misaligned(uint64_t address, unsigned bytes)
{
    fprintf(stderr,
            "cuda stand-in: an access of %u bytes at %#llx, which is no multiple of its size "
            "(block %u,%u,%u, thread %u,%u,%u)\n",
            bytes, (unsigned long long)address, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x,
            threadIdx.y, threadIdx.z);
    abort();
}
