/* Opens and closes the cpu set. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/state.h"
#include "kernels/reference/reference.h"

#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void close_set(struct kernels *k)
{
    if (!k)
        return;
    cpu_blocks_free(k);
    free(cpu_state(k)->operands);
    free(cpu_state(k)->scratch);
    free(cpu_state(k));
    kernels_release(k);
}

int cpu_usable(void)
{
    return 1;
}

/* oneDNN's instruction set, named like the vector variants: it can be limited (ONEDNN_MAX_CPU_ISA).
 * NULL: unknown. */
static const char *library_isa(void)
{
#if defined(__x86_64__) /* on other processors the numbers mean other sets */
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *name;
    } names[] = {{dnnl_cpu_isa_avx512_core, "avx512"},
                 {dnnl_cpu_isa_avx2, "avx2"},
                 {dnnl_cpu_isa_avx, "avx"},
                 {dnnl_cpu_isa_sse41, "sse41"}};
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((isa & (unsigned)names[i].isa) == (unsigned)names[i].isa)
            return names[i].name;
#endif
    return NULL;
}

/* The name contains everything that decides the bytes of a result: runs under different names are
 * not resumed or merged. */
static void set_name(struct kernels *k, const char *isa)
{
    const dnnl_version_t *library = dnnl_version();
    const char *other = library_isa();
    int is_other = other && strcmp(other, isa) != 0;
    snprintf(k->name, sizeof k->name, "cpu (%s, oneDNN %d.%d.%d%s%s)", isa, library->major,
             library->minor, library->patch, is_other ? " " : "", is_other ? other : "");
}

/* terms: products of bf16 numbers that make one with a weight; 0: they are of floats. */
static struct kernels *open_set(int terms, struct error *e)
{
    const struct vector_kernels *vector = cpu_dispatch(terms > 0, e);
    struct cpu_state *s;
    struct kernels *k;
    if (!vector)
        return NULL;
    k = kernels_allocate(e);
    if (!k)
        return NULL;
    s = calloc(1, sizeof *s);
    if (!s) {
        kernels_release(k);
        fail_memory(e, sizeof *s, "a kernel set");
        return NULL;
    }
    reference_fill_f32(k);
    s->vector = terms == 3 ? cpu_dispatch_float(vector) : vector;
    s->products = vector;
    s->rounds = terms > 0;
    s->terms = terms > 0 ? terms : 1;
    s->skip = 1;
    s->base = *k;
    ((struct kernels_state *)k->state)->fast = s;
    set_name(k, vector->isa);
    (void)!dnnl_set_default_fpmath_mode(
        dnnl_fpmath_mode_strict); /* float, whatever ONEDNN_DEFAULT_FPMATH_MODE says */
    (void)!dnnl_set_verbose(
        0); /* standard output is only for results, whatever ONEDNN_VERBOSE asks for */
    cpu_fill_memory(k);
    k->close = close_set;
    cpu_fill_weight(k);
    cpu_fill_linear(k);
    cpu_fill_rows(k);
    cpu_fill_convolution(k);
    cpu_fill_experts(k);
    cpu_fill_attention_tables(k);
    cpu_fill_attention(k);
    cpu_fill_recurrence(k);
    cpu_fill_scan(k);
    cpu_fill_lru(k);
    cpu_fill_wkv(k);
    cpu_fill_head(k);
    return k;
}

struct kernels *cpu_open(struct error *e)
{
    return open_set(0, e);
}

struct kernels *cpu_open_bf16(struct error *e)
{
    struct kernels *k = open_set(1, e);
    if (k)
        strcpy(k->dtype, "bf16");
    return k;
}

struct kernels *cpu_open_bf16x3(struct error *e)
{
    struct kernels *k = open_set(3, e);
    if (k)
        strcpy(k->dtype, "bf16x3");
    return k;
}
