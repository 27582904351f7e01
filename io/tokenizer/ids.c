#include "io/tokenizer/ids.h"

#include "io/element.h"
#include "io/system/memory.h"

#include <stdlib.h>

enum { GROWTH_ASKED = 64 << 20 /* bytes; compressed data may contain any number of them */ };

int ids_reserve(struct ids *a, size_t extra, struct error *e)
{
    size_t needed, bytes;
    if (size_add(&needed, a->count, extra) || size_multiply(&bytes, needed, sizeof *a->id))
        return fail_memory(e, ((double)a->count + (double)extra) * sizeof *a->id, "token ids");
    if (needed <= a->capacity)
        return 0;
    size_t capacity = a->capacity < SIZE_MAX / (2 * sizeof *a->id) ? 2 * a->capacity : needed;
    if (capacity < needed)
        capacity = needed;
    size_t growth = (capacity - a->capacity) * sizeof *a->id;
    if (growth >= GROWTH_ASKED && memory_check(growth, "token ids", e))
        return -1;
    int32_t *grown = realloc(a->id, capacity * sizeof *a->id);
    if (!grown)
        return fail_memory(e, (double)capacity * sizeof *a->id, "token ids");
    a->id = grown;
    a->capacity = capacity;
    return 0;
}
