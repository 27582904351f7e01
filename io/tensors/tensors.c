#include "io/tensors/tensors_parts.h"

#include "io/system/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { DIGEST_PIECE = 1 << 20 };

size_t tensors_count(const struct tensors *t)
{
    return t->entry_count;
}

struct tensor *tensors_at(struct tensors *t, size_t index)
{
    return &t->entries[index].tensor;
}

struct tensor *tensors_find_any(struct tensors *t, const char *name)
{
    struct slot key = {.tensor = {.name = name}};
    return t->entry_count ? bsearch(&key, t->entries, t->entry_count, sizeof key, entry_order)
                          : NULL;
}

struct tensor *tensors_find(struct tensors *t, const char *name)
{
    struct tensor *found = tensors_find_any(t, name);
    return found && !found->integer ? found : NULL;
}

void store_drop_companions(struct tensors *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->entry_count; i++)
        if (t->entries[i].tensor.companion)
            free((char *)t->entries[i].tensor.name);
        else
            t->entries[kept++] = t->entries[i];
    t->entry_count = kept;
}

void store_sort(struct tensors *t)
{
    if (t->entry_count)
        qsort(t->entries, t->entry_count, sizeof *t->entries, entry_order);
}

const char *tensors_path(const struct tensors *t)
{
    return t->path;
}

const char *tensors_notes(const struct tensors *t)
{
    return t->notes;
}

const char *tensors_assumed(const struct tensors *t)
{
    return t->assumed;
}

int tensors_unchanged(struct tensors *t, struct error *e)
{
    return watch_check(&t->watch, e);
}

int tensors_digest(struct tensors *t, char digest[33], struct error *e)
{
    if (watch_settle(&t->watch, e))
        return -1;
    XXH3_state_t *state = XXH3_createState();
    unsigned char *piece = malloc(DIGEST_PIECE);
    int result = -1;
    if (!state || !piece || XXH3_128bits_reset(state) == XXH_ERROR) {
        fail_memory(e, DIGEST_PIECE, "the digest");
        goto end;
    }
    for (size_t i = 0; i < t->file_count; i++) {
        const struct mapped *file = t->files[i];
        for (size_t at = 0; at < file->size;) {
            size_t n = file->size - at < DIGEST_PIECE ? file->size - at : DIGEST_PIECE;
            if (file_read_at(file->descriptor, file->path, piece, n, at, e))
                goto end;
            XXH3_128bits_update(state, piece, n);
            at += n;
        }
    }
    if (tensors_unchanged(t, e))
        goto end;
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    snprintf(digest, 33, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    result = 0;
end:
    XXH3_freeState(state);
    free(piece);
    return result;
}
