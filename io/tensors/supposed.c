/* Tensors that are supposed: as the model asks for them, all of zeros. */
#include "io/tensors/tensors_parts.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct supposed {
    char *name; /* owned */
    size_t entry;
};

static void free_supposed(void *of)
{
    struct supposed *s = of;

    free(s->name);
    free(s);
}

void supposed_free(struct tensors *t)
{
    tdestroy(t->names, free_supposed);
}

void store_suppose(struct tensors *t, enum element type)
{
    t->supposed = stored_type_of(type);
}

int tensors_supposed(const struct tensors *t)
{
    return t->supposed != NULL;
}

static int by_supposed_name(const void *a, const void *b)
{
    return strcmp(((const struct supposed *)a)->name, ((const struct supposed *)b)->name);
}

/* Zeros of this size at least, which take no memory until they are read; all tensors share them. */
static const void *supposed_data(struct tensors *t, size_t bytes, struct error *e)
{
    const struct owned *last = t->owned_count ? &t->owned[t->owned_count - 1] : NULL;
    void *memory;

    if (last && last->bytes >= bytes)
        return last->memory;
    if (owned_room(t, "supposed tensors", e))
        return NULL;
    memory = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        fail_memory(e, (double)bytes, "supposed tensors");
        return NULL;
    }
    t->owned[t->owned_count++] = (struct owned){memory, bytes};
    return memory;
}

struct tensor *tensors_suppose(struct tensors *t, const char *name, int rank, const size_t *shape,
                               struct error *e)
{
    struct supposed *key = calloc(1, sizeof *key), *const * node;
    struct tensor *made;

    if (!key || !(key->name = strdup(name)) ||
        !(node = tsearch(key, &t->names, by_supposed_name))) {
        if (key)
            free_supposed(key);
        fail_memory(e, 1024, "a supposed tensor");
        return NULL;
    }
    if (*node != key) { /* asked for before */
        free_supposed(key);
        return &t->entries[(*node)->entry].tensor;
    }
    key->entry = t->entry_count;
    made = store_add(t, NULL, name, strlen(name), e);
    if (!made || store_shape(made, t->supposed, rank, shape, t->path, e) ||
        !(made->data = supposed_data(t, made->bytes + 1, e)))
        return NULL;
    return made;
}
