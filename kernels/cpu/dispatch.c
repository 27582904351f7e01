/* Which variant of kernels/cpu/vector this process uses. */
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
           __builtin_cpu_supports("fma"); /* every such processor has F16C too, which compilers cannot always ask for */
}

static int has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

/* Best last. */
static const struct {
    const struct vector_kernels *vector;
    int (*has)(void);
} variants[] = {
    {&vector_kernels_generic, has_generic},
#if defined(__x86_64__)
    {&vector_kernels_avx2, has_avx2},
    {&vector_kernels_avx512, has_avx512},
#endif
};

const struct vector_kernels *cpu_dispatch(struct error *e)
{
    const char *forced = getenv("REACH_ISA");
    const struct vector_kernels *found = NULL;
    if (forced && !*forced)
        forced = NULL;
#if defined(__x86_64__)
    __builtin_cpu_init();
#endif
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if ((!forced || !strcmp(forced, variants[i].vector->isa)) && variants[i].has())
            found = variants[i].vector;
    if (!found)
        fail(e, "REACH_ISA=%s: this machine has no such instruction set (expected generic, avx2 or avx512)", forced);
    return found;
}
