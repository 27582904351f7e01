/* Opens and closes the cpu set. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/state.h"

#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

void *cpu_allocate(size_t bytes)
{
    const size_t huge = (size_t)2 << 20;
    void *memory;
    if (posix_memalign(&memory, bytes >= huge ? huge : 64, bytes ? bytes : 1))
        return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= huge)
        (void)!madvise(memory, bytes / huge * huge, MADV_HUGEPAGE); /* advice: without it all is right, only slower */
#endif
    return memory;
}

static struct buffer *create(struct kernels *k, enum buffer_role role, size_t count, struct error *e)
{
    size_t bytes;
    struct buffer *b;
    if (kernels_take_error(k, e))
        return NULL;
    if (size_multiply(&bytes, count, k->role_size[role])) {
        fail(e, "buffer: %zu elements overflow", count);
        return NULL;
    }
    b = calloc(1, sizeof *b);
    if (!b || !(b->data = cpu_allocate(bytes))) {
        free(b);
        fail_memory(e, (double)bytes, "a buffer");
        return NULL;
    }
    b->count = count;
    b->role = role;
    return b;
}

void *cpu_scratch(struct kernels *k, size_t bytes, const char *what)
{
    struct cpu_state *s = cpu_state(k);
    if (bytes > s->scratch_bytes) {
        free(s->scratch);
        s->scratch_bytes = 0;
        s->scratch = cpu_allocate(bytes);
        if (!s->scratch) {
            kernels_keep_error(k, "out of memory (%zu bytes for %s)", bytes, what);
            return NULL;
        }
        s->scratch_bytes = bytes;
    }
    return s->scratch;
}

static void close_set(struct kernels *k)
{
    if (!k)
        return;
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
    k->create = create;
    k->close = close_set;
    cpu_fill_weight(k);
    cpu_fill_linear(k);
    cpu_fill_rows(k);
    cpu_fill_attention(k);
    cpu_fill_head(k);
    return k;
}
