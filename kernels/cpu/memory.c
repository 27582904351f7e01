/* Memory of the cpu set: buffers and scratch, in huge pages if worthwhile. */
#include "kernels/cpu/state.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Memory aligned to 64 bytes, for free(); in huge pages if it is large and the system has them,
 * since a head's rows are so far apart that small pages cost a tenth of attention's time. NULL: no
 * memory. */
static void *allocate(size_t bytes)
{
    const size_t huge = (size_t)2 << 20;
    void *memory;
    if (posix_memalign(&memory, bytes >= huge ? huge : 64, bytes ? bytes : 1))
        return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= huge)
        (void)!madvise(memory, bytes / huge * huge,
                       MADV_HUGEPAGE); /* else all is right, only slower */
#endif
    return memory;
}

void cpu_blocks_free(struct kernels *k)
{
    struct cpu_block *blocks = cpu_state(k)->blocks;
    for (int i = 0; i < CPU_BLOCKS; i++) {
        free(blocks[i].memory);
        blocks[i] = (struct cpu_block){0};
    }
}

void *cpu_block_take(struct kernels *k, size_t bytes)
{
    struct cpu_block *blocks = cpu_state(k)->blocks;
    for (int i = 0; i < CPU_BLOCKS; i++)
        if (blocks[i].memory && blocks[i].bytes == bytes) {
            void *memory = blocks[i].memory;
            blocks[i] = (struct cpu_block){0};
            return memory;
        }
    cpu_blocks_free(k);
    return allocate(bytes);
}

void cpu_block_give(struct kernels *k, void *memory, size_t bytes)
{
    struct cpu_block *blocks = cpu_state(k)->blocks;
    for (int i = 0; i < CPU_BLOCKS && memory; i++)
        if (!blocks[i].memory) {
            blocks[i] = (struct cpu_block){memory, bytes};
            return;
        }
    free(memory);
}

static struct buffer *create(struct kernels *k, enum buffer_role role, size_t count,
                             struct error *e)
{
    return kernels_buffer(k, role, count, allocate, e);
}

void *cpu_scratch(struct kernels *k, size_t bytes, const char *what)
{
    struct cpu_state *s = cpu_state(k);
    if (bytes > s->scratch_bytes) {
        free(s->scratch);
        s->scratch_bytes = 0;
        s->scratch = allocate(bytes);
        if (!s->scratch) {
            kernels_keep_error(k, "out of memory (%zu bytes for %s)", bytes, what);
            return NULL;
        }
        s->scratch_bytes = bytes;
    }
    return s->scratch;
}

void cpu_fill_memory(struct kernels *k)
{
    k->create = create;
}
