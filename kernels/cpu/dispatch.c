/* Chooses the variant of kernels/cpu/vector for this process.
 *
 * bf16 instructions are used by default on AMD processors: on the measured one (Zen 5) VDPBF16PS
 * does twice the work of a float FMA in the same time, on Intel's it takes four times as long as
 * one (doc/performance.md). So it is with sums of two numbers of bf16, whose three products cost
 * either kind alike. AMX is used wherever it is: Intel's optimization manual gives it 1024
 * operations in a cycle, where two float FMAs make 64. No processor with it was measured. */
#include "kernels/cpu/state.h"

#include <stdlib.h>
#include <string.h>

static int has_generic(void)
{
    return 1;
}

#if defined(__x86_64__)
static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports(
               "fma"); /* every such processor also has F16C, which compilers cannot always check */
}

static int has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static int has_avx512_bf16(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512bf16");
}

/* Asks the system only where the processor has what it would be for. */
static int has_amx(void)
{
    return has_avx512_bf16() && cpu_tiles();
}

static int is_amd(void)
{
    return __builtin_cpu_is("amd");
}
#endif

/* Best last. */
static const struct {
    const struct vector_kernels *vector;
    int (*has)(void);
    int (*pays)(void); /* NULL: always */
} variants[] = {
    {&vector_kernels_generic, has_generic, NULL},
#if defined(__x86_64__)
    {&vector_kernels_avx2, has_avx2, NULL},
    {&vector_kernels_avx512, has_avx512, NULL},
    {&vector_kernels_avx512_bf16, has_avx512_bf16, is_amd},
    {&vector_kernels_amx, has_amx, NULL},
#endif
};

const struct vector_kernels *cpu_dispatch(int bf16, struct error *e)
{
    const char *forced = getenv("REACH_ISA");
    const struct vector_kernels *found = NULL;
    if (forced && !*forced)
        forced = NULL;
#if defined(__x86_64__)
    __builtin_cpu_init();
#endif
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const struct vector_kernels *v = variants[i].vector;
        int asked = forced ? !strcmp(forced, v->isa) : !variants[i].pays || variants[i].pays();
        if (asked && (bf16 || !v->multiply_bf16) && variants[i].has())
            found = v;
    }
    if (!found)
        fail(e,
             "REACH_ISA=%s: this machine has no such instruction set (expected generic, avx2 or "
             "avx512, or for bf16 alone "
             "avx512_bf16 or amx)",
             forced);
    return found;
}

const struct vector_kernels *cpu_dispatch_float(const struct vector_kernels *products)
{
#if defined(__x86_64__)
    if (products->multiply_bf16)
        return &vector_kernels_avx512;
#endif
    return products;
}
