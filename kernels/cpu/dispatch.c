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

static int has_avx512_bf16(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512bf16");
}

/* AMD's make twice as many products a second in bf16 as in float; the one of Intel's that was measured makes half as many
 * (doc/performance.md). */
static int pays_avx512_bf16(void)
{
    return has_avx512_bf16() && __builtin_cpu_is("amd");
}
#endif

/* Best last. */
static const struct {
    const char *name; /* as REACH_ISA has it */
    const struct vector_kernels *vector;
    int bf16_instructions;
    int (*has)(void), (*pays)(void);
} variants[] = {
    {"generic", &vector_kernels_generic, 0, has_generic, has_generic},
#if defined(__x86_64__)
    {"avx2", &vector_kernels_avx2, 0, has_avx2, has_avx2},
    {"avx512", &vector_kernels_avx512, 0, has_avx512, has_avx512},
    {"avx512_bf16", &vector_kernels_avx512, 1, has_avx512_bf16, pays_avx512_bf16},
#endif
};

const struct vector_kernels *cpu_dispatch(int *bf16_instructions, struct error *e)
{
    const char *forced = getenv("REACH_ISA");
    const struct vector_kernels *found = NULL;
    if (forced && !*forced)
        forced = NULL;
#if defined(__x86_64__)
    __builtin_cpu_init();
#endif
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (forced ? !strcmp(forced, variants[i].name) && variants[i].has() : variants[i].pays()) {
            found = variants[i].vector;
            *bf16_instructions = variants[i].bf16_instructions;
        }
    if (!found)
        fail(e, "REACH_ISA=%s: this machine has no such instruction set (expected generic, avx2, avx512 or avx512_bf16)", forced);
    return found;
}
