/* Opens and closes the cpu set. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/state.h"

#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>

static void close_set(struct kernels *k)
{
    if (!k)
        return;
    cpu_blocks_free(k);
    free(cpu_state(k)->scratch);
    free(cpu_state(k));
    kernels_release(k);
}

int cpu_usable(void)
{
    return 1;
}

struct kernels *cpu_open(struct error *e)
{
    const struct vector_kernels *vector = cpu_dispatch(e);
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
    s->vector = vector;
    s->skip = 1;
    s->base = *k;
    ((struct kernels_state *)k->state)->fast = s;
    const dnnl_version_t *library = dnnl_version();
    snprintf(k->name, sizeof k->name, "cpu (%s, oneDNN %d.%d.%d)", vector->isa, library->major, library->minor, library->patch);
    cpu_fill_memory(k);
    k->close = close_set;
    cpu_fill_weight(k);
    cpu_fill_linear(k);
    cpu_fill_rows(k);
    cpu_fill_attention(k);
    cpu_fill_head(k);
    return k;
}
